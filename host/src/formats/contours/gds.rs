//! Contours as a GDSII stream, the format that layout tools read.
//!
//! The crate for GDSII, `gds21`, is not used (3.0.0-pre.2, its newest version). It writes a library
//! that is completely in memory, with 136 bytes per polygon and a copy of every point: for a large
//! image of small features, many times the memory of tracing. It would also bring 58 more crates
//! into every program that depends on this one. The few kinds of records needed here are written
//! one after the other. Besides the contours, memory holds the records of some half a million
//! points, and on each thread at most a copy of the points of one component, while it is divided.

use std::io::Write;

use glam::IVec2;

use super::component::Component;
use super::polygon::Pieces;
use crate::error::{Error, OptionProblem, Result, WriteProblem, short};
use crate::formats::shares::{Share, ShareText, family_shares, write_shares};
use crate::memory::reserve;
use crate::options::setters;
use crate::trace::{ContourSource, PointRoom};
use crate::{BorderKind, Geometry};

/// The largest number of vertices of a boundary. A record has at most 65,534 bytes: 4 for its head
/// and 8 per point, and the first point is repeated at the end.
const MAX_VERTICES: u16 = 8190;

/// The largest number of vertices for older programs, which read the length of a record as a signed
/// integer.
const DEFAULT_VERTICES: u16 = 4094;

/// How to write a GDSII stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GdsOptions {
    /// The database unit in metres, the unit of integer coordinates.
    pub database_unit: f64,
    /// The user unit in metres, the unit in which programs show lengths.
    pub user_unit: f64,
    /// The side of a pixel in database units.
    pub pixel_size: u32,
    /// The layer, 0 to 32767.
    pub layer: u16,
    /// The datatype, 0 to 32767.
    pub datatype: u16,
    /// The largest number of vertices of a boundary, 4 to 8190; polygons with more are divided.
    /// Older programs read the length of a record as a signed integer, so at most 4094 vertices.
    pub max_vertices: u16,
    /// The name of the only cell: 1 to 32 letters, digits, `_`, `?` and `$`.
    pub cell: String,
    /// The name of the library, of the same form.
    pub library: String,
}

impl Default for GdsOptions {
    /// Pixels of 1 nm, shown in µm, on layer 1, datatype 0, in cell `TOP` of library `TRAZAR`;
    /// boundaries of up to 4094 vertices, which all programs read.
    fn default() -> Self {
        Self {
            database_unit: 1e-9,
            user_unit: 1e-6,
            pixel_size: 1,
            layer: 1,
            datatype: 0,
            max_vertices: DEFAULT_VERTICES,
            cell: "TOP".into(),
            library: "TRAZAR".into(),
        }
    }
}

setters! {
    GdsOptions {
        database_unit: f64,
        user_unit: f64,
        pixel_size: u32,
        layer: u16,
        datatype: u16,
        max_vertices: u16,
        cell: impl Into<String>,
        library: impl Into<String>,
    }
}

impl GdsOptions {
    /// Checks that the format can express these options.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for units below 1e-15 m or above 1 m, a pixel size of 0, and
    /// numbers and names outside the ranges given at the fields.
    pub fn validate(&self) -> Result<()> {
        let out_of_range =
            |option, reason: String| Err(Error::option(option, OptionProblem::OutOfRange, reason));
        for (option, what, unit) in [
            ("database_unit", "database", self.database_unit),
            ("user_unit", "user", self.user_unit),
        ] {
            if !(1e-15..=1.0).contains(&unit) {
                let unit = short(unit);
                return out_of_range(
                    option,
                    format!("the {what} unit of {unit} m is out of range: it is 1e-15 to 1 metre"),
                );
            }
        }
        for (what, number) in [("layer", self.layer), ("datatype", self.datatype)] {
            if number > i16::MAX as u16 {
                return out_of_range(
                    what,
                    format!("the {what} {number} is out of range: it is 0 to 32767"),
                );
            }
        }
        for (what, name) in [("cell", &self.cell), ("library", &self.library)] {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '?' | '$');
            if name.is_empty() || name.len() > 32 || !name.chars().all(fits) {
                return Err(Error::option(
                    what,
                    OptionProblem::Malformed,
                    format!(
                        "the {what} name {name:?} does not fit GDSII: \
                         it is 1 to 32 letters, digits, '_', '?' or '$'"
                    ),
                ));
            }
        }
        if !(4..=MAX_VERTICES).contains(&self.max_vertices) {
            return out_of_range(
                "max_vertices",
                format!(
                    "boundaries of at most {} vertices are out of range: it is 4 to {MAX_VERTICES}",
                    self.max_vertices
                ),
            );
        }
        if self.pixel_size == 0 {
            let reason = "the pixel size is 0: it is at least 1 database unit";
            return out_of_range("pixel_size", reason.into());
        }
        Ok(())
    }

    /// Checks that the coordinates of an image of this size fit the format.
    ///
    /// # Errors
    /// [`Error::Unwritable`]; it names the largest possible pixel size.
    pub fn check_fits(&self, width: u32, height: u32) -> Result<()> {
        let side = width.max(height);
        let most = i32::MAX as u32 / side.max(1);
        if self.pixel_size <= most {
            return Ok(());
        }
        Err(unwritable(
            WriteProblem::TooLarge,
            format!(
                "{side} pixels of {} database units do not fit 32-bit coordinates: use a larger \
             database unit, so that a pixel is {most} units at most, or trace the image in parts",
                self.pixel_size
            ),
        ))
    }
}

