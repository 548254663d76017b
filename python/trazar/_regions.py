"""Regions: what is connected and has one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from trazar import _trazar
from trazar._arrays import check_connectivity, check_device, is_masked, is_on_gpu
from trazar._contours import Contours, _counted
from trazar._errors import InputError
from trazar._progress import reporting
from trazar._tracing import CHAIN_APPROX_SIMPLE, RETR_TREE

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from trazar._arrays import Device
    from trazar._progress import Progress
    from trazar._trazar import DeviceArray

    PathLike = str | os.PathLike[str]

_IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


def shapes(
    image: Any,
    mask: Any = None,
    connectivity: int = 4,
    transform: Any = None,
) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield each region's polygon and value, as ``rasterio.features.shapes`` does.

    Parameters
    ----------
    image : array of shape (H, W)
        uint8, uint16, uint32, int16, int32, int64 or float32, of any strides, or booleans. NaN is
        no data.
    mask : array of shape (H, W), optional
        Pixels where it is 0 or False are left out.
    connectivity : {4, 8}
        Whether pixels of one value that touch at a corner only are of different regions, or of one.
    transform : affine.Affine or six numbers, optional
        From pixels to the coordinates of the polygons: ``(a, b, c, d, e, f)`` with
        ``x = a * column + b * row + c`` and ``y = d * column + e * row + f``.

    Returns
    -------
    iterator of (dict, float)
        A polygon in GeoJSON's form, with closed rings, and its pixels' value. Polygons are in
        raster order of their first pixels, which is not rasterio's order.

    Raises
    ------
    InputError
        For an image or a mask of another shape or type.
    OutOfMemoryError

    See Also
    --------
    polygonize : the same as arrays, as shapely polygons, WKB or files, which takes less time.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> image = np.array([[5, 5], [5, 7]], np.uint8)
    >>> for polygon, value in trazar.shapes(image):
    ...     print(value, polygon["coordinates"])
    5.0 [[(0.0, 0.0), (0.0, 2.0), (1.0, 2.0), (1.0, 1.0), (2.0, 1.0), (2.0, 0.0), (0.0, 0.0)]]
    7.0 [[(1.0, 1.0), (1.0, 2.0), (2.0, 2.0), (2.0, 1.0), (1.0, 1.0)]]
    """
    regions = polygonize(image, mask=mask, connectivity=connectivity, transform=transform)
    values = regions.values.astype(float).tolist()
    return iter(_trazar.region_dicts(regions.contours._on_host(), values, regions.transform))


def polygonize(
    image: Any,
    *,
    background: ArrayLike | None = None,
    mask: Any = None,
    connectivity: int = 4,
    transform: Any = None,
    min_area: int = 0,
    fill_holes: bool = False,
    progress: Progress | None = None,
    device: Device = "auto",
) -> Regions:
    """Trace the regions of an image along the pixels' edges.

    Parameters
    ----------
    image, mask, connectivity, transform
        As for :func:`shapes`.
    background : number or numbers, optional
        Values whose pixels are left out. A binary image's is 0.
    min_area : int
        Regions of fewer pixels are left out; where they were, there is nothing. The others keep
        their numbers.
    fill_holes : bool
        Leave out the holes: polygons then cover the regions in them as well.
    progress : callable, optional
        As for :func:`find_contours`.
    device : {"auto", "cpu", "cuda", "emulator"}
        What works on it; "auto" is the faster one. An array of PyTorch or CuPy on a GPU is worked
        on there, with a mask there, and the rings come to the host.

    Returns
    -------
    Regions

    Raises
    ------
    InputError, OutOfMemoryError
        As :func:`shapes`.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> image = np.array([[3, 3, 3], [3, 8, 3], [3, 3, 3]])
    >>> regions = trazar.polygonize(image)
    >>> regions
    Regions(2 regions, 3 rings, 3 × 3 pixels)
    >>> regions.values.tolist(), regions.regions.tolist()
    ([3, 3, 8], [1, 1, 2])
    >>> trazar.polygonize(image, min_area=2, fill_holes=True)
    Regions(1 region, 1 ring, 3 × 3 pixels)

    The polygons of a binary image whose pixels are connected over corners too:

    >>> image = np.eye(2, dtype=bool)
    >>> [p.area for p in trazar.polygonize(image, background=0, connectivity=8).polygons()]
    [2.0]
    """
    check_connectivity(connectivity)
    if min_area < 0:
        raise InputError(f"min_area={min_area}: it is a number of pixels")
    if is_on_gpu(image):
        check_device(device)
        traced = _trazar.device_trace_regions(image, _numbers(background), mask, connectivity)
    else:
        values = _values(image, "image")
        with reporting(progress):
            traced = _trazar.trace_regions(
                values, _background(background, values), mask, connectivity, device
            )
    regions = Regions(*traced, _transform(transform))
    if min_area <= 1 and not fill_holes:
        return regions
    host = regions.contours._on_host()
    contours, kept = host.filter_regions(int(min_area), bool(fill_holes))
    values, numbers = regions.values[kept], regions.regions[kept]
    count = int((contours.kinds == 0).sum())
    return Regions(contours, values, numbers, count, regions.transform)


