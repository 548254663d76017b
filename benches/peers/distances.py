"""Costs of travel from one cell to all others, over 8 neighbours.

Each program gets what it takes without a conversion: scikit-image and our f64 an array of float64,
xarray-spatial and our f32 one of float32.
"""

from __future__ import annotations

import numpy as np

import trazar

from .task import Input, Settings, Task


def friction(kind: str, side: int) -> np.ndarray:
    """Random, uniform, or 1 with a serpentine of barriers 4 cells apart."""
    if kind == "random":
        return np.random.default_rng(0).random((side, side)) + 1e-3
    raster = np.ones((side, side))
    if kind == "serpentine":
        for i, row in enumerate(range(4, side, 5)):
            raster[row, : side - 4] = np.nan
            if i % 2:
                raster[row] = raster[row, ::-1]
    return raster


def source(raster: np.ndarray) -> tuple[int, int]:
    middle = (len(raster) // 2, len(raster) // 2)
    return (0, 0) if np.isnan(raster[middle]) else middle


def inputs(settings: Settings):
    for side in settings.sides([1024], [256]):
        for kind in ("random", "uniform", "serpentine"):
            yield Input(f"{kind} friction", (side, side), friction(kind, side))


def finite(costs: np.ndarray) -> np.ndarray:
    """What is not reached is NaN here, and infinite there."""
    return np.where(np.isinf(costs), np.nan, costs)


def same_bits(ours: np.ndarray, theirs: np.ndarray) -> str | None:
    return None if np.array_equal(ours, theirs, equal_nan=True) else "other costs"


def close(ours: np.ndarray, theirs: np.ndarray) -> str | None:
    near = np.allclose(ours, theirs, rtol=1e-5, atol=0, equal_nan=True)
    return None if near else "other costs, by more than 1e-5"


def _f64() -> Task:
    task = Task("distances", "costs of travel, f64", same_bits)
    task.on(inputs)

    @task.program("trazar", on=("core", "cores", "gpu"), convert=lambda found: found.cost)
    def ours(raster, settings):
        start = [source(raster)]
        return lambda: trazar.cost_distance(
            raster, start, precision="f64", device=settings.device
        )

    @task.program("scikit-image", needs=("skimage",), convert=finite)
    def skimage(raster, settings):
        from skimage.graph import MCP_Geometric

        barriers = np.where(np.isnan(raster), np.inf, raster)
        start = [source(raster)]
        return lambda: MCP_Geometric(barriers).find_costs(start)[0]

    return task


def _f32() -> Task:
    task = Task("distances", "costs of travel, f32", close)
    task.on(inputs)

    @task.program("trazar", on=("core", "cores", "gpu"), convert=lambda found: found.cost)
    def ours(raster, settings):
        single, start = raster.astype(np.float32), [source(raster)]
        return lambda: trazar.cost_distance(single, start, device=settings.device)

    @task.program("trazar.dask", needs=("dask",), on=("core", "cores"), same=same_bits)
    def by_chunks(raster, settings):
        import dask.array as da

        from trazar.dask import cost_distance

        chunks = da.from_array(raster.astype(np.float32), chunks=max(1, len(raster) // 4))
        start = [source(raster)]
        return lambda: cost_distance(chunks, start).cost.compute(scheduler="threads")

    @task.program("xarray-spatial", needs=("xrspatial", "xarray"), compiles=True, convert=finite)
    def xarray_spatial(raster, settings):
        import xarray
        from xrspatial.cost_distance import cost_distance

        places = {"y": np.arange(len(raster)) * 1.0, "x": np.arange(len(raster)) * 1.0}
        surface = xarray.DataArray(raster.astype(np.float32), places, ("y", "x"))
        sources = surface.copy(data=np.zeros(raster.shape, np.float32))
        sources[source(raster)] = 1
        return lambda: cost_distance(sources, surface).data

    return task


TASKS = [_f64(), _f32()]
