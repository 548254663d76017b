//! Following: all borders at once, and the stretches of long ones.
//!
//! A task that follows a whole border takes as long as the longest border. So about one node in 256
//! is *marked*, by a hash of where it is: from a marked node to before the next marked one is a
//! **stretch**, and a border's **head** goes from its start to before its first marked node.
//! Stretches and heads are measured; where each begins is the sum of those before it; then all are
//! followed again and written. A border without a marked node is all head.

use rayon::prelude::*;

use super::super::chains::{Border, Chains, Direction};
use super::super::pixels::Pixels;
use super::super::walk::{Node, Walk};
use super::join::Starts;
use super::nodes::Nodes;
use super::{Entry, NodeWalk, W};
use crate::error::Result;
use crate::memory::{advise_large_pages, reserve, zeroed_vec};
use crate::progress::Progress;
use crate::trace::contours::BorderKind;

/// Whether a node is marked: one in 256, without a pattern.
#[inline]
const fn is_marked(entry: Entry) -> bool {
    // The finalizer of SplitMix64 without its last step, which mixes low bits.
    let mut hash = entry ^ entry >> 30;
    hash = hash.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash ^= hash >> 27;
    hash = hash.wrapping_mul(0x94d0_49bb_1331_11eb);
    hash >> 56 == 0
}

/// Lists the marked nodes, in order.
pub(super) fn list_stretches(nodes: &Nodes) -> Result<Vec<Entry>> {
    let rows = nodes.rows();
    let band_rows = rows.div_ceil(4 * rayon::current_num_threads());
    let bands = (0..rows.div_ceil(band_rows)).into_par_iter();
    let bands: Vec<Vec<Entry>> = bands
        .map(|band| {
            let (mut marked, mut room) = (Vec::new(), Ok(()));
            for y in band * band_rows..((band + 1) * band_rows).min(rows) {
                nodes.for_each_in_row(y, |_, entry| {
                    if is_marked(entry) && room.is_ok() {
                        room = reserve(&mut marked, 1, "the stretches of borders");
                        if room.is_ok() {
                            marked.push(entry);
                        }
                    }
                });
            }
            room.map(|()| marked)
        })
        .collect::<Result<_>>()?;
    let mut stretches = Vec::new();
    let count = bands.iter().map(Vec::len).sum();
    reserve(&mut stretches, count, "the stretches of borders")?;
    for band in bands {
        stretches.extend(band);
    }
    stretches.par_sort_unstable();
    Ok(stretches)
}

/// A piece of a border.
#[derive(Clone, Copy, Debug, bytemuck::Zeroable)]
struct Piece {
    /// The number of its steps.
    length: u32,
    /// The stretch after it, or [`NO_STRETCH`].
    next: u32,
}

/// Sentinel: the border has no stretches.
const NO_STRETCH: u32 = u32::MAX;

/// Follows all borders.
pub(super) fn follow<K: Walk>(
    walk: &NodeWalk<'_, K>,
    starts: Starts,
    stretches: &[Entry],
    progress: &Progress<'_>,
) -> Result<Chains> {
    let Starts {
        entries,
        previous_in_row,
    } = starts;
    let measured = walk.measure_stretches(stretches)?;
    let heads = walk.measure_heads(&entries, stretches)?;
    progress.report(3, 5)?;

    let mut chains = Chains::default();
    let stretched: usize = measured.iter().map(|piece| piece.length as usize).sum();
    let unstretched = heads.par_iter().filter(|head| head.next == NO_STRETCH);
    let unstretched: usize = unstretched.map(|head| head.length as usize).sum();
    let total = stretched + unstretched;
    chains.steps = zeroed_vec(total, "the chain codes of borders")?;
    advise_large_pages(&mut chains.steps);
    reserve(&mut chains.borders, entries.len(), "the borders")?;
    reserve(&mut chains.nesting.kinds, entries.len(), "the borders")?;
    let mut pieces = Vec::new();
    let most_pieces = entries.len() + stretches.len();
    reserve(&mut pieces, most_pieces, "the pieces of borders")?;
    let mut rest = &mut *chains.steps;
    let mut steps_end = 0;
    for (&entry, &head) in entries.iter().zip(&heads) {
        let (kind, start) = walk.start(entry);
        let mut add = |from, length: u32| {
            let (steps, after) = std::mem::take(&mut rest).split_at_mut(length as usize);
            steps_end += steps.len();
            rest = after;
            pieces.push((from, steps));
        };
        if head.next == NO_STRETCH || head.length > 0 {
            add(Begin::Start(entry), head.length);
        }
        cut_cycle(head, &measured, |stretch, length| {
            add(Begin::Mark(stretches[stretch as usize]), length);
        });
        chains.borders.push(Border { start, steps_end });
        chains.nesting.kinds.push(kind);
    }
    drop((measured, heads, entries));
    let pieces = pieces.into_par_iter();
    chains.turns = pieces
        .map(|(from, steps)| walk.write_steps(from, steps))
        .sum();
    progress.report(4, 5)?;
    chains.nesting.find_parents(|id, _| previous_in_row[id])?;
    Ok(chains)
}

