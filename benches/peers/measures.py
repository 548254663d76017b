"""Measures of labels beside scikit-image's, and run lengths beside pycocotools'."""

from __future__ import annotations

import functools

import numpy as np

import trazar

from .images import touching_cells
from .task import Input, Settings, Task, equal

FOUR = ("label", "area", "bbox", "centroid")
TEN = (*FOUR, "perimeter", "eccentricity", "orientation", "euler_number", "intensity_mean")
TEN = (*TEN, "intensity_max")
#: One by one.
OTHERS = ("perimeter_crofton", "moments_hu", "area_convex", "feret_diameter_max", "area_filled")


def inputs(settings: Settings):
    from scipy import ndimage

    for side in settings.sides([1024], [256]):
        rng = np.random.default_rng(30)
        smooth = ndimage.gaussian_filter(rng.random((side, side)), 2)
        intensities = (smooth / smooth.max() * 65535).astype(np.uint16)
        yield Input("touching cells", (side, side), (touching_cells(side), intensities))


def close(ours: dict, theirs: dict) -> str | None:
    """Equal columns, to 1e-6; the orientation of what is round says nothing."""
    for name, column in ours.items():
        if name != "orientation" and not np.allclose(column, theirs[name], 1e-6, 1e-6):
            return f"other values of {name}"
    return None


def _measures(name: str, properties: tuple[str, ...]) -> Task:
    task = Task("measures", name, close)
    task.on(inputs)

    @task.program("trazar", on=("core", "cores", "gpu"))
    def ours(data, settings):
        return lambda: trazar.measure(*data, properties, device=settings.device)

    @task.program("scikit-image", needs=("skimage",))
    def skimage(data, settings):
        import skimage.measure

        return lambda: skimage.measure.regionprops_table(*data, properties)

    return task


@functools.lru_cache(1)
def stack(side: int, count: int) -> np.ndarray:
    """Masks of blobs that cover a fifth, as pycocotools has them: (H, W, N), Fortran's order."""
    from scipy import ndimage

    rng = np.random.default_rng(31)
    masks = np.zeros((side, side, count), np.uint8, order="F")
    for number in range(count):
        coarse = ndimage.gaussian_filter(rng.random((side // 8, side // 8)), 4)
        fine = ndimage.zoom(coarse, 8, order=1)
        masks[:, :, number] = fine > np.quantile(coarse, 0.8)
    return masks


def masks(settings: Settings):
    side, count = (256, 8) if settings.quick else (1024, 64)
    yield Input(f"{count} masks", (count, side, side), stack(side, count))


def _encode() -> Task:
    task = Task("measures", "COCO run lengths, encode", lambda a, b: None if a == b else "others")
    task.on(masks)

    @task.program("trazar", on=("core", "cores"))
    def ours(masks, settings):
        return lambda: trazar.rle.encode(masks)

    @task.program("pycocotools", needs=("pycocotools",))
    def coco(masks, settings):
        from pycocotools import mask

        return lambda: mask.encode(masks)

    return task


def _decode() -> Task:
    task = Task("measures", "COCO run lengths, decode", equal)
    task.on(masks)

    @task.program("trazar", on=("core", "cores"))
    def ours(masks, settings):
        rles = trazar.rle.encode(masks)
        return lambda: trazar.rle.decode(rles)

    @task.program("pycocotools", needs=("pycocotools",))
    def coco(masks, settings):
        from pycocotools import mask

        rles = mask.encode(masks)
        return lambda: mask.decode(rles)

    return task


def _iou() -> Task:
    task = Task("measures", "COCO run lengths, IoU of all pairs", equal)
    task.on(masks)

    @task.program("trazar", on=("core", "cores"))
    def ours(masks, settings):
        rles = trazar.rle.encode(masks)
        return lambda: trazar.rle.iou(rles, rles, [0] * len(rles))

    @task.program("pycocotools", needs=("pycocotools",))
    def coco(masks, settings):
        from pycocotools import mask

        rles = mask.encode(masks)
        return lambda: mask.iou(rles, rles, [0] * len(rles))

    return task


TASKS = [
    _measures("4 properties", FOUR),
    _measures("10 properties", TEN),
    *(_measures(name, (name,)) for name in OTHERS),
    _encode(),
    _decode(),
    _iou(),
]
