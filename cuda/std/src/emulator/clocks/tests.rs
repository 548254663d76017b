use super::*;

/// Two blocks of 64 threads: slots 0 to 63 and 64 to 127, which are also the threads' numbers.
fn clocks() -> Clocks {
    let mut clocks = Clocks::new(64, 2);
    clocks.start_block(0, 0);
    clocks.start_block(1, 1);
    clocks
}

/// The number and time of the thread in slot `a`, as `ordered` takes them.
fn so_far(clocks: &Clocks, a: usize) -> (u32, u32) {
    (clocks.id(a), clocks.now(a))
}

const FLAG: usize = 0x1000;

/// An atomic load of the last value.
fn load(clocks: &mut Clocks, slot: usize, address: usize, acquire: bool) {
    let released = clocks.released(address);
    clocks.atomic_load(slot, released.as_ref(), acquire);
}

#[test]
fn nothing_orders_threads_at_first() {
    let clocks = clocks();
    let (id, time) = so_far(&clocks, 5);
    assert!(clocks.ordered(id, time, 5));
    for other in [4, 6, 40, 70] {
        assert!(!clocks.ordered(id, time, other));
    }
}

#[test]
fn a_barrier_orders_its_block_up_to_then() {
    let mut clocks = clocks();
    let (id, before) = so_far(&clocks, 5);
    clocks.barrier(0);
    let after = clocks.now(5);
    assert!(clocks.ordered(id, before, 40));
    assert!(!clocks.ordered(id, after, 40));
    assert!(!clocks.ordered(id, before, 70));
}

#[test]
fn a_warp_barrier_orders_its_lanes_and_what_they_know() {
    let mut clocks = clocks();
    let (id, time) = so_far(&clocks, 33);
    clocks.warp_barrier(32, 0b0110);
    assert!(clocks.ordered(id, time, 34));
    assert!(!clocks.ordered(id, time, 32));
    assert!(!clocks.ordered(id, time, 1));
    // Lane 2 tells lane 3 about lane 1.
    clocks.warp_barrier(32, 0b1100);
    assert!(clocks.ordered(id, time, 35));
    assert!(!clocks.ordered(id, clocks.now(33), 35));
}

#[test]
fn release_and_acquire_order_across_blocks() {
    let mut clocks = clocks();
    let (id, time) = so_far(&clocks, 5);
    clocks.atomic_store(5, FLAG, Some(ScopeKind::Device), false);
    assert!(!clocks.ordered(id, time, 70));
    load(&mut clocks, 70, FLAG, true);
    assert!(clocks.ordered(id, time, 70));
    // What comes after the release is not covered, nor is any other thread.
    assert!(!clocks.ordered(id, clocks.now(5), 70));
    assert!(!clocks.ordered(id, time, 71));
    clocks.barrier(1);
    assert!(clocks.ordered(id, time, 71));
}

#[test]
fn a_release_carries_what_its_thread_knew() {
    let mut clocks = clocks();
    let (id, time) = so_far(&clocks, 40);
    clocks.barrier(0);
    let (next_id, next_time) = so_far(&clocks, 40);
    clocks.atomic_store(5, FLAG, Some(ScopeKind::Device), false);
    load(&mut clocks, 70, FLAG, true);
    assert!(clocks.ordered(id, time, 70));
    assert!(!clocks.ordered(next_id, next_time, 70));
    // And releases it to others.
    clocks.atomic_store(70, FLAG + 4, Some(ScopeKind::Device), false);
    load(&mut clocks, 64, FLAG + 4, true);
    assert!(clocks.ordered(id, time, 64));
}

#[test]
fn a_relaxed_load_needs_a_fence() {
    let mut clocks = clocks();
    let (id, time) = so_far(&clocks, 5);
    clocks.atomic_store(5, FLAG, Some(ScopeKind::Device), false);
    clocks.fence(70, ScopeKind::Device);
    load(&mut clocks, 70, FLAG, false);
    assert!(!clocks.ordered(id, time, 70));
    clocks.fence(70, ScopeKind::Device);
    assert!(clocks.ordered(id, time, 70));
}

#[test]
fn a_relaxed_store_carries_the_fence_before_it() {
    let mut clocks = clocks();
    let (id, before) = so_far(&clocks, 5);
    clocks.fence(5, ScopeKind::Device);
    let after = clocks.now(5);
    clocks.atomic_store(5, FLAG, None, false);
    load(&mut clocks, 70, FLAG, true);
    assert!(clocks.ordered(id, before, 70));
    // What was done between the fence and the store is not carried.
    assert!(!clocks.ordered(id, after, 70));
}

#[test]
fn a_store_ends_a_release_and_an_update_does_not() {
    for update in [false, true] {
        let mut clocks = clocks();
        let (id, time) = so_far(&clocks, 5);
        clocks.atomic_store(5, FLAG, Some(ScopeKind::Device), false);
        clocks.atomic_store(6, FLAG, None, update);
        load(&mut clocks, 70, FLAG, true);
        assert_eq!(clocks.ordered(id, time, 70), update);
    }
}

#[test]
fn a_release_to_the_block_reaches_no_other() {
    let mut clocks = clocks();
    let (id, time) = so_far(&clocks, 5);
    clocks.atomic_store(5, FLAG, Some(ScopeKind::Block), false);
    load(&mut clocks, 70, FLAG, true);
    load(&mut clocks, 40, FLAG, true);
    assert!(!clocks.ordered(id, time, 70));
    assert!(clocks.ordered(id, time, 40));
    assert!(!clocks.ordered(id, time, 41));
}

#[test]
fn a_fence_of_the_block_reaches_no_other() {
    let mut clocks = clocks();
    let (id, time) = so_far(&clocks, 5);
    clocks.fence(5, ScopeKind::Block);
    clocks.atomic_store(5, FLAG, None, true);
    for reader in [40, 70] {
        load(&mut clocks, reader, FLAG, false);
        clocks.fence(reader, ScopeKind::Device);
    }
    assert!(clocks.ordered(id, time, 40));
    assert!(!clocks.ordered(id, time, 70));
    // On the side that acquires, too.
    clocks.fence(5, ScopeKind::Device);
    clocks.atomic_store(5, FLAG, None, false);
    load(&mut clocks, 70, FLAG, false);
    clocks.fence(70, ScopeKind::Block);
    assert!(!clocks.ordered(id, time, 70));
    clocks.fence(70, ScopeKind::Device);
    assert!(clocks.ordered(id, time, 70));
}

#[test]
fn a_new_block_knows_nothing_of_the_one_before_in_its_slot() {
    let mut clocks = clocks();
    clocks.atomic_store(70, FLAG, Some(ScopeKind::Device), false);
    clocks.barrier(1);
    let (id, time) = so_far(&clocks, 70);
    clocks.start_block(1, 2);
    assert_eq!(clocks.id(70), 2 * 64 + 6);
    assert!(!clocks.ordered(id, time, 70));
    assert!(!clocks.ordered(id, 1, 70));
    // The release can still be acquired, until its memory serves another block.
    load(&mut clocks, 70, FLAG, true);
    assert!(clocks.ordered(id, 1, 70));
    clocks.forget(FLAG, 4);
    load(&mut clocks, 71, FLAG, true);
    assert!(!clocks.ordered(id, 1, 71));
}
