"""Dask arrays as bands of rows, and the tree in which the bands' parts are joined."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import dask.array as da
import numpy as np
from dask import config
from dask.base import tokenize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.utils import parse_bytes

from trazar import _trazar
from trazar._arrays import check_device, check_threshold, is_on_gpu
from trazar._errors import InputError

if TYPE_CHECKING:
    from typing import TypeAlias

    from trazar._arrays import Device

    Key: TypeAlias = str | tuple[Any, ...]
    #: Tasks by their keys.
    Tasks: TypeAlias = dict[Any, Any]


def checked(array: Any, rows: int | str | None) -> Any:
    """Return an array of two dimensions, of real numbers and in chunks of known sizes."""
    array = array if isinstance(array, da.Array) else da.asanyarray(array)
    if array.ndim != 2:
        raise InputError(f"an array of shape {array.shape} is no image: (H, W) is one")
    if any(np.isnan(side) for side in array.shape):
        raise InputError(
            "an array whose chunks are of unknown sizes: call its compute_chunk_sizes() first"
        )
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"an array of {array.dtype} is no image: its elements must be booleans or real numbers"
        )
    if not (rows is None or rows == "auto" or (isinstance(rows, int) and rows > 0)):
        raise InputError(f"rows={rows!r}: it is a number of rows, 'auto', or None for the chunks'")
    return array


def in_bands(array: Any, threshold: float | None, rows: int | str | None) -> Any:
    """Return the array as booleans or bytes whose chunks are bands of rows."""
    array = checked(array, rows)
    check_threshold(threshold)
    if threshold is not None or array.dtype not in (np.bool_, np.uint8):
        array = array.map_blocks(_foreground, threshold, dtype=np.bool_)
    if 0 in array.shape:
        return array
    return rechunked(array, rows)


def rechunked(array: Any, rows: int | str | None) -> Any:
    """Return an array with pixels in chunks that are bands of rows."""
    if rows == "auto":
        # Of labels, which are of four bytes.
        most = _bytes_per_chunk()
        largest = 4 * max(array.chunks[0]) * array.shape[1]
        if not most // SMALL <= largest <= most:
            most = most if largest > most else most // SMALL
            limit = max(1, most // 4) * array.dtype.itemsize
            return array.rechunk({0: "auto", 1: -1}, block_size_limit=limit)
        rows = None
    # A chunk without rows is no band.
    heights = tuple(height for height in array.chunks[0] if height > 0)
    return array.rechunk({0: heights if rows is None else rows, 1: -1})


def refuse_empty(image: Any) -> None:
    """Refuse an array without pixels."""
    if 0 in image.shape:
        height, width = image.shape
        raise InputError(f"the image is {width} × {height} pixels: both sides must be at least 1")


#: Bands of less than this share of the largest are joined.
SMALL = 16


def _bytes_per_chunk() -> int:
    return int(parse_bytes(config.get("array.chunk-size")))


def _foreground(block: Any, threshold: float | None, block_info: Any = None) -> Any:
    """Return a block as booleans."""
    if isinstance(block, np.ma.MaskedArray):
        raise InputError(
            "a masked array has pixels that are neither foreground nor background: give "
            "array.filled(0), say"
        )
    if threshold is None:
        return block != 0
    if block.dtype.kind == "f" and bool((block != block).any()):
        y, x = (int(index[0]) for index in (block != block).nonzero())
        if block_info:
            (top, _), (left, _) = block_info[0]["array-location"]
            y, x = y + top, x + left
        raise InputError(
            f"the value at x = {x}, y = {y} is not a number (NaN): replace such values before "
            "thresholding"
        )
    return block > threshold


def device_of(image: Any, device: Device) -> Device:
    """Return the device that workers use for an image, of which each chunk is like its meta."""
    if device not in ("auto", "cpu", "cuda", "emulator"):
        raise InputError(f"device={device!r}: it is 'auto', 'cpu', 'cuda' or 'emulator'")
    if is_on_gpu(image._meta):
        check_device(device)
        return "cuda"
    return device


def pack(band: Any) -> _trazar.Mask:
    """Pack a band where it lies."""
    return _trazar.device_pack(band) if is_on_gpu(band) else _trazar.pack(band, None)


class Bands:
    """The tasks that pack an image's bands, in a graph that grows.

    Attributes
    ----------
    image : dask.array.Array
        In chunks that are the bands.
    first_rows : list of int
        Of each band.
    tasks : dict
        The graph so far.
    """

    def __init__(self, image: Any, *options: Any) -> None:
        self.image = image
        self.token: str = tokenize(image.name, *options)
        heights = image.chunks[0]
        self.first_rows: list[int] = [0, *np.cumsum(heights[:-1], dtype=int).tolist()]
        self.tasks: Tasks = {}

    def __len__(self) -> int:
        return len(self.first_rows)

    def name(self, what: str) -> str:
        """Return the first part of keys, which tells users what the tasks do."""
        return f"trazar-{what}-{self.token}"

    def each(self, what: str, task: Callable[[int], tuple[Any, ...]]) -> list[Key]:
        """Add a task for each band, and return their keys."""
        name = self.name(what)
        keys: list[Key] = [(name, index) for index in range(len(self))]
        self.tasks.update((key, task(index)) for index, key in enumerate(keys))
        return keys

    def beside(self, keys: list[Key], index: int) -> tuple[Key | None, Key | None]:
        """Return the keys of the bands above and below a band; None at the image's frame."""
        above = keys[index - 1] if index > 0 else None
        below = keys[index + 1] if index + 1 < len(keys) else None
        return above, below

    def pack(self) -> list[Key]:
        """Pack each band."""
        name = self.image.name
        return self.each("pack", lambda index: (pack, (name, index, 0)))

    def over(self, what: str, tasks: Tasks, *below: Any) -> HighLevelGraph:
        """Return a graph of tasks that need those of ``below``."""
        return HighLevelGraph.from_collections(self.name(what), tasks, dependencies=below)

    def join(self, parts: list[Key]) -> Key:
        """Join parts pairwise, as a tree; return the key of the last."""
        name = self.name("join")
        level = 0
        while len(parts) > 1:
            joined: list[Key] = []
            for index in range(0, len(parts) - 1, 2):
                key: Key = (name, level, index // 2)
                self.tasks[key] = (join, parts[index], parts[index + 1])
                joined.append(key)
            if len(parts) % 2:
                joined.append(parts[-1])
            parts = joined
            level += 1
        return parts[0]


class Part(Protocol):
    """What is known of some rows of an image."""

    def join(self: _P, lower: _P) -> _P:
        """Return this part and the one below it as one."""


_P = TypeVar("_P", bound=Part)


def join(upper: _P, lower: _P) -> _P:
    """Join two parts of which the second is below the first."""
    return upper.join(lower)


def layer(name: str, graph: HighLevelGraph) -> Delayed:
    """Return a layer of a graph as a collection, which layers above it name as what they need."""
    return Delayed(name, graph, layer=name)


item = operator.getitem
