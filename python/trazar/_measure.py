"""Measures of the labels of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trazar import _trazar
from trazar._arrays import check_device, is_masked, is_on_gpu
from trazar._errors import InputError
from trazar._progress import reporting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trazar._arrays import Device
    from trazar._progress import Progress

# The names of scikit-image before version 0.26.
_OLD_NAMES = {
    "bbox_area": "area_bbox",
    "convex_area": "area_convex",
    "equivalent_diameter": "equivalent_diameter_area",
    "filled_area": "area_filled",
    "local_centroid": "centroid_local",
    "major_axis_length": "axis_major_length",
    "max_intensity": "intensity_max",
    "mean_intensity": "intensity_mean",
    "min_intensity": "intensity_min",
    "minor_axis_length": "axis_minor_length",
    "std_intensity": "intensity_std",
    "weighted_centroid": "centroid_weighted",
    "weighted_local_centroid": "centroid_weighted_local",
    "weighted_moments": "moments_weighted",
    "weighted_moments_central": "moments_weighted_central",
    "weighted_moments_hu": "moments_weighted_hu",
    "weighted_moments_normalized": "moments_weighted_normalized",
}


def measure(
    label_image: Any,
    intensity_image: Any = None,
    properties: Iterable[str] = ("label", "bbox"),
    *,
    separator: str = "-",
    spacing: float | Sequence[float] | None = None,
    progress: Progress | None = None,
    device: Device = "auto",
    on_device: bool = False,
) -> dict[str, Any]:
    """Measure the labels of an image, as ``skimage.measure.regionprops_table`` does.

    Parameters
    ----------
    label_image : array of shape (H, W)
        Integers, of any strides. Each positive value is a label, and all of its pixels are one
        object, connected or not; 0 and negative values are background. Values may be large and
        have gaps.
    intensity_image : array of shape (H, W) or (H, W, C), optional
        Booleans or real numbers. With a last axis of C channels, each property of intensities has
        columns for each channel. Nothing may write to it, or to the labels, during the call.
    properties : iterable of str
        Names of properties, as scikit-image names them: see the notes.
    separator : str
        What comes between a property's name and an index in a column's name.
    spacing : float or pair of floats, optional
        The distances between rows and between columns, by default 1.
    progress : callable, optional
        As for :func:`find_contours`.
    device : {"auto", "cpu", "cuda", "emulator"}
        What works on them; "auto" is the processor. Labels of PyTorch or CuPy on a GPU are measured
        there, with intensities there, which have a type that the library reads: booleans, uint8 to
        uint32, int16 to int64, float32, or float64.
    on_device : bool
        Leave the columns of labels on a GPU there, as :class:`DeviceArray`, which CuPy and PyTorch
        take without a copy.

    Returns
    -------
    dict
        A column for each property, or for each number of a property with several, in the order of
        ``properties``: an array of int64 or float64, with one element per label, in the order of
        the labels.

    Raises
    ------
    InputError
        For arrays of other shapes or types, for an unknown property, and for one that needs an
        intensity image or another spacing.
    OutOfMemoryError

    See Also
    --------
    label_stats : areas, boxes and centroids of a binary image's components.

    Notes
    -----
    Of pixels: ``label``, ``num_pixels``, ``area``, ``bbox``, ``area_bbox``, ``extent``,
    ``equivalent_diameter_area``, ``centroid``, ``centroid_local``, ``moments``,
    ``moments_central``, ``moments_normalized``, ``moments_hu``, ``inertia_tensor``,
    ``inertia_tensor_eigvals``, ``axis_major_length``, ``axis_minor_length``, ``eccentricity``,
    ``orientation``. Of outlines: ``perimeter``, ``perimeter_crofton``, ``euler_number``,
    ``euler_number_4`` (with pixels connected at their sides only), ``area_convex``, ``solidity``,
    ``feret_diameter_max``, ``area_filled``. Of intensities: ``intensity_min``, ``intensity_max``,
    ``intensity_mean``, ``intensity_std``, ``centroid_weighted``, ``centroid_weighted_local``,
    ``moments_weighted``, ``moments_weighted_central``, ``moments_weighted_normalized``,
    ``moments_weighted_hu``. Names of older versions of scikit-image are understood too.

    Numbers are those of scikit-image 0.26, integers exactly, others up to rounding. Intensities of
    float32 are summed up in double precision, where NumPy uses single precision.

    Examples
    --------
    >>> import numpy as np, trazar
    >>> labels = np.array([[7, 7, 0], [0, 7, 5]])
    >>> table = trazar.measure(labels, properties=("label", "area", "centroid"))
    >>> table["label"], table["area"]
    (array([5, 7]), array([1., 3.]))
    >>> table["centroid-1"]
    array([2.        , 0.66666667])
    >>> intensities = np.array([[1, 2, 9], [9, 6, 4]], np.uint8)
    >>> trazar.measure(labels, intensities, ("intensity_mean",))
    {'intensity_mean': array([4., 3.])}
    """
    import numpy as np

    asked, names = _names(properties)
    distances = _spacing(spacing)
    if is_on_gpu(label_image):
        check_device(device)
        channels, is_multichannel = _channels_on_gpu(intensity_image)

        def measured(channel: Any, wanted: list[str]) -> list[tuple[str, Any]]:
            return _trazar.device_measure(label_image, channel, wanted, distances, on_device)

    elif on_device:
        raise InputError(
            "on_device=True, and label_image in the host's memory: give labels on a GPU, such as "
            "cupy.asarray(labels)"
        )
    else:
        labels = _labels(label_image)
        channels, is_multichannel = _channels(intensity_image, labels.shape)
        if labels.size == 0:
            # The library has no images without pixels: one pixel of background has no labels
            # either.
            labels = np.zeros((1, 1), np.uint8)
            channels = [np.zeros((1, 1), np.uint8) for _ in channels]

        def measured(channel: Any, wanted: list[str]) -> list[tuple[str, Any]]:
            return _trazar.measure(labels, channel, wanted, distances, device)

    of_intensities = [name for name in names if _is_of_intensities(name)]
    tables: list[_Table] = []
    inputs = channels if of_intensities else channels[:1]
    for index, channel in enumerate(inputs or [None]):
        with reporting(progress, index, max(len(inputs), 1)):
            tables.append(_tabulated(measured(channel, of_intensities if tables else names)))
    return _assembled(asked, names, tables, is_multichannel, separator)


_Table = dict[str, list[tuple[tuple[int, ...], Any]]]


def _names(properties: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the properties as they were asked for, and by their new names."""
    if isinstance(properties, str):
        raise InputError(
            f"properties={properties!r}: it is a sequence of names, such as ({properties!r},)"
        )
    asked = [str(name) for name in properties]
    return asked, [_OLD_NAMES.get(name, name) for name in asked]


