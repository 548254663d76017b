"""What the tests on a GPU share. They need NumPy only, and run by ``python gpu_torch.py`` too."""

from __future__ import annotations

import sys
import time
import traceback

import numpy as np

import trazar


def skip_without_gpu(name: str) -> None:
    """End a script, or skip a module of pytest's, where there is no GPU or no such library."""
    reason = None
    if not trazar.info()["gpus"]:
        reason = "no GPU"
    else:
        try:
            __import__(name)
        except ImportError as error:
            reason = str(error)
    if reason is None:
        return
    if "pytest" in sys.modules:
        import pytest

        pytest.skip(reason, allow_module_level=True)
    print(f"skipped: {reason}")
    sys.exit(0)


def masks() -> list[np.ndarray]:
    """Images of many sizes, with and without whole words per row."""
    rng = np.random.default_rng(0)
    made = []
    for height, width in ((1, 1), (3, 5), (64, 64), (100, 333), (257, 1024), (1000, 999)):
        noise = rng.random((height // 3 + 1, width // 3 + 1)) < 0.45
        blocks = np.kron(noise, np.ones((3, 3), bool))[:height, :width]
        made.append((blocks ^ (rng.random((height, width)) < 0.01)).astype(np.uint8) * 200)
    made.append(np.zeros((50, 60), np.uint8))
    made.append(np.ones((50, 60), np.uint8))
    return made


def assert_same_contours(found: trazar.Contours, image: np.ndarray, **options) -> None:
    """On the GPU, as on the processor."""
    expected = trazar.trace(image, device="cpu", **options)
    assert found.device.startswith("cuda:")
    on_host = found.to_host()
    for name in ("points", "offsets", "kinds", "hierarchy"):
        ours, theirs = getattr(on_host, name), getattr(expected, name)
        assert np.array_equal(ours, theirs), (name, image.shape)
        assert np.array_equal(getattr(found, name).get(), theirs), (name, image.shape)


def assert_same_found(found, expected) -> None:
    """In OpenCV's form: on the GPU, as on the host."""
    (contours, hierarchy), (on_host, expected_hierarchy) = found, expected
    assert len(contours) == len(on_host)
    # An array is a copy from the GPU.
    for ours, theirs in list(zip(contours, on_host))[:200]:
        assert ours.shape == theirs.shape and np.array_equal(ours.get(), theirs)
    if expected_hierarchy is None:
        assert hierarchy is None
    else:
        assert np.array_equal(hierarchy.get(), expected_hierarchy)


def check_offsets(to_gpu) -> None:
    """``find_contours`` with an offset, of images and batches, and what it refuses."""
    for image in masks():
        for offset in ((0, 0), (-3, 1000), [7, -(2**31)], (2**31 - image.shape[1], 0)):
            for method in (trazar.CHAIN_APPROX_SIMPLE, trazar.CHAIN_APPROX_TC89_L1):
                arguments = {"method": method, "offset": offset}
                found = trazar.find_contours(to_gpu(image), **arguments)
                assert_same_found(found, trazar.find_contours(image, device="cpu", **arguments))
        for refused in ((2**31 - image.shape[1] + 1, 0), (0.5, 0), (1,)):
            for given in (to_gpu(image), image):
                assert_refused("offset=", trazar.find_contours, given, offset=refused)
    images = np.random.default_rng(7).random((5, 40, 70)) < [[[0.4]], [[0]], [[0.6]], [[0]], [[1]]]
    for offset in ((0, 0), (100, -100)):
        found = trazar.find_contours_batch(to_gpu(images), offset=offset)
        expected = trazar.find_contours_batch(images, offset=offset, device="cpu")
        assert len(found) == 5
        for ours, theirs in zip(found, expected):
            assert_same_found(ours, theirs)


def check_output(to_gpu, to_host, types: list[str]) -> None:
    """``label`` into arrays of these types, of any strides, and what it refuses."""
    for image in masks():
        expected, count = trazar.label(image, device="cpu")
        height, width = image.shape
        for name in types:
            whole = np.full((height + 1, 2 * width), 1, name)
            for view in (
                lambda a: a[:-1, :width],
                lambda a: a[1:, ::2],
                lambda a: a[1:].reshape(height, 2 * width)[:, width:],
                lambda a: a.reshape(-1)[: height * width].reshape(height, width),
                # One element past where memory is aligned.
                lambda a: a.reshape(-1)[1 : height * width + 1].reshape(height, width),
                lambda a: a.reshape(-1)[: height * width].reshape(width, height).T,
            ):
                on_gpu, rest = to_gpu(whole), whole.copy()
                is_float = np.dtype(name).kind == "f"
                most = 2 ** (np.finfo(name).nmant + 1) if is_float else np.iinfo(name).max
                if count > most:
                    text = f"it holds {most} components, and the image has {count}"
                    assert_refused(text, trazar.label, to_gpu(image), output=view(on_gpu))
                else:
                    found = trazar.label(to_gpu(image), output=view(on_gpu))
                    assert type(found) is int and found == count
                    view(rest)[...] = expected
                assert np.array_equal(to_host(on_gpu), rest), (image.shape, name)
        # The image itself.
        own = to_gpu(image.astype(np.int32))
        assert trazar.label(own, output=own) == count
        assert np.array_equal(to_host(own), expected)
    image = masks()[3]
    labels, _ = trazar.label(to_gpu(image), output=np.int32)
    assert isinstance(labels, trazar.DeviceArray)
    on_gpu, output = to_gpu(image), to_gpu(np.zeros(image.shape, np.int32))
    assert_refused("labels are int32", trazar.label, on_gpu, output=np.int64)
    assert_refused("in the host's memory", trazar.label, on_gpu, output=np.zeros_like(image))
    assert_refused("no array of NumPy's", trazar.label, image, output=output)
    assert_refused("output of shape", trazar.label, on_gpu, output=output[1:])


def check_values(to_gpu) -> None:
    """Regions, contours, labels, measures and run lengths of arrays on the GPU."""
    rng = np.random.default_rng(3)
    for dtype in ("uint8", "int16", "int32", "int64", "float32"):
        for height, width in ((1, 1), (40, 70), (300, 517)):
            small = rng.integers(0, 5, (height // 3 + 1, width // 2 + 1))
            image = np.kron(small, np.ones((3, 2), int))[:height, :width].astype(dtype)
            image -= np.array(dtype in ("int16", "float32"), dtype)
            mask = rng.random(image.shape) < 0.9
            for view in (lambda a: a, lambda a: a[:, ::2], lambda a: a[height // 2 :, 1 % width :]):
                host = np.ascontiguousarray(view(image))
                if host.size > 0:
                    check_value_image(to_gpu, host, view(to_gpu(image)))
            mask_there = to_gpu(mask)
            expected = trazar.polygonize(image, mask=mask, background=[1, 300], device="cpu")
            found = trazar.polygonize(to_gpu(image), mask=mask_there, background=[1, 300])
            for name in ("points", "offsets", "values", "regions"):
                assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    image = to_gpu(np.zeros((4, 4), np.uint8))
    on_host = np.ones((4, 4), bool)
    assert_refused("mask in the host's memory", trazar.polygonize, image, mask=on_host)
    assert_refused("2 dimensions", trazar.polygonize, to_gpu(np.zeros((2, 4, 4), np.uint8)))
    assert_refused("float64", trazar.label_values, to_gpu(np.zeros((4, 4))))
    assert_refused("in the host's memory", trazar.measure, image, np.zeros((4, 4), np.uint8))


def check_value_image(to_gpu, host, there) -> None:
    """One image."""
    for connectivity in (4, 8):
        expected = trazar.label_values(host, 0, connectivity, device="cpu")
        labels, count = trazar.label_values(there, 0, connectivity)
        assert count == expected[1] and np.array_equal(labels.get(), expected[0])
    for mode in (trazar.RETR_TREE, trazar.RETR_EXTERNAL, trazar.RETR_LIST):
        expected = trazar.find_contours_by_label(host, mode, device="cpu")
        found = trazar.find_contours_by_label(there, mode)
        assert list(found) == list(expected)
        for label, (contours, hierarchy) in found.items():
            assert np.array_equal(hierarchy, expected[label][1])
            assert len(contours) == len(expected[label][0])
            for ours, theirs in zip(contours, expected[label][0]):
                assert np.array_equal(ours, theirs)
    if host.dtype.kind == "f":
        return
    names = ("label", "bbox", "centroid", "perimeter", "euler_number", "solidity", "moments_hu")
    expected = trazar.measure(host, None, names, device="cpu")
    found = trazar.measure(there, None, names)
    assert list(found) == list(expected)
    for name, column in found.items():
        assert np.array_equal(column, expected[name], equal_nan=True), name
    names = ("extent", "centroid", "label", "num_pixels")
    for names in (names, (*names, "perimeter")):
        expected = trazar.measure(host, None, names, device="cpu")
        found = trazar.measure(there, None, names, on_device=True)
        assert list(found) == list(expected)
        for name, column in found.items():
            assert isinstance(column, trazar.DeviceArray), name
            assert column.dtype == expected[name].dtype, name
            assert np.array_equal(column.get(), expected[name]), name
    names = ("intensity_mean", "intensity_std", "intensity_min", "centroid_weighted")
    for light in (host, (host / 7).astype(np.float32), np.dstack([host / 3, -host / 7])):
        expected = trazar.measure(host, light, names, device="cpu")
        found = trazar.measure(there, to_gpu(light), names)
        assert list(found) == list(expected)
        for name, column in found.items():
            assert np.array_equal(column, expected[name], equal_nan=True), name


def check_run_lengths(to_gpu) -> None:
    """Masks and labels on the GPU."""
    for image in masks():
        assert trazar.rle.encode(to_gpu(image)) == trazar.rle.encode(image)
        stack = np.stack([image, 255 - image, image * 0])
        assert trazar.rle.encode(to_gpu(stack)) == trazar.rle.encode(stack, layout="NHW")
        turned = np.ascontiguousarray(stack.transpose(1, 2, 0))
        found = trazar.rle.encode(to_gpu(turned), layout="HWN")
        assert found == trazar.rle.encode(turned, layout="HWN")
    rng = np.random.default_rng(8)
    for dtype in (np.uint8, np.int32, np.int64):
        for side in (1, 3, 40):
            labels = np.kron(rng.integers(0, 9, (9, 11)), np.ones((side, side)))
            labels = labels if dtype == np.uint8 else labels * 70_000 - 5
            labels = labels.astype(dtype)
            values, masks_of = trazar.rle.encode_labels(to_gpu(labels))
            expected = trazar.rle.encode_labels(labels)
            assert np.array_equal(values, expected[0]) and masks_of == expected[1]
    for shape in ((3, 4), (0, 4), (3, 0)):
        values, none = trazar.rle.encode_labels(to_gpu(np.zeros(shape, np.int32)))
        assert (values.dtype, values.shape, none) == (np.int64, (0,), [])
    assert_refused("labels", trazar.rle.encode_labels, to_gpu(np.zeros((3, 4), np.float32)))


def check_costs(to_gpu, to_host, types: list[str]) -> None:
    """Costs, allocation and directions of friction on the GPU stay there: the processor's."""
    rng = np.random.default_rng(5)
    for height, width in ((1, 1), (3, 40), (70, 65), (300, 301)):
        for dtype in types:
            friction = rng.integers(1, 9, (height, width)).astype(dtype)
            sources = [(0, 0), (height - 1, width // 2)]
            for options in (
                {},
                {"precision": "f64", "neighbours": 16, "sampling": (2.0, 0.5), "allocation": True},
                {"neighbours": 4, "no_data": 3, "max_cost": 20, "start_costs": [1.5, 0]},
                {"allocation": True, "direction": True},
            ):
                if "no_data" in options:
                    friction[0, 0] = friction[-1, width // 2] = 2
                expected = trazar.cost_distance(friction, sources, device="cpu", **options)
                for given in (to_gpu(friction), to_gpu(friction.T.copy()).T):
                    found = trazar.cost_distance(given, sources, **options)
                    for name in ("cost", "allocation", "direction"):
                        check_array(getattr(found, name), getattr(expected, name), to_host)
                if "direction" in options:
                    end = (height // 2, width // 2)
                    path = trazar.cost_distance(to_gpu(friction), sources, **options).path_to(end)
                    assert np.array_equal(path.cells, expected.path_to(end).cells)
    raster = np.zeros((5, 6), np.int32)
    raster[2, 3] = 7
    friction = np.ones((5, 6), np.float32)
    expected = trazar.cost_distance(friction, raster).cost
    found = trazar.cost_distance(to_gpu(friction), to_gpu(raster)).cost
    assert np.array_equal(to_host(found), expected)
    friction[1, 2] = -1
    assert_refused("row 1, column 2", trazar.cost_distance, to_gpu(friction), raster)


def check_array(found, expected, to_host) -> None:
    """An array on the GPU and the processor's, or neither."""
    if expected is None:
        assert found is None
        return
    taken = to_host(found)
    assert taken.dtype == expected.dtype == found.dtype
    assert np.array_equal(taken, expected, equal_nan=True)
    assert np.array_equal(found.get(), expected, equal_nan=True)


def assert_refused(text: str, job, *arguments, **options) -> None:
    try:
        job(*arguments, **options)
    except trazar.InputError as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"not refused: {text}")


def run_all(names: dict[str, object]) -> None:
    """Run the functions whose names begin with ``test_``, and exit with the number of failures."""
    failed = 0
    for name, test in list(names.items()):
        if not name.startswith("test_"):
            continue
        started = time.perf_counter()
        try:
            test()
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"FAILED {name}")
        else:
            print(f"ok {name} ({time.perf_counter() - started:.2f} s)")
    sys.exit(failed)
