"""Times of cost distances on one raster, against scikit-image, xarray-spatial and SciPy.

    python distance.py --size 2048 --repeat 3 --json times.json

Friction is random, uniform, or 1 with a serpentine of barriers 4 cells wide; 8 neighbours; one
source in the middle. Each program gets what it takes without a conversion: scikit-image and f64 an
array of float64, xarray-spatial and f32 one of float32. Results are compared before they are timed.
``RAYON_NUM_THREADS=1`` gives one core to this library; the others use one in any case. A peer that
is not installed is left out. ``--dask CHUNK`` adds this library's chunked version, checked against
the whole.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import trazar


def friction(kind: str, size: int, seed: int) -> np.ndarray:
    if kind == "random":
        return np.random.default_rng(seed).random((size, size)) + 1e-3
    raster = np.ones((size, size))
    if kind == "serpentine":
        for i, row in enumerate(range(4, size, 5)):
            raster[row, : size - 4] = np.nan
            if i % 2:
                raster[row] = raster[row, ::-1]
    return raster


def best(repeat: int, work: Callable[[], Any]) -> float:
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def peers(raster: np.ndarray, source: tuple[int, int]) -> dict[str, Callable[[], np.ndarray]]:
    found: dict[str, Callable[[], np.ndarray]] = {}
    if there("skimage"):
        from skimage.graph import MCP_Geometric

        barriers = np.where(np.isnan(raster), np.inf, raster)

        def mcp() -> np.ndarray:
            costs, _ = MCP_Geometric(barriers).find_costs([source])
            return costs

        found["scikit-image MCP_Geometric"] = mcp
    if there("xrspatial") and there("xarray"):
        import xarray
        from xrspatial.cost_distance import cost_distance

        size = len(raster)
        places = {"y": np.arange(size) * 1.0, "x": np.arange(size) * 1.0}
        surface = xarray.DataArray(raster.astype(np.float32), places, ("y", "x"))
        sources = surface.copy(data=np.zeros(raster.shape, np.float32))
        sources[source] = 1
        found["xarray-spatial cost_distance"] = lambda: cost_distance(sources, surface).data
    return found


def measure(kind: str, args: argparse.Namespace) -> dict[str, float]:
    raster = friction(kind, args.size, args.seed)
    source = (args.size // 2, args.size // 2)
    if np.isnan(raster[source]):
        source = (0, 0)
    single = raster.astype(np.float32)
    ours: dict[str, Callable[[], np.ndarray]] = {
        "trazar f64": lambda: trazar.cost_distance(raster, [source], precision="f64").cost,
        "trazar f32": lambda: trazar.cost_distance(single, [source]).cost,
    }
    if args.dask:
        import dask.array as da

        from trazar.dask import cost_distance as by_chunks

        chunks = da.from_array(single, chunks=args.dask)
        ours["trazar.dask f32"] = lambda: by_chunks(chunks, [source]).cost.compute()
        np.testing.assert_array_equal(ours["trazar.dask f32"](), ours["trazar f32"]())
    others = peers(raster, source)
    whole = ours["trazar f64"]()
    for name, work in others.items():
        costs = work()  # The first call of xarray-spatial also compiles.
        costs = np.where(np.isinf(costs), np.nan, costs)
        if name.startswith("scikit-image"):
            np.testing.assert_array_equal(costs, whole)
        else:
            np.testing.assert_allclose(costs, whole, rtol=1e-5)
    return {name: best(args.repeat, work) for name, work in (ours | others).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default="random,uniform,serpentine")
    parser.add_argument("--dask", type=int, help="the side of a chunk")
    parser.add_argument("--json", help="file for the times")
    args = parser.parse_args()
    threads = os.environ.get("RAYON_NUM_THREADS", "all")
    print(f"{args.size} × {args.size} cells, 8 neighbours, {threads} threads")
    times = {}
    for kind in args.kinds.split(","):
        times[kind] = measure(kind, args)
        for name, seconds in times[kind].items():
            rate = args.size**2 / seconds / 1e6
            print(f"{kind:12} {name:30} {1e3 * seconds:9.1f} ms {rate:8.1f} Mcell/s")
    if args.json:
        with open(args.json, "w") as out:
            json.dump({"size": args.size, "threads": threads, "seconds": times}, out, indent=1)


if __name__ == "__main__":
    main()