def label_values(
    image: Any,
    background: ArrayLike | None = 0,
    connectivity: int = 4,
    *,
    mask: Any = None,
    progress: Progress | None = None,
    device: Device = "auto",
) -> tuple[NDArray[np.int32] | DeviceArray, int]:
    """Label the regions of an image: connected pixels of equal value.

    Parameters
    ----------
    image, mask
        As for :func:`shapes`.
    background : number or numbers, optional
        Values whose pixels are left out, 0 by default; None for none.
    connectivity : {4, 8}
        The number of neighbours.
    progress : callable, optional
        As for :func:`find_contours`.
    device : {"auto", "cpu", "cuda", "emulator"}
        What works on it; "auto" is the faster one. An array of PyTorch or CuPy on a GPU is worked
        on there, with a mask there, and the labels stay there.

    Returns
    -------
    labels : int32 array of shape (H, W), or DeviceArray
        0 for pixels that are left out, 1, 2, ... for the regions in raster order of their first
        pixels, as ``skimage.measure.label`` and ``cc3d`` number them.
    count : int
        The number of regions.

    Raises
    ------
    InputError, OutOfMemoryError
        As :func:`shapes`.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> labels, count = trazar.label_values(np.array([[5, 5, 0], [7, 5, 7]]))
    >>> labels.tolist(), count
    ([[1, 1, 0], [2, 1, 3]], 3)
    """
    check_connectivity(connectivity)
    if is_on_gpu(image):
        check_device(device)
        return _trazar.device_label_values(image, _numbers(background), mask, connectivity)
    values = _values(image, "image")
    with reporting(progress):
        return _trazar.label_values(
            values, _background(background, values), mask, connectivity, device
        )


