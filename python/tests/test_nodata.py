"""Pixels without data against images in which they are set to background before."""

from __future__ import annotations

import numpy as np
import pytest
import trazar
from conftest import IMAGES

TYPES = [np.uint8, np.uint16, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64]


def test_nodata_is_background(rng) -> None:
    for _ in range(IMAGES // 5):
        dtype = TYPES[rng.integers(len(TYPES))]
        shape = tuple(rng.integers(1, 20, 2))
        image = rng.integers(0, 9, shape).astype(dtype)
        threshold = [None, 3, 5.5, -1][rng.integers(4)]
        nodata = [0, 2, 7, 8, 300, -9999, np.nan][rng.integers(7)]
        cleared = np.zeros(shape, bool)
        for y, x in np.ndindex(shape):
            value = float(image[y, x])
            is_foreground = value != 0 if threshold is None else value > threshold
            cleared[y, x] = is_foreground and value != nodata
        if np.isnan(nodata) and np.issubdtype(dtype, np.floating):
            missing = rng.random(shape) < 0.3
            image[missing] = np.nan
            cleared &= ~missing
        options = {"threshold": threshold, "nodata": nodata}
        labels, count = trazar.label(image, **options)
        expected, expected_count = trazar.label(cleared)
        assert count == expected_count
        assert labels.tolist() == expected.tolist()
        assert trazar.trace(image, **options) == trazar.trace(cleared)
        [contours, _] = trazar.find_contours(image, **options)
        [others, _] = trazar.find_contours(cleared)
        assert [c.tolist() for c in contours] == [c.tolist() for c in others]
        stack = np.stack([image, image[::-1]])
        batch = trazar.trace_batch(stack, **options)
        assert batch[1] == trazar.trace(cleared[::-1])
        assert trazar.label_batch(stack, **options)[1][0] == count
        assert len(trazar.label_stats(image, **options)[1]["area"]) == count
        assert (trazar.label_stats_batch(stack, **options)[1]["image"] == 0).sum() == count
        assert len(trazar.find_contours_batch(stack, **options)[0][0]) == len(others)


def test_what_is_refused() -> None:
    image = np.array([[np.nan, 1.0, 5.0]])
    with pytest.raises(trazar.InputError, match=r"\[0, 0\] is not a number"):
        trazar.label(image, threshold=0, nodata=5)
    with pytest.raises(trazar.InputError, match="nodata="):
        trazar.label(image, nodata=[1, 2])
    with pytest.raises(trazar.InputError, match="nodata="):
        trazar.label(image, nodata="none")
    with pytest.raises(trazar.InputError, match="masked array"):
        trazar.label(np.ma.masked_invalid(image), nodata=1)
    with pytest.raises(trazar.InputError, match="threshold"):
        trazar.label(image, threshold=[1, 2], nodata=1)
    with pytest.raises(trazar.InputError, match="is a value of numbers"):
        trazar.label(np.array([["a"]]), nodata=1)
