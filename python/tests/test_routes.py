"""Routes and distances against a plain Dijkstra."""

from __future__ import annotations

import heapq
import itertools
import pickle
from datetime import timedelta

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


@pytest.mark.parametrize(
    ("effort", "tree", "message"),
    [
        (-1, "improved", "effort=-1: it is a whole number from 0 to"),
        (1.5, "improved", "effort=1.5: it is a whole number"),
        (timedelta(-1), "improved", "effort=-86400 s: it is a number of steps, or a time from 0"),
        (5, "nearest", 'give tree="improved", too'),
        (timedelta(1), "fewest-edges", 'give tree="improved", too'),
    ],
)
def test_an_effort_is_steps_or_time(effort, tree, message):
    grid = trazar.Grid(np.ones((3, 2)), np.ones((2, 3)))
    with pytest.raises(trazar.InputError, match=message):
        trazar.route(grid, [[(0, 0), (2, 2)]], tree=tree, effort=effort)


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
    # No net, so that this ends.
    assert not trazar.route(grid, [], tree="improved", effort=timedelta.max)
    for effort in (0, 200, timedelta(milliseconds=20), timedelta(0)):
        [tree] = trazar.route(grid, [many], tree="improved", effort=effort)
        assert tree.cost <= nearest.cost and not len(tree.unreached)
    # One expensive edge, or three of weight 1 around it.
    around = trazar.Grid([[90], [1]], [[1, 1]])
    [fewest] = trazar.route(around, [[(0, 0), (0, 1)]], tree="fewest-edges")
    assert fewest.cost == 90
    assert trazar.route(around, [[(0, 0), (0, 1)]])[0].cost == 3
    kernels = trazar.route(grid, [many], device="emulator")[0]
    assert np.array_equal(kernels.cells, nearest.cells)


def edge_between(a, b):
    """The kind of an edge between neighbours (0 right, 1 down, 2 via), and its lower cell."""
    a, b = sorted([tuple(a), tuple(b)])
    difference = tuple(there - here for here, there in zip(a, b))
    return {(0, 0, 1): 0, (0, 1, 0): 1, (1, 0, 0): 2}[difference], a


def check_negotiated(found, shape, weights, capacities, nets):
    """Counts the edges of the trees from their paths, and floods each tree from its first pin."""
    layers = shape[0]
    usage = [np.zeros(np.shape(edges), np.int64) for edges in weights]
    assert len(found.routes) == len(nets)
    for tree, net in zip(found.routes, nets):
        pins = [tuple(int(at) for at in pin) for pin in net]
        edges = set()
        for path, cost in zip(tree.paths(), tree.path_costs):
            cells = [tuple(cell) if layers > 1 else (0, *cell) for cell in path.tolist()]
            steps = [edge_between(a, b) for a, b in itertools.pairwise(cells)]
            assert sum(int(weights[kind][cell]) for kind, cell in steps) == cost
            assert not edges & set(steps)
            edges |= set(steps)
        for kind, cell in edges:
            assert weights[kind][cell] != trazar.BLOCKED and capacities[kind][cell] > 0
            usage[kind][cell] += 1
        reached, waiting = {pins[0]}, [pins[0]]
        beside = {}
        for kind, cell in edges:
            step = [(0, 0, 1), (0, 1, 0), (1, 0, 0)][kind]
            other = tuple(at + by for at, by in zip(cell, step))
            beside.setdefault(cell, []).append(other)
            beside.setdefault(other, []).append(cell)
        while waiting:
            for other in beside.get(waiting.pop(), []):
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
        assert set(beside) <= reached
        assert tree.unreached.tolist() == [i for i, pin in enumerate(pins) if pin not in reached]
    given = found.usage if layers > 1 else (*(each[np.newaxis] for each in found.usage), usage[2])
    assert all(np.array_equal(a, b) for a, b in zip(given, usage, strict=True))
    over = [np.maximum(used - room, 0) for used, room in zip(usage, capacities)]
    assert found.overflow == sum(int(each.sum()) for each in over)
    expected = {(kind, cell) for kind in range(3) for cell in zip(*np.nonzero(over[kind]))}
    pairs = found.overfull.tolist()
    if layers == 1:
        pairs = [[(0, *cell) for cell in pair] for pair in pairs]
    assert {edge_between(*pair) for pair in pairs} == expected and len(pairs) == len(expected)
    assert found.wire_length == usage[0].sum() + usage[1].sum() and found.vias == usage[2].sum()


