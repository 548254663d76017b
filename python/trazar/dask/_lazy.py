"""Results that are not computed yet: Dask collections of one part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from dask.array.optimization import optimize
from dask.base import DaskMethodsMixin, tokenize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.threaded import get as threaded_get

_L = TypeVar("_L", bound="Lazy")


class Lazy(DaskMethodsMixin):  # type: ignore[misc]
    """The part of all rows of an image, and what becomes of it."""

    __slots__ = ("_extra", "_graph", "_key", "_layer", "_shape", "_shares")

    #: Makes the result, from the part and ``_extra``: a static method.
    _made: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        graph: Any,
        key: Any,
        layer: str,
        shape: tuple[int, int],
        shares: int,
        *extra: Any,
    ) -> None:
        self._graph = graph
        self._key = key
        self._layer = layer
        self._shape = shape
        self._shares = shares
        self._extra = extra

    def __dask_graph__(self) -> Any:
        return self._graph

    def __dask_keys__(self) -> list[Any]:
        return [self._key]

    def __dask_layers__(self) -> tuple[str, ...]:
        return (self._layer,)

    def __dask_tokenize__(self) -> Any:
        return (self._key, *self._extra)

    __dask_scheduler__ = staticmethod(threaded_get)
    __dask_optimize__ = staticmethod(optimize)

    def __dask_postcompute__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _finish, (type(self)._made, *self._extra)

    def __dask_postpersist__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._rebuilt, ()

    def _rebuilt(self: _L, graph: Any, *, rename: dict[str, str] | None = None) -> _L:
        key = self._key
        if rename:
            from dask.base import replace_name_in_key

            key = replace_name_in_key(key, rename)
        layer = self._layer
        if isinstance(graph, HighLevelGraph):
            (layer,) = [name for name in graph.layers if key in graph.layers[name]][:1] or [layer]
        else:
            layer = tokenize(key)
            graph = HighLevelGraph.from_collections(layer, dict(graph))
        return type(self)(graph, key, layer, self._shape, self._shares, *self._extra)

    def __repr__(self) -> str:
        height, width = self._shape
        return f"{type(self).__name__}({width} × {height} pixels)"

    def _counted(self) -> Any:
        """Return the number of contours or regions: a Delayed int."""
        return self._then("trazar-count", _count)

    def _then(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Return a task on the part of the whole image."""
        key = f"{name}-{tokenize(self._key, *args)}"
        tasks = {key: (function, self._key, *args)}
        return Delayed(key, HighLevelGraph.from_collections(key, tasks, dependencies=[self]))


def _finish(parts: list[Any], made: Callable[..., Any], *extra: Any) -> Any:
    """Return the result, from the part in a list."""
    return made(parts[0], *extra)


def _count(part: Any) -> Any:
    return part.count()
