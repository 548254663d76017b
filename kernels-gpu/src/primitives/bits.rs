//! Runs and touching runs in rows of bits, 64 pixels a word, the leftmost pixel in the least significant bit.

/// The pixels of `word` at which a run starts. `left` is the word to the left, or 0.
#[must_use]
#[inline(always)]
pub const fn starts(word: u64, left: u64) -> u64 {
    // planted: starts-carry
    word & !(word << 1 | left >> 63)
}

/// How many of `bits` lie at or before bit `at`.
#[must_use]
#[inline(always)]
pub const fn count_through(bits: u64, at: u32) -> u32 {
    (bits & (u64::MAX >> (63 - at))).count_ones()
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
    /// Each pixel's left neighbour.
    #[inline(always)]
    const fn left_neighbours(self) -> u64 {
        self.here << 1 | self.left >> 63
    }

    /// Each pixel's right neighbour.
    #[inline(always)]
    const fn right_neighbours(self) -> u64 {
        // planted: right-carry
        self.here >> 1 | self.right << 63
    }
}

/// Where runs of a row touch runs of the row above: one bit for each pair of touching runs, at a pixel of the lower
/// row.
#[derive(Clone, Copy)]
pub struct Touching {
    /// The pixel above is of the upper run: the leftmost such pixel of the pair.
    pub above: u64,
    /// The pixel starts its run, and the pixel above to the left ends the upper run.
    pub above_left: u64,
    /// The pixel ends its run, and the pixel above to the right starts the upper run.
    pub above_right: u64,
}

impl Touching {
    /// The pairs of touching runs of `row` and the row `up` above it; corners touch if `eight`.
    ///
    /// Runs that overlap do so in one interval, whose first pixel is the one whose left neighbours don't overlap too. Runs
    /// that touch at a corner only have one such corner.
    #[inline(always)]
    #[must_use]
    pub const fn find(row: Beside, up: Beside, eight: bool) -> Self {
        let overlap = row.here & up.here;
        let overlap_left = overlap << 1 | (row.left & up.left) >> 63;
        let bare = if eight { row.here & !up.here } else { 0 };
        Self {
            above: overlap & !overlap_left,
            above_left: bare & !row.left_neighbours() & up.left_neighbours(),
            above_right: bare & !row.right_neighbours() & up.right_neighbours(),
        }
    }

    /// Whether there is none.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.above | self.above_left | self.above_right == 0
    }
}
