"""Measures one module's tasks in a process of its own: `python -m peers.worker`.

The number of threads is set before a library that has some is loaded, so each number takes a
process.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys

THREADS = ("RAYON", "OMP", "NUMBA", "OPENBLAS", "MKL")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module")
    parser.add_argument("--on", choices=["core", "cores", "gpu"], required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", default="")
    parser.add_argument("--masks")
    args = parser.parse_args()
    if args.on == "core":
        os.environ.update({f"{name}_NUM_THREADS": "1" for name in THREADS})
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    # What libraries print goes the other way: our output is JSON.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    from .task import Settings
    from .timing import measure

    settings = Settings(
        on=args.on,
        quick=args.quick,
        sizes=[int(size) for size in args.sizes.split(",") if size],
        masks=args.masks,
        longest=0.1 if args.quick else 0.5,
    )
    for task in importlib.import_module(f"peers.{args.module}").TASKS:
        try:
            for row in measure(task, settings):
                print(json.dumps(row), file=out, flush=True)
        except ModuleNotFoundError as error:  # Of what makes the images.
            print(f"{task.name}: left out: {error}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
