//! Read-modify-writes: their result in memory, and the value that they return.

use cuda_std::Atomic;
use cuda_std::prelude::*;

/// Operations of each type.
pub const OPERATIONS: u32 = 8;
/// Threads of every kernel here.
pub const THREADS: u32 = 64;

/// Applies operation `t % OPERATIONS` to element `t`, each thread to an element of its own, in
/// global memory and, on a copy, in shared memory. Both must agree; what each returned goes to
/// `before`.
macro_rules! each_operation {
    ($(#[$doc:meta])* $name:ident($t:ty)) => {
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// One block; `cells`, `operands` and `before` have [`THREADS`] elements, `mismatches` has
        /// one.
        #[kernel(block = 64)]
        pub unsafe fn $name(
            cells: ViewMut<'_, $t>,
            operands: View<'_, $t>,
            before: ViewMut<'_, $t>,
            mismatches: ViewMut<'_, u32>,
        ) {
            let copies = shared_array![$t; THREADS as usize];
            let t = thread::thread_idx_x();
            let operand = operands.ld(t);
            copies.st(t, cells.ld(t));
            let in_global = apply_to_view(cells, t, operand);
            let in_shared = apply_to_shared(copies, t, operand);
            before.st(t, in_global);
            if in_shared != in_global || copies.ld(t) != cells.ld(t) {
                mismatches.atomic_add(0, 1);
            }
        }
    };
}

each_operation! {
    /// Every operation on `u32`.
    operations_u32(u32)
}
each_operation! {
    /// Every operation on `i32`.
    operations_i32(i32)
}
each_operation! {
    /// Every operation on `u64`.
    operations_u64(u64)
}

macro_rules! apply {
    ($name:ident, $view:ty) => {
        #[inline(always)]
        fn $name<T: Atomic>(cells: $view, t: u32, operand: T) -> T {
            match t % OPERATIONS {
                0 => cells.atomic_add(t, operand),
                1 => cells.atomic_min(t, operand),
                2 => cells.atomic_max(t, operand),
                3 => cells.atomic_and(t, operand),
                4 => cells.atomic_or(t, operand),
                5 => cells.atomic_xor(t, operand),
                6 => cells.atomic_exch(t, operand),
                // Half of these find the value that they compare with.
                _ => {
                    let current = if t < THREADS / 2 {
                        cells.ld(t)
                    } else {
                        operand
                    };
                    cells.atomic_cas(t, current, operand)
                }
            }
        }
    };
}
apply!(apply_to_view, ViewMut<'_, T>);
apply!(apply_to_shared, SharedView<T>);

/// All threads of the grid work on the same cells: cell 0 counts by addition, cell 1 by
/// compare-and-swap, cell 2 has the smallest thread index and cell 3 the largest, cells 4 and 5
/// have the or and the xor of `1 << index % 32`. `tickets[i]` counts the threads that got `i` from
/// the addition, which is one each.
///
/// # Safety
///
/// `cells` has six elements, `tickets` one per thread of the grid.
#[kernel(block = 64)]
pub unsafe fn contended(cells: ViewMut<'_, u32>, tickets: ViewMut<'_, u32>) {
    let i = thread::index_1d();
    let ticket = cells.atomic_add(0, 1);
    tickets.atomic_add(ticket, 1);
    let mut seen = cells.ld_relaxed(1, Device);
    loop {
        let before = cells.atomic_cas(1, seen, seen + 1);
        if before == seen {
            break;
        }
        seen = before;
    }
    cells.atomic_min(2, i);
    cells.atomic_max(3, i);
    cells.atomic_or(4, 1 << (i % 32));
    cells.atomic_xor(5, 1 << (i % 32));
}