def _assembled(
    asked: list[str],
    names: list[str],
    tables: list[_Table],
    is_multichannel: bool,
    separator: str,
) -> dict[str, Any]:
    """Return the columns of the tables of each channel, by the names that were asked for."""
    columns = {}
    for given, name in zip(asked, names, strict=True):
        each = tables if is_multichannel and _is_of_intensities(name) else tables[:1]
        for indices, _ in each[0][name]:
            for channel, table in enumerate(each):
                index = (*indices, channel) if each is tables and is_multichannel else indices
                key = separator.join(map(str, (given, *index)))
                columns[key] = dict(table[name])[indices]
    return columns


def _tabulated(columns: list[tuple[str, Any]]) -> _Table:
    """Return each property's columns with their indices."""
    table: _Table = {}
    for column, values in columns:
        name, *indices = column.split("-")
        table.setdefault(name, []).append((tuple(map(int, indices)), values))
    return table


def _is_of_intensities(name: str) -> bool:
    return name.startswith(("intensity_", "centroid_weighted", "moments_weighted"))


def _labels(given: Any) -> Any:
    """Return the label image as an array of a type that the library reads."""
    import numpy as np

    labels = _on_host(given, "label_image")
    if labels.ndim != 2:
        raise InputError(f"label_image of shape {labels.shape}: it has 2 dimensions, (H, W)")
    if labels.dtype.kind == "b":
        raise InputError(
            "label_image of booleans: label its components first, or give "
            "label_image.astype('uint8') to measure all of its pixels as one object"
        )
    if labels.dtype.kind not in "iu":
        raise InputError(f"label_image of {labels.dtype}: labels are integers")
    size = labels.dtype.itemsize
    if size == 1 and labels.dtype.kind == "i":
        return labels.astype(np.int16)
    if size == 8 and labels.dtype.kind == "u":
        if labels.size and labels.max() > np.iinfo(np.int64).max:
            raise InputError(
                f"a label of {labels.max()}: labels are at most {np.iinfo(np.int64).max}"
            )
        return labels.astype(np.int64)
    return labels


