"""Dask's workers on a GPU: ``python gpu_dask.py``, or ``pytest gpu_dask.py``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from gpu_common import run_all, skip_without_gpu

import trazar

skip_without_gpu("dask.array")

import dask
import dask.array as da

import trazar.dask

ALL = np.ones((3, 3))


def image_and_array() -> tuple[np.ndarray, da.Array]:
    image = np.random.default_rng(5).random((700, 900)) < 0.55
    return image, da.from_array(image, chunks=(200, 300))


def assert_same(array: da.Array, image: np.ndarray, rows: int | None, **options) -> da.Array:
    """Compare labels, measures and contours; return the labels."""
    labels, columns = trazar.dask.label_stats(array, ALL, rows=rows, **options)
    assert type(labels._meta) is type(array._meta)
    labels, columns = dask.compute(labels, columns)
    expected, expected_columns = trazar.label_stats(image, ALL, device="cpu")
    on_host = labels if isinstance(labels, np.ndarray) else labels.get()
    assert np.array_equal(on_host, expected)
    for name, column in expected_columns.items():
        assert np.array_equal(columns[name], column), name
    device = options.get("device", "auto")
    for geometry in ("centers", "edges"):
        lazy = trazar.dask.trace(array, geometry=geometry, rows=rows, device=device)
        found, whole = lazy.compute(), trazar.trace(image, geometry=geometry, device="cpu")
        assert np.array_equal(found.points, whole.points)
        assert np.array_equal(found.hierarchy, whole.hierarchy)
    return labels


def test_arrays_of_the_host():
    image, array = image_and_array()
    with dask.config.set(scheduler="threads"):
        assert_same(array, image, None, device="cuda")
        wide = assert_same(array, image, 96, device="cuda", keep=False, dtype=np.int64)
    assert isinstance(wide, np.ndarray) and wide.dtype == np.int64


def test_arrays_of_cupy():
    try:
        import cupy
    except ImportError:
        print("skipped: no CuPy")
        return
    image, array = image_and_array()
    array = array.map_blocks(cupy.asarray)
    with dask.config.set(scheduler="threads"):
        labels = assert_same(array, image, None)
        assert isinstance(labels, cupy.ndarray) and labels.dtype == np.int32
        wide = assert_same(array, image, 96, keep=False, dtype=np.int64)
        assert isinstance(wide, cupy.ndarray) and wide.dtype == np.int64
        assert_same(array.astype(np.float32), image, 64)
    try:
        trazar.dask.label(array, device="cpu")
    except trazar.InputError as error:
        assert "worked on there" in str(error)
    else:
        raise AssertionError("an array on a GPU was taken by the processor")


def test_worker_processes():
    from distributed import Client, LocalCluster

    image, array = image_and_array()
    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with LocalCluster(**workers, dashboard_address=None) as cluster, Client(cluster):
        assert_same(array, image, 64, device="cuda")


if __name__ == "__main__":
    run_all(globals())
