"""Device arrays on the stand-in driver: what is adopted, given away, waited for and freed.

``test_stand_in.py`` runs these in a process that loads the stand-in as the driver. Its kernels do
nothing, so results are zeros; ``gpu_cupy.py`` and ``gpu_torch.py`` check results on a GPU.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import types

import numpy as np
import pytest

import trazar

driver = ctypes.CDLL("libcuda.so.1")
driver.stand_in_log.restype = ctypes.c_char_p
driver.stand_in_allocated.restype = ctypes.c_long


def log() -> list[list[str]]:
    lines = [line.split() for line in driver.stand_in_log().decode().splitlines()]
    driver.stand_in_clear()
    return lines


class Array:
    """A NumPy array that says it is on the GPU, of a library that nothing is known of."""

    def __init__(self, array, stream=None):
        self.array = array
        self.stream = stream
        self.dtype = array.dtype
        self.shape = array.shape

    @property
    def __cuda_array_interface__(self):
        interface = dict(self.array.__array_interface__)
        interface["version"] = 3
        interface.pop("descr")
        interface["stream"] = self.stream
        return interface

    def __dlpack_device__(self):
        return (2, 0)

    def __ne__(self, other):
        return type(self)(self.array != other)

    def __gt__(self, other):
        return type(self)(self.array > other)


UINT8, BOOL = object(), object()


class TorchArray(Array):
    """The same, of a library called torch."""

    __module__ = "torch"
    contiguous_calls = 0
    is_cuda = True

    def __init__(self, array, stream=None):
        super().__init__(array, stream)
        self.dtype = {np.dtype(np.uint8): UINT8, np.dtype(bool): BOOL}.get(array.dtype, array.dtype)

    def data_ptr(self):
        return self.array.ctypes.data

    def stride(self):
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def get_device(self):
        return 0

    def contiguous(self):
        TorchArray.contiguous_calls += 1
        return type(self)(np.ascontiguousarray(self.array))


class Stream:
    def __init__(self, handle):
        self.cuda_stream = handle


@pytest.fixture
def torch(monkeypatch):
    """Modules as PyTorch has them, with one current stream."""
    module, cuda = types.ModuleType("torch"), types.ModuleType("torch.cuda")
    module.cuda, module._C = cuda, types.ModuleType("torch._C")
    module.uint8, module.bool = UINT8, BOOL
    module._C._cuda_getCurrentRawStream = lambda index: cuda.stream.cuda_stream
    monkeypatch.setitem(sys.modules, "torch._C", module._C)
    cuda.stream = Stream(0x7700)
    cuda.current_stream = lambda index: cuda.stream
    monkeypatch.setitem(sys.modules, "torch", module)
    monkeypatch.setitem(sys.modules, "torch.cuda", cuda)
    return cuda


class CupyArray(Array):
    """The same, of a library called cupy."""

    __module__ = "cupy"


@pytest.fixture
def cupy(monkeypatch):
    """Modules as CuPy has them, with one current stream."""
    # Dask looks into CuPy where it is installed.
    pytest.importorskip("trazar.dask")
    module, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
    module.cuda, module.asarray = cuda, lambda array: array
    cuda.Device = lambda: types.SimpleNamespace(id=0)
    cuda.stream = types.SimpleNamespace(ptr=0x5500)
    cuda.get_current_stream = lambda index: cuda.stream
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    return cuda


@pytest.fixture(autouse=True)
def clean():
    driver.stand_in_clear()
    yield


def image(*shape, dtype=np.uint8):
    """Aligned as devices align."""
    raw = np.zeros(int(np.prod(shape)) * np.dtype(dtype).itemsize + 256, np.uint8)
    start = -raw.ctypes.data % 256
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return raw[start : start + size].view(dtype).reshape(shape)


def launches(lines):
    return [line for line in lines if line[0] == "launch"]


def test_info():
    [gpu] = trazar.info()["gpus"]
    assert gpu["name"] == "stand-in" and trazar.info()["no_gpu"] is None


def test_arrays_of_the_host_are_worked_on_in_a_stream_of_ones_own():
    labels, count = trazar.label(np.ones((20, 48)), device="cuda")
    lines = log()
    [stream] = {line[1] for line in launches(lines)}
    assert int(stream) > 2 and ["synchronize", stream] in lines
    assert isinstance(labels, np.ndarray) and labels.shape == (20, 48) and count == 0
    assert trazar.find_contours(np.ones((20, 48)), device="cuda") == ((), None)


def test_labels_lie_on_the_device():
    labels, count = trazar.label(Array(image(20, 48)))
    assert isinstance(labels, trazar.DeviceArray)
    assert labels.shape == (20, 48) and labels.dtype == np.int32 and labels.ndim == 2
    assert labels.size == 960 and labels.nbytes == 3840 and len(labels) == 20
    assert labels.device == "cuda:0"
    assert type(count) is int and count == 0
    assert np.array_equal(labels.get(), np.zeros((20, 48), np.int32))
    assert labels[3].shape == (48,) and labels[-1].shape == (48,)
    with pytest.raises(IndexError):
        labels[20]
    with pytest.raises(TypeError):
        int(labels)
    interface = labels.__cuda_array_interface__
    assert interface["typestr"] == "<i4" and interface["strides"] is None
    assert interface["shape"] == (20, 48) and interface["version"] == 3


def test_unknown_libraries_use_the_default_stream_and_are_waited_for():
    labels, _ = trazar.label(Array(image(20, 48)))
    lines = log()
    assert {line[1] for line in launches(lines)} == {"1"}
    assert lines[-1] == ["synchronize", "1"]
    assert labels.stream == 1


def test_torch_is_worked_on_in_its_current_stream(torch):
    labels, _ = trazar.label(TorchArray(image(20, 48)))
    lines = log()
    assert launches(lines) and {line[1] for line in launches(lines)} == {str(0x7700)}
    # The host waits once, for the count.
    waits = [line for line in lines if line[0] in ("synchronize", "wait")]
    assert waits == [["synchronize", str(0x7700)]]
    assert lines.index(waits[0]) > lines.index(launches(lines)[-1])
    assert labels.stream == 0x7700
    del labels
    gc.collect()
    lines = log()
    assert lines and all(line == ["free", str(0x7700)] for line in lines), lines
    # Another stream is current from now on.
    torch.stream = Stream(0x7800)
    trazar.label(TorchArray(image(20, 48)))
    assert {line[1] for line in launches(log())} == {str(0x7800)}
    # 0 is the default stream.
    torch.stream = Stream(0)
    assert trazar.label(TorchArray(image(20, 48)))[0].stream == 1


def test_the_streams_object_is_kept_as_long_as_results(torch):
    import weakref

    torch.stream = Stream(0x7A00)
    kept = weakref.ref(torch.stream)
    labels, _ = trazar.label(TorchArray(image(20, 48)))
    # Others take its place in the cache of streams.
    for handle in range(0x8000, 0x8010):
        torch.stream = Stream(handle)
        trazar.label(TorchArray(image(20, 48)))
    gc.collect()
    assert kept() is not None
    del labels
    gc.collect()
    # Python objects that were given up without the GIL are dropped at the next call.
    trazar.label(TorchArray(image(20, 48)))
    gc.collect()
    assert kept() is None


def test_the_stream_that_an_array_names_is_waited_for():
    trazar.label(Array(image(20, 48), stream=0x9900))
    lines = log()
    record = next(line for line in lines if line[0] == "record")
    assert record[1] == str(0x9900)
    wait = next(i for i, line in enumerate(lines) if line == ["wait", "1", record[2]])
    assert wait < lines.index(launches(lines)[0])


def test_pitched_rows_are_taken_as_they_lie(torch):
    whole = image(20, 64)
    for view in (whole[:, 5:40], whole[3:, :50], whole[::2], whole[4:5, 3:]):
        trazar.label(TorchArray(view))
        trazar.trace(TorchArray(view))
    assert TorchArray.contiguous_calls == 0
    for view in (whole.T, whole[:, ::2], whole[::-1], image(4, 6, 8)[:, 0]):
        before = TorchArray.contiguous_calls
        trazar.label(TorchArray(view))
        assert TorchArray.contiguous_calls == before + (
            view.strides[-1] != 1 or view.strides[0] < 0
        )
    with pytest.raises(trazar.InputError, match="make it contiguous"):
        trazar.label(Array(whole.T))


class TorchNumbers(TorchArray):
    """The same, of any type of numbers."""

    __module__ = "torch"

    def __init__(self, array, stream=None):
        super().__init__(array, stream)
        self.dtype = f"torch.{array.dtype}"

    def element_size(self):
        return self.array.itemsize


def cost(friction):
    return trazar.cost_distance(friction, [(0, 0)])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.float32])
def test_rows_of_numbers_are_taken_as_they_lie(torch, dtype):
    whole = image(20, 64, dtype=dtype)
    before = TorchArray.contiguous_calls
    jobs = [(Array, trazar.label_values), (Array, trazar.polygonize), (Array, cost)]
    jobs += [(TorchNumbers, trazar.label_values), (TorchNumbers, trazar.polygonize)]
    for view in (whole, whole[:, 5:40], whole[::2], whole[4:5, 3:], whole[1:], whole[4:5][::-1]):
        for array, job in jobs:
            log()
            job(array(view))
            # Kernels need the alignment of a device's own memory.
            copies = [line for line in log() if line[0] == "copy"]
            assert len(copies) == (view.ctypes.data % 256 != 0)
    assert TorchArray.contiguous_calls == before
    for view in (whole.T, whole[:, ::2], whole[::-1]):
        for array, job in jobs:
            if array is Array:
                with pytest.raises(trazar.InputError, match="make it contiguous"):
                    job(Array(view))
                continue
            before = TorchArray.contiguous_calls
            job(array(view))
            assert TorchArray.contiguous_calls == before + 1


def test_numbers_of_other_types_are_refused(torch):
    for array in (Array, TorchNumbers):
        with pytest.raises(trazar.InputError, match="image of float64 on a GPU"):
            trazar.label_values(array(image(20, 48, dtype=np.float64)))
    with pytest.raises(trazar.InputError, match="friction of int64 on a GPU"):
        cost(Array(image(20, 48, dtype=np.int64)))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.float32, np.int64])
def test_other_elements_are_compared_by_their_library(torch, dtype):
    array = TorchArray(image(20, 48, dtype=dtype))
    compared = []
    TorchArray.__ne__ = lambda self, other: (
        compared.append(other) or TorchArray(image(20, 48, dtype=bool))
    )
    TorchArray.__gt__ = lambda self, other: (
        compared.append(other) or TorchArray(image(20, 48, dtype=bool))
    )
    try:
        trazar.label(array)
        assert compared == ([] if dtype in (bool, np.uint8) else [0])
        compared.clear()
        trazar.label(array, threshold=7)
        assert compared == ([] if dtype == np.uint8 else [7])
        compared.clear()
        trazar.label(array, threshold=0.5)
        assert compared == [0.5]
    finally:
        del TorchArray.__ne__, TorchArray.__gt__


def test_batches(torch):
    log()
    labels, counts = trazar.label_batch(TorchArray(image(5, 20, 48)))
    assert labels.shape == (5, 20, 48) and counts == [0] * 5
    assert {type(count) for count in counts} == {int}
    # The host waits once for all counts.
    assert [line for line in log() if line[0] == "synchronize"] == [["synchronize", str(0x7700)]]
    batch = trazar.trace_batch(TorchArray(image(5, 20, 48)))
    assert isinstance(batch, trazar.ContourBatch) and batch.device == "cuda:0"
    assert batch.image_offsets.tolist() == [0] * 6 and len(batch) == len(list(batch)) == 5
    assert isinstance(batch.points, trazar.DeviceArray) and batch.points.shape == (0, 2)
    assert batch[4].device == "cpu" and batch.to_host().device == "cpu"
    assert batch == trazar.trace_batch(np.zeros((5, 20, 48), np.uint8), device="cpu")
    assert trazar.find_contours_batch(TorchArray(image(5, 20, 48))) == [((), None)] * 5
    for job in (trazar.trace, trazar.label, trazar.label_stats, trazar.find_contours):
        with pytest.raises(trazar.InputError, match="_batch takes N images"):
            job(TorchArray(image(5, 20, 48)))
        with pytest.raises(trazar.InputError, match="_batch takes N images"):
            getattr(trazar, f"{job.__name__}_batch")(TorchArray(image(20, 48)))
    # Planes that do not follow each other.
    before = TorchArray.contiguous_calls
    trazar.label_batch(TorchArray(image(5, 20, 48)[:, :10]))
    assert TorchArray.contiguous_calls == before + 1


def test_contours(torch):
    contours = trazar.trace(TorchArray(image(20, 48)))
    assert contours.device == "cuda:0" and len(contours) == 0
    assert contours.points.shape == (0, 2) and contours.points.dtype == np.int32
    assert contours.offsets.shape == (1,) and contours.kinds.dtype == np.uint8
    assert contours.hierarchy.shape == (0, 4)
    assert contours.points.__cuda_array_interface__["data"] == (0, False)
    host = contours.to_host()
    assert host.device == "cpu" and len(host) == 0 and host.areas().shape == (0,)
    assert trazar.find_contours(TorchArray(image(20, 48))) == ((), None)
    columns = trazar.label_stats(TorchArray(image(20, 48)))[1]
    assert all(len(column) == 0 for column in columns.values())


def test_bands_of_dask_are_worked_on_where_they_lie(cupy):
    from trazar import _trazar
    from trazar.dask import _bands, _labels

    mask = _bands.pack(CupyArray(image(20, 48)))
    lines = log()
    # The bits are copied to the host.
    assert launches(lines) and {line[1] for line in launches(lines)} == {str(0x5500)}
    assert mask.shape == (20, 48) and mask.nbytes == 20 * 8
    part, _ = _trazar.label_part(mask, 0, 4, False, "cuda")
    contours = _trazar.trace_part(mask, 0, None, None, "tree", "simple", "centers", "cuda")
    assert contours.count() == 0
    # These tasks are on the library's own stream.
    assert str(0x5500) not in {line[1] for line in launches(log())}
    [numbers] = part.finish()
    labels = _labels._label_again(numbers, mask, 4, False, "cuda", True)
    assert isinstance(labels, trazar.DeviceArray) and labels.shape == (20, 48)
    assert labels.stream == 0x5500
    assert {line[1] for line in launches(log())} == {str(0x5500)}
    host = _labels._label_again(numbers, mask, 4, True, "cuda", False)
    assert isinstance(host, np.ndarray) and host.dtype == np.int64
    with pytest.raises(trazar.InputError, match="3 dimensions"):
        _bands.pack(CupyArray(image(2, 20, 48)))


class Tensor(ctypes.Structure):
    """`DLManagedTensorVersioned`, as far as the tests look."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype = ctypes.c_void_p
pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
rename = ctypes.pythonapi.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]


def taken(capsule) -> Tensor:
    address = pointer_of(capsule, b"dltensor_versioned")
    rename(capsule, b"used_dltensor_versioned")
    return Tensor.from_address(address)


def test_results_are_given_by_dlpack(torch):
    labels, _ = trazar.label(TorchArray(image(20, 48)))
    before = driver.stand_in_allocated()
    assert labels.__dlpack_device__() == (2, 0)
    tensor = taken(labels.__dlpack__(stream=0x7700, max_version=(1, 0)))
    assert tensor.data == labels.__cuda_array_interface__["data"][0]
    assert tensor.ndim == 2 and tensor.shape[:2] == [20, 48] and tensor.strides[:2] == [48, 1]
    assert (tensor.code, tensor.bits, tensor.lanes) == (0, 32, 1)
    assert tuple(tensor.device) == (2, 0)
    log()
    del labels
    gc.collect()
    # The tensor keeps its array.
    assert driver.stand_in_allocated() == before
    tensor.deleter(ctypes.addressof(tensor))
    assert driver.stand_in_allocated() == before - 1
    # The consumer's stream was the producer's: nothing waited.
    assert all(line == ["free", str(0x7700)] for line in log())


def test_capsules_that_nobody_takes_are_deleted(torch):
    labels, _ = trazar.label(TorchArray(image(20, 48)))
    for version in (None, (0, 8), (1, 0)):
        labels.__dlpack__(max_version=version)
    held = driver.stand_in_allocated()
    del labels
    gc.collect()
    assert driver.stand_in_allocated() == held - 1


