//! From chain codes to points.

use std::mem::replace;

use glam::IVec2;

use super::chains::{BorderId, Chains, Direction, STEPS};
use super::teh_chin::{self, Curvature};
use crate::error::Result;
use crate::memory::{advise_large_pages, reserve, zeroed_vec};
use crate::trace::Approximation;
use crate::trace::contours::Contours;

/// The points of some borders, one border after the other.
pub(in crate::trace) struct Points {
    pub(in crate::trace) points: Vec<IVec2>,
    pub(in crate::trace) offsets: Vec<usize>,
}

/// The points of the borders in `order` that the approximation keeps.
pub(in crate::trace) fn points(
    chains: &Chains,
    order: &[BorderId],
    approximation: Approximation,
) -> Result<Points> {
    let all = chains.steps.len() + chains.borders.len();
    match approximation {
        Approximation::None => exact(chains, order, all, |_, _| true),
        Approximation::Simple => exact(chains, order, chains.turns, |step_in, step_out| {
            step_in != step_out
        }),
        Approximation::TehChinL1 => dominant(chains, order, Curvature::L1),
        Approximation::TehChinKCos => dominant(chains, order, Curvature::KCosine),
    }
}

/// Keeps the points for which `keep(step in, step out)` holds, at most `most` in all, and the only
/// point of a border without steps.
fn exact(
    chains: &Chains,
    order: &[BorderId],
    most: usize,
    keep: impl Fn(Direction, Direction) -> bool,
) -> Result<Points> {
    let mut offsets = offsets_for(order.len())?;
    // One spare point: each is written, and kept or overwritten by the next.
    let mut points: Vec<IVec2> = zeroed_vec(most + 1, "the contours' points")?;
    advise_large_pages(&mut points);
    let mut at = 0;
    for &id in order {
        offsets.push(at);
        let mut point = start(chains, id);
        let steps = chains.steps(id);
        let Some(&last) = steps.last() else {
            points[at] = point;
            at += 1;
            continue;
        };
        let mut step_in = last;
        for eight in steps.chunks(8) {
            let straight = eight
                .try_into()
                .is_ok_and(|eight: [_; 8]| eight == [step_in; 8]);
            if straight && !keep(step_in, step_in) {
                // Straight on, with nothing to keep.
                point += offset(step_in) * 8;
                continue;
            }
            for &step in eight {
                points[at] = point;
                at += usize::from(keep(replace(&mut step_in, step), step));
                point += offset(step);
            }
        }
    }
    offsets.push(at);
    points.truncate(at);
    Ok(Points { points, offsets })
}

/// Keeps Teh and Chin's dominant points.
fn dominant(chains: &Chains, order: &[BorderId], curvature: Curvature) -> Result<Points> {
    let mut kept = Dominant::new(order.len(), curvature)?;
    let mut walk = Vec::new();
    for &id in order {
        let steps = chains.steps(id);
        walk.clear();
        reserve(&mut walk, steps.len() + 1, "a border's points")?;
        let mut point = start(chains, id);
        walk.push(point);
        for &step in steps.split_last().map_or(steps, |(_, before)| before) {
            point += offset(step);
            walk.push(point);
        }
        kept.add(&walk, steps)?;
    }
    Ok(kept.finish())
}

/// Keeps Teh and Chin's dominant points of contours that have every point.
pub(in crate::trace) fn dominant_of(contours: Contours, curvature: Curvature) -> Result<Contours> {
    let mut kept = Dominant::new(contours.len(), curvature)?;
    let mut steps = Vec::new();
    for contour in contours.iter() {
        let walk = contour.points();
        steps.clear();
        reserve(&mut steps, walk.len(), "a border's steps")?;
        if walk.len() > 1 {
            let next = walk.iter().cycle().skip(1);
            steps.extend(
                walk.iter()
                    .zip(next)
                    .map(|(&from, &to)| direction(to - from)),
            );
        }
        kept.add(walk, &steps)?;
    }
    let Points { points, offsets } = kept.finish();
    Ok(Contours {
        points,
        offsets,
        ..contours
    })
}

/// The dominant points of borders, one border after the other.
struct Dominant {
    curvature: Curvature,
    selection: teh_chin::Selection,
    points: Vec<IVec2>,
    offsets: Vec<usize>,
}

impl Dominant {
    fn new(borders: usize, curvature: Curvature) -> Result<Self> {
        Ok(Self {
            curvature,
            selection: teh_chin::Selection::default(),
            points: Vec::new(),
            offsets: offsets_for(borders)?,
        })
    }

    /// Adds a border, whose `steps[i]` leads from `walk[i]` to the next point.
    fn add(&mut self, walk: &[IVec2], steps: &[Direction]) -> Result<()> {
        self.offsets.push(self.points.len());
        let kept = self.selection.dominant(walk, steps, self.curvature)?;
        reserve(&mut self.points, kept.len(), "the contours' points")?;
        self.points.extend(kept.iter().map(|&i| walk[i as usize]));
        Ok(())
    }

    fn finish(mut self) -> Points {
        self.offsets.push(self.points.len());
        Points {
            points: self.points,
            offsets: self.offsets,
        }
    }
}

/// The direction of a step to a neighbour.
fn direction(step: IVec2) -> Direction {
    let found = STEPS.iter().position(|&other| IVec2::from(other) == step);
    found.map_or(0, |direction| direction as Direction)
}

fn offsets_for(borders: usize) -> Result<Vec<usize>> {
    let mut offsets = Vec::new();
    reserve(&mut offsets, borders + 1, "the contours' offsets")?;
    Ok(offsets)
}

fn start(chains: &Chains, id: BorderId) -> IVec2 {
    let (x, y) = chains.borders[id as usize].start;
    IVec2::new(x as i32, y as i32)
}

pub(in crate::trace) fn offset(step: Direction) -> IVec2 {
    STEPS[usize::from(step)].into()
}