@pytest.mark.parametrize("layers", [1, 3])
def test_competing_nets_are_legal(rng, layers):
    overflows = []
    for _ in range(IMAGES // 10):
        shape, weights = random_grid(rng, layers)
        capacities = [
            rng.choice([0, 1, 1, 2, 3, trazar.UNLIMITED], edges.shape).astype(np.int64)
            for edges in weights
        ]
        nets = [
            random_cells(rng, shape, int(rng.integers(1, 5))) for _ in range(rng.integers(1, 9))
        ]
        given = nets if layers > 1 else [net[:, 1:] for net in nets]
        arrays = capacities if layers > 1 else [edges[0] for edges in capacities[:2]]
        grid = made(shape, weights)
        found = trazar.negotiate(grid, tuple(arrays), given, rounds=20, margin=1)
        check_negotiated(found, shape, weights, capacities, nets)
        assert len(found.overflow_by_round) <= 20
        if len(found.overflow_by_round):
            assert found.overflow_by_round[-1] == found.overflow
        overflows.append(found.overflow)
    # Some of these cases have no solution, and some have one.
    assert 0 in overflows and max(overflows) > 0


def test_nets_go_around_each_other():
    # From the first rows of the left side to the last rows of the right one, and so crossing.
    side = 12
    right = np.full((2, side, side - 1), 1, np.uint32)
    down = np.full((2, side - 1, side), 1, np.uint32)
    right[1], down[0] = trazar.BLOCKED, trazar.BLOCKED
    via = np.full((1, side, side), 2, np.uint32)
    nets = [[(0, row, 0), (0, side - 1 - row, side - 1)] for row in range(9)]
    grid = trazar.Grid(right, down, via)
    crowded = trazar.negotiate(grid, 1, nets, rounds=1)
    found = trazar.negotiate(grid, 1, nets)
    assert found.overflow == 0 and found.vias >= 2 * len(nets)
    assert crowded.overflow_by_round.tolist() == [crowded.overflow] and crowded.overflow > 0
    capacities = [np.ones(edges.shape, np.int64) for edges in (right, down, via)]
    for each in (crowded, found):
        check_negotiated(each, (2, side, side), (right, down, via), capacities, nets)
    assert repr(found).startswith("Negotiated(9 nets, overflow 0, wire length ")
    # The same trees on each device.
    emulated = trazar.negotiate(grid, 1, nets, device="emulator")
    for ours, theirs in zip(emulated.routes, found.routes, strict=True):
        np.testing.assert_array_equal(ours.cells, theirs.cells)
    # Ints for each kind of edge; without vias, only the rows are left.
    rows = trazar.negotiate(grid, [1, 1, 0], nets)
    assert [tree.unreached.tolist() for tree in rows.routes] == [[1]] * 9
    assert rows.overflow == 0 and rows.wire_length == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda grid: trazar.negotiate(grid, -1, []), "capacities are whole numbers"),
        (lambda grid: trazar.negotiate(grid, 0.5, []), "capacities are whole numbers"),
        (lambda grid: trazar.negotiate(grid, (1,), []), r"needs \(right, down\)"),
        (
            lambda grid: trazar.negotiate(grid, (np.ones((2, 3)), 1), []),
            r"capacities of shape \[1, 2, 3\] for right",
        ),
        (
            lambda grid: trazar.negotiate(grid, (1, np.ones((2, 2, 3))), []),
            r"capacities of shape \[2, 2, 3\] for down",
        ),
        (lambda grid: trazar.negotiate(grid, 1, [[(0, 0), (3, 0)]]), "pin"),
        (lambda grid: trazar.negotiate(grid, 1, [], rounds=-1), "rounds=-1: it is a whole number"),
        (lambda grid: trazar.negotiate(grid, 1, [], margin=1.5), "margin=1.5: it is a whole"),
        (
            lambda grid: trazar.negotiate((np.full((3, 2), 2**24), np.ones((2, 3))), 1, []),
            "divide all weights",
        ),
    ],
)
def test_what_negotiation_refuses(call, message):
    with pytest.raises(trazar.InputError, match=message):
        call(trazar.Grid(np.ones((3, 2)), np.ones((2, 3))))


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
