"""Regions of Dask arrays against those of the whole array, and against rasterio."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import IMAGES

import trazar

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
import trazar.dask  # noqa: E402

TYPES = ["u1", "u2", "u4", "i2", "i4", "i8", "f4", "?"]


def random_classes(rng: np.random.Generator) -> np.ndarray:
    """Pixels of some values, some of them in rectangles."""
    height, width = (int(side) for side in rng.integers(1, 60, 2))
    most = int(rng.choice([2, 3, 5, 100]))
    image = rng.integers(0, most, (height, width))
    for _ in range(rng.integers(0, 8)):
        y, x = int(rng.integers(height)), int(rng.integers(width))
        image[y : y + rng.integers(1, 20), x : x + rng.integers(1, 20)] = rng.integers(most)
    return image.astype(rng.choice(TYPES))


def random_chunks(rng: np.random.Generator, side: int) -> tuple[int, ...]:
    cuts = rng.integers(1, side, rng.integers(0, 5)) if side > 1 else []
    ends = sorted({*map(int, cuts), side})
    return tuple(end - begin for begin, end in zip([0, *ends], ends))


def in_chunks(rng: np.random.Generator, image: np.ndarray) -> da.Array:
    return da.from_array(image, chunks=tuple(random_chunks(rng, side) for side in image.shape))


def assert_same(found: trazar.Regions, expected: trazar.Regions) -> None:
    assert len(found) == len(expected)
    assert found.transform == expected.transform
    for name in ("points", "offsets", "kinds", "values", "regions"):
        mine, other = getattr(found, name), getattr(expected, name)
        assert mine.dtype == other.dtype and np.array_equal(mine, other), name
    assert np.array_equal(found.contours.hierarchy, expected.contours.hierarchy)


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
@pytest.mark.parametrize("connectivity", [4, 8])
def test_regions_are_those_of_the_whole(rng, scheduler, connectivity):
    for number in range(max(1, IMAGES // 6)):
        image = random_classes(rng)
        if image.dtype == np.float32:
            image[rng.random(image.shape) < 0.1] = np.nan
        options = {
            "connectivity": connectivity,
            "background": [None, 0, [0, 2]][number % 3],
            "transform": [None, (10.0, 0.0, 500.0, 0.0, -10.0, 900.0)][number % 2],
        }
        mask = rng.random(image.shape) < 0.8 if rng.integers(2) else None
        rows = [None, "auto", int(rng.integers(1, 20))][rng.integers(3)]
        chunked = mask if mask is None or rng.integers(2) else in_chunks(rng, mask)
        lazy = trazar.dask.polygonize(in_chunks(rng, image), mask=chunked, rows=rows, **options)
        assert lazy.shape == image.shape
        with dask.config.set(scheduler=scheduler):
            found, count = dask.compute(lazy, lazy.count())
            again = lazy.to_delayed().compute()
        expected = trazar.polygonize(image, mask=mask, **options)
        assert_same(found, expected)
        assert_same(again, expected)
        assert count == len(expected)


def test_polygons_are_those_of_rasterio(rng):
    rasterio_features = pytest.importorskip("rasterio.features")

    def normal(ring) -> tuple:
        """A closed ring from its first vertex in order."""
        points = [tuple(map(float, point)) for point in ring[:-1]]
        first = points.index(min(points))
        turned = points[first:] + points[:first]
        return min(tuple(turned), (turned[0], *reversed(turned[1:])))

    for _ in range(max(1, IMAGES // 12)):
        image = random_classes(rng).astype(np.int32)
        lazy = trazar.dask.polygonize(in_chunks(rng, image), rows=int(rng.integers(1, 9)))
        regions = lazy.compute()
        found = set()
        starts = np.flatnonzero(regions.kinds == 0)
        for begin, end in zip(starts, [*starts[1:], len(regions.kinds)]):
            rings = [
                regions.points[regions.offsets[ring] : regions.offsets[ring + 1]]
                for ring in range(begin, end)
            ]
            outer, *holes = (normal([*ring, ring[0]]) for ring in rings)
            found.add((outer, frozenset(holes), float(regions.values[begin])))
        expected = set()
        for polygon, value in rasterio_features.shapes(image):
            outer, *holes = (normal(ring) for ring in polygon["coordinates"])
            expected.add((outer, frozenset(holes), float(value)))
        assert found == expected


def test_a_part_is_pickled(rng):
    image = random_classes(rng).astype(np.int16)
    lazy = trazar.dask.polygonize(in_chunks(rng, image), rows=5)
    graph = dict(lazy.__dask_graph__())
    with dask.config.set(scheduler="sync"):
        (part,) = dask.get(graph, lazy.__dask_keys__())
    again = pickle.loads(pickle.dumps(part))
    assert again.rows == (0, image.shape[0])
    assert again.count() == len(trazar.polygonize(image))
    assert np.array_equal(again.finish()[1], part.finish()[1])


def test_processes_give_the_same(rng):
    image = random_classes(rng)
    lazy = trazar.dask.polygonize(in_chunks(rng, image), rows=7)
    found = lazy.compute(scheduler="processes", num_workers=2)
    assert_same(found, trazar.polygonize(image))


def test_what_is_refused():
    ones = da.ones((4, 5), dtype="u1", chunks=2)
    with pytest.raises(trazar.InputError, match="mask of shape"):
        trazar.dask.polygonize(ones, mask=np.ones((4, 4)))
    with pytest.raises(trazar.InputError, match="float64"):
        trazar.dask.polygonize(ones.astype("f8"))
    with pytest.raises(trazar.InputError, match="connectivity"):
        trazar.dask.polygonize(ones, connectivity=6)
    with pytest.raises(trazar.InputError, match="at least 1"):
        trazar.dask.polygonize(ones[:0])
    with pytest.raises(trazar.InputError, match="no image"):
        trazar.dask.polygonize(ones[0])
