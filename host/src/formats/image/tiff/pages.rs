//! Contents of a TIFF besides the pixels of its first page.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};

use tiff::tags::Tag;

use super::geo::no_data_text;
use super::layout::TiffDecoder;
use crate::formats::image::content::Note;

/// The first page's contents besides its pixels.
pub(super) fn notes(decoder: &mut TiffDecoder) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut has = |tag| matches!(decoder.find_tag(tag), Ok(Some(_)));
    let crs = has(Tag::GeoKeyDirectoryTag);
    let transform = [
        Tag::ModelPixelScaleTag,
        Tag::ModelTiepointTag,
        Tag::ModelTransformationTag,
    ];
    let transform = transform.into_iter().any(has);
    if crs || transform {
        notes.push(Note::Georeference { crs, transform });
    }
    if let Some(value) = no_data_text(decoder) {
        // It is printed to terminals, so it must be short.
        notes.push(Note::NoData(value.chars().take(40).collect()));
    }
    notes
}

/// The number of pages after the first, without smaller copies of pages. `None` for a file that
/// ends before its last directory.
pub(super) fn more_pages(bytes: &mut (impl Read + Seek + ?Sized), len: u64) -> Option<u64> {
    let mut read = |at: u64, count: usize| {
        let mut field = [0; 8];
        bytes.seek(SeekFrom::Start(at)).ok()?;
        bytes.read_exact(&mut field[..count]).ok()?;
        Some(field)
    };
    let start = read(0, 8)?;
    let little = start.starts_with(b"II");
    let number = |field: [u8; 8], count: usize| match little {
        true => u64::from_le_bytes(field),
        false => u64::from_be_bytes(field) >> (64 - 8 * count),
    };
    let big = number([start[2], start[3], 0, 0, 0, 0, 0, 0], 2) == 43;
    let (count_size, entry_size, pointer_size) = if big { (8, 20, 8) } else { (2, 12, 4) };
    let mut at = number(read(pointer_size as u64, pointer_size)?, pointer_size);
    let mut seen = HashSet::new();
    // The total size of directories is limited: overlapping ones could take very long to read.
    let mut left = len;
    let mut pages = 0u64;
    while at != 0 && seen.insert(at) {
        let entries = number(read(at, count_size)?, count_size);
        let Some(rest) = left.checked_sub(entries.checked_mul(entry_size)?.checked_add(2)?) else {
            break;
        };
        left = rest;
        let first = at + count_size as u64;
        let mut is_copy = false;
        // Tags are in ascending order, and the tag for a page's kind is the lowest of all.
        if entries > 0 && number(read(first, 2)?, 2) == u64::from(Tag::NewSubfileType.to_u16()) {
            let value = number(read(first + entry_size - pointer_size as u64, 4)?, 4);
            is_copy = value & 1 == 1;
        }
        pages += u64::from(!is_copy);
        at = number(
            read(first + entries * entry_size, pointer_size)?,
            pointer_size,
        );
    }
    Some(pages.saturating_sub(1))
}
