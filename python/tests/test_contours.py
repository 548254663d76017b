"""Contours against OpenCV's, and their measures, polygons and files against other programs'."""

from __future__ import annotations

import functools
import itertools
import json
import pickle

import cv2
import numpy as np
import pytest
import shapely
from conftest import IMAGES, random_image

import trazar

MODES = (cv2.RETR_EXTERNAL, cv2.RETR_LIST, cv2.RETR_CCOMP, cv2.RETR_TREE)
METHODS = (
    cv2.CHAIN_APPROX_NONE,
    cv2.CHAIN_APPROX_SIMPLE,
    cv2.CHAIN_APPROX_TC89_L1,
    cv2.CHAIN_APPROX_TC89_KCOS,
)


def assert_same(found, expected, what) -> None:
    contours, hierarchy = found
    cv_contours, cv_hierarchy = expected
    assert isinstance(contours, type(cv_contours))
    assert len(contours) == len(cv_contours), what
    for i, (ours, theirs) in enumerate(zip(contours, cv_contours)):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, (what, i)
        assert np.array_equal(ours, theirs), (what, i)
    if cv_hierarchy is None:
        assert hierarchy is None, what
    else:
        assert hierarchy.dtype == cv_hierarchy.dtype
        assert np.array_equal(hierarchy, cv_hierarchy), what


def test_the_constants_are_opencvs():
    for name in trazar.__all__:
        if name.startswith(("RETR_", "CHAIN_")):
            assert getattr(trazar, name) == getattr(cv2, name), name


def test_random_images_have_opencvs_contours(rng):
    for number in range(IMAGES):
        image = random_image(rng)
        for mode, method in itertools.product(MODES, METHODS):
            found = trazar.find_contours(image, mode, method)
            expected = cv2.findContours(image, mode, method)
            assert_same(found, expected, (number, mode, method, image.tolist()))


def test_larger_images_have_opencvs_contours(rng):
    for number in range(3):
        image = random_image(rng, 700)
        for mode, method in itertools.product(MODES[:3], METHODS):
            found = trazar.find_contours(image, mode, method)
            assert_same(found, cv2.findContours(image, mode, method), (number, mode, method))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", METHODS)
def test_the_emulator_runs_the_kernels(rng, mode, method):
    image = random_image(rng)
    found = trazar.find_contours(image, mode, method, device="emulator")
    assert_same(found, cv2.findContours(image, mode, method), (mode, method))


def test_offset(rng):
    image = random_image(rng)
    for device in ("cpu", "emulator"):
        found = trazar.find_contours(image, 3, 2, offset=(-3, 1000), device=device)
        assert_same(found, cv2.findContours(image, 3, 2, offset=(-3, 1000)), "offset")
    for found in trazar.find_contours_batch(np.stack([image, image]), 3, 2, offset=(-3, 1000)):
        assert_same(found, cv2.findContours(image, 3, 2, offset=(-3, 1000)), "offset")


