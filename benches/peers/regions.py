"""Regions of equal values: polygons, labels, contours of each label, simplified borders."""

from __future__ import annotations

from collections import Counter

import numpy as np

import trazar

from . import npp
from .images import smooth_classes, touching_cells
from .task import Input, Settings, Task, same_partition


def inputs(settings: Settings):
    for side in settings.sides([2048], [256]):
        yield Input("16 classes", (side, side), smooth_classes(side))
        yield Input("touching cells", (side, side), touching_cells(side))


def cells(settings: Settings):
    yield from (given for given in inputs(settings) if given.name == "touching cells")


def area(ring) -> float:
    """Twice the area that a closed ring of points encloses."""
    x, y = np.asarray(ring, float).T
    return abs(float(x[:-1] @ y[1:] - x[1:] @ y[:-1]))


def pieces(found) -> Counter:
    """How often there is a polygon of some value, area and number of holes.

    ``found`` has pairs of a polygon, as a list of rings, and its value.
    """
    return Counter(
        (float(value), area(rings[0]) - sum(map(area, rings[1:])), len(rings) - 1)
        for rings, value in found
    )


def same_pieces(ours: Counter, theirs: Counter) -> str | None:
    return None if ours == theirs else f"{sum(theirs.values())} polygons, other areas or values"


def of_geojson(found):
    return pieces((polygon["coordinates"], value) for polygon, value in found)


shapes = Task("regions", "polygons as GeoJSON", same_pieces)
shapes.on(inputs)


@shapes.program("trazar", on=("core", "cores"), convert=of_geojson)
def our_shapes(image, settings):
    return lambda: list(trazar.shapes(image))


@shapes.program("rasterio", needs=("rasterio",), convert=of_geojson)
def rasterio_shapes(image, settings):
    import rasterio.features

    return lambda: list(rasterio.features.shapes(image))


polygons = Task("regions", "polygons as arrays", same_pieces)
polygons.on(inputs)


def of_regions(regions):
    polygons = regions.polygons()
    rings = ([polygon.exterior.coords, *(ring.coords for ring in polygon.interiors)]
             for polygon in polygons)  # fmt: skip
    return pieces(zip(rings, regions.polygon_values(), strict=True))


@polygons.program("trazar", needs=("shapely",), on=("core", "cores", "gpu"), convert=of_regions)
def our_polygons(image, settings):
    return lambda: trazar.polygonize(image, device=settings.device)


@polygons.program(
    "xarray-spatial",
    needs=("xrspatial", "xarray"),
    compiles=True,
    convert=lambda found: pieces(zip(found[1], found[0], strict=True)),
)
def xarray_polygons(image, settings):
    import xarray
    from xrspatial.experimental import polygonize

    raster = xarray.DataArray(image)
    return lambda: polygonize(raster)


labels = Task("regions", "labels of equal values", same_partition)
labels.on(cells)


@labels.program("trazar", on=("core", "cores", "gpu"), convert=lambda found: found[0])
def our_labels(image, settings):
    return lambda: trazar.label_values(image, background=0, device=settings.device)


@labels.program("cc3d", needs=("cc3d",))
def cc3d_labels(image, settings):
    import cc3d

    return lambda: cc3d.connected_components(image, connectivity=4)


@labels.program("scikit-image", needs=("skimage",))
def skimage_labels(image, settings):
    import skimage.measure

    return lambda: skimage.measure.label(image, background=0, connectivity=1)


@labels.program("NPP", missing=npp.missing, on=("gpu",), convert=npp.foreground)
def npp_labels(image, settings):
    """It labels the background's regions, too, and its numbers have gaps."""
    return npp.call(image.astype(np.uint32), 4)


def same_contours(ours, theirs):
    """The same contours of each label."""
    if ours.keys() != theirs.keys():
        return "other labels"
    for label, contours in ours.items():
        same_number = len(contours) == len(theirs[label])
        if not same_number or not all(map(np.array_equal, contours, theirs[label])):
            return f"other contours of label {label}"
    return None


by_label = Task("regions", "contours of each label", same_contours)
by_label.on(cells)
EXTERNAL = (trazar.RETR_EXTERNAL, trazar.CHAIN_APPROX_SIMPLE)


def without_hierarchies(found):
    return {label: contours for label, (contours, _) in found.items()}


@by_label.program("trazar", on=("core", "cores"), convert=without_hierarchies)
def our_contours(image, settings):
    return lambda: trazar.find_contours_by_label(image, *EXTERNAL, device=settings.device)


@by_label.program("OpenCV", needs=("cv2", "scipy"))
def opencv_crops(image, settings):
    """Of the crop of each label's box, which SciPy finds: much faster than of whole images."""
    import cv2
    from scipy import ndimage

    def crops():
        found = {}
        for label, box in enumerate(ndimage.find_objects(image), 1):
            if box is not None:
                crop = (image[box] == label).view(np.uint8)
                offset = (box[1].start, box[0].start)
                found[label] = cv2.findContours(crop, *EXTERNAL, offset=offset)[0]
        return found

    return crops


def similar_corners(ours: int, theirs: int) -> str | None:
    """As many corners, to 5 %: the tolerance is an area here and its root there."""
    return None if abs(theirs - ours) <= 0.05 * ours else f"{theirs} corners, ours are {ours}"


simplified = Task("regions", "borders simplified, shared", similar_corners)
simplified.on(inputs)


def our_corners(regions) -> int:
    # Its rings are not closed.
    return len(regions.points) + len(regions.offsets) - 1


@simplified.program("trazar", on=("core", "cores"), convert=our_corners)
def our_simplified(image, settings):
    regions = trazar.polygonize(image, device=settings.device)
    return lambda: regions.simplify(2.0, "visvalingam")


def corners(polygons) -> int:
    import shapely

    return int(shapely.get_num_coordinates(polygons).sum())


@simplified.program("shapely", needs=("shapely",), convert=corners)
def shapely_simplified(image, settings):
    import shapely

    # With all junctions as vertices, which GEOS needs.
    polygons = trazar.polygonize(image, device="cpu").simplify(0).polygons()
    return lambda: shapely.coverage_simplify(polygons, 2.0**0.5)


TASKS = [shapes, polygons, labels, by_label, simplified]
