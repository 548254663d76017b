"""OpenCV in C++, of an installed OpenCV: `opencv.cpp`, compiled here and called by ctypes."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("opencv.cpp")


#: Names the library for processes that this one starts, so that it is compiled once.
COMPILED = "TRAZAR_BENCHES_OPENCV"


@functools.cache
def _library() -> ctypes.CDLL | str:
    """The library, or why there is none. ``PKG_CONFIG_PATH`` may name another OpenCV."""
    try:
        if COMPILED not in os.environ:
            os.environ[COMPILED] = _compile()
        library = ctypes.CDLL(os.environ[COMPILED])
    except subprocess.CalledProcessError as error:
        return f"{error.cmd[0]}: {error.stderr.strip()[:500]}"
    except OSError as error:  # No such program, or OpenCV's libraries are not found.
        return str(error)
    for name in ("opencv_contours", "opencv_labels", "opencv_label_pixels"):
        getattr(library, name).restype = ctypes.c_void_p
    library.opencv_contour_count.restype = ctypes.c_size_t
    library.opencv_version.restype = ctypes.c_char_p
    return library


def _compile() -> str:
    """The library's path, in a folder that this process removes at its end."""
    command = ["pkg-config", "--cflags", "--libs-only-L", "opencv4"]
    flags = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    paths = [f"-Wl,-rpath,{flag[2:]}" for flag in flags if flag.startswith("-L")]
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    target = str(Path(folder, "opencv.so"))
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-O3", "-shared", "-fPIC"]
    command += [str(SOURCE), "-o", target, *flags, *paths, "-lopencv_imgproc", "-lopencv_core"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


def missing() -> str | None:
    """Why it can't be used, if so."""
    return _library() if isinstance(_library(), str) else None


def version() -> str | None:
    """OpenCV's, if it is there."""
    return None if missing() else _library().opencv_version().decode()


class Result:
    """What a call has given, until it is freed."""

    def __init__(self, address: int | None, free: str) -> None:
        if address is None:
            raise RuntimeError("OpenCV has raised an exception")
        self.address, self.free = ctypes.c_void_p(address), getattr(_library(), free)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self.free(self.address)


def described(image: np.ndarray) -> tuple:
    """The arguments that describe an image. Its array must outlive the call."""
    return ctypes.c_void_p(image.ctypes.data), *map(ctypes.c_int, image.shape)


def find_contours(image: np.ndarray, threads: int, *, flat: bool):
    """The call to time: all contours with their nesting, or without any links."""
    image = np.ascontiguousarray(image)
    library, how = _library(), (ctypes.c_bool(flat), ctypes.c_bool(not flat))
    library.opencv_threads(threads)

    def call() -> Result:
        return Result(library.opencv_contours(*described(image), *how), "opencv_free_contours")

    return call


def contours(found: Result) -> list[np.ndarray]:
    """As Python's OpenCV has them."""
    library = _library()
    lengths = np.empty(library.opencv_contour_count(found.address), np.int64)
    library.opencv_contour_lengths(found.address, ctypes.c_void_p(lengths.ctypes.data))
    points = np.empty((int(lengths.sum()), 1, 2), np.int32)
    library.opencv_contour_points(found.address, ctypes.c_void_p(points.ctypes.data))
    return np.split(points, np.cumsum(lengths)[:-1]) if len(lengths) else []


def find_labels(image: np.ndarray, threads: int):
    """The call to time: 8-connected components."""
    image = np.ascontiguousarray(image)
    library = _library()
    library.opencv_threads(threads)

    def call() -> tuple[Result, tuple[int, ...]]:
        found = Result(library.opencv_labels(*described(image)), "opencv_free_labels")
        return found, image.shape

    return call


def labels(found: tuple[Result, tuple[int, ...]]) -> np.ndarray:
    """As an array."""
    result, shape = found
    address = _library().opencv_label_pixels(result.address)
    pixels = ctypes.cast(address, ctypes.POINTER(ctypes.c_int32))
    return np.ctypeslib.as_array(pixels, shape).copy()