def _channels_on_gpu(given: Any) -> tuple[list[Any], bool]:
    """Return the channels of an intensity image on a GPU, and whether it has an axis for them."""
    if given is None:
        return [], False
    if not is_on_gpu(given):
        raise InputError(
            "intensity_image in the host's memory, and the labels on a GPU: give both in one place"
        )
    shape = tuple(getattr(given, "shape", ()))
    if len(shape) > 3:
        raise InputError(
            f"intensity_image of shape {shape}: it has that of the labels, or one axis more for "
            "channels"
        )
    if len(shape) < 3:
        return [given], False
    if shape[2] == 0:
        raise InputError(f"intensity_image of shape {shape}: it has no channels")
    return [given[:, :, channel] for channel in range(shape[2])], True


def _channels(given: Any, shape: tuple[int, ...]) -> tuple[list[Any], bool]:
    """Return the channels of the intensity image, and whether it has an axis for them."""
    import numpy as np

    if given is None:
        return [], False
    image = _on_host(given, "intensity_image")
    if image.ndim not in (2, 3) or image.shape[:2] != shape:
        raise InputError(
            f"intensity_image of shape {image.shape}: it has that of the labels, {shape}, or one "
            "axis more for channels"
        )
    kind, size = image.dtype.kind, image.dtype.itemsize
    if kind not in "biuf":
        raise InputError(f"intensity_image of {image.dtype}: intensities are real numbers")
    if kind == "b":
        image = image.view(np.uint8)
    elif kind == "i" and size == 1:
        image = image.astype(np.int16)
    elif kind == "f" and size == 2:
        image = image.astype(np.float32)
    elif (kind == "u" and size == 8) or size > 8:
        image = image.astype(np.float64)
    if image.ndim == 2:
        return [image], False
    if image.shape[2] == 0:
        raise InputError(f"intensity_image of shape {image.shape}: it has no channels")
    return [image[:, :, channel] for channel in range(image.shape[2])], True


def _on_host(given: Any, name: str) -> Any:
    import numpy as np

    if is_on_gpu(given):
        raise InputError(f"{name} on a GPU, and the labels not: give both in one place")
    if is_masked(given):
        raise InputError(f"{name} is a masked array: give {name}.filled(0), say")
    return np.asarray(given)


def _spacing(given: float | Sequence[float] | None) -> tuple[float, float]:
    import numpy as np

    if given is None:
        return 1.0, 1.0
    try:
        distances = np.asarray(given, float)
    except (TypeError, ValueError):
        distances = np.zeros(3)
    if distances.shape not in ((), (2,)):
        raise InputError(
            f"spacing={given!r}: it is one number, or one for rows and one for columns"
        )
    rows, columns = np.broadcast_to(distances, 2).tolist()
    return rows, columns
