//! The strips or tiles of a TIFF, decoded on all cores.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use tiff::tags::CompressionMethod;

use super::layout::{Layout, Stripe, TiffDecoder};
use super::piece::{Piece, PiecePlace, Workplace};
use crate::Result;
use crate::error::Error;
use crate::formats::image::opened::Rows;
use crate::formats::image::threshold::Thresholder;
use crate::formats::progress::report;
use crate::formats::source::{Origin, Store, contain};
use crate::{WORD_BITS, threads};

/// The least number of pixels that are decoded at once, if the image has that many: enough for all
/// cores.
const BATCH_PIXELS: usize = 1 << 24;

/// The strips or tiles of a file, delivered as rows.
///
/// A **stripe** is a row of tiles, or a strip; or some rows of these if they are not compressed.
/// The pieces of at least one stripe are decoded at once, each by one thread, to bits. They are
/// kept until all their rows are delivered. All buffers are reused for the next stripes.
pub(super) struct Chunks {
    decoder: TiffDecoder,
    store: Store,
    layout: Layout,
    threshold: f64,
    keep_grey: bool,
    /// The decoded stripes.
    stripes: Vec<Stripe>,
    /// Their pieces, from left to right and from top to bottom.
    pieces: Vec<Piece>,
    /// The first row that is not delivered yet.
    next_row: usize,
    /// The first row that is not decoded yet.
    end_row: usize,
    /// The number of bytes read so far.
    read_bytes: u64,
    workplaces: Mutex<Vec<Workplace>>,
}

impl Rows for Chunks {
    fn read(&mut self, origin: Origin<'_>, into: &mut Thresholder) -> Result<()> {
        threads::ensure();
        let mut y = 0;
        while y < into.rows() {
            if self.next_row == self.end_row {
                self.decode_stripes(origin, into)?;
            }
            let rows = (self.end_row - self.next_row).min(into.rows() - y);
            self.give(y, rows, into);
            self.next_row += rows;
            y += rows;
        }
        Ok(())
    }
}

impl Chunks {
    pub(super) fn new(
        decoder: TiffDecoder,
        store: Store,
        layout: Layout,
        threshold: f64,
        keep_grey: bool,
    ) -> Self {
        Self {
            decoder,
            store,
            layout,
            threshold,
            keep_grey,
            stripes: Vec::new(),
            pieces: Vec::new(),
            next_row: 0,
            end_row: 0,
            read_bytes: 0,
            workplaces: Mutex::default(),
        }
    }

    /// The most memory that decoding takes, besides the delivered rows.
    pub(super) fn decoding_bytes(&self) -> u64 {
        threads::ensure();
        let layout = &self.layout;
        let rows = layout.piece_height.min(layout.height);
        let stripes = BATCH_PIXELS.div_ceil((rows * layout.width).max(1));
        let threads = rayon::current_num_threads().min(stripes * layout.across);
        // A JPEG is copied, and decoded to a buffer of its own.
        let copies = match layout.packing.compression {
            CompressionMethod::ModernJPEG => 3,
            _ => 1,
        };
        let samples = layout.chunk_bytes(rows).unwrap_or(usize::MAX) as u64;
        let packed = layout
            .counts
            .iter()
            .max()
            .map_or(0, |&count| count.min(samples));
        let workplace = samples
            .saturating_mul(layout.planes() as u64 * copies)
            .saturating_add(packed)
            .saturating_add(1 << 16);
        // The bits of a stripe, and of a batch.
        let stripe = (rows as u64).saturating_mul(layout.width as u64) / 8;
        (threads.max(1) as u64)
            .saturating_mul(workplace)
            .saturating_add(stripe)
            .saturating_add(BATCH_PIXELS as u64 / 4)
    }

