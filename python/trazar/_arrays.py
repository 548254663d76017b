"""What arrays are taken, and where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from trazar._errors import InputError

if TYPE_CHECKING:
    from typing import TypeAlias

    Device: TypeAlias = Literal["auto", "cpu", "cuda", "emulator"]

#: DLPack's number for memory of an NVIDIA GPU.
_DLPACK_CUDA = 2


def is_on_gpu(array: Any) -> bool:
    """Whether the array lies in the memory of an NVIDIA GPU."""
    if hasattr(array, "__cuda_array_interface__"):
        return True
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and bool(device()[0] == _DLPACK_CUDA)


def check_device(device: str) -> None:
    """Refuse a device that an array in a GPU's memory can't be worked on."""
    if device not in ("auto", "cuda"):
        raise InputError(
            f"device={device!r}: an array on a GPU is worked on there; copy it to the host first"
        )
