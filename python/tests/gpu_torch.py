"""PyTorch's tensors on a GPU: ``python gpu_torch.py``, or ``pytest gpu_torch.py``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from gpu_common import (
    assert_same_contours,
    assert_same_found,
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

skip_without_gpu("torch")

import torch


def device_memory() -> int:
    free, total = torch.cuda.mem_get_info()
    return total - free


def delay(milliseconds: int = 50) -> None:
    """Keep the current stream busy."""
    torch.cuda._sleep(int(milliseconds * 1.5e6))


def test_labels_are_those_of_the_processor():
    for image in masks():
        tensor = torch.from_numpy(image).cuda()
        for connectivity in (4, 8):
            labels, count = trazar.label(tensor, connectivity=connectivity)
            expected, expected_count = trazar.label(image, connectivity=connectivity, device="cpu")
            taken = torch.from_dlpack(labels)
            assert taken.is_cuda and taken.dtype == torch.int32
            assert np.array_equal(taken.cpu().numpy(), expected), image.shape
            assert type(count) is int and count == expected_count
            again = torch.as_tensor(labels, device="cuda")
            assert torch.equal(again, taken)


def test_nothing_is_copied():
    labels, _ = trazar.label(torch.ones((64, 64), dtype=torch.uint8, device="cuda"))
    address = labels.__cuda_array_interface__["data"][0]
    assert torch.from_dlpack(labels).data_ptr() == address
    assert torch.as_tensor(labels, device="cuda").data_ptr() == address


def test_contours_are_those_of_the_processor():
    for image in masks():
        tensor = torch.from_numpy(image).cuda()
        for options in (
            {},
            {"retrieval": "external", "approximation": "none"},
            {"retrieval": "ccomp", "geometry": "edges"},
            {"approximation": "tc89-l1"},
        ):
            assert_same_contours(trazar.trace(tensor, **options), image, **options)


def test_find_contours_has_opencvs_form():
    for image in masks():
        found = trazar.find_contours(torch.from_numpy(image).cuda())
        assert_same_found(found, trazar.find_contours(image, device="cpu"))


def test_costs():
    types = ["uint8", "float32", "float64", "int16", "float16"]
    check_costs(
        lambda array: torch.from_numpy(array).cuda(),
        lambda costs: torch.from_dlpack(costs).cpu().numpy(),
        types,
    )


def test_offsets():
    check_offsets(lambda array: torch.from_numpy(array).cuda())


def test_values():
    check_values(lambda array: torch.from_numpy(array).cuda())


def test_run_lengths():
    check_run_lengths(lambda array: torch.from_numpy(array).cuda())


def test_output():
    types = ["int32", "int64", "int16", "uint8", "float32", "float16"]
    check_output(
        lambda array: torch.from_numpy(array.copy()).cuda(),
        lambda tensor: tensor.cpu().numpy(),
        types,
    )


def test_an_output_that_a_slow_stream_still_writes():
    """Labels are written after the work on the array so far, and in the memory given."""
    rng = np.random.default_rng(8)
    image = (rng.random((1024, 1024)) < 0.5).astype(np.uint8)
    expected, expected_count = trazar.label(image, device="cpu")
    tensor = torch.from_numpy(image).cuda()
    torch.cuda.synchronize()
    for dtype in (torch.int32, torch.int64):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            output = torch.empty((1024, 1024), dtype=dtype, device="cuda")
            delay()
            output.fill_(9)
            assert not stream.query()
            assert trazar.label(tensor, output=output) == expected_count
            assert np.array_equal(output.cpu().numpy(), expected)


def test_elements_and_strides():
    rng = np.random.default_rng(1)
    values = rng.integers(-3, 4, (300, 512))
    for dtype in (torch.bool, torch.uint8, torch.int16, torch.int32, torch.float32, torch.float16):
        tensor = torch.from_numpy(np.abs(values)).cuda().to(dtype)
        whole = tensor.cpu().to(torch.float64).numpy()
        for view in (
            (slice(None), slice(None)),
            (slice(1, None), slice(3, -5)),
            (slice(None, None, 2), slice(None)),
            (slice(None), slice(None, None, 3)),
            (slice(7, 8), slice(None)),
        ):
            expected = trazar.label(whole[view], device="cpu")[0]
            assert np.array_equal(trazar.label(tensor[view])[0].get(), expected), (dtype, view)
        expected = trazar.label(whole.T, device="cpu")[0]
        assert np.array_equal(trazar.label(tensor.T)[0].get(), expected), dtype
        if dtype != torch.bool:
            for threshold in (0, 1, 1.5):
                expected = trazar.label(whole, threshold=threshold, device="cpu")[0]
                labels, _ = trazar.label(tensor, threshold=threshold)
                assert np.array_equal(labels.get(), expected), (dtype, threshold)


def test_batches():
    rng = np.random.default_rng(2)
    for shape in ((5, 64, 128), (3, 33, 77), (1, 20, 20), (9, 1, 7)):
        images = (rng.random(shape) < 0.4).astype(np.uint8)
        tensor = torch.from_numpy(images).cuda()
        labels, counts = trazar.label_batch(tensor)
        expected, expected_counts = trazar.label_batch(images, device="cpu")
        assert np.array_equal(labels.get(), expected)
        assert counts == expected_counts and {type(count) for count in counts} == {int}
        batch, on_host = trazar.trace_batch(tensor), trazar.trace_batch(images, device="cpu")
        assert batch.device == "cuda:0" and len(batch) == len(images)
        assert np.array_equal(batch.image_offsets, on_host.image_offsets)
        for name in ("points", "offsets", "kinds", "hierarchy"):
            assert np.array_equal(getattr(batch, name).get(), getattr(on_host, name)), name
        assert batch == on_host and list(batch) == list(on_host) == list(batch.to_host())


def test_statistics():
    for image in masks():
        _labels, columns = trazar.label_stats(torch.from_numpy(image).cuda())
        _, expected = trazar.label_stats(image, device="cpu")
        for name, column in expected.items():
            np.testing.assert_allclose(columns[name], column, rtol=1e-12, err_msg=name)


def test_work_is_on_the_current_stream_after_a_slow_producer():
    """Without the order of streams, the image would be read before it is written."""
    rng = np.random.default_rng(3)
    image = (rng.random((1024, 1024)) < 0.5).astype(np.uint8)
    expected, expected_count = trazar.label(image, device="cpu")
    source = torch.from_numpy(image).cuda()
    torch.cuda.synchronize()
    for _ in range(3):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            tensor = torch.zeros_like(source)
            delay()
            tensor.copy_(source)
            # Nothing has waited for the producer on the host, until now for the count.
            assert not stream.query()
            labels, count = trazar.label(tensor)
            assert labels.stream == stream.cuda_stream
            # The consumer is on the same stream: the order holds.
            total = torch.from_dlpack(labels).long().sum()
            found = trazar.trace(tensor)
        assert count == expected_count
        stream.synchronize()
        assert int(total) == int(expected.sum(dtype=np.int64))
        assert np.array_equal(labels.get(), expected)
        assert_same_contours(found, image)


def test_a_consumer_on_another_stream_waits():
    rng = np.random.default_rng(4)
    image = (rng.random((1024, 1024)) < 0.5).astype(np.uint8)
    expected, _ = trazar.label(image, device="cpu")
    source = torch.from_numpy(image).cuda()
    producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    for _ in range(3):
        with torch.cuda.stream(producer):
            delay()
            tensor = source.clone()
            labels, _ = trazar.label(tensor)
        with torch.cuda.stream(consumer):
            taken = torch.from_dlpack(labels)
            delay()
            total = taken.long().sum()
            # The array is given up while the consumer may still read it.
            del taken, labels
        with torch.cuda.stream(producer):
            # Of other labels, in memory that is free in this stream.
            filler = [trazar.label(1 - tensor) for _ in "abc"]
        # The default stream does not wait for this one.
        consumer.synchronize()
        assert int(total) == int(expected.sum(dtype=np.int64))
        del filler


def test_the_wait_is_needed():
    """The check of the two tests above: without any order, they would fail."""
    source = torch.ones((1024, 1024), dtype=torch.uint8, device="cuda")
    tensor = torch.zeros_like(source)
    torch.cuda.synchronize()
    slow = torch.cuda.Stream()
    with torch.cuda.stream(slow):
        delay(200)
        tensor.copy_(source)
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        # On purpose: another stream that has not waited for the producer.
        _, early = trazar.label(tensor)
    torch.cuda.synchronize()
    assert early == 0, "the producer was not slow enough for this test"


def test_results_that_are_dropped_at_once_are_still_right():
    """Memory is freed in the stream's order, not before the work that uses it."""
    rng = np.random.default_rng(5)
    image = (rng.random((512, 512)) < 0.5).astype(np.uint8)
    tensor = torch.from_numpy(image).cuda()
    expected = int(trazar.label(image, device="cpu")[0].sum(dtype=np.int64))
    totals = []
    for _ in range(200):
        labels, _ = trazar.label(tensor.clone())
        totals.append(torch.from_dlpack(labels).long().sum())
        del labels
    assert {int(total) for total in totals} == {expected}


