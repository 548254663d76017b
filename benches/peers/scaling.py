"""This library alone, by numbers of cores and on a GPU: what `trazar bench` measures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from .machine import cores


def numbers(most: int) -> list[int]:
    """1, 2, 4, ... and all cores."""
    found = [1]
    while found[-1] * 2 < most:
        found.append(found[-1] * 2)
    return found + ([most] if most > 1 else [])


def measure(quick: bool, has_gpu: bool) -> list[dict[str, Any]]:
    """What `trazar bench --json` says, for each number of cores, and for the GPU."""
    size, time = ("256", "1") if quick else ("2048", "1")
    first = sorted(os.sched_getaffinity(0))
    found = []
    for count in numbers(cores()):
        device = "core" if count == 1 else "cpu"
        found.append(bench(size, time, device, first[:count]))
    if has_gpu:
        found.append(bench(size, time, "cuda", first))
    return found


def bench(size: str, time: str, device: str, cpus: list[int]) -> dict[str, Any]:
    """One run on these processors."""
    command = [sys.executable, "-m", "trazar", "bench", "--size", size, "--time", time]
    command += ["--device", device, "--json"]
    environment = {**os.environ, "RAYON_NUM_THREADS": str(len(cpus))}
    done = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
    )
    return {**json.loads(done.stdout), "cores": len(cpus)}
