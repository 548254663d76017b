//! The parent of each border, along chains of siblings that were discovered before it.

use cuda_std::prelude::*;

use super::{BLOCK, Borders};
use crate::primitives::grid::{Grid, each, for_each_loaded, zip};
use crate::primitives::quotient;
use crate::trace::borders::NO_BORDER;

/// A border and what it knows of its parent.
#[derive(Clone, Copy)]
pub(super) struct Child {
    border: u32,
    pub(super) kind: u32,
    /// The parent, with [`IS_PARENT`] set; or, without it, the parent or an earlier sibling.
    above: u32,
}

/// Set in a border that is known to be the parent; [`NO_BORDER`] has it, too.
const IS_PARENT: u32 = 1 << 31;

impl Child {
    #[inline(always)]
    const fn has_parent(self) -> bool {
        self.above & IS_PARENT != 0
    }

    /// The parent, once it is known, or [`NO_BORDER`].
    #[inline(always)]
    pub(super) const fn parent(self) -> u32 {
        if self.above == NO_BORDER {
            NO_BORDER
        } else {
            self.above & !IS_PARENT
        }
    }
}

impl Borders<'_> {
    /// Finds the parents of four borders, or siblings of theirs before border `first`. Replaces
    /// each border's previous border by the result, with [`IS_PARENT`] set for a parent; on the
    /// way, by ever earlier siblings.
    ///
    /// A border's previous border is its parent if it is of the other kind, else a sibling with the
    /// same parent.
    #[inline(always)]
    pub(super) fn with_parents(&self, borders: [u32; 4], first: u32) -> [Child; 4] {
        let mut children = each(borders, |border| Child {
            border,
            kind: self.kind(border),
            above: self.previous(border),
        });
        let goes_on = |child: Child| !child.has_parent() && child.above >= first;
        loop {
            let [a, b, c, d] = each(children, goes_on);
            if !(a || b || c || d) {
                return children;
            }
            let next = each(children, |child| {
                let (mut kind, mut next) = (child.kind, child.above);
                if goes_on(child) {
                    // Both loads at once: `above` is mostly a sibling, and then its own progress is
                    // wanted.
                    kind = self.kind(child.above);
                    next = self.previous(child.above);
                }
                (kind, next)
            });
            children = each(zip(children, next), |(mut child, (kind, next))| {
                if goes_on(child) {
                    // planted: siblings-parents
                    child.above = if kind == child.kind {
                        next
                    } else {
                        child.above | IS_PARENT
                    };
                    let previous = self.found.previous_in_row;
                    // planted: links-plain-store
                    previous.st_relaxed(child.border, child.above, Device);
                }
                child
            });
        }
    }

    /// Finds, for each border of the block's part, the parent or a sibling before that part.
    #[inline(always)]
    pub(super) fn follow_siblings(&self, grid: Grid<'_, BLOCK>) {
        let part = quotient(self.count, grid.blocks()) + 1;
        let first = grid.block() * part;
        let end = self.count.min(first + part);
        let own = first + thread::thread_idx_x();
        let parents = |four| self.with_parents(four, first);
        for_each_loaded((own, BLOCK), end, parents, |_, _| ());
    }

    #[inline(always)]
    fn kind(&self, border: u32) -> u32 {
        self.found.kinds.ld(border).into()
    }

    /// A border's previous one, or what has replaced it.
    #[inline(always)]
    fn previous(&self, border: u32) -> u32 {
        self.found.previous_in_row.ld_relaxed(border, Device)
    }
}
