"""Measures of Dask arrays against those of the whole array, and against scikit-image."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import IMAGES
from test_dask_regions import in_chunks, random_classes

import trazar

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
import trazar.dask  # noqa: E402

PIXELS = [
    "label",
    "num_pixels",
    "area",
    "bbox",
    "area_bbox",
    "centroid",
    "centroid_local",
    "moments",
    "moments_central",
    "inertia_tensor",
    "axis_major_length",
    "orientation",
    "extent",
    "perimeter",
    "perimeter_crofton",
    "euler_number",
    "euler_number_4",
    "area_convex",
    "solidity",
    "feret_diameter_max",
    "area_filled",
]
INTENSITIES = [
    "intensity_min",
    "intensity_max",
    "intensity_mean",
    "intensity_std",
    "centroid_weighted",
    "moments_weighted",
]


def assert_same(found: dict, expected: dict) -> None:
    assert list(found) == list(expected)
    for name, column in expected.items():
        assert found[name].dtype == column.dtype, name
        if column.dtype == np.int64:
            assert np.array_equal(found[name], column), name
        else:
            finite = column[np.isfinite(column)]
            scale = max(1.0, float(np.abs(finite).max(initial=0.0)))
            np.testing.assert_allclose(
                found[name], column, rtol=1e-9, atol=1e-9 * scale, err_msg=name
            )


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_measures_are_those_of_the_whole(rng, scheduler):
    for number in range(max(1, IMAGES // 6)):
        labels = random_classes(rng).astype(rng.choice(["u1", "u2", "i4", "i8"]))
        rows = [None, "auto", 1, int(rng.integers(1, 20))][rng.integers(4)]
        intensities, properties = None, PIXELS
        if number % 2:
            intensities = (rng.random(labels.shape) * 200).astype(rng.choice(["u1", "i4", "f8"]))
            properties = [*PIXELS, *INTENSITIES]
        chunked = intensities
        if intensities is not None and rng.integers(2):
            chunked = in_chunks(rng, intensities)
        lazy = trazar.dask.measure(in_chunks(rng, labels), chunked, properties, rows=rows)
        found = lazy.compute(scheduler=scheduler)
        assert_same(found, trazar.measure(labels, intensities, properties))


def test_measures_are_those_of_scikit_image(rng):
    measure = pytest.importorskip("skimage.measure")
    for _ in range(max(1, IMAGES // 12)):
        labels = random_classes(rng).astype(np.int32)
        intensities = rng.integers(0, 255, labels.shape, dtype=np.uint8)
        names = ["label", "area", "bbox", "centroid", "perimeter", "intensity_mean"]
        found = trazar.dask.measure(in_chunks(rng, labels), intensities, names, rows=3).compute()
        expected = measure.regionprops_table(labels, intensities, names)
        assert set(found) == set(expected)
        for name, column in expected.items():
            np.testing.assert_allclose(found[name], column, rtol=1e-9, err_msg=name)


def test_a_part_is_pickled_and_processes_give_the_same(rng):
    labels = random_classes(rng).astype(np.int32)
    lazy = trazar.dask.measure(in_chunks(rng, labels), labels, [*PIXELS, *INTENSITIES], rows=5)
    expected = trazar.measure(labels, labels, [*PIXELS, *INTENSITIES])
    assert_same(lazy.compute(scheduler="processes", num_workers=2), expected)
    part = trazar._trazar.measure_part(labels, None, (0, len(labels)), 0, PIXELS, (1.0, 1.0))
    again = pickle.loads(pickle.dumps(part))
    assert again.rows == (0, len(labels)) and len(again) == len(part)
    for (name, column), (_, other) in zip(again.finish(), part.finish()):
        assert np.array_equal(column, other, equal_nan=True), name


def test_tables_with_other_columns_are_computed_together(rng):
    labels = random_classes(rng).astype(np.int32)
    lazy = da.from_array(labels, chunks=(5, -1))
    choices = [
        {"properties": ("centroid",)},
        {"properties": ("centroid",), "separator": "_"},
        {"properties": ("bbox_area",)},
        {"properties": ("area_bbox",)},
    ]
    tables = dask.compute(*(trazar.dask.measure(lazy, **choice) for choice in choices))
    for table, choice in zip(tables, choices):
        assert list(table) == list(trazar.measure(labels, **choice))


def test_what_is_refused():
    ones = da.ones((4, 5), dtype="u1", chunks=2)
    with pytest.raises(trazar.InputError, match="intensity_image of shape"):
        trazar.dask.measure(ones, np.ones((4, 4)))
    with pytest.raises(trazar.InputError, match="integers"):
        trazar.dask.measure(ones.astype("f8"))
    with pytest.raises(trazar.InputError, match="needs an intensity image"):
        trazar.dask.measure(ones, properties=("intensity_mean",))
    with pytest.raises(trazar.InputError, match="sequence of names"):
        trazar.dask.measure(ones, properties="area")
    assert trazar.dask.measure(ones[:0], properties=("area",)).compute()["area"].tolist() == []
