//! Files of regions, read by plain readers of each format.

use std::collections::BTreeMap;

use serde_json::Value;
use trazar::formats::{
    FileValue, GdsOptions, RegionSource, RegionWriteOptions, count_regions, read_raster,
    write_regions_flatgeobuf, write_regions_gds, write_regions_geojson,
    write_regions_geojson_lines, write_regions_geojson_sequence, write_regions_svg,
};
use trazar::trace::RegionTracer;
use trazar::{Connectivity, Engine, Error, RegionOptions, Regions, Samples, ValueImage};

use crate::bands::{Numbers, file};
use crate::tiffs::Form;

/// A polygon's rings, the outer one first, with what is said of it.
#[derive(Clone, Debug, PartialEq)]
struct Feature {
    value: f64,
    region: u64,
    area: u64,
    rings: Vec<Vec<[f64; 2]>>,
}

/// Blocks and single pixels of a few values.
fn values(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let mixed = |x: u64| x.wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57;
    let pixel = |x: usize, y: usize| {
        let block = mixed((x / 5 * 31 + y / 4 * 57) as u64) % 4;
        let single = mixed((x * 131 + y * 977) as u64);
        (if single < 24 { single % 5 } else { block }) as u8
    };
    (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .map(|(x, y)| pixel(x, y))
        .collect()
}

fn trace<T: FileValue>(size: (u32, u32), values: &[T], connectivity: Connectivity) -> Regions<T> {
    let image = ValueImage::new(Samples::new(size.0, size.1, values).unwrap()).unwrap();
    let options = RegionOptions::default().connectivity(connectivity);
    Engine::cpu().trace_regions(&image, &options).unwrap()
}

/// The regions as features: by a map of corners, which mirrors or does not.
fn features<T: FileValue>(
    regions: &Regions<T>,
    number: impl Fn(T) -> f64,
    map: impl Fn(f64, f64) -> [f64; 2],
) -> Vec<Feature> {
    let doubled = |ring: &[[f64; 2]]| -> f64 {
        ring.windows(2)
            .map(|ends| ends[0][0] * ends[1][1] - ends[1][0] * ends[0][1])
            .sum()
    };
    let polygons = regions.polygons();
    polygons
        .map(|(value, region, polygon)| {
            let rings = std::iter::once(polygon.exterior()).chain(polygon.interiors());
            let mut pixels = 0.0;
            let rings = rings.enumerate().map(|(i, ring)| {
                let plain: Vec<[f64; 2]> = ring.coords().map(|point| [point.x, point.y]).collect();
                let area = doubled(&plain).abs() / 2.0;
                pixels += if i == 0 { area } else { -area };
                let mut placed: Vec<_> = plain.iter().map(|&[x, y]| map(x, y)).collect();
                // Outer rings are counter-clockwise, holes clockwise.
                if (doubled(&placed) > 0.0) != (i == 0) {
                    placed.reverse();
                }
                placed
            });
            Feature {
                rings: rings.collect(),
                value: number(value),
                region: region.into(),
                area: pixels as u64,
            }
        })
        .collect()
}

/// The same ring may start at any of its points.
fn turned(mut feature: Feature) -> Feature {
    for ring in &mut feature.rings {
        assert_eq!(ring.first(), ring.last());
        ring.pop();
        let least = (0..ring.len())
            .min_by(|&a, &b| ring[a].partial_cmp(&ring[b]).unwrap())
            .unwrap();
        ring.rotate_left(least);
    }
    feature
}

#[track_caller]
fn same(found: Vec<Feature>, expected: &[Feature]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.into_iter().zip(expected) {
        assert_eq!(turned(found), turned(expected.clone()));
    }
}

fn of_json(feature: &Value) -> Feature {
    assert_eq!(feature["type"], "Feature");
    assert_eq!(feature["geometry"]["type"], "Polygon");
    let properties = &feature["properties"];
    Feature {
        value: properties["value"].as_f64().unwrap_or(f64::INFINITY),
        region: properties["region"].as_u64().unwrap(),
        area: properties["area"].as_u64().unwrap(),
        rings: serde_json::from_value(feature["geometry"]["coordinates"].clone()).unwrap(),
    }
}

pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>) -> trazar::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    bytes
}

