"""Reads what `trazar` writes with other people's programs, and compares it with the pixels.

    python .ci/check_outputs.py PATH/TO/trazar [IMAGE ...]

Needs the packages of requirements.txt. It makes its own images, from fixed seeds; images named
on the command line (8-bit, foreground above 127) are checked as well. For each image:

- GDSII: KLayout reads it; there are as many polygons as 4-connected components as long as none
  has more vertices than a GDSII boundary holds; no polygon has more than that; the polygons
  together have the pixel count as their area before they are merged (so none overlap) and
  after; and the merged region is the image, rectangle by rectangle.
- GeoJSON along edges: shapely finds every polygon valid; their areas add up to the pixel count;
  rings are wound as RFC 7946 asks; rasterised, they are the image. Along centers: every feature
  is a geometry that shapely takes, one for each outer border.
- SVG: well-formed XML; its subpaths, parsed here, are the JSON's contours.
- PNG overlay: OpenCV reads it, and every contour point's pixel has a contour's colour.
- Labels (.npy, .png) and statistics (.csv): NumPy and SciPy agree, for both connectivities.
- Images: every input format and sample type of one picture gives the same contours.

For each of some rasters of values, of several types, transforms and coordinate systems:

- `trace` and `polygonize` to GeoJSON, and `polygonize` to FlatGeobuf: GDAL (pyogrio) reads them
  with their CRS; polygons and values are those of GDAL's polygonize (`rasterio.features.shapes`),
  as sets, with 4 and 8 neighbours; with 4, shapely finds them valid; areas are pixel counts.
- GeoJSON lines, text sequence and SVG hold the same polygons; regions below `--min-area` are
  missing; KLayout finds each value's pixels on the GDSII layer of the value.

And for each of some random grids, from text and from NumPy arrays:

- JSON: the wires are a tree over the cells that are listed, and it joins the pins; each connection
  costs what its wires weigh, and is the shortest that SciPy's Dijkstra finds from the tree before
  it to any pin; the pins that are left out are those that SciPy finds in other components.
- The text has the JSON's cells, the SVG its wires, and OpenCV finds them in the PNG.

Prints one line per image or grid, and exits with 1 at the first difference.

At last, each comparison is shown to fail: what the command has written is altered before it is
read, in every way that a comparison is there for (a polygon moved, a pixel recoloured, a cost that
is one too high), and that comparison must say so. Exits with 1 if an alteration goes unnoticed, or
if some comparison was shown to fail by none.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import cv2
import klayout.db as kdb
import numpy as np
import pyogrio
import rasterio
import rasterio.features
import scipy.ndimage
import scipy.sparse
import scipy.sparse.csgraph
import shapely
import shapely.geometry

# The default, which all readers of GDSII take.
MAX_VERTICES = 4094
EIGHT = np.ones((3, 3), int)
# Some rasters have no transform on purpose.
warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)


class Difference(Exception):
    """What is written is not what is there."""


# The comparisons, as lines of this file: all that were made, and those that have failed.
made, failed = set(), set()


def expect(condition, message):
    line = sys._getframe(1).f_lineno
    made.add(line)
    if not condition:
        failed.add(line)
        raise Difference(message)


def images():
    """(name, bool array) pairs, from fixed seeds."""
    rng = np.random.default_rng(20)
    for side in (1, 2, 3, 7, 64, 65):
        for density in (0.1, 0.5, 0.6, 0.9):
            yield f"noise-{side}-{density}", rng.random((side, side + 1)) < density
    for width, height in ((300, 200), (129, 257)):
        coarse = rng.random((height // 6, width // 6)).astype(np.float32)
        smooth = cv2.resize(cv2.GaussianBlur(coarse, (0, 0), 1.2), (width, height),
                            interpolation=cv2.INTER_CUBIC)
        yield f"blobs-{width}x{height}", smooth > np.median(smooth)
    yield "empty", np.zeros((5, 9), bool)
    yield "full", np.ones((5, 9), bool)
    yy, xx = np.mgrid[:63, :63]
    yield "checkerboard", (xx + yy) % 2 == 0
    yield "rings", np.maximum(abs(xx - 31), abs(yy - 31)) % 2 == 0
    # Polygons that have to be divided: with many holes, and with one long border.
    yield "lattice", (np.arange(161)[:, None] % 2 == 0) | (np.arange(161)[None, :] % 2 == 0)
    yield "dense", rng.random((400, 400)) < 0.8
    comb = np.ones((50, 20001), bool)
    comb[:25, 1::2] = False
    yield "comb", comb


# What becomes of what trazar writes before it is read, where a difference is planted: for an
# extension, a function of the file and the arguments; for `-`, of standard output and them.
alterations = {}


def run(trazar, *arguments):
    arguments = [str(argument) for argument in arguments]
    result = subprocess.run([trazar, *arguments], capture_output=True, text=True)
    expect(result.returncode == 0, f"{arguments}: status {result.returncode}: {result.stderr}")
    for option, value in zip(arguments, arguments[1:]):
        if option in ("-o", "--stats") and Path(value).suffix in alterations:
            alterations[Path(value).suffix](Path(value), arguments)
    if "-" in alterations:
        return alterations["-"](result.stdout, arguments)
    return result.stdout


def check_gds(trazar, source, mask, folder):
    path = folder / "out.gds"
    for pixel in (1, 5):
        run(trazar, "trace", source, "-o", path, "--pixel-size", pixel, "--layer", 7, "--quiet")
        layout = kdb.Layout()
        layout.read(str(path))
        expect(abs(layout.dbu - 1e-3) < 1e-12, f"database unit {layout.dbu} um")
        expect([(l.layer, l.datatype) for l in layout.layer_infos()] in ([(7, 0)], []), "layers")
        region = kdb.Region()
        polygons = []
        if layout.layers():
            shapes = layout.top_cell().shapes(layout.layer(7, 0))
            polygons = [shape.polygon for shape in shapes.each()]
            region = kdb.Region(shapes)
        area = int(mask.sum()) * pixel * pixel
        before = sum(polygon.area() for polygon in polygons)
        expect(before == area, f"GDS area {before} before merging, {area} pixels")
        most = max((polygon.num_points() for polygon in polygons), default=0)
        expect(most <= MAX_VERTICES, f"a boundary of {most} vertices")
        components = scipy.ndimage.label(mask)[1]
        divided = len(polygons) > components
        expect(len(polygons) >= components, f"{len(polygons)} polygons, {components} components")
        region.merge()
        expect(region.area() == area, f"GDS area {region.area()} after merging, {area} pixels")
        pixels = pixel_region(mask, pixel)
        expect((pixels ^ region).is_empty(), "the GDS is another picture")
    return "divided" if divided else f"{len(polygons)} polygons"


def check_geojson(trazar, source, mask, folder):
    path = folder / "out.geojson"
    run(trazar, "trace", source, "-o", path, "--geometry", "edges", "--quiet")
    features = json.loads(path.read_text())["features"]
    canvas = np.zeros(mask.shape, bool)
    area = 0
    for feature in features:
        polygon = shapely.geometry.shape(feature["geometry"])
        expect(polygon.geom_type == "Polygon" and polygon.is_valid, "an invalid polygon")
        expect(polygon.exterior.is_ccw, "an exterior ring is wound clockwise")
        expect(not any(ring.is_ccw for ring in polygon.interiors), "a hole is counter-clockwise")
        expect(polygon.area == feature["properties"]["area"], "the property area")
        expect(feature["properties"]["kind"] == "outer", "the property kind")
        area += polygon.area
        # Vertical edges toggle everything right of them.
        for ring in (polygon.exterior, *polygon.interiors):
            points = np.asarray(ring.coords, int)
            for (x0, y0), (x1, y1) in zip(points[:-1], points[1:]):
                if x0 == x1 and x0 < mask.shape[1]:
                    canvas[min(y0, y1):max(y0, y1), x0] ^= True
    expect(area == mask.sum(), f"GeoJSON area {area}, {mask.sum()} pixels")
    expect((np.logical_xor.accumulate(canvas, axis=1) == mask).all(), "GeoJSON: another picture")

    run(trazar, "trace", source, "-o", path, "--quiet")
    features = json.loads(path.read_text())["features"]
    outer = sum(feature["properties"]["kind"] == "outer" for feature in features)
    components = scipy.ndimage.label(mask, EIGHT)[1]
    expect(outer == components, f"{outer} outer features, {components} components")
    for feature in features:
        shape = shapely.geometry.shape(feature["geometry"])
        expect(shape.geom_type in ("Point", "LineString", "Polygon"), shape.geom_type)
        expect(abs(shape.area - feature["properties"]["area"]) < 1e-6, "the property area")


def subpaths(data):
    """The points of each subpath of SVG path data with the commands M, h, v, l, z."""
    for text in data.split("z")[:-1]:
        points = []
        for command, numbers in re.findall(r"([Mhvl])([^Mhvl]*)", text):
            values = [int(number) for number in re.findall(r"-?\d+", numbers)]
            if command == "M":
                points = [tuple(values)]
            elif command == "l":
                for dx, dy in zip(values[::2], values[1::2]):
                    points.append((points[-1][0] + dx, points[-1][1] + dy))
            else:
                for step in values:
                    x, y = points[-1]
                    points.append((x + step, y) if command == "h" else (x, y + step))
        yield points


def check_svg(trazar, source, mask, folder):
    for options in ([], ["--geometry", "edges"], ["--approximation", "tc89-kcos"],
                    ["--retrieval", "list"]):
        run(trazar, "trace", source, "-o", folder / "out.svg", "--quiet", *options)
        run(trazar, "trace", source, "-o", folder / "out.json", "--quiet", *options)
        root = ElementTree.parse(folder / "out.svg").getroot()
        height, width = mask.shape
        expect(root.get("viewBox") == f"0 0 {width} {height}", "the SVG's viewBox")
        drawn = [points for path in root.iter("{http://www.w3.org/2000/svg}path")
                 for points in subpaths(path.get("d"))]
        contours = json.loads((folder / "out.json").read_text())["contours"]
        contours = [[tuple(point) for point in contour] for contour in contours]
        expect(sorted(drawn) == sorted(contours), f"SVG and JSON differ, {options}")


def check_overlay(trazar, source, mask, folder):
    run(trazar, "trace", source, "-o", folder / "out.png", "--approximation", "none", "--quiet")
    run(trazar, "trace", source, "-o", folder / "out.json", "--approximation", "none", "--quiet")
    picture = cv2.imread(str(folder / "out.png"))
    scale = picture.shape[0] // mask.shape[0]
    expect(picture.shape == (mask.shape[0] * scale, mask.shape[1] * scale, 3), "overlay's size")
    colourful = np.ptp(picture.astype(int), axis=2) > 60
    drawn = colourful.reshape(mask.shape[0], scale, mask.shape[1], scale).any(axis=(1, 3))
    contours = json.loads((folder / "out.json").read_text())["contours"]
    expected = np.zeros(mask.shape, bool)
    for contour in contours:
        for x, y in contour:
            expected[y, x] = True
    # A line between diagonal neighbours may also touch the two pixels beside it.
    expect(drawn[expected].all(), "a contour's pixel is not drawn")
    near = scipy.ndimage.binary_dilation(expected, EIGHT)
    expect(not drawn[~near].any(), "something is drawn where no contour is")


def check_labels(trazar, source, mask, folder):
    for connectivity, structure in ((4, None), (8, EIGHT)):
        run(trazar, "label", source, "-o", folder / "out.npy", "--stats", folder / "out.csv",
            "--connectivity", connectivity, "--quiet")
        labels = np.load(folder / "out.npy")
        expected, count = scipy.ndimage.label(mask, structure)
        expect(labels.dtype == np.uint32 and labels.shape == mask.shape, "the labels' type")
        expect((labels == expected).all(), f"labels differ, {connectivity}-connected")
        with open(folder / "out.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        expect([int(row["label"]) for row in rows] == list(range(1, count + 1)), "CSV labels")
        index = range(1, count + 1)
        areas = np.bincount(expected.ravel(), minlength=count + 1)[1:]
        expect([int(row["area"]) for row in rows] == areas.tolist(), "CSV areas")
        boxes = [(x.start, y.start, x.stop - 1, y.stop - 1)
                 for y, x in scipy.ndimage.find_objects(expected)]
        found = [tuple(int(row[key]) for key in ("x_min", "y_min", "x_max", "y_max"))
                 for row in rows]
        expect(found == boxes, "CSV bounding boxes")
        centers = scipy.ndimage.center_of_mass(mask, expected, index) if count else []
        for row, (y, x) in zip(rows, centers):
            expect(abs(float(row["centroid_x"]) - x) + abs(float(row["centroid_y"]) - y) < 1e-6,
                   "CSV centroids")
    run(trazar, "label", source, "-o", folder / "out.png", "--connectivity", 8, "--quiet")
    picture = cv2.imread(str(folder / "out.png")).astype(int)
    packed = picture @ [1, 256, 65536]
    expect(((packed == 0) == ~mask).all(), "the labels' picture: background is black")
    first = range(1, min(count, 50) + 1)
    colours = [set(packed[expected == label].tolist()) for label in first]
    expect(all(len(colour) == 1 for colour in colours), "a component of several colours")
    expect(len(set.union(set(), *colours)) == len(first), "components of the same colour")


def check_inputs(trazar, folder):
    """One picture in every format that can hold it gives the same contours."""
    rng = np.random.default_rng(21)
    mask = rng.random((37, 71)) < 0.5
    grey = np.where(mask, rng.integers(128, 256, mask.shape), rng.integers(0, 128, mask.shape))
    grey = grey.astype(np.uint8)
    wide = grey.astype(np.uint16) * 257
    real = grey / 255
    bits = mask.astype(np.uint8) * 255
    written = []

    def image(name, array, parameters=()):
        path = folder / name
        if not cv2.imwrite(str(path), array, list(parameters)):
            sys.exit(f"OpenCV cannot write {name}")
        written.append(path)

    def array(name, values):
        np.save(folder / name, values)
        written.append(folder / name)

    for extension in ("png", "pgm", "bmp", "tiff"):
        image(f"u8.{extension}", grey)
        if extension != "pgm":
            image(f"rgb.{extension}", cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR))
    for extension in ("png", "pgm", "tiff"):
        image(f"u16.{extension}", wide)
    image("rgba.png", cv2.cvtColor(grey, cv2.COLOR_GRAY2BGRA))
    image("bits.png", bits, (cv2.IMWRITE_PNG_BILEVEL, 1))
    image("bits.pbm", bits)
    image("f32.tiff", real.astype(np.float32))
    image("f64.tiff", real)
    for extension, compression in (("lzw", 5), ("deflate", 8), ("packbits", 32773)):
        image(f"{extension}.tiff", grey, (cv2.IMWRITE_TIFF_COMPRESSION, compression))
    for name, values in (("bool", mask), ("u8", grey), ("u16", wide),
                         ("f32", real.astype(np.float32)), ("f64", real)):
        array(f"{name}.npy", values)
        array(f"{name}-fortran.npy", np.asfortranarray(values))
        array(f"{name}-big.npy", values.astype(values.dtype.newbyteorder(">")))
        array(f"{name}-both.npy", np.asfortranarray(values.astype(values.dtype.newbyteorder(">"))))

    contours, hierarchy = cv2.findContours(mask.astype(np.uint8), cv2.RETR_TREE,
                                           cv2.CHAIN_APPROX_SIMPLE)
    expected = [contour[:, 0].tolist() for contour in contours]
    for path in written:
        found = json.loads(run(trazar, "trace", path, "-o", "-", "--format", "json"))
        expect(found["contours"] == expected, f"{path.name}: other contours")
        expect(found["hierarchy"] == hierarchy[0].tolist(), f"{path.name}: another hierarchy")
    return len(written)


def rasters():
    """(name, values, no-data value, transform, EPSG code) of rasters, from fixed seeds."""
    rng = np.random.default_rng(22)
    north_up = rasterio.Affine(30, 0, 500000, 0, -30, 4600000)
    turned = rasterio.Affine(0.5, 0.25, -3, 0.125, 2, 7)

    def smooth(width, height, classes):
        coarse = cv2.GaussianBlur(rng.random((height // 5, width // 5)), (0, 0), 1)
        values = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
        return np.digitize(values, np.quantile(values, np.linspace(0, 1, classes + 1)[1:-1]))

    yield "classes", smooth(300, 200, 9).astype(np.uint8), 2, north_up, 32633
    yield "labels", smooth(129, 257, 40).astype(np.uint16) * 900, 0, north_up, 25832
    yield "heights", smooth(70, 90, 7).astype(np.int16) - 3, -3, turned, 4326
    large = smooth(90, 70, 5).astype(np.int32) * 400_000_000 - 800_000_000
    yield "large", large, None, turned, None
    real = np.round(smooth(80, 60, 6) * 0.1, 1).astype(np.float32)
    real[5:9, 3:30] = np.nan
    yield "floats", real, np.nan, north_up, 3857
    noise = rng.integers(0, 3, (61, 67)).astype(np.uint8)
    yield "noise", noise, None, None, None
    yield "noise with no data", noise, 1, rasterio.Affine(1, 0, 0, 0, 1, 0), 3857
    yield "one", np.array([[7]], np.uint8), None, north_up, 32633
    yield "row", rng.integers(0, 2, (1, 99)).astype(np.uint8), None, north_up, 32633
    yield "no data", np.full((3, 4), 5, np.uint8), 5, north_up, 32633


def write_raster(path, values, no_data, transform, epsg):
    height, width = values.shape
    how = {} if min(width, height) < 64 else {
        "tiled": True, "blockxsize": 32, "blockysize": 48, "compress": "deflate"}
    with rasterio.open(path, "w", driver="GTiff", width=width, height=height, count=1,
                       dtype=values.dtype, nodata=no_data, transform=transform,
                       crs=None if epsg is None else f"EPSG:{epsg}", **how) as file:
        file.write(values, 1)


def polygon_set(polygons, dtype=np.float64):
    """(value, polygon) pairs, comparable: values of the type, rings in a fixed order."""
    return sorted((float(np.dtype(dtype).type(value)), shapely.to_wkb(shapely.normalize(polygon)))
                  for value, polygon in polygons)


def expected_polygons(values, mask, connectivity, transform):
    """GDAL's polygons. Each of them is a region."""
    shapes = rasterio.features.shapes(values, mask=mask, connectivity=connectivity,
                                      transform=transform or rasterio.Affine.identity())
    return [(value, shapely.geometry.shape(shape)) for shape, value in shapes]


