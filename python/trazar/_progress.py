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
def reporting(progress: Progress | None) -> Iterator[None]:
    """Let jobs that are started within report to ``progress``."""
    if progress is None:
        yield
        return
    if not callable(progress):
        raise InputError(f"progress={progress!r}: it is a function of the share that is done")
    before = _trazar.set_progress(progress)
    try:
        yield
    finally:
        _trazar.set_progress(before)