/// A table of FlatBuffers.
#[derive(Clone, Copy)]
struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Table<'a> {
    fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
        assert_eq!(at % N, 0, "a field of {N} bytes at {at}");
        let mut number = [0; 8];
        number[..N].copy_from_slice(&bytes[at..][..N]);
        u64::from_le_bytes(number)
    }

    /// The root of a buffer that has its length before it.
    fn root(bytes: &'a [u8]) -> Self {
        assert_eq!(Self::number::<4>(bytes, 0) as usize, bytes.len() - 4);
        let at = 4 + Self::number::<4>(bytes, 4) as usize;
        Self { bytes, at }
    }

    /// Where field `index` is.
    fn field(self, index: usize) -> Option<usize> {
        let list = self.at - Self::number::<4>(self.bytes, self.at) as usize;
        let len = Self::number::<2>(self.bytes, list) as usize;
        let size = Self::number::<2>(self.bytes, list + 2) as usize;
        assert!(self.at + size <= self.bytes.len());
        let place = 4 + 2 * index;
        let offset = match place < len {
            true => Self::number::<2>(self.bytes, list + place) as usize,
            false => 0,
        };
        assert!(offset < size);
        (offset > 0).then_some(self.at + offset)
    }

    fn value<const N: usize>(self, index: usize) -> Option<u64> {
        Some(Self::number::<N>(self.bytes, self.field(index)?))
    }

    fn follow(self, at: usize) -> Self {
        let at = at + Self::number::<4>(self.bytes, at) as usize;
        Self { at, ..self }
    }

    fn table(self, index: usize) -> Option<Self> {
        Some(self.follow(self.field(index)?))
    }

    /// The bytes of a list of values of `N` bytes.
    fn list<const N: usize>(self, index: usize) -> Option<&'a [u8]> {
        let list = self.table(index)?;
        let len = Self::number::<4>(self.bytes, list.at) as usize;
        assert_eq!((list.at + 4) % N, 0, "a list of {N} bytes at {}", list.at);
        Some(&self.bytes[list.at + 4..][..N * len])
    }

    fn text(self, index: usize) -> Option<&'a str> {
        let text = self.list::<1>(index)?;
        let end = self.table(index)?.at + 4 + text.len();
        assert_eq!(self.bytes[end], 0);
        Some(std::str::from_utf8(text).unwrap())
    }

    fn tables(self, index: usize) -> Vec<Self> {
        let Some(list) = self.list::<4>(index) else {
            return Vec::new();
        };
        let first = self.table(index).unwrap().at + 4;
        let places = (0..list.len()).step_by(4);
        places.map(|place| self.follow(first + place)).collect()
    }
}

