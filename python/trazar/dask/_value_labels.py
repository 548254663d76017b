"""Labels of the regions of Dask arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from dask.delayed import delayed

from trazar import _trazar
from trazar._arrays import check_connectivity
from trazar._regions import _background
from trazar.dask._bands import Bands, device_of
from trazar.dask._labels import Numbered, labels_dtype
from trazar.dask._regions import values_in_bands

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from trazar._arrays import Device


def label_values(
    array: Any,
    background: ArrayLike | None = 0,
    connectivity: int = 4,
    *,
    mask: Any = None,
    dtype: DTypeLike | None = None,
    rows: int | str | None = "auto",
    keep: bool = True,
    device: Device = "auto",
) -> tuple[Any, Any]:
    """Label the regions of a Dask array, with the numbers of :func:`trazar.label_values`.

    Parameters
    ----------
    array, mask, rows
        As for :func:`polygonize`.
    background, connectivity
        As for :func:`trazar.label_values`.
    dtype : {int32, int64}, optional
        The labels' type. Unless given, it is int32 if the array has no more pixels than it counts,
        and int64 otherwise.
    keep : bool
        There are two passes over the values. Between them, workers keep the values, or put them on
        their disks, and the array is computed once. With False, nothing of the array is kept: the
        first pass is taken at once, by this call, and the array is computed again for the labels.
        It must be the same then, or there is an error.
    device : {"auto", "cpu", "cuda", "emulator"}
        What each worker works on: see :mod:`trazar.dask`.

    Returns
    -------
    labels : dask.array.Array of shape (H, W)
        Lazy, in chunks that are bands: 0 for pixels that are left out, 1, 2, ... for the regions in
        raster order of their first pixels.
    count : dask.delayed.Delayed
        The number of regions, an int. Compute it with the labels, by
        ``dask.compute(labels, count)``, or the first pass is taken twice.

    Raises
    ------
    InputError
        As :func:`polygonize`, except that an array without pixels has no regions. When it is
        computed: for more regions than the type counts, and for an array that has changed between
        the passes.
    DeviceError
        When it is computed: for a GPU that is not there or fails.

    See Also
    --------
    trazar.label_values : arrays in memory.
    label : connected components of foreground.

    Notes
    -----
    As for :func:`label`, the first pass keeps the regions on the first and the last row of each
    band, at most 28 bytes per pixel of these rows, which are joined as a tree.

    Examples
    --------
    >>> import dask, dask.array as da, numpy as np, trazar, trazar.dask
    >>> classes = np.random.default_rng(0).integers(0, 3, (300, 400), dtype="u1")
    >>> labels, count = trazar.dask.label_values(da.from_array(classes, chunks=(100, 130)))
    >>> labels, count = dask.compute(labels, count)
    >>> expected, expected_count = trazar.label_values(classes)
    >>> np.array_equal(labels, expected), count == expected_count
    (True, True)
    """
    check_connectivity(connectivity)
    read, like = values_in_bands(array, mask, rows)
    values = read[0]
    left_out = _background(background, like)
    chosen = labels_dtype(values.size, dtype)
    if 0 in values.shape:
        return da.zeros_like(values, dtype=chosen), delayed(0)
    names = [each.name for each in read]
    worked_on = device_of(values, device)
    kind = (chosen, keep, worked_on)
    bands = Bands(values, "values", left_out.tolist(), *names[1:], connectivity, *kind)

    def rows_of(index: int) -> list[Any]:
        return [(name, index, 0) for name in names]

    first_rows = bands.first_rows
    options = (left_out, connectivity, worked_on)
    parts = bands.each("label-part", lambda i: (_part, rows_of(i), first_rows[i], *options))
    numbered = Numbered(bands, parts)
    below = numbered.below(keep, [], *read)
    key = bands.name("label")
    wide = chosen == np.int64
    tasks = {
        (key, i, 0): (_label, numbers, rows_of(i), *options, wide)
        for i, numbers in enumerate(numbered.numbers)
    }
    graph = bands.over("label", tasks, *below, *read)
    labels = da.Array(graph, key, values.chunks, meta=values._meta.astype(chosen))
    return labels, numbered.count_over(below)


def _part(
    rows: list[NDArray[Any]],
    first_row: int,
    background: NDArray[Any],
    connectivity: int,
    device: str,
) -> _trazar.LabelPart:
    values, *mask = rows
    masked = mask[0] if mask else None
    return _trazar.label_values_part(values, masked, first_row, background, connectivity, device)


def _label(
    numbers: _trazar.BandNumbers,
    rows: list[NDArray[Any]],
    background: NDArray[Any],
    connectivity: int,
    device: str,
    wide: bool,
) -> NDArray[Any]:
    """Label a band with its final numbers."""
    values, *mask = rows
    masked = mask[0] if mask else None
    return _trazar.label_values_band(
        numbers, values, masked, background, connectivity, wide, device
    )
