"""Simplified regions against shapely, and what is kept of regions against rasterio."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import rasterio.features
import shapely
import skimage.measure
import trazar
from conftest import IMAGES, random_image
from test_regions import TYPES, polygon_set, random_values

METHODS = ["douglas-peucker", "visvalingam"]


def smooth_classes(rng: np.random.Generator, side: int, classes: int = 6) -> np.ndarray:
    """Classes whose borders are curves."""
    y, x = np.mgrid[:side, :side]
    height = np.zeros((side, side))
    for _ in range(12):
        fx, fy, phase = [*rng.normal(0, 0.06, 2), rng.random() * 7]
        height += np.sin(fx * x + fy * y + phase)
    ranks = height.ravel().argsort().argsort().reshape(side, side)
    return (ranks * classes // (side * side)).astype(np.uint8)


def random_classes(rng: np.random.Generator) -> np.ndarray:
    if rng.random() < 0.3:
        return smooth_classes(rng, int(rng.integers(8, 70)))
    return random_values(rng, TYPES[rng.integers(len(TYPES))])


def segments(polygons) -> dict:
    """How often each undirected edge occurs."""
    counts: dict = {}
    for polygon in polygons:
        for ring in [polygon.exterior, *polygon.interiors]:
            points = list(ring.coords)
            for edge in pairwise(points):
                key = frozenset(edge)
                counts[key] = counts.get(key, 0) + 1
    return counts


@pytest.mark.parametrize("method", METHODS)
def test_a_partition_stays_one(rng, method) -> None:
    for _ in range(IMAGES // 5):
        image = random_classes(rng)
        tolerance = float(rng.choice([0, 0.5, 1, 2, 5, 50]))
        regions = trazar.polygonize(image)
        polygons = regions.simplify(tolerance, method).polygons()
        assert len(polygons) == len(regions)
        assert shapely.is_valid(polygons).all()
        assert shapely.coverage_is_valid(polygons)
        # The sum is the union's area, so nothing overlaps; and that of the image: no gaps.
        assert shapely.area(polygons).sum() == image.size
        assert shapely.union_all(polygons).equals(shapely.box(0, 0, *image.shape[::-1]))
        # All edges are shared by two, but those of the frame.
        frame = shapely.box(0, 0, *image.shape[::-1]).exterior
        for edge, count in segments(polygons).items():
            on_frame = frame.covers(shapely.LineString(list(edge)))
            assert count == (1 if on_frame else 2)
        # Neighbours stay neighbours: pairs with a common border.
        if len(regions) < 200:
            before = regions.polygons()
            for a in range(len(before)):
                for b in range(a):
                    had = before[a].intersection(before[b]).length > 0
                    has = polygons[a].intersection(polygons[b]).length > 0
                    assert had == has


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("connectivity", [4, 8])
def test_with_a_background(rng, method, connectivity) -> None:
    for _ in range(IMAGES // 5):
        image = random_classes(rng)
        regions = trazar.polygonize(image, background=image.ravel()[0], connectivity=connectivity)
        simplified = regions.simplify(float(rng.choice([0.5, 1, 2, 5])), method)
        polygons = simplified.polygons()
        if connectivity == 4:
            assert shapely.is_valid(polygons).all()
        areas = shapely.area(polygons)
        assert (areas > 0).all()
        union = shapely.union_all(shapely.make_valid(polygons)).area
        assert areas.sum() == pytest.approx(union)
        # Only corners of before.
        corners = {tuple(point) for point in regions.points.tolist()}
        added = {tuple(point) for point in simplified.points.tolist()} - corners
        # Where a straight border is met by others.
        lines = (
            shapely.union_all([p.boundary for p in regions.polygons()]) if len(regions) else None
        )
        assert all(lines.covers(shapely.Point(point)) for point in added)


def test_douglas_peucker_is_shapelys_on_lines_between_nodes(rng) -> None:
    """Two classes, one border from frame to frame: the only arc."""
    for _ in range(IMAGES // 5):
        width = int(rng.integers(5, 60))
        heights = np.clip(np.cumsum(rng.integers(-2, 3, width)) + 15, 1, 29)
        image = (np.arange(30)[:, None] < heights).astype(np.uint8)
        tolerance = float(rng.choice([0.4, 0.6, 1.1, 2.3, 4.7]))
        top = trazar.polygonize(image, background=0).polygons()[0]
        frame = shapely.LineString([(0, 30), (0, 0), (width, 0), (width, 30)])
        line = shapely.line_merge(top.exterior.difference(frame))
        expected = shapely.simplify(line, tolerance, preserve_topology=False)
        [found] = trazar.polygonize(image, background=0).simplify(tolerance).polygons()
        found = shapely.line_merge(found.exterior.difference(frame))
        # Of points that are equally far GEOS takes another one now and then, so that the lines
        # differ in some points; then ours is within the tolerance too.
        if not found.equals(expected):
            assert shapely.hausdorff_distance(found, line) <= 2 * tolerance
        assert abs(len(found.coords) - len(expected.coords)) <= 1 + len(expected.coords) // 4


def test_visvalingam_leaves_as_many_corners_as_shapely(rng) -> None:
    """GEOS weights triangles in the same way, and does not keep the image's corners."""
    ours = theirs = 0
    for _ in range(10):
        image = smooth_classes(rng, 120)
        regions = trazar.polygonize(image)
        area = float(rng.choice([0.5, 2, 9]))
        found = regions.simplify(area, "visvalingam").polygons()
        # Its polygons must have all nodes as vertices.
        noded = regions.simplify(0).polygons()
        expected = shapely.coverage_simplify(noded, area**0.5)
        assert shapely.coverage_is_valid(expected)
        ours += shapely.get_num_coordinates(found).sum()
        theirs += shapely.get_num_coordinates(expected).sum()
    assert 0.8 * theirs < ours < 1.2 * theirs, (ours, theirs)


