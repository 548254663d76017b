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


def is_masked(array: Any) -> bool:
    """Whether it is a masked array, of NumPy or of a library like it."""
    return hasattr(array, "mask") and hasattr(array, "filled")


def checked_images(given: Any, function: str, batch: bool) -> Any:
    """Return one image, of shape (H, W), or with ``batch`` N images, of shape (N, H, W).

    An image of shape (H, W, 1) loses its last axis. ``function`` is the name of the one that takes
    one image. The extension checks what does not say its shape, such as lists.
    """
    shape = getattr(given, "shape", None)
    if shape is None or len(shape) != (2 if batch else 3):
        return given
    if batch:
        raise InputError(
            f"an array of 2 dimensions: {function}_batch takes N images, {function} takes one"
        )
    if shape[2] == 1:
        return given[:, :, 0]
    sides = tuple(int(side) for side in shape)
    if shape[2] in (3, 4):
        wrong = f"image of shape {sides}: an image has one channel, such as image[:, :, 0]"
    else:
        wrong = f"image of shape {sides}: an image has 2 dimensions, (H, W)"
    raise InputError(f"{wrong}; {function}_batch takes N images, of shape (N, H, W)")


def check_threshold(threshold: Any) -> None:
    """Refuse a threshold that is not one number."""
    if threshold is None or isinstance(threshold, (int, float)):
        return
    import numpy as np

    given = np.asarray(threshold)
    if given.shape:
        raise InputError(
            f"threshold of shape {given.shape}: it is one number; compare with an array first, and "
            "give image > threshold"
        )
    if given.dtype.kind not in "biuf":
        raise InputError(f"threshold={threshold!r}: it is a number")


def check_connectivity(connectivity: int) -> None:
    """Refuse a connectivity of values other than 4 and 8."""
    if connectivity not in (4, 8):
        raise InputError(f"connectivity={connectivity!r}: it is 4 or 8 neighbours")


def check_device(device: str) -> None:
    """Refuse a device that an array in a GPU's memory can't be worked on."""
    if device not in ("auto", "cuda"):
        raise InputError(
            f"device={device!r}: an array on a GPU is worked on there; copy it to the host first"
        )
