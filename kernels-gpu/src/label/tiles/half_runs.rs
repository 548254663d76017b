//! The runs of half a word, and the runs above that they touch.

use crate::primitives::bits::Touching;

/// The runs that start in a half of a word, by their indices in the tile.
#[derive(Clone, Copy)]
pub(in crate::label) struct HalfRuns {
    /// The pixels at which they start.
    pub(in crate::label) starts: u32,
    /// The pixels left of one at which a run starts.
    pub(in crate::label) before_starts: u32,
    /// The index of the first one.
    pub(in crate::label) offset: u32,
}

impl HalfRuns {
    /// The runs of a word's halves. The word's first run has the index `offset`. `right` is 1 if a
    /// run starts to the right of the lower half and the upper half is empty, else 0.
    #[inline(always)]
    pub(in crate::label) const fn of_word(starts: u64, offset: u32, right: u32) -> [Self; 2] {
        let low = Self {
            starts: starts as u32,
            before_starts: (starts >> 1) as u32 | right << 31,
            offset,
        };
        let high = Self {
            starts: (starts >> 32) as u32,
            before_starts: (starts >> 33) as u32,
            offset: offset + low.starts.count_ones(),
        };
        [low, high]
    }

    /// These runs, if a run starts to the right of every pixel that is asked for.
    #[inline(always)]
    pub(in crate::label) const fn with_starts_to_the_right(self) -> Self {
        Self {
            before_starts: u32::MAX,
            ..self
        }
    }

    /// The run that pixel `bit` belongs to.
    #[inline(always)]
    pub(in crate::label) const fn run_at(self, bit: u32) -> u32 {
        self.offset + (self.starts << (31 - bit)).count_ones() - 1
    }

    /// The run that the pixel to the left of `bit` belongs to.
    #[inline(always)]
    pub(in crate::label) const fn run_left_of(self, bit: u32) -> u32 {
        self.offset + (self.starts & ((1 << bit) - 1)).count_ones() - 1
    }

    /// The run that the pixel to the right of `bit` belongs to.
    #[inline(always)]
    pub(in crate::label) const fn run_right_of(self, bit: u32) -> u32 {
        // planted: tile-above-right
        let starts_there = self.before_starts >> bit & 1;
        self.offset + (self.starts << (31 - bit)).count_ones() + starts_there - 1
    }
}

/// [`Touching`] of a half of a word.
#[derive(Clone, Copy)]
pub(in crate::label) struct HalfTouching {
    /// [`Touching::above`].
    pub(in crate::label) above: u32,
    /// [`Touching::above_left`].
    pub(in crate::label) above_left: u32,
    /// [`Touching::above_right`].
    pub(in crate::label) above_right: u32,
}

impl HalfTouching {
    /// The pairs of a word's two halves, limited to the bits in `mask`.
    #[inline(always)]
    pub(in crate::label) const fn of_word(touching: Touching, mask: u64) -> [Self; 2] {
        let low = Self {
            above: (touching.above & mask) as u32,
            above_left: (touching.above_left & mask) as u32,
            above_right: (touching.above_right & mask) as u32,
        };
        let high = Self {
            above: ((touching.above & mask) >> 32) as u32,
            above_left: ((touching.above_left & mask) >> 32) as u32,
            above_right: ((touching.above_right & mask) >> 32) as u32,
        };
        [low, high]
    }

    /// Takes one pair: a run of `own`, and a run of `above`. `None` if there is none left.
    #[inline(always)]
    pub(in crate::label) fn take(&mut self, own: HalfRuns, above: HalfRuns) -> Option<(u32, u32)> {
        let bit;
        let other = if self.above != 0 {
            bit = self.above.trailing_zeros();
            self.above &= self.above - 1;
            above.run_at(bit)
        } else if self.above_left != 0 {
            bit = self.above_left.trailing_zeros();
            self.above_left &= self.above_left - 1;
            above.run_left_of(bit)
        } else if self.above_right != 0 {
            bit = self.above_right.trailing_zeros();
            self.above_right &= self.above_right - 1;
            above.run_right_of(bit)
        } else {
            return None;
        };
        Some((own.run_at(bit), other))
    }
}
