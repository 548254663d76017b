//! Regions as FlatGeobuf: <https://flatgeobuf.org>.

use std::io::Write;

use glam::IVec2;

use super::flatbuffer::{Buffer, Field};
use super::geojson::placement;
use super::source::{Region, RegionSource, RegionWriteOptions, sum, write_each};
use super::value::{ColumnType, FileValue, Written};
use crate::Result;
use crate::error::{Error, WriteProblem};
use crate::formats::placement::{Envelope, NO_ENVELOPE, Placement, Winding, union};
use crate::formats::shares::ShareText;
use crate::memory::reserve;

/// The first bytes of a file, of version 3 of the format.
const MAGIC: [u8; 8] = *b"fgb\x03fgb\x00";

/// The type of polygons.
const POLYGON: u8 = 3;

/// The types of the columns `region` and `area`.
const UINT: ColumnType = ColumnType(6);
const LONG: ColumnType = ColumnType(7);

/// Writes a FlatGeobuf file: for each region a polygon with its holes. The file streams: it has no
/// spatial index, which programs can add (`ogr2ogr -f FlatGeobuf`).
///
/// The columns are `value`, of the values' type; `region`, the region's number; and `area`, in
/// pixels. Coordinates and directions of rings are as in
/// [`write_contours_geojson_in`](crate::formats::write_contours_geojson_in); the header names the
/// CRS.
///
/// # Errors
/// [`Error::Unwritable`](crate::Error::Unwritable) for a region of more than 2 GiB of points;
/// [`Error::Write`](crate::Error::Write).
pub fn write_regions_flatgeobuf<S: RegionSource>(
    regions: &S,
    options: &RegionWriteOptions,
    mut out: impl Write,
) -> Result<()> {
    let placement = placement(options);
    out.write_all(&MAGIC)?;
    let survey = Survey::of(regions, options, &placement)?;
    out.write_all(&survey.header(S::Value::COLUMN, placement.epsg()))?;
    let encode = |text: &mut ShareText<'_>, region: &Region<'_, S::Value>| {
        put_feature(text.bytes(), region, &placement)
    };
    write_each(regions, options.min_area, encode, "", &mut out)?;
    Ok(out.flush()?)
}

/// What the header says of all regions.
struct Survey {
    count: u64,
    /// The least and the greatest coordinates: x, y, x, y.
    envelope: Envelope,
}

impl Default for Survey {
    fn default() -> Self {
        Self {
            count: 0,
            envelope: NO_ENVELOPE,
        }
    }
}

impl Survey {
    fn of(
        regions: &impl RegionSource,
        options: &RegionWriteOptions,
        placement: &Placement,
    ) -> Result<Self> {
        sum(
            regions,
            options.min_area,
            |survey: &mut Self, region| {
                survey.count += 1;
                survey.envelope = union(survey.envelope, placement.envelope(region.outer()));
            },
            |a, b| Self {
                count: a.count + b.count,
                envelope: union(a.envelope, b.envelope),
            },
        )
    }

    /// The header: the table `Header` of the schema `header.fbs`. `value` is the type of values.
    fn header(&self, value: ColumnType, epsg: Option<u32>) -> Vec<u8> {
        let if_any = |any| match any {
            true => Field::Reference,
            false => Field::None,
        };
        let mut buffer = Buffer::new();
        let [name, envelope, _, _, _, _, _, columns, _, _, crs] = buffer.table(
            Buffer::ROOT,
            [
                Field::Reference,
                if_any(self.count > 0),
                Field::U8(POLYGON),
                // No z, m, t, tm.
                Field::None,
                Field::None,
                Field::None,
                Field::None,
                Field::Reference,
                Field::U64(self.count),
                // No index; its default is 16.
                Field::U16(0),
                if_any(epsg.is_some()),
            ],
        );
        buffer.string(name, "regions");
        if self.count > 0 {
            buffer.doubles(envelope, &self.envelope);
        }
        let names = [("value", value), ("region", UINT), ("area", LONG)];
        let places = buffer.references(columns, names.len());
        for ((name, kind), place) in names.into_iter().zip(places) {
            let [text, _] = buffer.table(place, [Field::Reference, Field::U8(kind.0)]);
            buffer.string(text, name);
        }
        if let Some(code) = epsg {
            let [organization, _] = buffer.table(crs, [Field::Reference, Field::I32(code as i32)]);
            buffer.string(organization, "EPSG");
        }
        buffer.finish()
    }
}