def find_contours_by_label(
    labels: Any,
    mode: int = RETR_TREE,
    method: int = CHAIN_APPROX_SIMPLE,
    *,
    background: ArrayLike | None = 0,
    progress: Progress | None = None,
    device: Device = "auto",
) -> dict[Any, tuple[tuple[NDArray[np.int32], ...], NDArray[np.int32]]]:
    """Find the contours of each label: those of ``cv2.findContours(labels == label)``.

    All labels are traced in one pass: the time depends on the number of pixels and points, and not
    on the number of labels.

    Parameters
    ----------
    labels : array of shape (H, W)
        As the image of :func:`shapes`.
    mode, method
        As for :func:`find_contours`.
    background : number or numbers, optional
        Labels that are left out, 0 by default; None for none.
    progress : callable, optional
        As for :func:`find_contours`.
    device : {"auto", "cpu", "cuda", "emulator"}
        What works on it; "auto" is the faster one. An array of PyTorch or CuPy on a GPU is worked
        on there, and the contours come to the host.

    Returns
    -------
    dict of label to (contours, hierarchy)
        For each label in ascending order what :func:`find_contours` returns: points, their order
        and the hierarchy, exactly.

    Raises
    ------
    InputError, OutOfMemoryError
        As :func:`find_contours`.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> labels = np.array([[7, 7, 4], [0, 7, 4]])
    >>> found = trazar.find_contours_by_label(labels)
    >>> {label: contours[0].tolist() for label, (contours, hierarchy) in found.items()}
    {4: [[[2, 0]], [[2, 1]]], 7: [[[0, 0]], [[1, 1]], [[1, 0]]]}
    """
    if is_on_gpu(labels):
        check_device(device)
        numbers = _numbers(background)
        return _trazar.device_find_contours_by_label(labels, numbers, mode, method)
    values = _values(labels, "labels")
    with reporting(progress):
        return _trazar.find_contours_by_label(
            values, _background(background, values), mode, method, device
        )


