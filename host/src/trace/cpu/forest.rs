//! Parents for union-find on several threads.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;
use trazar_kernels::primitives::union_find::Parents;

use crate::error::Result;
use crate::memory::{advise_large_pages, zeroed_vec};

/// Each element's parent.
#[derive(Clone, Copy)]
pub(super) struct Forest<'a>(pub(super) &'a [AtomicU32]);

impl Parents for Forest<'_> {
    #[inline]
    fn parent(self, i: u32) -> u32 {
        self.0[i as usize].load(Relaxed)
    }

    #[inline]
    fn lower(self, i: u32, to: u32) -> u32 {
        self.0[i as usize].fetch_min(to, Relaxed)
    }
}

/// The fewest elements that are worth a task.
const LEAST_SHARE: usize = 1 << 16;

/// A [`Forest`] whose elements no other thread joins meanwhile: without atomic operations, which
/// take several times as long.
#[derive(Clone, Copy)]
pub(super) struct OwnForest<'a>(pub(super) &'a [AtomicU32]);

impl Parents for OwnForest<'_> {
    #[inline]
    fn parent(self, i: u32) -> u32 {
        self.0[i as usize].load(Relaxed)
    }

    #[inline]
    fn lower(self, i: u32, to: u32) -> u32 {
        let before = self.parent(i);
        if to < before {
            self.0[i as usize].store(to, Relaxed);
        }
        before
    }
}

/// The parents of `count` elements, each a set of its own.
pub(super) fn singletons(count: u32, what: &'static str) -> Result<Vec<AtomicU32>> {
    let mut parents: Vec<AtomicU32> = zeroed_vec(count as usize, what)?;
    advise_large_pages(&mut parents);
    let each = parents.par_iter_mut().with_min_len(LEAST_SHARE).enumerate();
    each.for_each(|(i, parent)| *parent.get_mut() = i as u32);
    Ok(parents)
}
