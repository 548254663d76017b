"""Regions against rasterio, xarray-spatial, OpenCV, cc3d, scikit-image and shapely, on one core.

Run it with one thread for everyone:

    python python/benches/regions.py --side 4096

Images are a raster of 16 smooth classes and a label image of touching cells. All work on the same
arrays; each time is the least of some runs. Peers run at their best settings: OpenCV traces the
crop of each cell's box, which scipy.ndimage.find_objects finds (its time is counted). On a machine
that does other work too, --cpu-time counts the process's own time only.
"""

from __future__ import annotations

import os

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import trazar


def smooth_classes(side: int, seed: int = 0) -> np.ndarray:
    """16 classes of a smooth random field, with some noise at their borders."""
    rng = np.random.default_rng(seed)
    field = cv2.GaussianBlur(rng.standard_normal((side, side)).astype(np.float32), (0, 0), 12)
    field /= field.std()
    field += rng.standard_normal((side, side)).astype(np.float32) * 0.01
    edges = np.quantile(field[::7, ::7], np.linspace(0, 1, 17)[1:-1])
    return np.digitize(field, edges).astype(np.uint8)


def touching_cells(side: int, seed: int = 0) -> np.ndarray:
    """About one cell per 26² pixels: the nearest of random points, up to a distance."""
    from scipy import spatial

    rng = np.random.default_rng(seed)
    step = 26
    grid = np.stack(np.meshgrid(np.arange(0, side, step), np.arange(0, side, step)), -1)
    centers = grid.reshape(-1, 2) + rng.uniform(3, step - 3, (grid.size // 2, 2))
    y, x = np.mgrid[:side, :side]
    distance, nearest = spatial.cKDTree(centers).query(np.stack([x, y], -1).reshape(-1, 2))
    labels = np.where(distance < 17, nearest + 1, 0)
    return labels.reshape(side, side).astype(np.int32)


def least(runs: int, work: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Seconds of the fastest run, after one that warms up."""
    times = []
    for _ in range(runs + 1):
        begin = clock()
        work()
        times.append(clock() - begin)
    return min(times[1:])


def opencv_crops(labels: np.ndarray) -> list:
    """Each label's contours, from the crop of its box."""
    from scipy import ndimage

    found = []
    for label, box in enumerate(ndimage.find_objects(labels), 1):
        if box is not None:
            crop = (labels[box] == label).view(np.uint8)
            offset = (box[1].start, box[0].start)
            found.append(
                cv2.findContours(crop, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE, offset=offset)
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cpu-time", action="store_true")
    arguments = parser.parse_args()
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    side, runs = arguments.side, arguments.runs
    cv2.setNumThreads(1)
    classes, cells = smooth_classes(side), touching_cells(side)

    import cc3d
    import rasterio.features
    import shapely
    import skimage.measure

    rows: list[tuple[str, str, str, float, float]] = []

    def compare(image: str, what: str, peer: str, ours: Callable, theirs: Callable) -> None:
        rows.append((image, what, peer, least(runs, ours, clock), least(1, theirs, clock)))

    for name, image in (("classes", classes), ("cells", cells)):
        number = len(trazar.polygonize(image))
        print(f"{name}: {side}² {image.dtype}, {number} regions")

        def shapes(image: np.ndarray = image) -> list:
            return list(rasterio.features.shapes(image))

        compare(name, "polygonize", "rasterio.shapes", lambda: trazar.polygonize(image), shapes)
        compare(name, "shapes", "rasterio.shapes", lambda: list(trazar.shapes(image)), shapes)
        try:
            import xarray
            from xrspatial.experimental import polygonize
        except ImportError as error:
            print(f"xarray-spatial is not there: {error}")
        else:
            raster = xarray.DataArray(image)
            compare(
                name,
                "polygonize",
                "xarray-spatial",
                lambda: trazar.polygonize(image),
                lambda: polygonize(raster),
            )
        compare(
            name,
            "label_values",
            "cc3d",
            lambda: trazar.label_values(image),
            lambda: cc3d.connected_components(image, connectivity=4),
        )
        compare(
            name,
            "label_values",
            "scikit-image",
            lambda: trazar.label_values(image),
            lambda: skimage.measure.label(image, background=0, connectivity=1),
        )
        # Polygons with all junctions as vertices, which GEOS needs. Both leave as many corners, to
        # 1 or 2 %: the tolerance is an area here and its root there.
        regions = trazar.polygonize(image)
        polygons = regions.simplify(0).polygons()
        compare(
            name,
            "simplify",
            "shapely coverage",
            lambda: regions.simplify(2.0, "visvalingam"),
            lambda: shapely.coverage_simplify(polygons, 2.0**0.5),
        )
    compare(
        "cells",
        "find_contours_by_label",
        "OpenCV, crops",
        lambda: trazar.find_contours_by_label(cells, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE),
        lambda: opencv_crops(cells),
    )
    print(f"{'image':8} {'work':22} {'peer':16} {'ours ms':>9} {'peer ms':>9} {'ratio':>7}")
    for image, what, peer, ours, theirs in rows:
        print(
            f"{image:8} {what:22} {peer:16} {1e3 * ours:9.1f} {1e3 * theirs:9.1f} "
            f"{theirs / ours:6.1f}×"
        )


if __name__ == "__main__":
    main()
