"""Cost distances of Dask arrays: chunks exchange their rims until nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask.array.overlap import ensure_minimum_chunksize, overlap
from dask.delayed import delayed

from trazar import _trazar
from trazar._distances import (
    CostDistance,
    _friction,
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

#: The row and the column of a chunk among the chunks.
_Chunk = tuple[int, int]
#: Strips of cells along the sides of a chunk, by name.
_Rims = dict[str, "NDArray[Any]"]
#: Strips of cells around a chunk: above, below, left and right of it.
_Ring = list["NDArray[Any]"]
#: Cells, ids and start costs.
_Sources = tuple["NDArray[np.uint32]", "NDArray[np.uint32]", "NDArray[np.float64]"]
#: A chunk's costs with the margin, or none if nothing reaches it; and the number of its sources.
_Solved = tuple["NDArray[Any] | None", int]
_NO_SOURCES: _Sources = (np.empty((0, 2), np.uint32), np.empty(0, np.uint32), np.empty(0))


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

    Each chunk is solved by itself. Whenever costs of the cells around a chunk fall, these cells
    become further sources, and the costs of the chunk are lowered. The costs are those of the whole
    raster, bit for bit, and so is the allocation. There are no directions: they may cross plateaus
    of many chunks.

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
        Of lazy arrays, in the chunks of the friction; those narrower than a step is long are
        merged. This call finds all costs, and ids along the rims of chunks. As long as the result
        is alive, the workers keep friction and costs, as by :func:`dask.persist`: 8 bytes per cell
        in f32, 16 in f64. Dask's schedulers of one process have all of it there; with
        ``distributed`` each worker has its share, and moves to disk what it has no room for. So
        ``result.cost.to_zarr(...)`` writes the costs without gathering them. To find an allocation,
        each chunk is solved again, some 5 times in this call, and once when it is computed.

    Raises
    ------
    InputError
        As :func:`trazar.cost_distance`; costs that exceed the precision are NaN here.

    See Also
    --------
    trazar.cost_distance : arrays in memory.

    Notes
    -----
    To solve a chunk takes 20 bytes per cell of it in f32, 40 in f64. Chunks of 1024² to 4096² cells
    are good: costs of a chunk are lowered some 8 times, more often if paths wind through many
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
    }
    chunks = _Chunks(array, no_data, real, 2 if neighbours == 16 else 1)
    solver = _Solver(chunks, chunks.divide(sources, ids, start_costs), options)
    solver.lower()
    found = None
    if allocation:
        solver.allocate()
        found = solver.allocation()
    return CostDistance(_like(given, solver.cost()), _like(given, found))


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
        blocks = wide.to_delayed()
        # By chunk. These hold on to what is persisted, unlike those of a persisted array.
        self.blocks = dict(zip(self.all(), dask.persist(*blocks.ravel())))

    def all(self) -> list[_Chunk]:
        return [(i, j) for i in range(self.grid[0]) for j in range(self.grid[1])]

    def size(self, chunk: _Chunk) -> tuple[int, int]:
        """The height and the width of a chunk."""
        return self.sizes[0][chunk[0]], self.sizes[1][chunk[1]]

    def corner(self, chunk: _Chunk) -> tuple[int, int]:
        """The row and the column of the chunk's first cell."""
        return int(self.starts[0][chunk[0]]), int(self.starts[1][chunk[1]])

    def divide(self, sources: Any, ids: Any, start_costs: Any) -> dict[_Chunk, Any]:
        """By chunk: its sources, as a task that has been computed if they come from a raster."""
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
            found = dask.persist(*map(delayed(_sources_of_raster), raster.ravel()))
            return dict(zip(self.all(), found))
        cells, numbers = _sources(sources, self.shape, ids)
        costs = np.zeros(len(cells)) if start_costs is None else np.asarray(start_costs, float)
        if costs.shape != (len(cells),):
            raise InputError(
                f"start_costs of shape {costs.shape}: there is one for each of {len(cells)} cells"
            )
        wrong = ~((costs >= 0) & np.isfinite(costs))
        if wrong.any():
            row, column = cells[wrong][0].tolist()
            raise InputError(
                f"the source at row {row}, column {column} starts at a cost of {costs[wrong][0]}: "
                "it must be 0 or more, and finite"
            )
        places = [np.searchsorted(self.starts[k], cells[:, k], "right") - 1 for k in (0, 1)]
        found = {}
        for chunk in self.all():
            here = (places[0] == chunk[0]) & (places[1] == chunk[1])
            own = cells[here] - np.array(self.corner(chunk), np.uint32)
            found[chunk] = (own, numbers[here], costs[here])
        return found


