"""Cost distances of Dask arrays: chunks exchange their rims until nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
from dask.array.overlap import ensure_minimum_chunksize, overlap
from dask.delayed import delayed

from trazar import _trazar
from trazar._distances import (
    CostDistance,
    _is_xarray,
    _like,
    _number,
    _raster_sources,
    _sampling,
    _sources,
)
from trazar._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from trazar._distances import Neighbours, Precision

#: The costs and the ids of a strip of cells.
_Strip = tuple["NDArray[Any]", "NDArray[np.uint32]"]


def cost_distance(
    friction: Any,
    sources: Any,
    *,
    sampling: float | Sequence[float] | None = None,
    neighbours: Neighbours = 8,
    max_cost: float | None = None,
    allocation: bool = False,
    precision: Precision = "f32",
    start_costs: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    no_data: float | None = None,
) -> CostDistance:
    """Compute the costs of :func:`trazar.cost_distance` for a Dask array.

    Each chunk is solved by itself, with the costs of the cells around it as further sources, and
    again as long as these fall. The costs are those of the whole raster, bit for bit, and so is the
    allocation. There are no directions: they may cross plateaus of many chunks.

    Parameters
    ----------
    friction : dask.array.Array of shape (H, W), or xarray.DataArray of one
        In chunks of any sizes.
    sources : list of cells, array of shape (n, 2), or raster of shape (H, W)
        As for :func:`trazar.cost_distance`. A raster is a Dask array or a NumPy array of whole
        numbers, which are the ids.
    sampling, neighbours, max_cost, allocation, precision, ids, no_data
        As for :func:`trazar.cost_distance`.
    start_costs : array of n costs, optional
        For sources that are cells.

    Returns
    -------
    CostDistance
        Of lazy arrays, in the chunks of the friction. This call solves chunks until the costs at
        their rims are final, and keeps these only, 8 bytes per cell of a rim. Computing the result
        solves each chunk once more, so that ``result.cost.to_zarr(...)`` writes it without having
        it all. The friction is read again for each time that a chunk is solved; it must be the
        same then.

    Raises
    ------
    InputError
        As :func:`trazar.cost_distance`; costs that exceed the precision are NaN here.

    See Also
    --------
    trazar.cost_distance : arrays in memory.

    Notes
    -----
    A worker has a chunk with its rim: 16 bytes per cell of it in f32, 28 in f64. Chunks of 1024² to
    4096² cells are good: a chunk is solved a few times, more often if paths wind through many
    chunks.

    Examples
    --------
    >>> import dask.array as da, numpy as np, trazar, trazar.dask
    >>> friction = np.random.default_rng(0).random((300, 400))
    >>> found = trazar.dask.cost_distance(da.from_array(friction, chunks=(100, 130)), [(5, 5)])
    >>> whole = trazar.cost_distance(friction, [(5, 5)])
    >>> np.array_equal(found.cost.compute(), whole.cost)
    True
    """
    given = friction
    array = friction.data if _is_xarray(friction) else friction
    if not isinstance(array, da.Array):
        raise InputError("friction is a Dask array; trazar.cost_distance takes others")
    if array.ndim != 2 or array.dtype.kind not in "biuf" or 0 in array.shape:
        raise InputError(
            f"friction of shape {array.shape} and type {array.dtype}: it has shape (H, W), at "
            "least one cell, and numbers"
        )
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        raise InputError("friction has chunks of unknown sizes: array.compute_chunk_sizes() helps")
    if neighbours not in (4, 8, 16):
        raise InputError(f"neighbours={neighbours!r}: it is one of 4, 8, 16")
    if precision not in ("f32", "f64"):
        raise InputError(f"precision={precision!r}: it is one of f32, f64")
    single = precision == "f32"
    real: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
    largest = np.finfo(np.float32 if single else np.float64).max
    limit = float(largest) if max_cost is None else _number("max_cost", max_cost)
    options = {
        "sampling": _sampling(sampling, given),
        "neighbours": str(neighbours),
        "max_cost": limit,
        "precision": precision,
        "allocation": bool(allocation),
    }
    chunks = _Chunks(array, no_data, real, 2 if neighbours == 16 else 1)
    solver = _Solver(chunks, chunks.divide(sources, ids, start_costs), options)
    solver.exchange()
    cost = solver.result(0, real)
    found = solver.result(1, np.dtype(np.uint32)) if allocation else None
    return CostDistance(_like(given, cost), _like(given, found))


class _Chunks:
    """The friction in chunks, each with a margin of its neighbours' cells."""

    def __init__(self, array: da.Array, no_data: float | None, real: np.dtype[Any], margin: int):
        for axis in (0, 1):
            if min(array.chunks[axis]) < margin and len(array.chunks[axis]) > 1:
                sizes = ensure_minimum_chunksize(margin, array.chunks[axis])
                array = array.rechunk({axis: sizes})
        self.margin = margin
        self.sizes = array.chunks
        self.shape = array.shape
        self.grid = array.numblocks
        self.starts = [np.cumsum([0, *sizes]) for sizes in array.chunks]
        plain = array.map_blocks(_plain, no_data, real, dtype=real, meta=np.empty((0, 0), real))
        # Dask does not overlap by more cells than a chunk has.
        tiny = [side < margin for side in array.shape]
        if any(tiny):
            ends = [(margin, margin) if each else (0, 0) for each in tiny]
            plain = da.pad(plain, ends, constant_values=np.nan)
            plain = plain.rechunk({axis: -1 for axis in (0, 1) if tiny[axis]})
        depth = {axis: 0 if tiny[axis] else margin for axis in (0, 1)}
        wide = overlap(plain, depth=depth, boundary=np.nan, allow_rechunk=False)
        self.blocks = wide.to_delayed()

    def all(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(self.grid[0]) for j in range(self.grid[1])]

    def corner(self, chunk: tuple[int, int]) -> tuple[int, int]:
        """The row and the column of the chunk's first cell."""
        return int(self.starts[0][chunk[0]]), int(self.starts[1][chunk[1]])

    def divide(self, sources: Any, ids: Any, start_costs: Any) -> dict[tuple[int, int], Any]:
        """By chunk: rows of cells, ids and start costs, or a lazy part of a raster of ids."""
        if _is_xarray(sources):
            sources = sources.data
        is_cells = isinstance(sources, (list, tuple)) or sources.shape != self.shape
        if not is_cells:
            if ids is not None or start_costs is not None:
                raise InputError("ids and start_costs go with sources that are cells")
            if sources.dtype.kind not in "iu":
                raise InputError(
                    f"a raster of sources of type {sources.dtype}: it has whole numbers, the ids"
                )
            raster = da.asarray(sources).rechunk(self.sizes).to_delayed()
            return {chunk: raster[chunk] for chunk in self.all()}
        cells, numbers = _sources(sources, self.shape, ids)
        costs = np.zeros(len(cells)) if start_costs is None else np.asarray(start_costs, float)
        if costs.shape != (len(cells),):
            raise InputError(
                f"start_costs of shape {costs.shape}: there is one for each of {len(cells)} cells"
            )
        places = [np.searchsorted(self.starts[k], cells[:, k], "right") - 1 for k in (0, 1)]
        found = {}
        for chunk in self.all():
            here = (places[0] == chunk[0]) & (places[1] == chunk[1])
            own = cells[here] - np.array(self.corner(chunk), np.uint32)
            found[chunk] = (own, numbers[here], costs[here])
        return found


