//! Meetings of threads: barriers of a block, operations of a warp.

use super::clocks::LANES;
use super::event::{Source, same};
use super::fault::Fault;
use super::machine::{Machine, State};
use super::warp::{Answer, Operand, WarpOp, answers};

/// The barriers of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Plain,
    Count,
    And,
    Or,
}

impl BarrierKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain => "sync_threads",
            Self::Count => "sync_threads_count",
            Self::And => "sync_threads_and",
            Self::Or => "sync_threads_or",
        }
    }
}

/// The threads of a block that wait at a barrier.
pub(super) struct Barrier {
    pub(super) kind: BarrierKind,
    pub(super) source: Source,
    /// The thread that arrived first.
    pub(super) first: usize,
    arrived: u32,
    holding: u32,
}

/// The lanes of a warp, and what they wait for.
#[derive(Clone)]
pub(super) struct Warp {
    /// Lanes that the block has.
    lanes: u32,
    /// The lanes that have ended.
    ended: u32,
    groups: Vec<Group>,
    sources: [Option<Source>; LANES],
    operands: [Operand; LANES],
    pub(super) answers: [Answer; LANES],
}

/// Lanes that wait for each other in one operation.
#[derive(Clone, Copy)]
struct Group {
    op: WarpOp,
    mask: u32,
    arrived: u32,
}

impl Warp {
    /// A warp of `lanes` lanes.
    pub(super) fn new(lanes: usize) -> Self {
        Self {
            lanes: u32::MAX >> (LANES - lanes),
            ended: 0,
            groups: Vec::new(),
            sources: [None; LANES],
            operands: [Operand::default(); LANES],
            answers: [(0, false); LANES],
        }
    }

    pub(super) fn start(&mut self) {
        self.ended = 0;
    }

    /// The operation in which `lane` waits, and its place in the source.
    fn waits(&self, lane: u32) -> Option<(Group, Source)> {
        let group = self.groups.iter().find(|g| g.arrived >> lane & 1 != 0)?;
        Some((*group, self.sources[lane as usize]?))
    }
}

impl Machine {
    /// The warp operation in which the thread in `slot` waits.
    pub(super) fn in_warp(&self, slot: usize) -> Option<(&'static str, Source)> {
        let (group, source) = self.warps[self.warp(slot)].waits(self.lane(slot))?;
        Some((group.op.name(), source))
    }

    /// The result of the running thread's last warp operation.
    pub(super) fn answer(&self) -> Answer {
        self.warps[self.warp(self.current)].answers[self.lane(self.current) as usize]
    }

    /// Records that the thread in `slot` has ended: its warp and its block no longer wait for it.
    pub(super) fn end_meetings(&mut self, slot: usize) -> Result<(), Fault> {
        let lane = self.lane(slot);
        let warp = self.warp(slot);
        self.warps[warp].ended |= 1 << lane;
        if let Some(group) = self.warps[warp]
            .groups
            .iter()
            .find(|g| g.mask >> lane & 1 != 0)
        {
            let waits = group.arrived.trailing_zeros();
            let other = slot - lane as usize + waits as usize;
            let source = self.warps[warp].sources[waits as usize];
            return Err(Fault::ExitedLane {
                waiting: self.waiting(other, group.op.name(), source),
                mask: group.mask,
                exited: 1 << lane,
            });
        }
        if let Some(barrier) = &self.block(slot).barrier {
            return Err(Fault::DivergentBarrier {
                waiting: self.waiting(barrier.first, barrier.kind.name(), Some(barrier.source)),
                other: self.thread_id(slot),
                elsewhere: None,
            });
        }
        Ok(())
    }

    /// Records that the running thread arrives at a barrier of its block.
    pub(super) fn arrive(
        &mut self,
        kind: BarrierKind,
        predicate: bool,
        source: Source,
    ) -> Result<(), Fault> {
        let slot = self.current;
        let count = self.block_threads();
        let block = slot / count;
        if (self.blocks[block].running as usize) < count {
            let ended = (block * count..(block + 1) * count)
                .find(|&other| self.threads[other].state == State::Ended);
            return Err(Fault::DivergentBarrier {
                waiting: self.waiting(slot, kind.name(), Some(source)),
                other: self.thread_id(ended.unwrap_or(slot)),
                elsewhere: None,
            });
        }
        let barrier = self.blocks[block].barrier.get_or_insert(Barrier {
            kind,
            source,
            first: slot,
            arrived: 0,
            holding: 0,
        });
        if barrier.kind != kind || !same(barrier.source, source) {
            let (first, first_kind, first_source) = (barrier.first, barrier.kind, barrier.source);
            return Err(Fault::DivergentBarrier {
                waiting: self.waiting(first, first_kind.name(), Some(first_source)),
                other: self.thread_id(slot),
                elsewhere: Some((kind.name(), source)),
            });
        }
        barrier.arrived += 1;
        barrier.holding += u32::from(predicate);
        self.threads[slot].state = State::AtBarrier;
        if barrier.arrived as usize == count {
            let holding = barrier.holding;
            let answer = match kind {
                BarrierKind::Plain => 0,
                BarrierKind::Count => holding,
                BarrierKind::And => u32::from(holding as usize == count),
                BarrierKind::Or => u32::from(holding > 0),
            };
            self.blocks[block].barrier = None;
            self.blocks[block].answer = answer;
            self.clocks.barrier(block);
            self.changes += 1;
            for other in block * count..(block + 1) * count {
                self.threads[other].state = State::Ready;
                self.ready.push(other);
            }
        }
        Ok(())
    }

