"""Masks as COCO's run lengths, with the names and the results of ``pycocotools.mask``.

=======================  =========================================================================
:func:`encode`           masks to run lengths
:func:`encode_labels`    the masks of all labels of an image, in one pass
:func:`decode`           run lengths to masks
:func:`area`             numbers of foreground pixels
:func:`to_bbox`          bounding boxes
:func:`iou`              intersections over unions, of masks or of boxes
:func:`merge`            the union or the intersection of masks
:func:`polygons`         the outer borders of masks, as lists of coordinates
=======================  =========================================================================

A mask is a dict: ``size`` is ``[height, width]``, ``counts`` are the lengths of runs of background
and foreground in turn, column by column, compressed to bytes. Counts may also be given as a
``str``, or uncompressed as a list of integers. Counts that do not fit the size, and bytes that are
none, raise :exc:`trazar.InputError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from trazar import _trazar
from trazar._arrays import is_on_gpu
from trazar._errors import InputError
from trazar._measure import _labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Rle",
    "area",
    "decode",
    "encode",
    "encode_labels",
    "iou",
    "merge",
    "polygons",
    "toBbox",
    "to_bbox",
]


class Rle(TypedDict):
    """A mask as run lengths."""

    size: list[int]
    counts: bytes


def encode(masks: Any, *, layout: str | None = None) -> Any:
    """Encode masks.

    Parameters
    ----------
    masks : array
        Booleans or numbers of any strides; foreground is what is not 0. Arrays of PyTorch or CuPy
        on a GPU are encoded there: at most 613,566,756 counts at once. One mask has shape (H, W).
        Several have shape (H, W, N) if the array is contiguous in Fortran's order, as pycocotools
        takes it, and (N, H, W) otherwise.
    layout : {"HWN", "NHW"}, optional
        The axes of several masks, whatever their order in memory.

    Returns
    -------
    dict, or list of dicts

    See Also
    --------
    encode_labels : the masks of a label image.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> mask = np.zeros((3, 4), bool)
    >>> mask[1, 1:3] = True
    >>> trazar.rle.encode(mask)
    {'size': [3, 4], 'counts': b'41202'}
    >>> trazar.rle.encode(np.stack([mask, ~mask]))[1]
    {'size': [3, 4], 'counts': b'041N02'}
    """
    import numpy as np

    if layout not in (None, "HWN", "NHW"):
        raise InputError(f"layout={layout!r}: it is 'HWN' or 'NHW'")
    if is_on_gpu(masks):
        return _encode_on_gpu(masks, layout)
    array = np.asarray(masks)
    if array.ndim == 2:
        return _dicts(array.shape, _trazar.rle_encode(array[None]))[0]
    if array.ndim != 3:
        raise InputError(f"masks of shape {array.shape}: (H, W), (H, W, N) or (N, H, W)")
    if layout == "HWN" or (layout is None and array.flags.f_contiguous):
        array = array.transpose(2, 0, 1)
    return _dicts(array.shape[1:], _trazar.rle_encode(array))


def _encode_on_gpu(masks: Any, layout: str | None) -> Any:
    """Encode masks of shape (H, W), (N, H, W), or (H, W, N) if the layout says so, on a GPU."""
    dimensions = len(masks.shape)
    if dimensions not in (2, 3):
        raise InputError(f"masks of shape {tuple(masks.shape)}: (H, W), (H, W, N) or (N, H, W)")
    if dimensions == 3 and layout == "HWN":
        masks = masks.permute(2, 0, 1) if hasattr(masks, "permute") else masks.transpose(2, 0, 1)
    found = _dicts(masks.shape[-2:], _trazar.device_rle_encode(masks, dimensions == 3))
    return found if dimensions == 3 else found[0]


def encode_labels(labels: Any) -> tuple[NDArray[np.int64], list[Rle]]:
    """Encode the mask of each label of an image, in one pass over it.

    Parameters
    ----------
    labels : array of shape (H, W)
        Integers, of any strides. Positive values are labels. Arrays of PyTorch or CuPy on a GPU are
        encoded there.

    Returns
    -------
    values : int64 array of shape (N,)
        The labels, in ascending order.
    masks : list of dicts
        One for each label.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> values, masks = trazar.rle.encode_labels(np.array([[7, 7, 0], [0, 7, 5]]))
    >>> values
    array([5, 7])
    >>> masks[0]
    {'size': [2, 3], 'counts': b'51'}
    """
    import numpy as np

    on_gpu = is_on_gpu(labels)
    array = labels if on_gpu else _labels(labels)
    if len(array.shape) == 2 and 0 in array.shape:
        return np.zeros(0, np.int64), []
    encoded = _trazar.device_rle_encode_labels if on_gpu else _trazar.rle_encode_labels
    values, masks = encoded(array)
    return values, _dicts(array.shape, masks)


def decode(rles: Any) -> NDArray[np.uint8]:
    """Decode masks.

    Parameters
    ----------
    rles : dict, or list of dicts
        Of one size.

    Returns
    -------
    array of uint8, in Fortran's order
        Zeros and ones, of shape (H, W) for a dict and (H, W, N) for a list.

    Examples
    --------
    >>> import trazar
    >>> trazar.rle.decode({"size": [3, 4], "counts": b"41202"})
    array([[0, 0, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 0, 0]], dtype=uint8)
    """
    masks, is_one = _masks(rles)
    height, width = (masks[0][0], masks[0][1]) if masks else (0, 0)
    pixels = _trazar.rle_decode(masks)
    shape = (height, width) if is_one else (height, width, len(masks))
    return pixels.reshape(shape, order="F")


def area(rles: Any) -> Any:
    """Return the number of foreground pixels: of a dict as a number, of a list as an array.

    Examples
    --------
    >>> import trazar
    >>> trazar.rle.area([{"size": [3, 4], "counts": b"41202"}])
    array([2], dtype=uint32)
    """
    import numpy as np

    masks, is_one = _masks(rles)
    areas = np.array(_trazar.rle_area(masks), np.uint32)
    return areas[0] if is_one else areas


def to_bbox(rles: Any) -> NDArray[np.float64]:
    """Return bounding boxes: x, y, width and height, of a dict with one axis, of a list with two.

    Examples
    --------
    >>> import trazar
    >>> trazar.rle.to_bbox({"size": [3, 4], "counts": b"41202"})
    array([1., 1., 2., 1.])
    """
    import numpy as np

    masks, is_one = _masks(rles)
    boxes = np.array(_trazar.rle_to_bbox(masks), np.float64).reshape(-1, 4)
    return boxes[0] if is_one else boxes


toBbox = to_bbox  # pycocotools' name


def iou(dt: Any, gt: Any, pyiscrowd: Any) -> Any:
    """Return the intersections of masks, or of boxes, divided by their unions.

    Parameters
    ----------
    dt, gt : list of dicts, or array or list of boxes
        What was found, and what is true. Boxes are x, y, width and height.
    pyiscrowd : sequence
        For each of ``gt``, whether it is a crowd: then the intersection is divided by the area of
        what was found.

    Returns
    -------
    float64 array of shape (len(dt), len(gt)), in Fortran's order
        -1 for masks of different sizes whose boxes overlap. An empty list if there are none.

    Examples
    --------
    >>> import trazar
    >>> a = {"size": [1, 4], "counts": [0, 2, 2]}
    >>> b = {"size": [1, 4], "counts": [1, 3]}
    >>> trazar.rle.iou([a], [b], [0])
    array([[0.25]])
    """
    import numpy as np

    crowd = np.asarray(pyiscrowd, bool).ravel()
    if len(crowd) != len(gt):
        raise InputError(
            f"pyiscrowd of length {len(crowd)}: one for each of gt, which has {len(gt)}"
        )
    if len(dt) == 0 or len(gt) == 0:
        return []
    found, truth = _boxes(dt), _boxes(gt)
    if (found is None) != (truth is None):
        raise InputError("dt and gt are both masks, or both boxes")
    if found is None or truth is None:
        masks = _masks(list(dt))[0], _masks(list(gt))[0]
        overlaps = _trazar.rle_iou(*masks, crowd.tolist())
        return overlaps.reshape((len(dt), len(gt)), order="F")
    areas, true_areas = found[:, 2] * found[:, 3], truth[:, 2] * truth[:, 3]
    ends, true_ends = found[:, :2] + found[:, 2:], truth[:, :2] + truth[:, 2:]
    sides = np.fmin(ends[:, None], true_ends) - np.fmax(found[:, None, :2], truth[:, :2])
    both = sides[..., 0] * sides[..., 1]
    either = np.where(crowd, areas[:, None], areas[:, None] + true_areas - both)
    touch = (sides > 0).all(axis=-1)
    ratios = np.divide(both, either, out=np.zeros_like(both), where=touch)
    return np.asfortranarray(ratios)


def merge(rles: Iterable[Any], intersect: bool = False) -> Rle:
    """Return the union of masks, or their intersection.

    Of masks of different sizes, and of none, this is a mask of size ``[0, 0]``.

    Examples
    --------
    >>> import trazar
    >>> a = {"size": [1, 4], "counts": [0, 2, 2]}
    >>> b = {"size": [1, 4], "counts": [1, 3]}
    >>> trazar.rle.area(trazar.rle.merge([a, b]))
    np.uint32(4)
    """
    height, width, counts = _trazar.rle_merge(_masks(list(rles))[0], bool(intersect))
    return {"size": [height, width], "counts": counts}


def polygons(mask: Any) -> list[list[float]]:
    """Return the outer borders of a mask as COCO's polygons.

    Borders run through the centers of border pixels, as those of ``cv2.findContours``, so holes
    are lost, and the area of a polygon is less than the mask's. Borders of fewer than 3 points,
    which are no polygons, are left out.

    Parameters
    ----------
    mask : array of shape (H, W)
        Booleans or numbers; foreground is what is not 0.

    Returns
    -------
    list of lists
        Coordinates ``[x0, y0, x1, y1, ...]``, one list for each border.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> mask = np.zeros((5, 5), np.uint8)
    >>> mask[1:4, 1:3] = 1
    >>> trazar.rle.polygons(mask)
    [[1.0, 1.0, 1.0, 3.0, 2.0, 3.0, 2.0, 1.0]]
    """
    from trazar._tracing import CHAIN_APPROX_SIMPLE, RETR_EXTERNAL, find_contours

    contours, _ = find_contours(mask, RETR_EXTERNAL, CHAIN_APPROX_SIMPLE)
    return [contour.ravel().astype(float).tolist() for contour in contours if len(contour) > 2]


def _dicts(shape: Sequence[int], masks: list[bytes]) -> list[Rle]:
    """Return masks of one shape, given as compressed counts."""
    height, width = shape
    return [{"size": [height, width], "counts": counts} for counts in masks]


def _masks(rles: Any) -> tuple[list[tuple[int, int, Any]], bool]:
    """Return the masks as the library takes them, and whether one dict was given."""
    if isinstance(rles, dict):
        return [_mask(rles)], True
    if not isinstance(rles, (list, tuple)):
        raise InputError(f"{type(rles).__name__}: masks are a dict, or a list of dicts")
    return [_mask(mask) for mask in rles], False


def _mask(mask: Any) -> tuple[int, int, Any]:
    try:
        (height, width), counts = mask["size"], mask["counts"]
        sides = int(height), int(width)
    except (KeyError, TypeError, ValueError):
        raise InputError("a mask is a dict with size, [height, width], and counts") from None
    if not all(0 <= side < 1 << 32 for side in sides):
        raise InputError(f"a mask of size {[height, width]}: sides are from 0 to 4294967295")
    if isinstance(counts, (bytes, str)):
        return *sides, counts
    try:
        return *sides, bytes(counts) if isinstance(counts, bytearray) else list(counts)
    except TypeError:
        raise InputError("counts are bytes, or a list of integers from 0 to 4294967295") from None


def _boxes(given: Any) -> NDArray[np.float64] | None:
    """Return boxes as an array; None if masks were given."""
    import numpy as np

    if not isinstance(given, np.ndarray) and all(isinstance(each, dict) for each in given):
        return None
    try:
        boxes = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        boxes = np.zeros(0)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise InputError("masks are dicts; boxes are x, y, width and height, of shape (N, 4)")
    return boxes
