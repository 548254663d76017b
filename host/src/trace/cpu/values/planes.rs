//! Planes of equality: for each pixel, which of its neighbours count and have the same value.
//!
//! A side of a pixel is a border where the values on its two sides differ. So four bits per pixel,
//! for the neighbours to the E, S, SE and SW, are all that is read of an image: the other four
//! neighbours are those of the pixels there. They are found in one pass over the values.

mod band;

use std::ops::Range;

use rayon::prelude::*;
use trazar_kernels::trace::node_bits::BesideBits;

use super::super::chains::Direction;
use super::super::pixels::{MAX_STRAIGHT, Pixels, SPARE_ROWS, Strips};
use super::super::saddles::{Overlap, RunRows};
use super::super::sides::Joined;
use super::last::LastOfValue;
use crate::error::Result;
use crate::image::compare::{ValueRow, row_words};
use crate::image::{PixelValue, ValueImage, WORD_BITS};
use crate::memory::{advise_large_pages, push, reserve, zeroed_vec};
use crate::trace::ValueBand;
use crate::trace::contours::BorderKind;

pub(super) use band::BandPlanes;

/// Name used in out-of-memory errors.
const PLANES: &str = "the planes of equal values";

/// The equal neighbours of 64 pixels, one word per direction. They are together because they are
/// used together.
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(32))]
struct Links {
    east: u64,
    south: u64,
    south_east: u64,
    south_west: u64,
}

/// The planes of an image of values, or of a band of one with the rows beside it.
pub(in crate::trace::cpu) struct ValuePlanes {
    width: u32,
    height: u32,
    row_words: usize,
    /// Whether there is a row above, and one below.
    rims: [bool; 2],
    /// The pixels that count.
    here: Vec<u64>,
    /// Which of their neighbours count and have the same value. Rows are as [`Pixels`] has them.
    links: Vec<Links>,
    /// For outer borders, if the result tells what they lie in.
    outer_starts: Option<OuterStarts>,
}

/// Where outer borders may begin, row by row.
struct OuterStarts {
    /// The number of starts in the rows before each, then in all.
    rows: Vec<usize>,
    /// The column, and that of the last pixel with the same value before it in the row.
    starts: Vec<[u32; 2]>,
}

/// The fewest pixels that are worth a task.
const LEAST_PIXELS: u32 = 1 << 16;

impl ValuePlanes {
    /// Compares the neighbours in an image or a band of one, on all cores.
    pub(in crate::trace::cpu) fn of<T: PixelValue>(band: &ValueBand<'_, '_, T>) -> Result<Self> {
        let (width, height) = (band.width(), band.height());
        let n = row_words(width);
        let words = n * (height as usize + 2 * SPARE_ROWS);
        let mut here: Vec<u64> = zeroed_vec(words, PLANES)?;
        let mut links: Vec<Links> = zeroed_vec(words, PLANES)?;
        advise_large_pages(&mut here);
        advise_large_pages(&mut links);
        let rows = rows_per_task(width, height);
        let rims @ [above, below] = band.rims();
        let first = SPARE_ROWS - usize::from(above);
        let within = first * n..(SPARE_ROWS + height as usize + usize::from(below)) * n;
        here[within.clone()]
            .par_chunks_mut(rows * n)
            .zip(links[within].par_chunks_mut(rows * n))
            .enumerate()
            .try_for_each(|(task, (here, links))| {
                let first = (task * rows) as i64 - i64::from(above);
                compare_rows(band, first, here, links)
            })?;
        Ok(Self {
            width,
            height,
            row_words: n,
            rims,
            here,
            links,
            outer_starts: None,
        })
    }

