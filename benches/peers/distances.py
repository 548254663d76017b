"""Costs of travel from one cell to all others, over 8 neighbours.

Each program gets what it takes without a conversion: scikit-image and our f64 an array of float64,
xarray-spatial and our f32 one of float32.

On a GPU, with friction and costs in its memory, ours is compared with xarray-spatial's algorithm
for CuPy, written in CuPy: passes over the whole raster, each of which relaxes every cell once,
until one changes nothing.
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


def large_inputs(settings: Settings):
    for side in settings.sides([4096], [512]):
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


def nearly(ours: np.ndarray, theirs: np.ndarray) -> str | None:
    near = np.allclose(ours, theirs, rtol=1e-6, atol=0, equal_nan=True)
    return None if near else "other costs, by more than 1e-6"


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


#: One relaxation of each cell from its 8 neighbours, in place. Additions and multiplications are
#: not fused, so that the costs it ends with are ours, bit for bit.
PASS = r"""
extern "C" __global__ void relax(
    const float* friction, float* costs, int* changed, int height, int width
) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    size_t cell = (size_t)y * width + x;
    float own = friction[cell];
    if (!(own < INFINITY)) return;
    float before = costs[cell], best = before;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            int from_x = x + dx, from_y = y + dy;
            if ((dx == 0 && dy == 0) || from_x < 0 || from_y < 0) continue;
            if (from_x >= width || from_y >= height) continue;
            size_t from = (size_t)from_y * width + from_x;
            float half = dx != 0 && dy != 0 ? 0.70710678118654752f : 0.5f;
            float step = __fmul_rn(half, __fadd_rn(friction[from], own));
            float cost = __fadd_rn(((volatile float*)costs)[from], step);
            if (cost < best) best = cost;
        }
    }
    if (best < before) {
        costs[cell] = best;
        *changed = 1;
    }
}
"""


class Passes:
    """The raster relaxed as a whole, pass by pass, until nothing changes."""

    #: Passes between two looks at whether anything has changed: each look waits for the GPU.
    AT_ONCE = 32

    def __init__(self, raster: np.ndarray, start: tuple[int, int]) -> None:
        import cupy

        barriers = np.where(np.isnan(raster), np.inf, raster)
        self.friction = cupy.asarray(barriers.astype(np.float32))
        self.start = start
        self.relax = cupy.RawKernel("#define INFINITY __int_as_float(0x7f800000)\n" + PASS, "relax")
        self.passes = 0

    def __call__(self):
        import cupy

        height, width = self.friction.shape
        costs = cupy.full((height, width), np.inf, np.float32)
        costs[self.start] = 0
        changed = cupy.ones(1, np.int32)
        blocks = (-(-width // 32), -(-height // 8))
        arguments = (self.friction, costs, changed, np.int32(height), np.int32(width))
        self.passes = 0
        while int(changed[0]):
            changed.fill(0)
            for _ in range(self.AT_ONCE):
                self.relax(blocks, (32, 8), arguments)
            self.passes += self.AT_ONCE
        return costs


def _resident() -> Task:
    task = Task("distances", "costs of travel, f32, in a GPU's memory", nearly)
    task.on(large_inputs)

    def on_host(found):
        import cupy

        return cupy.asnumpy(cupy.asarray(found.cost))

    @task.program("trazar", needs=("cupy",), on=("gpu",), convert=on_host)
    def ours(raster, settings):
        import cupy

        friction, start = cupy.asarray(raster.astype(np.float32)), [source(raster)]

        def solve():
            found = trazar.cost_distance(friction, start)
            cupy.cuda.runtime.deviceSynchronize()
            return found

        return solve

    @task.program(
        "CuPy",
        needs=("cupy",),
        on=("gpu",),
        compiles=True,
        # A pass for each cell of the passage.
        skip=lambda given: given.name.startswith("serpentine"),
        convert=lambda costs: finite(costs.get()),
    )
    def passes(raster, settings):
        return Passes(raster, source(raster))

    return task


TASKS = [_f64(), _f32(), _resident()]