def read_polygons(path, epsg):
    """The (value, polygon) pairs of a file, and its areas, as GDAL reads them."""
    meta, _, geometry, columns = pyogrio.raw.read(path)
    expect(meta["crs"] == (None if epsg is None else f"EPSG:{epsg}"), f"the CRS {meta['crs']}")
    expect(list(meta["fields"]) == ["value", "region", "area"], f"columns {meta['fields']}")
    value, region, area = columns
    expect((np.sort(region) == np.arange(1, len(region) + 1)).all(), "the regions' numbers")
    return list(zip(value, shapely.from_wkb(geometry))), area


def feature_polygons(features):
    return [(feature["properties"]["value"], shapely.geometry.shape(feature["geometry"]))
            for feature in features]


def check_regions(trazar, source, case, folder):
    _, values, no_data, transform, epsg = case
    write_raster(source, values, no_data, transform, epsg)
    # Without a transform, coordinates are pixels, which are in no CRS.
    if transform is None:
        epsg = None
    mask = np.ones(values.shape, bool)
    if no_data is not None:
        mask = ~np.isnan(values) if np.isnan(no_data) else values != no_data
    pixel = 1 if transform is None else abs(transform.determinant)
    path = {name: folder / f"out.{name}" for name in
            ("geojson", "fgb", "geojsonl", "geojsons", "svg", "gds")}
    for connectivity in (4, 8):
        polygons = expected_polygons(values, mask, connectivity, transform)
        expected = polygon_set(polygons)

        def polygonize(name, *options):
            run(trazar, "polygonize", source, "-o", path[name], "--connectivity", connectivity,
                "--quiet", *options)

        for name in ("geojson", "fgb"):
            polygonize(name)
            if not polygons:
                continue
            # A GeoJSON file without a CRS is in longitudes and latitudes.
            found, area = read_polygons(path[name], 4326 if name == "geojson" and epsg is None
                                        else epsg)
            for (_, polygon), pixels in zip(found, area):
                if connectivity == 4:
                    expect(polygon.is_valid, f"{name}: an invalid polygon")
                    expect(np.isclose(polygon.area, pixels * pixel, rtol=1e-9),
                           f"{name}: the area of a polygon")
                    expect(polygon.exterior.is_ccw, f"{name}: an exterior ring is clockwise")
            expect(area.sum() == mask.sum(), f"{name}: {area.sum()} pixels of {mask.sum()}")
            expect(polygon_set(found, values.dtype) == expected,
                   f"{name}: other polygons, {connectivity}")
        polygonize("geojsonl")
        lines = path["geojsonl"].read_text().splitlines()
        found = feature_polygons(map(json.loads, lines))
        expect(polygon_set(found, values.dtype) == expected, "geojsonl: other polygons")
        polygonize("geojsons")
        records = path["geojsons"].read_text().split("\x1e")
        expect(records[0] == "" and all(record[-1] == "\n" for record in records[1:]),
               "geojsons: no text sequence")
        found = feature_polygons(map(json.loads, records[1:]))
        expect(polygon_set(found, values.dtype) == expected, "geojsons: other polygons")

        polygonize("geojson", "--min-area", 9, "--coordinates", "pixels")
        features = json.loads(path["geojson"].read_text())["features"]
        in_pixels = expected_polygons(values, mask, connectivity, None)
        large = polygon_set((value, polygon) for value, polygon in in_pixels
                            if signed_area(polygon) >= 9)
        found = polygon_set(feature_polygons(features), values.dtype)
        expect(found == large, "other regions of 9 pixels")
        polygonize("svg", "--min-area", 9)
        paths = [node.attrib["d"] for node in ElementTree.parse(path["svg"]).iter()
                 if node.tag.endswith("path")]
        drawn = sorted(sorted(map(cycle, subpaths(data))) for data in paths)
        rings = sorted(sorted(cycle(ring[:-1]) for ring in feature["geometry"]["coordinates"])
                       for feature in features)
        expect(drawn == rings, "SVG and GeoJSON differ")

    if values.dtype == np.uint8:
        run(trazar, "polygonize", source, "-o", path["gds"], "--quiet")
        layout = kdb.Layout()
        layout.read(str(path["gds"]))
        found = {layout.get_info(layer).layer: kdb.Region(layout.top_cell().shapes(layer))
                 for layer in layout.layer_indexes()}
        expect(set(found) == set(values[mask].tolist()), f"GDS layers {sorted(found)}")
        for value, region in found.items():
            before = sum(polygon.area() for polygon in region.each())
            pixels = pixel_region((values == value) & mask)
            expect(before == pixels.area(), f"GDS: layer {value} overlaps itself")
            expect((pixels ^ region).is_empty(), f"GDS: another layer {value}")
    if values.dtype.kind in "ui":
        # What `trace` finds are GDAL's polygons of foreground.
        threshold = (int(values.min()) + int(values.max())) // 2
        run(trazar, "trace", source, "-o", path["geojson"], "--threshold", threshold,
            "--geometry", "edges", "--quiet")
        found = [(1, shapely.geometry.shape(feature["geometry"]))
                 for feature in json.loads(path["geojson"].read_text())["features"]]
        above = ((values > threshold) & mask).astype(np.uint8)
        expected = polygon_set(expected_polygons(above, above == 1, 4, transform))
        expect(polygon_set(found, values.dtype) == expected, "trace: other polygons")
    return len(polygons)


