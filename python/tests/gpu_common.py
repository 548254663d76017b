"""What the tests on a GPU share. They need NumPy only, and run by ``python gpu_torch.py`` too."""

from __future__ import annotations

import sys
import time
import traceback

import numpy as np

import trazar


def skip_without_gpu(name: str) -> None:
    """End a script, or skip a module of pytest's, where there is no GPU or no such library."""
    reason = None
    if not trazar.info()["gpus"]:
        reason = "no GPU"
    else:
        try:
            __import__(name)
        except ImportError as error:
            reason = str(error)
    if reason is None:
        return
    if "pytest" in sys.modules:
        import pytest

        pytest.skip(reason, allow_module_level=True)
    print(f"skipped: {reason}")
    sys.exit(0)


def masks() -> list[np.ndarray]:
    """Images of many sizes, with and without whole words per row."""
    rng = np.random.default_rng(0)
    made = []
    for height, width in ((1, 1), (3, 5), (64, 64), (100, 333), (257, 1024), (1000, 999)):
        noise = rng.random((height // 3 + 1, width // 3 + 1)) < 0.45
        blocks = np.kron(noise, np.ones((3, 3), bool))[:height, :width]
        made.append((blocks ^ (rng.random((height, width)) < 0.01)).astype(np.uint8) * 200)
    made.append(np.zeros((50, 60), np.uint8))
    made.append(np.ones((50, 60), np.uint8))
    return made


def assert_same_contours(found: trazar.Contours, image: np.ndarray, **options) -> None:
    """On the GPU, as on the processor."""
    expected = trazar.trace(image, device="cpu", **options)
    assert found.device.startswith("cuda:")
    on_host = found.to_host()
    for name in ("points", "offsets", "kinds", "hierarchy"):
        ours, theirs = getattr(on_host, name), getattr(expected, name)
        assert np.array_equal(ours, theirs), (name, image.shape)
        assert np.array_equal(getattr(found, name).get(), theirs), (name, image.shape)


def run_all(names: dict[str, object]) -> None:
    """Run the functions whose names begin with ``test_``, and exit with the number of failures."""
    failed = 0
    for name, test in list(names.items()):
        if not name.startswith("test_"):
            continue
        started = time.perf_counter()
        try:
            test()
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"FAILED {name}")
        else:
            print(f"ok {name} ({time.perf_counter() - started:.2f} s)")
    sys.exit(failed)
