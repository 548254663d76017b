"""Labels: connected components and their measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from trazar import _trazar
from trazar._arrays import check_device, is_on_gpu, one_image
from trazar._errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from trazar._arrays import Device

    Algorithm = Literal["sequential", "parallel", "tiles", "direct"]


@overload
def label(
    image: Any,
    structure: ArrayLike | None,
    output: NDArray[Any],
    *,
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> int: ...
@overload
def label(
    image: Any,
    structure: ArrayLike | None = None,
    *,
    output: NDArray[Any],
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> int: ...
@overload
def label(
    image: Any,
    structure: ArrayLike | None = None,
    output: None = None,
    *,
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> tuple[NDArray[np.int32], int]: ...
@overload
def label(
    image: Any,
    structure: ArrayLike | None = None,
    output: DTypeLike = ...,
    *,
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> tuple[NDArray[Any], int]: ...
def label(
    image: Any,
    structure: ArrayLike | None = None,
    output: DTypeLike | NDArray[Any] | None = None,
    *,
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> tuple[NDArray[Any], int] | int:
    """Label the connected components of a binary image, as ``scipy.ndimage.label`` does.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, 1)
        Booleans or real numbers, of any strides; on the host or on a GPU.
    structure : array of shape (3, 3), optional
        What is connected: a cross for 4 neighbours, which is the default, or all ones for 8. There
        are no others that both are symmetric and connect neighbours in a row and in a column.
    output : dtype or array, optional
        The labels' type, by default int32; or an array of shape (H, W), on the host, to write them
        to. Into one of int32 or uint32 in C's order they are written directly, into others copied.
        It may be the image itself. Nothing else may use it during the call, nor after an exception
        such as KeyboardInterrupt.
    connectivity : {4, 8, 1, 2}, optional
        In the place of ``structure``: the number of neighbours, as OpenCV counts, or of steps along
        axes, as scikit-image and cuCIM count.
    algorithm : {"parallel", "sequential", "tiles", "direct"}, optional
        How to compute it. The result does not depend on it.
    threshold : number, optional
        Foreground is ``image > threshold``, as NumPy 2 compares: a number of Python's is rounded to
        the type of an array of floating point numbers, one of NumPy's is not. Without it, what is
        not 0.
    device : {"auto", "cpu", "cuda", "emulator"}
        What works on an image of the host's memory: the faster device for its size, the processor,
        the first GPU, or the GPU's kernels on the processor (for small images).

    Returns
    -------
    labels : int32 array of shape (H, W)
        0 for background, 1, 2, ... for the components in raster order of their first pixels. Not
        returned if ``output`` is an array.
    count : int
        The number of components.

        Of an image on a GPU, labels and count are :class:`trazar.DeviceArray` there, written when
        the work queued so far on the caller's current stream is done; ``int(count)`` waits for it.

    Raises
    ------
    InputError
        For an image of another shape, another structure, NaN with a threshold, and more components
        than ``output``'s type holds (where SciPy raises RuntimeError).
    OutOfMemoryError, DeviceError

    See Also
    --------
    label_stats : areas, boxes and centroids too.
    label_batch : N images of one size.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> image = np.array([[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0], [1, 1, 0, 0, 1, 0]])
    >>> labels, count = trazar.label(image)
    >>> count
    3
    >>> labels
    array([[0, 0, 1, 1, 0, 0],
           [0, 0, 0, 1, 0, 0],
           [2, 2, 0, 0, 3, 0]], dtype=int32)
    >>> trazar.label(image, structure=np.ones((3, 3)))[1]
    2
    """
    neighbours = _neighbours(structure, connectivity)
    image = one_image(image, "label_batch")
    if is_on_gpu(image):
        check_device(device)
        if output is not None:
            raise InputError("output= is for images on the host")
        labels, count, _ = _trazar.device_label(image, neighbours, algorithm, False, threshold)
        return labels, count
    if output is None:
        found, count, _ = _trazar.label(image, neighbours, algorithm, False, threshold, device)
        _check_one(found, "label_batch")
        return found, count
    import numpy as np

    into = output if isinstance(output, np.ndarray) else None
    dtype = np.dtype(output.dtype if into is not None else output)  # type: ignore[union-attr]
    _most(dtype)
    if into is not None and not into.flags.writeable:
        raise InputError("output is a read-only array")
    if into is not None and dtype in (np.int32, np.uint32) and into.flags.carray:
        direct = into.view(np.ndarray).view(np.int32)
        found, count, _ = _trazar.label(
            image, neighbours, algorithm, False, threshold, device, direct
        )
        _check_one(found, "label_batch")
        return int(count)
    found, count, _ = _trazar.label(image, neighbours, algorithm, False, threshold, device)
    _check_one(found, "label_batch")
    if into is not None and into.shape != found.shape:
        raise InputError(f"output of shape {into.shape}: the image's is {found.shape}")
    if count > _most(dtype):
        types = (np.int8, np.uint8, np.int16, np.uint16, np.int32)
        names = [np.dtype(each).name for each in types if count <= _most(np.dtype(each))]
        raise InputError(
            f"output of {dtype}: it holds {_most(dtype)} components, and the image has {count}; "
            f"{', '.join(names)} and wider ones hold them"
        )
    if into is not None:
        into[...] = found
        return int(count)
    return found.astype(dtype, copy=False), count


def label_batch(
    images: Any,
    structure: ArrayLike | None = None,
    *,
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Label each of N images of one size.

    Parameters
    ----------
    images : array of shape (N, H, W)
        On the host or on a GPU.
    structure, connectivity, algorithm, threshold, device
        As for :func:`label`.

    Returns
    -------
    labels : int32 array of shape (N, H, W)
        Those of :func:`label` for each image, from 1 in each.
    counts : int64 array of shape (N,), of images on a GPU int32
        The number of components of each image.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`label`.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> labels, counts = trazar.label_batch(np.stack([np.eye(2), np.ones((2, 2))]))
    >>> labels.tolist(), counts.tolist()
    ([[[1, 0], [0, 2]], [[1, 1], [1, 1]]], [2, 1])
    """
    neighbours = _neighbours(structure, connectivity)
    if is_on_gpu(images):
        check_device(device)
        labels, counts, _ = _trazar.device_label(images, neighbours, algorithm, False, threshold)
        return labels, counts
    import numpy as np

    found, numbers, _ = _trazar.label(images, neighbours, algorithm, False, threshold, device)
    _check_batch(found)
    return found, np.array(numbers, np.int64)