    /// Decodes the next stripes.
    fn decode_stripes(&mut self, origin: Origin<'_>, into: &mut Thresholder) -> Result<()> {
        self.stripes.clear();
        let first = self.end_row;
        while self.end_row < self.layout.height
            && (self.end_row - first) * self.layout.width < BATCH_PIXELS
        {
            let stripe = self.layout.stripe(self.end_row);
            self.end_row += stripe.rows;
            self.stripes.push(stripe);
        }
        let across = self.layout.across;
        let count = self.stripes.len() * across;
        if self.pieces.len() < count {
            self.pieces.resize_with(count, Piece::default);
        }
        let place = |i: usize| PiecePlace {
            stripe: self.stripes[i / across],
            column: i % across,
        };
        let results: Vec<Result<u64>> = if self.layout.packing.max_per_byte().is_none() {
            // By the crate `tiff`, which has one decoder.
            let mut workplace = Workplace::default();
            let (layout, decoder) = (&self.layout, &mut self.decoder);
            let pieces = self.pieces[..count].iter_mut().enumerate();
            pieces
                .map(|(i, piece)| {
                    workplace.fetch_by_crate(decoder, layout, origin, place(i))?;
                    workplace.threshold(layout, place(i), self.threshold, self.keep_grey, piece)?;
                    Ok(0)
                })
                .collect()
        } else {
            let (layout, store, workplaces) = (&self.layout, &self.store, &self.workplaces);
            let (threshold, keep_grey) = (self.threshold, self.keep_grey);
            let decode = |(i, piece): (usize, &mut Piece)| {
                let free = workplaces
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .pop();
                let mut workplace = free.unwrap_or_default();
                let read = workplace.fetch(store, layout, origin, place(i))?;
                workplace.threshold(layout, place(i), threshold, keep_grey, piece)?;
                let mut free = workplaces.lock().unwrap_or_else(PoisonError::into_inner);
                free.push(workplace);
                Ok(read)
            };
            let pieces = self.pieces[..count].par_iter_mut().enumerate();
            // Panics are caught on the thread where they happen.
            pieces
                .map(|item| contain(origin, || decode(item)))
                .collect()
        };
        let mut results = results.into_iter();
        for _ in &self.stripes {
            self.read_bytes += bytes_of_stripe(results.by_ref().take(across))?;
        }
        report(self.read_bytes, self.store.file_len(origin));
        for piece in self.pieces[..count].iter().flatten() {
            into.take_facts(piece);
        }
        Ok(())
    }

    /// Delivers the next `rows` rows to `into`, from its row `y` on.
    fn give(&self, y: usize, rows: usize, into: &mut Thresholder) {
        let (across, chunk_width) = (self.layout.across, self.layout.chunk_width);
        let (stripes, pieces, next_row) = (&self.stripes, &self.pieces, self.next_row);
        // The pieces that contain row `i` of these, and its place in them.
        let row = |i: usize| {
            let y = next_row + i;
            let stripe = stripes.partition_point(|stripe| stripe.top <= y) - 1;
            (
                &pieces[stripe * across..][..across],
                y - stripes[stripe].top,
            )
        };
        let words = into.image.words_per_row();
        let into_rows = &mut into.image.words_mut()[y * words..][..rows * words];
        into_rows
            .par_chunks_mut(words)
            .with_min_len((1 << 14) / words)
            .enumerate()
            .for_each(|(i, into)| {
                let (pieces, y) = row(i);
                for (column, piece) in pieces.iter().enumerate() {
                    if let Some(piece) = piece {
                        put(into, column * chunk_width, piece.image.row(y as u32));
                    }
                }
            });
        let (width, shift) = (into.width(), into.shift);
        let Some(grey) = &mut into.grey else { return };
        let grey = grey[y * width..][..rows * width].chunks_exact_mut(width);
        for (i, into) in grey.enumerate() {
            let (pieces, y) = row(i);
            for (column, piece) in pieces.iter().enumerate() {
                let Some(piece) = piece else { continue };
                let Some(shades) = &piece.grey else { continue };
                let more = shift - piece.shift;
                let shades = &shades[y * piece.width()..][..piece.width()];
                for (to, shade) in into[column * chunk_width..].iter_mut().zip(shades) {
                    *to = shade.checked_shr(more).unwrap_or(0);
                }
            }
        }
    }
}

/// The bytes that were read for a stripe, or its first error. An error about a sample's value is
/// returned only if all pieces can be unpacked; it is then the first in raster order.
fn bytes_of_stripe(results: impl Iterator<Item = Result<u64>>) -> Result<u64> {
    let mut bytes = 0;
    let mut not_a_number = None;
    for result in results {
        match result {
            Ok(more) => bytes += more,
            Err(Error::NotANumber { x, y }) => {
                // planted: tiff-first-nan
                not_a_number = Some(not_a_number.map_or((y, x), |first| (y, x).min(first)));
            }
            Err(other) => return Err(other),
        }
    }
    match not_a_number {
        Some((y, x)) => Err(Error::NotANumber { x, y }),
        None => Ok(bytes),
    }
}

/// Puts the bits of part of a row in their place, from pixel `x` on. The row's bits there must be
/// 0.
fn put(row: &mut [u64], x: usize, bits: &[u64]) {
    let (word, shift) = (x / WORD_BITS, x % WORD_BITS);
    let row = &mut row[word..];
    if shift == 0 {
        row[..bits.len()].copy_from_slice(bits);
        return;
    }
    for (i, bits) in bits.iter().enumerate() {
        row[i] |= bits << shift;
        if let Some(next) = row.get_mut(i + 1) {
            // planted: tiff-word-end
            *next |= bits >> (WORD_BITS - shift);
        }
    }
}
