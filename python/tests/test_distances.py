"""Cost distances against scikit-image, SciPy and xarray-spatial."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
import skimage.graph
import xarray
from conftest import IMAGES

import trazar

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
import trazar.dask  # noqa: E402

#: Each raster is solved in several ways.
RASTERS = max(4, IMAGES // 10)


def random_friction(rng: np.random.Generator, largest: int = 30) -> np.ndarray:
    """Reals, whole numbers with ties, zeros, barriers, one row, or a maze with one path."""
    height, width = rng.integers(1, largest + 1, 2)
    kind = rng.integers(7)
    if kind == 4:
        height = 1
    shape = (int(height), int(width))
    if kind in (0, 4):
        friction = rng.random(shape) + 1e-3
    elif kind == 1:
        friction = rng.integers(1, 4, shape).astype(float)
    elif kind == 2:
        friction = rng.integers(0, 3, shape).astype(float)
    elif kind == 3:
        friction = np.where(rng.random(shape) < 0.3, np.inf, rng.random(shape))
    elif kind == 5:
        friction = rng.integers(1, 9, shape).astype(float)
        for row in range(1, shape[0], 2):
            gap = friction[row, -1 if row // 2 % 2 else 0]
            friction[row] = np.inf
            friction[row, -1 if row // 2 % 2 else 0] = gap
    else:
        friction = np.exp(rng.normal(0, 4, shape))
    friction[rng.integers(shape[0]), rng.integers(shape[1])] = 1.0
    return friction


def random_sources(rng: np.random.Generator, friction: np.ndarray) -> np.ndarray:
    free = np.argwhere(np.isfinite(friction))
    return free[rng.integers(len(free), size=int(rng.integers(1, 6)))]


def mcp(friction, sources, fully_connected=True, sampling=None) -> np.ndarray:
    peer = skimage.graph.MCP_Geometric(
        friction, fully_connected=fully_connected, sampling=sampling
    )
    costs, _ = peer.find_costs([tuple(map(int, cell)) for cell in sources])
    costs[np.isinf(costs)] = np.nan
    return costs


def step_cost(friction, a, b, sampling=(1, 1)) -> float:
    length = np.sqrt(((np.subtract(b, a) * sampling) ** 2).sum())
    return length * 0.5 * (friction[tuple(a)] + friction[tuple(b)])


@pytest.mark.parametrize("neighbours", [4, 8])
def test_f64_has_the_bits_of_scikit_image(rng, neighbours):
    for _ in range(RASTERS):
        friction = random_friction(rng)
        sources = random_sources(rng, friction)
        sampling = [(1, 1), (0.3, 7.0)][rng.integers(2)]
        expected = mcp(friction, sources, neighbours == 8, sampling)
        found = trazar.cost_distance(
            friction, sources.tolist(), sampling=sampling, neighbours=neighbours, precision="f64"
        )
        assert found.cost.dtype == np.float64
        np.testing.assert_array_equal(found.cost, expected)


def test_f32_is_near_f64(rng):
    for _ in range(RASTERS):
        friction = random_friction(rng)
        sources = random_sources(rng, friction).tolist()
        for neighbours in (4, 8, 16):
            single, double = (
                trazar.cost_distance(friction, sources, neighbours=neighbours, precision=each).cost
                for each in ("f32", "f64")
            )
            assert single.dtype == np.float32
            np.testing.assert_allclose(single, double, rtol=1e-5)


def test_costs_are_those_of_xarray_spatial(rng):
    if importlib.util.find_spec("xrspatial") is None:
        pytest.skip("xarray-spatial is not installed")
    from xrspatial.cost_distance import cost_distance

    for neighbours in (4, 8):
        for _ in range(3):
            friction = random_friction(rng, 60)
            # There, 0 is a barrier.
            friction[friction == 0] = 0.5
            sources = random_sources(rng, friction)
            raster = np.zeros(friction.shape)
            raster[tuple(sources.T)] = 1
            if min(friction.shape) < 2:
                continue
            coordinates = {
                "y": np.arange(friction.shape[0])[::-1] * 30.0,
                "x": np.arange(friction.shape[1]) * 10.0,
            }
            surface = xarray.DataArray(friction, coordinates, ("y", "x"))
            expected = cost_distance(
                surface.copy(data=raster), surface, connectivity=neighbours
            ).data
            found = trazar.cost_distance(surface, raster, neighbours=neighbours, precision="f64")
            np.testing.assert_array_equal(found.cost.data.astype(np.float32), expected)
            found = trazar.cost_distance(surface, raster, neighbours=neighbours)
            np.testing.assert_allclose(found.cost.data, expected, rtol=1e-6)
            assert isinstance(found.cost, xarray.DataArray)
            assert found.cost.coords.equals(surface.coords)


def test_knights_moves_are_those_of_a_graph_of_scipy(rng):
    moves = [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)]
    plain = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)]
    for _ in range(3):
        friction = random_friction(rng, 12)
        friction[friction == 0] = 0.5  # SciPy has no edges of weight 0.
        height, width = friction.shape
        edges = []
        for y, x in np.ndindex(height, width):
            for dy, dx in moves + plain:
                v, u = y + dy, x + dx
                if not (0 <= v < height and 0 <= u < width):
                    continue
                # Where the segment is, in many short parts.
                t = (np.arange(400) + 0.5) / 400
                crossed = np.rint(y + dy * t).astype(int), np.rint(x + dx * t).astype(int)
                weight = friction[crossed].mean() * np.hypot(dy, dx)
                if np.isfinite(weight):
                    edges.append((y * width + x, v * width + u, weight))
        source = random_sources(rng, friction)[0]
        expected = np.full(height * width, np.inf)
        expected[source[0] * width + source[1]] = 0
        if edges:
            a, b, weights = zip(*edges)
            graph = scipy.sparse.csr_array((weights, (a, b)), (height * width,) * 2)
            expected = scipy.sparse.csgraph.dijkstra(
                graph, indices=source[0] * width + source[1]
            )
        expected[np.isinf(expected)] = np.nan
        found = trazar.cost_distance(friction, [source], neighbours=16, precision="f64")
        np.testing.assert_allclose(found.cost.ravel(), expected, rtol=1e-12)


def test_route_through_array_costs_what_scikit_image_says(rng):
    for _ in range(RASTERS):
        friction = random_friction(rng, 20)
        friction[np.isinf(friction)] = -1
        start, end = (tuple(map(int, rng.integers(friction.shape))) for _ in range(2))
        friction[start] = friction[end] = 1.0
        connected, geometric = bool(rng.integers(2)), bool(rng.integers(2))
        try:
            _, expected = skimage.graph.route_through_array(
                friction, start, end, connected, geometric
            )
        except ValueError:
            with pytest.raises(trazar.InputError, match="nothing reaches"):
                trazar.route_through_array(friction, start, end, connected, geometric)
            continue
        path, cost = trazar.route_through_array(friction, start, end, connected, geometric)
        assert cost == expected
        assert path[0] == start and path[-1] == end
        total = 0.0 if geometric else friction[start]
        for a, b in zip(path, path[1:]):
            assert max(np.abs(np.subtract(a, b))) == 1 and friction[b] >= 0
            assert connected or 0 in np.subtract(a, b)
            total += step_cost(friction, a, b) if geometric else friction[b]
        assert total == cost
    assert trazar.route_through_array(np.ones((3, 3)), (0, 0), (-1, -1))[0][-1] == (2, 2)


def test_paths_and_allocation_agree_with_the_costs(rng):
    for _ in range(RASTERS):
        friction = random_friction(rng)
        sources = random_sources(rng, friction)
        starts = rng.random(len(sources))
        found = trazar.cost_distance(
            friction, sources, start_costs=starts, allocation=True, direction=True, precision="f64"
        ) if friction.shape != sources.shape else trazar.cost_distance(
            friction, sources.tolist(), start_costs=starts, allocation=True, direction=True,
            precision="f64",
        )
        reached = np.argwhere(np.isfinite(found.cost))
        for cell in reached[:: 1 + len(reached) // 5]:
            path = found.path_to(cell)
            assert path.cells[-1].tolist() == cell.tolist()
            first = path.cells[0]
            total = found.cost[tuple(first)]
            assert total in starts[(sources == first).all(axis=1)]
            for a, b in zip(path.cells, path.cells[1:]):
                total += step_cost(friction, a, b)
            assert total == path.cost == found.cost[tuple(cell)]
            # Each source alone.
            alone = [
                trazar.cost_distance(
                    friction, [each], start_costs=[start], precision="f64"
                ).cost[tuple(cell)]
                for each, start in zip(sources, starts)
            ]
            assert found.allocation[tuple(cell)] == 1 + int(np.nanargmin(alone))


def test_rasters_of_sources_and_max_cost():
    friction = np.ones((4, 6), np.uint8)
    ids = np.zeros((4, 6), np.int64)
    ids[0, 0], ids[3, 5] = 7, 3
    found = trazar.cost_distance(friction, ids, allocation=True, max_cost=2, neighbours=4)
    assert np.nanmax(found.cost) == 2
    assert found.allocation[0].tolist() == [7, 7, 7, 0, 0, 0]
    assert found.allocation[3].tolist() == [0, 0, 0, 3, 3, 3]
    assert found.allocation[1, 1] == 7 and np.isnan(found.cost[2, 1])
    numbered = trazar.cost_distance(friction, ids > 0, allocation=True)
    assert sorted(np.unique(numbered.allocation)) == [1, 2]
    # A raster of two columns and a list of cells look alike.
    two = np.ones((2, 2))
    assert trazar.cost_distance(two, [(0, 0), (1, 1)]).cost.tolist() == [[0, 1], [1, 0]]
    assert trazar.cost_distance(two, np.array([[0, 0], [1, 1]])).cost.tolist() == [[1, 1], [0, 0]]
    assert trazar.cost_distance(friction * 255, [(0, 0)], no_data=1, neighbours=4).cost[0, 1] == 255


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "i8", "f4", "f2", ">f4"])
def test_types_and_layouts(rng, dtype):
    friction = rng.integers(1, 9, (11, 13))
    expected = trazar.cost_distance(friction.astype(float), [(3, 4)]).cost
    for given in (friction.astype(dtype), np.asfortranarray(friction.astype(dtype))):
        assert np.array_equal(trazar.cost_distance(given, [(3, 4)]).cost, expected)


def test_corridors_have_the_path():
    friction = np.ones((5, 9))
    friction[:4, 4] = np.nan
    a, b = (trazar.cost_distance(friction, [end], direction=True) for end in ((0, 0), (0, 8)))
    found = trazar.corridor(a, b, threshold=0.25)
    assert found.least == pytest.approx(float(a.cost[0, 8]))
    assert all(np.isfinite(found.cost[tuple(cell)]) for cell in a.path_to((0, 8)).cells)
    assert np.isnan(found.cost[0, 3]) and np.isfinite(trazar.corridor(a, b).cost[0, 3])
    parted = trazar.cost_distance(np.array([[1, np.nan, 1]]), [(0, 0)])
    other = trazar.cost_distance(np.array([[1, np.nan, 1]]), [(0, 2)])
    assert trazar.corridor(parted, other).least is None


HOSTILE = [
    ([[1, -2]], [(0, 0)], {}, "the friction at row 0, column 1 is -2: it must be 0 or more"),
    ([[1, 1]], [(0, 2)], {}, "sources: there is no cell at row 0, column 2"),
    ([[1, 1]], [(-1, 0)], {}, "sources: there is no cell at row -1, column 0"),
    ([[np.nan, 1]], [(0, 0)], {}, "source with id 1 at row 0, column 0 is on a barrier"),
    ([[np.nan, np.nan]], np.array([[1, 0]]), {}, "is on a barrier"),
    ([[3e38, 3e38]], [(0, 0)], {"sampling": 2}, "exceed the largest f32: take the precision f64"),
    ([[1, 1]], np.ones((3, 3)), {}, r"sources of shape \(3, 3\): cells have shape \(n, 2\)"),
    ([[1, 1]], [], {}, r"sources of shape \(0,\)"),
    ([[1, 1]], np.zeros((1, 2)), {}, "there are no sources"),
    ([1, 1], [(0, 0)], {}, r"friction of shape \(2,\): it has shape \(H, W\)"),
    ([[1, 1]], [(0, 0)], {"neighbours": 5}, "neighbours=\"5\": it is one of 4, 8, 16"),
    ([[1, 1]], [(0, 0)], {"max_cost": -1}, "`max_cost` is -1"),
    ([[1, 1]], [(0, 0)], {"sampling": (1, 0)}, "a cell's side is 0"),
    ([[1, 1]], [(0, 0)], {"sampling": "wide"}, "sampling='wide': it is one number"),
    ([[1, 1]], [(0, 0)], {"precision": "f16"}, "precision=\"f16\": it is one of f32, f64"),
    ([[1, 1]], [(0, 0)], {"ids": [0]}, "ids of sources are whole numbers from 1"),
    ([[1, 1]], [(0, 0)], {"start_costs": [np.nan]}, "starts at a cost of NaN"),
    ([[1, 1]], [(0, 0)], {"device": "moon"}, "device=\"moon\""),
    (np.ones((0, 3)), [(0, 0)], {}, "there is no cell at row 0, column 0"),
]


@pytest.mark.parametrize(("friction", "sources", "options", "line"), HOSTILE)
def test_bad_input_has_one_line(friction, sources, options, line):
    with pytest.raises(trazar.InputError, match=line) as error:
        trazar.cost_distance(np.asarray(friction, float), sources, **options)
    assert "\n" not in str(error.value)


def test_kernels_find_the_same(rng):
    friction = rng.random((40, 50))
    friction[rng.random(friction.shape) < 0.2] = np.nan
    friction[3, 4:6] = 1
    for neighbours in (4, 8, 16):
        for precision in ("f32", "f64"):
            options = {"neighbours": neighbours, "precision": precision}
            options.update(allocation=True, direction=True)
            expected = trazar.cost_distance(friction, [(3, 4), (3, 5)], **options)
            found = trazar.cost_distance(friction, [(3, 4), (3, 5)], device="emulator", **options)
            assert np.array_equal(found.cost, expected.cost, equal_nan=True)
            assert np.array_equal(found.allocation, expected.allocation)
            assert np.array_equal(found.direction, expected.direction)


def random_chunks(rng, side):
    cuts = rng.integers(1, side, rng.integers(0, 4)) if side > 1 else []
    ends = sorted({*map(int, cuts), int(side)})
    return tuple(end - begin for begin, end in zip([0, *ends], ends))


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_dask_gives_the_bits_of_the_whole(rng, scheduler):
    with dask.config.set(scheduler=scheduler):
        for _ in range(max(4, RASTERS // 4)):
            friction = random_friction(rng, 40)
            sources = random_sources(rng, friction).tolist()
            options = {
                "neighbours": [4, 8, 16][rng.integers(3)],
                "precision": ["f32", "f64"][rng.integers(2)],
                "max_cost": [None, 5.0][rng.integers(2)],
                "start_costs": rng.integers(0, 3, len(sources)),
                "ids": rng.integers(1, 4, len(sources)),
                "allocation": True,
            }
            chunks = tuple(random_chunks(rng, side) for side in friction.shape)
            whole = trazar.cost_distance(friction, sources, **options)
            found = trazar.dask.cost_distance(
                da.from_array(friction, chunks=chunks), sources, **options
            )
            cost, allocation = dask.compute(found.cost, found.allocation)
            np.testing.assert_array_equal(cost, whole.cost)
            np.testing.assert_array_equal(allocation, whole.allocation)
            assert cost.dtype == found.cost.dtype == whole.cost.dtype


@pytest.mark.usefixtures("two_processes")
def test_dask_on_processes(rng):
    """On workers that are processes: costs are pickled, and come back unaligned at times."""
    for precision in ("f32", "f64"):
        friction = rng.random((130, 170))
        friction[rng.random(friction.shape) < 0.2] = np.nan
        sources = random_sources(rng, friction).tolist()
        options = {"precision": precision, "allocation": True}
        whole = trazar.cost_distance(friction, sources, **options)
        array = da.from_array(friction, chunks=(40, 50))
        found = trazar.dask.cost_distance(array, sources, **options)
        cost, allocation = dask.compute(found.cost, found.allocation)
        np.testing.assert_array_equal(cost, whole.cost)
        np.testing.assert_array_equal(allocation, whole.allocation)
    with pytest.raises(trazar.InputError, match="friction at row 7, column 60 is negative"):
        friction[0, 0], friction[7, 60] = 1, -1
        trazar.dask.cost_distance(da.from_array(friction, chunks=50), [(0, 0)])


def test_dask_takes_unaligned_costs(rng):
    """What is unpickled from a buffer need not be aligned."""
    from trazar.dask import _distances

    def unaligned(array):
        flat = np.frombuffer(b"0" + array.tobytes(), array.dtype, array.size, 1)
        assert not flat.flags.aligned
        return flat.reshape(array.shape)

    friction = rng.random((5, 7))
    before, whole = (
        trazar.cost_distance(friction, cells, precision="f64").cost
        for cells in ([(2, 2)], [(2, 2), (0, 3)])
    )
    options = {"sampling": (1.0, 1.0), "neighbours": "8", "max_cost": 1e9, "precision": "f64"}
    starts = np.array([[0, 3]], np.uint32), np.ones(1, np.uint32), np.zeros(1)
    place = _distances._Place(0, (0, 0), options)
    given = unaligned(friction), place, starts, unaligned(before)
    np.testing.assert_array_equal(_distances._search(*given, allocation=False)[0], whole)


def test_dask_takes_rasters_and_coordinates():
    friction = xarray.DataArray(
        da.from_array(np.full((6, 8), 2.0), chunks=(4, 3)),
        {"y": np.arange(6) * 5.0, "x": np.arange(8) * 10.0},
        ("y", "x"),
    )
    ids = np.zeros((6, 8), np.int32)
    ids[5, 7] = 9
    found = trazar.dask.cost_distance(friction, ids)
    assert isinstance(found.cost, xarray.DataArray) and found.allocation is None
    assert float(found.cost[5, 0]) == 140 and float(found.cost[0, 7]) == 50
    whole = trazar.cost_distance(friction.compute(), ids)
    np.testing.assert_array_equal(found.cost.data.compute(), whole.cost.data)


def test_dask_names_cells_of_the_whole():
    friction = np.ones((6, 8))
    friction[5, 6], friction[1, 1] = -1, np.nan
    array = da.from_array(friction, chunks=(3, 4))
    with pytest.raises(trazar.InputError, match="friction at row 5, column 6 is negative"):
        trazar.dask.cost_distance(array, [(0, 0)])
    with pytest.raises(trazar.InputError, match="source at row 1, column 1 is on a barrier"):
        trazar.dask.cost_distance(da.where(array < 0, 1, array), [(1, 1)])
    with pytest.raises(trazar.InputError, match="there are no sources"):
        trazar.dask.cost_distance(da.ones((4, 4), chunks=2), np.zeros((4, 4), int))


@pytest.mark.parametrize("no_data", [None, 1e39])
def test_dask_refuses_friction_beyond_f32_as_numpy_does(no_data):
    da = pytest.importorskip("dask.array")
    import trazar.dask

    friction = np.array([[1.0, 1e39, 1.0], [np.inf, 2.0, np.nan]])
    options = {"precision": "f32", "no_data": no_data}
    chunks = da.from_array(friction, (1, 2))
    if no_data is None:
        for function, given in [(trazar.cost_distance, friction), (trazar.dask.cost_distance, chunks)]:
            with pytest.raises(trazar.InputError, match="row 0, column 1.* exceeds the largest f"):
                function(given, [(0, 0)], **options)
    else:
        found = trazar.dask.cost_distance(chunks, [(0, 0)], **options)
        expected = trazar.cost_distance(friction, [(0, 0)], **options)
        np.testing.assert_array_equal(found.cost.compute(), expected.cost)


def test_dask_rounds_whole_numbers_as_numpy_does():
    da = pytest.importorskip("dask.array")
    import trazar.dask

    # Rounded to f64 first, it is halfway between two numbers of f32.
    friction = np.full((3, 4), 2**60 + 2**36 + 1)
    expected = trazar.cost_distance(friction, [(0, 0)], precision="f32")
    lazy = trazar.dask.cost_distance(da.from_array(friction, (2, 2)), [(0, 0)], precision="f32")
    np.testing.assert_array_equal(lazy.cost.compute(), expected.cost)