    /// Records that the running thread arrives at a warp operation.
    pub(super) fn arrive_in_warp(
        &mut self,
        op: WarpOp,
        mask: u32,
        operand: Operand,
        source: Source,
    ) -> Result<(), Fault> {
        let slot = self.current;
        let lane = self.lane(slot);
        let first = slot - lane as usize;
        let at = self.warp(slot);
        let warp = &mut self.warps[at];
        let (absent, exited) = (mask & !warp.lanes, mask & warp.ended);
        // Lanes that wait for this lane in another operation, while it waits for them: neither can
        // go on.
        let elsewhere = warp.groups.iter().find(|g| {
            (g.op, g.mask) != (op, mask) && g.arrived & mask != 0 && g.mask >> lane & 1 != 0
        });
        if mask >> lane & 1 == 0 || absent != 0 || exited != 0 || elsewhere.is_some() {
            let elsewhere = elsewhere.copied();
            let waiting = self.waiting(slot, op.name(), Some(source));
            return Err(if mask >> lane & 1 == 0 {
                Fault::NotInMask { waiting, mask }
            } else if absent != 0 {
                Fault::AbsentLane {
                    waiting,
                    mask,
                    absent,
                }
            } else if let Some(other) = elsewhere {
                let waits = (other.arrived & mask).trailing_zeros() as usize;
                let source = self.warps[at].sources[waits];
                let first = self.waiting(first + waits, other.op.name(), source);
                Fault::WarpMismatch {
                    first: Box::new((first, other.mask)),
                    second: Box::new((waiting, mask)),
                }
            } else {
                Fault::ExitedLane {
                    waiting,
                    mask,
                    exited,
                }
            });
        }

        warp.operands[lane as usize] = operand;
        warp.sources[lane as usize] = Some(source);
        self.threads[slot].state = State::InWarp;
        let group = warp
            .groups
            .iter()
            .position(|g| (g.op, g.mask) == (op, mask));
        let group = group.unwrap_or_else(|| {
            let arrived = 0;
            warp.groups.push(Group { op, mask, arrived });
            warp.groups.len() - 1
        });
        warp.groups[group].arrived |= 1 << lane;
        if warp.groups[group].arrived != mask {
            return Ok(());
        }
        warp.groups.swap_remove(group);
        match answers(op, mask, &warp.operands, &mut warp.answers) {
            Ok(()) => {}
            Err(inactive) => {
                let source = warp.sources[inactive.reader];
                return Err(Fault::InactiveLane {
                    waiting: self.waiting(first + inactive.reader, op.name(), source),
                    mask,
                    lane: inactive.lane as u32,
                });
            }
        }
        // This is the only warp operation that orders memory accesses.
        if op == WarpOp::Sync {
            self.clocks.warp_barrier(first, mask);
        }
        let mut rest = mask;
        while rest != 0 {
            let slot = first + rest.trailing_zeros() as usize;
            rest &= rest - 1;
            self.threads[slot].state = State::Ready;
            self.ready.push(slot);
        }
        Ok(())
    }

    /// Answers the lanes that ask at `source` together with the thread in `slot`, or some of them:
    /// those count as active together.
    pub(super) fn answer_active(&mut self, slot: usize, source: Source) {
        let lane = self.lane(slot);
        let first = slot - lane as usize;
        let at = self.warp(slot);
        let lanes = self.warps[at].lanes.count_ones();
        let mut mask = 0u32;
        for other in 0..lanes {
            let state = self.threads[first + other as usize].state;
            let asks = matches!(state, State::AsksActive(place) if same(place, source));
            if asks && (other == lane || self.ready.rng.u32(..4) != 0) {
                mask |= 1 << other;
            }
        }
        for other in (0..lanes).filter(|other| mask >> other & 1 != 0) {
            self.warps[at].answers[other as usize] = (mask.into(), false);
            self.threads[first + other as usize].state = State::Ready;
        }
    }
}
