#!/usr/bin/env python3
"""Times shortest paths by SciPy and scikit-image beside this library: the same grids, the same
machine, the same run.

    pip install -r benches/requirements.txt scipy scikit-image
    python3 benches/route_peers.py [--sides 256,1024]

Builds the program `route_times` of `benches/support` with the profile `dist`, which makes the grids
(random weights from 1 to 90) and times the library on the distances of all cells from the first.
SciPy's `csgraph.dijkstra` computes the same distances; those of the last cell are compared.
scikit-image's `MCP` has weights on cells instead of edges: it computes as many distances on a grid
of the same size, but different ones. Each time is the fastest of several runs, on one thread, without making
the graph. Prints a table in Markdown, in seconds and millions of cells per second.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from skimage.graph import MCP

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCKED = 0xFFFFFFFF
REPEAT = 5


def fastest(run):
    """The seconds of the fastest of `REPEAT` runs, and the last result. After 10 seconds, but not
    before the second run, no other run begins."""
    seconds = []
    while len(seconds) < 2 or (len(seconds) < REPEAT and sum(seconds) < 10):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def build():
    subprocess.run(
        "cargo build --quiet --profile dist -p trazar-bench-support --bin route_times".split(),
        cwd=ROOT,
        check=True,
    )
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "dist" / "route_times"


def graph(weights, side):
    """Both directions of all edges as a sparse matrix of floats, as SciPy wants it."""
    right, down = weights.reshape(2, -1)
    cells = np.arange(side * side, dtype=np.int32)
    start, end, weight = [], [], []
    for step, given in ((1, right), (side, down)):
        open_edges = given != BLOCKED
        here = cells[open_edges]
        start += [here, here + step]
        end += [here + step, here]
        weight += [given[open_edges]] * 2
    start, end, weight = (np.concatenate(parts) for parts in (start, end, weight))
    return csr_array((weight.astype(np.float64), (start, end)), shape=(side**2, side**2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sides", default="256,1024")
    sides = [int(side) for side in parser.parse_args().sides.split(",")]
    program = build()
    print("| cells | trazar s | Mcell/s | SciPy s | Mcell/s | MCP s | Mcell/s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "grid.raw"
        for side in sides:
            subprocess.run([program, "draw", str(side), file], check=True)
            weights = np.fromfile(file, np.uint32)
            done = subprocess.run(
                [program, "corners", str(side), str(REPEAT)], stdout=subprocess.PIPE, check=True
            )
            own = json.loads(done.stdout)
            matrix = graph(weights, side)
            scipy, distances = fastest(lambda: dijkstra(matrix, indices=0))
            if distances[-1] != own["cost"]:
                raise SystemExit(f"SciPy: {distances[-1]}, trazar: {own['cost']}")
            costs = np.random.default_rng(1).integers(1, 91, (side, side)).astype(np.float64)
            mcp, _ = fastest(lambda: MCP(costs, fully_connected=False).find_costs([(0, 0)]))
            row = [f"{side} x {side}"]
            for seconds in (own["seconds"], scipy, mcp):
                row += [f"{seconds:.4f}", f"{side * side / seconds / 1e6:.1f}"]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
