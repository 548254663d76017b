"""Measures of the labels of Dask arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import dask.array as da
import numpy as np
from dask.delayed import Delayed

from trazar import _trazar
from trazar._errors import InputError
from trazar._measure import _assembled, _channels, _labels, _names, _spacing, _tabulated
from trazar.dask._bands import Bands, checked, rechunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    #: The first rows and the last ones of a band.
    Edges: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

#: The rows beside a band on which its measures depend.
_MARGIN = 2


def measure(
    label_image: Any,
    intensity_image: Any = None,
    properties: Iterable[str] = ("label", "bbox"),
    *,
    separator: str = "-",
    spacing: float | Sequence[float] | None = None,
    rows: int | str | None = "auto",
) -> Any:
    """Measure the labels of a Dask array, with the columns of :func:`trazar.measure`.

    Parameters
    ----------
    label_image : dask.array.Array of shape (H, W)
        Integers, in chunks of any sizes, in the host's memory.
    intensity_image : array of shape (H, W), optional
        Booleans or real numbers; of Dask or NumPy.
    properties, separator, spacing
        As for :func:`trazar.measure`.
    rows : int, "auto" or None
        The rows of a band: see :mod:`trazar.dask`.

    Returns
    -------
    dask.delayed.Delayed
        Of a dict: the columns of :func:`trazar.measure`. Integers are the same for any chunks, and
        so are means and deviations of integers and what follows from centroids and second moments.
        Sums of floating-point numbers, and of third powers beyond 2**53, depend on the order of
        their terms, and may differ in the last digits.

    Raises
    ------
    InputError
        As :func:`trazar.measure`, and for chunks of unknown sizes.

    See Also
    --------
    trazar.measure : arrays in memory.

    Notes
    -----
    A band is summed up with two rows on each side of it, and the bands' sums are joined as a tree:
    50 to 600 bytes per label, and 16 per run of labels in a row for hulls and holes, must fit one
    worker.

    Examples
    --------
    >>> import dask.array as da, numpy as np, trazar, trazar.dask
    >>> labels = np.random.default_rng(0).integers(0, 9, (300, 400))
    >>> lazy = trazar.dask.measure(
    ...     da.from_array(labels, chunks=(100, 130)), properties=("label", "area", "perimeter")
    ... )
    >>> columns, expected = lazy.compute(), trazar.measure(labels, None, ("area", "perimeter"))
    >>> np.array_equal(columns["perimeter"], expected["perimeter"])
    True
    """
    asked, names = _names(properties)
    distances = _spacing(spacing)
    image = checked(label_image, rows)
    like = _labels(image._meta)
    images = [image]
    likes = [like]
    if intensity_image is not None:
        intensities = da.asanyarray(intensity_image)
        if intensities.shape != image.shape:
            raise InputError(
                f"intensity_image of shape {intensities.shape}: it has that of the labels, "
                f"{image.shape}"
            )
        images.append(intensities)
        likes.append(_intensities(intensities._meta))
    if 0 in image.shape:
        images = [da.zeros((1, 1), dtype=given.dtype) for given in images]
    # Options that contradict each other are refused now.
    labels, intensities = _ones(likes)
    _trazar.measure(labels, intensities, names, distances, "cpu")
    labels = rechunked(images[0].map_blocks(_labels, dtype=like.dtype), rows)
    values = [labels]
    if len(images) > 1:
        each = images[1].map_blocks(_intensities, dtype=likes[1].dtype)
        values.append(each.rechunk(labels.chunks))
    options = (names, distances, asked, separator)
    bands = Bands(labels, "measure", *options, *(array.name for array in values))

    def rows_of(index: int) -> list[Any]:
        return [(array.name, index, 0) for array in values]

    # A band has a row at least, and may have fewer rows than a margin: then the rows beside another
    # are those of several.
    heights = labels.chunks[0]
    edges = bands.each("edges", lambda i: (_edges, (labels.name, i, 0)))
    firsts = bands.first_rows

    def above(index: int) -> list[Any]:
        near = range(max(0, index - _MARGIN), index)
        kept = [i for i in near if firsts[i] + heights[i] > firsts[index] - _MARGIN]
        return [edges[i] for i in kept]

    def below(index: int) -> list[Any]:
        end = firsts[index] + heights[index]
        near = range(index + 1, min(index + 1 + _MARGIN, len(firsts)))
        kept = [i for i in near if firsts[i] < end + _MARGIN]
        return [edges[i] for i in kept]

    parts = bands.each(
        "measure",
        lambda i: (_part, rows_of(i), firsts[i], above(i), below(i), names, distances),
    )
    key = f"{bands.name('measures')}-table"
    tasks = bands.tasks
    tasks[key] = (_finish, bands.join(parts), asked, names, separator)
    return Delayed(key, bands.over("measures", tasks, *values), layer=bands.name("measures"))


def _intensities(given: Any) -> Any:
    """Return intensities as an array of a type that the library reads."""
    (channel,), _ = _channels(given, given.shape)
    return channel


def _ones(likes: list[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any] | None]:
    labels, *intensities = (np.ones((1, 1), like.dtype) for like in likes)
    return labels, intensities[0] if intensities else None


def _edges(labels: NDArray[Any]) -> Edges:
    return labels[:_MARGIN].copy(), labels[-_MARGIN:].copy()


def _part(
    rows: list[NDArray[Any]],
    first_row: int,
    above: list[Edges],
    below: list[Edges],
    names: list[str],
    spacing: tuple[float, float],
) -> _trazar.MeasurePart:
    """Sum up a band, with the last rows above it and the first rows below it."""
    labels, *intensities = rows
    top = [edges[1] for edges in above]
    margin = sum(map(len, top))
    bottom = [edges[0] for edges in below]
    extended = np.concatenate([*top, labels, *bottom])
    brightness = None
    if intensities:
        brightness = np.zeros(extended.shape, intensities[0].dtype)
        brightness[margin : margin + len(labels)] = intensities[0]
    own = (margin, margin + len(labels))
    return _trazar.measure_part(extended, brightness, own, first_row, names, spacing)


def _finish(
    part: _trazar.MeasurePart, asked: list[str], names: list[str], separator: str
) -> dict[str, Any]:
    return _assembled(asked, names, [_tabulated(part.finish())], False, separator)