def label_stats(
    image: Any,
    structure: ArrayLike | None = None,
    *,
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> tuple[NDArray[np.int32], dict[str, NDArray[Any]]]:
    """Label an image and measure its components, in one pass over the labels.

    Parameters
    ----------
    image, structure, connectivity, algorithm, threshold, device
        As for :func:`label`.

    Returns
    -------
    labels : int32 array of shape (H, W)
        Those of :func:`label`.
    columns : dict of arrays of shape (count,)
        Columns of the names, types and values that ``skimage.measure.regionprops_table`` gives for
        ``("label", "area", "bbox", "centroid")``; element i is label i + 1:

        ============================  =======  ==================================================
        ``label``                     int32    1, 2, ...
        ``area``                      float64  the number of pixels
        ``bbox-0``, ``bbox-1``        int64    the first row and column
        ``bbox-2``, ``bbox-3``        int64    one past the last row and column
        ``centroid-0``, ``-1``        float64  the means of the rows and of the columns
        ============================  =======  ==================================================

        On the host, also of an image on a GPU, which the host then waits for.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`label`.

    Examples
    --------
    >>> import trazar
    >>> labels, columns = trazar.label_stats([[1, 1, 0], [0, 0, 0], [0, 1, 1]])
    >>> columns["area"].tolist(), columns["bbox-0"].tolist(), columns["centroid-1"].tolist()
    ([2.0, 2.0], [0, 2], [0.5, 1.5])
    """
    neighbours = _neighbours(structure, connectivity)
    image = one_image(image, "label_stats_batch")
    if is_on_gpu(image):
        check_device(device)
        labels, _, columns = _trazar.device_label(image, neighbours, algorithm, True, threshold)
    else:
        labels, _, columns = _trazar.label(image, neighbours, algorithm, True, threshold, device)
    _check_one(labels, "label_stats_batch")
    return labels, columns or {}


def label_stats_batch(
    images: Any,
    structure: ArrayLike | None = None,
    *,
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> tuple[NDArray[np.int32], dict[str, NDArray[Any]]]:
    """Label each of N images of one size and measure their components.

    Parameters
    ----------
    images : array of shape (N, H, W)
    structure, connectivity, algorithm, threshold, device
        As for :func:`label`.

    Returns
    -------
    labels : int32 array of shape (N, H, W)
    columns : dict of arrays
        The columns of :func:`label_stats` for all images, image by image, and before them
        ``image``, the image's index (int64).

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`label`.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> labels, columns = trazar.label_stats_batch(np.stack([np.eye(2), np.ones((2, 2))]))
    >>> columns["image"].tolist(), columns["area"].tolist()
    ([0, 0, 1], [1.0, 1.0, 4.0])
    """
    neighbours = _neighbours(structure, connectivity)
    if is_on_gpu(images):
        check_device(device)
        labels, _, columns = _trazar.device_label(images, neighbours, algorithm, True, threshold)
    else:
        labels, _, columns = _trazar.label(images, neighbours, algorithm, True, threshold, device)
    _check_batch(labels)
    return labels, columns or {}


def _most(dtype: np.dtype[Any]) -> int:
    """Return up to which number a type holds all whole numbers."""
    import numpy as np

    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    if dtype.kind == "f":
        return int(2 ** (np.finfo(dtype).nmant + 1))
    if dtype.kind == "b":
        return 1
    raise InputError(f"output of {dtype}: labels are integers, such as int32, or real numbers")


def _check_one(labels: NDArray[Any], batch: str) -> None:
    if labels.ndim != 2:
        raise InputError(f"an array of 3 dimensions: {batch} takes N images of one size")


def _check_batch(labels: Any) -> None:
    if labels.ndim != 3:
        raise InputError("an array of 2 dimensions: N images are an array of shape (N, H, W)")


def _neighbours(structure: ArrayLike | None, connectivity: int | None) -> int:
    """4 or 8, from the two ways to ask for it."""
    if connectivity is not None:
        if structure is not None:
            raise InputError("structure= and connectivity= are two ways to say one thing")
        counts = {1: 4, 2: 8, 4: 4, 8: 8}
        if connectivity not in counts:
            raise InputError(
                f"connectivity={connectivity!r}: it is 4 or 8 neighbours, or 1 or 2 steps"
            )
        return counts[connectivity]
    if structure is None:
        return 4
    import numpy as np

    given = np.asarray(structure) != 0
    if given.shape == (3, 3):
        if given.all():
            return 8
        if (given == np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)).all():
            return 4
    raise InputError(
        f"structure={given.astype(int).tolist()}: it is a cross or all ones, of shape (3, 3)"
    )