class _Solver:
    """Solves chunks until their rims are final.

    The costs of a chunk stay on the worker that solved it. When costs around a chunk fall, a search
    lowers the chunk's own costs, and visits only the cells whose costs it lowers.
    """

    def __init__(self, chunks: _Chunks, sources: dict[Any, Any], options: dict[str, Any]) -> None:
        self.chunks = chunks
        self.sources = sources
        self.options = options
        #: By chunk: its costs, as a task that has been computed; see :func:`_lower`.
        self.costs: dict[_Chunk, Any] = {}
        #: By chunk: the costs along its four sides, and the ids.
        self.cost_rims: dict[_Chunk, _Rims] = {}
        self.id_rims: dict[_Chunk, _Rims] = {}

    def lower(self) -> None:
        """Find the costs: lower those of chunks as long as costs around one fall.

        Of all chunks that are due, those come first around which the least cost has fallen: it is
        final, or soon will be.
        """
        lower = delayed(_lower, pure=False)
        rims = self.cost_rims
        has_sources = False

        def solve(now: list[_Chunk], rings: list[_Ring]) -> Iterable[_Rims]:
            nonlocal has_sources
            tasks = []
            for chunk, ring in zip(now, rings):
                before = self.costs.get(chunk)
                sources = self.sources[chunk] if before is None else None
                tasks.append(self.task(lower, chunk, sources, ring, before))
            # One graph for both; only the heads are brought here.
            persisted = dask.persist(*tasks, *map(self.head, now, tasks))
            solved, heads = persisted[: len(now)], dask.compute(*persisted[len(now) :])
            # Not sooner, since the tasks need the costs before.
            self.costs.update(zip(now, solved))
            for count, strips in heads:
                has_sources |= count > 0
                yield strips

        self.exchange(solve, rims, lambda chunk: self.ring(chunk, rims, self.real(), np.nan))
        if not has_sources:
            raise InputError("there are no sources: give at least one cell")

    def allocate(self) -> None:
        """Find the allocation, from final costs: by chunk, as long as ids around one change."""
        task = delayed(_id_rims, pure=False)

        def solve(now: list[_Chunk], rings: list[_Ring]) -> Iterable[_Rims]:
            found: tuple[_Rims, ...]
            found = dask.compute(*(self.ids(task, *each) for each in zip(now, rings)))
            return found

        self.exchange(solve, self.id_rims, self.id_ring)

    def exchange(self, solve: Any, rims: dict[_Chunk, _Rims], ring: Any) -> None:
        """Solve chunks as long as ``ring``, what is known around a chunk, changes."""
        # By chunk: what was known around it when it was solved.
        rings: dict[_Chunk, _Ring] = {}
        # By chunk: the least cost around it of a cell that has changed since it was solved. At
        # first, all chunks are solved.
        due = dict.fromkeys(self.chunks.all(), 0.0)
        while due:
            last = min(due.values()) + self.usual_range() / 2
            now = sorted(chunk for chunk, least in due.items() if least <= last)
            for chunk in now:
                del due[chunk]
                rings[chunk] = ring(chunk)
            changed = set()
            for chunk, strips in zip(now, solve(now, [rings[chunk] for chunk in now])):
                before = rims.get(chunk)
                rims[chunk] = strips
                if before is None or any(
                    not _equal(before[side], strips[side]) for side in strips
                ):
                    changed.add(chunk)
            for chunk in {
                (i + di, j + dj) for i, j in changed for di in (-1, 0, 1) for dj in (-1, 0, 1)
            } & set(rings):
                least = self.least_change(chunk, rings[chunk], ring(chunk))
                if least is not None:
                    due[chunk] = least

    def least_change(self, chunk: _Chunk, before: _Ring, now: _Ring) -> float | None:
        """The least cost around a chunk of a cell that has changed; None if there is none."""
        costs = self.ring(chunk, self.cost_rims, self.real(), np.nan)
        least = []
        for cost, former, value in zip(costs, before, now):
            changed = ~np.isnan(cost) & (former != value)
            if changed.any():
                least.append(float(cost[changed].min()))
        return min(least, default=None)

    def usual_range(self) -> float:
        """How far costs along a chunk's rim are apart, of the chunks that have been reached."""
        ranges = []
        for rims in self.cost_rims.values():
            costs = [costs for costs in rims.values() if not np.isnan(costs).all()]
            if costs:
                least = min(float(np.nanmin(each)) for each in costs)
                ranges.append(max(float(np.nanmax(each)) for each in costs) - least)
        return float(np.median(ranges)) if ranges else float("inf")

    def real(self) -> type:
        return np.float32 if self.options["precision"] == "f32" else np.float64

    def task(self, function: Any, chunk: _Chunk, sources: Any, *more: Any) -> Any:
        """The call of a lazy function for a chunk."""
        place = _Place(self.chunks.margin, self.chunks.corner(chunk), self.options)
        return function(self.chunks.blocks[chunk], place, sources, *more)

    def ids(self, function: Any, chunk: _Chunk, ids: _Ring) -> Any:
        """The call of a lazy function for a chunk whose costs are final, with the ids around it."""
        costs = self.ring(chunk, self.cost_rims, self.real(), np.nan)
        return self.task(function, chunk, self.sources[chunk], (costs, ids), self.costs[chunk])

    def id_ring(self, chunk: _Chunk) -> _Ring:
        return self.ring(chunk, self.id_rims, np.uint32, 0)

    def ring(self, chunk: _Chunk, rims: dict[_Chunk, _Rims], dtype: type, none: float) -> _Ring:
        """The cells around a chunk, above, below, left and right of it; ``none`` if unknown."""
        m = self.chunks.margin
        i, j = chunk
        height, width = self.chunks.size(chunk)

        def part(di: int, dj: int, rows: int, columns: int) -> NDArray[Any]:
            strips = rims.get((i + di, j + dj))
            if strips is None:
                return np.full((rows, columns), none, dtype)
            strip = strips[{-1: "bottom", 1: "top"}.get(di, "right" if dj < 0 else "left")]
            if di == 0 or dj == 0:
                return strip
            return strip[:, -m:] if dj < 0 else strip[:, :m]

        def row(di: int) -> NDArray[Any]:
            return np.concatenate([part(di, dj, m, m if dj else width) for dj in (-1, 0, 1)], 1)

        return [row(-1), row(1), part(0, -1, height, m), part(0, 1, height, m)]

    def result(self, function: Any, dtype: np.dtype[Any]) -> da.Array:
        """The lazy results of all chunks."""
        rows = []
        for i in range(self.chunks.grid[0]):
            row = []
            for j in range(self.chunks.grid[1]):
                row.append(da.from_delayed(function((i, j)), self.chunks.size((i, j)), dtype))
            rows.append(row)
        return da.block(rows)

    def head(self, chunk: _Chunk, solved: Any) -> Any:
        """What :meth:`lower` needs to know of a chunk that has been solved."""
        return delayed(_head, pure=True)(solved, *self.about(chunk))

    def about(self, chunk: _Chunk) -> tuple[int, tuple[int, int], type]:
        """The margin, the shape and the type of a chunk's costs."""
        return self.chunks.margin, self.chunks.size(chunk), self.real()

    def cost(self) -> da.Array:
        """The costs, when they are final."""
        inner = delayed(_costs, pure=True)
        return self.result(
            lambda chunk: inner(self.costs[chunk], *self.about(chunk)), np.dtype(self.real())
        )

    def allocation(self) -> da.Array:
        """The ids, when they are final."""
        task = delayed(_ids, pure=True)
        return self.result(
            lambda chunk: self.ids(task, chunk, self.id_ring(chunk)), np.dtype(np.uint32)
        )


