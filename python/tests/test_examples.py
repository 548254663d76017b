"""The examples that a user copies, each run as a program on a small input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trazar

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="only in the repository")


def run(name: str, *arguments: object) -> str:
    command = [sys.executable, EXAMPLES / name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def touching_cells(rng: np.random.Generator, side: int = 120, count: int = 25) -> np.ndarray:
    """Each pixel's nearest cell within its radius."""
    y, x = np.mgrid[:side, :side]
    centers = rng.random((count, 2)) * side
    distances = np.hypot(y - centers[:, :1, None], x - centers[:, 1:, None])
    return np.where(distances.min(0) < 14, distances.argmin(0) + 1, 0).astype(np.uint16)


@pytest.mark.parametrize("tolerance", [None, 1.0])
def test_cellpose_to_qupath(rng, tmp_path, tolerance) -> None:
    shapely = pytest.importorskip("shapely")
    cells = touching_cells(rng)
    # As Cellpose saves it.
    np.save(tmp_path / "a_seg.npy", {"masks": cells, "outlines": cells > 0}, allow_pickle=True)
    options = [] if tolerance is None else ["--simplify", tolerance]
    said = run("cellpose_to_qupath.py", tmp_path / "a_seg.npy", tmp_path / "a.geojson", *options)
    numbers = np.unique(cells[cells > 0])
    assert said.startswith(f"{len(numbers)} cells")
    collection = json.loads((tmp_path / "a.geojson").read_text())
    assert collection["type"] == "FeatureCollection"
    found = {int(f["properties"]["name"]): f for f in collection["features"]}
    assert sorted(found) == numbers.tolist()
    shapes = [shapely.geometry.shape(found[number]["geometry"]) for number in numbers]
    assert shapely.is_valid(shapes).all()
    assert all(f["properties"]["objectType"] == "detection" for f in found.values())
    areas = shapely.area(shapes)
    if tolerance is None:
        assert areas.tolist() == np.bincount(cells.ravel())[numbers].tolist()
    else:
        assert areas.sum() == pytest.approx(shapely.union_all(shapes).area)
        assert shapely.get_num_coordinates(shapes).sum() < 1500


@pytest.mark.parametrize("form", ["rle", "polygons"])
def test_masks_to_coco(rng, tmp_path, form) -> None:
    mask_of = pytest.importorskip("pycocotools.mask")
    coco = pytest.importorskip("pycocotools.coco")
    cells = touching_cells(rng)
    numbers = np.unique(cells[cells > 0])
    # The last one has no pixels; scores as YOLO has them.
    masks = (cells == np.append(numbers, 9999)[:, None, None]).astype(np.float32)
    np.save(tmp_path / "masks.npy", masks)
    options = ["--polygons"] if form == "polygons" else []
    said = run("masks_to_coco.py", tmp_path / "masks.npy", tmp_path / "a.json", *options)
    assert said.startswith(f"{len(numbers)} annotations")
    loaded = coco.COCO(tmp_path / "a.json")
    assert len(loaded.anns) == len(numbers)
    for annotation, mask in zip(loaded.loadAnns(loaded.getAnnIds()), masks, strict=False):
        assert loaded.annToMask(annotation).tolist() == mask.tolist()
        encoded = mask_of.encode(np.asfortranarray(mask, np.uint8))
        assert annotation["area"] == mask_of.area(encoded)
        assert annotation["bbox"] == mask_of.toBbox(encoded).tolist()
        if form == "rle":
            assert annotation["segmentation"]["counts"] == encoded["counts"].decode()


@pytest.mark.parametrize("tolerance", [None, 1.5])
def test_landcover_to_geoparquet(rng, tmp_path, tolerance) -> None:
    rasterio = pytest.importorskip("rasterio")
    geopandas = pytest.importorskip("geopandas")
    pytest.importorskip("pyarrow")
    classes = np.kron(rng.integers(1, 5, (12, 15)), np.ones((7, 6), int)).astype(np.uint8)
    classes[:20, :20] = 0
    classes[50, 50] = 9
    transform = rasterio.Affine(30, 0, 500_000, 0, -30, 4_600_000)
    profile = {
        "driver": "GTiff",
        "width": classes.shape[1],
        "height": classes.shape[0],
        "count": 1,
        "dtype": "uint8",
        "crs": "EPSG:32633",
        "transform": transform,
        "nodata": 0,
    }
    with rasterio.open(tmp_path / "a.tif", "w", **profile) as raster:
        raster.write(classes, 1)
    options = [] if tolerance is None else ["--simplify", tolerance, "--min-area", 2]
    said = run("landcover_to_geoparquet.py", tmp_path / "a.tif", tmp_path / "a.parquet", *options)
    frame = geopandas.read_parquet(tmp_path / "a.parquet")
    assert said.startswith(f"{len(frame)} polygons")
    assert frame.crs == "EPSG:32633"
    assert frame.is_valid.all()
    assert (frame["value"] == 9).sum() == (tolerance is None)
    labels, count = trazar.label_values(classes)
    assert len(frame) == count - (tolerance is not None)
    if tolerance is None:
        counted = np.bincount(labels.ravel())[1:]
        assert frame["area"].tolist() == (900.0 * counted[frame["region"] - 1]).tolist()
    west, south, east, north = frame.total_bounds
    assert (west, north) == (500_000, 4_600_000)
    assert (east, south) == (500_000 + 30 * classes.shape[1], 4_600_000 - 30 * classes.shape[0])
