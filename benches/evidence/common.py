"""What the tools' scripts share: the twenty kernels, processes with a time-out, JSON files."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
DESCRIBED = json.loads((HERE / "kernels.json").read_text())
KERNELS = [kernel["name"] for kernel in DESCRIBED]
# Blocks of 64 threads of the correct kernel whose time is measured.
BLOCKS = (16, 256, 4096, 65536)
# Seconds after which a run counts as hanging.
TIME_OUT = 20.0


def run(command: list[str], time_out: float = TIME_OUT, env: dict[str, str] | None = None) -> dict:
    """Runs a program and all that it starts; after the time-out, kills them.

    Returns its exit status (None after the time-out), output and seconds.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=time_out)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        status = None
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            output = b""
    seconds = time.perf_counter() - start
    # Where things lie on this machine is nobody's business.
    text = output.decode(errors="replace")
    for folder in (HERE.parent.parent, sys.prefix, sys.base_prefix):
        text = text.replace(f"{folder}/", "")
    return {"exit": status, "seconds": round(seconds, 4), "output": text}


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def header(tool: str, version: str, **more: object) -> dict:
    """The head of a tool's JSON."""
    return {
        "tool": tool,
        "version": version,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 1),
        **more,
    }


def write(path: Path, head: dict, runs: list[dict]) -> None:
    """Writes a tool's JSON, one run a line."""
    lines = [json.dumps(head, indent=1)[:-2] + ',\n "runs": [']
    lines.append(",\n".join("  " + json.dumps(run, ensure_ascii=False) for run in runs))
    lines.append(" ]\n}")
    new = path.with_suffix(".new")
    new.write_text("\n".join(lines) + "\n")
    new.replace(path)


def unexpressed(kernel: str, twin: bool, reason: str) -> dict:
    """The run of a kernel that the tool can't express."""
    return {"kernel": kernel, "twin": twin, "status": "not expressible", "said": reason}


def run_of(kernel: str, twin: bool, status: str, said: str, result: str | None, done: dict) -> dict:
    """A run of a kernel: what the tool said, the result that it printed, and the process."""
    return {
        "kernel": kernel,
        "twin": twin,
        "status": status,
        "said": said,
        "result": result or "none",
        **done,
    }


def main(
    description: str,
    worker: Callable[[str, bool], bool],
    head: Callable[[], dict],
    one: Callable[[str, bool], dict],
) -> int:
    """The command of a tool's script: `one` run of each kernel and of its twin, to JSON.

    Each run starts the script again, with options by which `worker` runs a kernel, or its twin, and
    says whether the result is right.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--mended", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print("result:", "right" if worker(arguments.worker, arguments.mended) else "wrong")
        return 0
    if arguments.out is None:
        parser.error("--out FILE")
    top, runs = head(), []
    for kernel in KERNELS:
        for twin in (False, True):
            runs.append(one(kernel, twin))
            print({key: value for key, value in runs[-1].items() if key != "output"}, flush=True)
            write(arguments.out, top, runs)
    return 0
