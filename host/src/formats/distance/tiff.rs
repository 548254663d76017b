//! Values as TIFF. Written here, since encoders of other libraries need to seek in the output.

use std::io::Write;

use super::tags::TagValues;
use super::{GeoTags, Values};
use crate::Result;
use crate::memory::{with_room, zeroed_vec};

/// The bytes of a strip, about.
const STRIP: usize = 1 << 18;
const WHAT: &str = "the directory of a TIFF";

/// Types of a tag's values.
const ASCII: u16 = 2;
const SHORT: u16 = 3;
const LONG: u16 = 4;
const DOUBLE: u16 = 12;
const LONG8: u16 = 16;

/// A directory entry.
struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
    /// Lowest byte first.
    bytes: Vec<u8>,
}

/// Writes values as a TIFF of one channel, uncompressed, in strips; a BigTIFF from 4 GB on.
///
/// `tags` are those of the raster that the values belong to; `no_data` is the value of cells
/// without data, which GDAL reads.
///
/// # Errors
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch),
/// [`Error::Write`](crate::Error::Write), [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn write_values_tiff(
    values: Values<'_>,
    width: u32,
    height: u32,
    tags: &GeoTags,
    no_data: &str,
    mut out: impl Write,
) -> Result<()> {
    values.check(width, height)?;
    let row = u64::from(width) * values.size() as u64;
    let rows = (STRIP as u64 / row).clamp(1, height.into());
    let strips = u64::from(height).div_ceil(rows);
    let data = row * u64::from(height);
    let big = data + 16 * strips > u64::from(u32::MAX) - (1 << 20);
    let layout = Layout { big };
    let strip_bytes = rows * row;
    let last = data - strip_bytes * (strips - 1);

    // The offsets are known once the directory's length is.
    let mut entries = entries(values, width, height, rows, tags, no_data);
    for tag in [STRIP_OFFSETS, STRIP_BYTES] {
        let bytes = zeroed_vec(layout.word() * strips as usize, WHAT)?;
        entries.push(Entry {
            tag,
            kind: if big { LONG8 } else { LONG },
            count: strips,
            bytes,
        });
    }
    entries.sort_unstable_by_key(|entry| entry.tag);
    let start = layout.data_start(&entries);
    for entry in &mut entries {
        let words = entry.bytes.chunks_exact_mut(layout.word());
        for (i, word) in (0..).zip(words) {
            let value = match entry.tag {
                STRIP_OFFSETS => start + i * strip_bytes,
                STRIP_BYTES if i + 1 == strips => last,
                STRIP_BYTES => strip_bytes,
                _ => break,
            };
            word.copy_from_slice(&value.to_le_bytes()[..layout.word()]);
        }
    }
    out.write_all(&layout.directory(&entries)?)?;
    values.write(&mut out)?;
    Ok(out.flush()?)
}

const STRIP_OFFSETS: u16 = 273;
const STRIP_BYTES: u16 = 279;
const GDAL_NO_DATA: u16 = 42113;

/// The entries but those of the strips.
fn entries(
    values: Values<'_>,
    width: u32,
    height: u32,
    rows: u64,
    tags: &GeoTags,
    no_data: &str,
) -> Vec<Entry> {
    let short = |tag, value: u16| Entry {
        tag,
        kind: SHORT,
        count: 1,
        bytes: value.to_le_bytes().into(),
    };
    let long = |tag, value: u32| Entry {
        tag,
        kind: LONG,
        count: 1,
        bytes: value.to_le_bytes().into(),
    };
    let text = |tag, text: &str| Entry {
        tag,
        kind: ASCII,
        count: text.len() as u64 + 1,
        bytes: [text.as_bytes(), b"\0"].concat(),
    };
    let sample_format = match values {
        Values::U8(_) | Values::U32(_) => 1,
        Values::F32(_) | Values::F64(_) => 3,
    };
    let mut entries = vec![
        long(256, width),
        long(257, height),
        short(258, 8 * values.size() as u16),
        // No compression; 0 is black; one sample per pixel.
        short(259, 1),
        short(262, 1),
        short(277, 1),
        long(278, rows as u32),
        short(339, sample_format),
        text(GDAL_NO_DATA, no_data),
    ];
    entries.extend(tags.tags.iter().map(|(tag, values)| {
        match values {
            TagValues::Text(value) => text(*tag, value),
            TagValues::Shorts(values) => Entry {
                tag: *tag,
                kind: SHORT,
                count: values.len() as u64,
                bytes: values
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect(),
            },
            TagValues::Doubles(values) => Entry {
                tag: *tag,
                kind: DOUBLE,
                count: values.len() as u64,
                bytes: values
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect(),
            },
        }
    }));
    entries
}

/// Classic TIFF or BigTIFF.
#[derive(Clone, Copy)]
struct Layout {
    big: bool,
}

impl Layout {
    /// The bytes of an offset.
    fn word(self) -> usize {
        if self.big { 8 } else { 4 }
    }

    fn header(self) -> usize {
        if self.big { 16 } else { 8 }
    }

    /// The bytes of the directory, without values that do not fit an entry.
    fn table(self, entries: &[Entry]) -> usize {
        if self.big {
            8 + 20 * entries.len() + 8
        } else {
            2 + 12 * entries.len() + 4
        }
    }

    /// Where the pixels start, at a multiple of 8.
    fn data_start(self, entries: &[Entry]) -> u64 {
        let outside = entries.iter().map(|entry| match entry.bytes.len() {
            len if len <= self.word() => 0,
            len => len.next_multiple_of(8),
        });
        let table = (self.header() + self.table(entries)).next_multiple_of(8);
        (table + outside.sum::<usize>()) as u64
    }

