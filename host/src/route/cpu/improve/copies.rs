//! Copies of a tree, on which several threads try changes at the same time.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::TREE;
use super::exchange::Exchange;
use crate::Result;
use crate::memory::{collect, extend, par_collect, par_try_collect, push};

/// Copies of a tree, one per thread. What is done to one of them and not taken back is done to all.
pub(super) struct Copies<'a> {
    all: Vec<Exchange<'a>>,
}

impl<'a> Copies<'a> {
    /// `count` copies of a tree, or as many as there is memory for.
    pub(super) fn new(tree: Exchange<'a>, count: usize) -> Result<Self> {
        let mut all = Vec::new();
        if count > 1 {
            let copies = (1..count).into_par_iter().with_max_len(1);
            let copies = par_collect(copies.map(|_| tree.copy()), TREE)?;
            extend(&mut all, copies.into_iter().flatten(), TREE)?;
        }
        push(&mut all, tree, TREE)?;
        Ok(Self { all })
    }

    /// The tree.
    pub(super) fn tree(&self) -> &Exchange<'a> {
        &self.all[0]
    }

    /// Calls `attempt` once with each of some numbers and one of the copies, which it must leave as
    /// it was. Returns the results in the order of the numbers.
    pub(super) fn try_each<R: Send>(
        &mut self,
        numbers: Range<u64>,
        attempt: impl Fn(&mut Exchange<'a>, u64) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let next = AtomicU64::new(numbers.start);
        let results = self.on_each(|tree| {
            let mut results = Vec::new();
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number >= numbers.end {
                    return Ok(results);
                }
                push(&mut results, (number, attempt(tree, number)?), TREE)?;
            }
        })?;
        let mut results = collect(results.into_iter().flatten(), TREE)?;
        results.sort_unstable_by_key(|&(number, _)| number);
        collect(results.into_iter().map(|(_, result)| result), TREE)
    }

    /// Calls `change` with each of the copies, at the same time. Returns all results.
    pub(super) fn on_each<R: Send>(
        &mut self,
        change: impl Fn(&mut Exchange<'a>) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        match &mut self.all[..] {
            [tree] => collect([change(tree)?], TREE),
            all => {
                let all = all.par_iter_mut().with_max_len(1);
                par_try_collect(all.map(&change), TREE)
            }
        }
    }
}
