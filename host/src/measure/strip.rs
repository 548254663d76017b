//! One pass over a strip of rows.
//!
//! Each row is compared with itself and with the next one, which gives planes of bits. The ends of
//! runs, the pairs of equal neighbours and the border pixels with their border neighbours all come
//! from these planes by operations on words, so pixels within an object cost next to nothing. What
//! a run adds to its label's sums of coordinates has a closed form.

use trazar_kernels::measure::neighbours::outline_of;

use super::intensities::{IntensityImage, IntensityRows};
use super::labels::{LabelImage, LabelRows, Run};
use super::part::MARGIN;
use super::planes::{Planes, from_left, from_right};
use super::properties::Property;
use super::slots::{Slots, room};
use super::sums::{
    Base, IntensitySums, NARROW_WIDTH, Outline, Pairs, Powers, Second, Span, power_sums,
};
use crate::error::{Error, Result};
use crate::image::WORD_BITS;
use crate::memory::{collect, push, with_room, zeroed_vec};

/// Which sums the properties need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Needs {
    pub(super) second: bool,
    pub(super) powers: bool,
    pub(super) pairs: bool,
    pub(super) outline: bool,
    pub(super) intensities: bool,
    pub(super) deviations: bool,
    pub(super) weighted: bool,
    /// All runs, for what depends on an object's shape as a whole.
    pub(super) spans: bool,
}

impl Needs {
    /// What these properties need.
    pub(super) fn of(properties: impl IntoIterator<Item = Property>) -> Self {
        let mut needs = Self::default();
        for property in properties {
            property.add_needs(&mut needs);
        }
        needs
    }
}

/// The sums of labels, each label at its slot. Arrays that are not needed are empty.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) bases: Vec<Base>,
    pub(super) second: Vec<Second>,
    pub(super) powers: Vec<Powers>,
    pub(super) pairs: Vec<Pairs>,
    pub(super) outlines: Vec<Outline>,
    pub(super) intensities: Vec<IntensitySums>,
    pub(super) weighted: Vec<Powers>,
    /// In raster order.
    pub(super) spans: Vec<Span>,
}

impl Sums {
    /// The slot of a label; a new one at its first run.
    #[inline(always)]
    fn slot_of(
        &mut self,
        slots: &mut Slots,
        label: i64,
        row: u32,
        column: u32,
        needs: Needs,
    ) -> Result<u32> {
        if let Some(slot) = slots.get(label, &self.bases) {
            return Ok(slot);
        }
        let slot = self.add_label(label, row, column, needs)?;
        slots.set(label, slot)?;
        Ok(slot)
    }

    /// A new slot.
    fn add_label(&mut self, label: i64, row: u32, column: u32, needs: Needs) -> Result<u32> {
        fn add<T: Default>(array: &mut Vec<T>, needed: bool) -> Result<()> {
            if needed {
                room(array)?;
                array.push(T::default());
            }
            Ok(())
        }
        let slot = u32::try_from(self.bases.len()).map_err(|_| Error::TooMany {
            what: "labels",
            limit: u32::MAX.into(),
        })?;
        room(&mut self.bases)?;
        add(&mut self.second, needs.second)?;
        add(&mut self.powers, needs.powers)?;
        add(&mut self.pairs, needs.pairs)?;
        add(&mut self.outlines, needs.outline)?;
        add(&mut self.intensities, needs.intensities)?;
        add(&mut self.weighted, needs.weighted)?;
        self.bases.push(Base::new(label, row, column));
        Ok(slot)
    }

    /// Moves all rows: row `from` becomes row `to`.
    pub(super) fn move_rows(&mut self, from: u32, to: u32) {
        let moved = |row: &mut u32| *row = *row - from + to;
        for base in &mut self.bases {
            moved(&mut base.row);
            moved(&mut base.last_row);
        }
        self.spans.iter_mut().for_each(|span| moved(&mut span.row));
    }

