"""Makes docs/gallery.md: runs each piece of code below, and shows what it prints and draws.

    python python/examples/gallery.py [FOLDER]

FOLDER gets gallery.md, and the pictures in its folder images; it is docs if left out. Needs OpenCV,
which writes the pictures. A piece of code sets `picture` to an array of colours or to an SVG.
"""

from __future__ import annotations

import code
import contextlib
import io
import sys
import textwrap
from pathlib import Path

import numpy as np

#: Title, text, code, and the name of the picture.
PIECES = [
    (
        "An image",
        "Disks, a ring with a disk in it, and a frame: 160 rows and 280 columns.",
        """\
import numpy as np
import trazar
y, x = np.mgrid[:160, :280]
def disk(row, column, radius):
    return (y - row) ** 2 + (x - column) ** 2 <= radius**2
image = disk(75, 75, 55) & ~disk(75, 75, 38) | disk(75, 80, 20)
image |= disk(40, 170, 22) | disk(52, 196, 18) | disk(120, 150, 6)
image[90:150, 180:260] = True
image[100:140, 190:250] = disk(120, 220, 12)[100:140, 190:250]
picture = np.where(image[..., None], 235, 25)
""",
        "gallery-image.png",
    ),
    (
        "Contours",
        "All borders, holes too, each within the one around it. The links of the hierarchy are "
        "`[next, previous, first child, parent]`, as OpenCV has them.",
        """\
contours = trazar.trace(image, approximation="simple", geometry="edges")
len(contours), len(contours.points)
contours.hierarchy.tolist()
contours.areas().tolist()
picture = contours.to_svg()
""",
        "gallery-contours.svg",
    ),
    (
        "Depth of nesting",
        "A contour's parent comes before it, so that one loop knows how deep each one is. Here "
        "each is filled with the colour of its depth.",
        """\
depth = []
for _, _, _, parent in contours.hierarchy.tolist():
    depth.append(0 if parent < 0 else depth[parent] + 1)
depth
colours = np.array([(78, 121, 167), (242, 142, 43), (225, 87, 89)])
picture = np.full((160, 280, 3), 25)
for of_contour, level in zip(contours, depth):
    column, row = of_contour.reshape(-1, 2).T[:, :, None, None]
    next_column, next_row = np.roll(column, -1, 0), np.roll(row, -1, 0)
    # A pixel is inside if an odd number of vertical sides is to the left of it.
    spans = (np.minimum(row, next_row) <= y) & (y < np.maximum(row, next_row))
    inside = (spans & (column <= x)).sum(0) % 2 == 1
    picture[inside] = colours[level]
""",
        "gallery-depth.png",
    ),
    (
        "Labels and measures",
        "The components of the foreground, numbered in the order of their first pixels, and what "
        "they measure.",
        """\
labels, measures = trazar.label_stats(image)
for number, area, row, column in zip(
    measures["label"], measures["area"], measures["centroid-0"], measures["centroid-1"]
):
    print(f"{number}: {area:6.0f} pixels around row {row:5.1f}, column {column:5.1f}")
palette = np.array([(25, 25, 25), (225, 87, 89), (89, 161, 79), (237, 201, 72), (78, 121, 167)])
picture = palette[np.where(labels > 0, 1 + labels % 4, 0)]
""",
        "gallery-labels.png",
    ),
    (
        "A class raster and its polygons",
        "Each connected region of one class becomes a polygon along the pixels' edges. Neighbours "
        "share their borders, and the area of a polygon is its number of pixels.",
        """\
row, column = np.mgrid[:60, :105]
waves = np.sin(column / 8 + row / 19) + np.sin(row / 7 - column / 23) + np.sin(column / 31)
classes = np.digitize(waves, [-1, 0, 1]).astype(np.uint8)
regions = trazar.polygonize(classes)
regions
colours = ["#4e79a7", "#a0cbe8", "#8cd17d", "#f1ce63"]
def drawn(regions):
    paths = {}
    for ring, value in zip(regions.contours, regions.values.tolist()):
        corners = " ".join(map(str, ring.ravel().tolist()))
        paths[value] = paths.get(value, "") + f"M{corners}z"
    width, height = regions.contours.width, regions.contours.height
    size = f'width="{8 * width}" height="{8 * height}" viewBox="0 0 {width} {height}"'
    style = 'fill-rule="evenodd" stroke="#222" stroke-width=".2" stroke-linejoin="round"'
    filled = (f'<path fill="{colours[v % len(colours)]}" d="{d}"/>' for v, d in paths.items())
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><g {style}>{"".join(filled)}</g></svg>'
picture = drawn(regions)
""",
        "gallery-classes.svg",
    ),
    (
        "Simplified borders",
        "Each border is simplified once, for both of its sides: no gaps, no overlaps, nothing "
        "crosses. Corners where three regions meet stay where they are.",
        """\
simplified = regions.simplify(1.0)
len(regions.points), len(simplified.points)
picture = drawn(simplified)
""",
        "gallery-simplified.svg",
    ),
    (
        "Touching cells and their outlines",
        "A label image, as Cellpose or StarDist make them. Cells that touch keep their own "
        "outlines, which have the same points where they touch.",
        """\
random = np.random.default_rng(7)
centers = random.random((60, 2)) * (60, 105)
away = np.hypot(row - centers[:, :1, None], column - centers[:, 1:, None])
cells = np.where(away.min(0) < 7, away.argmin(0) + 1, 0)
outlines = trazar.polygonize(cells, background=0, min_area=20)
len(outlines)
table = trazar.measure(cells, properties=("label", "area", "eccentricity"))
round(float(table["area"].mean()), 1), round(float(table["eccentricity"].max()), 3)
colours = ["#e15759", "#f28e2b", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7"]
picture = drawn(outlines.simplify(1.0))
""",
        "gallery-cells.svg",
    ),
    (
        "Distances and a tree of routes",
        "Paths run through the background: a step costs 1, and edges at foreground are blocked. "
        "The picture shows each cell's distance from the first pin, and a tree that connects all "
        "four.",
        """\
free = ~image
right = np.where(free[:, :-1] & free[:, 1:], 1, trazar.BLOCKED)
down = np.where(free[:-1] & free[1:], 1, trazar.BLOCKED)
grid = trazar.Grid(right, down)
pins = [(5, 5), (150, 275), (10, 270), (150, 100)]
tree = trazar.route(grid, [pins])[0]
tree.cost, tree.unreached.tolist()
steps = trazar.distances(grid, pins[0])
reached = steps != np.iinfo(steps.dtype).max
int(steps[reached].max())
shade = np.where(reached, 60 + 150 * steps / steps[reached].max(), 25)
picture = np.stack([shade * 0.4, shade * 0.8, shade], axis=-1)
picture[tree.cells[:, 0], tree.cells[:, 1]] = (255, 255, 255)
for row, column in pins:
    picture[row - 2 : row + 3, column - 2 : column + 3] = (242, 142, 43)
""",
        "gallery-routes.png",
    ),
    (
        "Costs of travel on a terrain",
        "Mountains out of noise, with lakes, and a light from the upper left. Travel costs more "
        "where it is steep, and lakes are barriers. Lines join cells of equal cost of travel from "
        "the orange square; paths lead there from the others.",
        """\
rng = np.random.default_rng(7)
waves = np.hypot(*np.meshgrid(np.fft.fftfreq(200), np.fft.fftfreq(320), indexing="ij"))
waves[0, 0] = np.inf
heights = np.fft.ifft2(np.fft.fft2(rng.standard_normal((200, 320))) / waves**1.9).real
heights *= 300 / heights.std()
lakes = heights < np.quantile(heights, 0.12)
heights = np.where(lakes, heights[lakes].max(), heights)
down, right = np.gradient(heights, 20)
friction = np.where(lakes, np.nan, 1 + (3 * np.hypot(down, right)) ** 2)
homes = [(30, 20), (170, 300), (15, 300), (185, 70)]
found = trazar.cost_distance(friction, homes[:1], sampling=20, direction=True)
paths = [found.path_to(home) for home in homes[1:]]
[(len(path.cells), round(path.cost, -2)) for path in paths]
light = np.clip(0.75 + 0.5 * (down + right), 0.3, 1.1)[..., None]
def drawn(shade):
    ground = np.where(lakes[..., None], (70, 110, 160), light * shade)
    return np.clip(ground, 0, 255)
share = np.nan_to_num(found.cost / np.nanmax(found.cost))[..., None]
picture = drawn((1 - share) * (250, 235, 150) + share * (150, 60, 110))
band = np.nan_to_num(found.cost) // 400
lines = (band != np.roll(band, 1, 0)) | (band != np.roll(band, 1, 1))
picture[lines & ~lakes] *= 0.6
for path in paths:
    picture[tuple(path.cells.T)] = 255
for row, column in homes:
    picture[row - 3 : row + 4, column - 3 : column + 4] = (40, 40, 40)
picture[28:33, 18:23] = (242, 142, 43)
""",
        "gallery-costs.png",
    ),
    (
        "A corridor",
        "The cells through which a path from one end to the other costs at most a tenth more than "
        "the best one, the redder the better: where a road or an animal may go.",
        """\
there = trazar.cost_distance(friction, [(170, 300)], sampling=20)
through = trazar.corridor(found, there)
allowed = trazar.corridor(found, there, threshold=0.1 * through.least)
worth = 1 - np.nan_to_num((allowed.cost - through.least) / (0.1 * through.least), nan=1)
f"{np.isfinite(allowed.cost).mean():.0%} of the cells"
mixed = np.where(worth > 0, 0.25 + 0.65 * worth, 0)[..., None]
picture = drawn((1 - mixed) * (215, 215, 200) + mixed * (225, 50, 40))
picture[tuple(paths[0].cells.T)] = 255
""",
        "gallery-corridor.png",
    ),
]