class Regions:
    """The regions of an image, as rings along the pixels' edges: what :func:`polygonize` returns.

    Each region has an outer ring, followed by the rings of its holes. Regions are in raster order
    of their first pixels. Ring ``i`` has the corners ``points[offsets[i]:offsets[i + 1]]``.
    Together the polygons are a partition: regions that meet share their edges exactly, and a
    polygon's area is its number of pixels.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> regions = trazar.polygonize(np.array([[1, 2], [1, 1]]), background=2)
    >>> len(regions), regions.points.tolist()
    (1, [[0, 0], [0, 2], [2, 2], [2, 1], [1, 1], [1, 0]])
    """

    __slots__ = ("_contours", "_count", "_pixels", "_regions", "_transform", "_values")

    def __init__(
        self,
        contours: _trazar.HostContours,
        values: NDArray[Any],
        regions: NDArray[np.uint32],
        count: int,
        transform: tuple[float, ...],
        pixels: NDArray[np.uint64] | None = None,
    ) -> None:
        self._contours = Contours(contours)
        self._values = values
        self._regions = regions
        self._count = count
        self._transform = transform
        # Of each outer ring's region, if that is not the area of its polygon.
        self._pixels = pixels

    @property
    def contours(self) -> Contours:
        """All rings, in pixels; in the hierarchy a hole is below its region's outer ring.

        Examples
        --------
        >>> import trazar
        >>> trazar.polygonize([[1, 2]]).contours
        Contours(2 contours, 8 points, 2 × 1 pixels, cpu)
        """
        return self._contours

    @property
    def points(self) -> NDArray[np.int32]:
        """All rings' corners (x, y) in pixels: int32 of shape (P, 2).

        Examples
        --------
        >>> import trazar
        >>> trazar.polygonize([[1, 1]]).points.tolist()
        [[0, 0], [0, 1], [2, 1], [2, 0]]
        """
        return self._contours.points

    @property
    def offsets(self) -> NDArray[np.intp]:
        """Where each ring's corners begin, and the number of all.

        Examples
        --------
        >>> import trazar
        >>> trazar.polygonize([[1, 2]]).offsets.tolist()
        [0, 4, 8]
        """
        return self._contours.offsets

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """Each ring's kind: 0 for a region's outer ring, 1 for a hole's.

        Examples
        --------
        >>> import trazar
        >>> trazar.polygonize([[1, 2]]).kinds.tolist()
        [0, 0]
        """
        return self._contours.kinds

    @property
    def values(self) -> NDArray[Any]:
        """Each ring's value, of the image's type.

        Examples
        --------
        >>> import trazar
        >>> trazar.polygonize([[1, 2]]).values.tolist()
        [1, 2]
        """
        return self._values

    @property
    def regions(self) -> NDArray[np.uint32]:
        """Each ring's region: the label that :func:`label_values` gives its pixels.

        Examples
        --------
        >>> import trazar
        >>> trazar.polygonize([[1, 2]]).regions.tolist()
        [1, 2]
        """
        return self._regions

    @property
    def transform(self) -> tuple[float, ...]:
        """From pixels to the coordinates of polygons: see :func:`shapes`.

        Examples
        --------
        >>> import trazar
        >>> trazar.polygonize([[1]]).transform
        (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
        """
        return self._transform

    def __len__(self) -> int:
        return self._count

    # Compared by identity: the arrays can be compared.
    __hash__: ClassVar[Any] = object.__hash__

    def __repr__(self) -> str:
        regions, rings = self._count, len(self._contours)
        return (
            f"Regions({_counted(regions, 'region')}, {_counted(rings, 'ring')}, "
            f"{self._contours.width} × {self._contours.height} pixels)"
        )

    def _repr_svg_(self) -> str | None:
        """Return the picture that notebooks show, unless there are too many corners for one."""
        return self._contours._repr_svg_()

    def polygon_values(self) -> NDArray[Any]:
        """Return each polygon's value, in the order of the polygons.

        Examples
        --------
        >>> import trazar
        >>> trazar.polygonize([[1, 2]]).polygon_values().tolist()
        [1, 2]
        """
        values: NDArray[Any] = self._values[self._contours.kinds == 0]
        return values

    def simplify(self, tolerance: float, method: str = "douglas-peucker") -> Regions:
        """Return the same regions with fewer corners; common borders stay common.

        Each border between two corners where regions meet is simplified once, and the regions on
        both sides take the result. So a partition stays one, without gaps and overlaps, and valid
        polygons stay valid: rings cross neither themselves nor each other, have three corners or
        more, and stay inside or outside of each other. Corners whose removal would break that stay,
        as do those where borders meet each other or the image's frame, which become vertices of all
        rings that pass them, and those of the image. The others are among the old ones.

        Parameters
        ----------
        tolerance : float
            Of 0 or more, in pixels or square pixels, whatever the transform.
        method : {"douglas-peucker", "visvalingam"}
            With "douglas-peucker" no corner that is removed is farther than ``tolerance`` from the
            line, or twice that where corners stay for the topology. With "visvalingam" corners are
            removed whose triangle with their two neighbours has an area of at most ``tolerance``,
            the smallest first.

        Raises
        ------
        InputError
            For a tolerance that is negative or not finite, and for regions that are simplified.
        OutOfMemoryError

        See Also
        --------
        shapely.coverage_simplify : of polygons that share borders; slower.

        Examples
        --------
        >>> import numpy as np, trazar
        >>> regions = trazar.polygonize(np.tri(3, dtype=int))
        >>> [str(polygon) for polygon in regions.simplify(0.75).polygons()]
        ['POLYGON ((0 0, 0 3, 3 3, 3 2, 1 0, 0 0))', 'POLYGON ((1 0, 3 2, 3 0, 1 0))']
        """
        contours = self._contours._on_host().simplify(tolerance, method)
        return Regions(
            contours,
            self._values,
            self._regions,
            self._count,
            self._transform,
            self._pixel_counts(),
        )

    def _pixel_counts(self) -> NDArray[np.uint64]:
        """Return each region's number of pixels, at the place of its outer ring."""
        import numpy as np

        areas, is_outer = self._contours.areas(), self._contours.kinds == 0
        counts = np.zeros(len(areas), np.uint64)
        if len(areas):
            signed = np.where(is_outer, areas, -areas)
            counts[is_outer] = np.add.reduceat(signed, np.flatnonzero(is_outer))
        return counts

    def polygons(self) -> NDArray[np.object_]:
        """Return a shapely polygon per region, with its holes, in the transform's coordinates.

        With ``connectivity=4`` all are valid.

        Raises
        ------
        ImportError
            If shapely is not installed.

        Examples
        --------
        >>> import numpy as np, trazar
        >>> image = np.array([[3, 3, 3], [3, 8, 3], [3, 3, 3]])
        >>> [polygon.area for polygon in trazar.polygonize(image).polygons()]
        [8.0, 1.0]
        """
        polygons = self._contours.polygons()
        if self._transform == _IDENTITY:
            return polygons
        import numpy as np
        import shapely

        a, b, c, d, e, f = self._transform
        matrix, origin = np.array([[a, d], [b, e]]), np.array([c, f])
        moved: NDArray[np.object_] = shapely.transform(polygons, lambda xy: xy @ matrix + origin)
        return moved

    def to_wkb(self) -> list[bytes]:
        """Return each polygon in the OGC's well-known binary form, in the transform's coordinates.

        Examples
        --------
        >>> import trazar
        >>> [len(polygon) for polygon in trazar.polygonize([[1, 2]]).to_wkb()]
        [93, 93]
        """
        return _trazar.region_wkb(self._contours._on_host(), self._transform)

    def to_geopandas(self, crs: Any = None) -> Any:
        """Return a GeoDataFrame with a row per region: ``value``, ``region`` and the polygon.

        Parameters
        ----------
        crs : optional
            The coordinates' reference system, as GeoPandas takes it.

        Raises
        ------
        ImportError
            If GeoPandas is not installed.

        Examples
        --------
        >>> import trazar
        >>> frame = trazar.polygonize([[1, 2]]).to_geopandas(crs="EPSG:32633")
        >>> frame["value"].tolist(), frame.area.tolist()
        ([1, 2], [1.0, 1.0])
        """
        import geopandas

        columns = {
            "value": self.polygon_values(),
            "region": self._regions[self._contours.kinds == 0],
        }
        return geopandas.GeoDataFrame(columns, geometry=self.polygons(), crs=crs)

    def to_geoparquet(self, path: PathLike, crs: Any = None) -> None:
        """Write a GeoParquet file with the rows of :meth:`to_geopandas`.

        Raises
        ------
        ImportError
            If GeoPandas or PyArrow is not installed.
        OSError

        Examples
        --------
        >>> import trazar
        >>> regions = trazar.polygonize([[1, 2]])
        >>> regions.to_geoparquet("regions.parquet", crs="EPSG:32633")
        """
        self.to_geopandas(crs).to_parquet(path)

    def write_flatgeobuf(self, path: PathLike, crs: Any = None) -> None:
        """Write a FlatGeobuf file, without GeoPandas. It appears complete or not at all.

        GDAL, QGIS and GeoPandas read such files. The columns are ``value``, of the image's type;
        ``region``; and ``area``, in pixels. There is no spatial index. Coordinates are those of the
        transform. All threads encode the polygons.

        Parameters
        ----------
        path : str or path
        crs : optional
            The coordinates' reference system: a code of the EPSG registry, ``"EPSG:32633"``, or
            what pyproj or rasterio have for it.

        Raises
        ------
        InputError
            For a reference system without a code, and for a transform that gives pixels no area.
        OSError, OutOfMemoryError

        Examples
        --------
        >>> import trazar
        >>> regions = trazar.polygonize([[1, 2]], transform=(10, 0, 5e5, 0, -10, 5e6))
        >>> regions.write_flatgeobuf("regions.fgb", crs="EPSG:32633")
        """
        self._write("flatgeobuf", path, crs)

    def write_geojson(self, path: PathLike, crs: Any = None) -> None:
        """Write a GeoJSON file, without GeoPandas. It appears complete or not at all.

        The properties are ``value``, ``region`` and ``area``, in pixels. A member ``crs`` names
        another reference system than EPSG:4326, as GDAL writes and reads it.

        Parameters
        ----------
        path, crs
            As for :meth:`write_flatgeobuf`.

        Raises
        ------
        InputError, OSError, OutOfMemoryError
            As :meth:`write_flatgeobuf`.

        Examples
        --------
        >>> import json, trazar
        >>> trazar.polygonize([[1, 2]]).write_geojson("regions.geojson")
        >>> features = json.load(open("regions.geojson"))["features"]
        >>> [feature["properties"]["value"] for feature in features]
        [1, 2]
        """
        self._write("geojson", path, crs)

    def _write(self, form: str, path: PathLike, crs: Any) -> None:
        epsg = _epsg(crs)
        transform = self._transform
        in_pixels = epsg is None and transform == _IDENTITY
        _trazar.write_regions(
            self._contours._on_host(),
            self._values,
            self._regions,
            self._pixels,
            form,
            path,
            None if in_pixels else transform,
            epsg,
        )


