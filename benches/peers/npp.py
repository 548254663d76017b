"""NPP's labels on a GPU: its library by ctypes, memory by NVIDIA's driver, and nothing else."""

from __future__ import annotations

import ctypes
import functools
import glob
import sys
from pathlib import Path

import numpy as np

#: As `NppiNorm` numbers them: the 8 neighbours of a pixel, or the 4.
NORMS = {8: 0, 4: 1}
#: The driver's numbers of what `StreamContext` tells NPP of the device.
MULTIPROCESSORS, THREADS_PER_MULTIPROCESSOR, THREADS_PER_BLOCK, SHARED_PER_BLOCK = 16, 39, 1, 8
MAJOR, MINOR = 75, 76


class Size(ctypes.Structure):
    """`NppiSize`."""

    _fields_ = [("width", ctypes.c_int), ("height", ctypes.c_int)]


class StreamContext(ctypes.Structure):
    """`NppStreamContext`."""

    _fields_ = [
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_int),
        ("multiprocessors", ctypes.c_int),
        ("threads_per_multiprocessor", ctypes.c_int),
        ("threads_per_block", ctypes.c_int),
        ("shared_per_block", ctypes.c_size_t),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("stream_flags", ctypes.c_uint),
        ("workspace", ctypes.c_int),
    ]


def missing_gpu() -> str | None:
    """Why there is no GPU to use, if so."""
    return _driver() if isinstance(_driver(), str) else None


def missing() -> str | None:
    """Why NPP can't be used, if so."""
    return missing_gpu() or (_library() if isinstance(_library(), str) else None)


@functools.cache
def _library() -> ctypes.CDLL | str:
    """The library of filters: from PyPI's nvidia-npp, the toolkit, or the linker's path."""
    folders = [str(Path(path, "nvidia")) for path in sys.path]
    folders += ["/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib"]
    found = [
        path
        for folder in folders
        for path in sorted(glob.glob(f"{folder}/**/libnppif.so.*", recursive=True))
    ]
    said = "no libnppif.so: pip install nvidia-npp, or nvidia-npp-cu12"
    for path in [*found, "libnppif.so.13", "libnppif.so.12"]:
        try:
            # It needs this one, which the linker would not look for beside it.
            core = path.replace("libnppif", "libnppc")
            ctypes.CDLL(core, mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(path)
        except OSError as error:
            said = f"{path}: {error}" if path in found else said
    return said


@functools.cache
def _driver() -> ctypes.CDLL | str:
    """The driver, with the first device's context as this thread's."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver"
    device, context = ctypes.c_int(), ctypes.c_void_p()
    status = (
        driver.cuInit(0)
        or driver.cuDeviceGet(ctypes.byref(device), 0)
        or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        or driver.cuCtxSetCurrent(context)
    )
    return f"no GPU: the driver's status is {status}" if status else driver


def _checked(name: str, *arguments: object) -> None:
    """Calls a function of the driver."""
    if status := getattr(_driver(), name)(*arguments):
        raise RuntimeError(f"{name}: status {status}")


@functools.cache
def _stream_context() -> StreamContext:
    """The default stream of the first device."""

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        _checked("cuDeviceGetAttribute", ctypes.byref(value), number, 0)
        return value.value

    return StreamContext(
        None,
        0,
        attribute(MULTIPROCESSORS),
        attribute(THREADS_PER_MULTIPROCESSOR),
        attribute(THREADS_PER_BLOCK),
        attribute(SHARED_PER_BLOCK),
        attribute(MAJOR),
        attribute(MINOR),
        0,
        0,
    )


class Memory:
    """Memory of the GPU."""

    def __init__(self, size: int) -> None:
        self.address = ctypes.c_uint64()
        _checked("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(max(size, 1)))
        self.pointer = ctypes.c_void_p(self.address.value)

    def __del__(self) -> None:
        if self.address.value:
            _driver().cuMemFree_v2(self.address)


class Labels:
    """Labels of equal values, of images of one shape, in memory that is kept between calls.

    `nppiLabelMarkersUF` labels every pixel, those of the background too, with numbers that have
    gaps.
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype, connectivity: int) -> None:
        if why := missing():
            raise RuntimeError(f"NPP: {why}")
        self.shape, self.dtype, self.norm = shape, np.dtype(dtype), NORMS[connectivity]
        self.size = Size(shape[1], shape[0])
        library = _library()
        self.function = {
            1: library.nppiLabelMarkersUF_8u32u_C1R_Ctx,
            4: library.nppiLabelMarkersUF_32u_C1R_Ctx,
        }[self.dtype.itemsize]
        needed = ctypes.c_int()
        status = library.nppiLabelMarkersUFGetBufferSize_32u_C1R(self.size, ctypes.byref(needed))
        if status < 0:
            raise RuntimeError(f"nppiLabelMarkersUFGetBufferSize_32u_C1R: status {status}")
        self.scratch = Memory(needed.value)
        pixels = shape[0] * shape[1]
        self.image, self.labels = Memory(pixels * self.dtype.itemsize), Memory(4 * pixels)

    def label(self, image: ctypes.c_void_p, labels: ctypes.c_void_p) -> None:
        """From memory of the GPU to memory of the GPU; it does not wait for the end."""
        width = self.shape[1]
        status = self.function(
            image, width * self.dtype.itemsize, labels, 4 * width, self.size, self.norm,
            self.scratch.pointer, _stream_context(),
        )  # fmt: skip
        if status < 0:
            raise RuntimeError(f"{self.function.__name__}: status {status}")

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """From an array in the host's memory to one."""
        source = ctypes.c_void_p(image.ctypes.data)
        _checked("cuMemcpyHtoD_v2", self.image.address, source, ctypes.c_size_t(image.nbytes))
        self.label(self.image.pointer, self.labels.pointer)
        found = np.empty(self.shape, np.uint32)
        target = ctypes.c_void_p(found.ctypes.data)
        _checked("cuMemcpyDtoH_v2", target, self.labels.address, ctypes.c_size_t(found.nbytes))
        return found


def call(image: np.ndarray, connectivity: int):
    """The call to time. Its result is a pair of labels and image: see :func:`foreground`."""
    image = np.ascontiguousarray(image)
    labels = Labels(image.shape, image.dtype, connectivity)
    return lambda: (labels(image), image)


def foreground(found: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Labels as others have them: 0 for the background, which gets no other number."""
    labels, image = found
    return np.where(image == 0, 0, labels.astype(np.int64) + 1)
