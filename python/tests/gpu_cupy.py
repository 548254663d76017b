"""CuPy's arrays on a GPU: ``python gpu_cupy.py``, or ``pytest gpu_cupy.py``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from gpu_common import (
    assert_same_contours,
    check_costs,
    check_offsets,
    check_output,
    check_run_lengths,
    check_values,
    masks,
    run_all,
    skip_without_gpu,
)

import trazar

skip_without_gpu("cupy")

import cupy


def test_labels_are_those_of_the_processor():
    for image in masks():
        array = cupy.asarray(image)
        for connectivity in (4, 8):
            labels, count = trazar.label(array, connectivity=connectivity)
            expected, expected_count = trazar.label(image, connectivity=connectivity, device="cpu")
            taken = cupy.asarray(labels)
            assert taken.dtype == np.int32 and taken.shape == image.shape
            assert np.array_equal(cupy.asnumpy(taken), expected), image.shape
            assert type(count) is int and count == expected_count
            assert bool((cupy.from_dlpack(labels) == taken).all())


def test_nothing_is_copied():
    labels, _ = trazar.label(cupy.ones((64, 64), cupy.uint8))
    address = labels.__cuda_array_interface__["data"][0]
    assert cupy.asarray(labels).data.ptr == address
    assert cupy.from_dlpack(labels).data.ptr == address


def test_contours_are_those_of_the_processor():
    for image in masks():
        array = cupy.asarray(image)
        for options in ({}, {"retrieval": "list"}, {"geometry": "edges"}):
            assert_same_contours(trazar.trace(array, **options), image, **options)


def test_costs():
    types = ["uint8", "uint16", "uint32", "float32", "float64", "int16", "float16"]
    check_costs(cupy.asarray, lambda costs: cupy.asnumpy(cupy.asarray(costs)), types)


def test_costs_with_coordinates():
    try:
        import xarray
    except ImportError:
        return
    axes = {"y": [10.0, 8.0, 6.0], "x": [0.0, 1.0]}
    friction = xarray.DataArray(cupy.ones((3, 2)), coords=axes, dims=("y", "x"))
    found = trazar.cost_distance(friction, [(0, 0)], neighbours=4).cost
    assert isinstance(found.data, cupy.ndarray) and found.coords["y"].equals(friction.coords["y"])
    assert cupy.asnumpy(found.data).tolist() == [[0, 1], [2, 3], [4, 5]]


def test_offsets():
    check_offsets(cupy.asarray)


def test_values():
    check_values(cupy.asarray)


def test_run_lengths():
    check_run_lengths(cupy.asarray)


def test_output():
    types = ["int32", "uint32", "int64", "uint16", "int8", "float64", "float16"]
    check_output(cupy.asarray, cupy.asnumpy, types)


def test_output_of_other_libraries():
    """A result, and an array that only says ``__cuda_array_interface__``."""

    class Interface:
        def __init__(self, array):
            self.array, self.shape, self.dtype = array, array.shape, array.dtype

        @property
        def __cuda_array_interface__(self):
            return self.array.__cuda_array_interface__

    for image in masks():
        expected, expected_count = trazar.label(image, device="cpu")
        array = cupy.asarray(image)
        given = cupy.full(image.shape, 9, cupy.uint32)
        assert trazar.label(array, output=Interface(given)) == expected_count
        assert np.array_equal(cupy.asnumpy(given), expected)
        labels, _ = trazar.label(cupy.asarray(1 - (image > 0)))
        assert trazar.label(array, output=labels) == expected_count
        assert np.array_equal(labels.get(), expected)


def test_elements_and_strides():
    rng = np.random.default_rng(1)
    values = np.abs(rng.integers(-3, 4, (300, 512)))
    for dtype in (bool, np.uint8, np.int16, np.uint32, np.float32, np.float64):
        host = values.astype(dtype)
        array = cupy.asarray(host)
        for view in (
            lambda a: a,
            lambda a: a[1:, 3:-5],
            lambda a: a[::2],
            lambda a: a[:, ::3],
            lambda a: a.T,
            lambda a: a[::-1],
            lambda a: a[5:6],
        ):
            expected = trazar.label(view(host), device="cpu")[0]
            assert np.array_equal(trazar.label(view(array))[0].get(), expected), dtype
        if dtype is not bool:
            expected = trazar.label(host, threshold=1, device="cpu")[0]
            assert np.array_equal(trazar.label(array, threshold=1)[0].get(), expected), dtype


def test_batches():
    rng = np.random.default_rng(2)
    images = (rng.random((7, 50, 96)) < 0.4).astype(np.uint8)
    labels, counts = trazar.label_batch(cupy.asarray(images))
    expected, expected_counts = trazar.label_batch(images, device="cpu")
    assert np.array_equal(labels.get(), expected)
    assert counts == expected_counts and {type(count) for count in counts} == {int}
    for image, found in zip(images, trazar.trace_batch(cupy.asarray(images)), strict=True):
        assert found == trazar.trace(image, device="cpu")


def test_streams():
    rng = np.random.default_rng(3)
    image = (rng.random((1024, 1024)) < 0.5).astype(np.uint8)
    expected, expected_count = trazar.label(image, device="cpu")
    source = cupy.asarray(image)
    slow = cupy.RawKernel(
        'extern "C" __global__ void spin(long long n) {'
        " long long start = clock64(); while (clock64() - start < n) {} }",
        "spin",
    )
    cupy.cuda.Device().synchronize()
    for non_blocking in (False, True):
        stream = cupy.cuda.Stream(non_blocking=non_blocking)
        with stream:
            array = cupy.zeros_like(source)
            slow((1,), (1,), (np.int64(80_000_000),))
            array[...] = source
            # Nothing has waited for the image on the host, until now for the count.
            assert not stream.done
            labels, count = trazar.label(array)
            assert labels.stream == stream.ptr
            total = cupy.asarray(labels).sum(dtype=np.int64)
        assert count == expected_count
        assert int(total) == int(expected.sum(dtype=np.int64))
        # The stream's object goes away before the results do.
        del stream, array, total
        assert np.array_equal(labels.get(), expected)
        # A consumer on another stream.
        with cupy.cuda.Stream(non_blocking=True):
            taken = cupy.from_dlpack(labels)
            assert np.array_equal(cupy.asnumpy(taken), expected)
            del taken, labels, count


def test_memory_is_flat():
    array = (cupy.random.random((512, 512)) < 0.5).astype(cupy.uint8)

    def calls(count: int) -> None:
        for _ in range(count):
            cupy.asarray(trazar.label(array)[0])
            cupy.from_dlpack(trazar.trace(array).points)
        cupy.cuda.Device().synchronize()

    def used() -> int:
        free, total = cupy.cuda.Device().mem_info
        return total - free

    calls(200)
    before = used()
    calls(2000)
    assert used() - before < 64 << 20


def test_it_is_right_where_cupys_own_label_is_not():
    """A large stack of small components, of which CuPy's labels were reported to be wrong."""
    images = np.zeros((64, 512, 512), np.uint8)
    images[:, ::2, ::2] = 1
    labels, counts = trazar.label_batch(cupy.asarray(images))
    assert counts == [256 * 256] * 64
    expected, _ = trazar.label(images[0], device="cpu")
    found = cupy.asarray(labels)
    assert bool((found == cupy.asarray(expected)[None]).all())


if __name__ == "__main__":
    run_all(globals())
