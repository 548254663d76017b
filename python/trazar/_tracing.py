"""Tracing: the borders of components and of holes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from trazar import _trazar
from trazar._arrays import check_device, checked_images, is_on_gpu
from trazar._batch import ContourBatch
from trazar._contours import Contours
from trazar._nodata import without_nodata
from trazar._progress import reporting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from trazar._arrays import Device
    from trazar._progress import Progress

    Found = tuple[tuple[NDArray[np.int32], ...], NDArray[np.int32] | None]
    Retrieval = Literal["external", "list", "ccomp", "tree"]
    Approximation = Literal["none", "simple", "tc89-l1", "tc89-kcos"]
    Geometry = Literal["centers", "edges"]
    Algorithm = Literal["suzuki", "fragments", "tiles", "components"]

# The values are OpenCV's, so that its constants are taken too.
RETR_EXTERNAL = 0
RETR_LIST = 1
RETR_CCOMP = 2
RETR_TREE = 3
CHAIN_APPROX_NONE = 1
CHAIN_APPROX_SIMPLE = 2
CHAIN_APPROX_TC89_L1 = 3
CHAIN_APPROX_TC89_KCOS = 4


def find_contours(
    image: Any,
    mode: int = RETR_TREE,
    method: int = CHAIN_APPROX_SIMPLE,
    *,
    offset: ArrayLike = (0, 0),
    threshold: float | None = None,
    nodata: float | None = None,
    progress: Progress | None = None,
    device: Device = "auto",
) -> Found:
    """Find the contours of a binary image: points, order and hierarchy as by ``cv2.findContours``.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, 1)
        Booleans or real numbers, of any strides; on the host or on a GPU.
    mode : int
        ``RETR_EXTERNAL``, ``RETR_LIST``, ``RETR_CCOMP`` or ``RETR_TREE``, of this module or of
        ``cv2``. ``RETR_FLOODFILL`` is not there.
    method : int
        ``CHAIN_APPROX_NONE``, ``CHAIN_APPROX_SIMPLE``, ``CHAIN_APPROX_TC89_L1`` or
        ``CHAIN_APPROX_TC89_KCOS``.
    offset : (int, int)
        Added to x and y of each point, in pixels: a tuple, a list or an array, as OpenCV takes it.
        On a GPU this costs 16 bytes of memory traffic per point, else nothing worth measuring.
    threshold : number, optional
        Foreground is ``image > threshold``, as NumPy 2 compares: a number of Python's is rounded to
        the type of an array of floating point numbers, one of NumPy's is not. Without it, what is
        not 0. (NaN in an image with a threshold is an error, without ``nodata``.)
    nodata : number, optional
        The value of pixels without data, which are background: ``numpy.nan`` for NaN. Not for an
        image on a GPU. The image is compared first, which takes a byte per pixel.
    progress : callable, optional
        Called now and then with the share of the work that is done, from 0 to 1, on another thread.
        An exception that it raises ends the work, and is raised here.
    device : {"auto", "cpu", "cuda", "emulator"}
        What works on an image of the host's memory: the faster device for its size, the processor,
        the first GPU, or the GPU's kernels on the processor (for small images).

    Returns
    -------
    contours : tuple of int32 arrays of shape (n, 1, 2)
        The points (x, y) of each contour, in pixels: x to the right, y down. They are views of one
        array, which lives as long as one of them.
    hierarchy : int32 array of shape (1, count, 4), or None
        For each contour the index of the next and of the previous one with the same parent, of its
        first child and of its parent; -1 for none. None if there are no contours.

        Of an image on a GPU, the arrays are :class:`trazar.DeviceArray` there, written when the
        work queued so far on the caller's current stream is done. The host waits for the numbers of
        points.

    Raises
    ------
    InputError
        For an image of another shape or without pixels, for values that an argument does not take,
        for an offset with which points would not fit 32 bits; NaN.
    OutOfMemoryError, DeviceError

    See Also
    --------
    trace : all points in one array, with measures and files.

    Notes
    -----
    The time is linear in the number of pixels and points. Of an image of 32-bit integers, OpenCV
    traces regions of equal values with ``RETR_CCOMP``; here it is binary as any other.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> image = np.zeros((5, 6), np.uint8)
    >>> image[1:4, 1:5] = 1
    >>> contours, hierarchy = trazar.find_contours(image)
    >>> contours[0].tolist()
    [[[1, 1]], [[1, 3]], [[4, 3]], [[4, 1]]]
    >>> hierarchy.tolist()
    [[[-1, -1, -1, -1]]]
    """
    image, threshold = without_nodata(image, threshold, nodata)
    with reporting(progress):
        [found] = _found(image, False, mode, method, offset, threshold, device)
    return found


def find_contours_batch(
    images: Any,
    mode: int = RETR_TREE,
    method: int = CHAIN_APPROX_SIMPLE,
    *,
    offset: ArrayLike = (0, 0),
    threshold: float | None = None,
    nodata: float | None = None,
    device: Device = "auto",
) -> list[Found]:
    """Find the contours of each of N images of one size.

    Parameters
    ----------
    images : array of shape (N, H, W)
        On the host or on a GPU.
    mode, method, offset, threshold, nodata, device
        As for :func:`find_contours`.

    Returns
    -------
    list of (contours, hierarchy)
        What :func:`find_contours` returns for each image, where the images are.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`find_contours`.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> images = np.zeros((3, 4, 4), bool)
    >>> images[1, 1, 2] = True
    >>> [len(contours) for contours, hierarchy in trazar.find_contours_batch(images)]
    [0, 1, 0]
    """
    images, threshold = without_nodata(images, threshold, nodata)
    return _found(images, True, mode, method, offset, threshold, device)


def _found(
    images: Any,
    batch: bool,
    mode: int,
    method: int,
    offset: ArrayLike,
    threshold: float | None,
    device: Device,
) -> list[Found]:
    images = checked_images(images, "find_contours", batch)
    if is_on_gpu(images):
        check_device(device)
        return _trazar.device_find_contours(images, batch, mode, method, offset, threshold)
    return _trazar.find_contours(images, batch, mode, method, offset, threshold, device)


def trace(
    image: Any,
    *,
    retrieval: Retrieval = "tree",
    approximation: Approximation = "simple",
    geometry: Geometry = "centers",
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    nodata: float | None = None,
    progress: Progress | None = None,
    device: Device = "auto",
) -> Contours:
    """Trace the borders of a binary image.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, 1)
        Booleans or real numbers, of any strides, on the host; or on a GPU, where the rows may have
        any distance, and the work is queued on the caller's current stream.
    retrieval : {"tree", "ccomp", "list", "external"}
        Which borders to keep and how they are linked: the whole nesting; components with their
        holes; all without links between levels; outer borders that lie inside no hole.
    approximation : {"simple", "none", "tc89-l1", "tc89-kcos"}
        Which points to keep: where the direction changes; all; Teh and Chin's dominant points.
    geometry : {"centers", "edges"}
        What points are: centers of the foreground's pixels, as OpenCV has them; or corners of
        pixels, for polygons whose area is the number of pixels. Pixel (x, y) is the square from
        (x, y) to (x + 1, y + 1). Polygons of edges are always valid; those of centers often are
        not, since they touch or cross themselves where the foreground is one pixel wide, and leave
        out half of the outermost pixels.
    algorithm : {"fragments", "suzuki", "tiles", "components"}, optional
        How to compute it. The result does not depend on it.
    threshold, nodata, progress, device
        As for :func:`find_contours`.

    Returns
    -------
    Contours
        In the image's memory: of a GPU's image on that GPU, written when the stream's work so far
        is done. The host waits for the sizes of the result only.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`find_contours`; ``geometry="edges"`` with one of Teh and Chin's approximations
        is an InputError.

    Notes
    -----
    The time is linear in the number of pixels and points. The result takes 8 bytes per point and 25
    per contour, the work at most 3 bytes per pixel more for noise (6 for a checkerboard).

    Examples
    --------
    >>> import numpy as np, trazar
    >>> image = np.array([[0, 1, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1]])
    >>> contours = trazar.trace(image, geometry="edges")
    >>> contours.kinds.tolist()
    [0, 1]
    >>> contours[1].tolist()
    [[2, 1], [3, 1], [3, 2], [2, 2]]
    >>> contours.areas().tolist()
    [9.0, 1.0]
    """
    image, threshold = without_nodata(image, threshold, nodata)
    options = (retrieval, approximation, geometry, algorithm)
    with reporting(progress):
        traced = _traced(image, False, *options, threshold, device)
    return Contours(traced[0] if isinstance(traced, list) else traced)


def trace_batch(
    images: Any,
    *,
    retrieval: Retrieval = "tree",
    approximation: Approximation = "simple",
    geometry: Geometry = "centers",
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    nodata: float | None = None,
    device: Device = "auto",
) -> ContourBatch:
    """Trace the borders of N images of one size in one call.

    Parameters
    ----------
    images : array of shape (N, H, W)
        On the host or on a GPU.
    retrieval, approximation, geometry, algorithm, threshold, nodata, device
        As for :func:`trace`. Images on a GPU are traced by "fragments".

    Returns
    -------
    ContourBatch
        A sequence of N :class:`Contours`, which also has the arrays of all images together, where
        the images are.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`trace`.

    Notes
    -----
    On a GPU, all images are traced by the same launches: small images one by one would leave most
    of it idle. On the host, they are traced on all threads.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> images = np.zeros((2, 4, 4), bool)
    >>> images[1, 1:3, 1:3] = True
    >>> batch = trazar.trace_batch(images)
    >>> batch, batch[1]
    (ContourBatch(2 images, 1 contour, cpu), Contours(1 contour, 4 points, 4 × 4 pixels, cpu))
    """
    images, threshold = without_nodata(images, threshold, nodata)
    options = (retrieval, approximation, geometry, algorithm)
    return ContourBatch(_traced(images, True, *options, threshold, device))


def _traced(
    images: Any,
    batch: bool,
    retrieval: str,
    approximation: str,
    geometry: str,
    algorithm: str | None,
    threshold: float | None,
    device: Device,
) -> _trazar.DeviceContours | list[_trazar.HostContours]:
    """Return the contours of all images, on a GPU together."""
    images = checked_images(images, "trace", batch)
    options = (retrieval, approximation, geometry, algorithm, threshold)
    if is_on_gpu(images):
        check_device(device)
        return _trazar.device_trace(images, batch, *options)
    return _trazar.trace(images, batch, *options, device)
