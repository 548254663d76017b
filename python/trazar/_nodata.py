"""Pixels without data in images that become binary."""

from __future__ import annotations

from typing import Any

from trazar._arrays import check_threshold, is_masked, is_on_gpu
from trazar._errors import InputError


def without_nodata(image: Any, threshold: Any, nodata: float | None) -> tuple[Any, Any]:
    """Return an image and its threshold, with pixels of the value ``nodata`` as background."""
    if nodata is None:
        return image, threshold
    if is_on_gpu(image):
        raise InputError(
            "nodata of an image on a GPU: give (image > threshold) & (image != nodata) instead"
        )
    if is_masked(image):
        raise InputError("nodata of a masked array: give array.filled(nodata)")
    import numpy as np

    given = np.asarray(nodata)
    if given.shape or given.dtype.kind not in "biuf":
        raise InputError(f"nodata={nodata!r}: it is a number, or numpy.nan")
    values = np.asarray(image)
    if values.dtype.kind not in "biuf":
        raise InputError(f"an image of {values.dtype}: nodata is a value of numbers or booleans")
    check_threshold(threshold)
    # As values are compared with a threshold: a number of Python's is rounded to the image's type.
    foreground = values != 0 if threshold is None else values > threshold
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        if np.isnan(given):
            foreground &= ~missing
        elif missing.any():
            at = np.argwhere(missing)[0].tolist()
            raise InputError(f"the value at {at} is not a number: give nodata=numpy.nan")
    if not np.isnan(given):
        foreground &= values != nodata
    return foreground, None
