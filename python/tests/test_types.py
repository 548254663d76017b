"""The annotations, by mypy's strictest rules, and what the stubs say against what there is."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason="mypy is not installed"
)


def test_mypy_strict(tmp_path):
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, "trazar"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_stubs_are_true(tmp_path):
    """Names and parameters of the stubs and of the extension."""
    checked = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "trazar._trazar", "--ignore-disjoint-bases"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
