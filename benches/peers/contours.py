"""Contours with their hierarchy, as `cv2.findContours` gives them: a list of arrays."""

from __future__ import annotations

import numpy as np

import trazar

from .images import masks
from .task import Input, Settings, Task


def same(ours, theirs):
    """The same contours in the same order, point by point."""
    if len(ours) != len(theirs):
        return f"{len(theirs)} contours, ours are {len(ours)}"
    return None if all(map(np.array_equal, ours, theirs)) else "other points"


def inputs(settings: Settings):
    sides = settings.sides([512, 1024, 2048, 4096, 8192], [256, 512])
    yield from masks(settings, sides, 4096)


def quadratic(given: Input) -> bool:
    """OpenCV's hierarchy takes time quadratic in the number of contours: minutes for noise."""
    return given.name == "noise" and given.shape[0] > 1024


def _tree() -> Task:
    task = Task("contours", "contours, tree", same)
    task.on(inputs)
    task.result_bytes = lambda found: sum(each.nbytes for each in found[0])

    @task.program("trazar", on=("core", "cores", "gpu"), convert=lambda found: found[0])
    def ours(image, settings):
        return lambda: trazar.find_contours(image, device=settings.device)

    @task.program("OpenCV", needs=("cv2",), convert=lambda found: found[0], skip=quadratic)
    def opencv(image, settings):
        import cv2

        return lambda: cv2.findContours(image, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)

    return task


def _list() -> Task:
    task = Task("contours", "contours, list", same)
    task.on(inputs)

    @task.program("trazar", on=("core", "cores"), convert=lambda found: found[0])
    def ours(image, settings):
        return lambda: trazar.find_contours(image, trazar.RETR_LIST, device=settings.device)

    @task.program("OpenCV", needs=("cv2",), convert=lambda found: found[0])
    def opencv(image, settings):
        import cv2

        return lambda: cv2.findContours(image, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)

    return task


TASKS = [_tree(), _list()]