/// The features, the type of the column `value` and the EPSG code of a FlatGeobuf file, whose
/// envelope is that of the features.
fn of_flatgeobuf(file: &[u8]) -> (Vec<Feature>, u64, Option<u64>) {
    assert_eq!(file[..4], *b"fgb\x03");
    let mut at = 8;
    let mut next = || {
        let len = 4 + Table::number::<4>(file, at) as usize;
        at += len;
        // Features follow one another at multiples of 8.
        assert_eq!(len % 8, 0);
        &file[at - len..at]
    };
    let header = Table::root(next());
    assert_eq!(header.text(0), Some("regions"));
    assert_eq!(header.value::<1>(2), Some(3));
    // No index.
    assert_eq!(header.value::<2>(9), Some(0));
    let columns = header.tables(7);
    let names: Vec<_> = columns
        .iter()
        .map(|column| column.text(0).unwrap())
        .collect();
    assert_eq!(names, ["value", "region", "area"]);
    let kinds: Vec<_> = columns
        .iter()
        .map(|column| column.value::<1>(1).unwrap())
        .collect();
    assert_eq!(kinds[1..], [6, 7]);
    let crs = header.table(10);
    if let Some(crs) = crs {
        assert_eq!(crs.text(0), Some("EPSG"));
    }
    let count = header.value::<8>(8).unwrap_or(0);
    let features = (0..count).map(|_| {
        let feature = Table::root(next());
        let geometry = feature.table(0).unwrap();
        assert_eq!(geometry.value::<1>(6), Some(3));
        let points = geometry.list::<8>(1).unwrap().as_chunks::<16>().0;
        let points: Vec<[f64; 2]> = points
            .iter()
            .map(|point| [0, 8].map(|at| f64::from_le_bytes(*point[at..].first_chunk().unwrap())))
            .collect();
        let ends = match geometry.list::<4>(0) {
            Some(ends) => ends
                .as_chunks::<4>()
                .0
                .iter()
                .map(|end| u32::from_le_bytes(*end) as usize)
                .collect(),
            None => vec![points.len()],
        };
        let mut start = 0;
        let rings = ends.iter().map(|&end| {
            let ring = points[start..end].to_vec();
            start = end;
            ring
        });
        let rings: Vec<_> = rings.collect();
        assert_eq!(start, points.len());
        let properties = feature.list::<1>(1).unwrap();
        let (value, rest) = properties.split_at(properties.len() - 16);
        let value = match (kinds[0], &value[2..]) {
            (9, bytes) => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
            (7, bytes) => i64::from_le_bytes(bytes.try_into().unwrap()) as f64,
            (6, bytes) => u32::from_le_bytes(bytes.try_into().unwrap()).into(),
            (5, bytes) => i32::from_le_bytes(bytes.try_into().unwrap()).into(),
            (4, bytes) => u16::from_le_bytes(bytes.try_into().unwrap()).into(),
            (3, bytes) => i16::from_le_bytes(bytes.try_into().unwrap()).into(),
            (1, bytes) => bytes[0].into(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (&properties[..2], &rest[..2], &rest[6..8]),
            (&[0, 0][..], &[1, 0][..], &[2, 0][..])
        );
        Feature {
            value,
            region: u32::from_le_bytes(*rest[2..].first_chunk().unwrap()).into(),
            area: u64::from_le_bytes(*rest[8..].first_chunk().unwrap()),
            rings,
        }
    });
    let features: Vec<Feature> = features.collect();
    assert_eq!(at, file.len());
    let envelope = header.list::<8>(1).map(|numbers| {
        let numbers = numbers.as_chunks::<8>().0.iter();
        numbers.map(|number| f64::from_le_bytes(*number)).collect()
    });
    let points = features.iter().flat_map(|feature| &feature.rings[0]);
    let around = points.fold(None, |around: Option<Vec<f64>>, &[x, y]| {
        let [left, low, right, high] = match around.as_deref() {
            Some(&[left, low, right, high]) => [left, low, right, high],
            _ => [x, y, x, y],
        };
        Some(vec![left.min(x), low.min(y), right.max(x), high.max(y)])
    });
    assert_eq!(envelope, around);
    (
        features,
        kinds[0],
        crs.map(|crs| crs.value::<4>(1).unwrap()),
    )
}

/// Checks all files of regions in pixel coordinates. `column` is the type in FlatGeobuf.
#[track_caller]
fn check<T: FileValue>(regions: &Regions<T>, number: impl Fn(T) -> f64, column: u64) {
    let expected = features(regions, number, |x, y| [x, y]);
    check_files(regions, &RegionWriteOptions::default(), &expected, column);
}

#[track_caller]
fn check_files(
    regions: &impl RegionSource,
    options: &RegionWriteOptions,
    expected: &[Feature],
    column: u64,
) {
    let json = written(|out| write_regions_geojson(regions, options, out));
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["type"], "FeatureCollection");
    assert_eq!(json.get("crs"), None);
    let found = json["features"].as_array().unwrap().iter().map(of_json);
    same(found.collect(), expected);
    let lines = written(|out| write_regions_geojson_lines(regions, options, out));
    let lines = String::from_utf8(lines).unwrap();
    let found = lines
        .lines()
        .map(|line| of_json(&serde_json::from_str(line).unwrap()));
    same(found.collect(), expected);
    let sequence = written(|out| write_regions_geojson_sequence(regions, options, out));
    assert_eq!(
        String::from_utf8(sequence).unwrap().replace('\u{1e}', ""),
        lines
    );
    let (found, kind, crs) = of_flatgeobuf(&written(|out| {
        write_regions_flatgeobuf(regions, options, out)
    }));
    assert_eq!((kind, crs), (column, None));
    same(found, expected);
}

