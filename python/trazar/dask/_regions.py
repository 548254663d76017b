"""Regions of Dask arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import dask.array as da

from trazar import _trazar
from trazar._arrays import check_connectivity
from trazar._errors import InputError
from trazar._regions import Regions, _background, _transform, _values
from trazar.dask._bands import Bands, checked, rechunked, refuse_empty
from trazar.dask._lazy import Lazy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    #: The first row and the last one of a band.
    Edges: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


def _regions(part: _trazar.RegionPart, transform: tuple[float, ...]) -> Regions:
    return Regions(*part.finish(), transform)


class LazyRegions(Lazy):
    """The regions of a Dask array, not traced yet: what :func:`polygonize` returns.

    A Dask collection: ``compute()``, ``persist()``, ``visualize()`` and ``dask.compute`` take it.
    Computed, it is a :class:`trazar.Regions`. Until then the rings are kept as steps, about a byte
    or less per step and 45 per ring, which are joined on one worker.

    Examples
    --------
    >>> import dask.array as da, trazar.dask
    >>> trazar.dask.polygonize(da.ones((3, 4), dtype="u1", chunks=2)).compute()
    Regions(1 region, 1 ring, 4 × 3 pixels)
    """

    __slots__ = ()
    _made = staticmethod(_regions)

    @property
    def shape(self) -> tuple[int, int]:
        """The image's height and width.

        Examples
        --------
        >>> import dask.array as da, trazar.dask
        >>> trazar.dask.polygonize(da.ones((3, 4), dtype="u1")).shape
        (3, 4)
        """
        return self._shape

    def count(self) -> Any:
        """Return the number of regions: a Delayed int.

        Examples
        --------
        >>> import dask.array as da, trazar.dask
        >>> trazar.dask.polygonize(da.eye(3, dtype="u1")).count().compute()
        5
        """
        return self._counted()

    def to_delayed(self) -> Any:
        """Return the regions as a Delayed :class:`trazar.Regions`, for tasks of one's own.

        Examples
        --------
        >>> import dask.array as da, trazar.dask
        >>> regions = trazar.dask.polygonize(da.ones((3, 4), dtype="u1")).to_delayed()
        >>> regions.polygon_values().compute().tolist()
        [1]
        """
        return self._then("trazar-regions", _regions, *self._extra)


def polygonize(
    array: Any,
    *,
    background: ArrayLike | None = None,
    mask: Any = None,
    connectivity: int = 4,
    transform: Any = None,
    rows: int | str | None = "auto",
) -> LazyRegions:
    """Trace the regions of a Dask array, with the rings and numbers of :func:`trazar.polygonize`.

    Parameters
    ----------
    array : dask.array.Array of shape (H, W)
        Values of a type that :func:`trazar.shapes` takes, in chunks of any sizes, in the host's
        memory.
    background, connectivity, transform
        As for :func:`trazar.polygonize`.
    mask : array of shape (H, W), optional
        Pixels where it is 0 or False are left out; of Dask or NumPy.
    rows : int, "auto" or None
        The rows of a band: see :mod:`trazar.dask`.

    Returns
    -------
    LazyRegions
        Its ``compute()`` gives the :class:`trazar.Regions` of the whole array: the same rings,
        order, values and numbers, for any chunks.

    Raises
    ------
    InputError
        For an array or a mask of another shape or type, for chunks of unknown sizes, and for an
        array without pixels.

    See Also
    --------
    trazar.polygonize : arrays in memory.

    Notes
    -----
    As for :func:`trace`, a band is traced with the rows beside it, by the processor, and the bands'
    parts are joined as a tree. The last part has all rings, as steps: it must fit one worker, and
    with ``compute()`` the client.

    Examples
    --------
    >>> import dask.array as da, numpy as np, trazar, trazar.dask
    >>> classes = np.random.default_rng(0).integers(0, 3, (300, 400), dtype="u1")
    >>> lazy = trazar.dask.polygonize(da.from_array(classes, chunks=(100, 130)), rows=64)
    >>> regions, expected = lazy.compute(), trazar.polygonize(classes)
    >>> np.array_equal(regions.points, expected.points)
    True
    >>> np.array_equal(regions.regions, expected.regions)
    True
    """
    check_connectivity(connectivity)
    numbers = _transform(transform)
    read, like = values_in_bands(array, mask, rows)
    values = read[0]
    refuse_empty(values)
    left_out = _background(background, like)
    names = [each.name for each in read]
    bands = Bands(values, "regions", left_out.tolist(), *names[1:], connectivity)

    def rows_of(index: int) -> list[Any]:
        return [(name, index, 0) for name in names]

    edges = bands.each("edges", lambda i: (_edges, rows_of(i)))
    parts = bands.each(
        "trace",
        lambda i: (
            _part,
            rows_of(i),
            bands.first_rows[i],
            *bands.beside(edges, i),
            left_out,
            connectivity,
        ),
    )
    key = bands.join(parts)
    graph = bands.over("regions", bands.tasks, *read)
    return LazyRegions(graph, key, bands.name("regions"), values.shape, len(bands), numbers)


def values_in_bands(
    array: Any, mask: Any, rows: int | str | None
) -> tuple[list[Any], NDArray[Any]]:
    """Return values, and their mask if there is one, as arrays whose chunks are bands of rows.

    The second is an empty array like the values' chunks.
    """
    image = checked(array, rows)
    # Refuses other types now.
    like = _values(image._meta, "array")
    values = image.map_blocks(_block, dtype=like.dtype)
    if 0 not in image.shape:
        values = rechunked(values, rows)
    read = [values]
    if mask is not None:
        masks = da.asanyarray(mask)
        if masks.shape != image.shape:
            raise InputError(
                f"mask of shape {masks.shape}: it has the image's shape, {image.shape}"
            )
        read.append(masks.rechunk(values.chunks))
    return read, like


def _block(block: Any) -> Any:
    return _values(block, "array")


def _edges(rows: list[NDArray[Any]]) -> list[Edges]:
    """Return the first row and the last one of values, and of their mask if there is one."""
    return [(band[:1].copy(), band[-1:].copy()) for band in rows]


def _part(
    rows: list[NDArray[Any]],
    first_row: int,
    above: list[Edges] | None,
    below: list[Edges] | None,
    background: NDArray[Any],
    connectivity: int,
) -> _trazar.RegionPart:
    """Trace a band, with the first and last rows of the bands above and below it."""

    def pair(bands: list[Any]) -> tuple[Any, Any]:
        values, *mask = bands
        return values, mask[0] if mask else None

    row_above = pair([edges[1] for edges in above]) if above else None
    row_below = pair([edges[0] for edges in below]) if below else None
    return _trazar.trace_region_part(
        pair(rows), first_row, row_above, row_below, background, connectivity
    )
