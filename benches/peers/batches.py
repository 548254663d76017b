"""Many images of one size in one call, beside a loop and a pool of threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import trazar

from .contours import same as same_list
from .images import blobs
from .task import Input, Settings, Task, same_partition


def inputs(settings: Settings):
    for count, side in [(16, 128)] if settings.quick else [(64, 256), (64, 1024), (256, 256)]:
        stack = blobs(side, side * count).reshape(count, side, side)
        yield Input(f"{count} images", (count, side, side), stack, amount=count)


def same_lists(ours, theirs) -> str | None:
    """The same contours of each image."""
    found = (same_list(a, b) for (a, _), (b, _) in zip(ours, theirs, strict=True))
    return next((wrong for wrong in found if wrong), None)


def one_threaded(settings: Settings) -> ThreadPoolExecutor:
    """A pool as wide as the machine, in which OpenCV uses one thread for each image."""
    import cv2

    cv2.setNumThreads(1)
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))


contours = Task("batches", "contours of a batch", same_lists)
contours.on(inputs)


@contours.program("trazar", on=("core", "cores", "gpu"))
def our_contours(images, settings):
    return lambda: trazar.find_contours_batch(images, device=settings.device)


def find(image):
    import cv2

    return cv2.findContours(image, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)


@contours.program("OpenCV", needs=("cv2",), on=("core", "cores"))
def opencv_contours(images, settings):
    if settings.on == "core":
        return lambda: [find(image) for image in images]
    pool = one_threaded(settings)
    return lambda: list(pool.map(find, images))


def same_labels(ours, theirs) -> str | None:
    """The same components of each image."""
    found = (same_partition(a, b) for a, b in zip(ours, theirs, strict=True))
    return next((wrong for wrong in found if wrong), None)


labels = Task("batches", "labels of a batch", same_labels)
labels.on(inputs)


@labels.program("trazar", on=("core", "cores", "gpu"), convert=lambda found: found[0])
def our_labels(images, settings):
    return lambda: trazar.label_batch(images, connectivity=8, device=settings.device)


@labels.program("OpenCV", needs=("cv2",), on=("core", "cores"),
                convert=lambda found: [labels for _, labels in found])  # fmt: skip
def opencv_labels(images, settings):
    import cv2

    if settings.on == "core":
        return lambda: [cv2.connectedComponents(image) for image in images]
    pool = one_threaded(settings)
    return lambda: list(pool.map(cv2.connectedComponents, images))


@labels.program("SciPy", needs=("scipy",), convert=list)
def scipy_labels(images, settings):
    """One call for all images: neighbours in one image alone."""
    from scipy import ndimage

    structure = np.zeros((3, 3, 3), int)
    structure[1] = 1

    def whole():
        found, _ = ndimage.label(images, structure)
        return found

    return whole


TASKS = [contours, labels]
