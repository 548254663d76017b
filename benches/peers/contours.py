"""Contours with their hierarchy, as `cv2.findContours` gives them: a list of arrays."""

from __future__ import annotations

import numpy as np

import trazar

from . import opencv
from .images import masks
from .machine import cores
from .task import Input, Settings, Task


def same(ours, theirs):
    """The same contours in the same order, point by point."""
    if len(ours) != len(theirs):
        return f"{len(theirs)} contours, ours are {len(ours)}"
    return None if all(map(np.array_equal, ours, theirs)) else "other points"


def same_in_any_order(ours, theirs):
    """The same contours, each from the same first point."""
    sort = lambda found: sorted(each.tobytes() for each in found)  # noqa: E731
    return None if sort(ours) == sort(theirs) else "other contours"


def inputs(settings: Settings):
    sides = settings.sides([512, 1024, 2048, 4096, 8192], [256, 512])
    yield from masks(settings, sides, 4096)


def quadratic(given: Input) -> bool:
    """OpenCV's hierarchy takes time quadratic in the number of contours: minutes for noise."""
    return given.name == "noise" and given.shape[0] > 1024


def arrays(found) -> list[np.ndarray]:
    """Our contours in two arrays, as a program without Python's lists has them, as a list."""
    return [each.reshape(-1, 1, 2) for each in found]


def _tree() -> Task:
    task = Task("contours", "contours, tree", same)
    task.on(inputs)
    task.result_bytes = lambda found: sum(each.nbytes for each in found[0])

    @task.program("trazar", on=("core", "cores", "gpu"), convert=lambda found: found[0])
    def ours(image, settings):
        return lambda: trazar.find_contours(image, device=settings.device)

    @task.program("trazar.trace", on=("core", "cores"), convert=arrays)
    def as_arrays(image, settings):
        return lambda: trazar.trace(image, device=settings.device)

    @task.program("OpenCV", needs=("cv2",), convert=lambda found: found[0], skip=quadratic)
    def opencv_python(image, settings):
        import cv2

        return lambda: cv2.findContours(image, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)

    @task.program("OpenCV C++", missing=opencv.missing, convert=opencv.contours, skip=quadratic)
    def opencv_cpp(image, settings):
        return opencv.find_contours(image, 1, flat=False)

    return task


def _list() -> Task:
    task = Task("contours", "contours, list", same)
    task.on(inputs)

    @task.program("trazar", on=("core", "cores"), convert=lambda found: found[0])
    def ours(image, settings):
        return lambda: trazar.find_contours(image, trazar.RETR_LIST, device=settings.device)

    @task.program("trazar.trace", on=("core", "cores"), convert=arrays)
    def as_arrays(image, settings):
        return lambda: trazar.trace(image, retrieval="list", device=settings.device)

    @task.program("OpenCV", needs=("cv2",), convert=lambda found: found[0])
    def opencv_python(image, settings):
        import cv2

        return lambda: cv2.findContours(image, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)

    @task.program(
        "OpenCV C++",
        missing=opencv.missing,
        on=("core", "cores"),
        convert=opencv.contours,
        same=same_in_any_order,
    )
    def opencv_cpp(image, settings):
        """Without a hierarchy, which Python always asks for: OpenCV 4.14 and later has a quicker
        algorithm for that, with threads, and gives the contours in another order."""
        return opencv.find_contours(image, 1 if settings.on == "core" else cores(), flat=True)

    return task


TASKS = [_tree(), _list()]
