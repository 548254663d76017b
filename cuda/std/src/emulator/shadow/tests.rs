use core::panic::Location;

use super::*;

/// Shadow memory of 16 bytes that two blocks of 32 threads use.
struct Notes {
    shadow: Shadow,
    clocks: Clocks,
    crowds: Crowds,
}

impl Notes {
    fn new() -> Self {
        let mut clocks = Clocks::new(32, 2);
        clocks.start_block(0, 0);
        clocks.start_block(1, 1);
        Self {
            shadow: Shadow::new(16, true),
            clocks,
            crowds: Crowds::default(),
        }
    }

    /// Lets the thread in `slot` access `bytes` bytes at `offset`. Returns the thread that it
    /// conflicts with, if any.
    fn touch(&mut self, slot: usize, touch: Touch, offset: usize, bytes: usize) -> Option<u32> {
        let kind = Kind {
            touch,
            block_scope: false,
        };
        let (shadow, clocks, crowds) = (&mut self.shadow, &self.clocks, &mut self.crowds);
        let source = Location::caller();
        let access = Access {
            kind,
            bytes,
            source,
            slot,
            clocks,
        };
        let found = shadow.access(offset, access, 1, false, crowds);
        match found.unwrap() {
            None => None,
            Some(
                Conflict::Race(before)
                | Conflict::Narrow(before)
                | Conflict::Widths(before, _)
                | Conflict::ReadOnly(before),
            ) => Some(before.thread),
            Some(Conflict::Uninitialised) => panic!("all of it is written"),
        }
    }
}

#[test]
fn loads_of_a_whole_conflict_with_stores_to_its_parts() {
    let mut notes = Notes::new();
    for slot in [3, 4, 40] {
        assert_eq!(notes.touch(slot, Touch::Load, 0, 8), None);
    }
    // The block's barrier covers two of the three.
    notes.clocks.barrier(0);
    assert_eq!(notes.touch(5, Touch::Store, 4, 4), Some(40));
    assert_eq!(notes.touch(5, Touch::Store, 2, 2), Some(40));
    assert_eq!(notes.touch(5, Touch::Store, 8, 1), None);
}

#[test]
fn parts_of_a_cell_have_crowds_of_their_own() {
    let mut notes = Notes::new();
    for slot in [3, 4] {
        assert_eq!(notes.touch(slot, Touch::Load, 0, 8), None);
    }
    notes.clocks.barrier(0);
    // A store clears the records of the loads of its half.
    assert_eq!(notes.touch(5, Touch::Store, 0, 4), None);
    // Other loads elsewhere must not be taken for loads of the other half, nor the other way
    // round.
    for slot in [40, 41] {
        assert_eq!(notes.touch(slot, Touch::Load, 8, 4), None);
    }
    assert_eq!(notes.touch(5, Touch::Store, 4, 4), None);
    assert_eq!(notes.touch(5, Touch::Store, 8, 4), Some(40));
    // Nor may clearing one half's loads clear the records of the other's.
    let mut notes = Notes::new();
    for slot in [3, 4] {
        assert_eq!(notes.touch(slot, Touch::Load, 0, 8), None);
    }
    notes.clocks.barrier(0);
    assert_eq!(notes.touch(5, Touch::Store, 0, 4), None);
    assert_eq!(notes.touch(40, Touch::Store, 4, 4), Some(3));
}

#[test]
fn an_ordered_load_replaces_the_one_before() {
    let mut notes = Notes::new();
    assert_eq!(notes.touch(0, Touch::Load, 0, 4), None);
    notes.clocks.warp_barrier(0, 0b11);
    assert_eq!(notes.touch(1, Touch::Load, 0, 4), None);
    // Lane 2 was not at the barrier: it comes after neither.
    assert_eq!(notes.touch(2, Touch::Store, 0, 4), Some(1));
    notes.clocks.warp_barrier(0, 0b110);
    // It knows lane 1, which knew lane 0.
    assert_eq!(notes.touch(2, Touch::Store, 0, 4), None);
}

#[test]
fn atomic_accesses_conflict_with_plain_ones_alone() {
    let mut notes = Notes::new();
    assert_eq!(notes.touch(0, Touch::AtomicUpdate, 0, 4), None);
    assert_eq!(notes.touch(40, Touch::AtomicStore, 0, 4), None);
    assert_eq!(notes.touch(7, Touch::AtomicLoad, 0, 4), None);
    assert_eq!(notes.touch(0, Touch::Load, 0, 4), Some(40));
    assert_eq!(notes.touch(7, Touch::Store, 0, 4), Some(0));
    // A plain load and an atomic load do not conflict.
    assert_eq!(notes.touch(0, Touch::Load, 4, 4), None);
    assert_eq!(notes.touch(40, Touch::AtomicLoad, 4, 4), None);
    assert_eq!(notes.touch(40, Touch::AtomicUpdate, 4, 4), Some(0));
}

#[test]
fn atomics_of_two_widths_need_an_order() {
    let mut notes = Notes::new();
    assert_eq!(notes.touch(0, Touch::AtomicUpdate, 0, 4), None);
    assert_eq!(notes.touch(40, Touch::AtomicUpdate, 8, 8), None);
    assert_eq!(notes.touch(40, Touch::AtomicLoad, 0, 8), Some(0));
    assert_eq!(notes.touch(0, Touch::AtomicStore, 12, 4), Some(40));
    // After a barrier, the block's threads may change the width, and then keep to it.
    notes.clocks.barrier(0);
    assert_eq!(notes.touch(1, Touch::AtomicUpdate, 0, 8), None);
    assert_eq!(notes.touch(2, Touch::AtomicUpdate, 0, 8), None);
    assert_eq!(notes.touch(3, Touch::AtomicUpdate, 0, 4), Some(1));
    // Loads of both widths do not conflict with each other, but with later updates of either.
    let mut notes = Notes::new();
    assert_eq!(notes.touch(0, Touch::AtomicLoad, 0, 4), None);
    assert_eq!(notes.touch(1, Touch::AtomicLoad, 8, 8), None);
    assert_eq!(notes.touch(1, Touch::FailedSwap, 0, 4), None);
    assert_eq!(notes.touch(2, Touch::AtomicLoad, 8, 4), None);
    assert_eq!(notes.touch(40, Touch::AtomicUpdate, 0, 8), Some(0));
    assert_eq!(notes.touch(40, Touch::AtomicUpdate, 0, 4), None);
}
