"""The command inside the wheel."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

import trazar


def command(*args: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "trazar", *args], capture_output=True, text=True, **options
    )


def test_version_and_help():
    assert command("--version").stdout.strip() == f"trazar {trazar.__version__}"
    told = command("trace", "--help")
    assert told.returncode == 0 and "--threshold" in told.stdout


def test_it_works_on_files(tmp_path, rng):
    image = rng.random((40, 50)) < 0.4
    np.save(tmp_path / "mask.npy", image)
    done = command("label", "mask.npy", "-o", "labels.npy", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    labels = np.load(tmp_path / "labels.npy")
    expected, count = trazar.label(image, connectivity=8)
    assert np.array_equal(labels, expected)
    assert json.loads(done.stdout)["components"] == count


def test_exit_statuses(tmp_path):
    wrong = command("trace", "--nonsense")
    assert wrong.returncode == 2 and "--nonsense" in wrong.stderr
    missing = command("trace", "missing.png", cwd=tmp_path)
    assert missing.returncode == 1 and missing.stderr.startswith("error: missing.png")
