#!/usr/bin/env python3
"""Runs the kernels under numba's CUDA simulator.

    pip install numba-cuda
    benches/evidence/numba_simulator.py --out docs/evidence/numba.json
"""

from __future__ import annotations

import importlib.metadata
import re
import sys

import common
from cases import CASES, Fresh

# Kernels that numba or its simulator can't express, and why.
NOT_EXPRESSIBLE = {
    "pairs_at_odd_places": "numba has no loads of several elements",
    "copy_numbers": "arrays live as long as something refers to them",
    "release_to_the_block": "numba's atomics have no scope",
    "sum_by_shuffles_of_some": "the simulator has no shuffles",
    "reads_its_writes_read_only": "numba has no loads through the read-only cache",
}
NO_TWIN = {"grid_barrier": "the simulator has cooperative launches of one block only"}


def worker(name: str, mended: bool) -> bool:
    """Runs a kernel; whether its result is right."""
    import numpy as np
    from numba import cuda

    from numba_kernels import kernels

    case = CASES[name]
    given = case.mended if mended and case.mended else case.arguments
    kind = np.float32 if name == "accumulate" else np.uint32
    stream, other = cuda.stream(), cuda.stream()
    arguments = []
    for value in given:
        if isinstance(value, Fresh):
            arguments.append(cuda.device_array(value.len, kind))
        elif isinstance(value, list):
            on = other if name == "add_one" else stream
            arguments.append(cuda.to_device(np.array(value, kind), stream=on))
        else:
            arguments.append(np.uint32(value))
    if mended and name == "add_one":
        other.synchronize()
    kernel = cuda.jit(kernels(mended)[name])
    kernel[case.blocks, case.threads, stream](*arguments)
    stream.synchronize()
    results = [
        value.copy_to_host().tolist() if hasattr(value, "copy_to_host") else int(value)
        for value in arguments
    ]
    return case.is_right(*results)


def report(output: str) -> tuple[str, str]:
    """What the simulator has said: the exception, and the kernel's line."""
    error = re.search(r"^(\w*Error: .*)$", output, re.MULTILINE)
    if not error:
        return "nothing", ""
    places = re.findall(r'numba_kernels.py", line (\d+)', output)
    return "found", f"{error[1]} (numba_kernels.py:{places[-1]})"


def one(kernel: str, twin: bool) -> dict:
    reason = NOT_EXPRESSIBLE.get(kernel) or (NO_TWIN.get(kernel) if twin else None)
    if reason:
        return common.unexpressed(kernel, twin, reason)
    command = [sys.executable, __file__, "--worker", kernel] + (["--mended"] if twin else [])
    done = common.run(command, env={"NUMBA_ENABLE_CUDASIM": "1"})
    output = done.pop("output")
    status, said = report(output)
    result = re.search(r"^result: (\w+)", output, re.MULTILINE)
    if done["exit"] is None:
        status = "hangs"
    done["output"] = output[-3000:]
    return common.run_of(kernel, twin, status, said, result and result[1], done)


def head() -> dict:
    version = importlib.metadata.version("numba-cuda")
    return common.header(
        "numba's CUDA simulator", f"numba-cuda {version}", time_out=common.TIME_OUT, settings=[]
    )


if __name__ == "__main__":
    sys.exit(common.main(__doc__.splitlines()[0], worker, head, one))
