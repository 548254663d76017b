//! Runs in rows of bits: 64 pixels per word, the leftmost pixel in the least significant bit.
//!
//! A run is a longest stretch of consecutive foreground pixels in a row. A run may span words, so
//! several functions also take the pixel to the left of a word: `carry`, 0 or 1. Kernels and the
//! processor's algorithms use the same functions.

/// The left neighbour of each pixel of `word`.
#[must_use]
#[inline(always)]
pub const fn left_neighbours(word: u64, carry: u64) -> u64 {
    word << 1 | carry
}

/// The pixels of `word` at which a run starts.
#[must_use]
#[inline(always)]
pub const fn starts(word: u64, carry: u64) -> u64 {
    word & !left_neighbours(word, carry)
}

/// The number of bits set in `bits` up to and including bit `at`, which is below 64.
#[must_use]
#[inline(always)]
pub const fn count_through(bits: u64, at: u32) -> u32 {
    (bits << (63 - at)).count_ones()
}

/// The first stretch of foreground within a word, and the rest of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its first bit.
    pub start: u32,
    /// One past its last bit.
    pub end: u32,
    /// The word without it.
    pub rest: u64,
}

impl Stretch {
    /// The first stretch of `word`, which is not 0.
    #[must_use]
    #[inline(always)]
    pub const fn first(word: u64) -> Self {
        let start = word.trailing_zeros();
        // Adding the first pixel carries to one past the stretch's last pixel.
        let carried = word.wrapping_add(1 << start);
        Self {
            start,
            end: (carried & !word).trailing_zeros(),
            rest: word & carried,
        }
    }
}

/// A word with the words beside it, in one row.
#[derive(Clone, Copy)]
pub struct Beside {
    /// The word to the left, or 0.
    pub left: u64,
    /// The word.
    pub here: u64,
    /// The word to the right, or 0.
    pub right: u64,
}

impl Beside {
    /// The pixel to the left of the word.
    #[inline(always)]
    const fn carry(self) -> u64 {
        // planted: starts-carry
        self.left >> 63
    }

    /// The pixels at which a run starts.
    #[must_use]
    #[inline(always)]
    pub const fn starts(self) -> u64 {
        starts(self.here, self.carry())
    }

    /// The left neighbour of each pixel.
    #[inline(always)]
    const fn left_neighbours(self) -> u64 {
        left_neighbours(self.here, self.carry())
    }

    /// The right neighbour of each pixel.
    #[inline(always)]
    const fn right_neighbours(self) -> u64 {
        // planted: right-carry
        self.here >> 1 | self.right << 63
    }
}

/// Where runs of a row touch runs of the row above: one bit for each pair of touching runs, at a
/// pixel of the lower row.
#[derive(Clone, Copy)]
pub struct Touching {
    /// The pixel above belongs to the upper run. It is the leftmost such pixel of the pair.
    pub above: u64,
    /// The pixel starts its run, and the pixel above to the left ends the upper run.
    pub above_left: u64,
    /// The pixel ends its run, and the pixel above to the right starts the upper run.
    pub above_right: u64,
}

impl Touching {
    /// The pairs of touching runs of `row` and the row `up` above it. If `corners`, runs that meet
    /// at a corner touch too.
    ///
    /// Two runs that overlap do so in one interval. Its first pixel is the one whose left
    /// neighbours in the two rows are not both foreground. Two runs that only touch at a corner
    /// have one such corner.
    #[inline(always)]
    #[must_use]
    pub const fn find(row: Beside, up: Beside, corners: bool) -> Self {
        let overlap = row.here & up.here;
        let overlap_left = overlap << 1 | (row.left & up.left) >> 63;
        let bare = if corners { row.here & !up.here } else { 0 };
        Self {
            above: overlap & !overlap_left,
            above_left: bare & !row.left_neighbours() & up.left_neighbours(),
            above_right: bare & !row.right_neighbours() & up.right_neighbours(),
        }
    }

    /// Whether no runs touch.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.above | self.above_left | self.above_right == 0
    }
}
