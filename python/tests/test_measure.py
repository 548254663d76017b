"""Measures against scikit-image's."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.measure
from conftest import IMAGES

import trazar

PIXELS = (
    "label num_pixels area bbox area_bbox extent equivalent_diameter_area centroid centroid_local "
    "moments moments_central moments_normalized moments_hu inertia_tensor inertia_tensor_eigvals "
    "axis_major_length axis_minor_length eccentricity orientation perimeter perimeter_crofton "
    "euler_number area_convex solidity feret_diameter_max area_filled"
).split()
INTENSITIES = (
    "intensity_min intensity_max intensity_mean intensity_std centroid_weighted "
    "centroid_weighted_local moments_weighted moments_weighted_central "
    "moments_weighted_normalized moments_weighted_hu"
).split()
TYPES = ["u1", "u2", "f4", "f8", "i4", "i8", "u4", "i2", "?", "i1"]
LABELS = ["i2", "i4", "i8", "u1", "u2", "u4", "u8", "i1"]


def label_image(rng: np.random.Generator, kind: int) -> np.ndarray:
    """Noise, one label, touching cells, rings, blocks or lines; labels with gaps."""
    height, width = rng.integers(1, 60, 2)
    y, x = np.mgrid[:height, :width]
    if kind == 0:
        return rng.integers(-1, rng.integers(1, 6), (height, width))
    if kind == 1:
        return (rng.random((height, width)) < rng.random()) * rng.integers(1, 100)
    labels = np.zeros((height, width), int)
    if kind == 2:
        seeds = rng.random((rng.integers(1, 12), 2)) * (height, width)
        far = (y[..., None] - seeds[:, 0]) ** 2 + (x[..., None] - seeds[:, 1]) ** 2
        labels = far.argmin(-1) * rng.integers(1, 7) + rng.integers(0, 2)
        labels[rng.random((height, width)) < 0.05] = 0
    elif kind == 3:
        for ring in range(rng.integers(1, 10)):
            far = np.hypot(y - rng.random() * height, x - rng.random() * width)
            radius = rng.random() * 15
            labels[(far < radius) & (far > radius * rng.random())] = 3 * ring + 1
    elif kind == 4:
        side = rng.integers(1, 5)
        blocks = rng.integers(0, 4, (height // side + 1, width // side + 1))
        labels = np.kron(blocks, np.ones((side, side), int))[:height, :width]
    else:
        for line in range(6):
            ends = (rng.random((2, 2)) * (height, width)).astype(int)
            steps = np.abs(ends[0] - ends[1]).max() + 1
            labels[tuple(np.linspace(*ends, steps).round().astype(int).T)] = line + 1
    return labels


def assert_same(ours: dict, theirs: dict) -> None:
    """Integers are equal; others are within 1e-9, of what they are differences of."""
    assert list(ours) == list(theirs)
    for name, values in theirs.items():
        found = ours[name]
        assert found.dtype == values.dtype, name
        if values.dtype.kind == "i":
            assert np.array_equal(found, values), name
            continue
        kind = name.split("-")[0]
        size = np.hypot(theirs["area_bbox"], theirs["feret_diameter_max"]) + 1
        near = 0
        if "hu" in kind or "normalized" in kind or "central" in kind:
            # Numbers around the centroid, which may cancel out.
            order = sum(map(int, name.split("-")[1:3])) if "hu" not in kind else 12
            largest = theirs.get("intensity_max", 1) * theirs["num_pixels"]
            near = np.maximum(largest, 1) * size**order
            if "central" not in kind:
                near = size**order
        elif kind.startswith("inertia_tensor"):
            near = theirs["axis_major_length"] ** 2
        elif kind in ("axis_minor_length", "eccentricity"):
            found, values = found**2, values**2
            near = 1 if kind == "eccentricity" else theirs["axis_major_length"] ** 2
        elif kind == "orientation":
            # Of what is as wide as high, there is none; others turn by pi.
            apart = np.abs(found - values)
            apart = np.minimum(apart, np.abs(apart - np.pi))
            found, values = np.where(theirs["eccentricity"] < 1e-3, 0, apart), 0 * values
            near = 1 / np.maximum(theirs["eccentricity"], 1e-3) ** 2
        elif kind == "intensity_std":
            near = np.abs(theirs["intensity_max"]) + np.abs(theirs["intensity_min"])
        elif kind.startswith("centroid_weighted"):
            near = size
        same = np.abs(found - values) <= 1e-9 * (np.abs(values) + near)
        same |= np.isnan(found) & np.isnan(values)
        assert same.all(), (name, found[~same][:3], values[~same][:3])


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.filterwarnings("ignore")
def test_random_images_have_the_measures_of_scikit_image(rng, kind):
    for number in range(IMAGES // 6):
        labels = label_image(rng, kind)
        dtype = LABELS[number % (3 if labels.min() < 0 else len(LABELS))]
        labels = labels.astype(dtype)
        names, intensities = PIXELS, None
        if number % 3:
            names = PIXELS + INTENSITIES
            dtype = TYPES[number // 3 % len(TYPES)]
            intensities = (rng.random(labels.shape) * 99 + 1).astype(dtype)
        if number % 2:
            labels = np.asfortranarray(labels)
        if number % 5 == 0:
            labels = labels[::-1, ::-1]
        if number % 7 == 0 and intensities is not None:
            intensities = np.repeat(intensities, 2, axis=1)[:, ::2]
        if number % 9 == 0 and labels.dtype.itemsize > 1:
            labels = labels.astype(labels.dtype.newbyteorder(">"))
        spacing = [None, 2.5, (0.5, 2)][number % 3]
        if spacing is not None:
            names = [name for name in names if "hu" not in name]
        if isinstance(spacing, tuple):
            names = [name for name in names if "perimeter" not in name]
        # scikit-image sums float32 up in single precision.
        double = None if intensities is None else intensities.astype(float)
        native = labels.astype(labels.dtype.newbyteorder("="))
        theirs = skimage.measure.regionprops_table(native, double, names, spacing=spacing)
        ours = trazar.measure(labels, intensities, names, spacing=spacing)
        try:
            assert_same(ours, theirs)
        except AssertionError:
            print(kind, number, labels.dtype, labels.tolist())
            raise


@pytest.mark.parametrize("labels", [[[1]], [[5, 5, 5]], [[2], [2]], np.full((40, 30), 3)])
def test_small_images(labels):
    labels = np.array(labels)
    theirs = skimage.measure.regionprops_table(labels, None, PIXELS)
    assert_same(trazar.measure(labels, None, PIXELS), theirs)


def test_labels_may_have_any_size_and_gaps():
    labels = np.array([[2**32 - 1, 7, 0], [7, 2**31, 2**32 - 1]], np.uint32)
    found = trazar.measure(labels, properties=("label", "area"))
    assert found["label"].tolist() == [7, 2**31, 2**32 - 1]
    assert found["area"].tolist() == [2, 1, 2]
    most = np.iinfo(np.int64).max
    for dtype in (np.int64, np.uint64):
        found = trazar.measure(np.array([[most, 1]], dtype), properties=("label",))
        assert found["label"].tolist() == [1, most]
    with pytest.raises(trazar.InputError, match=r"18446744073709551615"):
        trazar.measure(np.array([[2**64 - 1]], np.uint64))


def test_nothing_to_measure():
    for labels in (np.zeros((3, 4), int), np.zeros((0, 4), np.uint8), np.full((2, 2), -1)):
        intensities = np.zeros(labels.shape)
        found = trazar.measure(labels, intensities, ("label", "bbox", "area", "intensity_mean"))
        assert list(found) == [
            "label", "bbox-0", "bbox-1", "bbox-2", "bbox-3", "area", "intensity_mean",
        ]  # fmt: skip
        assert all(len(values) == 0 for values in found.values())
        assert found["bbox-0"].dtype == np.int64 and found["area"].dtype == np.float64


def test_channels_names_and_separators(rng):
    labels = rng.integers(0, 4, (9, 8))
    intensities = rng.random((9, 8, 3))
    names = ("label", "intensity_mean", "moments_weighted", "centroid_weighted", "area", "label")
    theirs = skimage.measure.regionprops_table(labels, intensities, names, separator="_")
    ours = trazar.measure(labels, intensities, names, separator="_")
    assert list(ours) == list(theirs)
    for name, values in theirs.items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-9)
    old = trazar.measure(labels, intensities[:, :, 0], ("major_axis_length", "mean_intensity"))
    assert list(old) == ["major_axis_length", "mean_intensity"]


def test_nan_and_infinity_are_intensities():
    labels = np.array([[1, 1, 2, 2, 3, 3]])
    intensities = np.array([[np.nan, 1, np.inf, 1, -np.inf, np.inf]])
    properties = ("intensity_min", "intensity_max", "intensity_mean")
    found = trazar.measure(labels, intensities, properties)
    np.testing.assert_array_equal(found["intensity_min"], [np.nan, 1, -np.inf])
    np.testing.assert_array_equal(found["intensity_max"], [np.nan, np.inf, np.inf])
    np.testing.assert_array_equal(found["intensity_mean"], [np.nan, np.inf, np.nan])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros((2, 2)),), "labels are integers"),
        ((np.zeros((2, 2), bool),), "booleans"),
        ((np.zeros(3, int),), "2 dimensions"),
        ((np.zeros((2, 2, 2), int),), "2 dimensions"),
        ((np.ones((2, 2), int), np.zeros((2, 3))), "shape"),
        ((np.ones((2, 2), int), np.zeros((2, 2, 0))), "channels"),
        ((np.ones((2, 2), int), np.zeros((2, 2), complex)), "real numbers"),
        ((np.ones((2, 2), int), None, ("size",)), "`size`"),
        ((np.ones((2, 2), int), None, ("intensity_mean",)), "intensity image"),
        ((np.ones((2, 2), int), None, "label"), "sequence"),
        ((np.ma.masked_array(np.ones((2, 2), int)),), "masked"),
    ],
)
def test_wrong_arguments_get_one_line(arguments, words):
    with pytest.raises(trazar.InputError, match=words) as raised:
        trazar.measure(*arguments)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("spacing", [0, -1, np.nan, (1, 2, 3), "wide", (1, np.inf)])
def test_wrong_spacings_get_one_line(spacing):
    with pytest.raises(trazar.InputError, match="spacing") as raised:
        trazar.measure(np.ones((2, 2), int), spacing=spacing)
    assert "\n" not in str(raised.value)


def test_columns_of_labels_in_host_memory_are_not_on_a_device():
    with pytest.raises(trazar.InputError, match="on_device=True") as raised:
        trazar.measure(np.ones((2, 2), int), on_device=True)
    assert "\n" not in str(raised.value)


def test_kernels_measure_the_same(rng) -> None:
    labels = rng.integers(-1, 9, (50, 90)).repeat(3, axis=0).repeat(2, axis=1)
    intensities = rng.integers(0, 256, labels.shape).astype(np.uint8)
    properties = (
        "label",
        "bbox",
        "centroid",
        "eccentricity",
        "orientation",
        "moments",
        "perimeter",
        "perimeter_crofton",
        "euler_number",
        "solidity",
        "area_filled",
        "intensity_mean",
        "intensity_std",
        "intensity_max",
        "centroid_weighted",
        "moments_weighted_hu",
        "moments_central",
    )
    for light in (
        intensities,
        np.dstack([intensities, 255 - intensities]),
        intensities / 7 - 9,
        (intensities / 7 - 9).astype(np.float32),
        intensities.astype(np.int64) * -(1 << 50),
    ):
        expected = trazar.measure(labels, light, properties)
        found = trazar.measure(labels, light, properties, device="emulator")
        assert list(found) == list(expected)
        for name, column in found.items():
            assert np.array_equal(column, expected[name], equal_nan=True), name
    # What one pass over the pixels gives.
    for names in ("label num_pixels area bbox centroid", "extent equivalent_diameter_area"):
        expected = trazar.measure(labels, None, names.split())
        found = trazar.measure(labels, None, names.split(), device="emulator")
        assert list(found) == list(expected)
        for name, column in found.items():
            assert np.array_equal(column, expected[name]), name
