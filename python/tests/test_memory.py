"""Want of memory: each call returns its result or raises, whatever the limit is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("resource")
if sys.platform != "linux":
    pytest.skip("other systems do not keep RLIMIT_AS", allow_module_level=True)

PROGRAM = """
import resource
import numpy as np
import trazar

def size():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()

image = np.random.default_rng(0).random((1000, 1000)) < 0.5
batch = np.stack([image[:600, :600]] * 4)
contours = trazar.trace(image, geometry="edges")
ones = np.ones((700, 700), np.uint32)
grid = trazar.Grid(ones[:, 1:], ones[1:])
nets = [[(0, 0), (699, 699), (350, 3)]]
huge = np.broadcast_to(np.uint8(1), (10**6, 10**6))
wide = np.broadcast_to(np.uint8(1), (70, 10**4, 10**4))
calls = {calls}
spare = {spare}
# Imports and threads come first.
small = dict(image=image[:400, :400], batch=batch[:, :400, :400], huge=image[:9], wide=batch)
small["contours"] = trazar.trace(small["image"], geometry="edges")
for call in calls:
    eval(call, dict(globals(), **small))

def limited(call, limit):
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    try:
        eval(call)
        return "done"
    except MemoryError:
        return "MemoryError"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)

for call in calls:
    print(call, *(limited(call, size() + (more << 20)) for more in spare), sep="\\t", flush=True)
"""


def outcomes(calls: list[str], spare: list[int]) -> list[list[str]]:
    """What each call ends with, for each number of MiB that there is more."""
    program = PROGRAM.format(calls=calls, spare=spare)
    # Large arrays come from the system and go back to it: no call has what another left.
    environment = os.environ | {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment,
    )
    assert ended.returncode == 0, (ended.returncode, ended.stdout, ended.stderr)
    return [line.split("\t")[1:] for line in ended.stdout.splitlines()]


def test_little_memory():
    calls = [
        "trazar.label(image)",
        "trazar.label_batch(batch)",
        "trazar.label_stats(image)",
        "trazar.trace(image)",
        "trazar.find_contours_batch(batch)",
        "contours.to_geojson()",
        "contours.to_json()",
        "contours.to_svg()",
        "contours.to_gds()",
        "contours.areas(), contours.bounding_boxes()",
        "trazar.route(grid, nets)",
        "trazar.distances(grid, (0, 0))",
    ]
    # Without `contours.polygons()`: when memory runs out, shapely 2.2 itself ends in a segmentation
    # fault now and then (in `_polygon_from_flatcoords`, in 1 of 58 runs).
    found = outcomes(calls, [1, 3, 6, 12, 25, 1000])
    assert len(found) == len(calls)
    assert {of_call[-1] for of_call in found} == {"done"}
    # The limits are near enough to what the calls need.
    assert sum(of_call[0] == "MemoryError" for of_call in found) > len(calls) // 2, found


def test_sizes_beyond_any_memory():
    """The size is refused before the pixels are read, which would take minutes."""
    calls = [
        "trazar.trace(huge)",
        "trazar.label(huge)",
        "trazar.find_contours(huge)",
        "trazar.label_batch(wide)",
        "trazar.label(wide[0])",
    ]
    assert outcomes(calls, [300]) == [["MemoryError"]] * len(calls)
