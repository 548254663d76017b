"""What tests share: random images of many kinds, and how many of them."""

from __future__ import annotations

import importlib.util
import os

import numpy as np
import pytest

#: What files of tests import beside NumPy and pytest (requirements.txt has all).
PEERS = {
    "test_arrays.py": ["cv2", "scipy"],
    "test_contours.py": ["cv2", "shapely"],
    "test_dask.py": ["dask"],
    "test_distances.py": ["skimage", "scipy", "xarray", "dask"],
    "test_docs.py": ["cv2", "scipy", "shapely"],
    "test_labels.py": ["scipy", "skimage"],
    "test_measure.py": ["skimage"],
    "test_rle.py": ["pycocotools"],
    "test_sieve.py": ["rasterio"],
    "test_simplify.py": ["cc3d", "cv2", "rasterio", "shapely", "skimage"],
    "test_regions.py": ["cc3d", "cv2", "rasterio", "shapely", "skimage"],
}
MISSING = {
    file: [peer for peer in peers if importlib.util.find_spec(peer) is None]
    for file, peers in PEERS.items()
}
collect_ignore = [file for file, missing in MISSING.items() if missing]


def pytest_terminal_summary(terminalreporter) -> None:
    """Say which files are left out, where people see it."""
    for file in collect_ignore:
        terminalreporter.write_line(
            f"skipped {file}: {', '.join(MISSING[file])} not installed; "
            "pip install -r python/tests/requirements.txt",
            yellow=True,
        )


@pytest.fixture
def two_processes():
    """A client of dask.distributed with two workers, each a process: what they get is pickled."""
    distributed = pytest.importorskip("distributed")
    import dask

    # For machines with much else to do.
    patience = {"distributed.comm.timeouts.connect": "5m", "distributed.scheduler.worker-ttl": None}
    with (
        dask.config.set(patience),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, timeout="5m") as client,
    ):
        yield client


#: A nightly run sets it to 10000.
IMAGES = int(os.environ.get("TRAZAR_IMAGES", "500"))
#: Another seed draws other images.
SEED = int(os.environ.get("TRAZAR_SEED", "0"))


def random_image(rng: np.random.Generator, largest: int = 40) -> np.ndarray:
    """Noise of any density, noise of blocks, nested frames, or lines; bytes 0 and others."""
    height, width = rng.integers(1, largest + 1, 2)
    kind = rng.integers(4)
    if kind == 0:
        image = rng.random((height, width)) < rng.random()
    elif kind == 1:
        side = int(rng.integers(2, 6))
        blocks = rng.random((height // side + 1, width // side + 1)) < rng.random()
        image = np.kron(blocks, np.ones((side, side), bool))[:height, :width]
    elif kind == 2:
        y, x = np.mgrid[:height, :width]
        y, x = np.minimum(y, height - 1 - y), np.minimum(x, width - 1 - x)
        image = np.minimum(y, x) // int(rng.integers(1, 3)) % 2 == rng.integers(2)
    else:
        image = np.zeros((height, width), bool)
        for _ in range(int(rng.integers(1, 6))):
            if rng.random() < 0.5:
                image[rng.integers(height)] ^= True
            else:
                image[:, rng.integers(width)] ^= True
    return image.astype(np.uint8) * np.uint8(rng.integers(1, 256))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)
