"""A label image, such as Cellpose's masks, to a GeoJSON file that QuPath opens.

    python cellpose_to_qupath.py cells_seg.npy cells.geojson
    python cellpose_to_qupath.py masks.png cells.geojson --simplify 1

Each label becomes one detection with its number as its name; drag the file onto the image in QuPath
(0.3 or later). With ``--simplify`` outlines lose their steps, and cells that touch still share
their borders. Reads Cellpose's ``_seg.npy``, other ``.npy``, and PNG and TIFF with OpenCV.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import trazar


def read_labels(path: Path) -> np.ndarray:
    """Return the label image of a file."""
    if path.suffix == ".npy":
        # Cellpose saves a dictionary, which NumPy unpickles: open only files of your own.
        stored = np.load(path, allow_pickle=path.name.endswith("_seg.npy"))
        return stored.item()["masks"] if stored.dtype == object else stored
    import cv2

    labels = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    if labels is None:
        raise SystemExit(f"{path}: no image that OpenCV reads")
    return labels


def features(labels: np.ndarray, tolerance: float | None = None, scale: float = 1.0) -> list[dict]:
    """Return a GeoJSON feature per label.

    A label whose pixels are not all connected is a MultiPolygon. ``scale`` is the size of a
    pixel of the labels in pixels of the image, if the image was made smaller for the segmentation.
    """
    regions = trazar.polygonize(
        labels, background=0, connectivity=4, transform=(scale, 0, 0, 0, scale, 0)
    )
    if tolerance is not None:
        regions = regions.simplify(tolerance)
    parts: dict[int, list] = {}
    for label, polygon in zip(regions.polygon_values().tolist(), regions.polygons(), strict=True):
        rings = [polygon.exterior, *polygon.interiors]
        parts.setdefault(label, []).append([list(map(list, ring.coords)) for ring in rings])
    return [
        {
            "type": "Feature",
            "geometry": {"type": "Polygon", "coordinates": polygons[0]}
            if len(polygons) == 1
            else {"type": "MultiPolygon", "coordinates": polygons},
            "properties": {"objectType": "detection", "name": str(label)},
        }
        for label, polygons in sorted(parts.items())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", type=Path)
    parser.add_argument("geojson", type=Path)
    parser.add_argument("--simplify", type=float, metavar="PIXELS")
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    found = features(read_labels(arguments.labels), arguments.simplify, arguments.scale)
    collection = {"type": "FeatureCollection", "features": found}
    arguments.geojson.write_text(json.dumps(collection))
    print(f"{len(found)} cells in {arguments.geojson}")


if __name__ == "__main__":
    main()
