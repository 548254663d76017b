"""The extension module, which the other modules of the package document."""

import os
from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_Path = str | os.PathLike[str]
_Found = tuple[tuple[NDArray[np.int32], ...], NDArray[np.int32] | None]
_Mask = tuple[int, int, bytes | str | Sequence[int]]

__all__ = [
    "BandNumbers",
    "ContourPart",
    "DeviceArray",
    "DeviceContours",
    "Grid",
    "HostContours",
    "LabelPart",
    "Mask",
    "MeasurePart",
    "Measures",
    "RegionPart",
    "__version__",
    "checked_offset",
    "command",
    "cost_distance",
    "device_cost_distance",
    "device_find_contours",
    "device_find_contours_by_label",
    "device_label",
    "device_label_band",
    "device_label_values",
    "device_measure",
    "device_pack",
    "device_rle_encode",
    "device_rle_encode_labels",
    "device_trace",
    "device_trace_regions",
    "distances",
    "find_contours",
    "find_contours_by_label",
    "follow",
    "info",
    "is_on_gpu",
    "label",
    "label_part",
    "label_values",
    "label_values_band",
    "label_values_part",
    "measure",
    "measure_part",
    "negotiate",
    "pack",
    "region_dicts",
    "region_wkb",
    "rle_area",
    "rle_decode",
    "rle_encode",
    "rle_encode_labels",
    "rle_iou",
    "rle_merge",
    "rle_to_bbox",
    "route",
    "set_progress",
    "sieve",
    "trace",
    "trace_part",
    "trace_region_part",
    "trace_regions",
    "write_regions",
]

__version__: str

def checked_offset(offset: Any, width: int, height: int) -> tuple[int, int]: ...
def command(args: Sequence[str]) -> int: ...
def is_on_gpu(array: Any) -> bool: ...
def info() -> dict[str, Any]: ...
def find_contours(
    images: Any,
    batch: bool,
    mode: int,
    method: int,
    offset: Any,
    threshold: float | None,
    device: str,
) -> list[_Found]: ...
def device_find_contours(
    images: Any, batch: bool, mode: int, method: int, offset: Any, threshold: float | None
) -> list[_Found]: ...
def trace(
    images: Any,
    batch: bool,
    retrieval: str,
    approximation: str,
    geometry: str,
    algorithm: str | None,
    threshold: float | None,
    device: str,
) -> list[HostContours]: ...
def device_trace(
    images: Any,
    batch: bool,
    retrieval: str,
    approximation: str,
    geometry: str,
    algorithm: str | None,
    threshold: float | None,
) -> DeviceContours: ...
def label(
    images: Any,
    batch: bool,
    connectivity: int,
    algorithm: str | None,
    statistics: bool,
    threshold: float | None,
    device: str,
    output: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.int32] | None, list[int], dict[str, NDArray[Any]] | None]: ...
