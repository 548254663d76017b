//! [`Queue`]: cells by cost, in buckets on three levels.

use crate::distance::real::Real;
use crate::error::{Error, Result};
use crate::memory::{push, with_room};

/// Cells in buckets of costs, each a fraction of a usual step wide. The buckets ahead of the
/// current one are on the first level, up to a multiple of 2¹⁰ buckets; those beyond it, up to a
/// multiple of 2²⁰, are together, 2¹⁰ at a time, on the second level, and all others on the third
/// (a hierarchy of timing wheels: G. Varghese and T. Lauck, *Hashed and hierarchical timing
/// wheels*, 1987). Costs from 2³¹ buckets on share the last bucket.
///
/// The order within a bucket is that of arrival. So a cell may be taken before its cost is final;
/// it is then added again when its cost falls.
pub(super) struct Queue<P> {
    /// Buckets per unit of cost.
    scale: P,
    /// The current bucket.
    now: u32,
    levels: [Level; 3],
    /// Set when there was no memory for a cell, which is then left out.
    failed: Option<Error>,
}

struct Level {
    /// By bucket.
    cells: Vec<Vec<u32>>,
    /// One bit per bucket: whether it has cells.
    occupied: Vec<u64>,
}

const BITS: u32 = 10;
const MASK: u32 = (1 << BITS) - 1;
const LAST: u32 = (1 << 31) - 1;
const WHAT: &str = "the queue of cells";

impl Level {
    fn new(buckets: usize) -> Result<Self> {
        let mut cells = with_room(buckets, WHAT)?;
        cells.resize_with(buckets, Vec::new);
        let mut occupied = with_room(buckets / 64, WHAT)?;
        occupied.resize(buckets / 64, 0);
        Ok(Self { cells, occupied })
    }

    #[inline(always)]
    fn push(&mut self, bucket: usize, cell: u32) -> Result<()> {
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        push(&mut self.cells[bucket], cell, WHAT)
    }

    /// The first bucket with cells, from `start` on.
    fn first(&self, start: usize) -> Option<usize> {
        let mut word = start / 64;
        let mut bits = self.occupied.get(word)? & (u64::MAX << (start % 64));
        while bits == 0 {
            word += 1;
            bits = *self.occupied.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Swaps a bucket's cells with the empty list `list`.
    fn take(&mut self, bucket: usize, list: &mut Vec<u32>) {
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        std::mem::swap(&mut self.cells[bucket], list);
    }
}

impl<P: Real> Queue<P> {
    /// With buckets of that width, which is positive.
    pub(super) fn new(width: f64) -> Result<Self> {
        Ok(Self {
            scale: P::from_f64((1.0 / width).min(f64::from(f32::MAX))),
            now: 0,
            levels: [
                Level::new(1 << BITS)?,
                Level::new(1 << BITS)?,
                Level::new(1 << (31 - 2 * BITS))?,
            ],
            failed: None,
        })
    }

    /// The bucket of a cost.
    #[inline(always)]
    pub(super) fn bucket(&self, cost: P) -> u32 {
        (cost * self.scale).to_bucket().min(LAST)
    }

    /// A bucket that [`take`](Self::take) has returned, for [`is_before`](Self::is_before). It is
    /// the whole part of a `P`, or has few digits, so this is exact; or it is the last one, and no
    /// cost in f32 is between it and the number that it is rounded up to.
    pub(super) fn scaled(bucket: u32) -> P {
        P::from_f64(bucket.into())
    }

    /// Whether a cost belongs to a bucket before that one: without the conversion to a whole
    /// number.
    #[inline(always)]
    pub(super) fn is_before(&self, cost: P, scaled: P) -> bool {
        cost * self.scale < scaled
    }

    /// Adds a cell with its cost; one of a bucket before the current one joins the current one.
    #[inline(always)]
    pub(super) fn push(&mut self, cost: P, cell: u32) {
        let bucket = self.bucket(cost).max(self.now);
        let apart = bucket ^ self.now;
        let (level, bucket) = if apart < 1 << BITS {
            (0, bucket & MASK)
        } else if apart < 1 << (2 * BITS) {
            (1, bucket >> BITS & MASK)
        } else {
            (2, bucket >> (2 * BITS))
        };
        if let Err(error) = self.levels[level].push(bucket as usize, cell) {
            self.failed = Some(error);
        }
    }

    /// Moves the cells of the next bucket to `list`, which is empty, and returns the bucket; `None`
    /// if there are none. `cost_of` is a cell's cost.
    pub(super) fn take(
        &mut self,
        list: &mut Vec<u32>,
        cost_of: impl Fn(u32) -> P,
    ) -> Result<Option<u32>> {
        loop {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if let Some(bucket) = self.levels[0].first((self.now & MASK) as usize) {
                self.levels[0].take(bucket, list);
                self.now = self.now & !MASK | bucket as u32;
                return Ok(Some(self.now));
            }
            // The next buckets come down from the level above.
            let second = (self.now >> BITS & MASK) as usize;
            if let Some(bucket) = self.levels[1].first(second) {
                self.levels[1].take(bucket, list);
                let above = self.now & !(MASK << BITS | MASK);
                self.now = above | (bucket as u32) << BITS;
            } else if let Some(bucket) = self.levels[2].first((self.now >> (2 * BITS)) as usize) {
                self.levels[2].take(bucket, list);
                self.now = (bucket as u32) << (2 * BITS);
            } else {
                return Ok(None);
            }
            for &cell in &*list {
                self.push(cost_of(cell), cell);
            }
            list.clear();
        }
    }
}
