"""All functions from many threads at once, on arrays and objects that the threads share.

On a free-threaded Python this runs in parallel throughout; on others, only where the GIL is
released, and threads change places a thousand times as often as they usually do.
"""

from __future__ import annotations

import gc
import pickle
import random
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trazar

THREADS, ROUNDS = 8, 3


def jobs(rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """A call of each function, without the names that only differ in what they return."""
    mask = rng.random((120, 150)) < 0.45
    stack = rng.random((5, 40, 50)) < 0.45
    classes = rng.integers(0, 4, (60, 70)).astype(np.uint8)
    labels = trazar.label(mask)[0]
    friction = rng.random((50, 60)).astype(np.float32) + np.float32(0.1)
    weights = rng.integers(1, 100, (2, 40, 40)).astype(np.uint32)
    grid = trazar.Grid(weights[0][:, 1:], weights[1][1:])
    contours = trazar.trace(mask, geometry="edges")
    regions = trazar.polygonize(classes)
    masks = np.asfortranarray(stack.transpose(1, 2, 0).astype(np.uint8))
    rles = trazar.rle.encode(masks)
    costs = trazar.cost_distance(friction, [(0, 0)], direction=True)
    pins = [(0, 0), (39, 39), (0, 39), (20, 7)]
    return {
        "find_contours": lambda: trazar.find_contours(mask),
        "find_contours_batch": lambda: trazar.find_contours_batch(stack),
        "find_contours_by_label": lambda: trazar.find_contours_by_label(classes),
        "trace": lambda: trazar.trace(mask, approximation="tc89-l1").points,
        "trace_batch": lambda: trazar.trace_batch(stack).points,
        "label": lambda: trazar.label(mask),
        "label_batch": lambda: trazar.label_batch(stack),
        "label_stats": lambda: trazar.label_stats(mask),
        "label_stats_batch": lambda: trazar.label_stats_batch(stack),
        "label_values": lambda: trazar.label_values(classes),
        "measure": lambda: trazar.measure(labels, properties=("area", "perimeter", "moments_hu")),
        "polygonize": lambda: trazar.polygonize(classes).points,
        "simplify": lambda: regions.simplify(2.0).points,
        "shapes": lambda: list(trazar.shapes(classes)),
        "sieve": lambda: trazar.sieve(classes, 5),
        "contours' areas": lambda: contours.areas(),
        "contours' files": lambda: (contours.to_svg(), contours.to_geojson()),
        "pickled contours": lambda: pickle.loads(pickle.dumps(contours)).points,
        "pickled grid": lambda: trazar.distances(pickle.loads(pickle.dumps(grid)), [(3, 3)]),
        "distances": lambda: trazar.distances(grid, [(0, 0)]),
        "route": lambda: trazar.route(grid, [pins])[0].paths(),
        "cost_distance": lambda: trazar.cost_distance(friction, [(5, 5)]).cost,
        "path_to": lambda: costs.path_to((49, 59)).cells,
        "encode": lambda: trazar.rle.encode(masks),
        "decode": lambda: trazar.rle.decode(rles),
        "merge": lambda: trazar.rle.merge(rles),
        "iou": lambda: trazar.rle.iou(rles, rles, [0] * len(rles)),
        "info": lambda: trazar.info()["version"],
        "an error": lambda: refused(mask[0]),
    }


def refused(image: np.ndarray) -> str:
    """What is said of an image that is none."""
    with pytest.raises(trazar.InputError) as error:
        trazar.label(image)
    return str(error.value)


def same(a: Any, b: Any) -> bool:
    """Equal in all that they hold."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def test_all_functions_at_once(rng):
    calls = jobs(rng)
    expected = {name: call() for name, call in calls.items()}
    start = threading.Barrier(THREADS)
    wrong: list[str] = []

    def work(number: int) -> None:
        order = random.Random(number)
        start.wait()
        for _ in range(ROUNDS):
            for name in order.sample(list(calls), len(calls)):
                try:
                    if not same(calls[name](), expected[name]):
                        wrong.append(f"{name}: another result")
                except BaseException as error:
                    wrong.append(f"{name}: {error!r}")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong, wrong[:10]
    # `shapes` turns it off for a while.
    assert gc.isenabled()


def test_the_comparison_notices():
    points = np.arange(6)
    assert same({"a": [points, "x"]}, {"a": [points.copy(), "x"]})
    for other in ([points, "y"], [points + 1, "x"], [points.astype(float), "x"], [points]):
        assert not same({"a": [points, "x"]}, {"a": other})


def test_free_threaded_python_stays_so():
    """The import of a module that needs the GIL would turn it on, as other tests' peers do: hence
    an interpreter of its own."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python has a GIL")
    program = "import sys, trazar; print(sys._is_gil_enabled())"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("False\n", "")
