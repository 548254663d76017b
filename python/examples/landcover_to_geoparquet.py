"""A class raster, such as land cover, to a GeoParquet file of polygons.

    python landcover_to_geoparquet.py landcover.tif landcover.parquet --min-area 10 --simplify 1.5

Needs rasterio, which reads the raster with its transform, CRS and no-data value, GeoPandas and
PyArrow. Each connected region of one class is a row: its class, its number and its area. Neighbours
share their borders, simplified or not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import rasterio

import trazar


def convert(
    raster: Path, parquet: Path, *, min_area: int = 0, tolerance: float | None = None
) -> int:
    """Write the file, and return the number of polygons."""
    with rasterio.open(raster) as source:
        classes = source.read(1)
        transform, crs, nodata = source.transform, source.crs, source.nodata
    regions = trazar.polygonize(classes, background=nodata, transform=transform, min_area=min_area)
    if tolerance is not None:
        regions = regions.simplify(tolerance)
    frame = regions.to_geopandas(crs=crs)
    # Square metres, or what the CRS has.
    frame["area"] = frame.area
    frame.to_parquet(parquet)
    return len(frame)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("raster", type=Path)
    parser.add_argument("parquet", type=Path)
    parser.add_argument("--min-area", type=int, default=0, metavar="PIXELS")
    parser.add_argument("--simplify", type=float, metavar="PIXELS")
    arguments = parser.parse_args()
    count = convert(
        arguments.raster,
        arguments.parquet,
        min_area=arguments.min_area,
        tolerance=arguments.simplify,
    )
    print(f"{count} polygons in {arguments.parquet}")


if __name__ == "__main__":
    main()