#[test]
fn polygons_of_all_types() {
    for (seed, (width, height)) in (0..).zip([(1, 1), (40, 31), (64, 9), (7, 50), (130, 70)]) {
        let bytes = values(width as usize, height as usize, seed);
        let size = (width, height);
        for connectivity in [Connectivity::Four, Connectivity::Eight] {
            check(&trace(size, &bytes, connectivity), f64::from, 1);
            macro_rules! converted {
                ($($type:ty, $column:literal, $convert:expr;)*) => {$(
                    let values: Vec<$type> = bytes.iter().map($convert).collect();
                    // By its text, which any type has.
                    let number = |value: $type| value.to_string().parse().unwrap();
                    check(&trace(size, &values, connectivity), number, $column);
                )*};
            }
            converted! {
                u16, 4, |&value| u16::from(value) * 13_000;
                u32, 6, |&value| u32::from(value) * 900_000_000;
                i16, 3, |&value| (i32::from(value) * 13_000 - 30_000) as i16;
                i32, 5, |&value| (i64::from(value) * 900_000_000 + i64::from(i32::MIN)) as i32;
                i64, 7, |&value| (i64::from(value) << 50) - (1 << 51);
                f32, 9, |&value| f32::from(value) * 0.25 - 0.5;
            }
        }
    }
}

