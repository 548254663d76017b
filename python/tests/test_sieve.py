"""Sieved rasters against rasterio's (GDAL's)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import rasterio.features
from conftest import IMAGES

import trazar


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i4"])
def test_random_rasters_are_those_of_rasterio(rng, connectivity, dtype):
    for number in range(IMAGES // 4):
        height, width = rng.integers(3, 40, 2)
        classes = int(rng.integers(2, 6))
        side = number % 3 + 1
        blocks = rng.integers(0, classes, (height // side + 1, width // side + 1))
        source = np.kron(blocks, np.ones((side, side), int))[:height, :width].astype(dtype)
        noise = rng.random(source.shape) < rng.random() * 0.3
        source[noise] = rng.integers(0, classes, source.shape)[noise]
        size = int(rng.integers(2, min(40, source.size)))
        mask = rng.random(source.shape) < 0.8 if number % 2 else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = rasterio.features.sieve(source, size, mask=mask, connectivity=connectivity)
        ours = trazar.sieve(source, size, mask=mask, connectivity=connectivity)
        assert ours.dtype == source.dtype
        assert np.array_equal(ours, theirs), (size, mask, source.tolist())
        out = np.zeros_like(source)
        turned = np.asfortranarray(source)
        assert trazar.sieve(turned, size, out, mask, connectivity) is out
        assert np.array_equal(out, theirs)


def test_other_types_and_sizes():
    source = np.array([[1, 1, 1], [1, 9, 1], [1, 1, 1]])
    for dtype in ("i1", "u1", "i8", "u4", "f4", "?"):
        sieved = trazar.sieve(source.astype(dtype), 2)
        assert sieved.dtype == dtype and (sieved == 1).all()
    assert np.array_equal(trazar.sieve(source, 0), source)
    # Nothing is large enough.
    assert np.array_equal(trazar.sieve(source, 100), source)
    assert trazar.sieve(np.zeros((0, 3), np.uint8), 2).shape == (0, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"source": np.zeros(3, int)}, "2 dimensions"),
        ({"source": np.zeros((2, 2))}, "float64"),
        ({"size": -1}, "size"),
        ({"size": "many"}, "size"),
        ({"connectivity": 6}, "connectivity"),
        ({"mask": np.ones((3, 2), bool)}, "mask"),
        ({"out": np.ones((3, 2), int)}, "out"),
    ],
)
def test_wrong_arguments_get_one_line(arguments, words):
    given = {"source": np.zeros((2, 2), int), "size": 2, **arguments}
    with pytest.raises(trazar.InputError, match=words) as raised:
        trazar.sieve(**given)
    assert "\n" not in str(raised.value)