def test_the_consumers_stream_waits(torch):
    labels, _ = trazar.label(TorchArray(image(20, 48)))
    log()
    # One that PyTorch has as its current one: kept, and waited for at the end.
    torch.stream = Stream(0x6600)
    tensor = taken(labels.__dlpack__(stream=0x6600, max_version=(1, 0)))
    [record, wait] = log()
    assert record[:2] == ["record", str(0x7700)] and wait == ["wait", str(0x6600), record[2]]
    del labels
    tensor.deleter(ctypes.addressof(tensor))
    [record, wait, free] = log()
    assert record[:2] == ["record", str(0x6600)] and wait == ["wait", str(0x7700), record[2]]
    assert free == ["free", str(0x7700)]
    # One that nobody keeps: all of the device is waited for at the end.
    labels, _ = trazar.label(TorchArray(image(20, 48)))
    log()
    tensor = taken(labels.__dlpack__(stream=0x5500, max_version=(1, 0)))
    [record, wait] = log()
    assert wait == ["wait", str(0x5500), record[2]]
    del labels
    tensor.deleter(ctypes.addressof(tensor))
    assert log() == [["synchronize", "device"], ["free", str(0x6600)]]
    # None is the default stream, and -1 is none.
    labels, _ = trazar.label(TorchArray(image(20, 48)))
    log()
    labels.__dlpack__()
    assert ["wait", "1", log()[0][2]][:2] == ["wait", "1"]
    labels.__dlpack__(stream=-1)
    assert log() == []
    for refused in ({"stream": 0}, {"stream": -2}, {"dl_device": (1, 0)}, {"copy": True}):
        with pytest.raises(BufferError):
            labels.__dlpack__(**refused)


