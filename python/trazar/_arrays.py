"""What arrays are taken, and where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from trazar import _trazar
from trazar._errors import InputError

if TYPE_CHECKING:
    from typing import TypeAlias

    Device: TypeAlias = Literal["auto", "cpu", "cuda", "emulator"]


def is_on_gpu(array: Any) -> bool:
    """Whether the array lies in the memory of an NVIDIA GPU."""
    return _is_on_gpu is not None and bool(_is_on_gpu(array))


# macOS has none.
_is_on_gpu = getattr(_trazar, "is_on_gpu", None)


def check_device(device: str) -> None:
    """Refuse a device that an array in a GPU's memory can't be worked on."""
    if device not in ("auto", "cuda"):
        raise InputError(
            f"device={device!r}: an array on a GPU is worked on there; copy it to the host first"
        )