#[test]
fn floats_are_short_and_exact() {
    let values = [
        0.1f32,
        -0.0,
        1e-20,
        f32::MAX,
        f32::INFINITY,
        -2.5,
        16_777_216.0,
        f32::NAN,
    ];
    let regions = trace((8, 1), &values, Connectivity::Four);
    let options = RegionWriteOptions::default();
    let json = written(|out| write_regions_geojson(&regions, &options, out));
    let json: Value = serde_json::from_slice(&json).unwrap();
    let found: Vec<&Value> = json["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(|feature| &feature["properties"]["value"])
        .collect();
    assert_eq!(found.len(), 7);
    assert_eq!(found[0].to_string(), "0.1");
    assert_eq!(*found[4], Value::Null);
    for (found, value) in found.into_iter().zip(values) {
        if value.is_finite() {
            assert_eq!(found.as_f64().unwrap() as f32, value);
        }
    }
    let bytes = written(|out| write_regions_flatgeobuf(&regions, &options, out));
    let found: Vec<f32> = of_flatgeobuf(&bytes)
        .0
        .iter()
        .map(|f| f.value as f32)
        .collect();
    assert_eq!(found, values[..7]);
}

/// Coordinates and CRS of a GeoTIFF: rings keep their winding whether the transform mirrors or not.
#[test]
fn in_the_coordinates_of_a_file() {
    let double = |values: &[f64]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let short = |values: &[u16]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let (width, height) = (40, 31);
    let bytes = values(width, height, 9);
    for ([a, b, d, e], code) in [
        ([30.0, 0.25, 0.0, -20.0], 32633),
        ([30.0, 0.25, 0.0, 20.0], 4326),
        ([30.0, 0.25, 0.0, -0.1], 2056),
        ([30.0, 0.0, 0.0, -30.0], 2056),
        ([-0.7, 0.0, 0.0, 0.3], 2056),
        ([0.0, 2.5, -3.1, 0.0], 2056),
        ([20.0, -5.0, 4.0, 0.5], 2056),
    ] {
        let mut matrix = [0.0; 16];
        (matrix[0], matrix[1], matrix[3]) = (a, b, 5e5);
        (matrix[4], matrix[5], matrix[7], matrix[15]) = (d, e, 4e6, 1.0);
        let fields = [
            (34264, 12, double(&matrix)),
            (34735, 3, short(&[1, 1, 0, 1, 3072, 0, 1, code])),
        ];
        let tiff =
            Form::plain(width, height).file_with(&fields, &|x, y, _| bytes[y * width + x].into());
        let raster = read_raster(file(&tiff).path()).unwrap();
        let georeference = raster.georeference().unwrap().unwrap();
        let regions = trace((width as u32, height as u32), &bytes, Connectivity::Four);
        let map = |x: f64, y: f64| [x * a + y * b + 5e5, x * d + y * e + 4e6];
        let expected = features(&regions, f64::from, map);
        let options = RegionWriteOptions::default().georeference(georeference);
        let (found, _, crs) = of_flatgeobuf(&written(|out| {
            write_regions_flatgeobuf(&regions, &options, out)
        }));
        assert_eq!(crs, Some(code.into()));
        same(found, &expected);
        let json = written(|out| write_regions_geojson(&regions, &options, out));
        let json: Value = serde_json::from_slice(&json).unwrap();
        let found = json["features"].as_array().unwrap().iter().map(of_json);
        same(found.collect(), &expected);
        let name = json["crs"]["properties"]["name"].as_str();
        let urn = format!("urn:ogc:def:crs:EPSG::{code}");
        assert_eq!(name, (code != 4326).then_some(&urn[..]));
    }
}

#[test]
fn small_regions_are_left_out() {
    let regions = trace((60, 50), &values(60, 50, 4), Connectivity::Four);
    let all = features(&regions, f64::from, |x, y| [x, y]);
    for min_area in [0, 1, 2, 5, 20, 10_000] {
        let expected: Vec<_> = all.iter().filter(|f| f.area >= min_area).cloned().collect();
        let options = RegionWriteOptions::default().min_area(min_area);
        let bytes = written(|out| write_regions_flatgeobuf(&regions, &options, out));
        same(of_flatgeobuf(&bytes).0, &expected);
        let json = written(|out| write_regions_geojson(&regions, &options, out));
        let json: Value = serde_json::from_slice(&json).unwrap();
        let found = json["features"].as_array().unwrap().iter().map(of_json);
        same(found.collect(), &expected);
    }
}

/// Threads encode shares of the regions, several batches of them; a region of more than 2¹⁹ points
/// is encoded alone.
#[test]
fn many_regions_and_large_ones() {
    let mut numbers = Numbers(trazar_test_seeds::seed_or(11) | 1);
    let mut noise = |count: usize, zeros: u64| -> Vec<u8> {
        let mut pixel = || match numbers.between(0, 99) {
            percent if percent < zeros => 0,
            percent => percent as u8 % 5,
        };
        (0..count).map(|_| pixel()).collect()
    };
    // Of 70 % of the pixels, most are one region.
    let rasters = [(500, 450, 0), (1000, 850, 70)];
    let spill = tempfile::tempdir().unwrap();
    for (width, height, zeros) in rasters {
        let values = noise(width * height, zeros);
        let size = (width as u32, height as u32);
        let is_large = zeros > 0;
        let regions = trace(size, &values, Connectivity::Four);
        let all = features(&regions, f64::from, |x, y| [x, y]);
        let points = |feature: &Feature| feature.rings.iter().map(Vec::len).sum::<usize>();
        let total: usize = all.iter().map(points).sum();
        assert!(total > 1 << 19, "{total}");
        assert_eq!(
            all.iter().any(|feature| points(feature) > 1 << 19),
            is_large
        );

        let options = RegionOptions::default();
        let tracer = RegionTracer::in_file(size.0, &options, spill.path()).unwrap();
        let mut bands = values.chunks(width * 100);
        let stored = tracer.trace(|| Ok(bands.next().map(<[u8]>::to_vec)));
        let stored = stored.unwrap();
        check_files(&regions, &RegionWriteOptions::default(), &all, 1);
        for min_area in [0, 1000, 1_000_000] {
            let options = RegionWriteOptions::default().min_area(min_area);
            let expected: Vec<_> = all.iter().filter(|f| f.area >= min_area).cloned().collect();
            assert_eq!(
                expected.is_empty(),
                min_area > 1000 || min_area == 1000 && !is_large
            );
            check_files(&stored, &options, &expected, 1);
            assert_eq!(
                count_regions(&stored, min_area).unwrap(),
                expected.len() as u64
            );
        }
        let (options, gds) = (RegionWriteOptions::default(), GdsOptions::default());
        let mut expected = BTreeMap::new();
        for value in values {
            *expected.entry(u16::from(value)).or_default() += 2;
        }
        let of_all = written(|out| write_regions_gds(&regions, &options, &gds, out));
        assert_eq!(layers(&of_all), expected);
        assert!(of_all == written(|out| write_regions_gds(&stored, &options, &gds, out)));
        let picture = written(|out| write_regions_svg(&regions, &options, out));
        assert!(picture == written(|out| write_regions_svg(&stored, &options, out)));
        let picture = String::from_utf8(picture).unwrap();
        let titles = picture
            .lines()
            .filter_map(|line| line.split_once("region "));
        let titles: Vec<_> = titles
            .map(|(_, rest)| rest.split_once(',').unwrap().0)
            .collect();
        let numbers: Vec<_> = (1..=all.len()).map(|number| number.to_string()).collect();
        assert!(titles == numbers);
    }
}

/// The doubled areas of each layer's boundaries, of a stream whose records are in the order of the
/// format: a library with one structure of boundaries.
pub(crate) fn layers(mut stream: &[u8]) -> BTreeMap<u16, i64> {
    let mut areas = BTreeMap::new();
    let mut layer = 0;
    let mut next = || {
        let (head, rest) = stream.split_first_chunk::<4>().unwrap();
        let data;
        let length = usize::from(u16::from_be_bytes([head[0], head[1]]));
        (data, stream) = rest.split_at(length - 4);
        ([head[2], head[3]], data)
    };
    // HEADER, BGNLIB, LIBNAME, UNITS, BGNSTR, STRNAME.
    for kind in [[0, 2], [1, 2], [2, 6], [3, 5], [5, 2], [6, 6]] {
        assert_eq!(next().0, kind);
    }
    loop {
        let kind = next().0;
        // ENDSTR, or else BOUNDARY.
        if kind == [7, 0] {
            break;
        }
        assert_eq!(kind, [8, 0]);
        // LAYER, DATATYPE, XY, ENDEL.
        for expected in [[0x0d, 2], [0x0e, 2], [0x10, 3], [0x11, 0]] {
            let (kind, data) = next();
            assert_eq!(kind, expected);
            match kind[0] {
                0x0d => layer = u16::from_be_bytes([data[0], data[1]]),
                0x10 => {
                    let numbers = data.as_chunks::<4>().0.iter();
                    let numbers: Vec<i64> =
                        numbers.map(|b| i32::from_be_bytes(*b).into()).collect();
                    let points = numbers.as_chunks::<2>().0;
                    assert_eq!(points.first(), points.last());
                    let doubled: i64 = points
                        .windows(2)
                        .map(|ends| ends[0][0] * ends[1][1] - ends[1][0] * ends[0][1])
                        .sum();
                    *areas.entry(layer).or_default() += doubled.abs();
                }
                _ => {}
            }
        }
    }
    // ENDLIB.
    assert_eq!(next(), ([4, 0], &[][..]));
    assert!(stream.is_empty());
    areas
}

#[test]
fn a_layer_per_value() {
    for connectivity in [Connectivity::Four, Connectivity::Eight] {
        for max_vertices in [4, 9, 4094] {
            let bytes = values(90, 70, 5);
            let regions = trace((90, 70), &bytes, connectivity);
            let gds = GdsOptions::default()
                .max_vertices(max_vertices)
                .pixel_size(3u32);
            let options = RegionWriteOptions::default();
            let stream = written(|out| write_regions_gds(&regions, &options, &gds, out));
            let mut expected = BTreeMap::new();
            for value in bytes {
                *expected.entry(u16::from(value)).or_default() += 2 * 9;
            }
            assert_eq!(layers(&stream), expected, "{connectivity:?} {max_vertices}");
        }
    }
    let refused = |regions: Regions<i32>| {
        let options = RegionWriteOptions::default();
        let error = write_regions_gds(&regions, &options, &GdsOptions::default(), Vec::new());
        match error {
            Err(Error::Unwritable { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    for value in [-1, 32768] {
        let reason = refused(trace((1, 1), &[value], Connectivity::Four));
        assert!(reason.contains(&format!("value {value} ")), "{reason}");
    }
    let regions = trace((2, 1), &[7.0f32, 7.5], Connectivity::Four);
    let options = RegionWriteOptions::default();
    let gds = GdsOptions::default().cell("no name");
    let error = write_regions_gds(&regions, &options, &gds, Vec::new()).unwrap_err();
    assert!(error.to_string().contains("no name"), "{error}");
    let error = write_regions_gds(&regions, &options, &GdsOptions::default(), Vec::new());
    assert!(error.unwrap_err().to_string().contains("7.5"));
}

#[test]
fn pictures_have_a_colour_per_value() {
    let regions = trace((60, 50), &values(60, 50, 4), Connectivity::Four);
    let options = RegionWriteOptions::default();
    let svg = written(|out| write_regions_svg(&regions, &options, out));
    let svg = String::from_utf8(svg).unwrap();
    let mut colours: BTreeMap<&str, &str> = BTreeMap::new();
    let mut count = 0;
    for path in svg.lines().filter(|line| line.starts_with("<path ")) {
        let (colour, rest) = path
            .strip_prefix("<path fill=\"")
            .unwrap()
            .split_once('"')
            .unwrap();
        let value = rest.split_once("<title>value ").unwrap().1;
        let value = value.split_once(',').unwrap().0;
        assert_eq!(*colours.entry(value).or_insert(colour), colour);
        count += 1;
    }
    assert_eq!(count, regions.count() as usize);
    let mut all: Vec<_> = colours.values().collect();
    all.sort();
    all.dedup();
    assert_eq!((colours.len(), all.len()), (5, 5));
}

/// What fails while it is written is an error, not a panic.
#[test]
fn full_disks() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            let len = bytes.len().min(self.0);
            self.0 -= len;
            Ok(len)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let regions = trace((60, 50), &values(60, 50, 4), Connectivity::Four);
    let options = RegionWriteOptions::default();
    for room in [0, 100, 5000] {
        let full = || Full(room);
        for result in [
            write_regions_geojson(&regions, &options, full()),
            write_regions_geojson_lines(&regions, &options, full()),
            write_regions_flatgeobuf(&regions, &options, full()),
            write_regions_svg(&regions, &options, full()),
            write_regions_gds(&regions, &options, &GdsOptions::default(), full()),
        ] {
            assert!(matches!(result, Err(Error::Write(_))), "{result:?}");
        }
    }
}