    /// Finds, for each place where an outer border may begin, the last pixel with its value before
    /// it in the row.
    pub(super) fn find_outer_starts<T: PixelValue>(
        &mut self,
        image: &ValueImage<'_, T>,
        joined: Joined,
    ) -> Result<()> {
        let rows = rows_per_task(self.width, self.height);
        let pixels = self.strip(0);
        let tasks = (self.height as usize).div_ceil(rows);
        let found = (0..tasks)
            .into_par_iter()
            .map(|task| {
                let mut starts = Vec::new();
                let mut counts = Vec::new();
                let mut last_of_value = LastOfValue::default();
                let end = (self.height as usize).min((task + 1) * rows);
                for y in task * rows..end {
                    let before = starts.len();
                    find_starts(&pixels, image, y, joined, &mut last_of_value, &mut starts)?;
                    push(&mut counts, starts.len() - before, PLANES)?;
                }
                Ok((counts, starts))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut all = OuterStarts {
            rows: Vec::new(),
            starts: Vec::new(),
        };
        reserve(&mut all.rows, self.height as usize + 1, PLANES)?;
        let total = found.iter().map(|(_, starts)| starts.len()).sum();
        reserve(&mut all.starts, total, PLANES)?;
        let mut sum = 0;
        all.rows.push(0);
        for (counts, starts) in found {
            all.starts.extend(starts);
            for count in counts {
                sum += count;
                all.rows.push(sum);
            }
        }
        self.outer_starts = Some(all);
        Ok(())
    }

    /// The planes from row `first_row` on.
    fn strip(&self, first_row: u32) -> StripPlanes<'_> {
        let first = first_row as usize * self.row_words;
        StripPlanes {
            planes: self,
            here: &self.here[first..],
            links: &self.links[first..],
            first_row,
        }
    }

    /// The words of a row of the planes.
    fn row_range(&self, row: usize) -> Range<usize> {
        let first = row * self.row_words;
        first..first + self.row_words
    }

    /// [`RunRows::for_each_overlap`] for row `row` of the planes and the row above it.
    #[inline(always)]
    fn for_each_overlap_at(
        &self,
        row: usize,
        mut first_runs: [u32; 2],
        mut visit: impl FnMut(usize, &Overlap),
    ) {
        let [above, row] = [row - 1, row].map(|row| self.row_range(row));
        let here = self.here[above.clone()].iter().zip(&self.here[row.clone()]);
        let links = self.links[above].iter().zip(&self.links[row]);
        let (mut above_carry, mut row_carry, mut south_carry, mut falling_carry) = (0, 0, 0, 0);
        for (i, ((&above_here, &row_here), (above, row))) in here.zip(links).enumerate() {
            let above_west = above.east << 1 | above_carry;
            let row_west = row.east << 1 | row_carry;
            let starts = [above_here & !above_west, row_here & !row_west];
            // The corner's other pixels are not of the region if neither side there joins them.
            let apart = !(above_west | row_west | above.south | above.south << 1 | south_carry);
            let overlap = Overlap {
                overlaps: above.south & !(above_west & row_west),
                saddles: [
                    (above.south_east << 1 | falling_carry) & apart,
                    above.south_west & apart,
                ],
                starts,
                first_runs,
            };
            if starts[0] | starts[1] != 0 {
                visit(i, &overlap);
                for (first, starts) in first_runs.iter_mut().zip(starts) {
                    *first += starts.count_ones();
                }
            }
            above_carry = above.east >> (WORD_BITS - 1);
            row_carry = row.east >> (WORD_BITS - 1);
            south_carry = above.south >> (WORD_BITS - 1);
            falling_carry = above.south_east >> (WORD_BITS - 1);
        }
    }
}

fn rows_per_task(width: u32, height: u32) -> usize {
    (LEAST_PIXELS / width).clamp(1, height) as usize
}

/// Compares the neighbours in some rows, from row `first` of the band on.
fn compare_rows<T: PixelValue>(
    band: &ValueBand<'_, '_, T>,
    first: i64,
    here: &mut [u64],
    links: &mut [Links],
) -> Result<()> {
    let n = row_words(band.width());
    let mut south: Vec<u64> = zeroed_vec(n, PLANES)?;
    let (mut row, mut below) = (ValueRow::new(band.image())?, ValueRow::new(band.image())?);
    band.read(first, &mut row)?;
    let rows = here.chunks_exact_mut(n).zip(links.chunks_exact_mut(n));
    for (y, (here, links)) in (first..).zip(rows) {
        band.read(y + 1, &mut below)?;
        row.compare_below(&below, &mut south);
        here.copy_from_slice(&row.here);
        let mut carry = 0;
        for (i, links) in links.iter_mut().enumerate() {
            let [south_east, rising] = row.diagonals(&below, &south, i);
            *links = Links {
                east: row.east[i],
                south: south[i],
                south_east,
                south_west: rising << 1 | carry,
            };
            carry = rising >> (WORD_BITS - 1);
        }
        std::mem::swap(&mut row, &mut below);
    }
    Ok(())
}

/// Finds where outer borders may begin in row `y`, each with the last pixel of its value before it.
/// `last_of_value` is scratch.
fn find_starts<T: PixelValue>(
    pixels: &StripPlanes<'_>,
    image: &ValueImage<'_, T>,
    y: usize,
    joined: Joined,
    last_of_value: &mut LastOfValue,
    starts: &mut Vec<[u32; 2]>,
) -> Result<()> {
    let n = pixels.row_words();
    let first = (y + SPARE_ROWS) * n;
    let may_begin =
        |i: usize| joined.may_begin_outer(pixels.row(first + i), pixels.above(first + i));
    let Some(last) = (0..n).rev().find(|&i| may_begin(i) != 0) else {
        return Ok(());
    };
    last_of_value.clear();
    for i in 0..=last {
        let (west, east) = pixels.row(first + i).vertical_sides();
        let may_begin = may_begin(i);
        let mut sides = west | east;
        while sides != 0 {
            let bit = sides.trailing_zeros() as usize;
            sides &= sides - 1;
            let x = (i * WORD_BITS + bit) as u32;
            let key = image.value(x, y as u32).key();
            if may_begin >> bit & 1 == 1
                && let Some(before) = last_of_value.get(key)
            {
                push(starts, [x, before], PLANES)?;
            }
            if east >> bit & 1 == 1 {
                last_of_value.replace(key, x)?;
            }
        }
    }
    Ok(())
}

/// The planes of a strip of rows.
#[derive(Clone, Copy)]
pub(in crate::trace::cpu) struct StripPlanes<'a> {
    planes: &'a ValuePlanes,
    here: &'a [u64],
    links: &'a [Links],
    /// The row of the image that is the strip's first.
    first_row: u32,
}

