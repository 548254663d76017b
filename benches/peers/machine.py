"""The machine that is measured, and the versions of what runs on it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from . import opencv

#: Packages whose versions count, as PyPI names them.
PACKAGES = (
    "trazar", "numpy", "opencv-python-headless", "scipy", "scikit-image",
    "connected-components-3d", "rasterio", "xarray-spatial", "numba", "shapely", "pycocotools",
    "dask", "kornia-rs", "cupy-cuda12x", "cupy-cuda13x", "cucim-cu12", "cucim-cu13",
    "nvidia-npp", "nvidia-npp-cu12",
)  # fmt: skip


def cores() -> int:
    """Those that this process may run on."""
    return len(os.sched_getaffinity(0))


def about() -> dict[str, Any]:
    """What the times depend on. ``load`` is the number of programs that were running before."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "gpu": _gpu(),
        "load": os.getloadavg()[0],
    }


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if in_cpp := opencv.version():
        found["OpenCV C++"] = in_cpp
    return found


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _processor() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        info = ""
    named = re.search(r"^model name\s*:\s*(.*)$", info, re.MULTILINE)
    return named[1] if named else platform.processor() or platform.machine()


def _gpu() -> str | None:
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    name, _, driver = done.stdout.splitlines()[0].partition(", ")
    return f"{name}, driver {driver}"
