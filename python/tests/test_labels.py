"""Labels against SciPy's, and measures against scikit-image's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
import skimage.measure
from conftest import IMAGES, random_image

import trazar

CROSS = [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
ALL = np.ones((3, 3))


@pytest.mark.parametrize("structure", [None, CROSS, ALL])
def test_random_images_have_scipys_labels(rng, structure):
    for number in range(IMAGES):
        image = random_image(rng, 90)
        labels, count = trazar.label(image, structure)
        expected, scipys_count = scipy.ndimage.label(image, structure)
        assert count == scipys_count and isinstance(count, int)
        assert labels.dtype == expected.dtype and labels.shape == expected.shape
        assert np.array_equal(labels, expected), (number, image.tolist())


@pytest.mark.parametrize("algorithm", ["sequential", "parallel"])
def test_algorithms_agree(rng, algorithm):
    image = random_image(rng, 300)
    labels, _ = trazar.label(image, algorithm=algorithm, device="cpu")
    assert np.array_equal(labels, scipy.ndimage.label(image)[0])


@pytest.mark.parametrize("algorithm", ["tiles", "direct"])
def test_the_emulator_runs_the_kernels(rng, algorithm):
    image = random_image(rng)
    labels, count = trazar.label(image, algorithm=algorithm, device="emulator")
    expected, scipys_count = scipy.ndimage.label(image)
    assert count == scipys_count and np.array_equal(labels, expected)


def test_connectivity(rng):
    image = random_image(rng)
    for four in (4, 1):
        labels, _ = trazar.label(image, connectivity=four)
        assert np.array_equal(labels, skimage.measure.label(image > 0, connectivity=1))
    for eight in (8, 2):
        labels, _ = trazar.label(image, connectivity=eight)
        assert np.array_equal(labels, skimage.measure.label(image > 0, connectivity=2))
    for refused in ({"connectivity": 6}, {"connectivity": 4, "structure": CROSS}):
        with pytest.raises(trazar.InputError):
            trazar.label(image, **refused)
    for structure in (np.eye(3), np.ones((3, 5)), [1, 1, 1]):
        with pytest.raises(trazar.InputError, match="cross or all ones"):
            trazar.label(image, structure)


def test_output(rng):
    image = random_image(rng)
    for dtype in (np.int16, "uint32", np.int64, float):
        labels, count = trazar.label(image, output=dtype)
        expected, scipys_count = scipy.ndimage.label(image, output=dtype)
        assert count == scipys_count and labels.dtype == expected.dtype
        assert np.array_equal(labels, expected)
    output = np.full(image.shape, 7, np.int32, order="F")
    assert trazar.label(image, output=output) == scipy.ndimage.label(image)[1]
    assert np.array_equal(output, scipy.ndimage.label(image)[0])
    with pytest.raises(trazar.InputError):
        trazar.label(image, output=np.zeros((1, 1), np.int32))


def test_empty_images_have_no_components():
    for shape in ((0, 5), (5, 0), (0, 0)):
        labels, count = trazar.label(np.zeros(shape))
        assert count == 0 and labels.shape == shape and labels.dtype == np.int32
    labels, counts = trazar.label_batch(np.zeros((0, 3, 4)))
    assert labels.shape == (0, 3, 4) and counts.shape == (0,)


def test_batches_are_labelled_image_by_image(rng):
    images = np.stack([rng.random((33, 65)) < 0.4 for _ in range(7)])
    labels, counts = trazar.label_batch(images, ALL)
    assert labels.shape == images.shape and counts.shape == (7,)
    for image, ours, count in zip(images, labels, counts):
        expected, scipys_count = scipy.ndimage.label(image, ALL)
        assert np.array_equal(ours, expected) and count == scipys_count
    with pytest.raises(trazar.InputError, match="label_batch"):
        trazar.label(images)
    with pytest.raises(trazar.InputError):
        trazar.label_batch(images[0])


def test_columns_are_those_of_scikit_image(rng):
    for _ in range(60):
        image = random_image(rng, 60)
        labels, columns = trazar.label_stats(image, ALL)
        expected = skimage.measure.regionprops_table(
            skimage.measure.label(image > 0, connectivity=2),
            properties=("label", "area", "bbox", "centroid"),
        )
        assert list(columns) == list(expected)
        assert np.array_equal(labels, trazar.label(image, ALL)[0])
        for name, column in columns.items():
            if len(column):
                assert column.dtype.kind == expected[name].dtype.kind, name
            np.testing.assert_allclose(column, expected[name], rtol=1e-13, err_msg=name)


def test_columns_of_batches(rng):
    images = np.stack([rng.random((20, 31)) < 0.3 for _ in range(5)])
    labels, columns = trazar.label_stats_batch(images)
    assert np.array_equal(labels, trazar.label_batch(images)[0])
    for index, image in enumerate(images):
        _, expected = trazar.label_stats(image)
        of_image = columns["image"] == index
        for name, column in expected.items():
            assert np.array_equal(columns[name][of_image], column), name


def test_labels_are_the_callers_own(rng):
    labels, _ = trazar.label(random_image(rng))
    assert labels.flags.writeable and labels.flags.c_contiguous
    labels += 1
