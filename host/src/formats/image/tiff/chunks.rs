//! The strips or tiles of a TIFF, decoded on all cores.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use tiff::tags::CompressionMethod;

use super::layout::{Layout, Stripe, TiffDecoder};
use super::piece::{PiecePlace, Workplace};
use crate::Result;
use crate::error::Error;
use crate::formats::image::opened::Rows;
use crate::formats::image::sink::{PieceRows, Sink};
use crate::formats::progress::report;
use crate::formats::source::{Origin, Store, contain};
use crate::threads;

/// The least number of pixels that are decoded at once, if the image has that many: enough for all
/// cores.
const fn batch_pixels<S: Sink>() -> usize {
    if S::VALUES { 1 << 22 } else { 1 << 24 }
}

/// The strips or tiles of a file, delivered as rows.
///
/// A **stripe** is a row of tiles, or a strip; or some rows of these if they are not compressed.
/// The pieces of at least one stripe are decoded at once, each by one thread, to bits or values.
/// They are kept until all their rows are delivered. All buffers are reused for the next stripes.
pub(super) struct Chunks<S> {
    decoder: TiffDecoder,
    store: Store,
    layout: Layout,
    threshold: f64,
    /// The decoded stripes.
    stripes: Vec<Stripe>,
    /// Their pieces, from left to right and from top to bottom.
    pieces: Vec<Option<S>>,
    /// The first row that is not delivered yet.
    next_row: usize,
    /// The first row that is not decoded yet.
    end_row: usize,
    /// The number of bytes read so far.
    read_bytes: u64,
    workplaces: Mutex<Vec<Workplace>>,
}

impl<S: Sink> Rows<S> for Chunks<S> {
    fn read(&mut self, origin: Origin<'_>, into: &mut S) -> Result<()> {
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

impl<S: Sink> Chunks<S> {
    pub(super) fn new(decoder: TiffDecoder, store: Store, layout: Layout, threshold: f64) -> Self {
        Self {
            decoder,
            store,
            layout,
            threshold,
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
        let stripes = batch_pixels::<S>().div_ceil((rows * layout.width).max(1));
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
        // The bits or values of a stripe, and of a batch.
        let stripe = (rows as u64).saturating_mul(layout.width as u64);
        let stripe = S::bytes(layout.kind, stripe);
        (threads.max(1) as u64)
            .saturating_mul(workplace)
            .saturating_add(stripe)
            .saturating_add(2 * S::bytes(layout.kind, batch_pixels::<S>() as u64))
    }

    /// Decodes the next stripes.
    fn decode_stripes(&mut self, origin: Origin<'_>, into: &mut S) -> Result<()> {
        self.stripes.clear();
        let first = self.end_row;
        while self.end_row < self.layout.height
            && (self.end_row - first) * self.layout.width < batch_pixels::<S>()
        {
            let stripe = self.layout.stripe(self.end_row);
            self.end_row += stripe.rows;
            self.stripes.push(stripe);
        }
        let across = self.layout.across;
        let count = self.stripes.len() * across;
        if self.pieces.len() < count {
            self.pieces.resize_with(count, || None);
        }
        let place = |i: usize| PiecePlace {
            stripe: self.stripes[i / across],
            column: i % across,
        };
        let model = &*into;
        let results: Vec<Result<u64>> = if self.layout.packing.max_per_byte().is_none() {
            // By the crate `tiff`, which has one decoder.
            let mut workplace = Workplace::default();
            let (layout, decoder) = (&self.layout, &mut self.decoder);
            let pieces = self.pieces[..count].iter_mut().enumerate();
            pieces
                .map(|(i, piece)| {
                    workplace.fetch_by_crate(decoder, layout, origin, place(i))?;
                    workplace.pass(layout, place(i), self.threshold, model, piece)?;
                    Ok(0)
                })
                .collect()
        } else {
            let (layout, store, workplaces) = (&self.layout, &self.store, &self.workplaces);
            let threshold = self.threshold;
            let decode = |(i, piece): (usize, &mut Option<S>)| {
                let free = workplaces
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .pop();
                let mut workplace = free.unwrap_or_default();
                let read = workplace.fetch(store, layout, origin, place(i))?;
                workplace.pass(layout, place(i), threshold, model, piece)?;
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
    fn give(&self, y: usize, rows: usize, into: &mut S) {
        let (across, next_row) = (self.layout.across, self.next_row);
        let (stripes, pieces) = (&self.stripes, &self.pieces);
        // The pieces that contain row `i` of these, and its place in them.
        let row = |i: usize| {
            let y = next_row + i;
            let stripe = stripes.partition_point(|stripe| stripe.top <= y) - 1;
            (
                &pieces[stripe * across..][..across],
                y - stripes[stripe].top,
            )
        };
        let pieces = PieceRows {
            width: self.layout.chunk_width,
            at: &row,
        };
        into.take_pieces(y, rows, &pieces);
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