/// Writes contours along the pixels' edges as GDSII boundaries.
///
/// The y axis points up, and the image's bottom left corner is the origin: the pixel corner
/// `(x, y)` is at `(x, height - y) × pixel_size`. With
/// [`Retrieval::Ccomp`](crate::Retrieval::Ccomp) and [`Retrieval::Tree`](crate::Retrieval::Tree)
/// the boundaries cover exactly the foreground, each pixel once. There is one boundary per outer
/// border. GDSII has no holes, so each hole is joined to the outer border by a line that is walked
/// there and back. A boundary with more than [`max_vertices`](field@GdsOptions::max_vertices) is
/// divided into several.
///
/// With [`Retrieval::External`](crate::Retrieval::External) there are no contours of holes, so the
/// boundaries cover the holes too.
///
/// All dates in the stream are 1970-01-01, so that equal images give equal files.
///
/// # Errors
/// [`Error::Unwritable`] for contours along pixel centers, for holes without a hierarchy
/// ([`Retrieval::List`](crate::Retrieval::List)), and for coordinates that do not fit 32 bits;
/// [`Error::InvalidOption`]; [`Error::Write`].
pub fn write_contours_gds(
    contours: &impl ContourSource,
    options: &GdsOptions,
    out: impl Write,
) -> Result<()> {
    options.validate()?;
    check(contours, options)?;
    let records = Records::new(contours.height(), options);
    records.write_stream(out, |out| {
        let is_outer = |index: usize| contours.kinds()[index] == BorderKind::Outer;
        let encode = |share: &Share, room: &mut PointRoom, text: &mut ShareText<'_>| {
            let near = share.read(contours, room)?;
            let mut component = Component::default();
            for outer in share.contours.clone().filter(|&index| is_outer(index)) {
                let rings = component.rings(contours, outer, near)?;
                records.put_polygon(text, &rings, options.layer)?;
            }
            Ok(())
        };
        let shares = family_shares(contours, 0..contours.len(), is_outer);
        write_shares(shares, encode, "", out)
    })
}

fn unwritable(problem: WriteProblem, reason: impl Into<String>) -> Error {
    Error::unwritable("gds", problem, reason)
}

fn check(contours: &impl ContourSource, options: &GdsOptions) -> Result<()> {
    if contours.geometry() != Geometry::Edges {
        return Err(unwritable(
            WriteProblem::WrongOptions,
            "a layout needs the polygons along the pixels' edges: trace with geometry edges",
        ));
    }
    let is_lone_hole =
        |i: usize| contours.kinds()[i] == BorderKind::Hole && contours.links(i).parent.is_none();
    if (0..contours.len()).any(is_lone_hole) {
        return Err(unwritable(
            WriteProblem::WrongOptions,
            "holes are found through the hierarchy: trace with retrieval ccomp or tree",
        ));
    }
    options.check_fits(contours.width(), contours.height())
}

/// The type of a record and the type of its data.
type RecordType = [u8; 2];
const HEADER: RecordType = [0x00, 2];
const BGNLIB: RecordType = [0x01, 2];
const LIBNAME: RecordType = [0x02, 6];
const UNITS: RecordType = [0x03, 5];
const ENDLIB: RecordType = [0x04, 0];
const BGNSTR: RecordType = [0x05, 2];
const STRNAME: RecordType = [0x06, 6];
const ENDSTR: RecordType = [0x07, 0];
const BOUNDARY: RecordType = [0x08, 0];
const LAYER: RecordType = [0x0d, 2];
const DATATYPE: RecordType = [0x0e, 2];
const XY: RecordType = [0x10, 3];
const ENDEL: RecordType = [0x11, 0];

