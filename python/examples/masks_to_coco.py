"""Instance masks, such as those of YOLO or SAM, to COCO annotations.

    python masks_to_coco.py masks.npy annotations.json

``masks.npy`` has shape (N, H, W): booleans, or numbers; those above 0 are foreground. (Ultralytics'
are saved by ``numpy.save("masks.npy", result.masks.data.cpu().numpy())``. SAM's are the
``segmentation`` of each mask, stacked.) Annotations have run lengths as pycocotools makes them, or
with ``--polygons`` lists of coordinates, as annotation tools want them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import trazar


def annotations(
    masks: np.ndarray,
    categories: Sequence[int] | None = None,
    *,
    image_id: int = 1,
    polygons: bool = False,
) -> list[dict]:
    """Return an annotation per mask that has pixels."""
    masks = np.asarray(masks) > 0
    encoded = trazar.rle.encode(masks, layout="NHW")
    areas = trazar.rle.area(encoded)
    boxes = trazar.rle.to_bbox(encoded)
    found = []
    for index, (mask, rle) in enumerate(zip(masks, encoded, strict=True)):
        if areas[index] == 0:
            continue
        if polygons:
            # COCO's polygons have no holes: for masks with holes, take run lengths.
            outlines = trazar.trace(mask, geometry="edges", retrieval="external")
            segmentation = [ring.ravel().tolist() for ring in outlines]
        else:
            # JSON has no bytes.
            segmentation = {"size": rle["size"], "counts": rle["counts"].decode()}
        found.append(
            {
                "id": len(found) + 1,
                "image_id": image_id,
                "category_id": 1 if categories is None else int(categories[index]),
                "segmentation": segmentation,
                "area": int(areas[index]),
                "bbox": [float(side) for side in boxes[index]],
                "iscrowd": 0,
            }
        )
    return found


def dataset(masks: np.ndarray, name: str, *, polygons: bool = False) -> dict:
    """Return a data set of one image."""
    _, height, width = masks.shape
    return {
        "images": [{"id": 1, "file_name": name, "width": width, "height": height}],
        "categories": [{"id": 1, "name": "object"}],
        "annotations": annotations(masks, polygons=polygons),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("masks", type=Path)
    parser.add_argument("json", type=Path)
    parser.add_argument("--polygons", action="store_true")
    parser.add_argument("--image", default="image.png", metavar="NAME")
    arguments = parser.parse_args()
    made = dataset(np.load(arguments.masks), arguments.image, polygons=arguments.polygons)
    arguments.json.write_text(json.dumps(made))
    print(f"{len(made['annotations'])} annotations in {arguments.json}")


if __name__ == "__main__":
    main()