def device_label(
    images: Any,
    batch: bool,
    connectivity: int,
    algorithm: str | None,
    statistics: bool,
    threshold: float | None,
    output: Any = None,
) -> tuple[DeviceArray | None, list[int], dict[str, NDArray[Any]] | None]: ...
def pack(image: Any, threshold: float | None) -> Mask: ...
def device_pack(image: Any) -> Mask: ...
def device_label_band(
    numbers: BandNumbers, mask: Mask, connectivity: int, wide: bool
) -> DeviceArray: ...
def label_part(
    mask: Mask, first_row: int, connectivity: int, statistics: bool, device: str
) -> tuple[LabelPart, Measures]: ...
def trace_part(
    mask: Mask,
    first_row: int,
    above: Mask | None,
    below: Mask | None,
    retrieval: str,
    approximation: str,
    geometry: str,
    device: str,
) -> ContourPart: ...
def trace_region_part(
    rows: tuple[NDArray[Any], Any],
    first_row: int,
    above: tuple[NDArray[Any], Any] | None,
    below: tuple[NDArray[Any], Any] | None,
    background: NDArray[Any],
    connectivity: int,
) -> RegionPart: ...
def label_values_part(
    array: NDArray[Any],
    mask: Any,
    first_row: int,
    background: NDArray[Any],
    connectivity: int,
    device: str,
) -> LabelPart: ...
def label_values_band(
    numbers: BandNumbers,
    array: NDArray[Any],
    mask: Any,
    background: NDArray[Any],
    connectivity: int,
    wide: bool,
    device: str,
) -> NDArray[Any]: ...
def trace_regions(
    array: NDArray[Any],
    background: NDArray[Any],
    mask: Any,
    connectivity: int,
    device: str,
) -> tuple[HostContours, NDArray[Any], NDArray[np.uint32], int]: ...
def label_values(
    array: NDArray[Any],
    background: NDArray[Any],
    mask: Any,
    connectivity: int,
    device: str,
) -> tuple[NDArray[np.int32], int]: ...
def find_contours_by_label(
    array: NDArray[Any], background: NDArray[Any], mode: int, method: int, device: str
) -> dict[Any, tuple[tuple[NDArray[np.int32], ...], NDArray[np.int32]]]: ...
def device_trace_regions(
    array: Any, background: list[float], mask: Any, connectivity: int
) -> tuple[HostContours, NDArray[Any], NDArray[np.uint32], int]: ...
def device_label_values(
    array: Any, background: list[float], mask: Any, connectivity: int
) -> tuple[DeviceArray, int]: ...
def device_find_contours_by_label(
    array: Any, background: list[float], mode: int, method: int
) -> dict[Any, tuple[tuple[NDArray[np.int32], ...], NDArray[np.int32]]]: ...
def device_measure(
    labels: Any,
    intensities: Any | None,
    properties: Sequence[str],
    spacing: tuple[float, float],
    on_device: bool,
) -> list[tuple[str, NDArray[Any] | DeviceArray]]: ...
def device_rle_encode(masks: Any, batch: bool) -> list[bytes]: ...
def device_rle_encode_labels(labels: Any) -> tuple[NDArray[np.int64], list[bytes]]: ...
def set_progress(receiver: object) -> object: ...
def region_dicts(
    contours: HostContours, values: list[float], transform: tuple[float, ...]
) -> list[tuple[dict[str, Any], float]]: ...
def region_wkb(contours: HostContours, transform: tuple[float, ...]) -> list[bytes]: ...
def write_regions(
    contours: HostContours,
    values: NDArray[Any],
    regions: NDArray[np.uint32],
    pixels: NDArray[np.uint64] | None,
    format: str,
    path: _Path,
    transform: tuple[float, ...] | None,
    epsg: int | None,
) -> None: ...
def measure(
    labels: Any,
    intensities: Any | None,
    properties: Sequence[str],
    spacing: tuple[float, float],
    device: str,
) -> list[tuple[str, NDArray[Any]]]: ...
def measure_part(
    labels: Any,
    intensities: Any | None,
    rows: tuple[int, int],
    first_row: int,
    properties: Sequence[str],
    spacing: tuple[float, float],
) -> MeasurePart: ...
def rle_encode(masks: Any) -> list[bytes]: ...
def rle_encode_labels(labels: Any) -> tuple[NDArray[np.int64], list[bytes]]: ...
def rle_decode(masks: Sequence[_Mask]) -> NDArray[np.uint8]: ...
def rle_area(masks: Sequence[_Mask]) -> list[int]: ...
def rle_to_bbox(masks: Sequence[_Mask]) -> list[list[int]]: ...
def rle_iou(
    found: Sequence[_Mask], truth: Sequence[_Mask], is_crowd: Sequence[bool]
) -> NDArray[np.float64]: ...
def rle_merge(masks: Sequence[_Mask], intersect: bool) -> tuple[int, int, bytes]: ...
def sieve(
    source: Any, size: int, mask: Any | None, connectivity: int
) -> NDArray[Any]: ...
def route(
    grid: Grid,
    pin_cells: NDArray[np.uint32],
    pins: NDArray[np.int64],
    nets: NDArray[np.int64],
    tree: str,
    effort: tuple[int | None, float | None],
    turn_cost: int,
    algorithm: str | None,
    device: str,
) -> list[dict[str, Any]]: ...
def negotiate(
    grid: Grid,
    capacities: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]],
    pin_cells: NDArray[np.uint32],
    pins: NDArray[np.int64],
    nets: NDArray[np.int64],
    rounds: int,
    margin: int,
    device: str,
) -> dict[str, Any]: ...
def device_cost_distance(
    friction: Any,
    cells: NDArray[np.uint32],
    ids: NDArray[np.uint32],
    start_costs: NDArray[np.float64],
    sampling: tuple[float, float],
    neighbours: str,
    max_cost: float | None,
    no_data: float | None,
    precision: str,
    allocation: bool,
    direction: bool,
) -> tuple[DeviceArray, DeviceArray | None, DeviceArray | None]: ...
def cost_distance(
    friction: NDArray[Any],
    cells: NDArray[np.uint32],
    ids: NDArray[np.uint32],
    start_costs: NDArray[np.float64],
    sampling: tuple[float, float],
    neighbours: str,
    step_cost: str,
    max_cost: float | None,
    no_data: float | None,
    precision: str,
    allocation: bool,
    direction: bool,
    device: str,
    before: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], NDArray[np.uint32] | None, NDArray[np.uint8] | None]: ...
