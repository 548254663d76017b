"""Arrays of every kind: element types, strides, byte orders, and what is no image."""

from __future__ import annotations

import contextlib

import cv2
import numpy as np
import pytest
import scipy.ndimage

import trazar

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g"]


@pytest.fixture
def values(rng):
    """Small whole numbers from -3 to 3, of 0 most."""
    return rng.integers(-3, 4, (37, 75)) * (rng.random((37, 75)) < 0.5)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers(values, kind, order):
    if np.dtype(kind).kind == "u":
        values = np.abs(values)
    image = values.astype(np.dtype(kind).newbyteorder(order))
    assert np.array_equal(trazar.label(image)[0], scipy.ndimage.label(values)[0])
    for threshold in (-1, 0, 1, 1.5, 2, 3, 400, -400):
        labels, _ = trazar.label(image, threshold=threshold)
        assert np.array_equal(labels, scipy.ndimage.label(values > threshold)[0]), threshold


def interesting(dtype):
    """Numbers of a type at its ends, at 0 and where neighbouring types round."""
    near = [0.1, 0.3, 1 / 3, 127.5, 2.0**24, 2.0**24 + 1, 2.0**31, 2.0**53, 65504, 3e38, 1e-45]
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.kind == "f":
        ends = [np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny, 0.0]
        with np.errstate(over="ignore"):
            values = np.array(near + ends).astype(dtype)
            nudged = [np.nextafter(values, dtype.type(to)) for to in (-np.inf, np.inf)]
        values = np.concatenate([values, *nudged])
        return np.concatenate([values, -values])
    bounds = np.iinfo(dtype)
    values = {bounds.min, bounds.min + 1, -1, 0, 1, 100, 127, 128, bounds.max - 1, bounds.max}
    values |= {int(value) + step for value in near[3:8] for step in (-1, 0, 1)}
    return np.array([value for value in sorted(values) if bounds.min <= value <= bounds.max], dtype)


THRESHOLDS = [0, 1, -1, True, False, 127, 255, 256, -129, 2**24 + 1, 2**31 - 1, 2**31, -(2**31) - 1]
THRESHOLDS += [2**53 + 1, 2**63 - 1, 2**64, -(2**70)]
THRESHOLDS += [0.0, -0.0, 0.1, 0.3, 1 / 3, -0.1, 0.5, 126.5, 255.5, -1e300, 1e300, 3.4028235e38]
THRESHOLDS += [65519.0, 1e5, 1e-46, float("inf"), float("-inf"), float("nan")]


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 2 compares so")
@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("kind", ["?", *NUMBERS])
def test_thresholds_compare_as_numpy_does(kind):
    dtype = np.dtype(kind)
    image = interesting(dtype)[np.newaxis]
    scalars = [np.float64, np.float32, np.float16, np.longdouble, np.int64, np.uint64, np.uint8]
    scalars += [np.int16, np.bool_, lambda threshold: np.array(float(threshold))]
    for threshold in THRESHOLDS:
        given = [threshold]
        for scalar in scalars:
            with contextlib.suppress(OverflowError, ValueError), np.errstate(all="ignore"):
                given.append(scalar(threshold))
        for one in given:
            try:
                expected = image > one
            except OverflowError:
                with pytest.raises(trazar.InputError, match="threshold="):
                    trazar.label(image, threshold=one)
                continue
            # Components are runs of a row: as many pixels as they should have, and where.
            labels, _ = trazar.label(image, threshold=one)
            assert np.array_equal(labels != 0, expected), (repr(one), type(one))


@pytest.mark.parametrize(
    "threshold",
    ["a", [1], np.zeros((1, 8)), np.zeros(1), 1j, None.__class__, object(), np.array("a"), {}],
    ids=repr,
)
def test_thresholds_that_are_no_numbers_are_refused(threshold):
    image = np.zeros((6, 1), np.float32)
    for job in (trazar.label, trazar.label_stats, trazar.find_contours, trazar.trace):
        with pytest.raises(trazar.InputError, match=r"threshold.*number"):
            job(image, threshold=threshold)
    for job in (trazar.label_batch, trazar.trace_batch, trazar.find_contours_batch):
        with pytest.raises(trazar.InputError, match=r"threshold.*number"):
            job(image[np.newaxis], threshold=threshold)


def test_images_of_one_channel_are_taken_as_opencv_takes_them(values):
    image = np.abs(values).astype(np.uint8)
    contours, hierarchy = trazar.find_contours(image[:, :, np.newaxis])
    expected, links = cv2.findContours(
        image[:, :, np.newaxis], cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE
    )
    assert np.array_equal(hierarchy, links)
    assert all(np.array_equal(a, b) for a, b in zip(contours, expected, strict=True))
    assert np.array_equal(trazar.label(image[..., None])[0], trazar.label(image)[0])
    assert np.array_equal(trazar.label_stats(image[..., None])[0], trazar.label(image)[0])
    assert trazar.trace(image[..., None]) == trazar.trace(image)
    for channels, text in ((3, "one channel"), (4, "one channel"), (5, r"\(H, W\)")):
        wrong = np.zeros((7, 9, channels), np.uint8)
        for job in (trazar.find_contours, trazar.trace, trazar.label, trazar.label_stats):
            with pytest.raises(trazar.InputError, match=rf"\(7, 9, {channels}\).*{text}.*_batch"):
                job(wrong)