class _Place(NamedTuple):
    """Where a chunk is, and what is computed of it."""

    #: The width of the margin that its block has.
    margin: int
    #: The row and the column of its first cell.
    corner: tuple[int, int]
    options: dict[str, Any]


def _plain(block: NDArray[Any], no_data: float | None, real: np.dtype[Any]) -> NDArray[Any]:
    """Friction of the precision of the costs, NaN for no data.

    Friction that is too large for it becomes -infinity, which `_own_sources` refuses.
    """
    # Rounded as `trazar.cost_distance` rounds it.
    given = _friction(block)
    with np.errstate(over="ignore"):
        plain = given.astype(real)
    plain[np.isinf(plain) & np.isfinite(given)] = -np.inf
    plain[np.isneginf(given)] = -1
    if no_data is not None:
        # A number of Python's, which need not fit the type of the array.
        plain[block == np.asarray(no_data).item()] = np.nan
    return plain


def _equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _lower(
    block: NDArray[Any], place: _Place, sources: Any, ring: _Ring, before: _Solved | None
) -> _Solved:
    """Solve a chunk, or lower the costs ``before`` by those of the ring.

    ``block`` is its friction with a margin, where the ring is. Costs ``before`` are those of its
    own ``sources`` already.
    """
    own = _own_sources(block, place, sources) if before is None else _NO_SOURCES
    starts = _with_ring(own, ring, None, block.shape, place.margin)
    costs, count = (None, len(own[0])) if before is None else before
    if len(starts[0]):
        costs = _search(block, place, starts, costs, allocation=False)[0]
    return costs, count


def _view(solved: _Solved, m: int, shape: tuple[int, int], dtype: type) -> NDArray[Any]:
    """A chunk's costs, without the margin."""
    costs, _ = solved
    return np.full(shape, np.nan, dtype) if costs is None else _inner(costs, m)


def _costs(solved: _Solved, *about: Any) -> NDArray[Any]:
    """As :func:`_view`, to be given away: what is persisted stays as it is."""
    return _view(solved, *about).copy()


