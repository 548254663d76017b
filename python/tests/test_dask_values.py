"""Labels of regions of Dask arrays against those of the whole array, and against scikit-image."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import IMAGES
from test_dask_regions import in_chunks, random_classes

import trazar

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
import trazar.dask  # noqa: E402


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
@pytest.mark.parametrize("connectivity", [4, 8])
def test_labels_are_those_of_the_whole(rng, scheduler, connectivity):
    for number in range(max(1, IMAGES // 6)):
        image = random_classes(rng)
        if image.dtype == np.float32:
            image[rng.random(image.shape) < 0.1] = np.nan
        options = {"connectivity": connectivity, "background": [None, 0, [0, 2]][number % 3]}
        mask = rng.random(image.shape) < 0.8 if rng.integers(2) else None
        rows = [None, "auto", int(rng.integers(1, 20))][rng.integers(3)]
        chunked = mask if mask is None or rng.integers(2) else in_chunks(rng, mask)
        dtype = [None, np.int32, np.int64][rng.integers(3)]
        with dask.config.set(scheduler=scheduler):
            lazy, counted = trazar.dask.label_values(
                in_chunks(rng, image),
                mask=chunked,
                rows=rows,
                dtype=dtype,
                keep=bool(rng.integers(2)),
                **options,
            )
            assert (lazy.shape, lazy.dtype) == (image.shape, dtype or np.int32)
            labels, count = dask.compute(lazy, counted)
        expected, expected_count = trazar.label_values(image, mask=mask, **options)
        assert labels.dtype == lazy.dtype and count == expected_count
        assert np.array_equal(labels, expected)


def test_labels_are_those_of_scikit_image(rng):
    measure = pytest.importorskip("skimage.measure")
    for _ in range(max(1, IMAGES // 6)):
        image = random_classes(rng).astype(np.int32)
        for connectivity in (4, 8):
            labels, _ = trazar.dask.label_values(
                in_chunks(rng, image), 0, connectivity, rows=int(rng.integers(1, 9))
            )
            expected = measure.label(image, background=0, connectivity=connectivity // 4)
            assert np.array_equal(labels.compute(), expected)


def test_kernels_give_the_same(rng):
    image = rng.integers(0, 3, (20, 30), dtype="u2")
    labels, count = trazar.dask.label_values(
        da.from_array(image, chunks=7), None, rows=6, device="emulator"
    )
    expected, expected_count = trazar.label_values(image, None)
    assert np.array_equal(labels.compute(), expected) and count.compute() == expected_count


def test_values_that_change_are_noticed(rng):
    state = {"calls": 0}

    def block(values: np.ndarray) -> np.ndarray:
        state["calls"] += 1
        return np.arange(values.size, dtype="i4").reshape(values.shape) // state["calls"]

    ones = da.ones((4, 6), dtype="i4", chunks=(2, 6))
    changing = ones.map_blocks(block, dtype="i4", meta=np.empty((0, 0), "i4"))
    with dask.config.set(scheduler="sync"):
        labels, _ = trazar.dask.label_values(changing, None, keep=False)
        with pytest.raises(trazar.Error, match="changed"):
            labels.compute()


def test_what_is_refused():
    ones = da.ones((3, 4), dtype="u1")
    with pytest.raises(trazar.InputError, match="mask of shape"):
        trazar.dask.label_values(ones, mask=np.ones((4, 4)))
    with pytest.raises(trazar.InputError, match="float64"):
        trazar.dask.label_values(ones.astype("f8"))
    with pytest.raises(trazar.InputError, match="connectivity"):
        trazar.dask.label_values(ones, connectivity=6)
    with pytest.raises(trazar.InputError, match="dtype"):
        trazar.dask.label_values(ones, dtype="u1")
    with pytest.raises(trazar.InputError, match="no image"):
        trazar.dask.label_values(ones[0])
    labels, count = trazar.dask.label_values(ones[:0])
    assert labels.compute().shape == (0, 4) and count.compute() == 0
