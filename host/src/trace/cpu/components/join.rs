//! Component analysis and starting points.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;
use trazar_kernels::primitives::union_find::{Parents, find as root_of, union};

use super::super::chains::{BorderId, NO_BORDER, check_count};
use super::super::forest::{Forest, singletons};
use super::super::pixels::Pixels;
use super::super::plane::{last_one_before, run_start};
use super::super::walk::Walk;
use super::nodes::Nodes;
use super::{Entry, NodeWalk, W, entry};
use crate::error::Result;
use crate::image::WORD_BITS;
use crate::memory::zeroed_vec;
use crate::progress::Progress;

/// Where borders start, in order of discovery.
pub(super) struct Starts {
    /// The nodes where they start.
    pub(super) entries: Vec<Entry>,
    /// For each, the border that passes the last side before it in its row, or [`NO_BORDER`].
    pub(super) previous_in_row: Vec<BorderId>,
}

/// Finds all borders.
pub(super) fn find<K: Walk>(
    walk: &NodeWalk<'_, K>,
    nodes: &Nodes,
    progress: &Progress<'_>,
) -> Result<Starts> {
    let parents = singletons(nodes.count, "the borders of nodes")?;
    let parents = Forest(&parents);
    list_nodes(nodes, parents);
    join_nodes(walk, nodes, parents, progress)?;
    let roots = flatten_nodes(nodes, parents)?;
    select_starts(walk, nodes, parents, &roots)
}

/// Joins each run of nodes that lie straight behind each other into one set, rooted at its first
/// node. Every node is a set of its own before.
fn list_nodes(nodes: &Nodes, parents: Forest<'_>) {
    (0..nodes.rows()).into_par_iter().for_each(|y| {
        // No two rows have nodes in common.
        nodes.for_each_straight(y, |before, index| {
            parents.0[index as usize].store(parents.parent(before), Relaxed);
        });
    });
}

/// Joins all other nodes with their successors.
fn join_nodes<K: Walk>(
    walk: &NodeWalk<'_, K>,
    nodes: &Nodes,
    parents: Forest<'_>,
    progress: &Progress<'_>,
) -> Result<()> {
    let rows = nodes.rows();
    let joined = AtomicUsize::new(0);
    (0..rows).into_par_iter().try_for_each(|y| {
        nodes.for_each_bent(y, |index, entry| {
            let Some(node) = walk.node(entry) else {
                return;
            };
            let successor = walk.next(node, walk.walk.step(node));
            let step = walk.walk.step(successor);
            let successor = nodes.index(walk.entry(successor, step));
            union(parents, index, successor);
        });
        let joined = joined.fetch_add(1, Relaxed);
        if joined.is_multiple_of(64) {
            progress.report(joined as u64 * 2, rows as u64 * 5)?;
        }
        Ok(())
    })
}

/// The roots as bits, with the number of roots before each word: a border's index is its root's
/// rank.
struct Roots {
    bits: Vec<u64>,
    ranks: Vec<u32>,
    count: usize,
}

impl Roots {
    /// The number of roots before node `at`.
    fn rank(&self, at: u32) -> BorderId {
        let (word, bit) = (at as usize / WORD_BITS, at as usize % WORD_BITS);
        match self.bits.get(word) {
            Some(bits) => self.ranks[word] + (bits & ((1 << bit) - 1)).count_ones(),
            None => self.count as BorderId,
        }
    }

    fn contain(&self, at: u32) -> bool {
        let (word, bit) = (at as usize / WORD_BITS, at as usize % WORD_BITS);
        self.bits[word] >> bit & 1 != 0
    }
}

/// Collects the roots, all of them W or E nodes.
fn flatten_nodes(nodes: &Nodes, parents: Forest<'_>) -> Result<Roots> {
    let words = (nodes.beside as usize).div_ceil(WORD_BITS);
    let mut bits: Vec<u64> = zeroed_vec(words, "the starts of borders")?;
    let mut ranks: Vec<u32> = zeroed_vec(words, "the starts of borders")?;
    bits.par_iter_mut().enumerate().for_each(|(word, bits)| {
        let first = (word * WORD_BITS) as u32;
        let end = (first as usize + WORD_BITS).min(nodes.beside as usize) as u32;
        for i in first..end {
            *bits |= u64::from(parents.parent(i) == i) << (i - first);
        }
    });
    let mut count = 0;
    for (rank, bits) in ranks.iter_mut().zip(&bits) {
        *rank = count as u32;
        count += bits.count_ones() as usize;
    }
    check_count(count)?;
    Ok(Roots { bits, ranks, count })
}

/// Lists the borders' starts.
fn select_starts<K: Walk>(
    walk: &NodeWalk<'_, K>,
    nodes: &Nodes,
    parents: Forest<'_>,
    roots: &Roots,
) -> Result<Starts> {
    let mut entries: Vec<Entry> = zeroed_vec(roots.count, "the starts of borders")?;
    let mut previous_in_row: Vec<BorderId> = zeroed_vec(roots.count, "the starts of borders")?;
    // Rows in bands, each with its borders.
    let rows = nodes.rows();
    let band_rows = rows.div_ceil(4 * rayon::current_num_threads());
    let mut bands = Vec::new();
    let (mut rest, mut rest_previous) = (&mut *entries, &mut *previous_in_row);
    for begin in (0..rows).step_by(band_rows) {
        let end = (begin + band_rows).min(rows);
        let rank = |y| roots.rank(nodes.first_beside(y)) as usize;
        let (own, after) = rest.split_at_mut(rank(end) - rank(begin));
        let (own_previous, after_previous) = rest_previous.split_at_mut(own.len());
        bands.push((begin..end, own, own_previous));
        (rest, rest_previous) = (after, after_previous);
    }
    bands
        .into_par_iter()
        .for_each(|(rows, entries, previous_in_row)| {
            let mut at = 0;
            for y in rows {
                nodes.for_each_beside(y, |index, start| {
                    if roots.contain(index) {
                        entries[at] = start;
                        previous_in_row[at] = side_before(walk, nodes, start)
                            .map_or(NO_BORDER, |side| {
                                roots.rank(root_of(parents, nodes.index(side)))
                            });
                        at += 1;
                    }
                });
            }
        });
    Ok(Starts {
        entries,
        previous_in_row,
    })
}

/// The node that passes the last side in its row before the one where a border starts.
fn side_before<K: Walk>(walk: &NodeWalk<'_, K>, nodes: &Nodes, start: Entry) -> Option<Entry> {
    let plane = walk.plane;
    let place = super::place(start);
    let (first, x) = (place - place % plane.stride(), place % plane.stride());
    let row = &plane.words[first / WORD_BITS..][..plane.row_words];
    if start & 3 == u64::from(W) {
        last_one_before(row, x).map(|x| nodes.at_east_side(first + x))
    } else {
        Some(entry(first + run_start(row, x), W))
    }
}
