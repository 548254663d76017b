"""Tracing: the borders of components and of holes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from trazar import _trazar
from trazar._arrays import check_device, is_on_gpu, one_image
from trazar._contours import Contours
from trazar._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from trazar._arrays import Device

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
    device: Device = "auto",
) -> tuple[tuple[NDArray[np.int32], ...], NDArray[np.int32] | None]:
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
        Added to x and y of each point: a tuple, a list or an array, as OpenCV takes it.
    threshold : number, optional
        Foreground is ``image > threshold``, as NumPy 2 compares: a number of Python's is rounded to
        the type of an array of floating point numbers, one of NumPy's is not. Without it, what is
        not 0. (NaN in an image with a threshold is an error.)
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
        Of an image on a GPU, both are there, as :func:`trace` describes it.

    Raises
    ------
    InputError
        For an image of another shape or without pixels, and for values that an argument does not
        take; NaN.
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
    image = one_image(image, "find_contours_batch")
    if is_on_gpu(image):
        check_device(device)
        _check_dimensions(image, 2)
        return _trazar.device_find_contours(image, mode, method, offset, threshold)
    found = _trazar.find_contours(image, mode, method, offset, threshold, device)
    if isinstance(found, list):
        raise _is_batch("find_contours")
    return found


def find_contours_batch(
    images: Any,
    mode: int = RETR_TREE,
    method: int = CHAIN_APPROX_SIMPLE,
    *,
    offset: ArrayLike = (0, 0),
    threshold: float | None = None,
    device: Device = "auto",
) -> list[tuple[tuple[NDArray[np.int32], ...], NDArray[np.int32] | None]]:
    """Find the contours of each of N images of one size.

    Parameters
    ----------
    images : array of shape (N, H, W)
        On the host.
    mode, method, offset, threshold, device
        As for :func:`find_contours`.

    Returns
    -------
    list of (contours, hierarchy)
        What :func:`find_contours` returns for each image.

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
    if is_on_gpu(images):
        raise _on_gpu("find_contours_batch", "trace_batch")
    found = _trazar.find_contours(images, mode, method, offset, threshold, device)
    if isinstance(found, tuple):
        raise _is_single("find_contours_batch")
    return found


def trace(
    image: Any,
    *,
    retrieval: Retrieval = "tree",
    approximation: Approximation = "simple",
    geometry: Geometry = "centers",
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
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
    threshold, device
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
    image = one_image(image, "trace_batch")
    if is_on_gpu(image):
        check_device(device)
        _check_dimensions(image, 2)
        return Contours(
            _trazar.device_trace(image, retrieval, approximation, geometry, algorithm, threshold)
        )
    traced = _trazar.trace(image, retrieval, approximation, geometry, algorithm, threshold, device)
    if isinstance(traced, list):
        raise _is_batch("trace")
    return Contours(traced)


@overload
def trace_batch(
    images: NDArray[Any] | Sequence[Any],
    *,
    retrieval: Retrieval = "tree",
    approximation: Approximation = "simple",
    geometry: Geometry = "centers",
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> list[Contours]: ...
@overload
def trace_batch(
    images: Any,
    *,
    retrieval: Retrieval = "tree",
    approximation: Approximation = "simple",
    geometry: Geometry = "centers",
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> list[Contours] | Contours: ...
def trace_batch(
    images: Any,
    *,
    retrieval: Retrieval = "tree",
    approximation: Approximation = "simple",
    geometry: Geometry = "centers",
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> list[Contours] | Contours:
    """Trace the borders of N images of one size in one call.

    Parameters
    ----------
    images : array of shape (N, H, W)
        On the host or on a GPU.
    retrieval, approximation, geometry, algorithm, threshold, device
        As for :func:`trace`.

    Returns
    -------
    list of Contours
        One for each image on the host. Of images on a GPU one :class:`Contours` of all, image by
        image, whose ``image_offsets`` say where each image's begin.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`trace`.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> images = np.zeros((2, 4, 4), bool)
    >>> images[1, 1:3, 1:3] = True
    >>> [len(contours) for contours in trazar.trace_batch(images)]
    [0, 1]
    """
    if is_on_gpu(images):
        check_device(device)
        _check_dimensions(images, 3)
        return Contours(
            _trazar.device_trace(images, retrieval, approximation, geometry, algorithm, threshold)
        )
    traced = _trazar.trace(images, retrieval, approximation, geometry, algorithm, threshold, device)
    if not isinstance(traced, list):
        raise _is_single("trace_batch")
    return [Contours(each) for each in traced]


def _check_dimensions(array: Any, needed: int) -> None:
    dimensions = len(array.shape)
    if dimensions != needed:
        form = "(H, W)" if needed == 2 else "(N, H, W)"
        raise InputError(f"an array of {dimensions} dimensions: one of shape {form} is needed")


def _is_batch(function: str) -> InputError:
    return InputError(f"an array of 3 dimensions: {function}_batch takes N images of one size")


def _is_single(function: str) -> InputError:
    return InputError(
        f"an array of 2 dimensions: {function} takes N images, {function.removesuffix('_batch')} "
        "takes one"
    )


def _on_gpu(function: str, instead: str) -> InputError:
    return InputError(f"{function} is for arrays on the host: {instead} takes those on a GPU")