def _transform(transform: Any) -> tuple[float, ...]:
    if transform is None:
        return _IDENTITY
    try:
        # An affine.Affine has nine numbers.
        numbers = tuple(float(number) for number in transform)
    except TypeError:
        numbers = ()
    if len(numbers) not in (6, 9):
        raise InputError(f"transform={transform!r}: it is an affine.Affine, or six numbers")
    return numbers[:6]


def _epsg(crs: Any) -> int | None:
    """Return the code of a reference system in the EPSG registry."""
    if crs is None:
        return None
    code = crs
    if isinstance(crs, str):
        authority, _, number = crs.partition(":")
        is_code = authority.strip().lower() == "epsg" and number.strip().isdecimal()
        code = int(number) if is_code else None
    elif hasattr(crs, "to_epsg"):
        code = crs.to_epsg()
    if isinstance(code, int) and not isinstance(code, bool) and 0 < code < 2**31:
        return code
    raise InputError(
        f"crs={crs!r}: it is a code of the EPSG registry, such as 32633 or 'EPSG:32633'"
    )


def _values(image: Any, name: str) -> NDArray[Any]:
    """Return an image as an array of a type whose values are compared."""
    import numpy as np

    if is_on_gpu(image):
        raise InputError(f"{name} on a GPU: this is done on the processor; copy it first")
    if is_masked(image):
        raise InputError(
            f"{name} is a masked array: give its data, and mask=~numpy.ma.getmaskarray({name})"
        )
    array = np.asarray(image)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim != 2:
        raise InputError(f"{name} of shape {array.shape}: it has 2 dimensions, (H, W)")
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b":
        array = array.view(np.uint8)
    elif (kind, size) == ("i", 1):
        array = array.astype(np.int16)
    elif (kind, size) == ("u", 8):
        if array.size and array.max() > np.iinfo(np.int64).max:
            raise InputError(f"{name} of uint64 with values of 2**63 and more: int64 is largest")
        array = array.astype(np.int64)
    elif (kind, size) == ("f", 2):
        array = array.astype(np.float32)
    elif kind not in "iu" and (kind, size) != ("f", 4):
        raise InputError(
            f"{name} of {array.dtype}: values are integers, booleans or float32; "
            f"{name}.astype(numpy.float32), say"
        )
    return np.require(array, array.dtype.newbyteorder("="), ["ALIGNED"])


def _given_background(background: ArrayLike) -> NDArray[Any]:
    """Return the values to leave out, of any type of numbers."""
    import numpy as np

    given = np.asarray(background).ravel()
    if given.dtype.kind not in "biuf":
        raise InputError(f"background={background!r}: it is a number, or some")
    return given


def _numbers(background: ArrayLike | None) -> list[float]:
    """Return the values to leave out of an array on a GPU."""
    if background is None:
        return []
    numbers: list[float] = _given_background(background).tolist()
    return numbers


def _background(background: ArrayLike | None, values: NDArray[Any]) -> NDArray[Any]:
    """Return the values to leave out that the type of ``values`` has."""
    import numpy as np

    if background is None:
        return np.empty(0, values.dtype)
    given = _given_background(background)
    with np.errstate(invalid="ignore", over="ignore"):
        kept = given.astype(values.dtype)
    same: NDArray[Any] = kept[kept == given]
    return same