/// Puts the records of a stream.
pub(in crate::formats) struct Records<'a> {
    /// The image's height, and the options, which are valid for it.
    height: i32,
    options: &'a GdsOptions,
}

impl<'a> Records<'a> {
    /// For an image of this height, which the options are valid for.
    pub(in crate::formats) fn new(height: u32, options: &'a GdsOptions) -> Self {
        Self {
            height: height as i32,
            options,
        }
    }

    /// Writes a stream, whose boundaries `write` writes.
    pub(in crate::formats) fn write_stream<W: Write>(
        &self,
        mut out: W,
        write: impl FnOnce(&mut W) -> Result<()>,
    ) -> Result<()> {
        let mut start = Vec::new();
        self.put_start(&mut start);
        out.write_all(&start)?;
        write(&mut out)?;
        let mut end = Vec::new();
        put_record(&mut end, ENDSTR, &[]);
        put_record(&mut end, ENDLIB, &[]);
        out.write_all(&end)?;
        Ok(out.flush()?)
    }

    /// Puts what comes before the boundaries.
    fn put_start(&self, out: &mut Vec<u8>) {
        let options = self.options;
        // Last modified, last accessed: year, month, day, hour, minute, second.
        let dates: Vec<u8> = [1970i16, 1, 1, 0, 0, 0]
            .repeat(2)
            .into_iter()
            .flat_map(i16::to_be_bytes)
            .collect();
        put_record(out, HEADER, &600i16.to_be_bytes());
        put_record(out, BGNLIB, &dates);
        put_name(out, LIBNAME, &options.library);
        let units = [
            real(options.database_unit / options.user_unit),
            real(options.database_unit),
        ];
        put_record(out, UNITS, units.map(u64::to_be_bytes).as_flattened());
        put_record(out, BGNSTR, &dates);
        put_name(out, STRNAME, &options.cell);
    }

    /// Puts an outer ring with its holes, divided if it is too long.
    pub(in crate::formats) fn put_polygon(
        &self,
        text: &mut ShareText<'_>,
        rings: &[&[IVec2]],
        layer: u16,
    ) -> Result<()> {
        let limit = usize::from(self.options.max_vertices);
        if let [ring] = *rings
            && ring.len() <= limit
        {
            return self.put_boundary(text, ring, layer);
        }
        for piece in Pieces::new(rings.iter().copied(), limit)? {
            self.put_boundary(text, &piece?, layer)?;
        }
        Ok(())
    }

    fn put_boundary(&self, text: &mut ShareText<'_>, ring: &[IVec2], layer: u16) -> Result<()> {
        let scale = self.options.pixel_size as i32;
        let out = text.bytes();
        reserve(out, 64 + 8 * (ring.len() + 1), "a boundary to write")?;
        put_record(out, BOUNDARY, &[]);
        put_record(out, LAYER, &layer.to_be_bytes());
        put_record(out, DATATYPE, &self.options.datatype.to_be_bytes());
        put_head(out, XY, 8 * (ring.len() + 1));
        for point in ring.iter().chain(ring.first()) {
            out.extend((point.x * scale).to_be_bytes());
            out.extend(((self.height - point.y) * scale).to_be_bytes());
        }
        put_record(out, ENDEL, &[]);
        text.write_full()
    }
}

/// Puts the head of a record with `len` bytes of data.
fn put_head(out: &mut Vec<u8>, kind: RecordType, len: usize) {
    // A boundary's record is the longest, and fits.
    let len = (len + 4) as u16;
    out.extend(len.to_be_bytes());
    out.extend(kind);
}

fn put_record(out: &mut Vec<u8>, kind: RecordType, data: &[u8]) {
    put_head(out, kind, data.len());
    out.extend_from_slice(data);
}

/// Puts a record with a string, padded to an even length.
fn put_name(out: &mut Vec<u8>, kind: RecordType, name: &str) {
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    put_record(out, kind, &bytes);
}

