"""Routes: trees of small cost that join pins on a grid of weighted edges."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from trazar import _trazar
from trazar._errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from trazar._arrays import Device

    DistanceAlgorithm = Literal["dijkstra", "sweep", "sweep-parallel", "tiles"]
    RouteAlgorithm = Literal[
        "dijkstra",
        "sweep",
        "sweep-parallel",
        "divide-conquer",
        "prefix",
        "prefix-fused",
        "tiles",
        "fields",
    ]

#: The weight of an edge that no path may take.
BLOCKED = 2**32 - 1

#: The capacity of an edge that any number of nets may use.
UNLIMITED = 2**32 - 1

#: The distance of a cell that no path reaches.
UNREACHED = 2**64 - 1


class Grid:
    """A grid of cells in one or more layers, whose neighbours are joined by weighted edges.

    Parameters
    ----------
    right : array of integers of shape (H, W - 1), or (L, H, W - 1)
        The weight of the edge between cell (row, column) and (row, column + 1).
    down : array of integers of shape (H - 1, W), or (L, H - 1, W)
        Between (row, column) and (row + 1, column).
    via : array of integers of shape (L - 1, H, W), optional
        Between (layer, row, column) and (layer + 1, row, column).

    Raises
    ------
    InputError
        For shapes that do not fit each other, more than 16 layers, and weights that are no whole
        numbers from 0 to 2³² - 2, or :data:`BLOCKED`.
    OutOfMemoryError

    Examples
    --------
    >>> import numpy as np, trazar
    >>> grid = trazar.Grid(np.full((3, 3), 5), np.full((2, 4), 5))
    >>> grid, grid.shape
    (Grid(1 layer, 3 × 4 cells), (1, 3, 4))
    """

    __slots__ = ("_raw",)

    def __init__(self, right: ArrayLike, down: ArrayLike, via: ArrayLike | None = None) -> None:
        import numpy as np

        to_right, downs = _weights("right", right), _weights("down", down)
        layers, height, columns = to_right.shape
        if via is None:
            if layers != 1:
                raise InputError(f"a grid of {layers} layers needs the weights of vias")
            vias = np.zeros((0, height, columns + 1), np.uint32)
        else:
            vias = _weights("via", via)
        self._raw = _trazar.Grid(to_right, downs, vias)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of layers, rows and columns.

        Examples
        --------
        >>> import trazar
        >>> trazar.Grid([[1, 1]], trazar.Grid.no_edges(0, 3)).shape
        (1, 1, 3)
        """
        return self._raw.shape

    @staticmethod
    def no_edges(rows: int, columns: int) -> NDArray[np.uint32]:
        """Return an empty array of weights, for a grid of one row or column.

        Examples
        --------
        >>> import trazar
        >>> trazar.Grid.no_edges(0, 3).shape
        (0, 3)
        """
        import numpy as np

        return np.zeros((rows, columns), np.uint32)

    def __reduce__(
        self,
    ) -> tuple[type[Grid], tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]]:
        right, down, via = self._raw.weights()
        return Grid, (right[:, :, :-1], down[:, :-1], via[:-1])

    def __repr__(self) -> str:
        layers, height, width = self.shape
        return f"Grid({layers} {'layer' if layers == 1 else 'layers'}, {height} × {width} cells)"