    /// Header, directory and values, up to the pixels.
    fn directory(self, entries: &[Entry]) -> Result<Vec<u8>> {
        let end = self.data_start(entries) as usize;
        let mut out = with_room(end, WHAT)?;
        let count = entries.len();
        if self.big {
            out.extend(b"II+\0\x08\0\0\0");
            out.extend(16u64.to_le_bytes());
            out.extend((count as u64).to_le_bytes());
        } else {
            out.extend(b"II*\0");
            out.extend(8u32.to_le_bytes());
            out.extend((count as u16).to_le_bytes());
        }
        let mut outside = (self.header() + self.table(entries)).next_multiple_of(8);
        for entry in entries {
            out.extend(entry.tag.to_le_bytes());
            out.extend(entry.kind.to_le_bytes());
            out.extend(&entry.count.to_le_bytes()[..self.word()]);
            let mut word = [0; 8];
            if entry.bytes.len() <= self.word() {
                word[..entry.bytes.len()].copy_from_slice(&entry.bytes);
            } else {
                word = (outside as u64).to_le_bytes();
                outside += entry.bytes.len().next_multiple_of(8);
            }
            out.extend(&word[..self.word()]);
        }
        // No further directory.
        out.extend(&[0; 8][..self.word()]);
        out.resize(out.len().next_multiple_of(8), 0);
        for entry in entries
            .iter()
            .filter(|entry| entry.bytes.len() > self.word())
        {
            out.extend(&entry.bytes);
            out.resize(out.len().next_multiple_of(8), 0);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use tiff::decoder::{Decoder, DecodingResult, Limits};
    use tiff::tags::Tag;

    use super::*;

    /// Another crate reads what was written, in both layouts.
    #[test]
    fn values_tags_and_strips_are_read_back() {
        let tags = GeoTags {
            tags: vec![
                (33550, TagValues::Doubles(vec![30.0, 30.0, 0.0])),
                (
                    33922,
                    TagValues::Doubles(vec![0.0, 0.0, 0.0, 5e5, 4e6, 0.0]),
                ),
                (
                    34735,
                    TagValues::Shorts(vec![1, 1, 0, 1, 3072, 0, 1, 32633]),
                ),
                (34737, TagValues::Text("WGS 84|".into())),
            ],
        };
        // 300 rows of 1000 values: more than one strip, the last one shorter.
        let costs: Vec<f32> = (0..300_000).map(|i| i as f32 * 0.25).collect();
        let mut out = Vec::new();
        write_values_tiff(Values::F32(&costs), 1000, 300, &tags, "nan", &mut out).unwrap();
        let mut decoder = Decoder::new(Cursor::new(out))
            .unwrap()
            .with_limits(Limits::unlimited());
        assert_eq!(decoder.dimensions().unwrap(), (1000, 300));
        assert!(decoder.strip_count().unwrap() > 1);
        let no_data = decoder.get_tag_ascii_string(Tag::GdalNodata).unwrap();
        assert_eq!(no_data.trim_end_matches('\0'), "nan");
        assert_eq!(
            decoder.get_tag_f64_vec(Tag::ModelPixelScaleTag).unwrap(),
            [30.0, 30.0, 0.0]
        );
        let DecodingResult::F32(found) = decoder.read_image().unwrap() else {
            panic!("floats of 32 bits");
        };
        assert_eq!(found, costs);
    }

    #[test]
    fn every_type_is_read_back_with_one_cell() {
        for values in [
            Values::U8(&[7]),
            Values::U32(&[70_000]),
            Values::F32(&[0.5]),
            Values::F64(&[f64::MIN_POSITIVE]),
        ] {
            let mut out = Vec::new();
            write_values_tiff(values, 1, 1, &GeoTags::default(), "0", &mut out).unwrap();
            let mut decoder = Decoder::new(Cursor::new(out)).unwrap();
            match (values, decoder.read_image().unwrap()) {
                (Values::U8(a), DecodingResult::U8(b)) => assert_eq!(a, b),
                (Values::U32(a), DecodingResult::U32(b)) => assert_eq!(a, b),
                (Values::F32(a), DecodingResult::F32(b)) => assert_eq!(a, b),
                (Values::F64(a), DecodingResult::F64(b)) => assert_eq!(a, b),
                (_, other) => panic!("{other:?}"),
            }
        }
    }

    /// The layout of large files, with a small one.
    #[test]
    fn big_directories_are_read_back() {
        let layout = Layout { big: true };
        let mut entries = entries(
            Values::U8(&[1, 2]),
            2,
            1,
            1,
            &GeoTags::default(),
            "-9999.25",
        );
        for tag in [STRIP_OFFSETS, STRIP_BYTES] {
            let bytes = vec![0; 8];
            entries.push(Entry {
                tag,
                kind: LONG8,
                count: 1,
                bytes,
            });
        }
        entries.sort_unstable_by_key(|entry| entry.tag);
        let start = layout.data_start(&entries);
        for entry in &mut entries {
            match entry.tag {
                STRIP_OFFSETS => entry.bytes = start.to_le_bytes().into(),
                STRIP_BYTES => entry.bytes = 2u64.to_le_bytes().into(),
                _ => {}
            }
        }
        let mut out = layout.directory(&entries).unwrap();
        assert_eq!(out.len() as u64, start);
        out.extend([1, 2]);
        let mut decoder = Decoder::new(Cursor::new(out)).unwrap();
        let no_data = decoder.get_tag_ascii_string(Tag::GdalNodata).unwrap();
        assert_eq!(no_data.trim_end_matches('\0'), "-9999.25");
        let DecodingResult::U8(found) = decoder.read_image().unwrap() else {
            panic!("bytes");
        };
        assert_eq!(found, [1, 2]);
    }
}
