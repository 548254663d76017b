"""The exceptions. Each has one line, which says what is wrong and what would be right."""

from __future__ import annotations


class Error(Exception):
    """What all of the library's own exceptions are.

    Examples
    --------
    >>> import trazar
    >>> issubclass(trazar.InputError, (trazar.Error, ValueError))
    True
    """


class InputError(Error, ValueError):
    """An argument that can't be used, or arguments that contradict each other.

    Examples
    --------
    >>> import trazar
    >>> trazar.label([1, 0, 1])
    Traceback (most recent call last):
    trazar.InputError: an array of shape [3] is no image: (H, W) is one, (N, H, W) is N of them
    """


class OutOfMemoryError(Error, MemoryError):
    """Memory that could not be had, on the host or on a GPU.

    Examples
    --------
    >>> import trazar
    >>> issubclass(trazar.OutOfMemoryError, MemoryError)
    True
    """


class DeviceError(Error, RuntimeError):
    """A device that is not there or that failed.

    Examples
    --------
    >>> import trazar
    >>> issubclass(trazar.DeviceError, RuntimeError)
    True
    """


for _class in (Error, InputError, OutOfMemoryError, DeviceError):
    _class.__module__ = "trazar"
