"""Labels of Dask arrays, and measures of their components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from dask.base import persist
from dask.delayed import Delayed, delayed

from trazar import _trazar
from trazar._arrays import is_on_gpu
from trazar._errors import InputError
from trazar._labels import _neighbours
from trazar.dask._bands import Bands, device_of, in_bands, item, layer, pack

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from trazar._arrays import Device
    from trazar.dask._bands import Key, Tasks

#: The columns of measures, and their types; that of labels is the labels'.
_COLUMNS: dict[str, type[np.generic]] = {
    "label": np.int64,
    "area": np.float64,
    "bbox-0": np.int64,
    "bbox-1": np.int64,
    "bbox-2": np.int64,
    "bbox-3": np.int64,
    "centroid-0": np.float64,
    "centroid-1": np.float64,
}


def label(
    array: Any,
    structure: ArrayLike | None = None,
    *,
    connectivity: int | None = None,
    threshold: float | None = None,
    dtype: DTypeLike | None = None,
    rows: int | str | None = "auto",
    keep: bool = True,
    device: Device = "auto",
) -> tuple[Any, Any]:
    """Label the connected components of a Dask array, with the numbers of :func:`trazar.label`.

    Parameters
    ----------
    array : dask.array.Array of shape (H, W)
        Booleans or real numbers, in chunks of any sizes.
    structure : array of shape (3, 3), optional
        What is connected: a cross for 4 neighbours, which is the default, or all ones for 8.
    connectivity : {4, 8}, optional
        The number of neighbours, instead of ``structure``.
    threshold : number, optional
        Foreground is ``array > threshold``; without it, what is not 0.
    dtype : {int32, int64}, optional
        The labels' type. Unless given, it is int32 if no image of that size has more components
        than it counts, and int64 otherwise.
    rows : int, "auto" or None
        The rows of a band: see :mod:`trazar.dask`.
    keep : bool
        There are two passes. Between them, workers keep the image's bits, 1/8 byte per pixel, and
        the array is computed once. With False, nothing of the image is kept: the first pass is
        taken at once, by this call, and the array is computed again for the labels. It must be the
        same then, or there is an error.
    device : {"auto", "cpu", "cuda", "emulator"}
        What each worker works on: see :mod:`trazar.dask`.

    Returns
    -------
    labels : dask.array.Array of shape (H, W)
        Lazy, in chunks that are bands: 0 for background, 1, 2, ... in raster order of the
        components' first pixels. ``labels.to_zarr(...)`` writes them without having them all. They
        lie where the array's chunks lie: of CuPy arrays, the labels are CuPy arrays.
    count : dask.delayed.Delayed
        The number of components, an int. Compute it with the labels, by
        ``dask.compute(labels, count)``, or the first pass is taken twice.

    Raises
    ------
    InputError
        For an array of another shape, type or chunks of unknown sizes. When it is computed: for NaN
        with a threshold, more components than the type counts, and an array that has changed
        between the passes.
    DeviceError
        When it is computed: for a GPU that is not there or fails.

    See Also
    --------
    trazar.label : arrays in memory.

    Notes
    -----
    The first pass finds the components of each band and keeps those that touch its first or last
    row, at most 16 bytes each. These are joined as a tree, ending on one worker. The second pass
    labels each band again, from its bits: its labels would take 32 times the memory, and finding
    components without writing labels takes half of the time.

    Examples
    --------
    >>> import dask, dask.array as da, numpy as np, trazar, trazar.dask
    >>> image = np.random.default_rng(0).random((300, 400)) < 0.4
    >>> labels, count = trazar.dask.label(da.from_array(image, chunks=(100, 130)))
    >>> labels, count = dask.compute(labels, count)
    >>> expected, expected_count = trazar.label(image)
    >>> np.array_equal(labels, expected), count == expected_count
    (True, True)
    """
    labels, count, _ = _label(
        array, structure, connectivity, threshold, dtype, rows, keep, device, False
    )
    return labels, count


def label_stats(
    array: Any,
    structure: ArrayLike | None = None,
    *,
    connectivity: int | None = None,
    threshold: float | None = None,
    dtype: DTypeLike | None = None,
    rows: int | str | None = "auto",
    keep: bool = True,
    device: Device = "auto",
) -> tuple[Any, dict[str, Any]]:
    """Label a Dask array and measure its components, as :func:`trazar.label_stats` does.

    Parameters
    ----------
    array, structure, connectivity, threshold, dtype, rows, keep, device
        As for :func:`label`.

    Returns
    -------
    labels : dask.array.Array of shape (H, W)
        Those of :func:`label`.
    columns : dict of dask.array.Array of shape (count,)
        The columns of :func:`trazar.label_stats`, lazy. There is a chunk for each band, with the
        components that start in it, whose number is not known before (``nan``). Measures of
        components within one band never leave its worker. Columns that are computed without the
        labels take the first pass only.

    Raises
    ------
    InputError, DeviceError
        As :func:`label`.

    Examples
    --------
    >>> import dask, dask.array as da, trazar.dask
    >>> image = da.from_array([[1, 1, 0], [0, 0, 0], [0, 1, 1]], chunks=(1, 2))
    >>> labels, columns = trazar.dask.label_stats(image, rows=1)
    >>> (columns,) = dask.compute(columns)
    >>> columns["area"].tolist(), columns["bbox-0"].tolist(), columns["centroid-1"].tolist()
    ([2.0, 2.0], [0, 2], [0.5, 1.5])
    """
    labels, _, columns = _label(
        array, structure, connectivity, threshold, dtype, rows, keep, device, True
    )
    return labels, columns


def _label(
    array: Any,
    structure: ArrayLike | None,
    connectivity: int | None,
    threshold: float | None,
    dtype: DTypeLike | None,
    rows: int | str | None,
    keep: bool,
    device: Device,
    statistics: bool,
) -> tuple[Any, Any, dict[str, Any]]:
    neighbours = _neighbours(structure, connectivity)
    image = in_bands(array, threshold, rows)
    chosen = labels_dtype(_most(image.shape, neighbours), dtype)
    wide = chosen == np.int64
    types = {**_COLUMNS, "label": chosen.type}
    if 0 in image.shape:
        columns = {name: da.zeros(0, dtype=of) for name, of in types.items() if statistics}
        return da.zeros_like(image, dtype=chosen), delayed(0), columns

    worked_on = device_of(image, device)
    on_gpu = is_on_gpu(image._meta)
    bands = Bands(image, neighbours, chosen, statistics, keep, worked_on)
    packed = bands.pack()
    first_rows = bands.first_rows
    pairs = bands.each(
        "label-part",
        lambda i: (_part, packed[i], first_rows[i], neighbours, statistics, worked_on),
    )
    numbered = Numbered(bands, bands.each("label-rims", lambda i: (item, pairs[i], 0)))
    numbers = numbered.numbers
    below = numbered.below(keep, pairs if statistics else [], image)

    columns = {}
    if statistics:
        measures = bands.name("label-measures")
        tasks = {(measures, i): (_columns, numbers[i], pairs[i], wide) for i in range(len(bands))}
        measured = layer(measures, bands.over("label-measures", tasks, *below))
        for name, of in types.items():
            key = bands.name(f"label-{name}")
            column = {(key, i): (item, (measures, i), name) for i in range(len(bands))}
            graph = bands.over(f"label-{name}", column, measured)
            columns[name] = da.Array(graph, key, ((np.nan,) * len(bands),), dtype=of)

    key = bands.name("label")
    work = _label_again if keep else _pack_and_label
    source = packed if keep else [(image.name, i, 0) for i in range(len(bands))]
    options = (neighbours, wide, worked_on, on_gpu)
    relabel = {(key, i, 0): (work, numbers[i], source[i], *options) for i in range(len(bands))}
    graph = bands.over("label", relabel, *below, *(() if keep else (image,)))
    labels = da.Array(graph, key, image.chunks, meta=image._meta.astype(chosen))
    return labels, numbered.count_over(below), columns


class Numbered:
    """The parts of an image's bands, joined: the numbers of each band.

    Attributes
    ----------
    numbers : list of keys
        Of each band's numbers.
    """

    def __init__(self, bands: Bands, parts: list[Key]) -> None:
        self.bands = bands
        self._table = bands.name("label-table")
        last = bands.join(parts)
        bands.tasks[self._table] = (_finish, last)
        self.numbers: list[Key] = bands.each("label-numbers", lambda i: (item, self._table, i))
        self._count = bands.name("label-count")
        bands.tasks[self._count] = (_count, self.numbers[0])

    def below(self, keep: bool, needed: list[Key], *read: Any) -> list[Any]:
        """Return the first pass over the arrays that it reads, for graphs that need its numbers.

        Unless its tasks are kept, it is taken now, and what it finds besides the numbers is lost
        but for `needed`.
        """
        bands, table = self.bands, self._table
        graph = bands.over("label-table", bands.tasks, *read)
        first = layer(table, graph)
        if keep:
            return [first]
        below = list(persist(*(Delayed(key, first.dask, layer=table) for key in [table, *needed])))
        tasks: Tasks = {key: (item, table, i) for i, key in enumerate(self.numbers)}
        tasks[self._count] = (_count, self.numbers[0])
        return [layer(bands.name("label-again"), bands.over("label-again", tasks, *below))]

    def count_over(self, below: list[Any]) -> Delayed:
        """Return the number of components."""
        return Delayed(self._count, below[0].dask, layer=below[0].__dask_layers__()[0])


def _most(shape: tuple[int, int], neighbours: int) -> int:
    """Return the most components of foreground that an image can have."""
    # With 4 neighbours, every second pixel can be a component; with 8, every fourth.
    if neighbours == 8:
        return ((shape[0] + 1) // 2) * ((shape[1] + 1) // 2)
    return (shape[0] * shape[1] + 1) // 2


def labels_dtype(most: int, dtype: DTypeLike | None) -> np.dtype[Any]:
    """Return the type for at most that many labels."""
    if dtype is None:
        return np.dtype(np.int32 if most <= np.iinfo(np.int32).max else np.int64)
    chosen = np.dtype(dtype)
    if chosen not in (np.int32, np.int64):
        raise InputError(f"dtype={chosen}: labels are int32 or int64")
    return chosen


def _part(
    mask: _trazar.Mask, first_row: int, neighbours: int, statistics: bool, device: str
) -> tuple[_trazar.LabelPart, _trazar.Measures]:
    return _trazar.label_part(mask, first_row, neighbours, statistics, device)


def _finish(part: _trazar.LabelPart) -> list[_trazar.BandNumbers]:
    return part.finish()


def _count(numbers: _trazar.BandNumbers) -> int:
    return numbers.count


def _columns(
    numbers: _trazar.BandNumbers,
    pair: tuple[_trazar.LabelPart, _trazar.Measures],
    wide: bool,
) -> dict[str, NDArray[Any]]:
    return numbers.columns(pair[1], wide)


def _label_again(
    numbers: _trazar.BandNumbers,
    mask: _trazar.Mask,
    neighbours: int,
    wide: bool,
    device: str,
    on_gpu: bool,
) -> Any:
    """Label a band with its final numbers, with `on_gpu` as a CuPy array."""
    if not on_gpu:
        return numbers.label(mask, neighbours, wide, device)
    import cupy

    if numbers.count > np.iinfo(np.uint32).max:
        return cupy.asarray(numbers.label(mask, neighbours, wide, device))
    labels = cupy.asarray(_trazar.device_label_band(numbers, mask, neighbours, wide))
    return labels.view(np.uint32).astype(np.int64) if wide else labels


def _pack_and_label(
    numbers: _trazar.BandNumbers,
    band: Any,
    neighbours: int,
    wide: bool,
    device: str,
    on_gpu: bool,
) -> Any:
    return _label_again(numbers, pack(band), neighbours, wide, device, on_gpu)