/// The tables `Feature` and `Geometry` of the schema `feature.fbs` without their lists: always the
/// same but for the places of these.
const FEATURE: usize = 16;
const GEOMETRY: usize = 48;
const LISTS: usize = 64;

/// Puts a feature with its length before it. Its first byte is at a multiple of 8.
fn put_feature<T: FileValue>(
    bytes: &mut Vec<u8>,
    region: &Region<'_, T>,
    placement: &Placement,
) -> Result<()> {
    let points: usize = region.rings.iter().map(|ring| ring.len() + 1).sum();
    let ends = region.rings.len();
    let size = LISTS + 64 + 4 * ends + 16 * points;
    if size > i32::MAX as usize {
        return Err(Error::unwritable(
            "flatgeobuf",
            WriteProblem::TooLarge,
            format!(
                "region {} has {points} points, which take more than 2 GiB: write GeoJSON",
                region.number
            ),
        ));
    }
    reserve(bytes, size, "a region to write")?;
    // Where things are, from the feature's start.
    let properties = LISTS;
    let properties_len = (2 + size_of::<T>()) + (2 + 4) + (2 + 8);
    let ends_at = (properties + 4 + properties_len).next_multiple_of(4);
    // One ring needs no ends.
    let ends_len = if ends > 1 { 4 + 4 * ends } else { 0 };
    // The coordinates, after their number, are at a multiple of 8.
    let xy = (ends_at + ends_len + 4).next_multiple_of(8) - 4;
    let total = xy + 4 + 16 * points;

    let start = bytes.len();
    let put = |bytes: &mut Vec<u8>, number: usize| bytes.extend((number as u32).to_le_bytes());
    put(bytes, total - 4);
    put(bytes, FEATURE - 4);
    // The fields of Feature, at 8: geometry, properties.
    put_shorts(bytes, &[8, 12, 4, 8]);
    put(bytes, FEATURE - 8);
    put(bytes, GEOMETRY - (FEATURE + 4));
    put(bytes, properties - (FEATURE + 8));
    // The fields of Geometry, at 28: ends, xy, z, m, t, tm, type.
    let ends_field = if ends > 1 { 4 } else { 0 };
    put_shorts(bytes, &[18, 13, ends_field, 8, 0, 0, 0, 0, 12, 0]);
    put(bytes, GEOMETRY - 28);
    put(
        bytes,
        if ends > 1 {
            ends_at - (GEOMETRY + 4)
        } else {
            0
        },
    );
    put(bytes, xy - (GEOMETRY + 8));
    bytes.extend([POLYGON, 0, 0, 0]);

    put(bytes, properties_len);
    put_shorts(bytes, &[0]);
    region.value.put_bytes(bytes);
    put_shorts(bytes, &[1]);
    bytes.extend(region.number.to_le_bytes());
    put_shorts(bytes, &[2]);
    bytes.extend(region.area().to_le_bytes());
    bytes.resize(start + ends_at, 0);
    if ends > 1 {
        put(bytes, ends);
        let mut end = 0;
        for ring in region.rings {
            end += ring.len() + 1;
            put(bytes, end);
        }
    }
    bytes.resize(start + xy, 0);
    put(bytes, 2 * points);
    put_ring(bytes, region.outer(), placement, Winding::CounterClockwise);
    for hole in region.holes() {
        put_ring(bytes, hole, placement, Winding::Clockwise);
    }
    Ok(())
}

fn put_shorts(bytes: &mut Vec<u8>, numbers: &[u16]) {
    for number in numbers {
        bytes.extend(number.to_le_bytes());
    }
}

/// Puts a closed ring of this winding.
fn put_ring(bytes: &mut Vec<u8>, ring: &[IVec2], placement: &Placement, winding: Winding) {
    let start = bytes.len();
    bytes.resize(start + 16 * (ring.len() + 1), 0);
    let places = bytes[start..].as_chunks_mut::<16>().0.iter_mut();
    let put = |(to, point): (&mut [u8; 16], &IVec2)| {
        let (x, y) = placement.position(*point);
        let (first, second) = to.split_at_mut(8);
        first.copy_from_slice(&x.to_le_bytes());
        second.copy_from_slice(&y.to_le_bytes());
    };
    let closed = ring.iter().chain(ring.first());
    match placement.winding(ring) == winding {
        true => places.zip(closed).for_each(put),
        false => places.zip(closed.rev()).for_each(put),
    }
}
