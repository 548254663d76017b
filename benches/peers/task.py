"""What is compared: tasks, their inputs, and the programs that do them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

#: Says what is wrong with a peer's result, or nothing: ``same(ours, theirs)``.
Same = Callable[[Any, Any], "str | None"]


@dataclass
class Settings:
    """Where and how much is measured."""

    #: "core": one core. "cores": all that the process may run on. "gpu": the first one.
    on: str = "core"
    #: Small images, short runs.
    quick: bool = False
    #: The sides of images, instead of each task's own.
    sizes: list[int] = field(default_factory=list)
    #: A folder of PNG masks, for contours and labels.
    masks: str | None = None
    #: A program runs no more once its runs took this long, in seconds.
    longest: float = 0.5

    @property
    def device(self) -> str:
        """The argument ``device`` of our calls."""
        return "cuda" if self.on == "gpu" else "cpu"

    def sides(self, usual: list[int], quick: list[int]) -> list[int]:
        """The sides of the images to measure."""
        return self.sizes or (quick if self.quick else usual)


@dataclass
class Input:
    """Something to work on."""

    name: str
    #: Height and width, or number, height and width.
    shape: tuple[int, ...]
    data: Any
    #: How much it has of what a plot counts, such as pins.
    amount: int | None = None


@dataclass
class Program:
    """A library's way to do a task."""

    library: str
    #: Takes an input's data and the settings, and returns the call that is timed.
    prepare: Callable[[Any, Settings], Callable[[], Any]]
    #: Modules without which it is left out.
    needs: tuple[str, ...] = ()
    #: Says what else is missing, or nothing; asked where it would be measured.
    missing: Callable[[], str | None] = lambda: None
    #: Where it is measured. One that uses one core in any case is measured there alone.
    on: tuple[str, ...] = ("core",)
    #: Brings a result to the form that ``same`` takes, outside the time.
    convert: Callable[[Any], Any] = lambda result: result
    #: Compares its result, if it is not to be what the task's ``same`` asks for.
    same: Same | None = None
    #: Its first call compiles.
    compiles: bool = False
    #: Inputs on which it takes minutes.
    skip: Callable[[Input], bool] = lambda given: False

    def is_there(self) -> bool:
        """Whether its modules are installed, and nothing else is missing."""
        modules = (importlib.util.find_spec(name.split(".")[0]) for name in self.needs)
        return all(modules) and self.missing() is None


class Task:
    """A job that several programs do, with the inputs it is measured on.

    ``figure`` is the plot it belongs to. The first program is ours: the others' results are
    compared with its.
    """

    def __init__(self, figure: str, name: str, same: Same) -> None:
        self.figure = figure
        self.name = name
        self.same = same
        self.programs: list[Program] = []
        #: The bytes of a result, for the copy that is timed as a floor. None: no copy is.
        self.result_bytes: Callable[[Any], int] | None = None

    def program(self, library: str, **options: Any) -> Callable[[Callable], Callable]:
        """Adds a function as :attr:`Program.prepare`; ``options`` are Program's."""

        def add(prepare: Callable) -> Callable:
            self.programs.append(Program(library, prepare, **options))
            return prepare

        return add

    def inputs(self, settings: Settings) -> Iterator[Input]:
        """The inputs. Set by :meth:`on`."""
        raise NotImplementedError(self.name)

    def on(self, inputs: Callable[[Settings], Iterator[Input]]) -> None:
        """Says what it is measured on."""
        self.inputs = inputs  # type: ignore[method-assign]


def equal(ours: Any, theirs: Any) -> str | None:
    """Both are arrays, or numbers, with equal values."""
    import numpy as np

    return None if np.array_equal(ours, theirs) else "other values"


def same_partition(ours: Any, theirs: Any) -> str | None:
    """Labels of the same components, numbered in any way."""
    import numpy as np

    ours, theirs = np.ravel(ours).astype(np.int64), np.ravel(theirs).astype(np.int64)
    if not np.array_equal(ours == 0, theirs == 0):
        return "another background"
    number = np.zeros(int(ours.max(initial=0)) + 1, np.int64)
    number[ours] = theirs
    if not np.array_equal(number[ours], theirs):
        return "some of our components have several of its labels"
    components = np.unique(ours)
    if len(np.unique(number[components])) != len(components):
        return "some of its labels have several of our components"
    return None
