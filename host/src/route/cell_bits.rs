//! [`CellBits`]: a set of cells.

use crate::Result;
use crate::memory::zeroed_vec;

/// One bit per cell.
pub(in crate::route) struct CellBits(Vec<u64>);

impl CellBits {
    /// No cell of `cells`.
    pub(in crate::route) fn new(cells: u32) -> Result<Self> {
        let words = (cells as usize).div_ceil(64);
        Ok(Self(zeroed_vec(words, "the tree's cells")?))
    }

    #[inline(always)]
    pub(in crate::route) fn has(&self, cell: u32) -> bool {
        self.0[cell as usize / 64] >> (cell % 64) & 1 != 0
    }

    pub(in crate::route) fn set(&mut self, cell: u32) {
        self.0[cell as usize / 64] |= 1 << (cell % 64);
    }
}
