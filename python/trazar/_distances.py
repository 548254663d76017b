"""Cost distances on rasters: costs, allocation, directions, paths and corridors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from trazar import _trazar
from trazar._arrays import check_device, is_on_gpu
from trazar._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from trazar._arrays import Device

    Neighbours = Literal[4, 8, 16]
    Precision = Literal["f32", "f64"]

#: The direction of a cell that nothing reaches.
NO_DIRECTION = 255


class CostDistance:
    """Costs of travel: what :func:`cost_distance` returns.

    Arrays are NumPy's, or ``xarray.DataArray`` with the coordinates of the friction if that is one.
    If the friction is on a GPU, so are they: arrays that CuPy, PyTorch and others take without a
    copy, as ``cupy.asarray(cost)`` and ``torch.from_dlpack(cost)``. ``cost.get()`` is NumPy's.

    Attributes
    ----------
    cost : float32 or float64 array of shape (H, W)
        The least cost from any source; NaN where nothing reaches.
    allocation : uint32 array of shape (H, W), or None
        The id of the source that a cell is reached from; 0 where nothing reaches.
    direction : uint8 array of shape (H, W), or None
        Where the previous cell of the path is: 0 at sources, 1 right, 2 lower right, 3 below, and
        so on clockwise to 8, upper right; 9 to 16 are knight's moves; :data:`NO_DIRECTION` where
        nothing reaches.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> found = trazar.cost_distance(np.ones((2, 3)), [(0, 0)], neighbours=4, direction=True)
    >>> found.direction.tolist()
    [[0, 5, 5], [7, 5, 5]]
    """

    __slots__ = ("allocation", "cost", "direction")

    def __init__(self, cost: Any, allocation: Any = None, direction: Any = None) -> None:
        self.cost = cost
        self.allocation = allocation
        self.direction = direction

    def path_to(self, cell: ArrayLike) -> Path:
        """Return the path of least cost to a cell (row, column).

        Raises
        ------
        InputError
            Without directions, and for a cell outside the raster or that nothing reaches.

        Examples
        --------
        >>> import numpy as np, trazar
        >>> found = trazar.cost_distance(np.ones((3, 3)), [(0, 0)], direction=True)
        >>> found.path_to((2, 2)).cells.tolist()
        [[0, 0], [1, 1], [2, 2]]
        """
        import numpy as np

        if self.direction is None:
            raise InputError("paths follow the directions: compute them with direction=True")
        codes = np.ascontiguousarray(_on_host(_data(self.direction)), np.uint8)
        [[row, column]] = _cells("cell", np.asarray(cell)[np.newaxis], codes.shape)
        cells = _trazar.follow(codes, row, column)
        return Path(cells, float(np.asarray(_on_host(_data(self.cost)))[row, column]))

    def __repr__(self) -> str:
        height, width = self.cost.shape
        has = [name for name in ("allocation", "direction") if getattr(self, name) is not None]
        return f"CostDistance({', '.join([f'{height} × {width} cells', *has])})"


class Path:
    """A path of least cost.

    Attributes
    ----------
    cells : int64 array of shape (n, 2)
        Its cells (row, column) from the source on, both ends included.
    cost : float
        What it costs, the start cost included.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> trazar.cost_distance(np.ones((1, 4)), [(0, 0)], direction=True).path_to((0, 3))
    Path(cost 3.0, 4 cells)
    """

    __slots__ = ("cells", "cost")

    def __init__(self, cells: NDArray[np.int64], cost: float) -> None:
        self.cells = cells
        self.cost = cost

    def __repr__(self) -> str:
        return f"Path(cost {self.cost}, {len(self.cells)} cells)"


class Corridor:
    """The cells near the best path between two sets of sources: what :func:`corridor` returns.

    Attributes
    ----------
    cost : float32 or float64 array of shape (H, W)
        What the least path through each cell costs; NaN outside the corridor.
    least : float or None
        The least of them, or None if no path joins the two sets.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> a, b = (trazar.cost_distance(np.ones((1, 4)), [end]) for end in ((0, 0), (0, 3)))
    >>> trazar.corridor(a, b)
    Corridor(1 × 4 cells, least cost 3.0)
    """

    __slots__ = ("cost", "least")

    def __init__(self, cost: Any, least: float | None) -> None:
        self.cost = cost
        self.least = least

    def __repr__(self) -> str:
        height, width = self.cost.shape
        return f"Corridor({height} × {width} cells, least cost {self.least})"


def cost_distance(
    friction: Any,
    sources: Any,
    *,
    sampling: float | Sequence[float] | None = None,
    neighbours: Neighbours = 8,
    max_cost: float | None = None,
    allocation: bool = False,
    direction: bool = False,
    precision: Precision = "f32",
    start_costs: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    no_data: float | None = None,
    device: Device = "auto",
) -> CostDistance:
    """Compute the least cost of travel from sources to every cell of a raster of friction.

    A step costs the mean of its cells' friction times its length. The result is the same, bit for
    bit, from every algorithm and device; with ``precision="f64"`` it is that of
    ``skimage.graph.MCP_Geometric``.

    Parameters
    ----------
    friction : array of shape (H, W), or xarray.DataArray
        What travel costs per unit of length. NaN and infinity are barriers; 0 is allowed. An array
        on a GPU, of CuPy or PyTorch, is worked on there, in the order of its library's current
        stream.
    sources : list of cells, array of shape (n, 2), or raster of shape (H, W)
        Cells (row, column), numbered 1, 2, 3 and so on. Or a raster, as an array of the friction's
        shape: cells that are not 0 or NaN are sources, and their values, whole numbers, the ids. Of
        a boolean raster, each True is a source of its own, numbered row by row.
    sampling : float or (float, float), optional
        The height and the width of a cell. By default that of the coordinates of a DataArray, else
        1.
    neighbours : {8, 4, 16}
        The cells that a step leads to; 16 has knight's moves too, at the mean of the four cells
        that they cross.
    max_cost : float, optional
        Cells that cost more are not searched.
    allocation, direction : bool
        Whether to find the source that each cell is reached from, and the way back to it.
    precision : {"f32", "f64"}
        The numbers in which costs are computed.
    start_costs : array of n costs or of shape (H, W), optional
        What a path costs at its source: one for each source, or a raster that is read there.
    ids : array of n whole numbers from 1 on, optional
        The sources' ids, for sources that are cells.
    no_data : float, optional
        Friction that marks barriers.
    device : {"auto", "cpu", "cuda", "emulator"}
        What finds the costs; "auto" is the processor, or the GPU on which the friction is.

    Returns
    -------
    CostDistance

    Raises
    ------
    InputError
        For negative friction, sources outside the raster or on barriers, no sources, costs that
        exceed the precision, and values that an argument does not take.
    OutOfMemoryError

    Examples
    --------
    >>> import numpy as np, trazar
    >>> friction = np.array([[1, 1, 1], [1, np.nan, 4], [2, 1, 1]])
    >>> trazar.cost_distance(friction, [(0, 0)], neighbours=4).cost
    array([[0. , 1. , 2. ],
           [1. , nan, 4.5],
           [2.5, 4. , 5. ]], dtype=float32)
    """
    on_gpu = is_on_gpu(_data(friction))
    if on_gpu:
        check_device(device)
    values = _device_friction(_data(friction)) if on_gpu else _friction(friction)
    height, width = values.shape
    shape = int(height), int(width)
    cells, found_ids = _sources(sources, shape, ids)
    starts = (cells, found_ids, _start_costs(start_costs, cells, shape))
    limit = None if max_cost is None else _number("max_cost", max_cost)
    missing = None if no_data is None else _number("no_data", no_data)
    sides = _sampling(sampling, friction)
    parts: tuple[Any, Any, Any]
    if on_gpu:
        parts = _trazar.device_cost_distance(
            values,
            *starts,
            sides,
            str(neighbours),
            limit,
            missing,
            precision,
            bool(allocation),
            bool(direction),
        )
    else:
        parts = _trazar.cost_distance(
            values,
            *starts,
            sides,
            str(neighbours),
            "mean",
            limit,
            missing,
            precision,
            bool(allocation),
            bool(direction),
            device,
        )
    return CostDistance(*(_like(friction, part) for part in parts))


def least_cost_path(
    friction: Any,
    start: ArrayLike,
    end: ArrayLike,
    *,
    sampling: float | Sequence[float] | None = None,
    neighbours: Neighbours = 8,
    precision: Precision = "f64",
    no_data: float | None = None,
    device: Device = "auto",
) -> Path:
    """Find a path of least cost between two cells.

    Parameters
    ----------
    friction, sampling, neighbours, precision, no_data, device
        As for :func:`cost_distance`.
    start : (row, column), or array of several such cells
        Where the path starts: at the one that is nearest.
    end : (row, column)

    Returns
    -------
    Path

    Raises
    ------
    InputError
        As :func:`cost_distance`, and if no path joins the cells.
    OutOfMemoryError

    Examples
    --------
    >>> import numpy as np, trazar
    >>> trazar.least_cost_path(np.array([[1, 9, 1], [1, 1, 1]]), (0, 0), (0, 2))
    Path(cost 2.8284271247461903, 3 cells)
    """
    import numpy as np

    starts = np.asarray(start)
    found = cost_distance(
        friction,
        starts.reshape(1, -1).tolist() if starts.ndim == 1 else starts.tolist(),
        sampling=sampling,
        neighbours=neighbours,
        direction=True,
        precision=precision,
        no_data=no_data,
        device=device,
    )
    return found.path_to(end)


def corridor(first: Any, second: Any, threshold: float | None = None) -> Corridor:
    """Add two cost surfaces: what the least path through each cell costs, from one to the other.

    Parameters
    ----------
    first, second : CostDistance, or arrays of costs
        From the two ends of the corridor.
    threshold : float, optional
        Only cells remain that cost at most this much more than the best path.

    Returns
    -------
    Corridor

    Raises
    ------
    InputError
        For surfaces of different shapes or precisions, and a threshold that is negative.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> a, b = (trazar.cost_distance(np.ones((2, 3)), [end]) for end in ((0, 0), (0, 2)))
    >>> trazar.corridor(a, b, threshold=0.5).cost.tolist()
    [[2.0, 2.0, 2.0], [nan, nan, nan]]
    """
    import numpy as np

    # By NumPy, because any arrays of costs will do; `trazar::distance::corridor` is for its own.
    first, second = (
        _on_host(each.cost if isinstance(each, CostDistance) else each) for each in (first, second)
    )
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape or a.ndim != 2:
        raise InputError(f"surfaces of shapes {a.shape} and {b.shape}: both have shape (H, W)")
    if a.dtype != b.dtype or a.dtype not in (np.float32, np.float64):
        raise InputError(f"surfaces of types {a.dtype} and {b.dtype}: both are float32 or float64")
    with np.errstate(over="ignore"):
        both = a + b
    both[~np.isfinite(both)] = np.nan
    if np.isnan(both).all():
        return Corridor(_like(first, both), None)
    least = np.nanmin(both)
    if threshold is not None:
        limit = _number("threshold", threshold)
        if not limit >= 0:
            raise InputError(f"threshold={threshold!r}: it must be 0 or more")
        both[~(both <= least + a.dtype.type(limit))] = np.nan
    return Corridor(_like(first, both), float(least))


def route_through_array(
    array: ArrayLike,
    start: Iterable[int],
    end: Iterable[int],
    fully_connected: bool = True,
    geometric: bool = True,
) -> tuple[list[tuple[int, int]], float]:
    """Find a path of least cost, as ``skimage.graph.route_through_array`` does.

    The cost is scikit-image's, bit for bit. Among several paths of that cost, it is the one along
    :attr:`CostDistance.direction`, which need not be scikit-image's.

    Parameters
    ----------
    array : array of shape (H, W)
        Costs. Negative, infinite and NaN costs are barriers.
    start, end : (row, column)
        Negative ones count from the end.
    fully_connected : bool
        Whether diagonal steps are allowed.
    geometric : bool
        Whether a step costs the mean of its cells times its length. If not, a path costs the sum of
        its cells.

    Returns
    -------
    path : list of (row, column)
        From start to end.
    cost : float

    Raises
    ------
    InputError
        For arrays that are not of two dimensions, cells outside or on barriers, and if there is no
        path.
    OutOfMemoryError

    Examples
    --------
    >>> import numpy as np, trazar
    >>> trazar.route_through_array(np.array([[1, 3], [10, 12]]), [0, 0], [1, 1])
    ([(0, 0), (1, 1)], 9.19238815542512)
    """
    import numpy as np

    costs = np.array(array, np.float64)
    if costs.ndim != 2:
        raise InputError(f"array of shape {costs.shape}: it has two dimensions")
    costs[costs < 0] = np.inf
    ends = []
    for name, cell in (("start", start), ("end", end)):
        index = np.asarray(tuple(cell))
        if index.shape == (2,) and index.dtype.kind in "iu":
            index = np.where(index < 0, index + costs.shape, index)
        ends.append(_cells(name, index[np.newaxis], costs.shape))
    [row, column] = ends[0][0].tolist()
    initial = 0.0 if geometric else costs[row, column]
    if not np.isfinite(initial):
        initial = 0.0  # The cell is a barrier, which is said later.
    parts = _trazar.cost_distance(
        costs,
        ends[0],
        np.ones(1, np.uint32),
        np.array([initial]),
        (1.0, 1.0),
        "8" if fully_connected else "4",
        "mean" if geometric else "entered",
        None,
        None,
        "f64",
        False,
        True,
        "cpu",
    )
    path = CostDistance(*parts).path_to(ends[1][0])
    return [(row, column) for row, column in path.cells.tolist()], path.cost


def _friction(friction: Any) -> NDArray[Any]:
    """The friction as a contiguous array of a type that is taken."""
    import numpy as np

    values = np.asarray(friction)
    if values.ndim != 2:
        raise InputError(f"friction of shape {values.shape}: it has shape (H, W)")
    if values.dtype.kind not in "biuf":
        raise InputError(f"friction of type {values.dtype}: it is of numbers")
    types = (np.uint8, np.uint16, np.uint32, np.float32, np.float64)
    if values.dtype not in types or not values.dtype.isnative:
        small = values.dtype.kind == "f" and values.dtype.itemsize < 4
        if values.dtype == bool:
            values = values.astype(np.uint8)
        else:
            values = values.astype(np.float32 if small else np.float64)
    return np.ascontiguousarray(values)


def _data(array: Any) -> Any:
    """The array in an xarray.DataArray, or the array."""
    return array.data if _is_xarray(array) else array


def _device_friction(friction: Any) -> Any:
    """Friction on a GPU, of a type that is taken, with contiguous rows."""
    if len(friction.shape) != 2:
        shape = tuple(int(side) for side in friction.shape)
        raise InputError(f"friction of shape {shape}: it has shape (H, W)")
    if type(friction).__module__.partition(".")[0] == "torch":
        import torch

        dtype = friction.dtype
        if dtype.is_complex:
            raise InputError(f"friction of type {dtype}: it is of numbers")
        # Not all versions of PyTorch have all of these.
        types = ("bool", "uint8", "uint16", "uint32", "float32", "float64")
        if dtype not in [getattr(torch, name, None) for name in types]:
            small = dtype.is_floating_point and dtype.itemsize < 4
            friction = friction.to(torch.float32 if small else torch.float64)
        return friction.detach().contiguous()
    if type(friction).__module__.partition(".")[0] == "cupy":
        import cupy

        dtype = friction.dtype
        if dtype.kind not in "biuf":
            raise InputError(f"friction of type {dtype}: it is of numbers")
        if dtype.name not in ("bool", "uint8", "uint16", "uint32", "float32", "float64"):
            small = dtype.kind == "f" and dtype.itemsize < 4
            friction = friction.astype(cupy.float32 if small else cupy.float64)
        return cupy.ascontiguousarray(friction)
    return friction


def _on_host(array: Any) -> Any:
    """An array that may be on a GPU, as one on the host."""
    if not is_on_gpu(array):
        return array
    if hasattr(array, "get"):
        return array.get()
    if hasattr(array, "cpu"):
        return array.cpu().numpy()
    raise InputError("sources and start costs on a GPU are of CuPy or PyTorch: copy others first")


def _sources(
    sources: Any, shape: tuple[int, int], ids: ArrayLike | None
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Cells (row, column), and their ids."""
    import numpy as np

    sources = _on_host(sources)
    given = np.asarray(sources)
    if not isinstance(sources, (list, tuple)) and given.shape == shape:
        if ids is not None:
            raise InputError("ids go with sources that are cells; the values of a raster are ids")
        return _raster_sources(given)
    if given.ndim != 2 or (given.size and given.shape[1] != 2):
        raise InputError(
            f"sources of shape {given.shape}: cells have shape (n, 2), a raster of sources has "
            f"that of the friction, {shape}"
        )
    cells = _cells("sources", given.reshape(-1, 2), shape)
    if ids is None:
        return cells, np.arange(1, len(cells) + 1, dtype=np.uint32)
    numbers = np.asarray(_on_host(ids))
    if numbers.shape != (len(cells),):
        raise InputError(
            f"ids of shape {numbers.shape}: there is one for each of {len(cells)} cells"
        )
    return cells, _ids(numbers)