def follow(direction: NDArray[np.uint8], row: int, column: int) -> NDArray[np.int64]: ...
def distances(
    grid: Grid, sources: NDArray[np.uint32], algorithm: str | None, device: str
) -> NDArray[np.uint64]: ...

@final
class Grid:
    def __new__(
        cls, right: NDArray[np.uint32], down: NDArray[np.uint32], via: NDArray[np.uint32]
    ) -> Grid: ...
    @property
    def shape(self) -> tuple[int, int, int]: ...
    def weights(self) -> list[NDArray[np.uint32]]: ...

@final
class Mask:
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def nbytes(self) -> int: ...
    def edges(self) -> tuple[Mask, Mask]: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Mask: ...

@final
class LabelPart:
    @property
    def rows(self) -> tuple[int, int]: ...
    def join(self, lower: LabelPart) -> LabelPart: ...
    def finish(self) -> list[BandNumbers]: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> LabelPart: ...

@final
class Measures:
    def __len__(self) -> int: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Measures: ...

@final
class BandNumbers:
    @property
    def count(self) -> int: ...
    def label(self, mask: Mask, connectivity: int, wide: bool, device: str) -> NDArray[Any]: ...
    def columns(self, measures: Measures, wide: bool) -> dict[str, NDArray[Any]]: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> BandNumbers: ...

@final
class ContourPart:
    @property
    def rows(self) -> tuple[int, int]: ...
    @property
    def borders(self) -> tuple[int, int]: ...
    def join(self, lower: ContourPart) -> ContourPart: ...
    def finish(self) -> HostContours: ...
    def count(self) -> int: ...
    def write_lines(self, index: int, count: int, path: _Path) -> None: ...
    def polygons(
        self, index: int, count: int
    ) -> tuple[
        NDArray[np.int64], tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
    ]: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> ContourPart: ...

@final
class MeasurePart:
    @property
    def rows(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def join(self, lower: MeasurePart) -> MeasurePart: ...
    def finish(self) -> list[tuple[str, NDArray[Any]]]: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> MeasurePart: ...

@final
class RegionPart:
    @property
    def rows(self) -> tuple[int, int]: ...
    def join(self, lower: RegionPart) -> RegionPart: ...
    def finish(self) -> tuple[HostContours, NDArray[Any], NDArray[np.uint32], int]: ...
    def count(self) -> int: ...
    @staticmethod
    def from_bytes(dtype: str, bytes: bytes) -> RegionPart: ...

@final
class HostContours:
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def geometry(self) -> str: ...
    @property
    def points(self) -> NDArray[np.int32]: ...
    @property
    def offsets(self) -> NDArray[np.intp]: ...
    @property
    def kinds(self) -> NDArray[np.uint8]: ...
    def simplify(self, tolerance: float, method: str) -> HostContours: ...
    def filter_regions(
        self, min_area: int, fill_holes: bool
    ) -> tuple[HostContours, NDArray[np.intp]]: ...
    @property
    def hierarchy(self) -> NDArray[np.int32]: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> HostContours: ...
    def __len__(self) -> int: ...
    def areas(self) -> NDArray[np.float64]: ...
    def perimeters(self) -> NDArray[np.float64]: ...
    def bounding_boxes(self) -> NDArray[np.int32]: ...
    def centroids(self) -> NDArray[np.float64]: ...
    def rings(self) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]: ...
    def write(self, format: str, path: _Path | None) -> bytes | None: ...
    def write_gds(
        self,
        path: _Path | None,
        *,
        pixel_size: int = 1,
        database_unit: float = 1e-9,
        user_unit: float = 1e-6,
        layer: int = 1,
        datatype: int = 0,
        max_vertices: int = 4094,
        cell: str = "TOP",
        library: str = "TRAZAR",
    ) -> bytes | None: ...

@final
class DeviceContours:
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def geometry(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def image_offsets(self) -> list[int]: ...
    @property
    def points(self) -> Any: ...
    @property
    def offsets(self) -> Any: ...
    @property
    def kinds(self) -> Any: ...
    @property
    def hierarchy(self) -> Any: ...
    def __len__(self) -> int: ...
    def to_host(self) -> HostContours: ...
    def images(self) -> list[HostContours]: ...

@final
class DeviceArray:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def device(self) -> str: ...
    @property
    def stream(self) -> int: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __getitem__(self, key: int, /) -> DeviceArray: ...
    def get(self) -> NDArray[Any]: ...
    def item(self) -> int | float: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
