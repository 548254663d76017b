//! Parallel union-find on an array of parents.
//!
//! `parents[i] <= i` always holds, and a root is its own parent. So the root of a set is its
//! smallest element, whatever the order in which threads join sets. An atomic minimum hooks a root
//! to a smaller element. If the element hooked was no longer a root, its parent is joined next, so
//! that no link is lost.
//!
//! Paths are shortened by an atomic minimum too, because a plain store could undo another thread's
//! hook. The minimum replaces the link from `i` to an element `q` by a link to the grandparent. The
//! old link may go, because `q` and the parent `p` that was read are, or will be, in one set by
//! links of elements below `i`:
//!
//! - `q` is `p`;
//! - or a hook has replaced `p` by `q`, and its thread will join `p` and `q`;
//! - or another shortening has replaced `p` by `q`, and `q` is an ancestor of `p`.

use cuda_std::prelude::*;

/// An array of parents.
pub trait Parents: Copy {
    /// The current parent of `i`.
    fn parent(self, i: u32) -> u32;
    /// Sets the parent of `i` to `to` if that is smaller, and returns the previous parent.
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

/// The root of the set of `i`. Every second element on the path there gets its grandparent as
/// parent.
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

/// Joins the sets of `a` and `b`.
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
        // Another thread hooked `high` first: join the element that `high` was hooked to.
        // planted: union-retry
        (a, b) = (old, low);
    }
}
