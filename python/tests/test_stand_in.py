"""Runs ``stand_in/cases.py`` with a stand-in as NVIDIA's driver: device arrays without a GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "stand_in"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_device_arrays_on_a_stand_in_driver(tmp_path):
    library = tmp_path / "libcuda.so.1"
    compile_it = ["cc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "driver.c", "-lpthread"]
    subprocess.run(compile_it, check=True)
    cases = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / "cases.py"],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert cases.returncode == 0, cases.stdout + cases.stderr