/// `value` as an 8-byte real of GDSII: a sign bit, the exponent of 16 plus 64 (7 bits), and a
/// fraction from 1/16 to 1 (56 bits). Exact for positive values within its range, since a double's
/// fraction has 53 bits.
fn real(value: f64) -> u64 {
    let (mut fraction, mut exponent) = (value, 64u64);
    while fraction >= 1.0 && exponent < 127 {
        fraction /= 16.0;
        exponent += 1;
    }
    while fraction < 1.0 / 16.0 && exponent > 0 {
        fraction *= 16.0;
        exponent -= 1;
    }
    exponent << 56 | (fraction * (1u64 << 56) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryImage, Engine, TraceOptions};

    /// The boundaries' vertices.
    fn boundaries(mut stream: &[u8]) -> Vec<Vec<IVec2>> {
        let mut found = Vec::new();
        while let [high, low, kind, ..] = *stream {
            let (record, rest) = stream.split_at(usize::from(u16::from_be_bytes([high, low])));
            if kind == XY[0] {
                let numbers = record[4..].as_chunks::<4>().0;
                let numbers: Vec<i32> = numbers.iter().map(|&b| i32::from_be_bytes(b)).collect();
                let points = numbers.as_chunks::<2>().0.iter();
                let mut ring: Vec<IVec2> = points.map(|&p| IVec2::from(p)).collect();
                assert_eq!(ring.pop(), ring.first().copied());
                found.push(ring);
            }
            stream = rest;
        }
        found
    }

    /// The same contours make the same file at any time.
    #[test]
    fn dates_are_the_first_of_january_1970() {
        let image = BinaryImage::from_art("#").unwrap();
        let options = TraceOptions::default().geometry(Geometry::Edges);
        let contours = Engine::cpu().trace(&image, &options).unwrap();
        let mut stream = Vec::new();
        write_contours_gds(&contours, &GdsOptions::default(), &mut stream).unwrap();
        let date = [0x07, 0xb2, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0];
        let both = date.repeat(2);
        // Of the library, and of the structure.
        let found = stream.windows(both.len()).filter(|part| *part == both);
        assert_eq!(found.count(), 2);
    }

    #[test]
    fn boundaries_keep_the_limit_asked_for() {
        let image = BinaryImage::from_fn(65, 49, |x, y| x % 2 == 0 || y % 2 == 0).unwrap();
        let options = TraceOptions::default().geometry(Geometry::Edges);
        let contours = Engine::cpu().trace(&image, &options).unwrap();
        assert_eq!(GdsOptions::default().max_vertices, 4094);
        let mut before = usize::MAX;
        for max_vertices in [4, 5, 100, 4094, 8190] {
            let options = GdsOptions {
                max_vertices,
                ..GdsOptions::default()
            };
            let mut stream = Vec::new();
            write_contours_gds(&contours, &options, &mut stream).unwrap();
            let rings = boundaries(&stream);
            assert!(rings.iter().all(|r| r.len() <= usize::from(max_vertices)));
            let area: i128 = rings
                .iter()
                .map(|r| crate::geometry::doubled_area(r).abs())
                .sum();
            assert_eq!(area, 2 * i128::from(image.count_foreground()));
            assert!(rings.len() <= before);
            before = rings.len();
        }
        assert_eq!(before, 1);
        for (pixel_size, side, fits) in [
            (i32::MAX as u32, 1, true),
            (1 << 31, 1, false),
            (1 << 30, 1, true),
            (1 << 30, 2, false),
            ((1 << 30) - 1, 2, true),
            (1, i32::MAX as u32, true),
        ] {
            let options = GdsOptions {
                pixel_size,
                ..GdsOptions::default()
            };
            assert_eq!(
                options.check_fits(side, 1).is_ok(),
                fits,
                "{pixel_size} {side}"
            );
            assert_eq!(
                options.check_fits(1, side).is_ok(),
                fits,
                "{pixel_size} {side}"
            );
        }
        for max_vertices in [0, 3, 8191] {
            let options = GdsOptions {
                max_vertices,
                ..GdsOptions::default()
            };
            let refused = write_contours_gds(&contours, &options, Vec::new());
            assert!(matches!(refused, Err(Error::InvalidOption(_))));
        }
    }

    #[test]
    fn reals_are_those_of_the_format() {
        assert_eq!(real(1.0), 0x4110_0000_0000_0000);
        assert_eq!(real(2.0), 0x4120_0000_0000_0000);
        assert_eq!(real(0.5), 0x4080_0000_0000_0000);
        assert_eq!(real(1e-3), 0x3e41_8937_4bc6_a7f0);
        assert_eq!(real(1e-9), 0x3944_b82f_a09b_5a54);
        assert_eq!(real(1.0 / 16.0), 0x4010_0000_0000_0000);
        for value in [1e-15, 3e-10, 0.99, 1.0, 1e15] {
            let bits = real(value);
            let fraction = (bits & ((1 << 56) - 1)) as f64 / (1u64 << 56) as f64;
            let exponent = (bits >> 56) as i32 - 64;
            assert_eq!(fraction * 16f64.powi(exponent), value);
        }
    }
}