class DlpackOnly:
    """An array on the GPU that speaks DLPack only: a result of this library, disguised."""

    def __init__(self, array):
        self.array = array
        self.shape = array.shape
        self.dtype = np.dtype(np.uint8)
        self.streams = []

    def __dlpack__(self, *, stream, max_version=None):
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream, max_version=max_version)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_alone_will_do(torch):
    class Bytes(Array):
        pass

    # A uint8 array of the library's own: the kinds of contours of nothing would be empty, so an
    # int32 one is refused by its type.
    labels, _ = trazar.label(TorchArray(image(20, 48)))
    disguised = DlpackOnly(labels)
    with pytest.raises(trazar.InputError, match="int32"):
        trazar.label(disguised)
    assert disguised.streams == [1]
    held = driver.stand_in_allocated()
    del labels, disguised
    gc.collect()
    assert driver.stand_in_allocated() == held - 1


def test_refused():
    for shape in ((5,), (2, 3, 4, 5), (0, 4), (4, 0)):
        with pytest.raises(trazar.InputError) as refused:
            trazar.label(Array(np.zeros(shape, np.uint8)))
        assert "\n" not in str(refused.value)
    for call in (
        lambda array: trazar.label(array, device="cpu"),
        lambda array: trazar.label(array, output=np.int64),
        lambda array: trazar.find_contours(array, offset=(2**31 - 20, 0)),
        lambda array: trazar.find_contours(array, offset=(0.5, 0)),
        lambda array: trazar.find_contours_batch(array),
        lambda array: trazar.trace(array, algorithm="suzuki"),
    ):
        with pytest.raises(trazar.InputError):
            call(Array(image(20, 48)))


