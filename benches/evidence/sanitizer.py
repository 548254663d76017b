#!/usr/bin/env python3
"""Runs the twenty kernels and their twins under each tool of compute-sanitizer, on a GPU.

    benches/evidence/build FOLDER
    benches/evidence/sanitizer.py --binary FOLDER/evidence --out compute-sanitizer.json

Needs Python alone, the driver and compute-sanitizer, from PATH or --sanitizer.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import common

# The settings under which each tool finds the most; memory that the program does not free is no
# mistake here, and neither is the exit status by which it says that its result is wrong.
COMMON = ["--check-exit-code", "no", "--print-limit", "3", "--error-exitcode", "77"]
TOOLS = {
    "none": None,
    "memcheck": ["--track-stream-ordered-races", "all", "--check-cache-control"],
    "racecheck": ["--racecheck-report", "all", "--racecheck-deadlock-timeout", "5000"],
    "initcheck": [],
    "synccheck": [],
}
# First lines of messages that are about the tool or the program's end, not about a mistake.
OTHER = re.compile(
    r"COMPUTE-SANITIZER|.*SUMMARY|Target application|No attachable|Error: process didn|"
    r"Error: (Target application|No attachable|couldn't find exit code)"
)
API_ERROR = re.compile(r"Program hit (\S+)")


def report(output: str) -> tuple[str, str]:
    """What a tool has said: `found`, `api error` (of the driver, not the tool's own), or `nothing`;
    with the first message and the line that it names."""
    api_error = ""
    lines = [line[9:] for line in output.splitlines() if line.startswith("=========")]
    for number, line in enumerate(lines):
        # A message starts after one space; what belongs to it is indented further.
        if not re.match(r" \S", line) or OTHER.match(line.strip()):
            continue
        if hit := API_ERROR.match(line.strip()):
            api_error = api_error or hit[1]
            continue
        place = next((m[0] for m in map(PLACE.search, lines[number : number + 6]) if m), "")
        return "found", line.strip() + (f" ({place})" if place and place not in line else "")
    return ("api error", api_error) if api_error else ("nothing", "")


PLACE = re.compile(r"kernels\.cu:\d+")


def one(sanitizer: str, binary: str, kernel: str, twin: bool, tool: str) -> dict:
    command = [binary, kernel] + (["mended"] if twin else [])
    if TOOLS[tool] is not None:
        command = [sanitizer, "--tool", tool, *COMMON, *TOOLS[tool], *command]
    # Twins run several at a time.
    done = common.run(command, common.TIME_OUT * (3 if twin else 1))
    output = done.pop("output")
    result = re.search(r"^result: (\w+)|^(CUDA error): ", output, re.MULTILINE)
    status, said = report(output)
    if tool == "none":
        status = "nothing"
    if done["exit"] is None and status == "nothing":
        status = "hangs"
    return {
        "kernel": kernel,
        "twin": twin,
        "tool": tool,
        "status": status,
        "said": said,
        "result": (result[1] or result[2]) if result else "none",
        **done,
        "output": "\n".join(output.splitlines()[:40])[:3000],
    }


def speed(sanitizer: str, binary: str, blocks: int, tool: str) -> dict:
    """The time of a correct kernel of so many blocks under a tool."""
    command = [binary, "--blocks", str(blocks)]
    if TOOLS[tool] is not None:
        command = [sanitizer, "--tool", tool, *COMMON, *TOOLS[tool], *command]
    done = common.run(command, 60)
    kernel = re.search(r"^kernel: ([\d.]+) s", done["output"], re.MULTILINE)
    return {
        "tool": tool,
        "blocks": blocks,
        "seconds": done["seconds"],
        "kernel_seconds": float(kernel[1]) if kernel else None,
        "right": "result: right" in done["output"] and report(done["output"])[0] == "nothing",
    }


def gpu() -> str:
    """The GPU's name and the driver's version, as far as nvidia-smi tells."""
    smi = shutil.which("nvidia-smi") or "/usr/local/nvidia/bin/nvidia-smi"
    command = [smi, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"unknown ({error})"
    name, _, driver = done.stdout.splitlines()[0].partition(", ")
    return f"{name}, driver {driver}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, required=True, help="from benches/evidence/build")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sanitizer", help="compute-sanitizer, if it is not in PATH")
    parser.add_argument("--budget", type=float, default=480, help="seconds for all runs")
    parser.add_argument("--jobs", type=int, default=6, help="twins at a time; these are not timed")
    arguments = parser.parse_args()
    sanitizer = arguments.sanitizer or shutil.which("compute-sanitizer")
    for folder in sorted(Path("/usr/local").glob("cuda*/bin")):
        sanitizer = sanitizer or shutil.which("compute-sanitizer", path=folder)
    if sanitizer is None:
        parser.error("compute-sanitizer is not in PATH: name it by --sanitizer")
    binary = str(arguments.binary.resolve())
    known = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True)
    if known.stdout.split() != common.KERNELS:
        parser.error(f"{binary} has other kernels than kernels.json")

    version = subprocess.run([sanitizer, "--version"], capture_output=True, text=True, check=False)
    number = re.search(r"Version (\S+)", version.stdout)
    head = common.header(
        "compute-sanitizer",
        number[1] if number else version.stdout.strip(),
        gpu=gpu(),
        time_out=common.TIME_OUT,
        settings={tool: COMMON + flags for tool, flags in TOOLS.items() if flags is not None},
    )

    # The first run of a process on a GPU may load what later ones find loaded.
    warm = one(sanitizer, binary, common.KERNELS[0], True, "none")
    print(f"warm-up: result {warm['result']}, {warm['seconds']} s", flush=True)
    if warm["result"] != "right":
        print(warm["output"], file=sys.stderr)
        return 1
    start = time.monotonic()
    runs = []

    def note(run: dict) -> None:
        runs.append(run)
        twin = " (twin)" if run["twin"] else ""
        print(
            f"{run['kernel']}{twin}, {run['tool']}: {run['status']}, result {run['result']}, "
            f"{run['seconds']} s: {run['said']}",
            flush=True,
        )
        common.write(arguments.out, head, runs)

    # What hangs takes its time-out, so it comes last.
    order = sorted(common.KERNELS, key=lambda kernel: kernel == "grid_barrier")
    left = []
    for kernel in order:
        for tool in TOOLS:
            if time.monotonic() - start > arguments.budget:
                left.append((kernel, tool))
                continue
            note(one(sanitizer, binary, kernel, False, tool))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:

        def twin(pair: tuple[str, str]) -> dict | None:
            if time.monotonic() - start > arguments.budget:
                return None
            return one(sanitizer, binary, pair[0], True, pair[1])

        pairs = [(kernel, tool) for kernel in order for tool in TOOLS]
        for pair, run in zip(pairs, pool.map(twin, pairs)):
            if run is None:
                left.append(pair)
            else:
                note(run)
    head["speed"] = []
    for blocks in common.BLOCKS:
        for tool in TOOLS:
            if time.monotonic() - start > arguments.budget:
                left.append((f"{blocks} blocks", tool))
                continue
            head["speed"].append(speed(sanitizer, binary, blocks, tool))
            print(head["speed"][-1], flush=True)
            common.write(arguments.out, head, runs)
    if left:
        print(f"{len(left)} runs left out after {arguments.budget} s, from {left[0]} on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
