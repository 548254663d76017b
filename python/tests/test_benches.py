"""``benches/run`` compares results before it times them: does it notice a wrong one?"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHES = Path(__file__).parents[2] / "benches"
if not BENCHES.exists():
    pytest.skip("only in the repository", allow_module_level=True)
sys.path.insert(0, str(BENCHES))

from peers import MODULES  # noqa: E402
from peers.task import Input, Program, Settings, Task, equal, same_partition  # noqa: E402
from peers.timing import measure  # noqa: E402

QUICK = Settings(quick=True, longest=0.0)


def rows_of(task: Task) -> dict[str, dict]:
    return {row["library"]: row for row in measure(task, QUICK)}


def test_a_wrong_result_is_noticed(capsys):
    task = Task("none", "square", equal)
    task.on(lambda settings: iter([Input("numbers", (1, 3), np.arange(3))]))
    task.program("trazar")(lambda data, settings: lambda: data**2)
    task.program("right")(lambda data, settings: lambda: data * data)
    task.program("wrong")(lambda data, settings: lambda: data * 2 + 1)
    task.program("absent", needs=("no_such_module",))(lambda data, settings: None)
    task.program("no GPU", missing=lambda: "no driver")(lambda data, settings: None)

    class Panic(BaseException):
        """As what pyo3 makes of a panic."""

    @task.program("fails")
    def fails(data, settings):
        raise Panic("not today")

    rows = rows_of(task)
    assert rows.keys() == {"trazar", "right", "wrong", "fails"}
    assert capsys.readouterr().err.count("square: no GPU is left out: no driver\n") == 1
    assert rows["right"]["verified"] and rows["right"]["seconds"] > 0
    assert not rows["wrong"]["verified"] and rows["wrong"]["note"] == "other values"
    assert rows["fails"]["seconds"] is None and "not today" in rows["fails"]["note"]


def test_partitions():
    ours = np.array([[0, 1, 2], [0, 1, 3]])
    assert same_partition(ours, np.array([[0, 7, 5], [0, 7, 1]])) is None
    assert same_partition(np.ones((2, 2)), np.full((2, 2), 3)) is None
    for theirs in ([[0, 1, 2], [0, 2, 3]], [[0, 1, 2], [0, 1, 2]], [[4, 1, 2], [4, 1, 3]]):
        assert same_partition(ours, np.array(theirs)), theirs


def tasks():
    for module in MODULES:
        for task in importlib.import_module(f"peers.{module}").TASKS:
            yield pytest.param(task, id=task.name)


@pytest.mark.parametrize("task", list(tasks()))
def test_each_task_notices_another_result(task):
    """Our program on another input, as a peer, differs from ours."""
    inputs = list(task.inputs(Settings(sizes=[128, 160], quick=True)))
    first = inputs[0]
    other = next((each for each in inputs if each.name != first.name), inputs[-1])
    if other is first:
        pytest.skip("has one input of this size")
    programs = task.programs
    ours = programs[0]
    if "cupy" in ours.needs:
        pytest.skip("needs CuPy and a GPU")
    changed = Program("changed", lambda _, settings: ours.prepare(other.data, settings),
                      convert=ours.convert)  # fmt: skip
    copied = Task(task.figure, task.name, task.same)
    copied.on(lambda settings: iter([first]))
    copied.programs = [ours, changed, Program("same", ours.prepare, convert=ours.convert)]
    try:
        rows = rows_of(copied)
    except ValueError:
        return  # Arrays of other shapes can't be compared.
    assert rows["same"]["verified"]
    assert not rows["changed"]["verified"]


def test_the_page_of_results_is_of_these_results():
    if not (BENCHES.parent / "docs/results.md").exists():
        pytest.skip("there is none yet")
    from plots import draw, page, results

    docs = BENCHES.parent / "docs"
    runs = results.read(docs / "results")
    plots = {}
    for run in runs:
        plots[run.name] = []
        for name in draw.PLOTS:
            path = docs / f"images/results-{run.name}-{name}.svg"
            if path.exists():
                assert draw.digest(run) in path.read_text(), path
                plots[run.name].append(name)
    assert (docs / "results.md").read_text() == page.render(runs, plots)