def cycle(points):
    """A ring from its least point, in the direction of its lesser neighbour."""
    points = [tuple(map(int, point)) for point in points]
    least = points.index(min(points))
    onwards = points[least:] + points[:least]
    return min(onwards, onwards[:1] + onwards[:0:-1])


def signed_area(polygon):
    """The area of a polygon that may touch itself."""
    def area(ring):
        x, y = np.asarray(ring.coords).T
        return abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2
    return area(polygon.exterior) - sum(map(area, polygon.interiors))


def pixel_region(mask, side=1):
    """The pixels of a mask, squares of this side, y up."""
    pixels = kdb.Region()
    for y, row in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
        for x0, x1 in zip(edges[::2], edges[1::2]):
            pixels.insert(kdb.Box(int(x0) * side, (len(mask) - y - 1) * side,
                                  int(x1) * side, (len(mask) - y) * side))
    return pixels


BLOCKED = 2**32 - 1


def grids():
    """(name, right, down, via, pins) with weights as arrays of 3 dimensions, pins as lists of cells
    (x, y, layer), from fixed seeds."""
    rng = np.random.default_rng(22)
    for width, height, layers, blocked, count in (
            (2, 1, 1, 0, 2), (1, 9, 1, 0, 3), (30, 20, 1, 0, 2), (64, 64, 1, 0, 12),
            (41, 50, 1, 0.1, 9), (25, 25, 1, 0.5, 12), (20, 30, 3, 0.1, 8), (150, 90, 2, 0, 20)):
        def weights(*shape):
            values = rng.integers(0, 91, shape).astype(np.uint32)
            values[rng.random(shape) < blocked] = BLOCKED
            return values
        right, down = weights(layers, height, width - 1), weights(layers, height - 1, width)
        via = weights(layers - 1, height, width)
        pins = [[tuple(int(rng.integers(0, side)) for side in (width, height, layers))
                 for _ in range(rng.choice((1, 1, 2)) if count > 2 else 1)] for _ in range(count)]
        yield f"grid-{width}x{height}x{layers}-{blocked}", right, down, via, pins


