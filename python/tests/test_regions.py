"""Regions against rasterio, OpenCV, scikit-image, cc3d and shapely."""

from __future__ import annotations

from itertools import pairwise

import cc3d
import cv2
import numpy as np
import pytest
import rasterio.features
import shapely
import skimage.measure
import trazar
from conftest import IMAGES

#: The types that rasterio takes too, and all.
SHARED = [np.uint8, np.uint16, np.int16, np.int32, np.float32]
TYPES = [*SHARED, np.uint32, np.int64]


def random_values(rng: np.random.Generator, dtype: type, largest: int = 30) -> np.ndarray:
    """Noise of some values, noise of blocks, or rectangles; negative values if the type has any."""
    height, width = rng.integers(1, largest + 1, 2)
    values = int(rng.choice([1, 2, 3, 4, 12, 200]))
    kind = rng.integers(3)
    if kind == 0:
        image = rng.integers(0, values, (height, width))
    elif kind == 1:
        side = int(rng.integers(2, 6))
        blocks = rng.integers(0, values, (height // side + 1, width // side + 1))
        image = np.kron(blocks, np.ones((side, side), int))[:height, :width]
    else:
        image = np.zeros((height, width), int)
        for _ in range(int(rng.integers(1, 12))):
            (y, x), (h, w) = rng.integers(0, largest, 2), rng.integers(1, 14, 2)
            image[y : y + h, x : x + w] = rng.integers(0, values)
    if np.issubdtype(dtype, np.signedinteger) or np.issubdtype(dtype, np.floating):
        image = image - values // 2
    image = image.astype(dtype)
    # Some views: reversed, transposed, every second column.
    view = rng.integers(4)
    if view == 1:
        return image[::-1]
    if view == 2:
        return image.T
    if view == 3:
        return np.repeat(image, 2, axis=1)[:, ::2]
    return image


def normalized(ring: list) -> tuple:
    """A closed ring, from its least corner on.

    Where rings pass a corner twice, the least rotation.
    """
    points = [tuple(point) for point in ring[:-1]]
    least = min(points)
    starts = [i for i, point in enumerate(points) if point == least]
    return min(tuple(points[i:] + points[:i]) for i in starts)


def polygon_set(shapes) -> set:
    """What a set of polygons with values is, whatever its order."""
    found = [
        (
            value,
            normalized(polygon["coordinates"][0]),
            frozenset(normalized(ring) for ring in polygon["coordinates"][1:]),
        )
        for polygon, value in shapes
    ]
    assert len(set(found)) == len(found)
    return set(found)


@pytest.mark.parametrize("connectivity", [4, 8])
def test_shapes_are_rasterios(rng, connectivity) -> None:
    for _ in range(IMAGES):
        image = random_values(rng, SHARED[rng.integers(len(SHARED))])
        if image.dtype == np.float32:
            # GDAL takes 2 and -2 for equal: see the test below.
            image = np.abs(image)
        mask = rng.random(image.shape) < 0.8 if rng.random() < 0.5 else None
        transform = None
        if rng.random() < 0.3:
            transform = rasterio.Affine(0.5, 0, 100, 0, -0.25, 7)
        arguments = {} if transform is None else {"transform": transform}
        expected = rasterio.features.shapes(
            np.ascontiguousarray(image), mask=mask, connectivity=connectivity, **arguments
        )
        found = trazar.shapes(image, mask=mask, connectivity=connectivity, transform=transform)
        assert polygon_set(found) == polygon_set(expected), (image.tolist(), mask)


def test_negative_floats_are_not_equal_to_others() -> None:
    image = np.array([[2, -2, 2]], np.float32)
    assert [value for _, value in trazar.shapes(image)] == [2, -2, 2]


def test_rotated_transforms_are_rasterios(rng) -> None:
    transform = rasterio.Affine(0.5, 0.25, 3, -0.125, 2, 1)
    for _ in range(20):
        image = random_values(rng, np.uint8)
        expected = rasterio.features.shapes(np.ascontiguousarray(image), transform=transform)
        assert polygon_set(trazar.shapes(image, transform=transform)) == polygon_set(expected)


def test_polygons_are_a_valid_partition(rng) -> None:
    for _ in range(IMAGES // 5):
        image = random_values(rng, TYPES[rng.integers(len(TYPES))])
        regions = trazar.polygonize(image)
        polygons = regions.polygons()
        assert len(polygons) == len(regions)
        assert shapely.is_valid(polygons).all()
        assert shapely.from_wkb(regions.to_wkb()).tolist() == polygons.tolist()
        labels, count = trazar.label_values(image, background=None)
        assert count == len(regions)
        counts = np.bincount(labels.ravel(), minlength=count + 1)[1:]
        assert shapely.area(polygons).tolist() == counts.tolist()
        assert shapely.union_all(polygons).area == image.size
        firsts = [np.argmax(labels.ravel() == number) for number in range(1, count + 1)]
        assert regions.polygon_values().tolist() == image.ravel()[firsts].tolist()
        assert regions.regions[regions.kinds == 0].tolist() == list(range(1, count + 1))


def test_a_transform_moves_polygons(rng) -> None:
    transform = (0.5, 0.25, 3, -0.125, 2, 1)
    regions = trazar.polygonize(random_values(rng, np.uint8), transform=transform)
    shapes = [shapely.geometry.shape(polygon) for polygon, _ in trazar.shapes(
        np.zeros((3, 2), np.uint8), transform=transform
    )]
    assert shapes[0].area == pytest.approx(6 * (0.5 * 2 + 0.25 * 0.125))
    moved, wkb = regions.polygons(), shapely.from_wkb(regions.to_wkb())
    assert shapely.equals_exact(moved, wkb, 1e-12).all()


def test_labels_are_those_of_scikit_image_and_cc3d(rng) -> None:
    for _ in range(IMAGES):
        image = random_values(rng, TYPES[rng.integers(len(TYPES))])
        for connectivity, steps in ((4, 1), (8, 2)):
            background = image.flat[0]
            labels, count = trazar.label_values(image, background, connectivity)
            expected, number = skimage.measure.label(
                image, background=background, connectivity=steps, return_num=True
            )
            assert (labels == expected).all() and count == number
            if image.dtype != np.float32:
                zero = trazar.label_values(image, connectivity=connectivity)[0]
                other = cc3d.connected_components(
                    np.ascontiguousarray(image), connectivity=connectivity
                )
                # The same sets; cc3d's numbers may have another order.
                pairs = np.unique(np.stack([zero.ravel(), other.ravel()]), axis=1)
                assert pairs.shape[1] == len(np.unique(zero)) == len(np.unique(other))


MODES = [trazar.RETR_EXTERNAL, trazar.RETR_LIST, trazar.RETR_CCOMP, trazar.RETR_TREE]
METHODS = [
    trazar.CHAIN_APPROX_NONE,
    trazar.CHAIN_APPROX_SIMPLE,
    trazar.CHAIN_APPROX_TC89_L1,
    trazar.CHAIN_APPROX_TC89_KCOS,
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", METHODS)
def test_contours_by_label_are_opencvs(rng, mode, method) -> None:
    for _ in range(IMAGES // 10):
        image = random_values(rng, TYPES[rng.integers(len(TYPES))])
        found = trazar.find_contours_by_label(image, mode, method, background=None)
        assert list(found) == np.unique(image).tolist()
        for label, (contours, hierarchy) in found.items():
            binary = (image == label).astype(np.uint8)
            expected, links = cv2.findContours(binary, mode, method)
            assert hierarchy.tolist() == links.tolist()
            assert len(contours) == len(expected)
            assert all(map(np.array_equal, contours, expected))


def test_background_and_mask_leave_pixels_out() -> None:
    image = np.array([[1, 1, 2], [3, np.nan, 2]], np.float32)
    mask = np.array([[1, 1, 1], [0, 1, 1]], bool)
    assert trazar.polygonize(image).polygon_values().tolist() == [1, 2, 3]
    assert trazar.polygonize(image, background=2).polygon_values().tolist() == [1, 3]
    both = trazar.polygonize(image, background=[2, np.nan, 0.5], mask=mask)
    assert both.polygon_values().tolist() == [1]
    assert trazar.label_values(image, background=None)[0].tolist() == [[1, 1, 2], [3, 0, 2]]
    assert list(trazar.find_contours_by_label(image, background=[1, 3])) == [2]
    # Values that the image's type does not have are in no pixel.
    bytes_ = np.array([[0, 255]], np.uint8)
    assert len(trazar.polygonize(bytes_, background=[-1, 256, 0.5])) == 2
    assert len(trazar.polygonize(np.full((2, 2), np.nan, np.float32))) == 0


def test_other_types_are_converted_or_refused() -> None:
    assert trazar.polygonize(np.array([[True, False]])).values.tolist() == [1, 0]
    assert trazar.polygonize(np.array([[-1, 2]], np.int8)).values.tolist() == [-1, 2]
    assert trazar.polygonize(np.array([[1, 2]], ">u2")).values.tolist() == [1, 2]
    assert trazar.polygonize(np.array([[1, 2]], np.float16)).values.tolist() == [1, 2]
    big = np.array([[1, 2**63 - 1]], np.uint64)
    assert trazar.polygonize(big).values.tolist() == [1, 2**63 - 1]
    for wrong in (big + np.uint64(1), np.ones((2, 2)), np.ones((2, 2), complex), np.ones(3)):
        with pytest.raises(trazar.InputError):
            trazar.polygonize(wrong)
    ones = np.ones((2, 2), np.uint8)
    for arguments in (
        {"mask": np.ones((2, 3))},
        {"connectivity": 6},
        {"transform": (1, 2)},
        {"background": "x"},
        {"image": np.ma.masked_equal(ones, 1)},
        {"image": np.ones((0, 2), np.uint8)},
    ):
        with pytest.raises(trazar.InputError) as error:
            trazar.polygonize(**{"image": ones, **arguments})
        assert "\n" not in str(error.value)


def test_kernels_find_the_same(rng) -> None:
    for image in (rng.integers(0, 4, (40, 90)), rng.integers(-3, 3, (70, 30)).astype(np.float32)):
        mask = rng.random(image.shape) < 0.9
        for connectivity in (4, 8):
            expected = trazar.polygonize(image, mask=mask, connectivity=connectivity)
            found = trazar.polygonize(
                image, mask=mask, connectivity=connectivity, device="emulator"
            )
            for name in ("points", "offsets", "values", "regions"):
                assert np.array_equal(getattr(found, name), getattr(expected, name)), name
            labels, count = trazar.label_values(image, 0, connectivity, device="emulator")
            expected_labels, expected_count = trazar.label_values(image, 0, connectivity)
            assert np.array_equal(labels, expected_labels) and count == expected_count
        for mode in (trazar.RETR_TREE, trazar.RETR_EXTERNAL):
            expected = trazar.find_contours_by_label(image, mode)
            found = trazar.find_contours_by_label(image, mode, device="emulator")
            assert list(found) == list(expected)
            for label, (contours, hierarchy) in found.items():
                assert np.array_equal(hierarchy, expected[label][1])
                for ours, theirs in zip(contours, expected[label][0], strict=True):
                    assert np.array_equal(ours, theirs)


def test_results_describe_themselves() -> None:
    regions = trazar.polygonize(np.array([[1, 2], [1, 1]]))
    assert repr(regions) == "Regions(2 regions, 2 rings, 2 × 2 pixels)"
    assert regions._repr_svg_().startswith("<?xml") or "<svg" in regions._repr_svg_()
    for begin, end in pairwise(regions.offsets):
        assert end > begin


def test_files_and_frames(tmp_path) -> None:
    geopandas = pytest.importorskip("geopandas")
    pytest.importorskip("pyarrow")
    image = np.array([[3, 3, 3], [3, 8, 3]], np.uint16)
    regions = trazar.polygonize(image, transform=(2, 0, 10, 0, -2, 20))
    frame = regions.to_geopandas(crs="EPSG:32633")
    assert frame["value"].tolist() == [3, 8] and frame["region"].tolist() == [1, 2]
    assert frame.geometry.area.tolist() == [20, 4] and frame.crs.to_epsg() == 32633
    regions.to_geoparquet(tmp_path / "regions.parquet", crs="EPSG:32633")
    read = geopandas.read_parquet(tmp_path / "regions.parquet")
    assert read.equals(frame)


@pytest.mark.parametrize("form", ["flatgeobuf", "geojson"])
def test_written_files_are_those_of_geopandas(rng, tmp_path, form) -> None:
    geopandas = pytest.importorskip("geopandas")
    pytest.importorskip("pyogrio")
    pyproj = pytest.importorskip("pyproj")
    path = tmp_path / f"regions.{form}"
    transforms = [None, (2, 0, 10, 0, -2, 20), (0.5, 0.25, 3e5, -0.1, 0.7, 4e6)]
    references = [None, 32633, "epsg:2056", pyproj.CRS.from_epsg(3035)]
    for dtype in [np.uint8, np.uint16, np.uint32, np.int16, np.int32, np.int64, np.float32]:
        for transform in transforms:
            image = rng.integers(0, 5, rng.integers(1, 50, 2)).astype(dtype)
            regions = trazar.polygonize(image, background=4, transform=transform)
            if len(regions) == 0:
                continue
            crs = references[rng.integers(len(references))]
            getattr(regions, f"write_{form}")(path, crs=crs)
            read = geopandas.read_file(path)
            frame = regions.to_geopandas(crs)
            assert read["value"].tolist() == frame["value"].tolist()
            assert read["region"].tolist() == frame["region"].tolist()
            # GeoJSON without a system is in that of longitudes and latitudes.
            assert read.geometry.set_crs(crs, allow_override=True).geom_equals(frame.geometry).all()
            pixels = np.bincount(trazar.label_values(image, background=4)[0].ravel())[1:]
            assert read["area"].tolist() == pixels.tolist()
            if crs is not None:
                assert read.crs == frame.crs


def test_written_files_of_simplified_regions(rng, tmp_path) -> None:
    geopandas = pytest.importorskip("geopandas")
    pytest.importorskip("pyogrio")
    image = rng.integers(0, 3, (60, 40)).repeat(3, 0).repeat(3, 1).astype(np.uint8)
    whole = trazar.polygonize(image)
    regions = whole.simplify(2.0)
    regions.write_flatgeobuf(tmp_path / "regions.fgb")
    read = geopandas.read_file(tmp_path / "regions.fgb")
    assert read.geometry.geom_equals(geopandas.GeoSeries(regions.polygons())).all()
    # In pixels, whatever is left of the corners.
    assert read["area"].tolist() == [polygon.area for polygon in whole.polygons()]


def test_files_that_cannot_be_written(tmp_path) -> None:
    regions = trazar.polygonize([[1, 2]])
    path = tmp_path / "regions.fgb"
    for crs in ["32633", "EPSG:", "EPSG:x", "OGC:CRS84", 0, -1, 2**31, True, 1.5, object()]:
        with pytest.raises(trazar.InputError, match="EPSG registry"):
            regions.write_flatgeobuf(path, crs=crs)
    with pytest.raises(trazar.InputError, match="no area"):
        trazar.polygonize([[1, 2]], transform=(1, 0, 0, 1, 0, 0)).write_flatgeobuf(path)
    with pytest.raises(OSError, match="nowhere"):
        regions.write_geojson(tmp_path / "nowhere" / "a.geojson")
    assert list(tmp_path.iterdir()) == []
