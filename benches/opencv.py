#!/usr/bin/env python3
"""Times OpenCV beside this library: the same images, the same machine, the same run.

    pip install -r benches/requirements.txt
    python3 benches/opencv.py [--sides 512,2048,8192] [--masks FOLDER] [--only label|trace]

Builds the program `side_by_side` of `benches/support` with the profile `dist`, which draws the
images and times the library. Both sides start from one byte per pixel in memory and take the
fastest of several runs; freeing results does not count. Prints two tables in Markdown, in
milliseconds:

- `bytes` includes packing bytes to bits, and is the time to compare with OpenCV's;
- `bits` starts from the packed image;
- the ratio is OpenCV on one thread over the sequential algorithm from bytes: above 1, this
  library is faster.

OpenCV's `ccomp` and `tree` retrievals can take time quadratic in the number of contours: they are
timed up to 20,000 contours, and the table says "-" beyond. OpenCV's times for contours include
making one Python array for each contour, which matters where there are very many small ones
(noise).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATTERNS = ["blobs", "noise:0.1", "noise:0.5", "noise:0.9", "nested-rectangles"]
MOST_CONTOURS_FOR_LEVELS = 20_000


def fastest(repeat, run):
    """The seconds of the fastest of `repeat` runs. After 2 seconds, but not before the third run,
    no other run begins."""
    seconds = []
    while len(seconds) < 3 or (len(seconds) < repeat and sum(seconds) < 2):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
        del result
    return min(seconds)


def build():
    subprocess.run(
        "cargo build --quiet --profile dist -p trazar-bench-support --bin side_by_side".split(),
        cwd=ROOT,
        check=True,
    )
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "dist" / "side_by_side"


def images(program, sides, masks, folder):
    """Name and bytes of each image, one at a time."""
    for side in sides:
        for pattern in PATTERNS:
            file = folder / "image.raw"
            subprocess.run([program, "draw", pattern, str(side), file], check=True)
            yield pattern, np.fromfile(file, np.uint8).reshape(side, side)
    for path in sorted(pathlib.Path(masks).glob("*.png")) if masks else []:
        grey = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        yield path.stem, np.where(grey > 127, 255, 0).astype(np.uint8)


def ours(job, program, image, repeat, folder):
    file = folder / "image.raw"
    image.tofile(file)
    height, width = image.shape
    arguments = [program, job, file, str(width), str(height), str(repeat)]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def label_row(image, repeat, own):
    row = []
    for neighbours in (8, 4):
        peer = []
        for threads in (1, os.cpu_count()):
            cv2.setNumThreads(threads)
            peer.append(
                fastest(repeat, lambda: cv2.connectedComponents(image, connectivity=neighbours))
            )
        bytes_ = own[f"sequential {neighbours} from bytes"]
        row += [
            *peer,
            bytes_,
            own[f"sequential {neighbours} from bits"],
            own[f"parallel {neighbours} from bytes"],
            f"{peer[0] / bytes_:.2f}",
        ]
    return row


def trace_row(image, repeat, own):
    def find(mode):
        return cv2.findContours(image, mode, cv2.CHAIN_APPROX_SIMPLE)

    row = []
    for threads in (1, os.cpu_count()):
        cv2.setNumThreads(threads)
        row.append(fastest(repeat, lambda: find(cv2.RETR_LIST)))
    cv2.setNumThreads(1)
    contours = len(find(cv2.RETR_LIST)[0])
    for mode in (cv2.RETR_CCOMP, cv2.RETR_TREE):
        few = contours <= MOST_CONTOURS_FOR_LEVELS
        row.append(fastest(repeat, lambda: find(mode)) if few else "-")
    bytes_ = own["tree simple from bytes"]
    bits = own["tree simple from bits"]
    return [f"{contours:,}", *row, bytes_, bits, f"{row[0] / bytes_:.2f}"]


def table(head, rows):
    def cell(value):
        return f"{value * 1e3:.2f}" if isinstance(value, float) else str(value)

    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(cell, row)) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sides", default="512,2048,8192")
    parser.add_argument("--masks", help="a folder of PNG masks")
    parser.add_argument("--only", choices=["label", "trace"])
    options = parser.parse_args()
    masks = options.masks
    if masks is None and "TRAZAR_DATA" in os.environ:
        masks = pathlib.Path(os.environ["TRAZAR_DATA"]) / "masks"

    program = build()
    labels, traces = [], []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sides = [int(side) for side in options.sides.split(",")]
        for name, image in images(program, sides, masks, folder):
            height, width = image.shape
            repeat = min(50, max(3, 60_000_000 // image.size))
            print(f"{name} {width} × {height}", file=sys.stderr)
            start = [name, f"{width} × {height}"]
            if options.only != "trace":
                own = ours("label", program, image, repeat, folder)
                labels.append(start + label_row(image, repeat, own))
            if options.only != "label":
                own = ours("trace", program, image, repeat, folder)
                traces.append(start + trace_row(image, repeat, own))

    threads = os.cpu_count()
    print(f"OpenCV {cv2.__version__}, {threads} processors, milliseconds, fastest of several.\n")
    if labels:
        head = ["components", "size"]
        for n in (8, 4):
            head += [
                f"OpenCV, {n}, 1 thread",
                f"OpenCV, {n}, {threads} threads",
                f"sequential, {n}, bytes",
                f"sequential, {n}, bits",
                f"parallel, {n}, bytes",
                f"ratio, {n}",
            ]
        table(head, labels)
    if traces:
        head = ["contours", "size", "contours"]
        head += ["OpenCV list, 1 thread", f"OpenCV list, {threads} threads", "OpenCV ccomp"]
        head += ["OpenCV tree", "tree, bytes", "tree, bits", "ratio, list"]
        table(head, traces)


if __name__ == "__main__":
    main()