    /// A copy.
    pub(super) fn try_clone(&self) -> Result<Self> {
        fn copy<T: Copy>(all: &[T]) -> Result<Vec<T>> {
            collect(all.iter().copied(), "the sums of labels")
        }
        Ok(Self {
            bases: copy(&self.bases)?,
            second: copy(&self.second)?,
            powers: copy(&self.powers)?,
            pairs: copy(&self.pairs)?,
            outlines: copy(&self.outlines)?,
            intensities: copy(&self.intensities)?,
            weighted: copy(&self.weighted)?,
            spans: copy(&self.spans)?,
        })
    }

    /// Adds the sums of a strip below all rows so far. Each label's sums are joined in the order of
    /// the strips.
    pub(super) fn join(&mut self, below: &Self, slots: &mut Slots, needs: Needs) -> Result<()> {
        let mut places = with_room(below.bases.len(), "the places of labels")?;
        for (from, base) in below.bases.iter().enumerate() {
            let slot = self.slot_of(slots, base.label, base.row, base.column, needs)?;
            places.push(slot);
            let to = slot as usize;
            let mine = &mut self.bases[to];
            let dr = i64::from(base.row) - i64::from(mine.row);
            let dc = i64::from(base.column) - i64::from(mine.column);
            mine.join(base);
            if needs.second {
                self.second[to].join(&below.second[from].shifted(base.area, dr, dc));
            }
            if needs.powers {
                self.powers[to].join(&below.powers[from].shifted(dr as f64, dc as f64));
            }
            if needs.pairs {
                self.pairs[to].join(&below.pairs[from]);
            }
            if needs.outline {
                self.outlines[to].join(&below.outlines[from]);
            }
            if needs.intensities {
                self.intensities[to].join(&below.intensities[from], needs.deviations);
            }
            if needs.weighted {
                self.weighted[to].join(&below.weighted[from].shifted(dr as f64, dc as f64));
            }
        }
        crate::memory::reserve(&mut self.spans, below.spans.len(), "the runs of labels")?;
        self.spans.extend(below.spans.iter().map(|span| Span {
            slot: places[span.slot as usize],
            ..*span
        }));
        Ok(())
    }
}

/// The images, and what is wanted of them.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) labels: &'a dyn LabelImage,
    pub(super) intensities: Option<&'a dyn IntensityImage>,
    pub(super) needs: Needs,
}

/// Sums up the rows from `first` to before `end`.
pub(super) fn sum_up(work: Work<'_>, first: usize, end: usize, slots: &mut Slots) -> Result<Sums> {
    let (width, height) = (work.labels.width(), work.labels.height());
    // The border pixels of the rows around the strip count too.
    let margin = MARGIN as usize;
    let (from, to) = (first.saturating_sub(margin), (end + margin).min(height));
    let labels = work.labels.rows(from, to)?;
    let intensities = work
        .intensities
        .map(|image| image.rows(first, end))
        .transpose()?;
    slots.clear();
    let mut strip = Strip {
        needs: work.needs,
        labels: &*labels,
        intensities: intensities.as_deref(),
        height,
        is_narrow: width <= NARROW_WIDTH,
        slots,
        runs: Vec::new(),
        above: Vec::new(),
        sums: Sums::default(),
    };
    strip.run(first, end, width.div_ceil(WORD_BITS))?;
    Ok(strip.sums)
}

struct Strip<'a> {
    needs: Needs,
    labels: &'a dyn LabelRows,
    intensities: Option<&'a dyn IntensityRows>,
    height: usize,
    is_narrow: bool,
    slots: &'a mut Slots,
    /// Those of the current row.
    runs: Vec<Run>,
    /// Those of the row above; none in the first row.
    above: Vec<Run>,
    sums: Sums,
}

