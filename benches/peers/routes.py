"""Trees that join pins by shortest paths, one after the other, on a grid of 4 neighbours.

The peers have shortest paths alone, so the tree is made of them as one would: from all cells of the
tree so far to the nearest of the pins that are left. A cell has an even cost, and an edge the mean
of its cells' costs: so the same grid is one of edges, as ours and SciPy's are, and one of cells, as
scikit-image's is. Making the graph is not part of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import trazar

from .task import Input, Settings, Task, equal


@dataclass
class Net:
    """A grid's cells and the pins on it."""

    costs: np.ndarray
    pins: np.ndarray

    @property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights to the right and down."""
        costs = self.costs
        right = (costs[:, 1:] + costs[:, :-1]) // 2
        return right.astype(np.uint32), ((costs[1:] + costs[:-1]) // 2).astype(np.uint32)

    def matrix(self):
        """The graph as SciPy has it, both directions of each edge."""
        from scipy.sparse import csr_array

        height, width = self.costs.shape
        cells = np.arange(height * width, dtype=np.int32).reshape(height, width)
        right, down = self.edges
        pairs = [(cells[:, :-1], cells[:, 1:], right), (cells[:-1], cells[1:], down)]
        pairs += [(to, start, weight) for start, to, weight in pairs]
        start, to, weight = (np.concatenate([each[i].ravel() for each in pairs]) for i in range(3))
        return csr_array((weight.astype(float), (start, to)), shape=(cells.size,) * 2)


def net(side: int, pins: int) -> Net:
    rng = np.random.default_rng(pins)
    costs = 2 * rng.integers(1, 128, (side, side))
    places = rng.choice(side * side, pins, replace=False)
    return Net(costs, np.stack(np.divmod(places, side), -1))


def inputs(settings: Settings):
    [side, *_] = settings.sides([512], [64])
    for pins in (2, 4, 8, 16) if settings.quick else (2, 4, 8, 16, 64, 256, 1024):
        yield Input("random net", (side, side), net(side, pins), amount=pins)


def same(ours, theirs) -> str | None:
    """The first paths cost the same, the trees the same to 1 %: paths of one cost may differ."""
    if ours[0] != theirs[0]:
        return f"a first path of {theirs[0]}, ours costs {ours[0]}"
    if abs(theirs.sum() - ours.sum()) > 0.01 * ours.sum():
        return f"a tree of {theirs.sum()}, ours costs {ours.sum()}"
    return None


def join(pins: np.ndarray, search) -> np.ndarray:
    """The costs of the paths of a tree; ``search(tree, left)`` gives one: its end, cost, cells."""
    tree, left = [tuple(pins[0])], {tuple(pin) for pin in pins[1:]}
    costs = []
    while left:
        pin, cost, cells = search(tree, left)
        costs.append(cost)
        tree += cells
        left.discard(pin)
    return np.array(costs, float)


trees = Task("routes", "a net's tree", same)
trees.on(inputs)


def path_costs(found):
    return found[0].path_costs.astype(float)


@trees.program("trazar", on=("core", "gpu"), convert=path_costs)
def our_tree(given, settings):
    grid = trazar.Grid(*given.edges)
    pins = [tuple(map(int, pin)) for pin in given.pins]
    return lambda: trazar.route(grid, [pins], device=settings.device)


@trees.program("SciPy", needs=("scipy",), skip=lambda given: given.amount > 16)
def scipy_tree(given, settings):
    from scipy.sparse.csgraph import dijkstra

    matrix = given.matrix()
    shape = given.costs.shape

    def search(tree, left):
        start = np.ravel_multi_index(np.array(tree).T, shape)
        ends = np.array(sorted(left))
        at = np.ravel_multi_index(ends.T, shape)
        distances, before, _ = dijkstra(
            matrix, indices=start, min_only=True, return_predecessors=True
        )
        nearest = distances[at].argmin()
        cells, cell = [], at[nearest]
        while cell >= 0:
            cells.append(divmod(int(cell), shape[1]))
            cell = before[cell]
        return tuple(ends[nearest]), distances[at[nearest]], cells

    return lambda: join(given.pins, search)


@trees.program("scikit-image", needs=("skimage",), skip=lambda given: given.amount > 64)
def skimage_tree(given, settings):
    from skimage.graph import MCP_Geometric

    costs = given.costs.astype(float)

    def search(tree, left):
        paths = MCP_Geometric(costs, fully_connected=False)
        # It ends at the first pin that it reaches.
        found, _ = paths.find_costs(tree, left, find_all_ends=False)
        nearest = min(left, key=lambda pin: found[pin])
        return nearest, found[nearest], paths.traceback(nearest)

    return lambda: join(given.pins, search)


fields = Task("routes", "distances of all cells", equal)


@fields.on
def sizes(settings: Settings):
    for side in settings.sides([1024], [64]):
        yield Input("random grid", (side, side), net(side, 1))


@fields.program("trazar", on=("core", "cores", "gpu"))
def our_distances(given, settings):
    grid = trazar.Grid(*given.edges)
    return lambda: trazar.distances(grid, [(0, 0)], device=settings.device)


@fields.program("SciPy", needs=("scipy",), convert=lambda found: found.astype(np.uint64))
def scipy_distances(given, settings):
    from scipy.sparse.csgraph import dijkstra

    matrix = given.matrix()
    return lambda: dijkstra(matrix, indices=0).reshape(given.costs.shape)


@fields.program("scikit-image", needs=("skimage",), convert=lambda found: found.astype(np.uint64))
def skimage_distances(given, settings):
    from skimage.graph import MCP_Geometric

    costs = given.costs.astype(float)
    return lambda: MCP_Geometric(costs, fully_connected=False).find_costs([(0, 0)])[0]


TASKS = [trees, fields]
