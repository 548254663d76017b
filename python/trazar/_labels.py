"""Labels: connected components and their measures."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, overload

from trazar import _trazar
from trazar._arrays import check_device, checked_images, is_on_gpu
from trazar._errors import InputError
from trazar._nodata import without_nodata
from trazar._progress import reporting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from trazar._arrays import Device
    from trazar._progress import Progress

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
    nodata: float | None = None,
    progress: Progress | None = None,
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
    nodata: float | None = None,
    progress: Progress | None = None,
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
    nodata: float | None = None,
    progress: Progress | None = None,
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
    nodata: float | None = None,
    progress: Progress | None = None,
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
    nodata: float | None = None,
    progress: Progress | None = None,
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
        The labels' type, by default int32; or an array of shape (H, W), where the image is, to
        write them to. Into one of int32 or uint32 in C's order they are written directly, into
        others copied. It may be the image itself. Nothing else may use it during the call, nor
        after an exception such as KeyboardInterrupt. On a GPU int32 is the only type to ask for;
        arrays of other types, or not in C's order, must be of PyTorch or CuPy, which copy to them.
    connectivity : {4, 8}, optional
        The number of neighbours, as OpenCV counts, instead of ``structure``. (scikit-image's and
        cuCIM's 1 is 4, their 2 is 8.)
    algorithm : {"parallel", "sequential", "tiles", "direct"}, optional
        How to compute it. The result does not depend on it.
    threshold : number, optional
        Foreground is ``image > threshold``, as NumPy 2 compares: a number of Python's is rounded to
        the type of an array of floating point numbers, one of NumPy's is not. Without it, what is
        not 0.
    nodata : number, optional
        The value of pixels without data, which are background, as for :func:`find_contours`.
    progress : callable, optional
        As for :func:`find_contours`.
    device : {"auto", "cpu", "cuda", "emulator"}
        What works on an image of the host's memory: the faster device for its size, the processor,
        the first GPU, or the GPU's kernels on the processor (for small images).

    Returns
    -------
    labels : array of shape (H, W), of int32 or the type ``output``
        0 for background, 1, 2, ... for the components in raster order of their first pixels. Of an
        image on a GPU, a :class:`trazar.DeviceArray` there.
    count : int
        The number of components. If ``output`` is an array, it alone is returned, as by SciPy. Of
        an image on a GPU, the host waits for it, and so for the work queued so far on the caller's
        current stream.

    Raises
    ------
    InputError
        For an image of another shape, another structure, NaN with a threshold, an ``output`` of
        another shape, on another device or read-only, and more components than its type holds
        (where SciPy raises RuntimeError).
    OutOfMemoryError, DeviceError

    See Also
    --------
    label_stats : areas, boxes and centroids too.
    label_batch : N images of one size.

    Notes
    -----
    The time is linear in the number of pixels. Besides the labels, the work takes 1/8 byte per
    pixel, and more where the image is noise: 2 to 4 on the host, 1.2 on a GPU.

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
    image, threshold = without_nodata(image, threshold, nodata)
    options = (structure, connectivity, algorithm, False, threshold, device)
    if output is None:
        labels, [count], _ = _labelled(image, False, *options, progress=progress)
        return labels, count
    into: Any = output if _is_array(output) else None
    dtype = _dtype(output)
    most = _most(dtype)
    on_gpu = is_on_gpu(image)
    if into is None:
        if on_gpu and dtype != "int32":
            raise InputError(
                f"output={dtype}: of an image on a GPU, labels are int32; convert them, or give an "
                "array of that type"
            )
        labels, [count], _ = _labelled(image, False, *options, progress=progress)
        _check_holds(dtype, most, count)
        return labels if on_gpu else labels.astype(dtype, copy=False), count
    direct = into if on_gpu else _direct(into, dtype)
    labels, [count], _ = _labelled(image, False, *options, direct, progress)
    # Written already, if there are none.
    if labels is not None:
        if into.shape != labels.shape:
            raise InputError(f"output of shape {into.shape}: the image's is {labels.shape}")
        _check_holds(dtype, most, count)
        _copy(labels, into)
    return count


def label_batch(
    images: Any,
    structure: ArrayLike | None = None,
    *,
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    nodata: float | None = None,
    device: Device = "auto",
) -> tuple[NDArray[np.int32], list[int]]:
    """Label each of N images of one size.

    Parameters
    ----------
    images : array of shape (N, H, W)
        On the host or on a GPU.
    structure, connectivity, algorithm, threshold, nodata, device
        As for :func:`label`.

    Returns
    -------
    labels : int32 array of shape (N, H, W)
        Those of :func:`label` for each image, from 1 in each, where the images are.
    counts : list of int
        The number of components of each image. Of images on a GPU, the host waits for them once.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`label`.

    Notes
    -----
    On the processor, images are labelled on all threads. On a GPU, all are labelled in one launch
    per stage: besides images and labels, that takes 1.3 bytes per pixel of at most 2**30 pixels.
    Images of NumPy go to it some 2**29 pixels at a time.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> labels, counts = trazar.label_batch(np.stack([np.eye(2), np.ones((2, 2))]))
    >>> labels.tolist(), counts
    ([[[1, 0], [0, 2]], [[1, 1], [1, 1]]], [2, 1])
    """
    images, threshold = without_nodata(images, threshold, nodata)
    options = (structure, connectivity, algorithm, False, threshold, device)
    labels, counts, _ = _labelled(images, True, *options)
    return labels, counts


def label_stats(
    image: Any,
    structure: ArrayLike | None = None,
    *,
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    nodata: float | None = None,
    progress: Progress | None = None,
    device: Device = "auto",
) -> tuple[NDArray[np.int32], dict[str, NDArray[Any]]]:
    """Label an image and measure its components, in one pass over the labels.

    Parameters
    ----------
    image, structure, connectivity, algorithm, threshold, nodata, progress, device
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

        NumPy's, also of an image on a GPU, which the host then waits for.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`label`.

    Notes
    -----
    Besides what :func:`label` takes, the columns take 60 bytes per component.

    Examples
    --------
    >>> import trazar
    >>> labels, columns = trazar.label_stats([[1, 1, 0], [0, 0, 0], [0, 1, 1]])
    >>> columns["area"].tolist(), columns["bbox-0"].tolist(), columns["centroid-1"].tolist()
    ([2.0, 2.0], [0, 2], [0.5, 1.5])
    """
    image, threshold = without_nodata(image, threshold, nodata)
    options = (structure, connectivity, algorithm, True, threshold, device)
    labels, _, columns = _labelled(image, False, *options, progress=progress)
    return labels, columns or {}


def label_stats_batch(
    images: Any,
    structure: ArrayLike | None = None,
    *,
    connectivity: int | None = None,
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    nodata: float | None = None,
    device: Device = "auto",
) -> tuple[NDArray[np.int32], dict[str, NDArray[Any]]]:
    """Label each of N images of one size and measure their components.

    Parameters
    ----------
    images : array of shape (N, H, W)
        On the host or on a GPU.
    structure, connectivity, algorithm, threshold, nodata, device
        As for :func:`label`.

    Returns
    -------
    labels : int32 array of shape (N, H, W)
        Those of :func:`label_batch`.
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
    images, threshold = without_nodata(images, threshold, nodata)
    options = (structure, connectivity, algorithm, True, threshold, device)
    labels, _, columns = _labelled(images, True, *options)
    return labels, columns or {}