impl Strip<'_> {
    fn run(&mut self, first: usize, end: usize, words: usize) -> Result<()> {
        const WHAT: &str = "a row of bits";
        let [mut above, mut row, mut below] = [(); 3].map(|()| Planes::default());
        for planes in [&mut above, &mut row, &mut below] {
            for plane in planes.all() {
                *plane = zeroed_vec(words, WHAT)?;
            }
        }
        let mut pairs: Vec<[u64; 6]> = zeroed_vec(words, WHAT)?;
        let mut outline: Vec<[u64; 3]> = zeroed_vec(words, WHAT)?;
        let with_neighbours = self.needs.pairs || self.needs.outline;
        if with_neighbours && first > 0 {
            // The border of the row above the strip depends on the row above that.
            if first > 1 {
                self.compare(first - 2, &mut below);
            }
            self.compare(first - 1, &mut row);
            row.find_border(&below);
            below.clear();
        }
        // `above` and `row` advance by one row with each turn.
        if with_neighbours {
            self.compare(first, &mut below);
            below.find_border(&row);
        }
        for y in first..end {
            if with_neighbours {
                // The rows `y - 1` and `y` are in `row` and `below`, from the turn before.
                std::mem::swap(&mut above, &mut row);
                std::mem::swap(&mut row, &mut below);
                if y + 1 < self.height {
                    self.compare(y + 1, &mut below);
                    below.find_border(&row);
                } else {
                    below.clear();
                }
            } else {
                self.labels.compare_right(y, &mut row.right);
            }
            std::mem::swap(&mut self.above, &mut self.runs);
            self.labels.runs(y, &row.right, &mut self.runs)?;
            if self.runs.is_empty() {
                continue;
            }
            self.place(y as u32)?;
            self.add_coordinates(y as u32);
            if self.needs.pairs {
                find_pairs(&row, &mut pairs);
                self.add_pairs(&pairs);
            }
            if self.needs.outline {
                find_outline(&above, &row, &below, &mut outline);
                self.add_outline(&outline);
            }
            self.add_intensities(y);
        }
        Ok(())
    }

    /// Compares row `y` with itself and with the next one.
    fn compare(&self, y: usize, planes: &mut Planes) {
        self.labels.compare_right(y, &mut planes.right);
        if y + 1 < self.height {
            self.labels.compare_below(y, planes);
        } else {
            planes.below.fill(0);
            planes.below_right.fill(0);
            planes.below_left.fill(0);
        }
    }

    /// Finds the slots of the runs, and counts their pixels.
    fn place(&mut self, y: u32) -> Result<()> {
        let mut above = self.above.iter().peekable();
        for run in &mut self.runs {
            let known = if self.slots.is_in_map(run.label) {
                // Most runs are below one of the same label.
                while above.next_if(|above| above.end <= run.start).is_some() {}
                let same = above.peek().filter(|above| above.label == run.label);
                same.map(|above| above.slot)
            } else {
                None
            };
            let (slots, needs) = (&mut *self.slots, self.needs);
            let slot = match known {
                Some(slot) => slot,
                None => self.sums.slot_of(slots, run.label, y, run.start, needs)?,
            };
            run.slot = slot;
            let base = &mut self.sums.bases[slot as usize];
            base.area += u64::from(run.end - run.start);
            base.last_row = y;
            base.min_column = base.min_column.min(run.start);
            base.max_column = base.max_column.max(run.end - 1);
        }
        if self.needs.spans {
            for run in &self.runs {
                let span = Span {
                    slot: run.slot,
                    row: y,
                    start: run.start,
                    end: run.end,
                };
                push(&mut self.sums.spans, span, "the runs of labels")?;
            }
        }
        Ok(())
    }

    fn add_coordinates(&mut self, y: u32) {
        let sums = &mut self.sums;
        for run in &self.runs {
            let base = &sums.bases[run.slot as usize];
            let row = i64::from(y) - i64::from(base.row);
            let first = i64::from(run.start) - i64::from(base.column);
            let len = u64::from(run.end - run.start);
            if self.needs.second {
                sums.second[run.slot as usize].add_run(row, first, len, self.is_narrow);
            }
            if self.needs.powers {
                sums.powers[run.slot as usize].add_run(row as f64, power_sums(first, len));
            }
        }
    }

    fn add_pairs(&mut self, bits: &[[u64; 6]]) {
        let add = |run: &Run, counts: [u32; 6]| {
            let pairs = &mut self.sums.pairs[run.slot as usize];
            let [below, below_right, below_left, squares, falling, rising] = counts.map(u64::from);
            pairs.runs += 1;
            pairs.below += below;
            pairs.below_right += below_right;
            pairs.below_left += below_left;
            pairs.squares += squares;
            pairs.diagonals += falling + rising;
        };
        count_each(&self.runs, bits, add);
    }

    fn add_outline(&mut self, bits: &[[u64; 3]]) {
        let add = |run: &Run, counts: [u32; 3]| {
            let outline = &mut self.sums.outlines[run.slot as usize].0;
            for (all, count) in outline.iter_mut().zip(counts) {
                *all += u64::from(count);
            }
        };
        count_each(&self.runs, bits, add);
    }

    fn add_intensities(&mut self, y: usize) {
        let Some(rows) = self.intensities else {
            return;
        };
        let (needs, sums) = (self.needs, &mut self.sums);
        if needs.intensities {
            rows.add(y, &self.runs, &mut sums.intensities, needs.deviations);
        }
        if needs.weighted {
            rows.add_weighted(y, &self.runs, &sums.bases, &mut sums.weighted);
        }
    }
}

