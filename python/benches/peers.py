"""Times of this library and of others for the same work, on the processor of this machine.

    python benches/peers.py [--masks FOLDER] [--repeats N] [--size SIDE] [--json FILE]

Each row is one job on one image: contours against ``cv2.findContours``, labels against
``scipy.ndimage.label``, ``cv2.connectedComponents`` and ``skimage.measure.label``, with measures
against ``cv2.connectedComponentsWithStats`` and ``skimage.measure.regionprops_table``. All give
the same result, which is checked before anything is timed, and all are called as a user calls
them: the list of arrays is made, memory is allocated and freed. A time is the median of N runs,
those of the programs taking turns, after one run that does not count; a program that has taken two
seconds for a job runs no more. All programs may use all threads that the process may run on:
``taskset -c 0 python benches/peers.py`` compares them on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import scipy.ndimage
import skimage.measure

import trazar

EIGHT = np.ones((3, 3))
#: OpenCV's hierarchy of noise takes quadratic time: minutes for 4096².
LARGEST_NOISE_FOR_TREES = 1024


def images(size: int, masks: Path | None) -> Iterator[tuple[str, np.ndarray]]:
    """Blobs and noise of this size, and the masks of a folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blobs.png"
        command = ["generate", "mask", "blobs", "--size", str(size), "--seed", "7", "-o", path]
        subprocess.run([sys.executable, "-m", "trazar", *command], check=True, capture_output=True)
        yield f"blobs {size}²", cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    rng = np.random.default_rng(7)
    for side in {size, LARGEST_NOISE_FOR_TREES}:
        yield f"noise {side}²", (rng.random((side, side)) < 0.5).astype(np.uint8)
    for path in sorted(masks.glob("*.png")) if masks else []:
        mask = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        # As the command reads them; OpenCV takes what is not 0.
        yield path.stem, np.where(mask > 127, mask, 0)


def same_contours(ours, theirs) -> bool:
    return len(ours[0]) == len(theirs[0]) and all(map(np.array_equal, ours[0], theirs[0]))


def jobs(
    name: str, image: np.ndarray, wanted: list[str]
) -> Iterator[tuple[str, Callable, dict[str, Callable]]]:
    """Each job's name, whether two results are the same, and the programs."""
    modes = [("list", cv2.RETR_LIST), ("tree", cv2.RETR_TREE)]
    for mode_name, mode in modes if "contours" in wanted else []:
        if mode == cv2.RETR_TREE and "noise" in name and len(image) > LARGEST_NOISE_FOR_TREES:
            continue
        yield (
            f"contours, {mode_name}",
            same_contours,
            {
                "trazar": lambda mode=mode: trazar.find_contours(image, mode, device="cpu"),
                "opencv": lambda mode=mode: cv2.findContours(image, mode, cv2.CHAIN_APPROX_SIMPLE),
            },
        )
    if "labels" in wanted:
        yield (
            "labels, 8-connected",
            lambda ours, theirs: ours.max() == theirs.max(),
            {
                "trazar": lambda: trazar.label(image, EIGHT, device="cpu")[0],
                "scipy": lambda: scipy.ndimage.label(image, EIGHT)[0],
                "opencv": lambda: cv2.connectedComponents(image)[1],
                "skimage": lambda: skimage.measure.label(image > 0, connectivity=2),
            },
        )
    if "measures" not in wanted:
        return

    def skimages() -> np.ndarray:
        labels = skimage.measure.label(image > 0, connectivity=2)
        columns = ("label", "area", "bbox", "centroid")
        return skimage.measure.regionprops_table(labels, properties=columns)["area"]

    programs = {
        "trazar": lambda: trazar.label_stats(image, EIGHT, device="cpu")[1]["area"],
        "opencv": lambda: cv2.connectedComponentsWithStats(image)[2][1:, cv2.CC_STAT_AREA],
    }
    if len(trazar.label_stats(image, EIGHT)[1]["area"]) < 20_000:
        # It takes about 0.1 ms per component.
        programs["skimage"] = skimages
    yield (
        "labels with measures",
        lambda ours, theirs: np.array_equal(np.sort(ours), np.sort(theirs)),
        programs,
    )


def medians(programs: dict[str, Callable], repeats: int) -> dict[str, float]:
    """Each program's time in milliseconds."""
    longest = 2000
    times: dict[str, list[float]] = {name: [] for name in programs}
    for run in range(repeats + 1):
        for name, program in programs.items():
            if sum(times[name]) > longest:
                continue
            started = time.perf_counter()
            result = program()
            del result
            if run:
                times[name].append((time.perf_counter() - started) * 1000)
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="times of trazar and of others")
    parser.add_argument("--masks", type=Path, help="a folder of PNG masks")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--jobs", default="contours,labels,measures", help="some of these")
    parser.add_argument("--json", type=Path, help="writes the times here too")
    args = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    print(
        f"{threads} threads; trazar {trazar.__version__}, OpenCV {cv2.__version__}, "
        f"SciPy {scipy.__version__}, scikit-image {skimage.__version__}, NumPy {np.__version__}"
    )
    rows = []
    for name, image in images(args.size, args.masks):
        for job, same, programs in jobs(name, image, args.jobs.split(",")):
            ours = programs["trazar"]()
            for other, program in programs.items():
                assert same(ours, program()), (name, job, other)
            del ours
            times = medians(programs, args.repeats)
            rows.append({"image": name, "job": job, "milliseconds": times})
            ratios = ", ".join(
                f"{other} {taken:.1f} ms ({taken / times['trazar']:.1f} ×)"
                for other, taken in times.items()
                if other != "trazar"
            )
            print(f"{name:12} {job:20} trazar {times['trazar']:.1f} ms, {ratios}", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"threads": threads, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
