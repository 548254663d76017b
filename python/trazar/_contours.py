"""Contours: the borders of components and of holes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from trazar import _trazar
from trazar._arrays import check_device, is_on_gpu

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from trazar._arrays import Device

    Retrieval = Literal["external", "list", "ccomp", "tree"]
    Approximation = Literal["none", "simple", "tc89-l1", "tc89-kcos"]
    Geometry = Literal["centers", "edges"]
    Algorithm = Literal["suzuki", "fragments", "tiles", "components"]
    PathLike = str | os.PathLike[str]

# The values are OpenCV's, so that its constants are taken too.
RETR_EXTERNAL = 0
RETR_LIST = 1
RETR_CCOMP = 2
RETR_TREE = 3
CHAIN_APPROX_NONE = 1
CHAIN_APPROX_SIMPLE = 2
CHAIN_APPROX_TC89_L1 = 3
CHAIN_APPROX_TC89_KCOS = 4


def find_contours(
    image: Any,
    mode: int = RETR_TREE,
    method: int = CHAIN_APPROX_SIMPLE,
    *,
    offset: tuple[int, int] = (0, 0),
    threshold: float | None = None,
    device: Device = "auto",
) -> tuple[tuple[NDArray[np.int32], ...], NDArray[np.int32] | None]:
    """Find the contours of a binary image: points, order and hierarchy as by ``cv2.findContours``.

    Parameters
    ----------
    image : array of shape (H, W)
        Booleans or real numbers, of any strides; on the host or on a GPU.
    mode : int
        ``RETR_EXTERNAL``, ``RETR_LIST``, ``RETR_CCOMP`` or ``RETR_TREE``, of this module or of
        ``cv2``. ``RETR_FLOODFILL`` is not there.
    method : int
        ``CHAIN_APPROX_NONE``, ``CHAIN_APPROX_SIMPLE``, ``CHAIN_APPROX_TC89_L1`` or
        ``CHAIN_APPROX_TC89_KCOS``.
    offset : (int, int)
        Added to x and y of each point.
    threshold : number, optional
        Foreground is ``image > threshold``; without it, what is not 0. (NaN with a threshold is
        an error.)
    device : {"auto", "cpu", "cuda", "emulator"}
        What works on an image of the host's memory: the faster device for its size, the processor,
        the first GPU, or the GPU's kernels on the processor (for small images).

    Returns
    -------
    contours : tuple of int32 arrays of shape (n, 1, 2)
        The points (x, y) of each contour, in pixels: x to the right, y down. They are views of one
        array, which lives as long as one of them.
    hierarchy : int32 array of shape (1, count, 4), or None
        For each contour the index of the next and of the previous one with the same parent, of its
        first child and of its parent; -1 for none. None if there are no contours.
        Of an image on a GPU, both are there, as :func:`trace` describes it.

    Raises
    ------
    InputError
        For an image of another shape or without pixels, and for values that an argument does not
        take; NaN.
    OutOfMemoryError, DeviceError

    See Also
    --------
    trace : all points in one array, with measures and files.

    Notes
    -----
    The time is linear in the number of pixels and points. Of an image of 32-bit integers, OpenCV
    traces regions of equal values with ``RETR_CCOMP``; here it is binary as any other.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> image = np.zeros((5, 6), np.uint8)
    >>> image[1:4, 1:5] = 1
    >>> contours, hierarchy = trazar.find_contours(image)
    >>> contours[0].tolist()
    [[[1, 1]], [[1, 3]], [[4, 3]], [[4, 1]]]
    >>> hierarchy.tolist()
    [[[-1, -1, -1, -1]]]
    """
    if is_on_gpu(image):
        check_device(device)
        _check_dimensions(image, 2)
        return _trazar.device_find_contours(image, mode, method, offset, threshold)
    found = _trazar.find_contours(image, mode, method, offset, threshold, device)
    if isinstance(found, list):
        raise _is_batch("find_contours")
    return found


def find_contours_batch(
    images: Any,
    mode: int = RETR_TREE,
    method: int = CHAIN_APPROX_SIMPLE,
    *,
    offset: tuple[int, int] = (0, 0),
    threshold: float | None = None,
    device: Device = "auto",
) -> list[tuple[tuple[NDArray[np.int32], ...], NDArray[np.int32] | None]]:
    """Find the contours of each of N images of one size.

    Parameters
    ----------
    images : array of shape (N, H, W)
        On the host.
    mode, method, offset, threshold, device
        As for :func:`find_contours`.

    Returns
    -------
    list of (contours, hierarchy)
        What :func:`find_contours` returns for each image.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`find_contours`.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> images = np.zeros((3, 4, 4), bool)
    >>> images[1, 1, 2] = True
    >>> [len(contours) for contours, hierarchy in trazar.find_contours_batch(images)]
    [0, 1, 0]
    """
    if is_on_gpu(images):
        raise _on_gpu("find_contours_batch", "trace_batch")
    found = _trazar.find_contours(images, mode, method, offset, threshold, device)
    if isinstance(found, tuple):
        raise _is_single("find_contours_batch")
    return found


def trace(
    image: Any,
    *,
    retrieval: Retrieval = "tree",
    approximation: Approximation = "simple",
    geometry: Geometry = "centers",
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> Contours:
    """Trace the borders of a binary image.

    Parameters
    ----------
    image : array of shape (H, W)
        Booleans or real numbers, of any strides, on the host; or on a GPU, where the rows may have
        any distance, and the work is queued on the caller's current stream.
    retrieval : {"tree", "ccomp", "list", "external"}
        Which borders to keep and how they are linked: the whole nesting; components with their
        holes; all without links between levels; outer borders that lie inside no hole.
    approximation : {"simple", "none", "tc89-l1", "tc89-kcos"}
        Which points to keep: where the direction changes; all; Teh and Chin's dominant points.
    geometry : {"centers", "edges"}
        What points are: centers of the foreground's pixels, as OpenCV has them; or corners of
        pixels, for polygons whose area is the number of pixels. Pixel (x, y) is the square from
        (x, y) to (x + 1, y + 1).
    algorithm : {"fragments", "suzuki", "tiles", "components"}, optional
        How to compute it. The result does not depend on it.
    threshold, device
        As for :func:`find_contours`.

    Returns
    -------
    Contours
        In the image's memory: of a GPU's image on that GPU, written when the stream's work so far
        is done. The host waits for the sizes of the result only.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`find_contours`; ``geometry="edges"`` with one of Teh and Chin's approximations
        is an InputError.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> image = np.array([[0, 1, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1]])
    >>> contours = trazar.trace(image, geometry="edges")
    >>> contours.kinds.tolist()
    [0, 1]
    >>> contours[1].tolist()
    [[2, 1], [3, 1], [3, 2], [2, 2]]
    >>> contours.areas().tolist()
    [9.0, 1.0]
    """
    if is_on_gpu(image):
        check_device(device)
        _check_dimensions(image, 2)
        return Contours(
            _trazar.device_trace(image, retrieval, approximation, geometry, algorithm, threshold)
        )
    traced = _trazar.trace(
        image, retrieval, approximation, geometry, algorithm, threshold, device
    )
    if isinstance(traced, list):
        raise _is_batch("trace")
    return Contours(traced)


def trace_batch(
    images: Any,
    *,
    retrieval: Retrieval = "tree",
    approximation: Approximation = "simple",
    geometry: Geometry = "centers",
    algorithm: Algorithm | None = None,
    threshold: float | None = None,
    device: Device = "auto",
) -> list[Contours] | Contours:
    """Trace the borders of N images of one size in one call.

    Parameters
    ----------
    images : array of shape (N, H, W)
        On the host or on a GPU.
    retrieval, approximation, geometry, algorithm, threshold, device
        As for :func:`trace`.

    Returns
    -------
    list of Contours
        One for each image on the host. Of images on a GPU one :class:`Contours` of all, image by
        image, whose ``image_offsets`` say where each image's begin.

    Raises
    ------
    InputError, OutOfMemoryError, DeviceError
        As :func:`trace`.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> images = np.zeros((2, 4, 4), bool)
    >>> images[1, 1:3, 1:3] = True
    >>> [len(contours) for contours in trazar.trace_batch(images)]
    [0, 1]
    """
    if is_on_gpu(images):
        check_device(device)
        _check_dimensions(images, 3)
        return Contours(
            _trazar.device_trace(images, retrieval, approximation, geometry, algorithm, threshold)
        )
    traced = _trazar.trace(
        images, retrieval, approximation, geometry, algorithm, threshold, device
    )
    if not isinstance(traced, list):
        raise _is_single("trace_batch")
    return [Contours(each) for each in traced]


class Contours:
    """The contours of an image: what :func:`trace` returns.

    Contour ``i`` has the points ``points[offsets[i]:offsets[i + 1]]``, which are ``contours[i]``.
    The order is that of ``cv2.findContours``: the hierarchy in pre-order, siblings last first.

    On the host, all arrays are NumPy's, read-only, and lie in the result's own memory. On a GPU
    they are :class:`trazar.DeviceArray`; methods that measure or write copy the contours to the
    host first, once.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> contours = trazar.trace(np.eye(3, dtype=bool))
    >>> len(contours), contours
    (1, Contours(1 contours, 2 points, 3 × 3 pixels, cpu))
    """

    __slots__ = ("_host", "_raw")

    def __init__(self, raw: _trazar.HostContours | _trazar.DeviceContours) -> None:
        self._raw = raw
        self._host: _trazar.HostContours | None = None

    def _on_host(self) -> _trazar.HostContours:
        raw = self._raw
        if isinstance(raw, _trazar.HostContours):
            return raw
        if self._host is None:
            self._host = raw.to_host()
        return self._host

    def _single(self) -> _trazar.HostContours:
        """On the host, for what follows the hierarchy."""
        if len(self.image_offsets) != 2:
            from trazar._errors import InputError

            raise InputError("contours of several images: take those of images() one by one")
        return self._on_host()

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

    @property
    def image_offsets(self) -> NDArray[np.intp]:
        """Where each image's contours begin, and the number of all: shape (N + 1,), on the host.

        Of a batch on a GPU. The hierarchy counts contours from the first one of their image.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[1, 0, 1]]).image_offsets.tolist()
        [0, 2]
        """
        import numpy as np

        if isinstance(self._raw, _trazar.HostContours):
            return np.array([0, len(self._raw)], np.intp)
        return np.array(self._raw.image_offsets, np.intp)

    def __len__(self) -> int:
        return len(self._raw)

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"contour {index} of {count}")
        index %= count
        host = self._on_host()
        offsets = host.offsets
        return host.points[offsets[index] : offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        host = self._on_host()
        points, offsets = host.points, host.offsets.tolist()
        return (points[a:b] for a, b in zip(offsets, offsets[1:]))

    def __repr__(self) -> str:
        return (
            f"Contours({len(self)} contours, {self._raw.points.shape[0]} points, "
            f"{self.width} × {self.height} pixels, {self.device})"
        )

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

    def images(self) -> list[Contours]:
        """Return the contours of each image of a batch, on the host.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[1]]).images()
        [Contours(1 contours, 1 points, 1 × 1 pixels, cpu)]
        """
        if isinstance(self._raw, _trazar.HostContours):
            return [self]
        return [Contours(each) for each in self._raw.images()]

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
        foreground pixels. With ``"centers"``, contours of one or two points make polygons without
        an area, which are not valid.

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
        import shapely

        coordinates, rings, polygons = self._single().rings()
        made: NDArray[np.object_] = shapely.from_ragged_array(
            shapely.GeometryType.POLYGON, coordinates, (rings, polygons)
        )
        return made

    @overload
    def to_svg(self, path: PathLike) -> None: ...
    @overload
    def to_svg(self, path: None = None) -> str: ...
    def to_svg(self, path: PathLike | None = None) -> str | None:
        """Write an SVG picture, or return its text without a path.

        The file appears complete or not at all.

        Raises
        ------
        OSError

        Examples
        --------
        >>> import trazar
        >>> trazar.trace([[1, 1]]).to_svg().startswith("<svg")
        True
        """
        return _text(self._single().write("svg", path))

    @overload
    def to_geojson(self, path: PathLike) -> None: ...
    @overload
    def to_geojson(self, path: None = None) -> str: ...
    def to_geojson(self, path: PathLike | None = None) -> str | None:
        """Write a GeoJSON FeatureCollection of polygons, or return its text without a path.

        Coordinates are pixels, y up, as the format's polygons turn. Trace with
        ``geometry="edges"`` for valid polygons.

        Raises
        ------
        OSError

        Examples
        --------
        >>> import json, trazar
        >>> text = trazar.trace([[1, 1]], geometry="edges").to_geojson()
        >>> json.loads(text)["features"][0]["geometry"]["type"]
        'Polygon'
        """
        return _text(self._single().write("geojson", path))

    @overload
    def to_json(self, path: PathLike) -> None: ...
    @overload
    def to_json(self, path: None = None) -> str: ...
    def to_json(self, path: PathLike | None = None) -> str | None:
        """Write size, points and hierarchy as JSON, or return the text without a path.

        Raises
        ------
        OSError

        Examples
        --------
        >>> import json, trazar
        >>> json.loads(trazar.trace([[1, 1]]).to_json())["contours"]
        [[[0, 0], [1, 0]]]
        """
        return _text(self._single().write("json", path))

    @overload
    def to_gds(
        self,
        path: PathLike,
        *,
        pixel_size: int = ...,
        database_unit: float = ...,
        user_unit: float = ...,
        layer: int = ...,
        datatype: int = ...,
        max_vertices: int = ...,
        cell: str = ...,
        library: str = ...,
    ) -> None: ...
    @overload
    def to_gds(
        self,
        path: None = None,
        *,
        pixel_size: int = ...,
        database_unit: float = ...,
        user_unit: float = ...,
        layer: int = ...,
        datatype: int = ...,
        max_vertices: int = ...,
        cell: str = ...,
        library: str = ...,
    ) -> bytes: ...
    def to_gds(
        self,
        path: PathLike | None = None,
        *,
        pixel_size: int = 1,
        database_unit: float = 1e-9,
        user_unit: float = 1e-6,
        layer: int = 1,
        datatype: int = 0,
        max_vertices: int = 4094,
        cell: str = "TOP",
        library: str = "TRAZAR",
    ) -> bytes | None:
        """Write a GDSII layout of contours along edges, or return its bytes without a path.

        One boundary per outer border, y up, with its holes joined to it by cut lines.

        Parameters
        ----------
        path : path, optional
        pixel_size : int
            The side of a pixel in database units.
        database_unit, user_unit : float
            In metres.
        layer, datatype : int
            0 to 32767.
        max_vertices : int
            Boundaries of more are divided, exactly; 4 to 8190. Older programs take 4094.
        cell, library : str
            The names of the only cell and of the library.

        Raises
        ------
        InputError
            For contours of ``geometry="centers"``, or without a hierarchy, and for values that
            GDSII does not take.
        OSError

        Examples
        --------
        >>> import trazar
        >>> contours = trazar.trace([[1, 1]], geometry="edges")
        >>> contours.to_gds(pixel_size=5)[:4].hex()
        '00060002'
        """
        return self._single().write_gds(
            path,
            pixel_size,
            database_unit,
            user_unit,
            layer,
            datatype,
            max_vertices,
            cell,
            library,
        )


def _text(written: bytes | None) -> str | None:
    return None if written is None else written.decode()


def _check_dimensions(array: Any, needed: int) -> None:
    dimensions = len(array.shape)
    if dimensions != needed:
        from trazar._errors import InputError

        form = "(H, W)" if needed == 2 else "(N, H, W)"
        raise InputError(f"an array of {dimensions} dimensions: one of shape {form} is needed")


def _is_batch(function: str) -> Exception:
    from trazar._errors import InputError

    return InputError(f"an array of 3 dimensions: {function}_batch takes N images of one size")


def _is_single(function: str) -> Exception:
    from trazar._errors import InputError

    return InputError(
        f"an array of 2 dimensions: {function} takes N images, {function.removesuffix('_batch')} "
        "takes one"
    )


def _on_gpu(function: str, instead: str) -> Exception:
    from trazar._errors import InputError

    return InputError(f"{function} is for arrays on the host: {instead} takes those on a GPU")
