"""Routes and distances against a plain Dijkstra."""

from __future__ import annotations

import heapq
import itertools
import pickle

import numpy as np
import pytest
from conftest import IMAGES

import trazar


def random_grid(rng, layers=1):
    height, width = rng.integers(1, 12, 2)
    weights = [
        rng.integers(0, 20, shape).astype(np.uint32)
        for shape in (
            (layers, height, width - 1),
            (layers, height - 1, width),
            (layers - 1, height, width),
        )
    ]
    for edges in weights:
        edges[rng.random(edges.shape) < 0.1] = trazar.BLOCKED
    return (layers, int(height), int(width)), weights


def neighbours(shape, weights, cell):
    right, down, via = (edges.astype(object) for edges in weights)
    z, y, x = cell
    layers, height, width = shape
    found = []
    if x + 1 < width:
        found.append(((z, y, x + 1), right[z, y, x]))
    if x > 0:
        found.append(((z, y, x - 1), right[z, y, x - 1]))
    if y + 1 < height:
        found.append(((z, y + 1, x), down[z, y, x]))
    if y > 0:
        found.append(((z, y - 1, x), down[z, y - 1, x]))
    if z + 1 < layers:
        found.append(((z + 1, y, x), via[z, y, x]))
    if z > 0:
        found.append(((z - 1, y, x), via[z - 1, y, x]))
    return [(to, weight) for to, weight in found if weight != trazar.BLOCKED]


def dijkstra(shape, weights, sources):
    best = {tuple(source): 0 for source in sources}
    queue = [(0, cell) for cell in best]
    heapq.heapify(queue)
    while queue:
        cost, cell = heapq.heappop(queue)
        if cost > best[cell]:
            continue
        for to, weight in neighbours(shape, weights, cell):
            if cost + weight < best.get(to, 1 << 62):
                best[to] = cost + weight
                heapq.heappush(queue, (cost + weight, to))
    distances = np.full(shape, trazar.UNREACHED, np.uint64)
    for cell, cost in best.items():
        distances[cell] = cost
    return distances


def random_cells(rng, shape, count):
    return np.stack([rng.integers(0, side, count) for side in shape], axis=1)


def made(shape, weights):
    right, down, via = weights
    if shape[0] == 1:
        return trazar.Grid(right[0], down[0])
    return trazar.Grid(right, down, via)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("algorithm", [None, "dijkstra", "sweep"])