class _Solver:
    """Solves chunks until their rims are final."""

    def __init__(self, chunks: _Chunks, sources: dict[Any, Any], options: dict[str, Any]) -> None:
        self.chunks = chunks
        self.sources = sources
        self.options = options
        #: By chunk: the strips along its four sides.
        self.rims: dict[tuple[int, int], dict[str, _Strip]] = {}

    def exchange(self) -> None:
        """Solve chunks as long as the costs around one have changed.

        A chunk that is solved while costs still fall around it is solved again. So of all chunks
        that are due, those come first around which the least cost has changed: it is final, or soon
        will be.
        """
        everywhere = self.chunks.all()
        rings: dict[tuple[int, int], Any] = {chunk: None for chunk in everywhere}
        # By chunk: the least cost around it that has changed since it was solved.
        due = dict.fromkeys(everywhere, 0.0)
        solve = delayed(_rims, pure=False)
        has_sources = False
        while due:
            last = min(due.values()) + self.usual_range() / 8
            now = sorted(chunk for chunk, least in due.items() if least <= last)
            for chunk in now:
                del due[chunk]
                if self.rims:
                    rings[chunk] = self.ring(chunk)
            tasks = [self.task(solve, chunk, rings[chunk]) for chunk in now]
            changed = set()
            for chunk, (count, rims) in zip(now, dask.compute(*tasks)):
                has_sources |= count > 0
                before = self.rims.get(chunk)
                self.rims[chunk] = rims
                given = before.values() if before else None
                if _least_change(given, rims.values()) is not None:
                    changed.add(chunk)
            for chunk in {
                (i + di, j + dj) for i, j in changed for di in (-1, 0, 1) for dj in (-1, 0, 1)
            } & set(rings):
                least = _least_change(rings[chunk], self.ring(chunk))
                if least is not None:
                    due[chunk] = least
        if not has_sources:
            raise InputError("there are no sources: give at least one cell")
        solve = delayed(_solve, pure=True)
        self.solved = {chunk: self.task(solve, chunk, rings[chunk]) for chunk in rings}

    def usual_range(self) -> float:
        """How far costs along a chunk's rim are apart, of the chunks that have been reached."""
        ranges = []
        for rims in self.rims.values():
            costs = [costs for costs, _ in rims.values() if not np.isnan(costs).all()]
            if costs:
                least = min(float(np.nanmin(each)) for each in costs)
                ranges.append(max(float(np.nanmax(each)) for each in costs) - least)
        return float(np.median(ranges)) if ranges else float("inf")

    def task(self, solve: Any, chunk: tuple[int, int], ring: Any) -> Any:
        """The call of a lazy function for a chunk, with the cells around it."""
        chunks = self.chunks
        block, corner = chunks.blocks[chunk], chunks.corner(chunk)
        return solve(block, self.sources[chunk], ring, chunks.margin, corner, self.options)

    def ring(self, chunk: tuple[int, int]) -> Any:
        """The costs and ids of the cells around a chunk: above, below, left and right of it."""
        m = self.chunks.margin
        i, j = chunk
        height, width = (self.chunks.sizes[k][chunk[k]] for k in (0, 1))

        def part(di: int, dj: int, rows: int, columns: int) -> _Strip:
            rims = self.rims.get((i + di, j + dj))
            if rims is None:
                real = np.float32 if self.options["precision"] == "f32" else np.float64
                return np.full((rows, columns), np.nan, real), np.zeros((rows, columns), np.uint32)
            strip = rims[{-1: "bottom", 1: "top"}.get(di, "right" if dj < 0 else "left")]
            if di == 0 or dj == 0:
                return strip
            side = slice(-m, None) if dj < 0 else slice(None, m)
            return strip[0][:, side], strip[1][:, side]

        def row(di: int) -> _Strip:
            parts = [part(di, dj, m, m if dj else width) for dj in (-1, 0, 1)]
            costs, ids = (np.concatenate(each, axis=1) for each in zip(*parts))
            return costs, ids

        return [row(-1), row(1), part(0, -1, height, m), part(0, 1, height, m)]

    def result(self, index: int, dtype: np.dtype[Any]) -> da.Array:
        """The costs, or the ids, of all chunks."""
        item = delayed(_item, pure=True)
        rows = []
        for i in range(self.chunks.grid[0]):
            row = []
            for j in range(self.chunks.grid[1]):
                shape = self.chunks.sizes[0][i], self.chunks.sizes[1][j]
                row.append(da.from_delayed(item(self.solved[i, j], index), shape, dtype))
            rows.append(row)
        return da.block(rows)


