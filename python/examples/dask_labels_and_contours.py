"""Labels and contours of an image that is larger than the memory, from Zarr to Zarr and Parquet.

    python dask_labels_and_contours.py mask.zarr out/ --workers 4

``mask.zarr`` is an array of shape (H, W), of booleans or numbers. ``out/labels.zarr`` will have the
labels, ``out/components.npz`` the components' areas, boxes and centroids, and ``out/contours`` the
polygons, as GeoParquet or, without GeoPandas, as lines of GeoJSON. Without arguments, it makes a
small image first.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client

import trazar.dask


def work(source: Path, out: Path, threshold: float | None) -> None:
    image = da.from_zarr(str(source))
    print(f"{image.shape[1]} × {image.shape[0]} pixels in {image.npartitions} chunks")

    # Labels go to Zarr and measures to the client, in one run: the first pass is shared.
    labels, columns = trazar.dask.label_stats(image, threshold=threshold)
    stored = labels.to_zarr(str(out / "labels.zarr"), compute=False)
    columns, _ = dask.compute(columns, stored)
    np.savez(out / "components.npz", **columns)
    print(f"{len(columns['label'])} components, the largest of {columns['area'].max():.0f} pixels")

    contours = trazar.dask.trace(image, threshold=threshold, geometry="edges")
    if importlib.util.find_spec("geopandas"):
        paths = contours.to_geoparquet(out / "contours")
    else:
        paths = contours.to_geojson_lines(out / "contours")
    print(f"contours in {len(paths)} files, {paths[0]} the first")


def smooth(block: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        for axis in (0, 1):
            block = (np.roll(block, 1, axis) + 2 * block + np.roll(block, -1, axis)) / 4
    return block


def make(path: Path) -> None:
    """Blobs: noise that is smoothed, in chunks that overlap."""
    noise = da.random.default_rng(0).random((2000, 3000), chunks=(512, 512))
    blobs = noise.map_overlap(smooth, depth=8, boundary="reflect", steps=8)
    (blobs > 0.5).to_zarr(str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, nargs="?", help="a Zarr array")
    parser.add_argument("out", type=Path, nargs="?", help="a folder")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threshold", type=float)
    args = parser.parse_args()
    # One thread for each worker: there are as many workers as cores.
    dask.config.set({"distributed.nanny.pre-spawn-environ.RAYON_NUM_THREADS": "1"})
    with (
        tempfile.TemporaryDirectory() as folder,
        Client(n_workers=args.workers, threads_per_worker=1, dashboard_address=None),
    ):
        source = args.source or Path(folder) / "mask.zarr"
        out = args.out or Path(folder) / "out"
        if args.source is None:
            make(source)
        out.mkdir(parents=True, exist_ok=True)
        work(source, out, args.threshold)


if __name__ == "__main__":
    main()
