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

And for each of some random grids, from text and from NumPy arrays:

- JSON: the wires are a tree over the cells that are listed, and it joins the pins; each connection
  costs what its wires weigh, and is the shortest that SciPy's Dijkstra finds from the tree before it
  to any pin; the pins that are left out are those that SciPy finds in other components.
- The text has the JSON's cells, the SVG its wires, and OpenCV finds them in the PNG.

Prints one line an image or grid, and exits with 1 at the first difference.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import cv2
import klayout.db as kdb
import numpy as np
import scipy.ndimage
import scipy.sparse
import scipy.sparse.csgraph
import shapely
import shapely.geometry

# The default, which all readers of GDSII take.
MAX_VERTICES = 4094
EIGHT = np.ones((3, 3), int)


class Difference(Exception):
    """What is written is not what is there."""


def expect(condition, message):
    if not condition:
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


def run(trazar, *arguments):
    result = subprocess.run([trazar, *map(str, arguments)], capture_output=True, text=True)
    expect(result.returncode == 0, f"{arguments}: status {result.returncode}: {result.stderr}")
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
        pixels = kdb.Region()
        height = mask.shape[0]
        for y, row in enumerate(mask):
            edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
            for x0, x1 in zip(edges[::2], edges[1::2]):
                pixels.insert(kdb.Box(int(x0) * pixel, (height - y - 1) * pixel,
                                      int(x1) * pixel, (height - y) * pixel))
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
    for label in range(1, min(count, 50) + 1):
        expect(len(set(packed[expected == label].tolist())) == 1, "one colour a component")


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
        expect(cv2.imwrite(str(path), array, list(parameters)), f"OpenCV cannot write {name}")
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


def check_routes(trazar, folder):
    for name, right, down, via, pins in grids():
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
            check_routes(trazar, folder)
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
    print("all agree")


if __name__ == "__main__":
    main()
