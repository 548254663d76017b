"""Arrays of every kind: element types, strides, byte orders, and what is no image."""

from __future__ import annotations

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
