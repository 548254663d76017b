"""Contours, labels, polygons and measures of very large images, and routes and costs of travel on
very large grids, on the GPU and on the CPU.

=====================  ===========================================================================
:func:`find_contours`  the borders of a binary image, as ``cv2.findContours`` returns them
:func:`trace`          the same as arrays of all points, with measures, polygons and files
:func:`label`          connected components, as ``scipy.ndimage.label`` numbers them
:func:`label_stats`    the same, with areas, boxes and centroids
:func:`polygonize`     the regions of equal value of a class raster or label image, as polygons
:func:`shapes`         the same, as ``rasterio.features.shapes`` returns them
:func:`label_values`   the regions' labels
:func:`measure`        measures of labels, as ``skimage.measure.regionprops_table`` returns them
:func:`sieve`          small regions replaced, as ``rasterio.features.sieve`` does
:mod:`trazar.rle`      masks as run lengths, as ``pycocotools.mask`` makes them
:func:`route`          trees that join pins on a grid of weighted edges
:func:`negotiate`      the same for nets that compete for edges of limited capacity
:func:`distances`      the costs of cheapest paths on such a grid
:func:`cost_distance`  costs of travel on a raster of friction, from sources to every cell
:func:`corridor`       the cells near the best path between two such sources
:func:`info`           versions and devices
=====================  ===========================================================================

``find_contours``, ``trace``, ``label`` and ``label_stats`` have a second form for N images of one
size, such as :func:`find_contours_batch`.

Images are arrays of shape (H, W): NumPy's, or arrays in a GPU's memory of any library that knows
DLPack or ``__cuda_array_interface__``. Arrays of points and labels are where the image is: NumPy's,
or :class:`DeviceArray` (annotations name NumPy's). All else is the same for both: numbers of
components and of contours are ints, columns of measures are NumPy's. Foreground is what is not 0,
or with ``threshold=t`` what is greater than t.

Functions release the GIL. Ctrl-C ends those that take long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trazar import _trazar, rle
from trazar._batch import ContourBatch
from trazar._contours import Contours
from trazar._distances import (
    NO_DIRECTION,
    Corridor,
    CostDistance,
    Path,
    corridor,
    cost_distance,
    least_cost_path,
    route_through_array,
)
from trazar._errors import DeviceError, Error, InputError, OutOfMemoryError
from trazar._labels import label, label_batch, label_stats, label_stats_batch
from trazar._measure import measure
from trazar._regions import (
    Regions,
    find_contours_by_label,
    label_values,
    polygonize,
    shapes,
)
from trazar._routes import (
    BLOCKED,
    UNLIMITED,
    UNREACHED,
    Grid,
    Negotiated,
    Route,
    distances,
    negotiate,
    route,
)
from trazar._sieve import sieve
from trazar._tracing import (
    CHAIN_APPROX_NONE,
    CHAIN_APPROX_SIMPLE,
    CHAIN_APPROX_TC89_KCOS,
    CHAIN_APPROX_TC89_L1,
    RETR_CCOMP,
    RETR_EXTERNAL,
    RETR_LIST,
    RETR_TREE,
    find_contours,
    find_contours_batch,
    trace,
    trace_batch,
)

if TYPE_CHECKING:
    from trazar._trazar import DeviceArray
else:
    # macOS has none.
    DeviceArray = getattr(_trazar, "DeviceArray", None)

__version__: str = _trazar.__version__

__all__ = [
    "BLOCKED",
    "CHAIN_APPROX_NONE",
    "CHAIN_APPROX_SIMPLE",
    "CHAIN_APPROX_TC89_KCOS",
    "CHAIN_APPROX_TC89_L1",
    "NO_DIRECTION",
    "RETR_CCOMP",
    "RETR_EXTERNAL",
    "RETR_LIST",
    "RETR_TREE",
    "UNLIMITED",
    "UNREACHED",
    "ContourBatch",
    "Contours",
    "Corridor",
    "CostDistance",
    "DeviceArray",
    "DeviceError",
    "Error",
    "Grid",
    "InputError",
    "Negotiated",
    "OutOfMemoryError",
    "Path",
    "Regions",
    "Route",
    "corridor",
    "cost_distance",
    "distances",
    "find_contours",
    "find_contours_batch",
    "find_contours_by_label",
    "info",
    "label",
    "label_batch",
    "label_stats",
    "label_stats_batch",
    "label_values",
    "least_cost_path",
    "measure",
    "negotiate",
    "polygonize",
    "rle",
    "route",
    "route_through_array",
    "shapes",
    "sieve",
    "trace",
    "trace_batch",
]


def info() -> dict[str, Any]:
    """Say what there is: versions and devices.

    Returns
    -------
    dict
        ``version``: this package's; ``threads``: the number of hardware threads;
        ``architecture``: the processor's; ``gpus``: one dict per NVIDIA GPU, with its ``index``,
        ``name``, ``compute_capability``, ``memory`` in bytes and ``driver``, the CUDA version;
        ``no_gpu``: why there is none, or None; ``kernels``: a hash of the kernels' sources.

    Examples
    --------
    >>> import trazar
    >>> facts = trazar.info()
    >>> facts["version"] == trazar.__version__, facts["threads"] >= 1
    (True, True)
    """
    return _trazar.info()