/// Marks what [`Pairs`] counts.
fn find_pairs(row: &Planes, bits: &mut [[u64; 6]]) {
    for (i, bits) in bits.iter_mut().enumerate() {
        let (right, left) = (row.right[i], from_left(&row.right, i));
        let (below, falling, rising) = (row.below[i], row.below_right[i], row.below_left[i]);
        *bits = [
            below,
            falling,
            rising,
            right & below & falling,
            falling & !right & !below,
            rising & !left & !below,
        ];
    }
}

/// Marks the border pixels of a row [that add](outline_of) to the perimeter.
fn find_outline(above: &Planes, row: &Planes, below: &Planes, bits: &mut [[u64; 3]]) {
    for (i, bits) in bits.iter_mut().enumerate() {
        let [right, left] = [
            row.right[i] & from_right(&row.border, i),
            from_left(&row.right, i) & from_left(&row.border, i),
        ];
        let [up, down] = [
            above.below[i] & above.border[i],
            row.below[i] & below.border[i],
        ];
        let [down_right, down_left] = [
            row.below_right[i] & from_right(&below.border, i),
            row.below_left[i] & from_left(&below.border, i),
        ];
        let [up_right, up_left] = [
            from_right(&above.below_left, i) & from_right(&above.border, i),
            from_left(&above.below_right, i) & from_left(&above.border, i),
        ];
        let corners = [down_right, down_left, up_right, up_left];
        *bits = outline_of(row.border[i], [right, left, up, down], corners);
    }
}

/// Counts the bits of each run in each of some planes, which are interleaved by words.
fn count_each<const N: usize>(runs: &[Run], bits: &[[u64; N]], add: impl FnMut(&Run, [u32; N])) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has the features, as just asked.
        return unsafe { count_each_popcnt(runs, bits, add) };
    }
    count_each_anywhere(runs, bits, add);
}

/// As [`count_each`], with instructions that count bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,bmi1")]
fn count_each_popcnt<const N: usize>(
    runs: &[Run],
    bits: &[[u64; N]],
    add: impl FnMut(&Run, [u32; N]),
) {
    count_each_anywhere(runs, bits, add);
}

#[inline(always)]
fn count_each_anywhere<const N: usize>(
    runs: &[Run],
    bits: &[[u64; N]],
    mut add: impl FnMut(&Run, [u32; N]),
) {
    for run in runs {
        let (first, last) = (run.start as usize, run.end as usize - 1);
        let from_first = !0 << (first % WORD_BITS);
        let to_last = !0 >> (WORD_BITS - 1 - last % WORD_BITS);
        let mut counts = [0; N];
        let words = &bits[first / WORD_BITS..=last / WORD_BITS];
        for (i, word) in words.iter().enumerate() {
            let mut mask = !0u64;
            if i == 0 {
                mask &= from_first;
            }
            if i + 1 == words.len() {
                mask &= to_last;
            }
            for (count, plane) in counts.iter_mut().zip(word) {
                *count += (plane & mask).count_ones();
            }
        }
        add(run, counts);
    }
}
