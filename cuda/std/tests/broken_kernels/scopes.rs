//! Atomic accesses whose scope is too narrow.

use cuda_std::emulator::Touch::{AtomicLoad, AtomicStore};
use cuda_std::emulator::{Fault, Touch};
use cuda_std::prelude::*;

use crate::support::{File, Race, always, element, never, xs};

const HERE: File = File("scopes.rs", include_str!("scopes.rs"));

#[track_caller]
fn too_narrow(fault: &Fault, accesses: [(Touch, &str); 2]) -> Race {
    let Fault::ScopeTooNarrow {
        place,
        first,
        second,
    } = fault
    else {
        panic!("not about scopes");
    };
    HERE.pair(place, [first, second], accesses)
}

/// Block 0 hands a number to block 1, with a release at block scope.
///
/// # Safety
///
/// `data`, `flag` and `out` have one element; the grid has two blocks.
#[kernel(block = 1, cooperative)]
unsafe fn release_to_the_block(
    data: ViewMut<'_, u32>,
    flag: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
) {
    if thread::block_idx_x() == 0 {
        data.st(0u32, 42);
        flag.st_release(0u32, 1, Block); // @narrow release
    } else {
        while flag.ld_acquire(0u32, Device) == 0 {} // @wide acquire
        out.st(0u32, data.ld(0u32));
    }
}

/// Block 0 hands a number to block 1.
///
/// # Safety
///
/// As for `release_to_the_block`.
#[kernel(block = 1, cooperative)]
unsafe fn release_to_the_device(
    data: ViewMut<'_, u32>,
    flag: ViewMut<'_, u32>,
    out: ViewMut<'_, u32>,
) {
    if thread::block_idx_x() == 0 {
        data.st(0u32, 42);
        flag.st_release(0u32, 1, Device);
    } else {
        while flag.ld_acquire(0u32, Device) == 0 {}
        out.st(0u32, data.ld(0u32));
    }
}

#[test]
fn release_at_block_scope() {
    always(
        "release_to_the_block",
        |gpu| {
            let (mut data, mut flag) = (gpu.upload(&[0])?, gpu.upload(&[0])?);
            let mut out = gpu.alloc(1)?;
            let (data, flag) = (data.view_mut(), flag.view_mut());
            // SAFETY: one element each, two blocks.
            unsafe { release_to_the_block::launch(gpu, 2, data, flag, out.view_mut()) }
        },
        |fault| {
            let accesses = [
                (AtomicStore, "narrow release"),
                (AtomicLoad, "wide acquire"),
            ];
            let race = too_narrow(fault, accesses);
            element(&race.place, "`flag`", 0);
            assert_eq!(race.threads.map(xs), [(0, 0), (1, 0)]);
        },
    );
    never(|gpu| {
        let (mut data, mut flag) = (gpu.upload(&[0])?, gpu.upload(&[0])?);
        let mut out = gpu.alloc(1)?;
        let (data, flag) = (data.view_mut(), flag.view_mut());
        // SAFETY: one element each, two blocks.
        unsafe { release_to_the_device::launch(gpu, 2, data, flag, out.view_mut())? };
        assert_eq!(out.to_vec()?, [42]);
        Ok(())
    });
}

/// Searches for a number; blocks stop when `done` is set, which they set and read at block scope.
///
/// # Safety
///
/// `x` has 32 elements per block, `done` one.
#[kernel(block = 32)]
unsafe fn search_with_narrow_flag(x: View<'_, u32>, done: ViewMut<'_, u32>, wanted: u32) {
    let stop = done.ld_relaxed(0u32, Block); // @narrow look
    if stop != 0 {
        return;
    }
    if x.ld(thread::index_1d()) == wanted {
        done.st_relaxed(0u32, 1, Block); // @narrow found
    }
}

/// Searches for a number; blocks stop when `done` is set.
///
/// # Safety
///
/// As for `search_with_narrow_flag`.
#[kernel(block = 32)]
unsafe fn search(x: View<'_, u32>, done: ViewMut<'_, u32>, wanted: u32) {
    if done.ld_relaxed(0u32, Device) != 0 {
        return;
    }
    if x.ld(thread::index_1d()) == wanted {
        done.st_relaxed(0u32, 1, Device);
    }
}

