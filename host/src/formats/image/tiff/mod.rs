//! Reading TIFF: directories through the crate `tiff`, strips and tiles by [`unpack`].

mod chunks;
mod geo;
mod layout;
mod pages;
mod piece;
mod unpack;

use self::chunks::Chunks;
use self::layout::{Layout, TiffDecoder, explain};
use self::pages::{more_pages, notes};
use super::content::Note;
use super::opened::Opened;
use super::options::ReadOptions;
use super::sink::Sink;
use crate::Result;
use crate::formats::source::Source;
use crate::image::check_size;

pub(super) fn open<S: Sink>(mut source: Source<'_>, options: &ReadOptions) -> Result<Opened<S>> {
    let origin = source.origin;
    let pages = more_pages(&mut source.bytes, origin.len).unwrap_or(0);
    source.rewind()?;
    let mut decoder = TiffDecoder::new(source.bytes).map_err(|error| explain(origin, error))?;
    let layout = Layout::of(&mut decoder, S::VALUES, origin)?;
    let kind = layout.kind;
    let threshold = kind.threshold(options.threshold)?;
    layout.check_claim(origin)?;
    check_size(layout.width as u64, layout.height as u64)?;
    let mut notes = notes(&mut decoder);
    if pages > 0 {
        notes.push(Note::MorePages(pages));
    }
    let (width, height) = (layout.width as u32, layout.height as u32);
    let (georeference, no_data) = (
        geo::georeference(&mut decoder, origin),
        geo::no_data(&mut decoder),
    );
    let chunks = Chunks::new(decoder, source.store, layout, threshold);
    Ok(Opened {
        width,
        height,
        kind,
        threshold,
        notes,
        whole_only: None,
        decoding_bytes: chunks.decoding_bytes(),
        no_data,
        georeference,
        rows: Box::new(chunks),
    })
}
