"""CuPy's and NPP's labelling on the images of the bench, for comparison. Needs a GPU and CuPy.

    trazar generate mask blobs --size 4096 -o blobs.npy    # or any 2-D .npy; nonzero is foreground
    python benches/cupy_npp.py blobs.npy

Times are medians by CUDA events with the data on the GPU, after a warm-up, beside a
device-to-device copy of the image's bytes in the same run. NPP is called through ctypes, if its
library is found. Its labels are not numbered densely; the labels of the other two are.
"""

import ctypes
import ctypes.util
import glob
import os
import sys

import cupy
import cupyx.scipy.ndimage
import numpy


def median_ms(work, repeats=20):
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end))
    return float(numpy.median(times))


def find_npp():
    """NPP's library of filters: on the linker's path, in the toolkit, or from PyPI's nvidia-npp."""
    folders = [os.path.join(path, "nvidia") for path in sys.path]
    folders += ["/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib"]
    for folder in folders:
        for pattern in (f"{folder}/libnppif.so.*", f"{folder}/**/libnppif.so.*"):
            for path in sorted(glob.glob(pattern, recursive=True)):
                try:
                    return ctypes.CDLL(path)
                except OSError:
                    continue
    name = ctypes.util.find_library("nppif")
    return ctypes.CDLL(name) if name else None


class Size(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int), ("height", ctypes.c_int)]


class StreamContext(ctypes.Structure):
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
        ("reserved", ctypes.c_int),
    ]


def context():
    device = cupy.cuda.Device()
    get = device.attributes
    return StreamContext(
        0,
        device.id,
        get["MultiProcessorCount"],
        get["MaxThreadsPerMultiProcessor"],
        get["MaxThreadsPerBlock"],
        get["MaxSharedMemoryPerBlock"],
        int(device.compute_capability[:-1]),
        int(device.compute_capability[-1]),
        0,
        0,
    )


def checked(status):
    if status < 0:
        raise RuntimeError(f"NPP status {status}")


def npp_label(npp, image):
    """The time of labelling, without dense numbers."""
    height, width = image.shape
    size = Size(width, height)
    labels = cupy.empty((height, width), cupy.uint32)
    needed = ctypes.c_int()
    checked(npp.nppiLabelMarkersUFGetBufferSize_32u_C1R(size, ctypes.byref(needed)))
    scratch = cupy.empty(max(needed.value, 1), cupy.uint8)
    ctx = context()
    eight_way = 1  # nppiNormInf
    pointer = lambda array: ctypes.c_void_p(array.data.ptr)

    def label():
        checked(
            npp.nppiLabelMarkersUF_8u32u_C1R_Ctx(
                pointer(image), width, pointer(labels), width * 4, size, eight_way,
                pointer(scratch), ctx
            )
        )

    return median_ms(label)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    npp = find_npp()
    for path in sys.argv[1:]:
        image = cupy.asarray((numpy.load(path) != 0).astype(numpy.uint8) * 255)
        target = cupy.empty_like(image)
        print(f"{path}: {image.shape[1]} x {image.shape[0]}")
        copy = median_ms(lambda: cupy.copyto(target, image))
        print(f"  copy of the bytes      {copy:10.4f} ms")
        eight = cupy.ones((3, 3), cupy.int32)
        _, components = cupyx.scipy.ndimage.label(image, eight)
        ms = median_ms(lambda: cupyx.scipy.ndimage.label(image, eight))
        print(f"  CuPy, 8-connected      {ms:10.4f} ms  {ms / copy:8.2f} x copy, "
              f"{components} components")
        if npp is None:
            print("  NPP: skipped: libnppif was not found")
            continue
        try:
            ms = npp_label(npp, image)
        except (RuntimeError, AttributeError) as error:
            print(f"  NPP: skipped: {error}")
            continue
        print(f"  NPP, 8-connected       {ms:10.4f} ms  {ms / copy:8.2f} x copy, not dense")


if __name__ == "__main__":
    main()