#[test]
fn flag_at_block_scope() {
    let x: Vec<u32> = (0..64).collect();
    always(
        "search_with_narrow_flag",
        |gpu| {
            let (x, mut done) = (gpu.upload(&x)?, gpu.upload(&[0])?);
            // SAFETY: 64 elements for two blocks, and one.
            unsafe { search_with_narrow_flag::launch(gpu, 2, x.view(), done.view_mut(), 40) }
        },
        |fault| {
            let race = too_narrow(
                fault,
                [(AtomicStore, "narrow found"), (AtomicLoad, "narrow look")],
            );
            element(&race.place, "`done`", 0);
            let [finder, other] = race.threads.map(xs);
            assert_eq!((finder, other.0), ((1, 8), 0));
        },
    );
    never(|gpu| {
        let (x, mut done) = (gpu.upload(&x)?, gpu.upload(&[0])?);
        // SAFETY: 64 elements for two blocks, and one.
        unsafe { search::launch(gpu, 2, x.view(), done.view_mut(), 40)? };
        assert_eq!(done.to_vec()?, [1]);
        Ok(())
    });
}

/// The blocks' turns: each adds to the count, and looks at it with a load of block scope on the
/// way.
///
/// # Safety
///
/// `count` has one element.
#[kernel(block = 1)]
unsafe fn looks_narrowly(count: ViewMut<'_, u32>) {
    let _ = count.ld_relaxed(0u32, Block); // @narrow load
    count.atomic_add(0u32, 1); // @count of blocks
}

/// The blocks' turns, looked at with a load of block scope when only the own block can have
/// written.
///
/// # Safety
///
/// `counts` has one element per block, and one.
#[kernel(block = 32)]
unsafe fn looks_narrowly_at_its_own(counts: ViewMut<'_, u32>) {
    let own = thread::block_idx_x() + 1;
    counts.atomic_add(own, 1);
    while counts.ld_relaxed(own, Block) < 32 {}
    if thread::thread_idx_x() == 0 {
        counts.atomic_add(0u32, counts.ld_relaxed(own, Device));
    }
}

#[test]
fn load_at_block_scope_of_what_other_blocks_update() {
    always(
        "looks_narrowly",
        |gpu| {
            let mut count = gpu.upload(&[0])?;
            // SAFETY: one element.
            unsafe { looks_narrowly::launch(gpu, 2, count.view_mut()) }
        },
        |fault| {
            let update = (Touch::AtomicUpdate, "count of blocks");
            let race = too_narrow(fault, [update, (AtomicLoad, "narrow load")]);
            element(&race.place, "`count`", 0);
        },
    );
    never(|gpu| {
        let mut counts = gpu.upload(&[0; 3])?;
        // SAFETY: one element for each of two blocks, and one.
        unsafe { looks_narrowly_at_its_own::launch(gpu, 2, counts.view_mut())? };
        assert_eq!(counts.to_vec()?, [64, 32, 32]);
        Ok(())
    });
}

/// A block counts its threads and looks at the count at block scope; another block looks at it at
/// device scope. The narrow loads conflict with no write of the other block.
///
/// # Safety
///
/// `count` has one element.
#[kernel(block = 32, cooperative)]
unsafe fn narrow_loads_and_wide_loads(count: ViewMut<'_, u32>) {
    if thread::block_idx_x() == 0 {
        let _ = count.ld_relaxed(0u32, Block);
        count.atomic_add(0u32, 1);
    } else {
        while count.ld_relaxed(0u32, Device) < 32 {}
    }
}

/// No false alarm: only the wide update and the wide load meet.
#[test]
fn narrow_loads_of_the_block_that_updates() {
    never(|gpu| {
        let mut count = gpu.upload(&[0])?;
        // SAFETY: one element.
        unsafe { narrow_loads_and_wide_loads::launch(gpu, 2, count.view_mut())? };
        assert_eq!(count.to_vec()?, [32]);
        Ok(())
    });
}