class Type:
    """An element type of PyTorch's."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


Type.__module__ = "torch"


def torch_output(array, name=None):
    """A tensor of this array, which counts copies to it."""
    output = TorchArray(array)
    output.dtype = Type(name or array.dtype.name)
    output.copies = []
    output.copy_ = output.copies.append
    return output


def test_labels_are_written_to_the_callers_array(torch):
    array = TorchArray(image(20, 48))
    for dtype in (np.int32, np.uint32):
        given = image(20, 48, dtype=dtype)
        output = torch_output(given)
        before = driver.stand_in_allocated()
        log()
        assert trazar.label(array, output=output) == 0
        # By the kernels, to this memory: nothing was copied, nothing is left.
        lines = log()
        assert launches(lines) and not any(line[0] == "copy" for line in lines)
        assert driver.stand_in_allocated() == before and output.copies == []
    # Memory that kernels can't write to: a row further on, of 192 bytes.
    given = image(21, 48, dtype=np.int32)
    given[:] = 7
    assert trazar.label(array, None, torch_output(given[1:])) == 0
    assert [line for line in log() if line[0] == "copy"] == [["copy", str(0x7700)]]
    # The stand-in's kernels do nothing, and its new memory is 0.
    assert (given[0] == 7).all() and (given[1:] == 0).all()


def test_other_arrays_are_copied_to_by_their_library(torch, monkeypatch):
    sys.modules["torch"].from_dlpack = lambda labels: labels
    array = TorchArray(image(20, 48))
    for given, name in (
        (image(20, 48, dtype=np.int64), None),
        (image(20, 48, dtype=np.float32), None),
        (image(48, 20, dtype=np.int32).T, None),
        (image(20, 96, dtype=np.int32)[:, ::2], None),
        (image(20, 48, dtype=bool), "bool"),
    ):
        output = torch_output(given, name)
        assert trazar.label(array, output=output) == 0
        [labels] = output.copies
        assert isinstance(labels, trazar.DeviceArray) and labels.shape == (20, 48)
    # An axis of one element may have any stride.
    output = torch_output(image(20, 96, dtype=np.int32)[3:4, 5:53])
    assert trazar.label(TorchArray(image(1, 48)), output=output) == 0 and not output.copies


def test_arrays_of_cupy_are_copied_to_on_their_device(cupy):
    class Output(CupyArray):
        entered = 0
        copied = None

        @property
        def device(self):
            return self

        def __enter__(self):
            self.entered += 1

        def __exit__(self, *_):
            self.entered -= 1

        def __setitem__(self, key, value):
            assert key is ... and self.entered == 1
            self.copied = value

    Output.__module__ = "cupy"
    output = Output(image(20, 48, dtype=np.int16))
    assert trazar.label(CupyArray(image(20, 48)), output=output) == 0
    assert isinstance(output.copied, trazar.DeviceArray) and output.entered == 0
    assert trazar.label(CupyArray(image(20, 48)), output=Output(image(20, 48, dtype="i4"))) == 0


def test_an_output_of_another_library_is_waited_for(torch):
    log()
    assert trazar.label(TorchArray(image(20, 48)), output=Array(image(20, 48, dtype=np.int32))) == 0
    lines = log()
    record = next(line for line in lines if line[0] == "record")
    # The default stream, which an unknown library works on; and a stream that an array names.
    assert record[1] == "1" and lines.index(record) < lines.index(launches(lines)[0])
    assert ["wait", str(0x7700), record[2]] in lines
    output = Array(image(20, 48, dtype=np.uint32), stream=0x9900)
    trazar.label(TorchArray(image(20, 48)), output=output)
    assert any(line[:2] == ["record", str(0x9900)] for line in log())
    # A result is an array to write to as any other.
    labels, _ = trazar.label(Array(image(20, 48)))
    assert trazar.label(Array(image(20, 48)), output=labels) == 0


def test_outputs_that_are_refused(torch):
    array, host = TorchArray(image(20, 48)), np.zeros((20, 48), np.uint8)
    read_only = Array(image(20, 48, dtype=np.int32))
    read_only.array.flags.writeable = False
    elsewhere = torch_output(image(20, 48, dtype=np.int32))
    elsewhere.get_device = lambda: 1
    on_gpu = torch_output(image(20, 48, dtype=np.int32))
    log()
    for given, output, text in (
        (array, np.int64, "output=int64: of an image on a GPU, labels are int32"),
        (array, "u4", "output=uint32: of an image on a GPU, labels are int32"),
        (array, np.zeros((20, 48), np.int32), "output is in the host's memory"),
        (array, elsewhere, "output is on cuda:1, and the image on cuda:0"),
        (array, torch_output(image(20, 47, dtype=np.int32)), r"of shape \(20, 47\): .*\(20, 48\)"),
        (array, torch_output(image(20, 48, dtype=np.int32), "complex64"), "labels are integers"),
        (array, torch_output(image(20, 48, dtype=np.int32), "bfloat16"), "it is an element type"),
        (array, read_only, "read-only"),
        (array, Array(image(20, 48, dtype=np.int64)), "of int32 or uint32, in C's order"),
        (array, Array(image(48, 20, dtype=np.int32).T), "of int32 or uint32, in C's order"),
        (array, "labels", "output='labels': it is an element type"),
        (host, on_gpu, "output is no array of NumPy's"),
    ):
        with pytest.raises(trazar.InputError, match=text) as refused:
            trazar.label(given, output=output)
        assert "\n" not in str(refused.value)
    # Before any work was queued.
    assert not launches(log())
    assert trazar.label(array, output=np.int32)[0].dtype == np.int32
    assert trazar.label(array, output=Type("int32"))[1] == 0


def test_no_memory_is_left_behind(torch):
    array = TorchArray(image(20, 48))

    def calls():
        for _ in range(50):
            trazar.label(array)
            trazar.label_batch(TorchArray(image(3, 20, 48)))
            trazar.trace(array)
            trazar.find_contours(array, offset=(3, 4))
            trazar.label(array, output=torch_output(image(20, 48, dtype=np.int32)))
            trazar.label(array)[0].__dlpack__()
        gc.collect()

    calls()
    held = driver.stand_in_allocated()
    calls()
    assert driver.stand_in_allocated() == held