def grid_graph(right, down, via):
    """The edges that are not blocked, as SciPy's sparse matrix, and the weight of each."""
    layers, height = right.shape[:2]
    number = np.arange(layers * height * down.shape[2]).reshape(layers, height, -1)
    ends = [(number[:, :, :-1], number[:, :, 1:], right), (number[:, :-1], number[:, 1:], down),
            (number[:-1], number[1:], via)]
    a, b, weight = (np.concatenate([end[i].ravel() for end in ends]) for i in range(3))
    a, b, weight = a[weight != BLOCKED], b[weight != BLOCKED], weight[weight != BLOCKED]
    edges = dict(zip(zip(a.tolist(), b.tolist()), weight.tolist()))
    graph = scipy.sparse.coo_matrix((weight.astype(float), (a, b)), (number.size, number.size))
    return graph.tocsr(), edges


def write_case(path, right, down, via, pins):
    """The text format, as docs/routing.md has it."""
    layers, height = right.shape[:2]
    lines = [f"{down.shape[2]} {height} {layers}", str(len(pins))]
    lines += ["Pin " + " / ".join(f"{y} {x} {layer}" for x, y, layer in pin) for pin in pins]
    for layer in range(layers):
        for word, weights in (("Vertical", right), ("Horizontal", down), ("Via", via)):
            if layer < len(weights):
                lines += [" ".join([word, *("x" if w == BLOCKED else str(w) for w in row)])
                          for row in weights[layer].tolist()]
    path.write_text("\n".join(lines) + "\n")


