//! Parallel union-find on an array of parents.
//!
//! `parents[i] <= i` always; a root is its own parent. A set's root is therefore its smallest element, whatever the
//! order in which threads join. Roots are hooked with an atomic minimum: if the element was no root any more, what it
//! pointed at is joined next, so that no link is ever lost.
//!
//! Paths are shortened by an atomic minimum too: a plain store could undo another thread's hook. What it replaces, the
//! link from `i` to `q`, is not needed: `q` is the parent `p` that was read, or replaced it. If a hook did that, its thread
//! goes on to join `p` and `q`; if a shortening did, `q` is an ancestor of `p`. Either way `q` stays, or comes to be,
//! in one set with `p`, and so with the grandparent, by links of elements below `i`.

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
        // planted: union-scope
        self.ld_relaxed(i, Device)
    }

    #[inline(always)]
    fn lower(self, i: u32, to: u32) -> u32 {
        // planted: union-plain-min
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
        // planted: union-plain-min-shared
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

/// The root of the set of `i`; on the way, every second element is pointed at its grandparent.
#[inline(always)]
pub fn find_and_shorten(parents: impl Parents, i: u32) -> u32 {
    let mut at = i;
    loop {
        let parent = parents.parent(at);
        if parent == at {
            return at;
        }
        let grandparent = parents.parent(parent);
        if grandparent == parent {
            return parent;
        }
        parents.lower(at, grandparent);
        at = grandparent;
    }
}

/// Makes the sets of `a` and `b` one.
#[inline(always)]
pub fn union(parents: impl Parents, a: u32, b: u32) {
    let (mut a, mut b) = (a, b);
    loop {
        a = find_and_shorten(parents, a);
        b = find_and_shorten(parents, b);
        if a == b {
            return;
        }
        // planted: union-direction
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        let old = parents.lower(high, low);
        if old == high {
            return;
        }
        // Someone else hooked `high` first: join what it was hooked to.
        // planted: union-retry
        (a, b) = (old, low);
    }
}