/// Lists the stretches of a border in order, with their lengths. The last one ends where the head
/// begins.
fn cut_cycle(head: Piece, measured: &[Piece], mut add: impl FnMut(u32, u32)) {
    let mut stretch = head.next;
    while stretch != NO_STRETCH {
        let Piece { length, next } = measured[stretch as usize];
        if next == head.next {
            add(stretch, length - head.length);
            return;
        }
        add(stretch, length);
        stretch = next;
    }
}

/// Where a piece of a border begins.
#[derive(Clone, Copy)]
enum Begin {
    /// At the start of the chain of the border that starts at a node.
    Start(Entry),
    /// At a marked node.
    Mark(Entry),
}

impl<K: Walk> NodeWalk<'_, K> {
    /// A border's kind, and where its chain starts, from the node where it is discovered.
    fn start(&self, entry: Entry) -> (BorderKind, (u32, u32)) {
        let kind = kind(entry);
        let (x, y) = self.plane.coordinates(super::place(entry));
        (kind, K::start(kind, x, y).0)
    }

    /// The node where a chain starts; `None` if it has no steps.
    fn first_node(&self, entry: Entry) -> Option<Node> {
        let mut node = self.node(entry)?;
        let (_, delay) = K::start(kind(entry), 0, 0);
        for _ in 0..delay {
            node = self.next(node, self.walk.step(node));
        }
        Some(node)
    }

    /// Follows a border to the next marked node, or back to its start. Returns the number of steps
    /// and the entry of that node.
    fn measure(&self, start: Node) -> (u32, Entry) {
        let mut node = start;
        let mut step = self.walk.step(node);
        let start = self.entry(node, step);
        let mut length = 0;
        loop {
            node = self.next(node, step);
            step = self.walk.step(node);
            length += 1;
            let mut at = self.entry(node, step);
            if at == start || is_marked(at) {
                return (length, at);
            }
            // All nodes but the one after the last straight step are of one kind.
            for _ in 1..self.straight(node, step) {
                node.place = self.moved(node.place, step.to);
                length += 1;
                at = self.entry(node, step);
                if at == start || is_marked(at) {
                    return (length, at);
                }
            }
        }
    }

    /// Counts each stretch's steps, and finds the stretch after it.
    fn measure_stretches(&self, stretches: &[Entry]) -> Result<Vec<Piece>> {
        let mut measured: Vec<Piece> = zeroed_vec(stretches.len(), "the stretches of borders")?;
        let each = measured.par_iter_mut().zip(stretches).enumerate();
        each.for_each(|(i, (piece, &entry))| {
            *piece = match self.node(entry) {
                Some(node) => {
                    let (length, end) = self.measure(node);
                    Piece {
                        length,
                        next: stretch_at(end, stretches),
                    }
                }
                None => Piece {
                    length: 0,
                    next: i as u32,
                },
            };
        });
        Ok(measured)
    }

    /// Counts the steps of each border's head, and finds its first stretch.
    fn measure_heads(&self, starts: &[Entry], stretches: &[Entry]) -> Result<Vec<Piece>> {
        let mut heads: Vec<Piece> = zeroed_vec(starts.len(), "the heads of borders")?;
        let each = heads.par_iter_mut().zip(starts).with_min_len(64);
        each.for_each(|(head, &entry)| {
            let (length, end) = match self.first_node(entry) {
                Some(first) => {
                    let at = self.entry(first, self.walk.step(first));
                    if is_marked(at) {
                        (0, at)
                    } else {
                        self.measure(first)
                    }
                }
                None => (0, entry),
            };
            let next = if is_marked(end) {
                stretch_at(end, stretches)
            } else {
                NO_STRETCH
            };
            *head = Piece { length, next };
        });
        Ok(heads)
    }

    /// Follows a piece of a border and writes its steps. Returns the number of points where it
    /// turns; a single pixel counts as one.
    fn write_steps(&self, from: Begin, steps: &mut [Direction]) -> usize {
        let node = match from {
            Begin::Start(entry) => self.first_node(entry),
            Begin::Mark(entry) => self.node(entry),
        };
        let Some(mut node) = node else {
            return 1;
        };
        let mut turns = 0;
        let mut before = self.walk.step_back(node).direction;
        let mut at = 0;
        while at < steps.len() {
            let step = self.walk.step(node);
            turns += usize::from(step.direction != before);
            before = step.direction;
            let straight = self.straight(node, step).clamp(1, steps.len() - at);
            steps[at..at + straight].fill(step.direction);
            at += straight;
            if straight > 1 {
                let skipped = (straight - 1) as isize * self.offsets[usize::from(step.to)];
                node.place = node.place.wrapping_add_signed(skipped);
            }
            node = self.next(node, step);
        }
        turns
    }
}

/// The kind of the border that starts at a node.
fn kind(start: Entry) -> BorderKind {
    if start & 3 == u64::from(W) {
        BorderKind::Outer
    } else {
        BorderKind::Hole
    }
}

/// The index of the stretch that begins at a marked node.
fn stretch_at(entry: Entry, stretches: &[Entry]) -> u32 {
    stretches.partition_point(|&other| other < entry) as u32
}
