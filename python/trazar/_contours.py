"""The result of tracing."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any, ClassVar, overload

from trazar import _trazar
from trazar._errors import InputError, OutOfMemoryError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from typing import SupportsIndex, TypedDict

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    PathLike = str | os.PathLike[str]

    class GdsOptions(TypedDict, total=False):
        """Those of :meth:`Contours.write_gds`."""

        pixel_size: int
        database_unit: float
        user_unit: float
        layer: int
        datatype: int
        max_vertices: int
        cell: str
        library: str


#: The number of polygons that shapely makes at a time: some 10 ms of work.
_SHARE = 1 << 14


class Contours:
    """The contours of an image: what :func:`trace` returns.

    Contour ``i`` has the points ``points[offsets[i]:offsets[i + 1]]``, which are ``contours[i]``.
    The order is that of ``cv2.findContours``: the hierarchy in pre-order, siblings last first.

    On the host, all arrays are NumPy's, read-only, and lie in the result's own memory. On a GPU
    they are :class:`trazar.DeviceArray`, written when the work queued so far is done; items, and
    methods that measure, convert or write, copy the contours to the host first, once.

    Methods called ``to_...`` return what they make, those called ``write_...`` write a file.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> contours = trazar.trace(np.eye(3, dtype=bool))
    >>> len(contours), contours
    (1, Contours(1 contour, 2 points, 3 × 3 pixels, cpu))

    Contours of the same image are equal, and slices are lists of arrays:

    >>> contours == trazar.trace(np.eye(3) > 0), [points.tolist() for points in contours[:1]]
    (True, [[[0, 0], [2, 2]]])
    """

    __slots__ = ("_host", "_raw")

    def __init__(self, raw: _trazar.HostContours | _trazar.DeviceContours) -> None:
        self._raw = raw
        self._host: _trazar.HostContours | None = None

    def __reduce__(self) -> tuple[type[Contours], tuple[_trazar.HostContours]]:
        # Pickled, they come back on the host.
        return Contours, (self._on_host(),)

    def _on_host(self) -> _trazar.HostContours:
        raw = self._raw
        if isinstance(raw, _trazar.HostContours):
            return raw
        if self._host is None:
            self._host = raw.to_host()
        return self._host

    @property
    def width(self) -> int:
        """The image's width in pixels.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[0, 1, 1]]).width
        3
        """
        return self._raw.width

    @property
    def height(self) -> int:
        """The image's height in pixels.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[0, 1, 1]]).height
        1
        """
        return self._raw.height

    @property
    def geometry(self) -> str:
        """What the points are: ``"centers"`` of pixels or corners along ``"edges"``.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[1]]).geometry
        'centers'
        """
        return self._raw.geometry

    @property
    def device(self) -> str:
        """Where the arrays lie: ``"cpu"``, or ``"cuda:0"`` and so on.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[1]]).device
        'cpu'
        """
        return "cpu" if isinstance(self._raw, _trazar.HostContours) else self._raw.device

    @property
    def points(self) -> NDArray[np.int32]:
        """All contours' points (x, y): int32 of shape (P, 2), in pixels, x right and y down.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[0, 1, 1]]).points.tolist()
        [[1, 0], [2, 0]]
        """
        return self._raw.points

    @property
    def offsets(self) -> NDArray[np.intp]:
        """Where each contour's points begin, and the number of points: shape (len + 1,).

        intp on the host, int32 on a GPU.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[1, 0, 1, 1]]).offsets.tolist()
        [0, 2, 3]
        """
        return self._raw.offsets

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """Each contour's kind: uint8 of shape (len,), 0 for an outer border, 1 for a hole's.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[1, 0, 1]]).kinds.tolist()
        [0, 0]
        """
        return self._raw.kinds

    @property
    def hierarchy(self) -> NDArray[np.int32]:
        """Each contour's next, previous, first child and parent: int32 of shape (len, 4).

        -1 stands for none.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[1, 0, 1]]).hierarchy.tolist()
        [[1, -1, -1, -1], [-1, 0, -1, -1]]
        """
        return self._raw.hierarchy

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, index: SupportsIndex) -> NDArray[np.int32]: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray[np.int32]]: ...
    def __getitem__(
        self, index: SupportsIndex | slice
    ) -> NDArray[np.int32] | list[NDArray[np.int32]]:
        count = len(self)
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(count))]
        try:
            index = operator.index(index)
        except TypeError:
            raise TypeError(f"contours[{index!r}]: an index or a slice is needed") from None
        if not -count <= index < count:
            raise IndexError(f"contour {index} of {count}")
        index %= count
        host = self._on_host()
        offsets = host.offsets
        return host.points[offsets[index] : offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        host = self._on_host()
        points, offsets = host.points, host.offsets.tolist()
        return (points[a:b] for a, b in itertools.pairwise(offsets))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Contours):
            return NotImplemented
        if self is other:
            return True

        def size(of: Contours) -> tuple[int, int, str, int]:
            return of.width, of.height, of.geometry, len(of)

        if size(self) != size(other):
            return False
        import numpy as np

        ours, others = self._on_host(), other._on_host()
        return all(
            np.array_equal(getattr(ours, name), getattr(others, name))
            for name in ("offsets", "kinds", "hierarchy", "points")
        )

    # Equal contours may lie in different memory, which a dict should not have to compare.
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        contours, points = len(self), int(self._raw.points.shape[0])
        return (
            f"Contours({_counted(contours, 'contour')}, {_counted(points, 'point')}, "
            f"{self.width} × {self.height} pixels, {self.device})"
        )

    def _repr_svg_(self) -> str | None:
        """Return the picture that notebooks show, unless there are too many points for one."""
        if self._raw.points.shape[0] > _MOST_SHOWN:
            return None
        return self.to_svg()

    def to_host(self) -> Contours:
        """Copy contours on a GPU to the host, and wait for them; on the host, return them.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[1]]).to_host().device
        'cpu'
        """
        if isinstance(self._raw, _trazar.HostContours):
            return self
        return Contours(self._on_host())

    def simplify(self, tolerance: float, method: str = "douglas-peucker") -> Contours:
        """Return contours along edges with fewer corners; common borders stay common.

        As :meth:`Regions.simplify`, for contours of ``geometry="edges"``.

        Examples
        --------
        >>> import numpy as np, trazar
        >>> contours = trazar.trace(np.tri(4), geometry="edges")
        >>> contours.simplify(0.75)[0].tolist()
        [[0, 0], [0, 4], [4, 4], [4, 3], [1, 0]]
        """
        return Contours(self._on_host().simplify(tolerance, method))

    def labels(self, label_image: Any) -> NDArray[Any]:
        """Return the label of the component that each contour belongs to: shape (len,).

        Parameters
        ----------
        label_image : array of shape (H, W)
            The labels of the image that was traced: for ``geometry="centers"`` those of
            ``label(image, connectivity=8)``, for ``"edges"`` of ``label(image, connectivity=4)``.

        Raises
        ------
        InputError
            For a label image of another shape.

        Examples
        --------
        >>> import numpy as np, trazar
        >>> image = np.array([[1, 1, 1, 0, 1], [1, 0, 1, 0, 0], [1, 1, 1, 0, 0]])
        >>> labels, count = trazar.label(image, connectivity=8)
        >>> trazar.trace(image).labels(labels).tolist()
        [2, 1, 1]

        Of contours that :func:`find_contours` returns, all points have the label:

        >>> contours, _ = trazar.find_contours(image)
        >>> [int(labels[tuple(points[0, 0, ::-1])]) for points in contours]
        [2, 1, 1]
        """
        import numpy as np

        labels = np.asarray(label_image)
        if labels.shape != (self.height, self.width):
            raise InputError(
                f"label_image of shape {labels.shape}: the image that was traced has "
                f"{(self.height, self.width)}"
            )
        host = self._on_host()
        x, y = host.points[host.offsets[:-1]].T
        if self.geometry == "edges":
            # A ring starts at its topmost, then leftmost corner. That is the corner of the first
            # pixel of the component, or of the hole, which is below a pixel of the component.
            y = y - host.kinds
        found: NDArray[Any] = labels[y, x]
        return found

    def areas(self) -> NDArray[np.float64]:
        """Return the areas of the polygons through the points, in pixels: shape (len,).

        Never negative; as ``cv2.contourArea``. Holes are not subtracted.

        Examples
        --------
        >>> import numpy as np, trazar
        >>> trazar.trace(np.ones((3, 4))).areas().tolist()
        [6.0]
        """
        return self._on_host().areas()

    def perimeters(self) -> NDArray[np.float64]:
        """Return the lengths of the closed polygons, in pixels: shape (len,).

        Examples
        --------
        >>> import numpy as np, trazar
        >>> trazar.trace(np.ones((3, 4))).perimeters().tolist()
        [10.0]
        """
        return self._on_host().perimeters()

    def bounding_boxes(self) -> NDArray[np.int32]:
        """Return the smallest and largest x and y of each contour: int32 of shape (len, 4).

        The columns are x and y of the upper left point, and x and y of the lower right one.

        Examples
        --------
        >>> import numpy as np, trazar
        >>> trazar.trace(np.ones((3, 4))).bounding_boxes().tolist()
        [[0, 0, 3, 2]]
        """
        return self._on_host().bounding_boxes()

    def centroids(self) -> NDArray[np.float64]:
        """Return the centroids (x, y) of the polygons' areas: float64 of shape (len, 2).

        Of the line, where there is no area.

        Examples
        --------
        >>> import numpy as np, trazar
        >>> trazar.trace(np.ones((3, 4))).centroids().tolist()
        [[1.5, 1.0]]
        """
        return self._on_host().centroids()

    def polygons(self) -> NDArray[np.object_]:
        """Return shapely polygons: one per outer border, with the holes directly inside it.

        Holes are found by the hierarchy of ``retrieval="tree"`` or ``"ccomp"``. With
        ``geometry="edges"`` all polygons are valid, and their areas sum up to the number of
        foreground pixels. With ``"centers"`` many are not valid (of a scanned page, 88 %): contours
        of one or two points have no area, and where the foreground is one pixel wide, they touch or
        cross themselves. Trace with ``"edges"`` where polygons are to be valid.

        Coordinates are pixels, x to the right and y down.

        Returns
        -------
        array of shapely.Polygon

        Raises
        ------
        ImportError
            If shapely is not installed.

        Examples
        --------
        >>> import numpy as np, trazar
        >>> image = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
        >>> polygons = trazar.trace(image, geometry="edges").polygons()
        >>> [polygon.area for polygon in polygons]
        [8.0]
        """
        import numpy as np
        import shapely

        # A first error in GEOS while there is memory: a thread's first C++ exception allocates,
        # and for want of memory ends the process.
        shapely.from_wkt("?", on_invalid="ignore")
        coordinates, rings, polygons = self._on_host().rings()
        count = len(polygons) - 1
        made: NDArray[np.object_] = np.empty(count, object)
        # In shares, between which Python handles signals.
        for first in range(0, count, _SHARE):
            of_share = polygons[first : first + _SHARE + 1]
            begin, end = of_share[0], of_share[-1]
            offsets = rings[begin : end + 1]
            try:
                made[first : first + _SHARE] = shapely.from_ragged_array(
                    shapely.GeometryType.POLYGON,
                    coordinates[offsets[0] : offsets[-1]],
                    (offsets - offsets[0], of_share - begin),
                )
            except shapely.errors.GEOSException as error:
                if "bad_alloc" in str(error):
                    raise OutOfMemoryError(f"out of memory: {count} polygons") from error
                raise
        return made

    def to_svg(self) -> str:
        """Return an SVG picture, in pixels: outer borders and holes in two colours.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[1, 1]]).to_svg().startswith("<svg")
        True
        """
        return self._text("svg")

    def write_svg(self, path: PathLike) -> None:
        """Write an SVG picture, that of :meth:`to_svg`. The file appears complete or not at all.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        OSError

        Examples
        --------
        >>> import tempfile, trazar
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trazar.trace([[1, 1]]).write_svg(f"{folder}/contours.svg")
        """
        self._on_host().write("svg", path)

    def to_geojson(self) -> str:
        """Return a GeoJSON FeatureCollection of polygons, one per outer border with its holes.

        Coordinates are pixels, x to the right and y down, as those of :attr:`points` and
        :meth:`polygons`. Exterior rings run as RFC 7946 has them: counter-clockwise where y points
        up. Trace with ``geometry="edges"`` for valid polygons; those of ``"centers"`` often are
        not.

        Examples
        --------
        >>> import json, trazar
        >>> text = trazar.trace([[1, 1]], geometry="edges").to_geojson()
        >>> json.loads(text)["features"][0]["geometry"]["type"]
        'Polygon'
        """
        return self._text("geojson")

    def write_geojson(self, path: PathLike) -> None:
        """Write the GeoJSON of :meth:`to_geojson`. The file appears complete or not at all.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        OSError

        Examples
        --------
        >>> import tempfile, trazar
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trazar.trace([[1, 1]], geometry="edges").write_geojson(f"{folder}/a.geojson")
        """
        self._on_host().write("geojson", path)

    def to_json(self) -> str:
        """Return width, height, contours (lists of points) and hierarchy as JSON.

        Examples
        --------
        >>> import json, trazar
        >>> json.loads(trazar.trace([[1, 1]]).to_json())["contours"]
        [[[0, 0], [1, 0]]]
        """
        return self._text("json")

    def write_json(self, path: PathLike) -> None:
        """Write the JSON of :meth:`to_json`. The file appears complete or not at all.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        OSError

        Examples
        --------
        >>> import tempfile, trazar
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trazar.trace([[1, 1]]).write_json(f"{folder}/contours.json")
        """
        self._on_host().write("json", path)

    def to_gds(self, **options: Unpack[GdsOptions]) -> bytes:
        """Return a GDSII layout: the bytes that :meth:`write_gds` writes.

        Parameters
        ----------
        **options
            As for :meth:`write_gds`.

        Raises
        ------
        InputError
            As :meth:`write_gds`.

        Examples
        --------
        >>> import trazar
        >>> contours = trazar.trace([[1, 1]], geometry="edges")
        >>> contours.to_gds(pixel_size=5)[:4].hex()
        '00060002'
        """
        return self._on_host().write_gds(None, **options) or b""

    def write_gds(self, path: PathLike, **options: Unpack[GdsOptions]) -> None:
        """Write a GDSII layout of contours along edges. The file appears complete or not at all.

        One boundary per outer border, y up, with its holes joined to it by cut lines.

        Parameters
        ----------
        path : str or path
        pixel_size : int
            The side of a pixel in database units, by default 1.
        database_unit, user_unit : float
            In metres, by default 1e-9 and 1e-6.
        layer, datatype : int
            0 to 32767, by default 1 and 0.
        max_vertices : int
            Boundaries of more are divided, exactly; 4 to 8190, by default 4094, the most that older
            programs take.
        cell, library : str
            The names of the only cell and of the library, by default "TOP" and "TRAZAR".

        Raises
        ------
        InputError
            For contours of ``geometry="centers"``, or without a hierarchy, and for values that
            GDSII does not take.
        OSError

        Examples
        --------
        >>> import tempfile, trazar
        >>> contours = trazar.trace([[1, 1]], geometry="edges")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     contours.write_gds(f"{folder}/layout.gds", pixel_size=5)
        """
        self._on_host().write_gds(path, **options)

    def _text(self, format: str) -> str:
        return (self._on_host().write(format, None) or b"").decode()


#: A notebook shows contours of up to this many points as a picture, of some 10 bytes each.
_MOST_SHOWN = 100_000


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
