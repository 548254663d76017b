//! Saddles: corners at which two pixels of a region touch diagonally, the other two not being of
//! that region. In a binary image the foreground is one region.
//!
//! A ring along the edges of pixels stays with its pixel at a saddle if the two pixels belong to
//! two 4-connected components. If they belong to one, the saddle is **joined**: the ring would come
//! to the corner a second time, and it crosses over to the other pixel instead.
//!
//! Overlapping runs of one region in adjacent rows are joined by union-find on all threads, so
//! finding the components takes 4 bytes per run.
//!
//! In a band of a larger image, two components may be connected by rows beyond the band. A saddle
//! between two components that both continue there is **open**, and so are the saddles at the
//! corners of the band's upper and lower rim. They are decided when parts are joined.

mod band;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rayon::prelude::*;
use trazar_kernels::primitives::bits::{count_through, starts};
use trazar_kernels::primitives::union_find::{Parents, find_and_shorten, union};

use super::forest::{Forest, OwnForest, singletons};
use super::pixels::Pixels;
use super::plane::Plane;
use crate::error::{Error, Result};
use crate::image::WORD_BITS;
use crate::memory::{reserve, zeroed_vec};
use crate::trace::Band;

pub(in crate::trace) use band::{BandRows, any_within, for_each_run};

/// One bit per saddle, at the pixel to its lower right.
pub(in crate::trace) struct Saddles {
    /// The joined saddles: for each word of pixels, [`Pixels::DIAGONALS`] words. Rows have as many
    /// words as those of [`Pixels`]; a spare one ends them. A band has one more row, for the
    /// corners of its lower rim. Empty if all saddles are joined.
    joined: Vec<u64>,
    /// The open saddles, in the same form; empty for a whole image, which has none.
    open: Vec<u64>,
}

/// How the two pixels of a saddle lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::trace) enum Diagonal {
    /// To the upper left and lower right of the corner.
    Falling = 0,
    /// To the lower left and upper right.
    Rising = 1,
}

/// A band's open saddles and 4-connected components, as needed to join it to other parts. `V` is
/// what regions differ in: their values, or nothing where there is one.
#[derive(Debug)]
pub(in crate::trace) struct OpenSaddles<V = ()> {
    /// In raster order of their corners; of two at a corner, the falling one first.
    pub(in crate::trace) saddles: Vec<OpenSaddle>,
    /// The runs that touch pixels of their region in the row above the band, and those that touch
    /// such pixels in the row below it, from left to right.
    pub(in crate::trace) runs: [Vec<RimRun<V>>; 2],
    /// The number of components that have such runs.
    pub(in crate::trace) components: u32,
}

impl<V> Default for OpenSaddles<V> {
    fn default() -> Self {
        Self {
            saddles: Vec::new(),
            runs: [Vec::new(), Vec::new()],
            components: 0,
        }
    }
}

/// A saddle that is not yet known to be joined or not.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct OpenSaddle {
    /// The corner: the upper left one of pixel `(x, y)` of the band.
    pub(in crate::trace) x: u32,
    pub(in crate::trace) y: u32,
    /// Whether the foreground is to the upper left and lower right.
    pub(in crate::trace) falling: bool,
    /// The components of the upper and the lower foreground pixel: [`ENDED`] for one that does not
    /// continue beyond the band, and for the pixel beyond the rim.
    pub(in crate::trace) components: [u32; 2],
}

/// Sentinel: the component does not continue beyond the part.
pub(in crate::trace) const ENDED: u32 = u32::MAX;

/// A run in the first or last row of a part.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct RimRun<V = ()> {
    /// Its first column, and the one after its last.
    pub(in crate::trace) columns: [u32; 2],
    pub(in crate::trace) component: u32,
    /// Its region's. Runs above each other with the same value are of one region.
    pub(in crate::trace) value: V,
}

/// The fewest pixels that are worth a task.
const LEAST_PIXELS: u32 = 1 << 16;

/// Rows of runs: what saddles are found in.
pub(in crate::trace) trait RunRows: Copy + Sync {
    /// The pixels that the runs consist of.
    type Pixels: Pixels;

