#!/usr/bin/env python3
"""Runs the tests of the twenty kernels on the emulator, and notes what it says first and when.

    benches/evidence/emulator.py --out docs/evidence/emulator.json
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import common

ROOT = common.HERE.parent.parent


def binaries() -> dict[str, str]:
    """Builds the tests; their programs by name."""
    command = ["cargo", "test", "-p", "trazar-cuda-std", "--no-run"]
    command += ["--manifest-path", str(ROOT / "Cargo.toml")]
    for name in ("broken_kernels", "explore"):
        command += ["--test", name]
    done = common.run(command, 3600)
    if done["exit"]:
        raise RuntimeError(done["output"])
    found = re.findall(r"Executable tests/(\w+)\.rs \((.*)\)", done["output"])
    return {name: str(ROOT / path) for name, path in found}


def one(kernel: dict, programs: dict[str, str]) -> list[dict]:
    """A test: its broken kernel, and the twin."""
    program, test = kernel["test"].split()
    done = common.run([programs[program], "--exact", test, "--nocapture"], 600)
    output = done["output"]
    if done["exit"] != 0 or "1 passed" not in output:
        raise RuntimeError(f"{test}: {output}")
    first = re.search(
        r"^first report: (seed|schedule) (\d+), ([\d.]+) s: (.*)$", output, re.MULTILINE
    )
    if first is None:
        raise RuntimeError(f"{test} printed no first report")
    kind, number, seconds, said = first.groups()
    status = "nothing" if said.startswith("wrong") else "found"
    broken = {
        "kernel": kernel["name"],
        "twin": False,
        "status": status,
        "said": said,
        "result": "wrong" if status == "nothing" else "none",
        kind: int(number),
        "seconds": float(seconds),
        "test": test,
        "test_seconds": done["seconds"],
    }
    # A test fails if anything is said of a twin, or if its result is wrong.
    if program == "explore":
        explored = re.findall(r"Explored \{ schedules: (\d+),", output)
        runs = int(explored[-1])
    else:
        runs = int(re.search(r"checks of repaired twins under (\d+)$", output, re.MULTILINE)[1])
    if not runs:
        raise RuntimeError(f"{test} has no twin")
    twin = {
        "kernel": kernel["name"],
        "twin": True,
        "status": "nothing",
        "said": "",
        "result": "right",
        "schedules": runs,
    }
    return [broken, twin]


def speed() -> list[dict]:
    """The time of a correct kernel, by its number of blocks."""
    command = ["cargo", "bench", "-p", "trazar-cuda-std", "--bench", "emulator"]
    command += ["--manifest-path", str(ROOT / "Cargo.toml"), "--", *map(str, common.BLOCKS)]
    done = common.run(command, 3600)
    rows = re.findall(r"(\d+) blocks, (\d+) seeds, median ([\d.]+) s", done["output"])
    if len(rows) != len(common.BLOCKS):
        raise RuntimeError(done["output"])
    return [
        {"blocks": int(blocks), "seeds": int(seeds), "kernel_seconds": float(seconds)}
        for blocks, seeds, seconds in rows
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    programs = binaries()
    metadata = (ROOT / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.*)"', metadata, re.MULTILINE)[1]
    head = common.header("trazar-cuda-std's emulator", version)
    runs = []
    for kernel in common.DESCRIBED:
        runs += one(kernel, programs)
        print(runs[-2], f"twin: {runs[-1]['schedules']}", flush=True)
    head["speed"] = speed()
    common.write(arguments.out, head, runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
