//! The kernels. The same source is compiled for the GPU, by `cargo kernels`, and for the host,
//! where the emulator runs it.

use cuda_std::prelude::*;

/// Counts how often each byte occurs: adds the counts of `bytes` to the 256 elements of `counts`.
///
/// One thread per byte. Each block counts in shared memory first, where atomic updates are quick.
///
/// # Safety
///
/// `counts` has 256 elements, and nothing else uses them or writes `bytes` meanwhile.
#[kernel(block = 256)]
pub unsafe fn histogram(bytes: View<'_, u8>, counts: ViewMut<'_, u32>) {
    let bins = shared_array![u32; 256];
    let (t, i) = (thread::thread_idx_x(), thread::index_1d());
    bins.st(t, 0);
    thread::sync_threads();
    if (i as usize) < bytes.len() {
        bins.atomic_add(u32::from(bytes.ld(i)), 1);
    }
    thread::sync_threads();
    counts.atomic_add(t, bins.ld(t));
}