def test_contours_serve_opencv_and_can_be_written(rng):
    image = random_image(rng)
    contours, _ = trazar.find_contours(image, cv2.RETR_CCOMP)
    drawn = np.zeros_like(image)
    cv2.drawContours(drawn, contours, -1, 255, cv2.FILLED)
    expected = np.zeros_like(image)
    cv_contours, _ = cv2.findContours(image, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    cv2.drawContours(expected, cv_contours, -1, 255, cv2.FILLED)
    assert np.array_equal(drawn, expected)
    for contour in contours:
        assert contour.flags.writeable and contour.flags.c_contiguous
        contour += 7
    # A view outlives the others.
    last = contours[-1]
    value = last.copy()
    del contours, contour
    assert np.array_equal(last, value)


def test_an_image_of_background_has_none():
    assert trazar.find_contours(np.zeros((4, 5), np.uint8)) == ((), None)
    assert len(trazar.trace(np.zeros((4, 5), np.uint8))) == 0
    assert trazar.trace(np.zeros((4, 5))).points.shape == (0, 2)


def test_batches_are_traced_image_by_image(rng):
    images = np.stack([rng.random((23, 70)) < 0.4 for _ in range(9)])
    for image, found in zip(images, trazar.find_contours_batch(images), strict=True):
        expected = cv2.findContours(image.view(np.uint8), cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)
        assert_same(found, expected, "batch")
    for image, contours in zip(images, trazar.trace_batch(images, geometry="edges"), strict=True):
        assert contours == trazar.trace(image, geometry="edges")
    assert trazar.find_contours_batch(images[:0]) == []
    assert len(trazar.find_contours_batch(images[:1])) == 1
    with pytest.raises(trazar.InputError, match="find_contours_batch takes N images"):
        trazar.find_contours(images)
    with pytest.raises(trazar.InputError, match="trace_batch takes N images"):
        trazar.trace(images)
    with pytest.raises(trazar.InputError, match="trace takes one"):
        trazar.trace_batch(images[0])
    with pytest.raises(trazar.InputError, match="3 dimensions is N images"):
        trazar.find_contours(images.tolist())
    with pytest.raises(trazar.InputError, match="2 dimensions is one image"):
        trazar.trace_batch(images[0].tolist())


@pytest.mark.parametrize("device", ["cpu", "emulator"])
def test_a_batch_is_a_sequence_and_has_the_arrays_of_all_images(rng, device):
    images = np.stack([rng.random((13, 40)) < density for density in (0.4, 0, 0.7, 0.1)])
    batch = trazar.trace_batch(images, device=device)
    each = [trazar.trace(image) for image in images]
    assert isinstance(batch, trazar.ContourBatch) and len(batch) == 4 and batch.device == "cpu"
    assert list(batch) == each and batch[-1] == each[-1] and batch[1:3] == each[1:3]
    assert batch.to_host() is batch
    with pytest.raises(IndexError):
        batch[4]
    ends = np.cumsum([0, *map(len, each)])
    assert np.array_equal(batch.image_offsets, ends) and batch.image_offsets.dtype == np.intp
    for i, contours in enumerate(each):
        of_image = slice(ends[i], ends[i + 1])
        assert np.array_equal(batch.kinds[of_image], contours.kinds)
        assert np.array_equal(batch.hierarchy[of_image], contours.hierarchy)
        offsets = batch.offsets[ends[i] : ends[i + 1] + 1]
        assert np.array_equal(offsets - offsets[0], contours.offsets)
        assert np.array_equal(batch.points[offsets[0] : offsets[-1]], contours.points)
    for name in ("points", "offsets", "kinds", "hierarchy"):
        array, of_one = getattr(batch, name), getattr(each[0], name)
        assert array.dtype == of_one.dtype and array.shape[1:] == of_one.shape[1:]
        assert not array.flags.writeable
    assert batch == trazar.trace_batch(images) and batch != trazar.trace_batch(images[::-1])
    assert batch != each
    assert pickle.loads(pickle.dumps(batch)) == batch
    none = trazar.trace_batch(images[:0])
    assert len(none) == 0 and none.points.shape == (0, 2) and none.offsets.tolist() == [0]
    assert none.image_offsets.tolist() == [0] and none.hierarchy.shape == (0, 4)


def test_traced_arrays_are_those_of_opencv(rng):
    names = {"external": 0, "list": 1, "ccomp": 2, "tree": 3}
    kept = {"none": 1, "simple": 2, "tc89-l1": 3, "tc89-kcos": 4}
    for _ in range(20):
        image = random_image(rng)
        for (retrieval, mode), (approximation, method) in itertools.product(
            names.items(), kept.items()
        ):
            contours = trazar.trace(image, retrieval=retrieval, approximation=approximation)
            expected, hierarchy = cv2.findContours(image, mode, method)
            assert len(contours) == len(expected)
            for ours, theirs in zip(contours, expected):
                assert np.array_equal(ours, theirs[:, 0])
            if expected:
                assert np.array_equal(contours.points, np.concatenate(expected)[:, 0])
                assert np.array_equal(contours.hierarchy, hierarchy[0])


def test_arrays_are_views_of_the_result(rng):
    contours = trazar.trace(random_image(rng))
    for name in ("points", "offsets", "kinds", "hierarchy"):
        array = getattr(contours, name)
        again = getattr(contours, name)
        assert array.ctypes.data == again.ctypes.data, name
        assert not array.flags.writeable and not array.flags.owndata
        with pytest.raises(ValueError):
            array[...] = 0
    points = contours.points
    copy = points.copy()
    del contours
    assert np.array_equal(points, copy)


@pytest.mark.parametrize("algorithm", ["suzuki", "fragments", "tiles", "components"])
@pytest.mark.parametrize("geometry", ["centers", "edges"])
def test_algorithms_agree(rng, algorithm, geometry):
    for _ in range(10):
        image = random_image(rng)
        ours = trazar.trace(image, geometry=geometry, algorithm=algorithm, device="cpu")
        other = trazar.trace(image, geometry=geometry)
        for name in ("points", "offsets", "kinds", "hierarchy"):
            assert np.array_equal(getattr(ours, name), getattr(other, name)), name


def test_measures_are_opencvs(rng):
    for _ in range(50):
        image = random_image(rng)
        contours = trazar.trace(image)
        areas, perimeters = contours.areas(), contours.perimeters()
        boxes, centroids = contours.bounding_boxes(), contours.centroids()
        assert areas.shape == perimeters.shape == (len(contours),)
        assert boxes.shape == (len(contours), 4) and centroids.shape == (len(contours), 2)
        for i, points in enumerate(contours):
            assert areas[i] == cv2.contourArea(points)
            assert perimeters[i] == pytest.approx(cv2.arcLength(points, True))
            x, y, width, height = cv2.boundingRect(points)
            assert boxes[i].tolist() == [x, y, x + width - 1, y + height - 1]
            moments = cv2.moments(points)
            if moments["m00"]:
                expected = moments["m10"] / moments["m00"], moments["m01"] / moments["m00"]
                assert centroids[i] == pytest.approx(expected)


def test_polygons_along_edges_are_valid_and_have_the_pixels_area(rng):
    for _ in range(100):
        image = random_image(rng)
        polygons = trazar.trace(image, geometry="edges").polygons()
        assert shapely.is_valid(polygons).all()
        assert shapely.area(polygons).sum() == np.count_nonzero(image)
        # And they are disjoint.
        assert shapely.union_all(polygons).area == np.count_nonzero(image)


def test_polygons_through_centers_have_their_contours(rng):
    for _ in range(50):
        image = random_image(rng)
        contours = trazar.trace(image, retrieval="ccomp")
        polygons = contours.polygons()
        assert len(polygons) == np.count_nonzero(contours.kinds == 0)
        rings = sum(1 + len(polygon.interiors) for polygon in polygons)
        assert rings == len(contours)
        outer = [contours[i] for i in range(len(contours)) if contours.kinds[i] == 0]
        for polygon, points in zip(polygons, outer):
            ring = np.array(polygon.exterior.coords)
            assert np.array_equal(ring[: len(points)], points)


def test_items():
    contours = trazar.trace([[1, 0, 1]])
    assert contours[0].tolist() == contours[-2].tolist()
    with pytest.raises(IndexError):
        contours[2]
    with pytest.raises(IndexError):
        contours[-3]
    assert [len(points) for points in contours] == [1, 1]
    assert contours.to_host() is contours
    with pytest.raises(TypeError, match="an index or a slice"):
        contours["first"]


def test_slices_are_those_of_a_list(rng):
    contours = trazar.trace(rng.random((12, 30)) < 0.4)
    every = list(contours)
    for taken in (slice(0, 2), slice(None), slice(-3, None), slice(None, None, -2), slice(5, 5)):
        for ours, expected in zip(contours[taken], every[taken], strict=True):
            assert np.array_equal(ours, expected)
    assert np.array_equal(contours[np.int64(1)], every[1])


def test_equality_is_that_of_all_arrays():
    image = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
    contours = trazar.trace(image)
    assert contours == trazar.trace(image) and contours == pickle.loads(pickle.dumps(contours))
    assert contours == trazar.trace(image, algorithm="suzuki", device="cpu")
    others = (
        trazar.trace(image, geometry="edges"),
        trazar.trace(image, retrieval="list"),
        trazar.trace(image, retrieval="external"),
        trazar.trace(image, approximation="none"),
        trazar.trace(np.pad(image, ((0, 0), (0, 1)))),
        trazar.trace(np.pad(image, ((0, 0), (1, 0)))[:, :3]),
        "Contours",
    )
    for other in others:
        assert contours != other
    with pytest.raises(TypeError):
        hash(contours)


def test_what_is_shown(rng):
    assert repr(trazar.trace([[1]])) == "Contours(1 contour, 1 point, 1 × 1 pixels, cpu)"
    assert repr(trazar.trace([[1, 0, 1]])) == "Contours(2 contours, 2 points, 3 × 1 pixels, cpu)"
    assert repr(trazar.trace([[0]])) == "Contours(0 contours, 0 points, 1 × 1 pixels, cpu)"
    contours = trazar.trace(random_image(rng))
    assert contours._repr_svg_() == contours.to_svg()
    # A picture of that size would stop a notebook.
    noise = trazar.trace(rng.random((600, 600)) < 0.5, approximation="none")
    assert len(noise.points) > 100_000 and noise._repr_svg_() is None


@pytest.mark.parametrize("geometry", ["centers", "edges"])
def test_geojson_has_the_coordinates_of_points_and_polygons(geometry):
    """y down, as everywhere: an image without symmetry, and one of its corners' places."""
    image = np.zeros((20, 30), np.uint8)
    image[2:9, 3:12] = 1
    image[3:5, 5:7] = 0
    image[12:19, 20:29] = 1
    image[12, 20] = 0
    contours = trazar.trace(image, geometry=geometry, approximation="none")
    features = json.loads(contours.to_geojson())["features"]
    written = [shapely.geometry.shape(feature["geometry"]) for feature in features]
    polygons = list(contours.polygons())
    assert len(written) == len(polygons) == 2
    for ours, expected in zip(written, polygons):
        # Rings may begin elsewhere and run the other way; what they enclose is the same.
        assert ours.equals(expected) and ours.bounds == expected.bounds
        # Counter-clockwise by the numbers, as RFC 7946 asks.
        assert ours.exterior.is_ccw and not any(ring.is_ccw for ring in ours.interiors)
    # The pixels of the component that is drawn higher have the smaller y.
    upper = min(written, key=lambda polygon: polygon.bounds[1])
    assert upper.bounds == ((3, 2, 11, 8) if geometry == "centers" else (3, 2, 12, 9))


def test_polygons_of_centers_may_be_invalid_and_those_of_edges_are_not(rng):
    image = rng.random((60, 60)) < 0.5
    assert not shapely.is_valid(trazar.trace(image).polygons()).all()
    assert shapely.is_valid(trazar.trace(image, geometry="edges").polygons()).all()


def test_offsets_are_taken_as_opencv_takes_them():
    image = np.ones((2, 3), np.uint8)
    for offset in ((5, -7), [5, -7], np.array([5, -7]), np.array([5, -7], np.int16)):
        [ours], _ = trazar.find_contours(image, offset=offset)
        [expected], _ = cv2.findContours(image, 3, 2, offset=offset)
        assert np.array_equal(ours, expected)
    largest = 2**31 - 1
    [points], _ = trazar.find_contours(image, offset=(largest - 2, -(2**31)))
    assert points.max() == largest and points.min() == -(2**31)
    for offset in (
        (2**40, 0),
        (largest - 1, 0),
        (0, largest),
        (0.5, 0),
        (1,),
        (1, 2, 3),
        "ab",
        None,
    ):
        with pytest.raises(trazar.InputError, match=r"offset=.*(2147483647)"):
            trazar.find_contours(image, offset=offset)


def test_files(tmp_path, rng):
    image = random_image(rng)
    contours = trazar.trace(image, geometry="edges")
    for name in ("svg", "geojson", "json", "gds"):
        content, write = getattr(contours, f"to_{name}")(), getattr(contours, f"write_{name}")
        path = tmp_path / f"out.{name}"
        assert write(path) is None
        written = path.read_bytes()
        assert written == (content if isinstance(content, bytes) else content.encode())
        assert write(str(path)) is None and path.read_bytes() == written
        with pytest.raises(FileNotFoundError):
            write(tmp_path / "missing" / "out")
    features = json.loads(contours.to_geojson())["features"]
    area = sum(shapely.geometry.shape(feature["geometry"]).area for feature in features)
    assert area == np.count_nonzero(image)
    options = {"pixel_size": 5, "layer": 7, "max_vertices": 8, "cell": "A", "library": "B"}
    contours.write_gds(tmp_path / "out.gds", **options)
    assert (tmp_path / "out.gds").read_bytes() == contours.to_gds(**options) != contours.to_gds()
    to_file = functools.partial(contours.write_gds, tmp_path / "no.gds")
    for write in (contours.to_gds, to_file):
        with pytest.raises(trazar.InputError):
            write(cell="a name with blanks")
        with pytest.raises(TypeError, match="unexpected keyword argument 'pixels'"):
            write(pixels=5)
    assert not (tmp_path / "no.gds").exists()
    with pytest.raises(trazar.InputError):
        trazar.trace(image).to_gds()


@pytest.mark.parametrize(
    "call",
    [
        lambda image: trazar.find_contours(image, cv2.RETR_FLOODFILL),
        lambda image: trazar.find_contours(image, 3, 0),
        lambda image: trazar.trace(image, retrieval="flood"),
        lambda image: trazar.trace(image, geometry="edges", approximation="tc89-l1"),
        lambda image: trazar.trace(image, algorithm="quick"),
        lambda image: trazar.find_contours(image, device="tpu"),
        lambda image: trazar.find_contours(image[:0]),
        lambda image: trazar.trace(image, device="emulator", algorithm="suzuki"),
    ],
)
def test_refused(call):
    with pytest.raises(trazar.InputError) as refused:
        call(np.ones((3, 3), np.uint8))
    assert isinstance(refused.value, ValueError) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"device": 0}, "device=0: it is one of auto, cpu, cuda, emulator"),
        ({"device": "tpu"}, 'device="tpu": it is one of auto'),
        ({"retrieval": 3}, "retrieval=3: it is one of external, list, ccomp, tree"),
        ({"approximation": None}, "approximation=None: it is one of none, simple"),
        ({"geometry": ["edges"]}, r"geometry=\['edges'\]: it is one of centers, edges"),
        ({"algorithm": 1.5}, "algorithm=1.5: it is one of suzuki"),
        ({"retrieval": "t" * 10}, "retrieval=.*: it is one of"),
        ({"threshold": "a"}, "threshold='a': it is a number"),
    ],
)
def test_messages_name_the_argument_and_what_it_takes(options, text):
    with pytest.raises(trazar.InputError, match=text):
        trazar.trace(np.ones((3, 3)), **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"mode": "tree"}, "mode='tree': it is RETR_EXTERNAL"),
        ({"mode": 1.5}, "mode=1.5: it is RETR_EXTERNAL"),
        ({"method": None}, "method=None: it is CHAIN_APPROX_NONE"),
        ({"device": b"cpu"}, "device=b'cpu': it is one of auto"),
    ],
)
def test_messages_of_find_contours(options, text):
    with pytest.raises(trazar.InputError, match=text):
        trazar.find_contours(np.ones((3, 3)), **options)