def _item(solved: tuple[Any, Any, int], index: int) -> Any:
    return solved[index]


def _plain(block: NDArray[Any], no_data: float | None, real: np.dtype[Any]) -> NDArray[Any]:
    """Friction of the precision of the costs, NaN for no data."""
    plain = block.astype(real)
    if no_data is not None:
        plain[block == block.dtype.type(no_data)] = np.nan
    return plain


def _least_change(before: Iterable[_Strip] | None, now: Iterable[_Strip]) -> float | None:
    """The least cost of a cell whose cost or id is not as before; None if there is no such cell.

    At first, all cells without costs are as before.
    """
    least = []
    former = None if before is None else list(before)
    for i, (costs, ids) in enumerate(now):
        changed = ~np.isnan(costs)
        if former is not None:
            changed &= (costs != former[i][0]) | (ids != former[i][1])
        if changed.any():
            least.append(float(costs[changed].min()))
    return min(least, default=None)


def _solve(
    block: NDArray[Any],
    sources: Any,
    ring: Any,
    margin: int,
    corner: tuple[int, int],
    options: dict[str, Any],
) -> tuple[NDArray[Any], NDArray[np.uint32], int]:
    """The costs and the ids of a chunk, and the number of its own sources.

    The block has a margin, whose costs and ids are the ring's.
    """
    inner = slice(margin, block.shape[0] - margin), slice(margin, block.shape[1] - margin)
    _check(block[inner] < 0, corner, "friction", "is negative: it must be 0 or more, or NaN")
    if isinstance(sources, tuple):
        cells, ids, starts = sources
    else:
        cells, ids = _raster_sources(sources)
        starts = np.zeros(len(cells))
    on_barrier = np.zeros(block[inner].shape, bool)
    on_barrier[tuple(cells.T)] = ~np.isfinite(block[inner][tuple(cells.T)])
    _check(on_barrier, corner, "the source", "is on a barrier: move it, or give it a friction")
    own = len(cells)
    cells = cells + np.uint32(margin)
    if ring is not None:
        wide_costs = np.full(block.shape, np.nan, block.dtype)
        wide_ids = np.zeros(block.shape, np.uint32)
        m = margin
        places = [
            np.s_[:m, :],
            np.s_[-m:, :],
            np.s_[m:-m, :m],
            np.s_[m:-m, -m:],
        ]
        for place, (costs, numbers) in zip(places, ring):
            wide_costs[place], wide_ids[place] = costs, numbers
        around = np.argwhere(~np.isnan(wide_costs)).astype(np.uint32)
        where = tuple(around.T)
        cells = np.concatenate([cells, around])
        # Without allocation the ring's ids are 0; any valid id will do.
        ids = np.concatenate([ids, np.maximum(wide_ids[where], 1)])
        starts = np.concatenate([starts, wide_costs[where].astype(np.float64)])
    if not len(cells):
        shape = block[inner].shape
        return np.full(shape, np.nan, block.dtype), np.zeros(shape, np.uint32), own
    cost, allocation, _ = _trazar.cost_distance(
        block,
        cells,
        ids,
        starts,
        options["sampling"],
        options["neighbours"],
        "mean",
        options["max_cost"],
        None,
        options["precision"],
        options["allocation"],
        False,
        "cpu",
    )
    if allocation is None:
        return cost[inner], np.zeros(block[inner].shape, np.uint32), own
    return cost[inner], allocation[inner], own


def _check(wrong: NDArray[np.bool_], corner: tuple[int, int], what: str, why: str) -> None:
    if wrong.any():
        row, column = (np.argwhere(wrong)[0] + corner).tolist()
        raise InputError(f"{what} at row {row}, column {column} {why}")


def _rims(
    block: NDArray[Any],
    sources: Any,
    ring: Any,
    margin: int,
    corner: tuple[int, int],
    options: dict[str, Any],
) -> tuple[int, dict[str, _Strip]]:
    """The number of a chunk's own sources, and the strips along its sides."""
    cost, ids, own = _solve(block, sources, ring, margin, corner, options)
    m = margin
    sides = {
        "top": np.s_[:m, :],
        "bottom": np.s_[-m:, :],
        "left": np.s_[:, :m],
        "right": np.s_[:, -m:],
    }
    # Copies, so that the chunk itself is freed.
    return own, {side: (cost[at].copy(), ids[at].copy()) for side, at in sides.items()}