    /// Width in pixels.
    fn width(&self) -> u32;

    /// Height in pixels.
    fn height(&self) -> u32;

    /// The number of runs in row `y`.
    fn count_runs(&self, y: u32) -> u32;

    /// Visits the words of row `y` and the row above it, from left to right, except words in which
    /// no run begins or ends. `first_runs` are the numbers of runs before the two rows.
    fn for_each_overlap(&self, y: u32, first_runs: [u32; 2], visit: impl FnMut(usize, &Overlap));
}

/// Two words of runs, one above the other.
pub(in crate::trace) struct Overlap {
    /// The first column in which each pair of runs of one region overlaps.
    pub(in crate::trace) overlaps: u64,
    /// The pixels with a saddle at their upper left corner, by [`Diagonal`].
    pub(in crate::trace) saddles: [u64; 2],
    /// The first pixels of the runs in the upper word and in the lower one.
    pub(in crate::trace) starts: [u64; 2],
    /// The runs that start before these words.
    pub(in crate::trace) first_runs: [u32; 2],
}

impl Overlap {
    /// Visits the words of a row of bits and the row above it, as [`RunRows::for_each_overlap`].
    #[inline(always)]
    fn for_each(rows: [&[u64]; 2], first_runs: [u32; 2], mut visit: impl FnMut(usize, &Self)) {
        let [above, row] = rows;
        let mut first_runs = first_runs;
        let (mut above_carry, mut row_carry) = (0, 0);
        for (i, (&above, &row)) in above.iter().zip(row).enumerate() {
            // In most images, most words continue the run or background to their left.
            let uniform = |word: u64, carry: u64| word == carry.wrapping_neg();
            if uniform(above, above_carry) && uniform(row, row_carry) {
                continue;
            }
            let (above_left, row_left) = (above << 1 | above_carry, row << 1 | row_carry);
            let overlap = Self {
                overlaps: above & row & !(above_left & row_left),
                saddles: [
                    above_left & row & !above & !row_left,
                    above & row_left & !above_left & !row,
                ],
                starts: [starts(above, above_carry), starts(row, row_carry)],
                first_runs,
            };
            visit(i, &overlap);
            for (first, starts) in first_runs.iter_mut().zip(overlap.starts) {
                *first += starts.count_ones();
            }
            (above_carry, row_carry) = (above >> 63, row >> 63);
        }
    }

    /// The last runs that start at or before a bit, above and in the row.
    #[inline(always)]
    fn runs_at(&self, bit: u32) -> [u32; 2] {
        [0, 1].map(|i| self.first_runs[i] + count_through(self.starts[i], bit) - 1)
    }

    /// The runs that touch in the saddle at a bit. One of them ends to the left of the corner;
    /// another run may begin to the right of it.
    #[inline(always)]
    fn runs_of_saddle(&self, bit: u32, diagonal: Diagonal) -> [u32; 2] {
        let mut runs = self.runs_at(bit);
        let ended = diagonal as usize;
        runs[ended] -= (self.starts[ended] >> bit & 1) as u32;
        runs
    }

    /// Visits the saddles of pixels `P`, with the runs that touch there.
    #[inline(always)]
    fn for_each_saddle<P: Pixels>(&self, mut visit: impl FnMut(u32, Diagonal, [u32; 2])) {
        let mut corners = self.saddles[0] | self.saddles[1];
        while corners != 0 {
            let bit = corners.trailing_zeros();
            corners &= corners - 1;
            if P::DIAGONALS == 1 {
                // The other two pixels there are in no run.
                let diagonal = if self.saddles[0] >> bit & 1 == 1 {
                    Diagonal::Falling
                } else {
                    Diagonal::Rising
                };
                visit(bit, diagonal, self.runs_at(bit));
                continue;
            }
            for diagonal in [Diagonal::Falling, Diagonal::Rising] {
                if self.saddles[diagonal as usize] >> bit & 1 == 1 {
                    visit(bit, diagonal, self.runs_of_saddle(bit, diagonal));
                }
            }
        }
    }
}

