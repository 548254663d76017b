"""The result of tracing several images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, overload

from trazar import _trazar
from trazar._contours import Contours, _counted

if TYPE_CHECKING:
    from typing import SupportsIndex

    import numpy as np
    from numpy.typing import NDArray


class ContourBatch(Sequence[Contours]):
    """The contours of N images of one size: what :func:`trace_batch` returns.

    A sequence of N :class:`Contours`, on the host: of images on a GPU, the first access copies all
    contours, and waits for them.

    ``points``, ``offsets``, ``kinds`` and ``hierarchy`` are the arrays of :class:`Contours` for all
    images, one image after the other. Image ``i`` has the contours from ``image_offsets[i]`` to
    before ``image_offsets[i + 1]``. Of images on a GPU they are :class:`trazar.DeviceArray` there,
    and nothing is copied. On the host they are NumPy's, read-only, and put together at the first
    access, a copy of 8 bytes per point and 25 per contour.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> batch = trazar.trace_batch(np.stack([np.eye(2), np.diag([1, 0]), np.zeros((2, 2))]))
    >>> batch, [len(contours) for contours in batch]
    (ContourBatch(3 images, 2 contours, cpu), [1, 1, 0])
    >>> batch.image_offsets.tolist(), batch.points.tolist()
    ([0, 1, 2, 2], [[0, 0], [1, 1], [0, 0]])
    """

    def __init__(self, raw: _trazar.DeviceContours | list[_trazar.HostContours]) -> None:
        self._raw = raw
        self._images = [Contours(each) for each in raw] if isinstance(raw, list) else None
        self._joined: dict[str, NDArray[Any]] = {}

    def _on_host(self) -> list[Contours]:
        if self._images is None:
            assert not isinstance(self._raw, list)
            self._images = [Contours(each) for each in self._raw.images()]
        return self._images

    def __reduce__(self) -> tuple[type[ContourBatch], tuple[list[_trazar.HostContours]]]:
        # Pickled, they come back on the host.
        return ContourBatch, ([each._on_host() for each in self._on_host()],)

    def _array(self, name: str) -> NDArray[Any]:
        """Return one of the arrays of all images."""
        if not isinstance(self._raw, list):
            array: NDArray[Any] = getattr(self._raw, name)
            return array
        if name not in self._joined:
            import numpy as np

            # An image without contours, so that a batch of no images has the right types.
            none = _trazar.trace([[0]], False, "tree", "simple", "centers", None, None, "cpu")
            arrays = [getattr(each, name) for each in (*self._raw, *none)]
            if name == "offsets":
                ends = np.cumsum([0, *(array[-1] for array in arrays[:-1])], dtype=np.intp)
                arrays = [array[:-1] + end for array, end in zip(arrays, ends)]
                arrays.append(ends[-1:])
            joined = np.concatenate(arrays)
            joined.flags.writeable = False
            self._joined[name] = joined
        return self._joined[name]

    @property
    def device(self) -> str:
        """Where the arrays lie: ``"cpu"``, or ``"cuda:0"`` and so on.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace_batch([[[1]]]).device
        'cpu'
        """
        return "cpu" if isinstance(self._raw, list) else self._raw.device

    @property
    def points(self) -> NDArray[np.int32]:
        """The points (x, y) of all images' contours: int32 of shape (P, 2), in pixels.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace_batch([[[0, 1, 1]], [[1, 0, 0]]]).points.tolist()
        [[1, 0], [2, 0], [0, 0]]
        """
        return self._array("points")

    @property
    def offsets(self) -> NDArray[np.intp]:
        """Where each contour's points begin in ``points``, and the number of points.

        Of shape (C + 1,) for C contours; intp on the host, int32 on a GPU.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace_batch([[[0, 1, 1]], [[1, 0, 0]]]).offsets.tolist()
        [0, 2, 3]
        """
        return self._array("offsets")

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """Each contour's kind: uint8 of shape (C,), 0 for an outer border, 1 for a hole's.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace_batch([[[1]], [[1]]]).kinds.tolist()
        [0, 0]
        """
        return self._array("kinds")

    @property
    def hierarchy(self) -> NDArray[np.int32]:
        """Each contour's next, previous, first child and parent: int32 of shape (C, 4).

        They count contours from the first one of their image; -1 stands for none.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace_batch([[[1, 0, 1]], [[1, 0, 0]]]).hierarchy.tolist()
        [[1, -1, -1, -1], [-1, 0, -1, -1], [-1, -1, -1, -1]]
        """
        return self._array("hierarchy")

    @property
    def image_offsets(self) -> NDArray[np.intp]:
        """Where each image's contours begin, and the number of all: intp of shape (N + 1,).

        On the host, also of images on a GPU.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace_batch([[[1, 0, 1]], [[1, 0, 0]]]).image_offsets.tolist()
        [0, 2, 3]
        """
        import numpy as np

        if isinstance(self._raw, list):
            return np.cumsum([0, *map(len, self._raw)], dtype=np.intp)
        return np.array(self._raw.image_offsets, np.intp)

    def to_host(self) -> ContourBatch:
        """Copy contours on a GPU to the host, and wait for them; on the host, return them.

        Examples
        --------
        >>> import trazar
        >>> trazar.trace_batch([[[1]]]).to_host().device
        'cpu'
        """
        if isinstance(self._raw, list):
            return self
        return ContourBatch([each._on_host() for each in self._on_host()])

    def __len__(self) -> int:
        if isinstance(self._raw, list):
            return len(self._raw)
        return len(self._raw.image_offsets) - 1

    @overload
    def __getitem__(self, index: SupportsIndex) -> Contours: ...
    @overload
    def __getitem__(self, index: slice) -> list[Contours]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Contours | list[Contours]:
        return self._on_host()[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContourBatch):
            return NotImplemented
        return self is other or self._on_host() == other._on_host()

    # Equal contours may lie in different memory, which a dict should not have to compare.
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        images, contours = len(self), int(self.image_offsets[-1])
        return (
            f"ContourBatch({_counted(images, 'image')}, {_counted(contours, 'contour')}, "
            f"{self.device})"
        )
