//! The runs of labels, sorted by label.

use std::ops::Range;

use rayon::prelude::*;

use super::sums::Span;
use crate::error::Result;
use crate::memory::{collect, filled_vec, par_collect, zeroed_vec};

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

    /// The number of slots per share, if runs are to be sorted in this number of shares, each by a
    /// thread that reads the chunks with its slots. It is the number of all slots if most chunks
    /// have slots of several shares, as those of scattered labels do.
    pub(super) fn share(&self, slots: usize, shares: usize) -> usize {
        let share = slots.div_ceil(shares).max(1);
        let of_chunk = |&[first, last]: &[u32; 2]| (last - first) as usize / share + 1;
        let read = self.slots.iter().map(of_chunk).sum::<usize>();
        if read <= 4 * self.slots.len() {
            share
        } else {
            slots
        }
    }

    /// The runs with these slots, in raster order.
    fn with(&self, slots: &Range<u32>) -> impl Iterator<Item = &Span> {
        let of_chunks = self.spans.chunks(CHUNK).zip(&self.slots);
        of_chunks
            .filter(|(_, [first, last])| *first < slots.end && *last >= slots.start)
            .flat_map(|(chunk, _)| chunk.iter().filter(|span| slots.contains(&span.slot)))
    }

    /// Sorts the runs with these slots by slot, those of a slot in raster order.
    pub(super) fn sort(&self, slots: Range<u32>) -> Result<Sorted> {
        let index = |span: &Span| (span.slot - slots.start) as usize;
        // At first, element i + 1 is where slot i's runs start. It moves to the end of these runs
        // as they are listed.
        let mut starts: Vec<usize> = zeroed_vec(slots.len() + 2, WHAT)?;
        for span in self.with(&slots) {
            starts[index(span) + 2] += 1;
        }
        for slot in 2..starts.len() {
            starts[slot] += starts[slot - 1];
        }
        let mut spans = filled_vec(Span::default(), starts[slots.len() + 1], WHAT)?;
        for span in self.with(&slots) {
            let place = &mut starts[index(span) + 1];
            spans[*place] = *span;
            *place += 1;
        }
        Ok(Sorted { spans, starts })
    }
}

/// Runs sorted by slot.
pub(super) struct Sorted {
    spans: Vec<Span>,
    /// Where the runs of each slot start, and their number.
    starts: Vec<usize>,
}

impl Sorted {
    /// The runs of a slot, counted from the first one.
    pub(super) fn runs(&self, slot: usize) -> &[Span] {
        &self.spans[self.starts[slot]..self.starts[slot + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` runs with these slots.
    fn spans(count: u32, slot: impl Fn(u32) -> u32) -> Vec<Span> {
        let run = |at| Span {
            slot: slot(at),
            row: at / 10,
            start: at % 10 * 2,
            end: at % 10 * 2 + 1,
        };
        (0..count).map(run).collect()
    }

    #[test]
    fn shares_have_the_runs_of_their_labels_in_raster_order() {
        // Labels in one part of the image each, and in all of it; few chunks, and many.
        for count in [1, 5000, 100_000] {
            for (is_local, slot) in [
                (true, &(|at: u32| at / 40) as &dyn Fn(u32) -> u32),
                (false, &|at: u32| at.wrapping_mul(0x9e37_79b9) >> 7 & 1023),
            ] {
                let spans = spans(count, slot);
                let slots = spans.iter().map(|span| span.slot).max().unwrap() as usize + 1;
                let chunks = Chunks::of(&spans).unwrap();
                let share = chunks.share(slots, 16);
                if count == 100_000 {
                    assert_eq!(share, if is_local { slots.div_ceil(16) } else { slots });
                }
                for first in (0..slots).step_by(share) {
                    let end = (first + share).min(slots);
                    let sorted = chunks.sort(first as u32..end as u32).unwrap();
                    for slot in first..end {
                        let expected = spans.iter().filter(|span| span.slot as usize == slot);
                        let places = |span: &Span| (span.row, span.start, span.end);
                        let found = sorted.runs(slot - first).iter().map(places);
                        assert!(
                            found.eq(expected.map(places)),
                            "slot {slot} of {count} runs"
                        );
                    }
                }
            }
        }
    }
}
