//! The runs of labels along columns, for COCO's run lengths (`rle/`).

use std::ops::Range;

use rayon::prelude::*;

use super::labels::{Label, LabelImage};
use super::slots::{Labelled, Slots, room};
use super::{rows_per_strip, slots_limit};
use crate::error::Result;
use crate::image::{Samples, WORD_BITS};
use crate::memory::{collect, par_collect, push, with_room, zeroed_vec};

/// What is made of a label's runs.
struct Made<T> {
    label_in_image: i64,
    /// The label's number among those of its share.
    number: i64,
    value: T,
}

impl<T> Labelled for Made<T> {
    fn label(&self) -> i64 {
        self.number
    }
}

/// A run along columns: the places of its first pixel and of the one after its last.
struct ColumnRun {
    start: u32,
    end: u32,
    label: i64,
}

/// Divides labels into a number of shares that is a power of two, so that each thread takes the
/// runs of some labels. The labels of a share are numbered: as densely as labels are used.
#[derive(Clone, Copy)]
struct Shares {
    bits: u32,
}

impl Shares {
    /// The number of shares.
    const fn count(self) -> usize {
        1 << self.bits
    }

    /// The share of a label.
    #[inline(always)]
    const fn of(self, label: i64) -> usize {
        // Labels with the same number are in different shares. The hash of the number divides
        // labels whose lowest bits are equal, too, such as multiples of 1024.
        let hash = self
            .number(label)
            .cast_unsigned()
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let highest = hash >> 1 >> (u64::BITS - 1 - self.bits);
        (label.cast_unsigned() ^ highest) as usize & (self.count() - 1)
    }

    /// The number of a label among those of its share.
    #[inline(always)]
    const fn number(self, label: i64) -> i64 {
        label >> self.bits
    }
}

/// Some of the labels, whose runs one thread takes at a time.
struct Share<T> {
    shares: Shares,
    slots: Slots,
    made: Vec<Made<T>>,
}

impl<T: Default> Share<T> {
    /// Gives runs to `add`.
    fn take(
        &mut self,
        runs: &[ColumnRun],
        add: &impl Fn(&mut T, u32, u32) -> Result<()>,
    ) -> Result<()> {
        let Self { slots, made, .. } = self;
        for &ColumnRun { start, end, label } in runs {
            let number = self.shares.number(label);
            let slot = match slots.get(number, made) {
                Some(slot) => slot,
                None => {
                    // There are fewer labels than 2³² pixels.
                    let slot = made.len() as u32;
                    room(made)?;
                    made.push(Made {
                        label_in_image: label,
                        number,
                        value: T::default(),
                    });
                    slots.set(number, slot)?;
                    slot
                }
            };
            add(&mut made[slot as usize].value, start, end)?;
        }
        Ok(())
    }
}

/// Gives each label's runs to `add`, in the order of their places: pixels are counted column by
/// column, from top to bottom. The image has fewer than 2³² pixels. Returns what is made of each
/// label, in the order of the labels.
///
/// All threads list the runs of some strips of columns, and divide them by label into
/// [shares](Shares). Then each thread takes the runs of one share at a time.
pub(crate) fn column_runs<L: Label, T: Default + Send>(
    labels: Samples<'_, L>,
    add: impl Fn(&mut T, u32, u32) -> Result<()> + Sync,
) -> Result<Vec<(i64, T)>> {
    let turned = labels.turned();
    let turned: &dyn LabelImage = &turned;
    let (columns, height) = (turned.height(), turned.width());
    let per_strip = rows_per_strip(height);
    let strips = columns.div_ceil(per_strip);
    let mut threads = 1;
    if strips > 1 {
        crate::threads::ensure();
        threads = rayon::current_num_threads();
    }
    let shares = Shares {
        bits: threads.next_power_of_two().ilog2(),
    };
    let limit = slots_limit(columns.saturating_mul(height)) >> shares.bits;
    let mut all = with_room(shares.count(), "shares of labels")?;
    all.extend((0..shares.count()).map(|_| Share {
        shares,
        slots: Slots::new(limit),
        made: Vec::new(),
    }));
    let strip = |strip: usize| {
        let first = strip * per_strip;
        let end = (first + per_strip).min(columns);
        runs_of(turned, first..end, shares)
    };
    if let [share] = &mut all[..] {
        for index in 0..strips {
            for runs in strip(index)? {
                share.take(&runs, &add)?;
            }
        }
    } else {
        for first in (0..strips).step_by(4 * threads) {
            let end = (first + 4 * threads).min(strips);
            let found = par_collect((first..end).into_par_iter().map(strip), "strips")?;
            let found: Vec<_> = found.into_iter().collect::<Result<_>>()?;
            let all = all.par_iter_mut().enumerate();
            all.try_for_each(|(i, share)| {
                let mut of_share = found.iter().map(|runs| &runs[i]);
                of_share.try_for_each(|runs| share.take(runs, &add))
            })?;
        }
    }
    let made = all.into_iter().flat_map(|share| share.made);
    let made = made.map(|made| (made.label_in_image, made.value));
    let mut made = collect(made, "the masks of labels")?;
    if threads == 1 {
        made.sort_unstable_by_key(|&(label, _)| label);
    } else {
        made.par_sort_unstable_by_key(|&(label, _)| label);
    }
    Ok(made)
}

/// The runs of some columns, by share.
fn runs_of(
    turned: &dyn LabelImage,
    columns: Range<usize>,
    shares: Shares,
) -> Result<Vec<Vec<ColumnRun>>> {
    let rows = turned.rows(columns.start, columns.end)?;
    let height = turned.width();
    let mut right = zeroed_vec(height.div_ceil(WORD_BITS), "a column of bits")?;
    let mut runs = Vec::new();
    let mut all = with_room(shares.count(), "shares of labels")?;
    all.resize_with(shares.count(), Vec::new);
    for x in columns {
        rows.compare_right(x, &mut right);
        rows.runs(x, &right, &mut runs)?;
        let column = (x * height) as u32;
        for run in &runs {
            let label = run.label;
            let run = ColumnRun {
                start: column + run.start,
                end: column + run.end,
                label,
            };
            push(&mut all[shares.of(label)], run, "runs of labels")?;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_share_have_different_numbers() {
        for bits in [0, 1, 4, 7] {
            let shares = Shares { bits };
            for step in [1, 1024, 1 << 40] {
                let labels: Vec<i64> = (1..4001).map(|i| i * step).collect();
                let mut places: Vec<_> = labels
                    .iter()
                    .map(|&label| (shares.of(label), shares.number(label)))
                    .collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len(), labels.len(), "{bits} bits, step {step}");
                let greatest = (0..shares.count())
                    .map(|share| places.iter().filter(|place| place.0 == share).count())
                    .max();
                let even = labels.len() >> bits;
                assert!(greatest.unwrap() < 2 * even + 8, "{bits} bits, step {step}");
            }
        }
    }
}
