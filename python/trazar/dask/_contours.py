"""Contours of Dask arrays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload
from uuid import uuid4

import numpy as np
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from trazar import _trazar
from trazar._contours import Contours
from trazar._errors import InputError
from trazar._tracing import CHAIN_APPROX_SIMPLE, RETR_TREE
from trazar.dask._bands import Bands, device_of, in_bands, refuse_empty
from trazar.dask._dataset import Dataset
from trazar.dask._lazy import Lazy

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import ArrayLike, NDArray

    from trazar._arrays import Device
    from trazar._tracing import Approximation, Geometry, Retrieval

    PathLike = str | os.PathLike[str]


def _contours(part: _trazar.ContourPart) -> Contours:
    return Contours(part.finish())


class LazyContours(Lazy):
    """The contours of a Dask array, not traced yet: what :func:`trace` returns.

    A Dask collection: ``compute()``, ``persist()``, ``visualize()`` and ``dask.compute`` take it.
    Computed, it is a :class:`trazar.Contours`. Until then the contours are kept as steps, about a
    byte or less per step and 40 per contour, which are joined on one worker; the points are made
    where they are asked for.

    Examples
    --------
    >>> import dask.array as da, trazar.dask
    >>> trazar.dask.trace(da.ones((3, 4), chunks=2)).compute()
    Contours(1 contour, 4 points, 4 × 3 pixels, cpu)
    """

    __slots__ = ()
    _made = staticmethod(_contours)

    @property
    def shape(self) -> tuple[int, int]:
        """The image's height and width.

        Examples
        --------
        >>> import dask.array as da, trazar.dask
        >>> trazar.dask.trace(da.ones((3, 4))).shape
        (3, 4)
        """
        return self._shape

    def count(self) -> Any:
        """Return the number of contours: a Delayed int.

        Examples
        --------
        >>> import dask.array as da, trazar.dask
        >>> trazar.dask.trace(da.eye(3)).count().compute()
        1
        """
        return self._counted()

    def to_delayed(self) -> Any:
        """Return the contours as a Delayed :class:`trazar.Contours`, for tasks of one's own.

        Examples
        --------
        >>> import dask.array as da, trazar.dask
        >>> contours = trazar.dask.trace(da.ones((3, 4))).to_delayed()
        >>> contours.areas().compute().tolist()
        [6.0]
        """
        return self._then("trazar-contours", _contours)

    @overload
    def to_geojson_lines(
        self,
        folder: PathLike,
        *,
        npartitions: int | None = ...,
        overwrite: bool = ...,
        compute: Literal[True] = ...,
    ) -> list[str]: ...
    @overload
    def to_geojson_lines(
        self,
        folder: PathLike,
        *,
        npartitions: int | None = ...,
        overwrite: bool = ...,
        compute: bool,
    ) -> Any: ...
    def to_geojson_lines(
        self,
        folder: PathLike,
        *,
        npartitions: int | None = None,
        overwrite: bool = False,
        compute: bool = True,
    ) -> Any:
        """Write files of GeoJSON features, one per line: ``part.0.geojsonl`` and so on.

        Each worker writes files of its own, into a folder that all workers share. A feature is an
        outer border with the holes directly inside it, as :meth:`trazar.Contours.to_geojson` has
        it; the files have the contours in their order.

        The folder appears with all files or not at all. Until then they are in a hidden folder
        beside it, ``.FOLDER.*.partial``, which stays if the writing process is killed: readers
        ignore it, and it may be deleted.

        Parameters
        ----------
        folder : path
            A new or an empty folder.
        npartitions : int, optional
            The number of files, by default that of the bands.
        overwrite : bool
            Whether to replace the files of an earlier call in ``folder``, all of them: they stay
            until all new ones are written. A folder with other files is refused.
        compute : bool
            Whether to write now, or to return a Delayed.

        Returns
        -------
        list of str, or Delayed
            The files' paths.

        Raises
        ------
        InputError
            If there is something in the folder, and with ``overwrite`` if that is anything but
            files of an earlier call; if the folder is the working directory or a mount point,
            which can't be replaced.
        OSError

        Examples
        --------
        >>> import dask.array as da, tempfile, trazar.dask
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paths = trazar.dask.trace(da.ones((3, 4))).to_geojson_lines(folder)
        ...     len(open(paths[0]).readlines())
        1
        """
        return self._write(folder, "geojsonl", _write_lines, npartitions, overwrite, compute)

    @overload
    def to_geoparquet(
        self,
        folder: PathLike,
        *,
        npartitions: int | None = ...,
        overwrite: bool = ...,
        compute: Literal[True] = ...,
    ) -> list[str]: ...
    @overload
    def to_geoparquet(
        self,
        folder: PathLike,
        *,
        npartitions: int | None = ...,
        overwrite: bool = ...,
        compute: bool,
    ) -> Any: ...
    def to_geoparquet(
        self,
        folder: PathLike,
        *,
        npartitions: int | None = None,
        overwrite: bool = False,
        compute: bool = True,
    ) -> Any:
        """Write a GeoParquet dataset of polygons: ``part.0.parquet`` and so on.

        Each worker writes files of its own, into a folder that all workers share. The columns are
        ``contour``, the index of the outer border, ``area``, without holes, and ``geometry``, the
        polygons of :meth:`trazar.Contours.polygons`, in pixels, y down and without a reference
        system. Trace with ``geometry="edges"``: polygons of ``"centers"`` often are not valid.
        ``geopandas.read_parquet(folder)`` and dask-geopandas read the folder.

        Parameters
        ----------
        folder, npartitions, overwrite, compute
            As for :meth:`to_geojson_lines`.

        Returns
        -------
        list of str, or Delayed
            The files' paths.

        Raises
        ------
        ImportError
            If GeoPandas or PyArrow is not installed.
        InputError, OSError
            As :meth:`to_geojson_lines`.

        Examples
        --------
        >>> import dask.array as da, tempfile, trazar.dask
        >>> contours = trazar.dask.trace(da.ones((3, 4)), geometry="edges")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paths = contours.to_geoparquet(folder)      # doctest: +SKIP
        """
        try:
            import geopandas  # noqa: F401
            import pyarrow  # noqa: F401
        except ImportError as missing:
            raise ImportError(
                "to_geoparquet needs GeoPandas and PyArrow: pip install geopandas pyarrow"
            ) from missing
        return self._write(folder, "parquet", _write_parquet, npartitions, overwrite, compute)

    def _write(
        self,
        folder: PathLike,
        suffix: str,
        write: Callable[..., None],
        npartitions: int | None,
        overwrite: bool,
        compute: bool,
    ) -> Any:
        count = self._shares if npartitions is None else npartitions
        if not isinstance(count, int) or count < 1:
            raise InputError(f"npartitions={npartitions!r}: it is a number of files, 1 at least")
        dataset = Dataset(Path(folder).resolve(), suffix, count, overwrite, uuid4().hex)
        dataset.check()
        # No other call has these keys: what is written is no function of the contours alone.
        name = f"trazar-write-{suffix}-{dataset.token}"
        begun = f"{name}-begun"
        parts: dict[Any, Any] = {
            (name, i): (_write_part, begun, write, self._key, i) for i in range(count)
        }
        tasks = {**parts, begun: (_begin, dataset), name: (_commit, dataset, list(parts))}
        written = Delayed(name, HighLevelGraph.from_collections(name, tasks, dependencies=[self]))
        if not compute:
            return written
        try:
            return written.compute()
        except BaseException:
            dataset.discard()
            raise


def trace(
    array: Any,
    *,
    retrieval: Retrieval = "tree",
    approximation: Approximation = "simple",
    geometry: Geometry = "centers",
    threshold: float | None = None,
    rows: int | str | None = "auto",
    device: Device = "auto",
) -> LazyContours:
    """Trace the borders of a Dask array, with the points and hierarchy of :func:`trazar.trace`.

    Parameters
    ----------
    array : dask.array.Array of shape (H, W)
        Booleans or real numbers, in chunks of any sizes.
    retrieval, approximation, geometry, threshold
        As for :func:`trazar.trace`.
    rows : int, "auto" or None
        The rows of a band: see :mod:`trazar.dask`.
    device : {"auto", "cpu", "cuda", "emulator"}
        What each worker works on: see :mod:`trazar.dask`. Over pixel centers, a GPU traces bands of
        a multiple of 32 rows whole, and of others all rows but the last ones; along edges, only the
        processor traces.

    Returns
    -------
    LazyContours
        Its ``compute()`` gives the :class:`trazar.Contours` of the whole image. They equal those of
        :func:`trazar.trace`, in order and hierarchy, for any chunks.

    Raises
    ------
    InputError
        For an array of another shape, type or chunks of unknown sizes, or without pixels; for
        options that contradict each other. When it is computed, for NaN with a threshold.
    DeviceError
        When it is computed: for a GPU that is not there or fails.

    See Also
    --------
    trazar.trace : arrays in memory.

    Notes
    -----
    A band is traced with the row above it and the row below it. A border that leaves a band is
    fragments, which are linked when the bands' parts are joined, as a tree. The last part has all
    borders of the image, as steps: it must fit one worker, and with ``compute()`` the client.

    Examples
    --------
    >>> import dask.array as da, numpy as np, trazar, trazar.dask
    >>> image = np.random.default_rng(0).random((300, 400)) < 0.6
    >>> lazy = trazar.dask.trace(da.from_array(image, chunks=(100, 130)), rows=64)
    >>> contours, expected = lazy.compute(), trazar.trace(image)
    >>> np.array_equal(contours.points, expected.points)
    True
    >>> np.array_equal(contours.hierarchy, expected.hierarchy)
    True
    """
    # Options that contradict each other are refused now.
    options = (retrieval, approximation, geometry)
    _trazar.trace([[0]], False, *options, None, None, "cpu")
    image = in_bands(array, threshold, rows)
    refuse_empty(image)
    worked_on = device_of(image, device)
    bands = Bands(image, "contours", *options, worked_on)
    packed = bands.pack()
    edges = bands.each("edges", lambda i: (_edges, packed[i]))
    parts = bands.each(
        "trace",
        lambda i: (
            _part,
            packed[i],
            bands.first_rows[i],
            *bands.beside(edges, i),
            *options,
            worked_on,
        ),
    )
    key = bands.join(parts)
    layer = bands.name("contours")
    graph = bands.over("contours", bands.tasks, image)
    return LazyContours(graph, key, layer, image.shape, len(bands))


_RETRIEVALS: dict[int, Retrieval] = {0: "external", 1: "list", 2: "ccomp", 3: "tree"}
_APPROXIMATIONS: dict[int, Approximation] = {1: "none", 2: "simple", 3: "tc89-l1", 4: "tc89-kcos"}


def find_contours(
    array: Any,
    mode: int = RETR_TREE,
    method: int = CHAIN_APPROX_SIMPLE,
    *,
    offset: ArrayLike = (0, 0),
    threshold: float | None = None,
    rows: int | str | None = "auto",
    device: Device = "auto",
) -> Any:
    """Find the contours of a Dask array, as ``cv2.findContours`` returns them for the whole image.

    Parameters
    ----------
    array : dask.array.Array of shape (H, W)
    mode, method, offset, threshold
        As for :func:`trazar.find_contours`.
    rows, device
        As for :func:`trace`.

    Returns
    -------
    dask.delayed.Delayed
        Of two values: the contours and the hierarchy of :func:`trazar.find_contours`.

    Raises
    ------
    InputError, DeviceError
        As :func:`trace`.

    Examples
    --------
    >>> import dask.array as da, trazar.dask
    >>> contours, hierarchy = trazar.dask.find_contours(da.ones((3, 4), chunks=2)).compute()
    >>> contours[0].tolist()
    [[[0, 0]], [[0, 2]], [[3, 2]], [[3, 0]]]
    >>> hierarchy.tolist()
    [[[-1, -1, -1, -1]]]
    """
    if mode not in _RETRIEVALS or method not in _APPROXIMATIONS:
        raise InputError(
            f"mode={mode}, method={method}: they are of RETR_EXTERNAL (0), RETR_LIST (1), "
            "RETR_CCOMP (2), RETR_TREE (3), and of CHAIN_APPROX_NONE (1), CHAIN_APPROX_SIMPLE (2), "
            "CHAIN_APPROX_TC89_L1 (3), CHAIN_APPROX_TC89_KCOS (4)"
        )
    lazy = trace(
        array,
        retrieval=_RETRIEVALS[mode],
        approximation=_APPROXIMATIONS[method],
        threshold=threshold,
        rows=rows,
        device=device,
    )
    height, width = lazy.shape
    x, y = _trazar.checked_offset(offset, width, height)
    found = lazy._then("trazar-find-contours", _as_opencv, x, y)
    return Delayed(found.key, found.dask, length=2)


def _edges(mask: _trazar.Mask) -> tuple[_trazar.Mask, _trazar.Mask]:
    return mask.edges()


def _part(
    mask: _trazar.Mask,
    first_row: int,
    above: tuple[_trazar.Mask, _trazar.Mask] | None,
    below: tuple[_trazar.Mask, _trazar.Mask] | None,
    retrieval: str,
    approximation: str,
    geometry: str,
    device: str,
) -> _trazar.ContourPart:
    """Trace a band, with the first and last rows of the bands above and below it."""
    row_above, row_below = above and above[1], below and below[0]
    return _trazar.trace_part(
        mask, first_row, row_above, row_below, retrieval, approximation, geometry, device
    )


def _as_opencv(
    part: _trazar.ContourPart, x: int, y: int
) -> tuple[tuple[NDArray[np.int32], ...], NDArray[np.int32] | None]:
    found = part.finish()
    points = (found.points + np.array([x, y], np.int32))[:, None, :]
    contours = tuple(np.split(points, found.offsets[1:-1])) if len(found) else ()
    return contours, found.hierarchy[None].copy() if len(found) else None


def _begin(dataset: Dataset) -> Dataset:
    dataset.begin()
    return dataset


def _write_part(
    dataset: Dataset, write: Callable[..., None], part: _trazar.ContourPart, index: int
) -> int:
    write(part, index, dataset.count, dataset.staged(index))
    return index


def _commit(dataset: Dataset, written: list[int]) -> list[str]:
    return dataset.commit()


def _write_lines(part: _trazar.ContourPart, index: int, count: int, path: Path) -> None:
    part.write_lines(index, count, str(path))


def _write_parquet(part: _trazar.ContourPart, index: int, count: int, path: Path) -> None:
    import geopandas
    import shapely

    contours, (coordinates, rings, polygons) = part.polygons(index, count)
    made = shapely.from_ragged_array(shapely.GeometryType.POLYGON, coordinates, (rings, polygons))
    columns = {"contour": contours, "area": shapely.area(made)}
    frame = geopandas.GeoDataFrame(columns, geometry=geopandas.GeoSeries(made))
    # Two workers may write a part, where the scheduler took the first for lost.
    partial = path.with_name(f".{path.name}.{uuid4().hex}.partial")
    frame.to_parquet(partial, index=False)
    os.replace(partial, path)
