//! The runs of labels along columns, for COCO's run lengths (`rle/`).

use rayon::prelude::*;

use super::labels::{Label, LabelImage, Run};
use super::slots::{Labelled, Slots, room};
use super::{rows_per_strip, slots_limit};
use crate::error::{Error, Result};
use crate::image::{Samples, WORD_BITS};
use crate::memory::{par_collect, push, zeroed_vec};

/// What is made of a label's runs.
struct Made<T> {
    label: i64,
    value: T,
}

impl<T> Labelled for Made<T> {
    fn label(&self) -> i64 {
        self.label
    }
}

/// Gives each label's runs to `add`, in the order of their places: pixels are counted column by
/// column, from top to bottom. The image has fewer than 2³² pixels. Returns what is made of each
/// label, in the order of the labels.
pub(crate) fn column_runs<L: Label, T: Default>(
    labels: Samples<'_, L>,
    mut add: impl FnMut(&mut T, u32, u32) -> Result<()>,
) -> Result<Vec<(i64, T)>> {
    let turned = labels.turned();
    let turned: &dyn LabelImage = &turned;
    let (columns, height) = (turned.height(), turned.width());
    let per_strip = rows_per_strip(height);
    let strips = columns.div_ceil(per_strip);
    let mut slots = Slots::new(slots_limit(columns.saturating_mul(height)));
    let mut made: Vec<Made<T>> = Vec::new();
    let mut take = |runs: &[(u32, Run)]| {
        for &(x, run) in runs {
            let slot = match slots.get(run.label, &made) {
                Some(slot) => slot,
                None => {
                    let slot = u32::try_from(made.len()).map_err(|_| Error::TooMany {
                        what: "labels",
                        limit: u32::MAX.into(),
                    })?;
                    room(&mut made)?;
                    made.push(Made {
                        label: run.label,
                        value: T::default(),
                    });
                    slots.set(run.label, slot)?;
                    slot
                }
            };
            let first = x * height as u32;
            add(
                &mut made[slot as usize].value,
                first + run.start,
                first + run.end,
            )?;
        }
        Ok::<(), Error>(())
    };
    let strip = |strip: usize| {
        let first = strip * per_strip;
        runs_of(turned, first, (first + per_strip).min(columns))
    };
    if strips > 1 {
        crate::threads::ensure();
    }
    let threads = rayon::current_num_threads();
    if strips == 1 || threads == 1 {
        for index in 0..strips {
            take(&strip(index)?)?;
        }
    } else {
        for first in (0..strips).step_by(4 * threads) {
            let end = (first + 4 * threads).min(strips);
            let found = (first..end).into_par_iter().map(strip);
            for runs in par_collect(found, "strips")? {
                take(&runs?)?;
            }
        }
    }
    made.sort_unstable_by_key(|made| made.label);
    let made = made.into_iter().map(|made| (made.label, made.value));
    crate::memory::collect(made, "the masks of labels")
}

/// The runs of the columns from `first` to before `end`, each with its column.
fn runs_of(turned: &dyn LabelImage, first: usize, end: usize) -> Result<Vec<(u32, Run)>> {
    let rows = turned.rows(first, end)?;
    let mut right = zeroed_vec(turned.width().div_ceil(WORD_BITS), "a column of bits")?;
    let (mut runs, mut all) = (Vec::new(), Vec::new());
    for x in first..end {
        rows.compare_right(x, &mut right);
        rows.runs(x, &right, &mut runs)?;
        for &run in &runs {
            push(&mut all, (x as u32, run), "runs of labels")?;
        }
    }
    Ok(all)
}
