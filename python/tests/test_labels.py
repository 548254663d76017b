"""Labels against SciPy's, and measures against scikit-image's."""

from __future__ import annotations

import subprocess
import sys

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


@pytest.mark.parametrize("algorithm", ["sequential", "parallel", None])
@pytest.mark.parametrize("shape", [(90, 170), (500, 300)])
def test_algorithms_agree(rng, algorithm, shape):
    """Also those of images that are too small for several threads, unless these are asked for."""
    image = rng.random(shape) < 0.55
    labels, _ = trazar.label(image, algorithm=algorithm, device="cpu")
    assert np.array_equal(labels, scipy.ndimage.label(image)[0])
    output = np.full(shape, 7, np.int32)
    trazar.label(image, output=output, algorithm=algorithm, device="cpu")
    assert np.array_equal(output, labels)


@pytest.mark.parametrize("algorithm", ["tiles", "direct"])
def test_the_emulator_runs_the_kernels(rng, algorithm):
    image = random_image(rng)
    labels, count = trazar.label(image, algorithm=algorithm, device="emulator")
    expected, scipys_count = scipy.ndimage.label(image)
    assert count == scipys_count and np.array_equal(labels, expected)


def test_connectivity(rng):
    image = random_image(rng)
    for neighbours, skimages in ((4, 1), (8, 2), (np.int64(4), 1), (np.uint8(8), 2)):
        labels, _ = trazar.label(image, connectivity=neighbours)
        assert np.array_equal(labels, skimage.measure.label(image > 0, connectivity=skimages))
    for refused in (1, 2, 6, 4.0, True, "8", np.array([4, 8])):
        for job in (trazar.label, trazar.label_stats):
            with pytest.raises(trazar.InputError, match="neighbours, 4 or 8 .*'s 1 is 4"):
                job(image, connectivity=refused)
    with pytest.raises(trazar.InputError, match="two ways"):
        trazar.label(image, connectivity=4, structure=CROSS)
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


def dots(count):
    """An image with this many components of one pixel."""
    image = np.zeros((2 * (-(-count // 50)), 100), np.uint8)
    image[::2, ::2].flat[:count] = 1
    return image


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u2", "?", "f2"])
def test_output_holds_all_labels_or_is_refused(dtype):
    dtype = np.dtype(dtype)
    most = {"u1": 255, "i1": 127, "i2": 32767, "u2": 65535, "b1": 1, "f2": 2048}[dtype.str[1:]]
    image = dots(most)
    labels, count = trazar.label(image, output=dtype)
    assert count == most and labels.dtype == dtype and np.array_equal(labels != 0, image != 0)
    assert np.array_equal(labels, scipy.ndimage.label(image, output=np.int32)[0])
    image = dots(most + 1)
    output = np.full(image.shape, 7).astype(dtype)
    before = output.copy()
    for given in (dtype, output):
        text = f"output of {dtype}: it holds {most} components, and the image has {most + 1}; "
        with pytest.raises(trazar.InputError, match=text + ".*int32"):
            trazar.label(image, output=given)
    assert np.array_equal(output, before)


def test_output_arrays_are_written_whatever_they_are(rng):
    image = random_image(rng, 80)
    expected, count = scipy.ndimage.label(image)
    shape = image.shape
    for dtype in (np.int32, np.uint32, np.int64, np.uint16, np.float32, ">i4"):
        for output in (
            np.full(shape, 9, dtype),
            np.full(shape, 9, dtype, order="F"),
            np.full((shape[0], 2 * shape[1]), 9, dtype)[:, ::2],
            np.full((shape[0] + 2, shape[1]), 9, dtype)[1:-1],
        ):
            assert trazar.label(image, output=output) == count
            assert np.array_equal(output, expected), (dtype, output.strides)
    # The image itself, and a part of an array whose rest stays.
    own = image.astype(np.int32)
    assert trazar.label(own, output=own) == count and np.array_equal(own, expected)
    whole = np.full((shape[0] + 2, shape[1]), 9, np.int32)
    trazar.label(image, None, whole[1:-1])
    assert (whole[[0, -1]] == 9).all() and np.array_equal(whole[1:-1], expected)
    read_only = np.zeros(shape, np.int32)
    read_only.flags.writeable = False
    for refused, text in (
        (read_only, "read-only"),
        (np.zeros((3, 3, 3), np.int32), "output of shape"),
        (np.zeros((shape[0] + 1, shape[1]), np.int64), "output of shape"),
        (np.zeros(shape, complex), "output of complex128: labels are integers"),
        ("U3", "labels are integers"),
        ("integers", "output='integers': it is an element type"),
        (object, "labels are integers"),
        (memoryview(np.zeros(shape, np.int32)), "output=<memory.*it is an element type"),
        (np.int32(7), "output is no array of NumPy's"),
    ):
        with pytest.raises(trazar.InputError, match=text):
            trazar.label(image, output=refused)


def test_output_of_int32_is_not_a_copy():
    """The library takes no memory of its own for labels of an array that it is given."""
    code = (
        "import resource, numpy as np, trazar\n"
        "image = np.zeros((4000, 8000), np.uint8); image[100:-100, 100:-100] = 1\n"
        "output = np.ones(image.shape, np.int32)\n"
        "trazar.label(image[:9, :9]); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert trazar.label(image, output=output) == 1\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    labels = 4000 * 8000 * 4 // 1024
    assert int(ran.stdout) < labels // 2, ran.stdout


def test_empty_images_have_no_components():
    for shape in ((0, 5), (5, 0), (0, 0)):
        labels, count = trazar.label(np.zeros(shape))
        assert count == 0 and labels.shape == shape and labels.dtype == np.int32
    labels, counts = trazar.label_batch(np.zeros((0, 3, 4)))
    assert labels.shape == (0, 3, 4) and counts == []


def test_batches_are_labelled_image_by_image(rng):
    images = np.stack([rng.random((33, 65)) < 0.4 for _ in range(7)])
    labels, counts = trazar.label_batch(images, ALL)
    assert labels.shape == images.shape and [type(count) for count in counts] == [int] * 7
    for image, ours, count in zip(images, labels, counts):
        expected, scipys_count = scipy.ndimage.label(image, ALL)
        assert np.array_equal(ours, expected) and count == scipys_count
    with pytest.raises(trazar.InputError, match="label_batch"):
        trazar.label(images)
    with pytest.raises(trazar.InputError, match="label_batch takes N images, label takes one"):
        trazar.label_batch(images[0])
    # Lists do not say their shape: the extension does.
    with pytest.raises(trazar.InputError, match="3 dimensions is N images"):
        trazar.label(images.tolist())
    with pytest.raises(trazar.InputError, match="2 dimensions is one image"):
        trazar.label_stats_batch(images[0].tolist())


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


def test_every_count_is_an_int(rng):
    image = random_image(rng)
    output = np.zeros(image.shape, np.int64)
    for device in ("cpu", "emulator"):
        counts = [
            trazar.label(image, device=device)[1],
            trazar.label(image, output=np.uint32, device=device)[1],
            trazar.label(image, output=output, device=device),
            *trazar.label_batch(image[None], device=device)[1],
        ]
        assert {type(count) for count in counts} == {int} and len(set(counts)) == 1


def test_labels_are_the_callers_own(rng):
    labels, _ = trazar.label(random_image(rng))
    assert labels.flags.writeable and labels.flags.c_contiguous
    labels += 1