def test_booleans(values):
    expected = scipy.ndimage.label(values > 0)[0]
    assert np.array_equal(trazar.label(values > 0)[0], expected)
    # Bytes that are no booleans, though they are called so.
    bytes_ = np.where(values > 0, np.uint8(6), np.uint8(0))
    assert np.array_equal(trazar.label(bytes_.view(bool))[0], expected)
    assert np.array_equal(trazar.label(values > 0, threshold=0.5)[0], expected)
    assert trazar.label(values > 0, threshold=1)[1] == 0


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.int32, np.int64, np.float32])
@pytest.mark.parametrize(
    "view",
    [
        lambda image: image[::-1],
        lambda image: image[:, ::-1],
        lambda image: image[::2, ::3],
        lambda image: image[1:, 5:-2],
        lambda image: image.T,
        lambda image: image.T[::-2, 1:],
        lambda image: np.asfortranarray(image),
        lambda image: np.broadcast_to(image[3], (4, image.shape[1])),
        lambda image: np.broadcast_to(image[:, 3:4], (image.shape[0], 9)),
        lambda image: image[3:4],
        lambda image: image[:, 3:4],
    ],
)
def test_strides(values, dtype, view):
    image = view(np.abs(values).astype(dtype))
    assert np.array_equal(trazar.label(image)[0], scipy.ndimage.label(image)[0])
    limit = trazar.label(image, threshold=0)[0]
    assert np.array_equal(limit, scipy.ndimage.label(image > 0)[0])


def test_planes_of_a_batch_may_have_any_strides(values):
    stack = np.abs(np.stack([values, values[::-1], values[:, ::-1]])).astype(np.uint8)
    for images in (stack, stack[::-1], stack.transpose(0, 2, 1), stack.transpose(2, 0, 1)):
        labels, _ = trazar.label_batch(images)
        for ours, image in zip(labels, images):
            assert np.array_equal(ours, scipy.ndimage.label(image)[0])


def test_read_only_and_unaligned(values):
    image = np.abs(values).astype(np.uint8)
    image.flags.writeable = False
    assert np.array_equal(trazar.label(image)[0], scipy.ndimage.label(image)[0])
    raw = np.zeros(values.size * 4 + 1, np.uint8)
    unaligned = raw[1:].view(np.int32).reshape(values.shape)
    unaligned[...] = values
    assert not unaligned.flags.aligned
    assert np.array_equal(trazar.label(unaligned)[0], scipy.ndimage.label(values)[0])
    assert np.array_equal(
        trazar.label(unaligned, threshold=1)[0], scipy.ndimage.label(values > 1)[0]
    )


def test_the_image_is_left_as_it_is(values):
    image = np.abs(values).astype(np.uint8)
    before = image.copy()
    trazar.find_contours(image)
    trazar.label(image)
    assert np.array_equal(image, before)


def test_lists_subclasses_and_memory_of_others(values):
    expected = scipy.ndimage.label(values)[0]
    assert np.array_equal(trazar.label(values.tolist())[0], expected)

    class Image(np.ndarray):
        pass

    assert np.array_equal(trazar.label(values.view(Image))[0], expected)

    class Elsewhere:
        """An array that only speaks DLPack."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **arguments):
            return self.array.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    assert np.array_equal(trazar.label(Elsewhere(values))[0], expected)


def test_masked_arrays_are_refused(values):
    with pytest.raises(trazar.InputError, match="masked"):
        trazar.label(np.ma.masked_less(values, 0))


def test_nan():
    image = np.array([[0.0, 1.0, np.nan]])
    # As SciPy has it.
    assert trazar.label(image)[0].tolist() == scipy.ndimage.label(image)[0].tolist()
    for dtype in (np.float32, np.float64, np.float16):
        with pytest.raises(trazar.InputError, match="x = 2, y = 0 is not a number"):
            trazar.label(image.astype(dtype), threshold=0.5)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros(5),
        np.zeros((2, 2, 2, 2)),
        np.float64(3),
        np.zeros((2, 2), complex),
        np.array([["a", "b"]]),
        np.array([[object()]]),
        np.zeros((2, 2), "datetime64[s]"),
        "mask.png",
        None,
    ],
)
def test_what_is_no_image_is_refused(image):
    for job in (trazar.label, trazar.find_contours, trazar.trace):
        with pytest.raises(trazar.InputError) as refused:
            job(image)
        assert "\n" not in str(refused.value)
