"""CuPy's and NPP's labelling on the images of the bench, for comparison. Needs a GPU and CuPy.

    trazar generate mask blobs --size 4096 -o blobs.npy    # or any 2-D .npy; nonzero is foreground
    python benches/cupy_npp.py blobs.npy

Times are medians by CUDA events with the data on the GPU, after a warm-up, beside a
device-to-device copy of the image's bytes in the same run. NPP is called as `benches/run` calls it,
if it is found: it labels the background's regions, too, and its numbers have gaps; the other's are
consecutive.
"""

import ctypes
import sys

import cupy
import cupyx.scipy.ndimage
import numpy
from peers import npp


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


def npp_ms(image):
    labels = npp.Labels(image.shape, image.dtype, 8)
    source = ctypes.c_void_p(image.data.ptr)
    return median_ms(lambda: labels.label(source, labels.labels.pointer))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
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
        if why := npp.missing():
            print(f"  NPP: skipped: {why}")
            continue
        ms = npp_ms(image)
        print(f"  NPP, 8-connected       {ms:10.4f} ms  {ms / copy:8.2f} x copy, not dense")


if __name__ == "__main__":
    main()