class Route:
    """The tree that joins a net's pins: what :func:`route` returns for each net.

    Cells are rows (row, column) of int64 arrays; on grids of several layers (layer, row, column).

    Attributes
    ----------
    cost : int
        The sum of the weights of all edges, and what the turns cost.
    turn_cost : int
        What the turns cost.
    cells : int64 array of shape (n, 2) or (n, 3)
        The tree's cells, each once, by layer, row and column.
    unreached : int64 array
        The pins, by index, that no path reaches.
    path_pins : int64 array
        The pins in the order in which they were joined; the first pin of the net is not among
        them.
    path_costs : uint64 array
        What each path costs.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> [tree] = trazar.route(trazar.Grid(np.ones((3, 2)), np.ones((2, 3))), [[(0, 0), (0, 2)]])
    >>> tree.cost, tree.cells.tolist()
    (2, [[0, 0], [0, 1], [0, 2]])
    """

    __slots__ = (
        "_path_cells",
        "_path_offsets",
        "cells",
        "cost",
        "path_costs",
        "path_pins",
        "turn_cost",
        "unreached",
    )

    def __init__(self, parts: dict[str, Any]) -> None:
        self.cost: int = parts["cost"]
        self.turn_cost: int = parts["turn_cost"]
        self.cells: NDArray[np.int64] = parts["cells"]
        self.unreached: NDArray[np.int64] = parts["unreached"]
        self.path_pins: NDArray[np.int64] = parts["path_pins"]
        self.path_costs: NDArray[np.uint64] = parts["path_costs"]
        self._path_cells: NDArray[np.int64] = parts["path_cells"]
        self._path_offsets: NDArray[np.int64] = parts["path_offsets"]

    def paths(self) -> list[NDArray[np.int64]]:
        """Return each path's cells from its pin to the tree, both ends included.

        Examples
        --------
        >>> import numpy as np, trazar
        >>> grid = trazar.Grid(np.ones((3, 2)), np.ones((2, 3)))
        >>> trazar.route(grid, [[(0, 0), (0, 2)]])[0].paths()[0].tolist()
        [[0, 2], [0, 1], [0, 0]]
        """
        offsets = self._path_offsets.tolist()
        return [self._path_cells[a:b] for a, b in itertools.pairwise(offsets)]

    def __repr__(self) -> str:
        return f"Route(cost {self.cost}, {len(self.cells)} cells, {len(self.unreached)} unreached)"


def route(
    grid: Grid | tuple[ArrayLike, ArrayLike],
    nets: Sequence[Any],
    *,
    tree: Literal["nearest", "improved", "fewest-edges"] = "nearest",
    effort: int | timedelta | None = None,
    turn_cost: int = 0,
    algorithm: RouteAlgorithm | None = None,
    device: Device = "auto",
) -> list[Route]:
    """Join the pins of each net by a tree. Nets do not influence each other.

    A tree starts as the first pin; then, until all pins are joined, the pin nearest to it is joined
    by a shortest path. It is the same on every device, cell by cell.

    Parameters
    ----------
    grid : Grid, or the arrays (right, down) of one
    nets : sequence of nets
        A net is a sequence of pins. A pin is a cell (row, column), on grids of several layers
        (layer, row, column); or an array of several such cells, which count as joined.
    tree : {"nearest", "improved", "fewest-edges"}
        The tree described above; a cheaper one if there is one, which takes several times as long;
        or one of paths with the fewest edges, whatever they cost, found by breadth-first search on
        the processor.
    effort : int or timedelta, optional
        How long to look for an improved tree: a number of steps for each net, with the same tree in
        every run; or a time, which all nets share. By default about as long as two searches of the
        grid.
    turn_cost : int
        The cost of each cell at which a tree turns or branches, on grids of one layer; in the unit
        of the weights.
    algorithm : str, optional
        "dijkstra", "sweep" or "sweep-parallel" on the processor,
        "fields", "tiles", "divide-conquer", "prefix" or "prefix-fused" on a GPU.
    device : {"auto", "cpu", "cuda", "emulator"}
        As for :func:`find_contours`.

    Returns
    -------
    list of Route
        One for each net.

    Raises
    ------
    InputError
        For pins that are not on the grid, and values that an argument does not take.
    OutOfMemoryError, DeviceError

    Notes
    -----
    The tree of two pins is optimal; that of more costs at most twice the optimum. On one core, 16
    pins on 4096² cells take 0.8 s and 700 pins on 1024² cells 64 ms; on an H200 19 and 6 ms, with
    the copy of the grid, of 8 bytes per cell, or 12 on several layers.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> right = np.array([[24, 26], [47, 13], [70, 2]])
    >>> down = np.array([[33, 68, 51], [80, 24, 77]])
    >>> [tree] = trazar.route((right, down), [[(1, 1), (0, 2)]])
    >>> tree.cost, tree.cells.tolist()
    (64, [[0, 2], [1, 1], [1, 2]])
    """
    if not isinstance(grid, Grid):
        grid = Grid(*grid)
    parts = _trazar.route(
        grid._raw,
        *_nets(nets, grid.shape[0] > 1),
        tree,
        (None, effort.total_seconds()) if isinstance(effort, timedelta) else (effort, None),
        turn_cost,
        algorithm,
        device,
    )
    return [Route(each) for each in parts]


