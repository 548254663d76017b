//! The runs of labels, sorted by label.

use std::ops::Range;

use rayon::prelude::*;

use super::sums::Span;
use crate::error::Result;
use crate::memory::{collect, par_collect, reserve};

/// Runs in raster order, in chunks, each with the slots of its labels. Labels that begin near each
/// other have slots near each other, so the runs of a range of slots are in few of the chunks.
pub(super) struct Chunks<'a> {
    spans: &'a [Span],
    /// The first slot and the last one of each chunk.
    slots: Vec<[u32; 2]>,
}

/// Runs per chunk.
const CHUNK: usize = 4096;
/// Runs that one thread cuts into chunks as fast as all threads do.
const MANY: usize = 1 << 16;

const WHAT: &str = "the runs of labels";

impl<'a> Chunks<'a> {
    pub(super) fn of(spans: &'a [Span]) -> Result<Self> {
        let ends = |chunk: &[Span]| {
            let all = chunk.iter().map(|span| span.slot);
            all.fold([u32::MAX, 0], |[first, last], slot| {
                [first.min(slot), last.max(slot)]
            })
        };
        let slots = if spans.len() <= MANY {
            collect(spans.chunks(CHUNK).map(ends), WHAT)?
        } else {
            crate::threads::ensure();
            par_collect(spans.par_chunks(CHUNK).map(ends), WHAT)?
        };
        Ok(Self { spans, slots })
    }

    /// The runs with these slots, in raster order.
    fn with(&self, slots: &Range<u32>) -> impl Iterator<Item = &Span> {
        let of_chunks = self.spans.chunks(CHUNK).zip(&self.slots);
        of_chunks
            .filter(|(_, [first, last])| *first < slots.end && *last >= slots.start)
            .flat_map(|(chunk, _)| chunk.iter().filter(|span| slots.contains(&span.slot)))
    }

    /// Sorts the runs with these slots by slot, those of a slot in raster order, into `sorted`.
    /// `starts` gets where each slot's runs start, and their number.
    pub(super) fn sort(
        &self,
        slots: Range<u32>,
        starts: &mut Vec<usize>,
        sorted: &mut Vec<Span>,
    ) -> Result<()> {
        let index = |span: &Span| (span.slot - slots.start) as usize;
        // At first, where each slot's runs start is one element further on: it moves to the end of
        // the slot's runs as they are listed.
        starts.clear();
        reserve(starts, slots.len() + 2, WHAT)?;
        starts.resize(slots.len() + 2, 0);
        for span in self.with(&slots) {
            starts[index(span) + 2] += 1;
        }
        for slot in 2..starts.len() {
            starts[slot] += starts[slot - 1];
        }
        let count = starts[slots.len() + 1];
        sorted.clear();
        reserve(sorted, count, WHAT)?;
        sorted.resize(count, Span::default());
        for span in self.with(&slots) {
            let place = &mut starts[index(span) + 1];
            sorted[*place] = *span;
            *place += 1;
        }
        starts.pop();
        Ok(())
    }
}
