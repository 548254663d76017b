"""Reports of progress."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from trazar import _trazar
from trazar._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Progress: TypeAlias = Callable[[float], Any]


@contextlib.contextmanager
def reporting(progress: Progress | None, index: int = 0, count: int = 1) -> Iterator[None]:
    """Let a job that is started within report to ``progress``: job ``index`` of ``count``."""
    if progress is None:
        yield
        return
    if not callable(progress):
        raise InputError(f"progress={progress!r}: it is a function of the share that is done")
    report = progress

    def of_all(share: float) -> Any:
        return report((index + share) / count)

    before = _trazar.set_progress(progress if count == 1 else of_all)
    try:
        yield
    finally:
        _trazar.set_progress(before)