impl RunRows for Band<'_> {
    type Pixels = Plane;

    fn width(&self) -> u32 {
        Band::width(self)
    }

    fn height(&self) -> u32 {
        Band::height(self)
    }

    fn count_runs(&self, y: u32) -> u32 {
        let mut carry = 0;
        let mut runs = 0;
        for &word in self.row(y) {
            runs += starts(word, carry).count_ones();
            carry = word >> 63;
        }
        runs
    }

    #[inline(always)]
    fn for_each_overlap(&self, y: u32, first_runs: [u32; 2], visit: impl FnMut(usize, &Overlap)) {
        Overlap::for_each([self.row(y - 1), self.row(y)], first_runs, visit);
    }
}

impl Saddles {
    /// Finds the joined saddles of an image.
    pub(in crate::trace) fn of<R: RunRows>(rows: R) -> Result<Self> {
        let (joined, _) = Components::of(rows)?.saddles(0)?;
        let open = Vec::new();
        Ok(Self { joined, open })
    }

    /// Finds the saddles of a band that are joined, and those that are open.
    pub(in crate::trace) fn of_band<R: BandRows>(band: R) -> Result<(Self, OpenSaddles<R::Value>)> {
        let mut components = Components::of(band)?;
        components.find_those_that_go_on()?;
        let (joined, open, saddles) = components.saddles_of_band()?;
        let open_saddles = components.name(saddles)?;
        Ok((Self { joined, open }, open_saddles))
    }

    /// All saddles joined: pixels that touch at a corner are joined there.
    pub(in crate::trace) const fn all_joined() -> Self {
        Self {
            joined: Vec::new(),
            open: Vec::new(),
        }
    }

    /// The joined saddles on a diagonal at the pixels of a word.
    #[inline(always)]
    pub(in crate::trace) fn joined<P: Pixels>(&self, word: usize, diagonal: Diagonal) -> u64 {
        let at = word * P::DIAGONALS + diagonal as usize % P::DIAGONALS;
        self.joined.get(at).copied().unwrap_or(!0)
    }

    /// Whether some are open.
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The open saddles on a diagonal at the pixels of a word.
    #[inline]
    pub(in crate::trace) fn open<P: Pixels>(&self, word: usize, diagonal: Diagonal) -> u64 {
        let at = word * P::DIAGONALS + diagonal as usize % P::DIAGONALS;
        self.open.get(at).copied().unwrap_or(0)
    }
}

/// The 4-connected components of an image or a band.
struct Components<R> {
    rows: R,
    /// The fewest rows that are worth a task.
    least_rows: usize,
    /// The number of runs in the rows before each.
    first_runs: Vec<u32>,
    /// The runs' parents; those of one component lead to the same root.
    parents: Vec<AtomicU32>,
    /// One bit per root whose component has foreground above or below it, beyond the band.
    goes_on: Vec<AtomicU64>,
}

impl<R: RunRows> Components<R> {
    fn of(rows: R) -> Result<Self> {
        let height = rows.height();
        let least_rows = (LEAST_PIXELS / rows.width()).max(1) as usize;
        let mut first_runs: Vec<u32> = zeroed_vec(height as usize, "the runs of rows")?;
        let each_row = first_runs.par_iter_mut().with_min_len(least_rows);
        each_row
            .enumerate()
            .for_each(|(y, runs)| *runs = rows.count_runs(y as u32));
        let mut count = 0u32;
        for runs in &mut first_runs {
            let before = count;
            count = count.checked_add(*runs).ok_or(Error::TooMany {
                what: "runs of foreground",
                limit: u32::MAX.into(),
            })?;
            *runs = before;
        }

        let this = Self {
            rows,
            least_rows,
            first_runs,
            parents: singletons(count, "the runs of rows")?,
            goes_on: Vec::new(),
        };
        // Each thread joins a group of rows; then the groups are joined.
        let group = least_rows as u32;
        let groups = height.div_ceil(group);
        let own = OwnForest(&this.parents);
        (0..groups).into_par_iter().for_each(|i| {
            for y in i * group + 1..height.min((i + 1) * group) {
                this.join_runs(own, y);
            }
        });
        let parents = Forest(&this.parents);
        (1..groups).into_par_iter().for_each(|i| {
            this.join_runs(parents, i * group);
        });
        Ok(this)
    }