def _raster_sources(given: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    import numpy as np

    if given.dtype.kind not in "biuf":
        raise InputError(f"a raster of sources of type {given.dtype}: it is of numbers")
    is_source = given != 0
    if given.dtype.kind == "f":
        is_source &= ~np.isnan(given)
    cells = np.argwhere(is_source).astype(np.uint32)
    if given.dtype == bool:
        return cells, np.arange(1, len(cells) + 1, dtype=np.uint32)
    return cells, _ids(given[is_source])


def _ids(numbers: NDArray[Any]) -> NDArray[np.uint32]:
    import numpy as np

    if numbers.size and (
        numbers.dtype.kind not in "iuf"
        or not (numbers.min() >= 1 and numbers.max() < 2**32)
        or (numbers.dtype.kind == "f" and not (numbers == np.floor(numbers)).all())
    ):
        raise InputError("ids of sources are whole numbers from 1 to 4294967295")
    return numbers.astype(np.uint32)


def _cells(name: str, given: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.uint32]:
    """Cells (row, column) of a raster of that shape."""
    import numpy as np

    if given.ndim != 2 or given.shape[1] != 2 or (given.size and given.dtype.kind not in "iuf"):
        raise InputError(f"{name}: a cell is (row, column), two whole numbers")
    outside = ~((given >= 0) & (given < shape)).all(axis=1)
    if outside.any():
        row, column = given[outside][0].tolist()
        raise InputError(
            f"{name}: there is no cell at row {row}, column {column}: the raster has {shape[0]} "
            f"rows and {shape[1]} columns, counted from 0"
        )
    if given.dtype.kind == "f" and not (given == np.floor(given)).all():
        raise InputError(f"{name}: a cell is (row, column), two whole numbers")
    return np.ascontiguousarray(given, np.uint32)


def _start_costs(
    given: ArrayLike | None, cells: NDArray[np.uint32], shape: tuple[int, int]
) -> NDArray[np.float64]:
    import numpy as np

    if given is None:
        return np.zeros(len(cells))
    costs = np.asarray(_on_host(given), np.float64)
    if costs.shape == (len(cells),):
        return np.ascontiguousarray(costs)
    if costs.shape == shape:
        return costs[cells[:, 0], cells[:, 1]]
    raise InputError(
        f"start_costs of shape {costs.shape}: there is one for each of {len(cells)} sources, or a "
        f"raster of shape {shape}"
    )


def _sampling(sampling: Any, friction: Any) -> tuple[float, float]:
    """The height and the width of a cell."""
    import numpy as np

    if sampling is not None:
        sides = np.asarray(sampling)
        if sides.dtype.kind in "iuf" and sides.shape in ((), (2,)):
            height, width = np.broadcast_to(sides, 2).tolist()
            return float(height), float(width)
        raise InputError(f"sampling={sampling!r}: it is one number, or (height, width) of a cell")
    if not _is_xarray(friction):
        return 1.0, 1.0
    height, width = (_pace(friction, axis) for axis in friction.dims)
    return height or width or 1.0, width or height or 1.0


def _pace(friction: Any, axis: Any) -> float | None:
    """The distance between coordinates along an axis, if there are several."""
    import numpy as np

    if axis not in friction.coords or friction.sizes[axis] < 2:
        return None
    coordinates = np.asarray(friction.coords[axis], np.float64)
    pace = (coordinates[-1] - coordinates[0]) / (len(coordinates) - 1)
    if pace == 0 or not np.allclose(np.diff(coordinates), pace, rtol=1e-3, atol=0):
        raise InputError(
            f"the coordinates along {axis!r} are not evenly spaced: give the cell's sides as "
            "sampling"
        )
    return float(abs(pace))


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name}={value!r}: it is a number") from None


def _is_xarray(array: Any) -> bool:
    return all(hasattr(array, name) for name in ("dims", "coords", "sizes", "copy"))


def _like(given: Any, values: Any) -> Any:
    """The values, with the coordinates of an xarray.DataArray that was given."""
    if values is None or not _is_xarray(given):
        return values
    if is_on_gpu(values):
        import cupy

        values = cupy.asarray(values)
    array = given.copy(data=values)
    array.attrs.pop("_FillValue", None)
    array.attrs.pop("nodatavals", None)
    return array
