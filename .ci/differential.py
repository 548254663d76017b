#!/usr/bin/env python3
"""Compare the command `trazar` with OpenCV and SciPy on generated images.

    differential.py TRAZAR [--images N] [--emulated N] [--seed S]

For each image: `trazar trace` in all retrievals and approximations must give
cv2.findContours's points, order and hierarchy, and `trazar label` in both connectivities
scipy.ndimage.label's labels. With TRAZAR_DATA, the masks in $TRAZAR_DATA/masks are compared too.

So on the processor; on the emulator, which runs the GPU's kernels and is slow, the same on small
images, by each of its algorithms, each image under an order of threads of its own.

Then the comparison is shown to fail: the same is done with one pixel of the image changed
behind the peers' backs, and every pair of results must differ. Exit status 1 on any surprise.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np
from scipy import ndimage

RETRIEVALS = {
    "external": cv2.RETR_EXTERNAL,
    "list": cv2.RETR_LIST,
    "ccomp": cv2.RETR_CCOMP,
    "tree": cv2.RETR_TREE,
}
APPROXIMATIONS = {
    "none": cv2.CHAIN_APPROX_NONE,
    "simple": cv2.CHAIN_APPROX_SIMPLE,
    "tc89-l1": cv2.CHAIN_APPROX_TC89_L1,
    "tc89-kcos": cv2.CHAIN_APPROX_TC89_KCOS,
}
STRUCTURES = {"4": ndimage.generate_binary_structure(2, 1), "8": np.ones((3, 3))}


# By device: its algorithms for contours (none: its own choice) and labels.
TRACERS = {"cpu": ["fragments", "suzuki"], "emulator": ["fragments", "components", "tiles"]}
LABELERS = {"cpu": ["sequential", "parallel"], "emulator": ["tiles", "direct"]}


def images(rng, count, largest=None):
    """Noise at any density, blobs, rectangles and drawings, in turn; all sizes from 1 up."""
    for i in range(count):
        width = int(rng.integers(1, largest + 1 if largest else 260 if i % 5 == 0 else 90))
        height = int(rng.integers(1, largest + 1 if largest else 70))
        image = np.zeros((height, width), np.uint8)
        match i % 4:
            case 0:
                image[rng.random(image.shape) < rng.random()] = 255
            case 1:
                grey = rng.random(image.shape).astype(np.float32)
                grey = cv2.GaussianBlur(grey, (0, 0), float(rng.uniform(0.6, 5)))
                image[grey > np.median(grey)] = 255
            case 2:
                for _ in range(rng.integers(1, 14)):
                    x0, x1 = sorted(rng.integers(0, width, 2))
                    y0, y1 = sorted(rng.integers(0, height, 2))
                    image[y0 : y1 + 1, x0 : x1 + 1] ^= 255
            case _:
                point = lambda: (int(rng.integers(0, width)), int(rng.integers(0, height)))
                for _ in range(rng.integers(1, 9)):
                    if rng.random() < 0.5:
                        radius, colour = int(rng.integers(0, 20)), int(rng.choice([0, 255]))
                        cv2.circle(image, point(), radius, colour, int(rng.choice([-1, 1, 2])))
                    else:
                        colour = int(rng.choice([0, 255, 255]))
                        cv2.line(image, point(), point(), colour, int(rng.integers(1, 4)))
        yield f"image {i} ({width} x {height})", image


def masks():
    """The real masks, if there are any."""
    folder = os.environ.get("TRAZAR_DATA")
    for path in sorted(pathlib.Path(folder, "masks").glob("*.png")) if folder else []:
        grey = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        yield path.name, ((grey > 127) * 255).astype(np.uint8)


class Differential:
    def __init__(self, trazar, folder, device, seed):
        self.trazar = trazar
        self.folder = pathlib.Path(folder)
        self.device = device
        self.seed = seed

    def run(self, number, *arguments):
        command = [self.trazar, *map(str, arguments), "--quiet", "--device", self.device]
        if self.device == "emulator":
            command += ["--seed", str(self.seed + number)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            # The emulator reports faults so.
            raise SystemExit(f"{' '.join(command)}: status {done.returncode}:\n"
                             + done.stderr.decode(errors="replace"))
        return done.stdout

    def compare(self, number, name, image, peers_image):
        """What was compared, as {what: equal}."""
        path = self.folder / f"{self.device}-{name.split(' (')[0].replace(' ', '_')}.png"
        cv2.imwrite(str(path), image)
        results = {}
        for retrieval, mode in RETRIEVALS.items():
            for approximation, method in APPROXIMATIONS.items():
                contours, rows = cv2.findContours(peers_image, mode, method)
                theirs = {
                    "width": image.shape[1],
                    "height": image.shape[0],
                    "contours": [c[:, 0].tolist() for c in contours],
                    "hierarchy": [] if rows is None else rows[0].tolist(),
                }
                for algorithm in TRACERS[self.device]:
                    options = ["--algorithm", algorithm] if algorithm else []
                    out = self.run(number, "trace", path, "-o", "-", "--format", "json",
                                   "--retrieval", retrieval, "--approximation", approximation,
                                   *options)
                    what = " ".join(["trace", retrieval, approximation, *options[1:]])
                    results[what] = json.loads(out) == theirs
        for connectivity, structure in STRUCTURES.items():
            for algorithm in LABELERS[self.device]:
                out = path.with_suffix(f".{connectivity}.{algorithm}.npy")
                self.run(number, "label", path, "-o", out, "--connectivity", connectivity,
                         "--algorithm", algorithm)
                labels, _ = ndimage.label(peers_image, structure)
                equal = np.array_equal(np.load(out), labels)
                results[f"label {connectivity} {algorithm}"] = equal
                out.unlink()
        path.unlink()
        return name, results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trazar", help="the command to test")
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--emulated", type=int, default=40, help="images for the emulator")
    parser.add_argument("--seed", type=int, default=20261120)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print(f"OpenCV {cv2.__version__}, seed {options.seed}", flush=True)

    all_cases = {"cpu": [*images(rng, options.images), *masks()],
                 "emulator": [*images(rng, options.emulated, 64)]}
    failed = False
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for device, cases in all_cases.items():
            differential = Differential(options.trazar, folder, device, options.seed)
            wrong = compared = planted = 0
            begin = time.monotonic()
            done = pool.map(lambda case: differential.compare(case[0], *case[1], case[1][1]),
                            enumerate(cases))
            for number, (name, results) in enumerate(done):
                compared += len(results)
                for what, equal in results.items():
                    if not equal:
                        wrong += 1
                        print(f"{device}, {name}, seed {options.seed + number}: {what} differs")

            # A new pixel in a corner that has nothing near it changes every result.
            image = np.zeros((40, 40), np.uint8)
            image[10:30, 10:30] = 255
            changed = image.copy()
            changed[0, 0] = 255
            _, results = differential.compare(0, "planted", image, changed)
            for what, equal in results.items():
                if equal:
                    planted += 1
                    print(f"{device}: a planted difference went unnoticed: {what}")
            print(f"{device}: {len(cases)} images, {compared} comparisons: {compared - wrong} "
                  f"passed, {wrong} failed; {len(results) - planted} of {len(results)} planted "
                  f"differences noticed ({time.monotonic() - begin:.0f} s)", flush=True)
            failed |= wrong + planted > 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