def _head(solved: _Solved, *about: Any) -> tuple[int, _Rims]:
    """The number of a chunk's own sources, and the costs along its sides."""
    return solved[1], _rims(_view(solved, *about), about[0])


def _ids(
    block: NDArray[Any],
    place: _Place,
    sources: Any,
    rings: tuple[_Ring, _Ring],
    solved: _Solved,
) -> NDArray[np.uint32]:
    """The allocation of a chunk with final costs, as far as the ids around it are known."""
    m = place.margin
    starts = _with_ring(_own_sources(block, place, sources), *rings, block.shape, m)
    if solved[0] is None or not len(starts[0]):
        return np.zeros(_inner(block, m).shape, np.uint32)
    costs = solved[0].copy()
    for where, strip in zip(_around(m), rings[0]):
        costs[where] = strip
    found = _search(block, place, starts, costs, allocation=True)[1]
    assert found is not None
    return _inner(found, m)


def _id_rims(block: NDArray[Any], place: _Place, *rest: Any) -> _Rims:
    return _rims(_ids(block, place, *rest), place.margin)


def _rims(array: NDArray[Any], m: int) -> _Rims:
    """The strips along an array's sides, as copies, so that the array can be freed."""
    return {
        "top": array[:m].copy(),
        "bottom": array[-m:].copy(),
        "left": array[:, :m].copy(),
        "right": array[:, -m:].copy(),
    }


def _inner(array: NDArray[Any], m: int) -> NDArray[Any]:
    """An array without its margin."""
    return array[m : array.shape[0] - m, m : array.shape[1] - m]


def _around(m: int) -> list[tuple[slice, slice]]:
    """Where the strips of a ring are in an array with a margin."""
    return [np.s_[:m, :], np.s_[-m:, :], np.s_[m:-m, :m], np.s_[m:-m, -m:]]


def _sources_of_raster(raster: NDArray[Any]) -> _Sources:
    cells, ids = _raster_sources(raster)
    return cells, ids, np.zeros(len(cells))


def _own_sources(block: NDArray[Any], place: _Place, sources: Any) -> _Sources:
    """A chunk's own sources, as cells of the block; refuses what is wrong in the chunk."""
    m = place.margin
    row, column = place.corner
    why = f"exceeds the largest {block.dtype}: take another precision"
    _check(np.isneginf(block), (row - m, column - m), "friction", why)
    why = "is negative: it must be 0 or more, or NaN"
    _check(block < 0, (row - m, column - m), "friction", why)
    cells, ids, starts = sources
    inner = _inner(block, m)
    on_barrier = np.zeros(inner.shape, bool)
    on_barrier[tuple(cells.T)] = ~np.isfinite(inner[tuple(cells.T)])
    why = "is on a barrier: move it, or give it a friction"
    _check(on_barrier, place.corner, "the source", why)
    return cells + np.uint32(m), ids, starts


def _with_ring(
    own: _Sources, costs: _Ring, ids: _Ring | None, shape: tuple[int, ...], m: int
) -> _Sources:
    """The sources, and further ones that start at the costs around a chunk.

    Cells without a cost or an id are left out; without ``ids``, any is as good.
    """
    height, width = shape
    corners = [(0, 0), (height - m, 0), (m, 0), (m, width - m)]
    cells, numbers, starts = ([array] for array in own)
    for k, (corner, strip) in enumerate(zip(corners, costs)):
        of_strip = np.ones(strip.shape, np.uint32) if ids is None else ids[k]
        around = np.argwhere(~np.isnan(strip) & (of_strip > 0))
        at = tuple(around.T)
        cells.append((around + corner).astype(np.uint32))
        numbers.append(of_strip[at])
        starts.append(strip[at].astype(np.float64))
    return np.concatenate(cells), np.concatenate(numbers), np.concatenate(starts)


def _search(
    block: NDArray[Any],
    place: _Place,
    starts: _Sources,
    before: NDArray[Any] | None,
    *,
    allocation: bool,
) -> tuple[NDArray[Any], NDArray[np.uint32] | None]:
    options = place.options
    # What comes from another worker may not be aligned.
    if before is not None:
        before = np.require(before, requirements=["C", "A"])
    cost, ids, _ = _trazar.cost_distance(
        np.require(block, requirements=["C", "A"]),
        *starts,
        options["sampling"],
        options["neighbours"],
        "mean",
        options["max_cost"],
        None,
        options["precision"],
        allocation,
        False,
        "cpu",
        before,
    )
    return cost, ids


def _check(wrong: NDArray[np.bool_], corner: tuple[int, int], what: str, why: str) -> None:
    if wrong.any():
        row, column = (np.argwhere(wrong)[0] + corner).tolist()
        raise InputError(f"{what} at row {row}, column {column} {why}")