    /// Joins the runs of rows `y - 1` and `y` that overlap.
    #[inline(always)]
    fn join_runs(&self, parents: impl Parents, y: u32) {
        self.rows
            .for_each_overlap(y, self.runs_before(y), |_, overlap| {
                let mut overlaps = overlap.overlaps;
                while overlaps != 0 {
                    let [above, run] = overlap.runs_at(overlaps.trailing_zeros());
                    union(parents, above, run);
                    overlaps &= overlaps - 1;
                }
            });
    }

    /// The number of runs before each of rows `y - 1` and `y`.
    fn runs_before(&self, y: u32) -> [u32; 2] {
        [self.first_runs[y as usize - 1], self.first_runs[y as usize]]
    }

    fn goes_on(&self, root: u32) -> bool {
        let (word, bit) = (root as usize / WORD_BITS, root as usize % WORD_BITS);
        self.goes_on
            .get(word)
            .is_some_and(|word| word.load(Relaxed) >> bit & 1 == 1)
    }

    /// The planes of joined saddles, with `more` rows at their end, and the open saddles between
    /// two rows of the band, with the roots of their components.
    fn saddles(&self, more: usize) -> Result<(Vec<u64>, Vec<OpenSaddle>)> {
        let diagonals = R::Pixels::DIAGONALS;
        let row_words = (self.rows.width() as usize / WORD_BITS + 1) * diagonals;
        let height = self.rows.height() as usize;
        let words = row_words * (height + more) + diagonals;
        let mut joined: Vec<u64> = zeroed_vec(words, "the plane of saddles")?;
        let find = |mut found: FoundSaddles, (y, joined): (usize, &mut [u64])| {
            let y = y as u32;
            if y == 0 {
                return found;
            }
            let first_runs = self.runs_before(y);
            self.rows.for_each_overlap(y, first_runs, |i, overlap| {
                overlap.for_each_saddle::<R::Pixels>(|bit, diagonal, runs| {
                    let roots = runs.map(|run| find_and_shorten(Forest(&self.parents), run));
                    let word = i * diagonals + diagonal as usize % diagonals;
                    joined[word] |= u64::from(roots[0] == roots[1]) << bit;
                    if roots[0] != roots[1] && roots.iter().all(|&root| self.goes_on(root)) {
                        let corner = [i as u32 * WORD_BITS as u32 + bit, y];
                        found.push(corner, diagonal, roots);
                    }
                });
            });
            found
        };
        let each_row = joined[..row_words * height].par_chunks_mut(row_words);
        let each_row = each_row.with_min_len(self.least_rows).enumerate();
        let found = each_row
            .fold(FoundSaddles::default, find)
            .map(FoundSaddles::saddles)
            .try_reduce(Vec::new, |mut found, mut more| {
                reserve(&mut found, more.len(), "the open saddles")?;
                found.append(&mut more);
                Ok(found)
            })?;
        Ok((joined, found))
    }
}

/// Open saddles, and an out-of-memory error if one did not fit.
#[derive(Default)]
struct FoundSaddles {
    saddles: Vec<OpenSaddle>,
    error: Option<Error>,
}

impl FoundSaddles {
    /// Adds the saddle at a corner.
    fn push(&mut self, [x, y]: [u32; 2], diagonal: Diagonal, components: [u32; 2]) {
        if let Err(error) = reserve(&mut self.saddles, 1, "the open saddles") {
            self.error = Some(error);
            return;
        }
        self.saddles.push(OpenSaddle {
            x,
            y,
            falling: matches!(diagonal, Diagonal::Falling),
            components,
        });
    }

    fn saddles(self) -> Result<Vec<OpenSaddle>> {
        self.error.map_or(Ok(self.saddles), Err)
    }
}