HEAD = """\
# Gallery

What Trazar does, in Python. `python/examples/gallery.py` has made this page: it runs the code and
shows what it prints and draws.
"""


def page() -> tuple[str, dict[str, np.ndarray | str]]:
    """The page's text, and its pictures by name."""
    console = code.InteractiveConsole()
    text, pictures = [HEAD], {}
    for title, about, source, name in PIECES:
        text.append(f"\n## {title}\n\n{textwrap.fill(about, 100)}\n\n```python\n")
        more = False
        lines = source.splitlines()
        for i, line in enumerate(lines):
            # A block ends before the next line that is not part of it.
            if more and line and not line[0].isspace() and line[0] not in ")]}":
                run(console, "", text)
                more = False
            text.append(f"{'...' if more else '>>>'} {line}".rstrip() + "\n" if line else "")
            more = run(console, line, text)
            if i + 1 == len(lines) and more:
                more = run(console, "", text)
        text.append(f"\n```\n\n![{title}](images/{name})\n")
        pictures[name] = console.locals["picture"]
    return "".join(text), pictures


def run(console: code.InteractiveConsole, line: str, text: list[str]) -> bool:
    """Runs a line, and adds what it prints. Whether more lines belong to it."""
    said, failed = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(failed):
        more = console.push(line)
    if failed.getvalue():
        raise RuntimeError(failed.getvalue())
    text.append(said.getvalue())
    return more


def main(folder: Path) -> None:
    import cv2

    text, pictures = page()
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        path = folder / "images" / name
        if isinstance(picture, str):
            path.write_text(picture)
        else:
            colours = np.broadcast_to(picture, (*picture.shape[:2], 3)).astype(np.uint8)
            if not cv2.imwrite(str(path), colours[..., ::-1]):
                sys.exit(f"{path} can't be written")
    (folder / "gallery.md").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "docs")