def _labelled(
    images: Any,
    batch: bool,
    structure: ArrayLike | None,
    connectivity: int | None,
    algorithm: str | None,
    statistics: bool,
    threshold: float | None,
    device: Device,
    output: Any = None,
    progress: Progress | None = None,
) -> tuple[Any, list[int], dict[str, NDArray[Any]] | None]:
    """Return labels, or None if they were written to ``output``; counts; columns if asked for."""
    neighbours = _neighbours(structure, connectivity)
    images = checked_images(images, "label_stats" if statistics else "label", batch)
    options = (batch, neighbours, algorithm, statistics, threshold)
    with reporting(progress):
        if is_on_gpu(images):
            check_device(device)
            return _trazar.device_label(images, *options, output)
        return _trazar.label(images, *options, device, output)


def _is_array(output: Any) -> bool:
    """Whether it is an array instead of an element type; these may have a shape too."""
    import numpy as np

    if isinstance(output, (type, np.dtype)):
        return False
    return hasattr(output, "dtype") or hasattr(output, "__cuda_array_interface__")


def _dtype(given: Any) -> np.dtype[Any]:
    """Return NumPy's name of an element type, which may be PyTorch's, or of that of an array."""
    import numpy as np

    if _is_array(given):
        named = hasattr(given, "dtype")
        given = given.dtype if named else given.__cuda_array_interface__["typestr"]
    try:
        if type(given).__module__ == "torch":
            given = str(given).removeprefix("torch.")
        dtype: np.dtype[Any] = np.dtype(given)
    except TypeError:
        raise InputError(
            f"output={given!r}: it is an element type, such as int32, or an array of one"
        ) from None
    return dtype


def _direct(output: Any, dtype: np.dtype[Any]) -> NDArray[np.int32] | None:
    """Return an array of the host as one that the library writes to, or None if it can't."""
    import numpy as np

    if not isinstance(output, np.ndarray):
        raise InputError(
            "output is no array of NumPy's: of an image in the host's memory, labels are written "
            "there"
        )
    if not output.flags.writeable:
        raise InputError("output is a read-only array")
    if dtype in (np.int32, np.uint32) and output.flags.carray:
        return output.view(np.ndarray).view(np.int32)
    return None


def _copy(labels: Any, output: Any) -> None:
    """Copy labels to an array that lies where they lie, by its own library."""
    import numpy as np

    if isinstance(output, np.ndarray):
        output[...] = labels
    elif hasattr(output, "copy_"):
        import torch

        output.copy_(torch.from_dlpack(labels))
    else:
        import cupy

        with output.device:
            output[...] = cupy.asarray(labels)


def _check_holds(dtype: np.dtype[Any], most: int, count: int) -> None:
    """Refuse a type that does not hold ``count`` labels."""
    import numpy as np

    if count > most:
        types = (np.int8, np.uint8, np.int16, np.uint16, np.int32)
        names = [np.dtype(each).name for each in types if count <= _most(np.dtype(each))]
        raise InputError(
            f"output of {dtype}: it holds {most} components, and the image has {count}; "
            f"{', '.join(names)} and wider ones hold them"
        )


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


def _neighbours(structure: ArrayLike | None, connectivity: int | None) -> int:
    """4 or 8, from the two ways to ask for it."""
    if connectivity is not None:
        if structure is not None:
            raise InputError("structure= and connectivity= are two ways to say one thing")
        if not isinstance(connectivity, Integral) or connectivity not in (4, 8):
            raise InputError(
                f"connectivity={connectivity!r}: it is the number of neighbours, 4 or 8 "
                "(scikit-image's 1 is 4, its 2 is 8)"
            )
        return int(connectivity)
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
