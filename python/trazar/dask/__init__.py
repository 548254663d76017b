"""Labels, contours, regions, statistics and costs of Dask arrays, on any of Dask's schedulers.

======================  ==========================================================================
:func:`label`           connected components: a lazy array of labels, and their number
:func:`label_stats`     the same, with areas, boxes and centroids as lazy columns
:func:`label_values`    connected pixels of equal value: a lazy array of labels, and their number
:func:`trace`           the borders of an image: :class:`LazyContours`
:func:`find_contours`   the same, as ``cv2.findContours`` returns them
:func:`polygonize`      the regions of equal value, as polygons: :class:`LazyRegions`
:func:`measure`         measures of labels, as ``skimage.measure.regionprops_table``'s
:func:`cost_distance`   costs of travel on a raster of friction, chunk by chunk
======================  ==========================================================================

The results are those of :mod:`trazar`'s functions of these names for the whole image: the same
numbers, points, order and hierarchy, whatever the chunks. No worker has the whole image. Workers
work on bands of rows, or, for costs, on chunks. What must be known of a band to join it to others,
its part, is joined pairwise in a tree, and the number of tasks is proportional to the number of
chunks.

Needs Dask: ``pip install 'dask[array]' distributed zarr``, the wheel's extra ``dask``.

Bands
-----
All functions but ``cost_distance``, which works on chunks, take ``rows``: the number of rows of a
band. An array that is chunked in both directions is rechunked to bands by Dask, and one that does
not consist of booleans or bytes is compared to booleans before, chunk by chunk, but for
``polygonize``, ``label_values`` and ``measure``, which take values as they are. With ``None``, a
band has the rows of a chunk. With ``"auto"`` it has too, unless four bytes per pixel of it are more
than Dask's setting ``array.chunk-size`` (128 MiB unless set), or less than a sixteenth: then it is
divided or joined.

A band takes at most, per pixel, while one thread works on it:

==========================  ====================================================================
1 byte                      the band as booleans or bytes, until it is packed into bits
1/8 byte                    its bits, which stay on the worker until the end
4 bytes, or 12 for int64    its labels, and 2 to 4 per pixel for their forest, if it is noise
up to 4 bytes               its borders, if it is noise
10 bytes and the values     the regions of a band of values, if it is noise
==========================  ====================================================================

Devices
-------
``label``, ``label_stats``, ``label_values``, ``trace`` and ``find_contours`` take ``device``. With
``"cuda"``, each worker process works on the first GPU that it sees, where dask-cuda's
``LocalCUDACluster`` gives each its own::

    with LocalCUDACluster() as cluster, Client(cluster):
        labels, count = trazar.dask.label(array, device="cuda")

Chunks that are CuPy arrays are packed into bits where they lie, and their labels are CuPy arrays
again. The bits of a band, what is known of its rims, and contours are in the host's memory between
tasks. With ``"auto"``, such chunks are worked on by the GPU, and those of NumPy by the processor:
the processes of one machine would all open its GPU. ``"emulator"`` runs the GPU's kernels on the
processor, slowly, to test a program without a GPU.

Threads
-------
Each task uses all threads of its process. With several processes per machine, set
``RAYON_NUM_THREADS`` so that there are not more threads than cores::

    dask.config.set({"distributed.nanny.pre-spawn-environ.RAYON_NUM_THREADS": "1"})
"""

from __future__ import annotations

try:
    import dask.array
except ImportError as missing:
    raise ImportError("trazar.dask needs Dask with arrays: pip install 'dask[array]'") from missing

from trazar.dask._contours import LazyContours, find_contours, trace
from trazar.dask._distances import cost_distance
from trazar.dask._labels import label, label_stats
from trazar.dask._measure import measure
from trazar.dask._regions import LazyRegions, polygonize
from trazar.dask._value_labels import label_values

__all__ = [
    "LazyContours",
    "LazyRegions",
    "cost_distance",
    "find_contours",
    "label",
    "label_stats",
    "label_values",
    "measure",
    "polygonize",
    "trace",
]

for _public in (
    LazyContours,
    LazyRegions,
    cost_distance,
    find_contours,
    label,
    label_stats,
    label_values,
    measure,
    polygonize,
    trace,
):
    _public.__module__ = "trazar.dask"

del dask, _public