def test_binary_images_have_rasterios_polygons(rng) -> None:
    for _ in range(IMAGES):
        image = random_image(rng)
        expected = rasterio.features.shapes(image, mask=image != 0, connectivity=8)
        found = trazar.shapes(image, mask=image, connectivity=8)
        assert polygon_set(found) == polygon_set(expected), image.tolist()
        regions = trazar.polygonize(image != 0, background=0, connectivity=8)
        assert sorted(p.wkb for p in shapely.normalize(regions.polygons())) == sorted(
            shapely.normalize(shapely.geometry.shape(polygon)).wkb
            for polygon, _ in trazar.shapes(image, mask=image, connectivity=8)
        )


@pytest.mark.parametrize("connectivity", [4, 8])
def test_small_regions_and_holes_are_left_out(rng, connectivity) -> None:
    for _ in range(IMAGES // 5):
        image = random_values(rng, np.uint8)
        least, fill = int(rng.integers(1, 12)), bool(rng.random() < 0.5)
        options = {"background": 0, "connectivity": connectivity}
        labels, _ = trazar.label_values(image, **options)
        found = trazar.polygonize(image, min_area=least, fill_holes=fill, **options)
        counts = np.bincount(labels.ravel())
        expected = [n for n in range(1, len(counts)) if counts[n] >= least]
        assert found.regions[found.kinds == 0].tolist() == expected
        assert len(found) == len(expected)
        for number, polygon, value in zip(
            expected, found.polygons(), found.polygon_values(), strict=True
        ):
            pixels = labels == number
            assert value == image[pixels][0]
            if fill:
                # Holes are 4-connected for both: rings of polygons touch at corners.
                around = np.pad(~pixels, 1, constant_values=True)
                outside = skimage.measure.label(around, connectivity=1)
                pixels = (outside != outside[0, 0])[1:-1, 1:-1]
                assert len(polygon.interiors) == 0
            assert polygon.area == pixels.sum()


@pytest.mark.parametrize("retrieval", ["external", "list", "ccomp", "tree"])
def test_labels_of_contours_are_those_of_label(rng, retrieval) -> None:
    for _ in range(IMAGES // 5):
        image = random_image(rng)
        for geometry, neighbours in [("centers", 8), ("edges", 4)]:
            labels, count = trazar.label(image, connectivity=neighbours)
            contours = trazar.trace(image, retrieval=retrieval, geometry=geometry)
            found = contours.labels(labels)
            outer = found[contours.kinds == 0]
            if retrieval != "external":
                assert sorted(outer.tolist()) == list(range(1, count + 1))
            for number, ring, kind in zip(found, contours, contours.kinds, strict=True):
                mask = labels == number
                if geometry == "centers":
                    assert mask[ring[:, 1], ring[:, 0]].all()
                elif kind == 0:
                    y, x = np.nonzero(mask)
                    box = [x.min(), y.min(), x.max() + 1, y.max() + 1]
                    assert [*ring.min(axis=0), *ring.max(axis=0)] == box
                else:
                    of_mask = trazar.trace(mask, geometry="edges")
                    assert ring.tolist() in [each.tolist() for each in of_mask]


def test_what_is_refused() -> None:
    regions = trazar.polygonize([[1, 2], [1, 1]])
    with pytest.raises(trazar.InputError, match="tolerance -1"):
        regions.simplify(-1)
    with pytest.raises(trazar.InputError, match="douglas-peucker"):
        regions.simplify(1, "fast")
    with pytest.raises(trazar.InputError, match="along pixels' edges, once"):
        trazar.polygonize(np.tri(4, dtype=int)).simplify(1).simplify(1)
    with pytest.raises(trazar.InputError, match="pixels' centers"):
        trazar.trace([[1]]).simplify(1)
    with pytest.raises(trazar.InputError, match="min_area=-1"):
        trazar.polygonize([[1]], min_area=-1)
    with pytest.raises(trazar.InputError, match="label_image of shape"):
        trazar.trace([[1]]).labels([[1, 2]])