def check_tree(net, right, down, via, pins):
    """The JSON of one net, against SciPy."""
    layers, height, width = right.shape[0], right.shape[1], down.shape[2]
    number = lambda x, y, layer: (layer * height + y) * width + x
    graph, edges = grid_graph(right, down, via)
    cells_of = [[number(*cell) for cell in pin] for pin in pins]
    expect(net["pins"] == [[list(cell) for cell in pin] for pin in pins], "the JSON's pins")
    segments = iter(net["segments"])
    tree, used = set(cells_of[0]), []
    left = set(range(1, len(pins)))
    for connection in net["connections"]:
        pin, length = connection["pin"], connection["length"]
        distances = scipy.sparse.csgraph.dijkstra(graph, directed=False, indices=sorted(tree),
                                                  min_only=True)
        to_pin = {pin: min(distances[cells_of[pin]]) for pin in left}
        expect(to_pin[pin] == min(to_pin.values()) == connection["cost"], "not the nearest pin")
        path = []
        while len(path) < length:
            start, end = (np.array(cell) for cell in next(segments))
            steps = abs(end - start).max()
            expect((end != start).sum() == 1, "a segment that is not straight")
            walk = [number(*(start + (end - start) // steps * i)) for i in range(steps + 1)]
            path += [tuple(sorted(edge)) for edge in zip(walk, walk[1:])]
        expect(len(path) == length, "a connection that ends within a segment")
        expect(sum(edges[edge] for edge in path) == connection["cost"], "a connection's cost")
        if path:
            expect({cell for edge in path for cell in edge} & tree, "a path apart from the tree")
        used += path
        tree |= {cell for edge in path for cell in edge} | set(cells_of[pin])
        left.remove(pin)
    expect(next(segments, None) is None, "a segment that is no connection's")
    distances = scipy.sparse.csgraph.dijkstra(graph, directed=False, indices=sorted(tree),
                                              min_only=True)
    expect(all(np.isinf(distances[cells_of[pin]]).all() for pin in left), "a pin was left out")
    expect(net["unreached"] == sorted(left), "the pins that are unreached")
    expect(len(set(used)) == len(used), "an edge twice")
    expect(net["cost"] == sum(edges[edge] for edge in used), "the tree's cost")
    cells = {number(*cell) for cell in net["cells"]}
    expect({cell for edge in used for cell in edge} <= cells, "a wire's cell is not listed")
    expect(cells <= tree, "a cell that is not the tree's")
    if all(len(pin) == 1 for pin in cells_of):
        expect(len(cells) == len(used) + 1, "no tree")


def check_routes(trazar, folder, cases):
    for name, right, down, via, pins in cases:
        source = folder / "case.txt"
        write_case(source, right, down, via, pins)
        arrays = []
        flat = len(via) == 0
        for option, array in (("--right", right), ("--down", down), ("--via", via)):
            if option != "--via" or not flat:
                path = folder / f"{option[2:]}.npy"
                np.save(path, np.asfortranarray(array[0]) if flat else array)
                arrays += [option, path]
        (folder / "pins.txt").write_text("".join(
            " / ".join(f"{y} {x} {layer}" for x, y, layer in pin) + "\n" for pin in pins))
        found = json.loads(run(trazar, "route", source, "--partial", "-o", "-", "--format", "json"))
        again = run(trazar, "route", *arrays, "--pins", folder / "pins.txt", "--partial", "-o", "-",
                    "--format", "json")
        expect(json.loads(again) == found, "text and arrays give different trees")
        net, = found["nets"]
        check_tree(net, right, down, via, pins)

        lines = run(trazar, "route", source, "--partial", "-o", "-", "--format", "txt").split("\n")
        text = [[int(number) for number in line.split()] for line in lines[:-1]]
        cells = [[y, x] if flat else [y, x, layer] for x, y, layer in net["cells"]]
        expect(text == cells, "text and JSON differ")

        run(trazar, "route", source, "--partial", "-o", folder / "out.svg", "--quiet")
        root = ElementTree.parse(folder / "out.svg").getroot()
        drawn = set()
        for path in root.iter("{http://www.w3.org/2000/svg}path"):
            if path.get("stroke-linecap") is None and path.get("stroke") and not path.get("fill"):
                for line in path.get("d").split("M")[1:]:
                    numbers = re.findall(r"([HV ])(\d+)", line)
                    at = (int(re.match(r"\d+", line)[0]), int(numbers[0][1]))
                    for command, number in numbers[1:]:
                        to = (int(number), at[1]) if command == "H" else (at[0], int(number))
                        drawn.add((at, to))
                        at = to
        expected = {(tuple(a[:2]), tuple(b[:2])) for a, b in net["segments"] if a[2] == b[2]}
        expect(drawn == expected, "SVG and JSON differ")

        run(trazar, "route", source, "--partial", "-o", folder / "out.png", "--quiet")
        picture = cv2.imread(str(folder / "out.png")).astype(int)
        height, width = down.shape[1] + 1, down.shape[2]
        scale = picture.shape[0] // height
        expect(picture.shape == (height * scale, width * scale, 3), "the PNG's size")
        colourful = np.ptp(picture, axis=2) > 60
        # In the middle, unless a pin or via is there.
        for a, b in net["segments"]:
            if a[2] == b[2]:
                x, y = ((p + q + 1) * scale / 2 for p, q in zip(a[:2], b[:2]))
                beside = picture[int(y), int(x)]
                marked = (beside == 0).all() or (beside == 255).all()
                expect(colourful[int(y), int(x)] or marked, "a wire that is not drawn")
        print(f"{name}: {len(pins)} pins, {len(net['unreached'])} unreached, cost {net['cost']}",
              flush=True)


def altered_layout(change):
    """A GDSII file after `change(layout, cell, layer)`."""
    def alter(path, _):
        layout = kdb.Layout()
        layout.read(str(path))
        cell, layer = layout.top_cell(), layout.layer(7, 0)
        change(layout, cell, layer)
        options = kdb.SaveLayoutOptions()
        options.gds2_max_vertex_count = 8000
        options.gds2_multi_xy_records = True
        options.dbu = layout.dbu
        layout.write(str(path), options)
    return alter


def altered_json(change, option=None):
    """JSON, a file or standard output, after `change(value)`; with `option`, only where that was
    given (or was not, if it is "not" and the option)."""
    def alter(source, arguments):
        text = source.read_text() if isinstance(source, Path) else source
        absent = option is not None and option.startswith("not ")
        if option is None or (option.removeprefix("not ") in arguments) != absent:
            value = json.loads(text)
            change(value)
            text = json.dumps(value)
        if isinstance(source, Path):
            source.write_text(text)
        return text
    return alter


def altered_text(pattern, new, count=1):
    """A text, a file or standard output, with the first match of a pattern replaced."""
    def alter(source, arguments):
        text = source.read_text() if isinstance(source, Path) else source
        changed = re.sub(pattern, new, text, count=count)
        if isinstance(source, Path):
            source.write_text(changed)
        return changed
    return alter


def altered_picture(change):
    """A picture after `change(pixels)`, which may give another one."""
    def alter(path, _):
        picture = cv2.imread(str(path))
        changed = change(picture)
        cv2.imwrite(str(path), picture if changed is None else changed)
    return alter


def altered_array(change):
    """A .npy file after `change(array)`, which gives the new one."""
    return lambda path, _: np.save(path, change(np.load(path)))


def altered_column(column, value):
    """A CSV file whose first row has another value in a column."""
    def alter(path, _):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        rows[0][column] = value
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    return alter


def plants():
    """(what is compared, the comparison's message, check, its image or grid, alterations)."""
    # A ring, a block in it, and a block apart: three components, one with a hole.
    mask = np.zeros((12, 20), bool)
    mask[1:9, 1:9] = True
    mask[2:8, 2:8] = False
    mask[4:6, 4:6] = True
    mask[3:7, 12:16] = True
    two = np.zeros((3, 5), bool)
    two[1, 1] = two[1, 3] = True
    comb = np.ones((4, 5001), bool)
    comb[:2, 1::2] = False

    def gds(change):
        return {".gds": altered_layout(change)}

    def at_once(layout, cell, layer):
        region = kdb.Region(cell.shapes(layer)).merged()
        cell.shapes(layer).clear()
        cell.shapes(layer).insert(region)

    def boxes(*boxes):
        def change(layout, cell, layer):
            unit = kdb.Region(cell.shapes(layer)).bbox().height()
            cell.shapes(layer).clear()
            for left, bottom, right, top in boxes:
                cell.shapes(layer).insert(kdb.Box(left * unit, bottom * unit, right * unit,
                                                  top * unit))
        return gds(change)

    yield "GDS", "database unit", check_gds, mask, gds(
        lambda layout, cell, layer: setattr(layout, "dbu", 0.002))
    yield "GDS", "layers", check_gds, mask, gds(
        lambda layout, cell, layer: cell.shapes(layout.layer(8, 0)).insert(kdb.Box(0, 0, 1, 1)))
    yield "GDS", "GDS area 97 before", check_gds, mask, gds(
        lambda layout, cell, layer: cell.shapes(layer).insert(kdb.Box(100, 0, 101, 49)))
    yield "GDS", "a boundary of", check_gds, comb, gds(at_once)
    yield "GDS", "1 polygons, 2", check_gds, two, boxes((1, 1, 3, 2))
    yield "GDS", "GDS area 1 after", check_gds, two, boxes((1, 1, 2, 2), (1, 1, 2, 2))
    yield "GDS", "the GDS is another", check_gds, two, boxes((1, 1, 2, 2), (4, 1, 5, 2))

    def ring(change, number=0):
        def alter(value):
            for feature in value["features"]:
                rings = feature["geometry"]["coordinates"]
                if number < len(rings):
                    rings[number] = change(rings[number])
                    return
        return alter

    def features(change):
        return lambda value: change(value["features"])

    def geojson(change, option="--geometry"):
        return {".geojson": altered_json(change, option)}

    centers = "not --geometry"
    yield "GeoJSON", "an invalid", check_geojson, two, geojson(
        ring(lambda points: [points[i] for i in (0, 2, 1, 3, 0)]))
    yield "GeoJSON", "an exterior", check_geojson, mask, geojson(ring(lambda points: points[::-1]))
    yield "GeoJSON", "a hole is", check_geojson, mask, geojson(
        ring(lambda points: points[::-1], 1))
    yield "GeoJSON", "the property area", check_geojson, mask, geojson(features(
        lambda all: all[0]["properties"].update(area=all[0]["properties"]["area"] + 1)))
    yield "GeoJSON", "the property kind", check_geojson, mask, geojson(features(
        lambda all: all[0]["properties"].update(kind="hole")))
    yield "GeoJSON", "GeoJSON area", check_geojson, mask, geojson(features(list.pop))
    yield "GeoJSON", "GeoJSON: another", check_geojson, two, geojson(
        ring(lambda points: [[x + 1, y] for x, y in points]))
    yield "GeoJSON", "2 outer", check_geojson, mask, geojson(features(list.pop), centers)
    yield "GeoJSON", "MultiPoint", check_geojson, two, geojson(features(
        lambda all: all[0].update(geometry={"type": "MultiPoint", "coordinates": [[1, 1]]})),
        centers)
    yield "GeoJSON", "the property area", check_geojson, mask, geojson(features(
        lambda all: all[0]["properties"].update(area=1e6)), centers)

    yield "SVG", "the SVG's viewBox", check_svg, mask, {
        ".svg": altered_text(r'viewBox="0 0 20', 'viewBox="0 0 21')}
    yield "SVG", "SVG and JSON", check_svg, mask, {".svg": altered_text(r"M ?\d+", "M9")}

    def paint(place, colour):
        return {".png": altered_picture(lambda picture: picture.__setitem__(place, colour))}

    everything = (slice(None), slice(None))
    yield "overlay", "overlay's size", check_overlay, mask, {
        ".png": altered_picture(lambda picture: picture[:, 1:])}
    yield "overlay", "a contour's pixel", check_overlay, mask, paint(everything, (9, 9, 9))
    yield "overlay", "something is drawn", check_overlay, mask, paint((-1, -1), (0, 0, 255))

    yield "labels", "the labels' type", check_labels, mask, {
        ".npy": altered_array(lambda labels: labels.astype(np.int64))}
    yield "labels", "labels differ", check_labels, mask, {
        ".npy": altered_array(lambda labels: np.array([0, 2, 1, 3], np.uint32)[labels])}
    for column, message in (("label", "CSV labels"), ("area", "CSV areas"),
                            ("x_min", "CSV bounding"), ("y_min", "CSV bounding"),
                            ("x_max", "CSV bounding"), ("y_max", "CSV bounding"),
                            ("centroid_x", "CSV centroids"), ("centroid_y", "CSV centroids")):
        yield column, message, check_labels, mask, {".csv": altered_column(column, 17)}
    yield "labels", "the labels' picture", check_labels, mask, paint((0, 0), (0, 0, 1))
    yield "labels", "a component of several", check_labels, mask, paint((1, 1), (1, 2, 3))
    yield "labels", "components of the same", check_labels, mask, {".png": altered_picture(
        lambda picture: picture.__setitem__(picture.any(axis=2), (10, 20, 30)))}

    classes = np.full((8, 9), 3, np.uint8)
    classes[2:5, 2:5] = 1
    classes[3, 3] = 3
    classes[6:] = 0
    north_up = rasterio.Affine(30, 0, 500000, 0, -30, 4600000)
    raster = "planted", classes, 0, north_up, 32633

    def regions(change, option="not --coordinates"):
        return {".geojson": altered_json(change, option)}

    def shifted(value):
        ring = value["features"][0]["geometry"]["coordinates"][0]
        value["features"][0]["geometry"]["coordinates"] = [[[x + 30, y] for x, y in ring]]

    def renamed(value):
        for feature in value["features"]:
            feature["properties"]["values"] = feature["properties"].pop("value")

    def properties(**fields):
        return regions(features(lambda all: all[-1]["properties"].update(fields)))

    yield "regions", "the CRS", check_regions, raster, regions(
        lambda value: value["crs"]["properties"].update(name="urn:ogc:def:crs:EPSG::32634"))
    yield "regions", "columns", check_regions, raster, regions(renamed)
    yield "regions", "the regions' numbers", check_regions, raster, properties(region=99)
    yield "regions", "geojson: an invalid", check_regions, raster, regions(
        ring(lambda points: [points[i] for i in (0, 2, 1, 3, 0)]))
    yield "regions", "geojson: the area", check_regions, raster, properties(area=2)
    yield "regions", "geojson: an exterior", check_regions, raster, regions(
        ring(lambda points: points[::-1]))
    yield "regions", "geojson: 53 pixels of 54", check_regions, raster, regions(features(list.pop))
    yield "regions", "geojson: other", check_regions, raster, properties(value=7)
    for name in ("geojsonl", "geojsons"):
        yield "regions", f"{name}: other", check_regions, raster, {
            f".{name}": altered_text(r'"value":\d', '"value":7')}
    yield "regions", "geojsons: no", check_regions, raster, {".geojsons": altered_text("\x1e", "")}
    yield "regions", "other regions of 9", check_regions, raster, regions(
        features(list.pop), "--min-area")
    yield "regions", "SVG and GeoJSON", check_regions, raster, {
        ".svg": altered_text(r'd="M\d', 'd="M7')}
    yield "regions", "GDS layers", check_regions, raster, gds(
        lambda layout, cell, _: cell.shapes(layout.layer(8, 0)).insert(kdb.Box(0, 0, 1, 1)))
    yield "regions", "GDS: layer 3 overlaps", check_regions, raster, gds(
        lambda layout, cell, _: cell.shapes(layout.layer(3, 0)).insert(kdb.Box(0, 7, 1, 8)))
    yield "regions", "GDS: another layer", check_regions, raster, gds(
        lambda layout, cell, _: cell.shapes(layout.layer(1, 0)).transform(kdb.Trans(1, 0)))
    yield "regions", "trace: other", check_regions, raster, regions(shifted, "--threshold")

    def moved(value):
        value["contours"][0][0][0] += 1

    def orphaned(value):
        value["hierarchy"][0][3] = 0

    yield "inputs", "u8.png: other", check_inputs, None, {"-": altered_json(moved)}
    yield "inputs", "u8.png: another", check_inputs, None, {"-": altered_json(orphaned)}

    # From (0, 0) to (3, 0), and to (0, 2), the dearer one; at (4, 3) a pin behind blocked edges.
    right, down = np.ones((1, 4, 4), np.uint32), np.full((1, 3, 5), 2, np.uint32)
    right[0, 3, 3] = down[0, 2, 4] = BLOCKED
    via = np.empty((0, 4, 5), np.uint32)
    pins = [[(0, 0, 0)], [(0, 2, 0)], [(4, 3, 0)], [(3, 0, 0)]]
    grid = "planted", right, down, via, pins

    def net(change, option=None):
        def alter(text, arguments):
            # The arrays' tree with the text's.
            if arguments[arguments.index("--format") + 1] != "json":
                return text
            return altered_json(lambda value: change(value["nets"][0]), option)(text, arguments)
        return {"-": alter}

    def connection(i, **fields):
        return net(lambda net: net["connections"][i].update(fields))

    def segments(change):
        return net(lambda net: change(net["segments"]))

    def instead(new):
        return net(lambda net: net.update(segments=new))

    first = [[3, 0, 0], [0, 0, 0]]
    second = [[0, 2, 0], [0, 0, 0]]
    yield "routes", "text and arrays", check_routes, grid, net(
        lambda net: net.update(cost=8), "--right")
    yield "routes", "the JSON's pins", check_routes, grid, net(lambda net: net["pins"].reverse())
    yield "routes", "not the nearest pin", check_routes, grid, connection(0, cost=2)
    yield "routes", "a segment that is not", check_routes, grid, instead([[[3, 0, 0], [0, 1, 0]],
                                                                         second])
    yield "routes", "a connection that ends", check_routes, grid, connection(0, length=2)
    yield "routes", "a connection's cost", check_routes, grid, instead(
        [[[3, 1, 0], [3, 0, 0]], [[3, 0, 0], [1, 0, 0]], second])
    yield "routes", "a path apart", check_routes, grid, instead([[[4, 1, 0], [1, 1, 0]], second])
    yield "routes", "a segment that is no", check_routes, grid, segments(
        lambda segments: segments.append(first))
    yield "routes", "a pin was left out", check_routes, grid, net(
        lambda net: (net["connections"].pop(), net["segments"].pop()))
    yield "routes", "the pins that are", check_routes, grid, net(
        lambda net: net.update(unreached=[1]))
    yield "routes", "an edge twice", check_routes, grid, instead(
        [first, [[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0]]])
    yield "routes", "the tree's cost", check_routes, grid, net(lambda net: net.update(cost=8))
    yield "routes", "a wire's cell", check_routes, grid, net(lambda net: net["cells"].pop(1))
    yield "routes", "a cell that is not", check_routes, grid, net(
        lambda net: net["cells"].append([2, 2, 0]))
    # Over free edges a circle costs no more.
    free = ("planted", np.zeros((1, 2, 1), np.uint32), np.zeros((1, 1, 2), np.uint32),
            np.empty((0, 2, 2), np.uint32),
            [[(0, 0, 0)], [(1, 0, 0)], [(0, 1, 0)], [(1, 1, 0)]])
    yield "routes", "no tree", check_routes, free, net(lambda net: net.update(
        cells=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]],
        connections=[{"pin": pin, "cost": 0, "length": length}
                     for pin, length in ((1, 1), (2, 2), (3, 1))],
        segments=[[[1, 0, 0], [0, 0, 0]], [[0, 1, 0], [1, 1, 0]], [[1, 1, 0], [1, 0, 0]],
                  [[0, 1, 0], [0, 0, 0]]]))
    yield "routes", "text and JSON", check_routes, grid, {
        "-": lambda text, arguments: text.replace("0", "1") if "txt" in arguments else text}
    yield "routes", "SVG and JSON", check_routes, grid, {
        ".svg": lambda path, _: path.write_text(
            re.sub(r'(<path[^>]*d="M)\d', r"\g<1>2", path.read_text()))}
    yield "routes", "the PNG's size", check_routes, grid, {
        ".png": altered_picture(lambda picture: picture[:, 1:])}
    yield "routes", "a wire that is not", check_routes, grid, paint(everything, (99, 99, 99))


def check_plants(trazar, folder):
    """Every comparison fails where it should."""
    source = folder / "planted.png"
    count = 0
    for what, message, check, case, found in plants():
        alterations.update(found)
        try:
            if check is check_routes:
                check(trazar, folder, [case])
            elif check is check_inputs:
                check(trazar, folder)
            elif check is check_regions:
                check(trazar, folder / "planted.tif", case, folder)
            else:
                cv2.imwrite(str(source), case.astype(np.uint8) * 255)
                check(trazar, source, case, folder)
            said = "nothing"
        except Difference as difference:
            said = str(difference)
        finally:
            alterations.clear()
        if not said.startswith(message):
            sys.exit(f"planted in {what}: `{message} ...` should be said, not `{said}`")
        count += 1
    try:
        run(trazar, "trace", folder / "there is no such file.png")
    except Difference:
        count += 1
    lines = Path(__file__).read_text().splitlines()
    if unshown := sorted(made - failed):
        sys.exit("comparisons that no planted difference has shown to fail:\n" + "\n".join(
            f"line {line}: {lines[line - 1].strip()}" for line in unshown))
    print(f"{count} planted differences noticed, by {len(made)} comparisons")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    trazar = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        try:
            name = "inputs"
            print(f"{name}: {check_inputs(trazar, folder)} files agree", flush=True)
            name = "routes"
            check_routes(trazar, folder, grids())
            for case in rasters():
                name = case[0]
                count = check_regions(trazar, folder / "raster.tif", case, folder)
                print(f"{name}: {case[1].dtype}, {count} regions", flush=True)
            sources = list(images())
            sources += [(Path(path).name, cv2.imread(path, cv2.IMREAD_GRAYSCALE) > 127)
                        for path in sys.argv[2:]]
            for name, mask in sources:
                source = folder / "image.png"
                cv2.imwrite(str(source), mask.astype(np.uint8) * 255)
                gds = check_gds(trazar, source, mask, folder)
                check_geojson(trazar, source, mask, folder)
                check_svg(trazar, source, mask, folder)
                check_overlay(trazar, source, mask, folder)
                check_labels(trazar, source, mask, folder)
                print(f"{name}: {mask.shape[1]} x {mask.shape[0]}, GDS {gds}", flush=True)
        except Difference as difference:
            sys.exit(f"{name}: {difference}")
        check_plants(trazar, folder)
    print("all agree")


if __name__ == "__main__":
    main()
