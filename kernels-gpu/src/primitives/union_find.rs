//! Parallel union-find on an array of parents.
//!
//! `parents[i] <= i` always; a root is its own parent. A set's root is therefore its smallest element, whatever the
//! order in which threads join. Roots are hooked with an atomic minimum: if the element was no root any more, what it
//! pointed at is joined next, so that no link is ever lost. There is no path compression by plain stores while threads
//! join: such a store can undo another thread's hook.

use cuda_std::prelude::*;

/// An array of parents.
pub trait Parents: Copy {
    /// The parent of `i`, now.
    fn parent(self, i: u32) -> u32;
    /// Lowers the parent of `i` to `to`, and returns what it was.
    fn lower(self, i: u32, to: u32) -> u32;
}

impl Parents for ViewMut<'_, u32> {
    #[inline(always)]
    fn parent(self, i: u32) -> u32 {
        self.ld_relaxed(i, Device)
    }

    #[inline(always)]
    fn lower(self, i: u32, to: u32) -> u32 {
        self.atomic_min(i, to)
    }
}

impl Parents for SharedView<u32> {
    #[inline(always)]
    fn parent(self, i: u32) -> u32 {
        self.ld_relaxed(i, Block)
    }

    #[inline(always)]
    fn lower(self, i: u32, to: u32) -> u32 {
        self.atomic_min(i, to)
    }
}

/// The root of the set of `i`.
#[inline(always)]
pub fn find(parents: impl Parents, i: u32) -> u32 {
    let mut at = i;
    loop {
        let parent = parents.parent(at);
        if parent == at {
            return at;
        }
        at = parent;
    }
}

/// Makes the sets of `a` and `b` one.
#[inline(always)]
pub fn union(parents: impl Parents, a: u32, b: u32) {
    let (mut a, mut b) = (a, b);
    loop {
        a = find(parents, a);
        b = find(parents, b);
        if a == b {
            return;
        }
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        let old = parents.lower(high, low);
        if old == high {
            return;
        }
        // Someone else hooked `high` first: join what it was hooked to.
        (a, b) = (old, low);
    }
}