class Negotiated:
    """The trees of nets that compete for edges: what :func:`negotiate` returns.

    Attributes
    ----------
    routes : list of Route
        The tree of each net. Costs are sums of weights.
    usage : tuple of uint32 arrays
        How many nets use each edge, in the shapes of the grid's weights: (right, down), on grids of
        several layers (right, down, via).
    overflow : int
        By how many nets edges are overfull, in all; 0 if the negotiation has come to its end.
    overfull : int64 array of shape (n, 2, 2) or (n, 2, 3)
        The two cells of each overfull edge.
    overflow_by_round : uint64 array
        The overflow after each round.
    wire_length, vias : int
        The numbers of edges within layers and between them, each counted once per net.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> found = trazar.negotiate((np.ones((3, 2)), np.ones((2, 3))), 1, [[(0, 0), (0, 2)]] * 2)
    >>> found
    Negotiated(2 nets, overflow 0, wire length 6, 0 vias)
    """

    __slots__ = (
        "overflow",
        "overflow_by_round",
        "overfull",
        "routes",
        "usage",
        "vias",
        "wire_length",
    )

    def __init__(self, parts: dict[str, Any]) -> None:
        right, down, via = parts["right"][:, :, :-1], parts["down"][:, :-1], parts["via"][:-1]
        has_layers = len(right) > 1
        cells = parts["overfull"]
        self.routes: list[Route] = [Route(each) for each in parts["routes"]]
        self.usage: tuple[NDArray[np.uint32], ...] = (
            (right, down, via) if has_layers else (right[0], down[0])
        )
        self.overflow: int = parts["overflow"]
        self.overfull: NDArray[np.int64] = cells.reshape(-1, 2, cells.shape[1])
        self.overflow_by_round: NDArray[np.uint64] = parts["overflow_by_round"]
        self.wire_length: int = parts["wire_length"]
        self.vias: int = parts["vias"]

    def __repr__(self) -> str:
        return (
            f"Negotiated({len(self.routes)} nets, overflow {self.overflow}, "
            f"wire length {self.wire_length}, {self.vias} vias)"
        )


def negotiate(
    grid: Grid | tuple[ArrayLike, ArrayLike],
    capacities: int | Sequence[ArrayLike],
    nets: Sequence[Any],
    *,
    rounds: int = 100,
    margin: int = 8,
    device: Device = "auto",
) -> Negotiated:
    """Join the pins of nets by trees, so that no more nets use an edge than it has room for.

    Nets are routed as if they could share edges. Those that meet on overfull edges are routed
    again, while such edges cost more and more, until there are none: negotiated congestion.

    Parameters
    ----------
    grid : Grid, or the arrays (right, down) of one
    capacities : int, or sequence of arrays or ints
        How many nets may use each edge: for all edges; or for those of (right, down), on grids of
        several layers (right, down, via), in the shapes of the weights. 0 blocks an edge,
        :data:`UNLIMITED` is no limit.
    nets : sequence of nets
        As for :func:`route`.
    rounds : int
        The most rounds.
    margin : int
        How far a path may leave the box around its ends, in cells. It grows for nets that find no
        way, or stay on overfull edges.
    device : {"auto", "cpu", "cuda", "emulator"}
        As for :func:`find_contours`.

    Returns
    -------
    Negotiated

    Raises
    ------
    InputError
        For pins that are not on the grid, capacities of other shapes, weights of 2²⁴ or more, and
        values that an argument does not take.
    OutOfMemoryError, DeviceError

    Notes
    -----
    The result is the same on every device, and on any number of cores. Overflow may remain, even
    where trees without it exist; see ``docs/routing.md``.

    Examples
    --------
    Two nets along the same row, whose edges have room for one: the other goes around.

    >>> import numpy as np, trazar
    >>> grid = trazar.Grid(np.ones((3, 3)), np.ones((2, 4)))
    >>> found = trazar.negotiate(grid, 1, [[(1, 0), (1, 3)], [(1, 0), (1, 3)]])
    >>> found.overflow, sorted(tree.cost for tree in found.routes)
    (0, [3, 5])
    """
    import numpy as np

    if not isinstance(grid, Grid):
        grid = Grid(*grid)
    layers, height, width = grid.shape
    shapes = {
        "right": (layers, height, width - 1),
        "down": (layers, height - 1, width),
        "via": (layers - 1, height, width),
    }
    # A list is no array: the arrays' shapes differ.
    given = tuple(capacities) if isinstance(capacities, (tuple, list)) else (capacities,) * 3
    if len(given) != 3:
        if layers != 1 or len(given) != 2:
            needed = "(right, down)" if layers == 1 else "(right, down, via)"
            raise InputError(f"capacities of {len(given)} arrays: this grid needs {needed}")
        given = (*given, 0)
    arrays = []
    for (name, shape), values in zip(shapes.items(), given, strict=True):
        array = np.asarray(values)
        if array.ndim == 0:
            array = np.broadcast_to(array, shape)
        elif array.ndim == 2:
            array = array[np.newaxis]
        arrays.append(np.ascontiguousarray(_integers(name, array, "capacities")))
    right, down, via = arrays
    return Negotiated(
        _trazar.negotiate(
            grid._raw, (right, down, via), *_nets(nets, layers > 1), rounds, margin, device
        )
    )


