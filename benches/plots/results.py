"""The results that `benches/run` and `python/benches/gpu.py` have written."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Where rows are measured, in words.
PLACES = {"core": "one core", "cores": "all cores", "gpu": "GPU"}


@dataclass(frozen=True)
class Row:
    """One program's time for one task on one input."""

    figure: str
    task: str
    input: str
    shape: tuple[int, ...]
    amount: int | None
    library: str
    on: str
    #: None: it failed, and the note says how.
    seconds: float | None
    verified: bool
    note: str | None

    @property
    def case(self) -> tuple[str, str, tuple[int, ...], int | None]:
        """What is the same for all programs."""
        return self.task, self.input, self.shape, self.amount

    @property
    def size(self) -> str:
        """As in "64 × 1024²"."""
        *count, height, width = self.shape
        sides = f"{height}²" if height == width else f"{height} × {width}"
        return " × ".join([*map(str, count), sides])


class Results:
    """One run on one machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.stem
        given: dict[str, Any] = json.loads(path.read_text())
        self.date: str = given["date"]
        self.note: str = given.get("note", "")
        self.machine: dict[str, Any] = given["machine"]
        self.versions: dict[str, str] = given["versions"]
        self.minutes: float | None = given.get("minutes")
        self.bench: list[dict[str, Any]] = given.get("bench", [])
        #: Of `python/benches/gpu.py`: images in the GPU's memory.
        self.resident: list[dict[str, Any]] = given.get("resident", [])
        fields = Row.__dataclass_fields__
        self.rows = [
            Row(**{**{name: row.get(name) for name in fields}, "shape": tuple(row["shape"])})
            for row in given.get("rows", [])
        ]

    def where(self, **wanted: Any) -> list[Row]:
        """The rows with a time whose fields are these; a field may have one of several values."""
        return [
            row
            for row in self.rows
            if row.seconds
            and all(
                getattr(row, name) in (value if isinstance(value, (tuple, set)) else (value,))
                for name, value in wanted.items()
            )
        ]

    @property
    def title(self) -> str:
        """The machine, in words."""
        cores = f"{self.machine['cores']} core" + "s" * (self.machine["cores"] > 1)
        gpu = f", {self.machine['gpu']}" if self.machine["gpu"] else ""
        return f"{self.machine['processor']}, {cores}{gpu}"

    def pairs(self, **wanted: Any) -> list[tuple[Row, Row]]:
        """Our row and a peer's, for the same case at the same place."""
        rows = self.where(**wanted)
        ours = {(row.case, row.on): row for row in rows if row.library == "trazar"}
        return [
            (ours[row.case, row.on], row)
            for row in rows
            if not row.library.startswith(("trazar", "copy")) and (row.case, row.on) in ours
        ]


def read(folder: Path) -> list[Results]:
    """All runs, those on larger machines first."""
    found = [Results(path) for path in sorted(folder.glob("*.json"))]
    return sorted(found, key=lambda each: (each.machine["gpu"] is None, -each.machine["cores"]))


def ratio(ours: Row, theirs: Row) -> float:
    """How many times as long the peer takes."""
    assert ours.seconds and theirs.seconds
    return theirs.seconds / ours.seconds


def spread(pairs: Iterable[tuple[Row, Row]]) -> str:
    """As in "1.2 to 3.4 times (median 2.0)"."""
    ratios = sorted(ratio(*pair) for pair in pairs)
    if not ratios:
        return "not measured"
    if len(ratios) == 1:
        return f"{digits(ratios[0])} times"
    middle = statistics.median(ratios)
    return f"{digits(ratios[0])} to {digits(ratios[-1])} times (median {digits(middle)})"


def digits(number: float) -> str:
    """Two digits, or all before the point."""
    decimals = 0 if number >= 9.95 else 1 if number >= 0.995 else 2
    return f"{number:.{decimals}f}"


def time(seconds: float) -> str:
    """A time with three digits, in the unit that fits, in one line."""
    number, unit = next(
        (seconds * scale, unit)
        for most, scale, unit in [(1e-3, 1e6, "µs"), (1, 1e3, "ms"), (float("inf"), 1, "s")]
        if seconds < most
    )
    decimals = 2 if number < 9.995 else 1 if number < 99.95 else 0
    return f"{number:.{decimals}f}\u00a0{unit}"