def test_memory_is_flat():
    tensor = (torch.rand((512, 512), device="cuda") < 0.5).to(torch.uint8)

    def calls(count: int) -> None:
        for _ in range(count):
            labels, _ = trazar.label(tensor)
            torch.from_dlpack(labels)
            trazar.trace(tensor).points.__dlpack__()
        torch.cuda.synchronize()

    calls(200)
    before = device_memory()
    calls(2000)
    assert device_memory() - before < 64 << 20


def test_threads():
    import threading

    rng = np.random.default_rng(6)
    images = [(rng.random((200, 320)) < 0.5).astype(np.uint8) for _ in range(8)]
    expected = [trazar.label(image, device="cpu")[0] for image in images]
    wrong = []

    def work(index: int) -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            tensor = torch.from_numpy(images[index]).cuda()
            for _ in range(20):
                if not np.array_equal(trazar.label(tensor)[0].get(), expected[index]):
                    wrong.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_numpy_arrays_on_the_gpu():
    for image in masks():
        labels, count = trazar.label(image, device="cuda")
        expected, expected_count = trazar.label(image, device="cpu")
        assert isinstance(labels, np.ndarray) and count == expected_count
        assert np.array_equal(labels, expected)
        contours, _ = trazar.find_contours(image, device="cuda")
        on_cpu, _ = trazar.find_contours(image, device="cpu")
        assert len(contours) == len(on_cpu) and all(map(np.array_equal, contours, on_cpu))


def test_the_example_for_sam_2():
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    import sam2_connected_components

    sam2_connected_components.main()


if __name__ == "__main__":
    run_all(globals())