impl Pixels for StripPlanes<'_> {
    const DIAGONALS: usize = 2;

    #[inline(always)]
    fn row_words(&self) -> usize {
        self.planes.row_words
    }

    #[inline(always)]
    fn row(&self, at: usize) -> BesideBits {
        let east = self.links[at].east;
        BesideBits {
            west: east << 1 | self.links[at - 1].east >> (WORD_BITS - 1),
            here: self.here[at],
            east,
        }
    }

    #[inline(always)]
    fn above(&self, at: usize) -> BesideBits {
        let at = at - self.row_words();
        let Links {
            south,
            south_east,
            south_west,
            ..
        } = self.links[at];
        BesideBits {
            west: south_east << 1 | self.links[at - 1].south_east >> (WORD_BITS - 1),
            here: south,
            east: south_west >> 1 | self.links[at + 1].south_west << (WORD_BITS - 1),
        }
    }

    #[inline(always)]
    fn below(&self, at: usize) -> BesideBits {
        let links = self.links[at];
        BesideBits {
            west: links.south_west,
            here: links.south,
            east: links.south_east,
        }
    }

    #[inline(always)]
    fn line(&self, at: usize) -> [u64; 3] {
        let up = at - self.row_words();
        [self.here[up], self.here[at], self.links[up].south]
    }

    #[inline(always)]
    fn window(&self, place: usize) -> usize {
        let (at, bit) = (place / WORD_BITS, place % WORD_BITS);
        let (links, up) = (&self.links[at], &self.links[at - self.row_words()]);
        let (w, nw, ne);
        if (1..WORD_BITS - 1).contains(&bit) {
            w = links.east >> (bit - 1);
            nw = up.south_east >> (bit - 1);
            ne = up.south_west >> (bit + 1);
        } else {
            let above = self.above(at);
            w = self.row(at).west >> bit;
            nw = above.west >> bit;
            ne = above.east >> bit;
        }
        let [e, s, se, sw, n] = [
            links.east,
            links.south,
            links.south_east,
            links.south_west,
            up.south,
        ]
        .map(|word| word >> bit);
        let low = |word: u64, to: u32| ((word & 1) as usize) << to;
        low(nw, 0)
            | low(n, 1)
            | low(ne, 2)
            | low(w, 3)
            | 1 << 4
            | low(e, 5)
            | low(sw, 6)
            | low(s, 7)
            | low(se, 8)
    }

    #[inline]
    fn straight(&self, place: usize, direction: Direction) -> usize {
        // The walk came straight, so the pixels beside it so far are known to differ: only those
        // ahead are tested, up to the end of the word.
        let steps = if direction == 0 {
            let (at, bit) = (place / WORD_BITS, place % WORD_BITS);
            let links = &self.links[at];
            ((links.east & !links.south_east) >> bit).trailing_ones()
        } else {
            let (at, bit) = ((place - 1) / WORD_BITS, (place - 1) % WORD_BITS);
            let up = &self.links[at - self.row_words()];
            let straight = self.links[at].east & !up.south_east;
            (straight << (WORD_BITS - 1 - bit)).leading_ones()
        };
        (steps as usize).min(MAX_STRAIGHT)
    }

    #[inline(always)]
    fn for_each_word(
        &self,
        row: usize,
        mut visit: impl FnMut(usize, Option<(BesideBits, BesideBits)>),
    ) {
        let n = self.row_words();
        let first = row * n;
        let mut carry = 0;
        for (i, (links, &here)) in self.links[first..][..n]
            .iter()
            .zip(&self.here[first..])
            .enumerate()
        {
            let row = BesideBits {
                west: links.east << 1 | carry,
                here,
                east: links.east,
            };
            carry = links.east >> (WORD_BITS - 1);
            if row.west & row.east == here {
                visit(i, None);
            } else {
                visit(i, Some((row, self.above(first + i))));
            }
        }
    }

    #[inline(always)]
    fn side_before(&self, kind: BorderKind, x: usize, row: usize) -> Option<usize> {
        match kind {
            BorderKind::Outer => {
                let starts = self.planes.outer_starts.as_ref()?;
                let y = self.first_row as usize + row - SPARE_ROWS;
                let of_row = &starts.starts[starts.rows[y]..starts.rows[y + 1]];
                let found = of_row.binary_search_by_key(&(x as u32), |start| start[0]);
                found.ok().map(|at| of_row[at][1] as usize)
            }
            BorderKind::Hole => {
                // The first pixel of the run: after the last one before that has no equal to its E.
                let links = &self.links[row * self.row_words()..];
                let (mut i, bit) = (x / WORD_BITS, x % WORD_BITS);
                let mut ends = !links[i].east & ((1 << bit) - 1);
                while ends == 0 {
                    if i == 0 {
                        return Some(0);
                    }
                    i -= 1;
                    ends = !links[i].east;
                }
                Some(i * WORD_BITS + WORD_BITS - ends.leading_zeros() as usize)
            }
        }
    }
}

