//! Which threads accessed an element of memory last: one, or several unordered ones.

use std::collections::HashMap;

use super::clocks::{Clocks, LANES};
use super::event::Source;

/// An access's thread, that thread's time, and the place in the source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    pub(super) source: Option<Source>,
    /// The thread's number in the grid; [`MANY`] if `time` is the number of a [`Crowd`].
    pub(super) thread: u32,
    pub(super) time: u32,
}

const MANY: u32 = u32::MAX;

impl Stamp {
    pub(super) fn is_some(&self) -> bool {
        self.source.is_some()
    }
}

/// Unordered accesses of several threads.
#[derive(Clone, Debug, Default)]
struct Crowd {
    /// The accesses, one per thread, while the threads are few. They move to `warps` when there are
    /// more.
    few: Vec<Stamp>,
    warps: Vec<WarpAccesses>,
    /// Position of each warp in `warps`, once there are several.
    places: HashMap<u32, usize>,
}

/// The most accesses of a crowd that are kept as a list.
const FEW: usize = 8;

/// The last access of each lane of a warp; time 0 means none.
#[derive(Clone, Debug)]
struct WarpAccesses {
    first_lane: u32,
    times: [u32; LANES],
    sources: [Option<Source>; LANES],
}

impl Crowd {
    /// Adds an access of the thread in `slot`.
    fn add(&mut self, stamp: Stamp, slot: usize, clocks: &Clocks) {
        if self.warps.is_empty() {
            if let Some(earlier) = self.few.iter_mut().find(|few| few.thread == stamp.thread) {
                *earlier = stamp;
                return;
            }
            if self.few.len() == FEW {
                // Whatever happens after this access also happens after these.
                self.few
                    .retain(|few| !clocks.ordered(few.thread, few.time, slot));
            }
            if self.few.len() < FEW {
                self.few.push(stamp);
                return;
            }
        }
        let mut few = std::mem::take(&mut self.few);
        few.push(stamp);
        for stamp in few.drain(..) {
            self.add_to_warp(stamp, clocks);
        }
        self.few = few;
    }

    fn add_to_warp(&mut self, stamp: Stamp, clocks: &Clocks) {
        let first_lane = clocks.first_lane(stamp.thread);
        let place = match self.warps.last() {
            Some(last) if last.first_lane == first_lane => self.warps.len() - 1,
            _ => *self.places.entry(first_lane).or_insert_with(|| {
                self.warps.push(WarpAccesses {
                    first_lane,
                    times: [0; LANES],
                    sources: [None; LANES],
                });
                self.warps.len() - 1
            }),
        };
        let lane = (stamp.thread - first_lane) as usize;
        let warp = &mut self.warps[place];
        warp.times[lane] = stamp.time;
        warp.sources[lane] = stamp.source;
    }
}

/// The crowds of one launch.
#[derive(Debug, Default)]
pub(super) struct Crowds {
    all: Vec<Crowd>,
    unused: Vec<u32>,
}

impl Crowds {
    /// Makes `stamp` represent no access.
    pub(super) fn clear(&mut self, stamp: &mut Stamp) {
        if stamp.thread == MANY && stamp.is_some() {
            let crowd = &mut self.all[stamp.time as usize];
            crowd.few.clear();
            crowd.warps.clear();
            crowd.places.clear();
            self.unused.push(stamp.time);
        }
        *stamp = Stamp::default();
    }

    /// Gives `stamp`, a copy of another one, a crowd of its own.
    pub(super) fn part(&mut self, stamp: &mut Stamp) {
        if stamp.thread == MANY && stamp.is_some() {
            self.all.push(self.all[stamp.time as usize].clone());
            stamp.time = self.all.len() as u32 - 1;
        }
    }

    /// Adds an access of the thread in `slot` to those of `stamp`.
    pub(super) fn add(&mut self, stamp: &mut Stamp, slot: usize, source: Source, clocks: &Clocks) {
        let mine = Stamp {
            source: Some(source),
            thread: clocks.id(slot),
            time: clocks.now(slot),
        };
        if !stamp.is_some() {
            *stamp = mine;
        } else if stamp.thread == MANY {
            self.all[stamp.time as usize].add(mine, slot, clocks);
        } else if clocks.ordered(stamp.thread, stamp.time, slot) {
            // Whatever happens after this access also happens after that one.
            *stamp = mine;
        } else {
            let crowd = self.unused.pop().unwrap_or_else(|| {
                self.all.push(Crowd::default());
                self.all.len() as u32 - 1
            });
            self.all[crowd as usize].few.extend([*stamp, mine]);
            *stamp = Stamp {
                source: Some(source),
                thread: MANY,
                time: crowd,
            };
        }
    }

    /// One of the accesses of `stamp` that satisfies `counts` and does not happen before what the
    /// thread in `slot` does now.
    pub(super) fn unordered(
        &self,
        stamp: &Stamp,
        slot: usize,
        clocks: &Clocks,
        counts: impl Fn(u32) -> bool,
    ) -> Option<(u32, Source)> {
        let source = stamp.source?;
        if stamp.thread != MANY {
            let conflict = counts(stamp.thread) && !clocks.ordered(stamp.thread, stamp.time, slot);
            return conflict.then_some((stamp.thread, source));
        }
        let crowd = &self.all[stamp.time as usize];
        for few in &crowd.few {
            if counts(few.thread) && !clocks.ordered(few.thread, few.time, slot) {
                return Some((few.thread, few.source.unwrap_or(source)));
            }
        }
        for warp in &crowd.warps {
            for (lane, &time) in warp.times.iter().enumerate() {
                let thread = warp.first_lane + lane as u32;
                if time > 0 && counts(thread) && !clocks.ordered(thread, time, slot) {
                    return Some((thread, warp.sources[lane].unwrap_or(source)));
                }
            }
        }
        None
    }

    /// Any of the accesses of `stamp`.
    pub(super) fn any(&self, stamp: &Stamp) -> Option<(u32, Source)> {
        let source = stamp.source?;
        if stamp.thread != MANY {
            return Some((stamp.thread, source));
        }
        let crowd = &self.all[stamp.time as usize];
        if let Some(few) = crowd.few.first() {
            return Some((few.thread, few.source.unwrap_or(source)));
        }
        let warp = crowd.warps.first()?;
        let lane = warp.times.iter().position(|&time| time > 0)?;
        Some((
            warp.first_lane + lane as u32,
            warp.sources[lane].unwrap_or(source),
        ))
    }
}