def test_distances_are_dijkstras(rng, layers, algorithm):
    for _ in range(IMAGES // 20):
        shape, weights = random_grid(rng, layers)
        sources = random_cells(rng, shape, int(rng.integers(1, 4)))
        expected = dijkstra(shape, weights, sources)
        given = sources if layers > 1 else sources[:, 1:]
        found = trazar.distances(made(shape, weights), given, algorithm=algorithm, device="cpu")
        assert found.dtype == np.uint64
        assert np.array_equal(found, expected if layers > 1 else expected[0])


def test_the_emulator_runs_the_kernels(rng):
    shape, weights = random_grid(rng)
    sources = random_cells(rng, shape, 2)
    found = trazar.distances(made(shape, weights), sources[:, 1:], device="emulator")
    assert np.array_equal(found, dijkstra(shape, weights, sources)[0])


@pytest.mark.parametrize("layers", [1, 2])
def test_trees_join_nearest_pins_by_shortest_paths(rng, layers):
    for _ in range(IMAGES // 20):
        shape, weights = random_grid(rng, layers)
        pins = random_cells(rng, shape, int(rng.integers(2, 6)))
        given = pins if layers > 1 else pins[:, 1:]
        [tree] = trazar.route(made(shape, weights), [given], device="cpu")
        on_tree = [tuple(pins[0])]
        left = set(range(1, len(pins)))
        total = 0
        for pin, cost, path in zip(tree.path_pins, tree.path_costs, tree.paths()):
            distances = dijkstra(shape, weights, on_tree)
            nearest = min(int(distances[tuple(pins[other])]) for other in left)
            assert int(distances[tuple(pins[pin])]) == nearest == cost
            cells = [tuple(cell) if layers > 1 else (0, *cell) for cell in path.tolist()]
            assert cells[0] == tuple(pins[pin]) and cells[-1] in on_tree
            steps = itertools.pairwise(cells)
            assert sum(dict(neighbours(shape, weights, a))[b] for a, b in steps) == cost
            on_tree += cells
            left.remove(int(pin))
            total += int(cost)
        assert tree.cost == total and tree.turn_cost == 0
        distances = dijkstra(shape, weights, on_tree)
        assert tree.unreached.tolist() == sorted(left)
        assert all(distances[tuple(pins[pin])] == trazar.UNREACHED for pin in left)


def test_several_nets_and_pins_of_several_cells():
    grid = trazar.Grid(np.ones((5, 4)), np.ones((4, 5)))
    nets = [[(0, 0), (0, 4)], [np.array([(2, 0), (2, 1)]), (2, 4)], []]
    trees = trazar.route(grid, nets)
    assert [tree.cost for tree in trees] == [4, 3, 0]
    assert len(trees[2].cells) == 0


@pytest.mark.parametrize("shape", [(1, 5, 7), (3, 4, 6), (1, 1, 5), (1, 6, 1), (2, 1, 1)])
def test_grids_are_pickled(rng, shape):
    layers, height, width = shape
    sides = ((layers, height, width - 1), (layers, height - 1, width), (layers - 1, height, width))
    right, down, via = (rng.integers(0, 2**32, side, np.uint32) for side in sides)
    for given in ((right, down, via), (right[0], down[0]))[: 2 if layers == 1 else 1]:
        grid = pickle.loads(pickle.dumps(trazar.Grid(*given)))
        assert grid.shape == shape
        weights = grid.__reduce__()[1]
        assert all(np.array_equal(a, b) for a, b in zip(weights, (right, down, via), strict=True))


@pytest.mark.parametrize("turn_cost", [-1, 2**32, 1.5, "a", None])
def test_a_turn_cost_is_a_whole_number(turn_cost):
    grid = trazar.Grid(np.ones((3, 2)), np.ones((2, 3)))
    with pytest.raises(trazar.InputError, match="turn_cost=.*: it is a whole number from 0 to"):
        trazar.route(grid, [[(0, 0), (2, 2)]], turn_cost=turn_cost)
    with pytest.raises(trazar.InputError, match="algorithm=7: it is one of dijkstra"):
        trazar.route(grid, [[(0, 0), (2, 2)]], algorithm=7)


def test_options(rng):
    grid = trazar.Grid(np.full((9, 8), 10), np.full((8, 9), 10))
    pins = [(0, 0), (8, 8)]
    plain = trazar.route(grid, [pins])[0]
    turning = trazar.route(grid, [pins], turn_cost=5)[0]
    assert plain.cost == 160 and turning.cost == 165 and turning.turn_cost == 5
    many = random_cells(rng, (9, 9), 12)
    nearest = trazar.route(grid, [many])[0]
    improved = trazar.route(grid, [many], tree="improved")[0]
    assert improved.cost <= nearest.cost
    # One expensive edge, or three of weight 1 around it.
    around = trazar.Grid([[90], [1]], [[1, 1]])
    [fewest] = trazar.route(around, [[(0, 0), (0, 1)]], tree="fewest-edges")
    assert fewest.cost == 90
    assert trazar.route(around, [[(0, 0), (0, 1)]])[0].cost == 3
    kernels = trazar.route(grid, [many], device="emulator")[0]
    assert np.array_equal(kernels.cells, nearest.cells)


@pytest.mark.parametrize(
    "call",
    [
        lambda grid: trazar.route(grid, [[(0, 0), (3, 0)]]),
        lambda grid: trazar.route(grid, [[(0, 0, 0), (1, 0, 0)]]),
        lambda grid: trazar.route(grid, [[(0, 0), (-1, 0)]]),
        lambda grid: trazar.route(grid, [[(0, 0)]], algorithm="quick"),
        lambda grid: trazar.route(grid, [[(0, 0)]], tree="best"),
        lambda grid: trazar.route(grid, [[(0, 0)]], tree="fewest-edges", algorithm="sweep"),
        lambda grid: trazar.route(grid, [[(0, 0)]], tree="fewest-edges", turn_cost=1),
        lambda grid: trazar.distances(grid, (0, 0), algorithm="fields"),
        lambda grid: trazar.distances(grid, np.zeros((0, 2))),
        lambda grid: trazar.distances(grid, (0.5, 0)),
        lambda grid: trazar.Grid(np.ones((3, 2)), np.ones((3, 3))),
        lambda grid: trazar.Grid(np.full((3, 2), -1), np.ones((2, 3))),
        lambda grid: trazar.Grid(np.full((3, 2), 0.5), np.ones((2, 3))),
        lambda grid: trazar.Grid(np.full((3, 2), 2**32), np.ones((2, 3))),
        lambda grid: trazar.Grid(np.ones((2, 3, 2)), np.ones((2, 2, 3))),
        lambda grid: trazar.Grid(np.ones(3), np.ones((2, 3))),
    ],
)
def test_refused(call):
    with pytest.raises(trazar.InputError) as refused:
        call(trazar.Grid(np.ones((3, 2)), np.ones((2, 3))))
    assert "\n" not in str(refused.value)
