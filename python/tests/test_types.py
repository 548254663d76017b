"""The annotations, by mypy's strictest rules, and what the stubs say against what there is."""

from __future__ import annotations

import importlib.util
import os
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


#: What callers write, with the types that they should see.
CALLERS = """
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import trazar

image: NDArray[np.uint8] = np.zeros((4, 5), np.uint8)
output = np.zeros((4, 5), np.int64)

assert_type(trazar.label(image), tuple[NDArray[np.int32], int])
assert_type(trazar.label(image, None, None), tuple[NDArray[np.int32], int])
assert_type(trazar.label(image, output=np.uint8), tuple[NDArray[Any], int])
assert_type(trazar.label(image, output="int16"), tuple[NDArray[Any], int])
assert_type(trazar.label(image, output=output), int)
assert_type(trazar.label(image, None, output), int)
assert_type(trazar.label_batch(image[np.newaxis]), tuple[NDArray[np.int32], list[int]])
batch = trazar.trace_batch(image[np.newaxis])
assert_type(batch, trazar.ContourBatch)
assert_type(batch[0], trazar.Contours)
for contours in batch:
    assert_type(contours, trazar.Contours)
    contours.areas()
    assert_type(contours.to_svg(), str)
    assert_type(contours.to_gds(pixel_size=5), bytes)
    contours.write_gds("layout.gds", layer=3)
[(found, hierarchy)] = trazar.find_contours_batch(image[np.newaxis])
assert_type(found, tuple[NDArray[np.int32], ...])
contours = trazar.trace(image)
assert_type(contours[0], NDArray[np.int32])
assert_type(contours[0:2], list[NDArray[np.int32]])
for points in contours:
    assert_type(points, NDArray[np.int32])
trazar.find_contours(image, offset=[1, 2])
trazar.find_contours(image, threshold=np.float64(0.5))
"""


def test_callers_pass_strict_checks(tmp_path):
    (tmp_path / "callers.py").write_text(CALLERS)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "callers.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(PROJECT)},
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
