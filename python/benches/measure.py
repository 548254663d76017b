"""Measures beside scikit-image's, and run lengths beside pycocotools': the same images, one thread.

    RAYON_NUM_THREADS=1 python python/benches/measure.py [SIDE [CELLS]]

SIDE is the label image's (4096), CELLS its number of touching cells (25000). Times are the fastest
of a few runs, in milliseconds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

# Before any thread starts.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
import scipy.ndimage
import scipy.spatial
import skimage.measure
from pycocotools import mask as coco

import trazar

FOUR = ("label", "area", "bbox", "centroid")
TEN = (*FOUR, "perimeter", "eccentricity", "orientation", "euler_number", "intensity_mean")
TEN = (*TEN, "intensity_max")
OTHERS = (
    "perimeter_crofton", "moments_hu", "intensity_std", "centroid_weighted", "area_convex",
    "feret_diameter_max", "area_filled",
)  # fmt: skip


def fastest(work: Callable[[], object], runs: int) -> float:
    """Return the shortest of some runs' times, in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def row(name: str, ours: float, theirs: float) -> None:
    """Print a line of the table."""
    print(f"{name:42} {ours:10.1f} {theirs:10.1f} {theirs / ours:8.1f} x", flush=True)


def cells(rng: np.random.Generator, side: int, count: int) -> np.ndarray:
    """Return touching cells: the pixels that are nearest to a point, and not far from it."""
    points = rng.random((count, 2)) * side
    tree = scipy.spatial.cKDTree(points)
    labels = np.empty((side, side), np.int32)
    for y in range(side):
        pixels = np.stack([np.full(side, y), np.arange(side)], axis=1)
        far, nearest = tree.query(pixels)
        labels[y] = np.where(far < 0.66 * side / count**0.5, nearest + 1, 0)
    return labels


def main() -> None:
    """Print both tables."""
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 25000
    rng = np.random.default_rng(30)
    labels = cells(rng, side, count)
    noise = scipy.ndimage.gaussian_filter(rng.random((side, side)), 2)
    intensities = (noise / noise.max() * 65535).astype(np.uint16)
    print(f"{side} x {side} pixels, {count} cells; trazar, scikit-image {skimage.__version__}")
    for name, properties in [
        ("4 properties", FOUR),
        ("10 properties", TEN),
        *((each, (each,)) for each in OTHERS),
    ]:
        ours = fastest(lambda: trazar.measure(labels, intensities, properties), 5)
        theirs = fastest(
            lambda: skimage.measure.regionprops_table(labels, intensities, properties), 1
        )
        row(name, ours, theirs)

    masks = np.zeros((1024, 1024, 256), np.uint8, order="F")
    for number in range(masks.shape[2]):
        blobs = scipy.ndimage.gaussian_filter(rng.random((128, 128)), 4)
        blobs = scipy.ndimage.zoom(blobs, 8, order=1)
        masks[:, :, number] = blobs > np.quantile(blobs, 0.8)
    by_mask = np.ascontiguousarray(masks.transpose(2, 0, 1))
    rles = coco.encode(masks)
    few = rles[:64]
    crowd = [0] * len(few)
    print("256 masks of 1024 x 1024; trazar, pycocotools")
    theirs = fastest(lambda: coco.encode(masks), 3)
    ours = fastest(lambda: trazar.rle.encode(masks), 5)
    row("encode, (H, W, N) in Fortran's order", ours, theirs)
    row("encode, (N, H, W)", fastest(lambda: trazar.rle.encode(by_mask), 5), theirs)
    for name, work, other in [
        ("decode", lambda: trazar.rle.decode(rles), lambda: coco.decode(rles)),
        ("area, 64", lambda: trazar.rle.area(few), lambda: coco.area(few)),
        ("to_bbox", lambda: trazar.rle.to_bbox(rles), lambda: coco.toBbox(rles)),
        (
            "iou, 64 by 64",
            lambda: trazar.rle.iou(few, few, crowd),
            lambda: coco.iou(few, few, crowd),
        ),
        ("merge, 64", lambda: trazar.rle.merge(few), lambda: coco.merge(few)),
    ]:
        row(name, fastest(work, 5), fastest(other, 3))
    print(f"all labels: {fastest(lambda: trazar.rle.encode_labels(labels), 5):.1f} ms")


if __name__ == "__main__":
    main()
