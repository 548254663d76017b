"""The images that tasks are measured on: the same on every machine."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .task import Input, Settings


def trazar_command(*arguments: str) -> str:
    """What the command says on standard output."""
    command = [sys.executable, "-m", "trazar", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def blobs(width: int, height: int) -> np.ndarray:
    """Round shapes of some 80 pixels, one byte per pixel."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blobs.npy"
        size = f"{width}x{height}"
        trazar_command("generate", "mask", "blobs", "--size", size, "--seed", "7", "--quiet",
                       "-o", str(path))  # fmt: skip
        return np.load(path).view(np.uint8)


def noise(side: int) -> np.ndarray:
    """Each pixel is foreground with a probability of one half."""
    return (np.random.default_rng(7).random((side, side), np.float32) < 0.5).view(np.uint8)


def masks(settings: Settings, sides: list[int], largest_noise: int) -> Iterator[Input]:
    """Blobs and noise of these sides, and the masks of the settings' folder."""
    for side in sides:
        yield Input("blobs", (side, side), blobs(side, side))
    for side in sides:
        if side <= largest_noise:
            yield Input("noise", (side, side), noise(side))
    for path in sorted(Path(settings.masks).glob("*.png")) if settings.masks else []:
        import cv2

        mask = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        # As our functions read it; OpenCV takes what is not 0.
        yield Input(path.stem, mask.shape, np.where(mask > 127, mask, 0))


@functools.lru_cache(1)
def smooth_classes(side: int, seed: int = 0) -> np.ndarray:
    """16 classes of a smooth random field, with some noise at their borders."""
    from scipy import ndimage

    rng = np.random.default_rng(seed)
    field = ndimage.gaussian_filter(rng.standard_normal((side, side), np.float32), 12)
    field /= field.std()
    field += rng.standard_normal((side, side), np.float32) * np.float32(0.01)
    edges = np.quantile(field[::7, ::7], np.linspace(0, 1, 17)[1:-1])
    return np.digitize(field, edges).astype(np.uint8)


@functools.lru_cache(1)
def touching_cells(side: int, seed: int = 0) -> np.ndarray:
    """About one cell per 26² pixels: the nearest of random points, up to a distance."""
    from scipy import spatial

    rng = np.random.default_rng(seed)
    step = 26
    grid = np.stack(np.meshgrid(np.arange(0, side, step), np.arange(0, side, step)), -1)
    centers = grid.reshape(-1, 2) + rng.uniform(3, step - 3, (grid.size // 2, 2))
    tree = spatial.cKDTree(centers)
    labels = np.empty((side, side), np.int32)
    for y in range(side):
        pixels = np.stack([np.arange(side), np.full(side, y)], -1)
        distance, nearest = tree.query(pixels, distance_upper_bound=17)
        labels[y] = np.where(np.isfinite(distance), nearest + 1, 0)
    return labels