impl<'a> Strips for &'a ValuePlanes {
    type Pixels = StripPlanes<'a>;

    fn width(&self) -> u32 {
        self.width
    }

    fn height(&self) -> u32 {
        self.height
    }

    fn goes_on(&self, rows: &Range<u32>) -> [bool; 2] {
        let [above, below] = self.rims;
        [rows.start > 0 || above, rows.end < self.height || below]
    }

    fn room(&self, _: u32) -> Result<StripPlanes<'a>> {
        Ok(self.strip(0))
    }

    fn load(
        &self,
        pixels: &mut StripPlanes<'a>,
        rows: &Range<u32>,
        mut visit: impl FnMut(&StripPlanes<'a>, usize),
    ) {
        *pixels = self.strip(rows.start);
        for y in 0..rows.len() {
            visit(pixels, SPARE_ROWS + y);
        }
    }
}

impl<'a> RunRows for &'a ValuePlanes {
    type Pixels = StripPlanes<'a>;

    fn width(&self) -> u32 {
        self.width
    }

    fn height(&self) -> u32 {
        self.height
    }

    fn count_runs(&self, y: u32) -> u32 {
        let words = self.row_range(SPARE_ROWS + y as usize);
        let (mut runs, mut carry) = (0, 0);
        for (here, links) in self.here[words.clone()].iter().zip(&self.links[words]) {
            runs += (here & !(links.east << 1 | carry)).count_ones();
            carry = links.east >> (WORD_BITS - 1);
        }
        runs
    }

    #[inline(always)]
    fn for_each_overlap(&self, y: u32, first_runs: [u32; 2], visit: impl FnMut(usize, &Overlap)) {
        self.for_each_overlap_at(SPARE_ROWS + y as usize, first_runs, visit);
    }
}
