"""Compares the results of a task's programs, then times them in turns."""

from __future__ import annotations

import dataclasses
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from .task import Input, Settings, Task

#: Runs after which a program is done, and those it is given before.
MOST, LEAST = 15, 3
#: A program whose first timed run took so many seconds is not run again.
SLOW = 2.0
#: Before a run is timed, a program whose last one took fewer seconds than this is run once: what
#: the program before it did to caches and to the C library's heap can double its time.
SHORT = 0.02


def measure(task: Task, settings: Settings) -> Iterator[dict[str, Any]]:
    """A row for each program on each input."""
    for each in task.programs:
        if settings.on in each.on and (why := each.missing()):
            print(f"{task.name}: {each.library} is left out: {why}", file=sys.stderr)
    for given in task.inputs(settings):
        yield from _measure(task, given, settings)


def _measure(task: Task, given: Input, settings: Settings) -> Iterator[dict[str, Any]]:
    programs = [
        each
        for each in task.programs
        if settings.on in each.on and each.is_there() and not each.skip(given)
    ]
    if not programs or programs[0] is not task.programs[0]:
        return
    calls: dict[str, Callable[[], Any]] = {}
    rows: dict[str, dict[str, Any]] = {}
    times: dict[str, list[float]] = {}
    compared = None
    if settings.on == "gpu":
        # Our own result there is compared, too: with that of the processor.
        ours, on_cores = programs[0], dataclasses.replace(settings, on="cores")
        compared = ours.convert(ours.prepare(given.data, on_cores)())
    for each in programs:
        about = {
            "figure": task.figure,
            "task": task.name,
            "input": given.name,
            "shape": list(given.shape),
            "amount": given.amount,
            "library": each.library,
            "on": settings.on,
        }
        try:
            call = each.prepare(given.data, settings)
            # A GPU's first call takes seconds: the driver compiles.
            if each.compiles or settings.on == "gpu":
                call()
            began = time.perf_counter()
            result = call()
            first = time.perf_counter() - began
        except BaseException as error:
            # What another program raises says why it has no time. A panic in Rust is no Exception.
            if each is task.programs[0] or isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            said = f"{type(error).__name__}: {str(error)[:200]}"
            print(f"{task.name}, {given.name}, {each.library}: {said}", file=sys.stderr)
            yield {**about, "seconds": None, "verified": False, "note": said}
            continue
        converted = each.convert(result)
        wrong = None
        if each is task.programs[0]:
            if task.result_bytes:
                yield {**about, **_copy(task.result_bytes(result) + _bytes(given.data))}
            if compared is None:
                compared = converted
        if compared is not converted:
            wrong = (each.same or task.same)(compared, converted)
        del result, converted
        rows[each.library] = {**about, "verified": wrong is None, "note": wrong}
        times[each.library] = [first] if first > SLOW else []
        calls[each.library] = call
    del compared
    _in_turns(calls, times, settings)
    for name, row in rows.items():
        of = times[name]
        yield {**row, "seconds": statistics.median(of), "least": min(of), "runs": len(of)}


def _in_turns(
    calls: dict[str, Callable[[], Any]], times: dict[str, list[float]], settings: Settings
) -> None:
    """Adds the times of runs: from the call until the result is there and freed."""
    clock = time.perf_counter
    gc.collect()
    gc.disable()
    for turn in range(MOST):
        for name, call in calls.items():
            taken = sum(times[name])
            if taken > SLOW or (turn >= LEAST and taken > settings.longest):
                continue
            if times[name] and times[name][-1] < SHORT:
                call()
            began = clock()
            result = call()
            del result
            times[name].append(clock() - began)
    gc.enable()


def _copy(size: int) -> dict[str, Any]:
    """The time of a copy of so many bytes by one core."""
    import numpy as np

    source = np.ones(size, np.uint8)
    target = np.empty_like(source)
    times = []
    for _ in range(7):
        began = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - began)
    return {
        "library": "copy",
        "seconds": statistics.median(times[1:]),
        "least": min(times[1:]),
        "runs": len(times) - 1,
        "verified": True,
        "note": f"{size} bytes",
    }


def _bytes(data: Any) -> int:
    return getattr(data, "nbytes", 0)


