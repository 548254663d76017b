//! Reading TIFF: directories through the crate `tiff`, strips and tiles by [`unpack`].

mod chunks;
mod layout;
mod pages;
mod unpack;

use self::chunks::Chunks;
use self::layout::{Layout, TiffDecoder, explain};
use self::pages::{more_pages, notes};
use super::content::{Note, ReadImage};
use super::options::ReadOptions;
use super::sample::{SampleKind, Stored};
use super::threshold::Thresholder;
use crate::Result;
use crate::formats::source::Source;

pub(super) fn read(source: &mut Source<'_>, options: &ReadOptions) -> Result<ReadImage> {
    let origin = source.origin;
    let pages = more_pages(&mut source.bytes, origin.len).unwrap_or(0);
    source.rewind()?;
    let mut decoder =
        TiffDecoder::new(&mut source.bytes).map_err(|error| explain(origin, error))?;
    let layout = Layout::of(&mut decoder, origin)?;
    let threshold = layout.kind.threshold(options.threshold)?;
    layout.check_claim(origin)?;
    let rows = Thresholder::new(layout.width as u64, layout.height as u64, options.keep_grey)?;
    let mut notes = notes(&mut decoder);
    if pages > 0 {
        notes.push(Note::MorePages(pages));
    }
    let mut chunks = Chunks {
        origin,
        decoder,
        layout,
    };
    let rows = match chunks.layout.kind {
        SampleKind::Bit => chunks.take_bits(rows, u8::at_most(255.0 * threshold))?,
        SampleKind::U8 => chunks.take(rows, u8::at_most(threshold), Layout::shade)?,
        SampleKind::U16 => chunks.take(rows, u16::at_most(threshold), Layout::shade)?,
        SampleKind::I16 => chunks.take(rows, i16::at_most(threshold), first)?,
        SampleKind::I32 => chunks.take(rows, i32::at_most(threshold), first)?,
        SampleKind::F32 => chunks.take(rows, f32::at_most(threshold), first)?,
        SampleKind::F64 => chunks.take(rows, f64::at_most(threshold), first)?,
    };
    let mut image = ReadImage::new(rows, chunks.layout.kind, threshold, options);
    image.notes = notes;
    Ok(image)
}

/// The only channel, for types of samples that have no colours.
fn first<T: Stored>(_: &Layout, channel: &dyn Fn(usize) -> T) -> T {
    channel(0)
}
