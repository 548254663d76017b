"""Threads, interrupts, forks, memory, and how long the import takes."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import trazar


def run(program: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, **options
    )


def test_the_import_is_quick_and_imports_no_numpy():
    program = (
        "import sys, time; start = time.perf_counter(); import trazar; "
        "print(time.perf_counter() - start, 'numpy' in sys.modules)"
    )
    seconds = []
    for _ in range(5):
        taken, has_numpy = run(program).stdout.split()
        assert has_numpy == "False"
        seconds.append(float(taken))
    assert min(seconds) < 0.1, seconds


def test_without_a_gpu_it_says_so():
    facts = trazar.info()
    if facts["gpus"]:
        pytest.skip("there is a GPU")
    assert facts["no_gpu"]
    with pytest.raises(trazar.DeviceError) as refused:
        trazar.label([[1]], device="cuda")
    assert isinstance(refused.value, RuntimeError) and "\n" not in str(refused.value)


def test_a_hundred_calls_at_once(rng):
    images = [rng.random((300, 400)) < 0.4 for _ in range(10)]
    expected = [(trazar.label(image), trazar.find_contours(image)) for image in images]

    def check(number: int) -> bool:
        image = images[number % 10]
        (labels, count), (contours, hierarchy) = expected[number % 10]
        found, found_count = trazar.label(image)
        found_contours, found_hierarchy = trazar.find_contours(image)
        return (
            found_count == count
            and np.array_equal(found, labels)
            and np.array_equal(found_hierarchy, hierarchy)
            and all(map(np.array_equal, found_contours, contours))
        )

    with ThreadPoolExecutor(100) as pool:
        assert all(pool.map(check, range(100)))


def test_the_gil_is_released(rng):
    """While a long job runs, this thread goes on."""
    image = rng.random((2500, 2500)) < 0.5
    steps, done = 0, threading.Event()

    def work() -> None:
        trazar.trace(image, algorithm="suzuki", device="cpu")
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.is_set():
        time.sleep(0.001)
        steps += 1
    worker.join()
    # It takes a second; with the GIL there would be a step or two.
    assert steps > 50


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import trazar
# What a shell starts in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
{setup}
def interrupt():
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
start = time.perf_counter()
try:
    while True:
        {job}
except KeyboardInterrupt:
    print(time.perf_counter() - start)
"""


@pytest.mark.parametrize(
    ("setup", "job"),
    [
        (
            "image = np.random.default_rng(0).random((9000, 9000)) < 0.5",
            "trazar.trace(image)",
        ),
        (
            "image = np.random.default_rng(0).random((12000, 12000)) < 0.5",
            "trazar.label(image)",
        ),
        (
            "image = np.random.default_rng(0).random((900, 900)) < 0.5",
            "trazar.label(image, device='emulator', algorithm='direct')",
        ),
        (
            "grid = trazar.Grid(np.ones((4000, 3999)), np.ones((3999, 4000)))",
            "trazar.distances(grid, (0, 0))",
        ),
    ],
)
def test_ctrl_c_ends_long_work(setup, job):
    ended = run(INTERRUPTED.format(setup=setup, job=job), timeout=120)
    assert ended.returncode == 0, ended.stderr
    # 0.5 s until the signal; the rest is the time to notice it, on a machine that may be busy. Work
    # that does not look for signals never ends.
    assert float(ended.stdout) < 60.0


SHARE_INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import trazar
signal.signal(signal.SIGINT, signal.default_int_handler)
{setup}
{share}
start = time.perf_counter()
{share}
whole = (time.perf_counter() - start) * {shares}
def interrupt():
    time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
start = time.perf_counter()
try:
    {job}
    # The signal came late.
    while True: time.sleep(0.01)
except KeyboardInterrupt:
    print((time.perf_counter() - start) / whole)
"""

#: Contours of a tile, and of 64 of them.
TILES = """
tile = np.random.default_rng(0).random((700, 700)) < 0.5
small = trazar.trace(tile, geometry="edges")
large = trazar.trace(np.tile(tile, (8, 8)), geometry="edges")
"""


@pytest.mark.parametrize(
    ("setup", "share", "shares", "job"),
    [
        # Zero strides: the arrays take no memory.
        (
            "images = np.broadcast_to(np.float64(1), (400, 3000, 3000))",
            "trazar._trazar.pack(images[0], None)",
            400,
            "trazar._trazar.pack(images.reshape(-1, 3000), None)",
        ),
        (
            "images = np.broadcast_to(np.float64(1), (200, 3000, 3000))",
            "trazar.label_batch(images[:1], device='cpu')",
            200,
            "trazar.label_batch(images, device='cpu')",
        ),
        (TILES, "small.to_geojson()", 64, "large.to_geojson()"),
        (TILES, "small.to_gds()", 64, "large.to_gds()"),
        # What polygons() makes before shapely. A share would find its memory in the allocator, and
        # take a tenth of the time.
        (TILES, "large._on_host().rings()", 1, "large._on_host().rings()"),
    ],
    ids=["pack", "label_batch", "to_geojson", "to_gds", "rings"],
)
def test_ctrl_c_ends_a_call_well_before_its_end(setup, share, shares, job):
    """As a part of the time that the call would take, by that of a share of its work."""
    program = SHARE_INTERRUPTED.format(setup=setup, share=share, shares=shares, job=job)
    ended = run(program, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout) < 0.5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_works(rng):
    """The threads of the parent's pool are not in the child, which must not wait for them."""
    image = rng.random((600, 600)) < 0.5
    expected = trazar.label(image)[1]
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        same = trazar.label(image)[1] == expected and len(trazar.find_contours(image)[0]) > 0
        os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc here")
def test_nothing_leaks(rng):
    image = rng.random((200, 200)) < 0.4
    grid = trazar.Grid(np.ones((20, 19)), np.ones((19, 20)))

    def calls(count: int) -> None:
        for _ in range(count):
            _contours, _hierarchy = trazar.find_contours(image)
            traced = trazar.trace(image)
            traced.points, traced.kinds, traced.areas(), traced.to_json()
            trazar.label_stats(image)
            trazar.route(grid, [[(0, 0), (19, 19)]])
            with pytest.raises(ValueError):
                trazar.label(image, connectivity=3)

    calls(200)
    gc.collect()
    before = resident()
    calls(1000)
    gc.collect()
    grown = resident() - before
    # 1000 leaked results of one kind alone would be 30 MB and more.
    assert grown < 8 << 20, grown


def test_arrays_keep_only_their_own_result(rng):
    image = rng.random((2000, 2000)) < 0.5
    kept = [trazar.find_contours(image)[0][0] for _ in range(3)]
    assert len({contour.base.ctypes.data for contour in kept}) == 3