def distances(
    grid: Grid | tuple[ArrayLike, ArrayLike],
    sources: ArrayLike,
    *,
    algorithm: DistanceAlgorithm | None = None,
    device: Device = "auto",
) -> NDArray[np.uint64]:
    """Compute the cost of the cheapest path to each cell from any of the sources.

    Parameters
    ----------
    grid : Grid, or the arrays (right, down) of one
    sources : array of shape (n, 2), or (n, 3) on grids of several layers
        Cells (row, column) or (layer, row, column); or one such cell.
    algorithm : {"dijkstra", "sweep", "sweep-parallel", "tiles"}, optional
        The last one on the processor or a GPU, with all its cores; the others on the processor.
        The result does not depend on it.
    device : {"auto", "cpu", "cuda", "emulator"}
        As for :func:`find_contours`.

    Returns
    -------
    uint64 array of shape (H, W), or (L, H, W) on grids of several layers
        :data:`UNREACHED` where there is no path.

    Raises
    ------
    InputError
        For cells that are not on the grid, and values that an argument does not take.
    OutOfMemoryError, DeviceError

    Notes
    -----
    One search from all sources together; the result takes 8 bytes per cell.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> trazar.distances((np.full((2, 3), 5), np.full((1, 4), 5)), (0, 0))
    array([[ 0,  5, 10, 15],
           [ 5, 10, 15, 20]], dtype=uint64)
    """
    if not isinstance(grid, Grid):
        grid = Grid(*grid)
    return _trazar.distances(grid._raw, _cells(sources, grid.shape[0] > 1), algorithm, device)


def _weights(name: str, values: ArrayLike) -> NDArray[np.uint32]:
    """Weights of shape (L, rows, columns) as uint32."""
    import numpy as np

    given = np.asarray(values)
    if given.ndim == 2:
        given = given[np.newaxis]
    if given.ndim != 3:
        raise InputError(f"{name} of shape {given.shape}: (rows, columns) or with layers before")
    return _integers(name, given, "weights")


def _nets(
    nets: Sequence[Any], has_layers: bool
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """All cells, where each pin's begin, and where each net's pins begin."""
    import numpy as np

    cells: list[NDArray[np.uint32]] = []
    pin_offsets, net_offsets = [0], [0]
    for net in nets:
        for pin in net:
            cells.append(_cells(pin, has_layers))
            pin_offsets.append(pin_offsets[-1] + len(cells[-1]))
        net_offsets.append(len(pin_offsets) - 1)
    return (
        np.concatenate(cells) if cells else np.zeros((0, 3), np.uint32),
        np.array(pin_offsets, np.int64),
        np.array(net_offsets, np.int64),
    )


def _cells(values: ArrayLike, has_layers: bool) -> NDArray[np.uint32]:
    """Cells as rows (layer, row, column) of uint32."""
    import numpy as np

    given = np.asarray(values)
    if given.ndim == 1:
        given = given[np.newaxis]
    coordinates = 3 if has_layers else 2
    if given.ndim != 2 or given.shape[1] != coordinates:
        form = "(layer, row, column)" if has_layers else "(row, column)"
        raise InputError(f"cells of shape {given.shape}: each is {form}")
    cells = _integers("cells", given, "coordinates")
    if has_layers:
        return cells
    return np.insert(cells, 0, 0, axis=1)


def _integers(name: str, given: NDArray[Any], what: str) -> NDArray[np.uint32]:
    import numpy as np

    if given.dtype == np.uint32:
        return given
    if given.size and (
        given.dtype.kind not in "iuf"
        or not (given.min() >= 0 and given.max() <= BLOCKED)
        or (given.dtype.kind == "f" and not (given == np.floor(given)).all())
    ):
        raise InputError(f"{name}: {what} are whole numbers from 0 to {BLOCKED}")
    return given.astype(np.uint32)
