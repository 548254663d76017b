"""Small regions replaced by their largest neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trazar import _trazar
from trazar._arrays import check_connectivity, is_on_gpu
from trazar._errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sieve(
    source: Any,
    size: int,
    out: NDArray[Any] | None = None,
    mask: Any = None,
    connectivity: int = 4,
) -> NDArray[Any]:
    """Replace small regions by their largest neighbours, as ``rasterio.features.sieve`` does.

    A region is what is connected and has one value. One of fewer than ``size`` pixels gets the
    value of its largest neighbour, by the sizes in ``source``. If that is small too, its own
    largest neighbour is taken, and so on; a region from which this leads to none large enough
    stays.

    Parameters
    ----------
    source : array of shape (H, W)
        Integers of 8 to 64 bits, or float32, on the host.
    size : int
        The least number of pixels of a region that stays.
    out : array of shape (H, W), optional
        To write the result to.
    mask : array of shape (H, W), optional
        Pixels where it is 0 or False are in no region, and keep their values.
    connectivity : {4, 8}
        What is connected: pixels at 4 sides, or also at corners.

    Returns
    -------
    array of shape (H, W)
        ``out``, or a new array of the type of ``source``.

    Raises
    ------
    InputError
        For arrays of other shapes or types.
    OutOfMemoryError

    Examples
    --------
    >>> import numpy as np, trazar
    >>> trazar.sieve(np.array([[1, 1, 1, 2], [1, 3, 1, 2], [1, 1, 1, 2]], np.uint8), 2)
    array([[1, 1, 1, 2],
           [1, 1, 1, 2],
           [1, 1, 1, 2]], dtype=uint8)
    """
    import numpy as np

    if is_on_gpu(source):
        raise InputError("source on a GPU: it is sieved on the host; copy it there first")
    check_connectivity(connectivity)
    try:
        least = int(size)
    except (TypeError, ValueError):
        least = -1
    if not 0 <= least < 2**63:
        raise InputError(f"size={size!r}: it is a number of pixels")
    array = np.asarray(source)
    if array.ndim != 2:
        raise InputError(f"source of shape {array.shape}: it has 2 dimensions, (H, W)")
    if mask is not None:
        mask = np.asarray(mask)
        if mask.shape != array.shape:
            raise InputError(
                f"mask of shape {mask.shape}: it has that of the source, {array.shape}"
            )
    if out is not None and out.shape != array.shape:
        raise InputError(f"out of shape {out.shape}: it has that of the source, {array.shape}")
    given = array.astype(np.int16) if array.dtype == np.int8 else array
    given = given.view(np.uint8) if array.dtype == np.bool_ else given
    sieved = _trazar.sieve(given, least, mask, connectivity) if array.size else array.copy()
    sieved = sieved.astype(array.dtype, copy=False)
    if out is None:
        return sieved
    out[...] = sieved
    return out
