"""Run lengths against pycocotools'."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import IMAGES, random_image
from pycocotools import mask as coco

import trazar
from trazar import rle


def masks_of(rng: np.random.Generator) -> np.ndarray:
    """Several masks of one size, of shape (H, W, N)."""
    first = random_image(rng, 130) != 0
    others = [rng.random(first.shape) < rng.random() for _ in range(rng.integers(3))]
    return np.stack([first, *others, first.T if first.shape[0] == first.shape[1] else first], 2)


def test_random_masks_have_the_bytes_of_pycocotools(rng):
    for _ in range(IMAGES):
        masks = masks_of(rng)
        theirs = np.asfortranarray(masks.astype(np.uint8))
        expected = coco.encode(theirs)
        by_mask = np.ascontiguousarray(masks.transpose(2, 0, 1))
        assert rle.encode(theirs) == expected
        assert rle.encode(by_mask, layout="NHW") == expected
        assert rle.encode(np.ascontiguousarray(masks), layout="HWN") == expected
        each = [masks[:, :, i] for i in range(masks.shape[2])]
        assert [rle.encode(mask) for mask in each] == expected
        assert [rle.encode(np.ascontiguousarray(mask) * 255) for mask in each] == expected
        assert [rle.encode(np.asfortranarray(mask)[::-1][::-1]) for mask in each] == expected

        assert np.array_equal(rle.decode(expected), theirs)
        assert rle.decode(expected).flags.f_contiguous
        assert np.array_equal(rle.decode(expected[0]), coco.decode(expected[0]))
        for ours, other in [(rle.area, coco.area), (rle.to_bbox, coco.toBbox)]:
            for argument in (expected, expected[0]):
                found, known = ours(argument), other(argument)
                assert found.dtype == known.dtype and np.array_equal(found, known)
        for intersect in (False, True):
            assert rle.merge(expected, intersect) == coco.merge(expected, intersect)
        crowd = rng.integers(0, 2, len(expected))
        overlaps = rle.iou(expected[::-1], expected, crowd)
        assert np.array_equal(overlaps, coco.iou(expected[::-1], expected, crowd))


def test_masks_of_labels(rng):
    for number in range(IMAGES // 5):
        side = int(rng.integers(1, 9))
        labels = np.kron(rng.integers(-1, 9, (9, 11)), np.ones((side, side), np.int64))
        labels *= (1, 1000, 2**40)[number % 3]
        values, masks = rle.encode_labels(labels if number % 2 else np.asfortranarray(labels))
        assert np.array_equal(values, np.unique(labels[labels > 0]))
        for value, mask in zip(values, masks, strict=True):
            assert mask == coco.encode(np.asfortranarray(labels == value).astype(np.uint8))


def test_boxes_overlap_as_in_pycocotools(rng):
    for _ in range(50):
        found, truth = rng.random((5, 4)) * 10, rng.random((7, 4)) * 10
        crowd = rng.integers(0, 2, 7)
        assert np.array_equal(rle.iou(found, truth, crowd), coco.iou(found, truth, crowd))
    assert rle.iou([[0, 0, 2, 2]], [[1, 1, 2, 2]], [0]) == coco.iou(
        [[0, 0, 2, 2]], [[1, 1, 2, 2]], [0]
    )


def test_sizes_that_differ_and_no_masks():
    a, b = {"size": [3, 4], "counts": b"41202"}, {"size": [2, 2], "counts": b"04"}
    assert rle.merge([a, b]) == coco.merge([a, b])
    assert rle.merge([]) == coco.merge([])
    assert np.array_equal(rle.iou([a], [b], [0]), coco.iou([a], [b], [0]))
    assert rle.iou([], [a], [0]) == coco.iou([], [a], [0]) == []
    assert rle.area([]).shape == (0,) and rle.to_bbox([]).shape == (0, 4)
    with pytest.raises(trazar.InputError, match=r"\[3, 4\] and \[2, 2\]"):
        rle.decode([a, b])
    for shape in [(0, 4), (4, 0)]:
        mask = np.zeros(shape, np.uint8, order="F")
        assert rle.encode(mask) == coco.encode(mask)
        assert rle.decode(rle.encode(mask)).shape == shape


def test_counts_may_be_text_or_a_list():
    mask = {"size": [3, 4], "counts": b"41202"}
    for counts in ("41202", [4, 1, 2, 1, 4], np.array([4, 1, 2, 1, 4])):
        given = {"size": [3, 4], "counts": counts}
        assert np.array_equal(rle.decode(given), coco.decode(mask))


def test_polygons_are_the_outer_borders(rng):
    mask = np.zeros((20, 30), bool)
    mask[2:9, 3:12] = True
    mask[4:6, 5:8] = False
    mask[15, 20] = True
    (polygon,) = rle.polygons(mask)
    corners = sorted(zip(polygon[::2], polygon[1::2], strict=True))
    assert corners == [(3, 2), (3, 8), (11, 2), (11, 8)]
    # pycocotools fills polygons with half a pixel more or less.
    filled = coco.decode(coco.frPyObjects([polygon], 20, 30))[:, :, 0]
    assert filled[3:8, 4:11].all() and not filled[:2].any()


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ({"size": [3, 4], "counts": b"4"}, "add up to 4"),
        ({"size": [3, 4], "counts": b"4 1"}, "byte 1"),
        ({"size": [3, 4], "counts": "4é"}, "byte 1"),
        ({"size": [3, 4], "counts": b"P"}, "within a number"),
        ({"size": [3, 4], "counts": b"ooooooooo0"}, "continues"),
        ({"size": [3, 4], "counts": [2**32]}, "counts"),
        ({"size": [3, 4], "counts": [-1, 13]}, "counts"),
        ({"size": [3, 4], "counts": None}, "counts"),
        ({"size": [3, 4], "counts": 3}, "counts"),
        ({"size": [2**31, 2**31], "counts": b"0"}, "fewer than"),
        ({"size": [-1, 4], "counts": b"0"}, "sides"),
        ({"size": [3], "counts": b"0"}, "size"),
        ({"size": [3, 4]}, "counts"),
        (None, "masks are|a mask is"),
        ([None], "dict"),
    ],
)
def test_masks_that_lie_get_one_line(mask, words):
    for use in (rle.decode, rle.area, rle.to_bbox, lambda mask: rle.merge([mask])):
        with pytest.raises(trazar.InputError, match=words) as raised:
            use(mask)
        assert "\n" not in str(raised.value)


def test_wrong_arrays_get_one_line():
    for wrong in (np.zeros(3), np.zeros((2, 2, 2, 2)), np.zeros((2, 2), complex)):
        with pytest.raises(trazar.InputError):
            rle.encode(wrong)
    with pytest.raises(trazar.InputError, match="layout"):
        rle.encode(np.zeros((2, 2, 2)), layout="WHN")
    with pytest.raises(trazar.InputError, match="integers"):
        rle.encode_labels(np.zeros((2, 2)))
    with pytest.raises(trazar.InputError, match="pyiscrowd"):
        rle.iou([{"size": [1, 1], "counts": [1]}], [{"size": [1, 1], "counts": [1]}], [])
    with pytest.raises(trazar.InputError, match="both"):
        rle.iou([{"size": [1, 1], "counts": [1]}], [[0, 0, 1, 1]], [0])
