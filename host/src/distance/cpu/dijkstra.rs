//! Dijkstra's search with a binary heap: the oracle of the other algorithms.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::first;
use crate::distance::real::Real;
use crate::distance::search::Search;
use crate::error::Result;
use crate::memory::push_to_heap;
use crate::progress::Progress;

const HEAP: &str = "the heap of cells";

/// As [`costs`](super::costs).
pub(super) fn costs<P: Real>(
    search: &Search<P>,
    before: Option<Vec<P>>,
    progress: &Progress<'_>,
) -> Result<Vec<P>> {
    let friction = &search.friction;
    let mut costs = first(search, before)?;
    // By cost; bits order as the values do.
    let mut heap = BinaryHeap::new();
    for start in &search.starts {
        let cost = &mut costs[start.place as usize];
        if start.cost < *cost {
            *cost = start.cost;
            push_to_heap(
                &mut heap,
                Reverse((start.cost.ordered(), start.place)),
                HEAP,
            )?;
        }
    }
    let mut settled = 0u64;
    while let Some(Reverse((bits, place))) = heap.pop() {
        let place = place as usize;
        let cost = costs[place];
        if cost.ordered() != bits {
            continue; // A path of less cost was found since.
        }
        settled += 1;
        if settled.is_multiple_of(1 << 16) {
            progress.report(settled, friction.len() as u64)?;
        }
        for step in &search.frame.steps {
            let at = |offset| friction[place.wrapping_add_signed(search.frame.jump(offset))];
            let next = place.wrapping_add_signed(search.frame.jump(step.offset));
            let reached = cost + step.cost(friction[place], friction[next], at);
            if reached < costs[next] && reached <= search.frame.max_cost {
                costs[next] = reached;
                push_to_heap(&mut heap, Reverse((reached.ordered(), next as u32)), HEAP)?;
            }
        }
    }
    Ok(costs)
}
