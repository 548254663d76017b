//! Cells in buckets of similar cost, on one thread: the order of delta-stepping (U. Meyer and P.
//! Sanders, *Δ-stepping: a parallelizable shortest path algorithm*, 2003), with buckets so narrow
//! that few cells are taken twice.

use super::queue::Queue;
use crate::distance::real::Real;
use crate::distance::search::Search;
use crate::error::Result;
use crate::memory::{advise_large_pages, filled_vec};
use crate::progress::Progress;

/// As [`costs`](super::costs).
pub(super) fn costs<P: Real>(search: &Search<P>, progress: &Progress<'_>) -> Result<Vec<P>> {
    let mut costs = filled_vec(P::INFINITY, search.friction.len(), "the costs")?;
    advise_large_pages(&mut costs);
    let mut queue = Queue::new(bucket_width(search))?;
    for start in &search.starts {
        let cost = &mut costs[start.place as usize];
        if start.cost < *cost {
            *cost = start.cost;
            queue.push(start.cost, start.place);
        }
    }
    let mut list = Vec::new();
    let mut taken = 0u64;
    let mut reported = 0;
    while let Some(bucket) = queue.take(&mut list, |cell| costs[cell as usize])? {
        for &place in &list {
            let place = place as usize;
            let cost = costs[place];
            if queue.bucket(cost) < bucket {
                continue; // It was taken at that cost.
            }
            relax(search, &mut costs, &mut queue, place, cost);
        }
        taken += list.len() as u64;
        if taken >= reported + (1 << 20) {
            reported = taken;
            progress.report(taken.min(costs.len() as u64), costs.len() as u64)?;
        }
        list.clear();
    }
    Ok(costs)
}

#[inline(always)]
fn relax<P: Real>(
    search: &Search<P>,
    costs: &mut [P],
    queue: &mut Queue<P>,
    place: usize,
    cost: P,
) {
    let friction = &search.friction;
    let own = friction[place];
    for step in &search.frame.steps {
        let at = |offset| friction[place.wrapping_add_signed(search.frame.jump(offset))];
        let next = place.wrapping_add_signed(search.frame.jump(step.offset));
        let reached = cost + step.cost(own, friction[next], at);
        if reached < costs[next] && reached <= search.frame.max_cost {
            costs[next] = reached;
            queue.push(reached, next as u32);
        }
    }
}

/// A width of buckets that suits the friction: a part of a usual step's cost.
pub(super) fn bucket_width<P: Real>(search: &Search<P>) -> f64 {
    const SAMPLES: usize = 1024;
    let pace = (search.friction.len() / SAMPLES).max(1) | 1;
    let mut sample: Vec<f64> = search
        .friction
        .iter()
        .step_by(pace)
        .filter(|friction| friction.is_finite() && **friction > P::ZERO)
        .map(|friction| friction.to_f64())
        .collect();
    sample.sort_unstable_by(f64::total_cmp);
    let usual = sample.get(sample.len() / 4).copied().unwrap_or(1.0);
    let share = search.frame.steps.iter().map(|step| step.share.to_f64());
    let width = share.fold(f64::INFINITY, f64::min) * usual * WIDTH;
    width.max(f64::MIN_POSITIVE)
}

const WIDTH: f64 = 0.5;
