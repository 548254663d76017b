//! Loads and stores through views.

use cuda_std::prelude::*;

/// A struct as an argument.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Shape {
    /// Elements to handle.
    pub count: u32,
    /// What to add to each.
    pub add: [u16; 2],
    /// What to multiply with.
    pub scale: u64,
}

/// `out[i] = (input[i] + add[i % 2]) * scale`, with indices of every type.
///
/// # Safety
///
/// `input` and `out` have at least `shape.count` elements.
#[kernel(block = 64)]
pub unsafe fn plain(input: View<'_, u32>, out: ViewMut<'_, u64>, shape: Shape) {
    let i = thread::index_1d();
    if i < shape.count {
        let add = if i.is_multiple_of(2) {
            shape.add[0]
        } else {
            shape.add[1]
        };
        let value = u64::from(input.ld(i as usize) + u32::from(add)) * shape.scale;
        out.st(i.cast_signed(), value);
    }
}

/// Adds `add` to each element of every size, as vectors of 16 bytes. The words also change places,
/// by fours, with those of the neighbouring thread.
///
/// # Safety
///
/// One block; the views have 64 times 16 bytes and start at multiples of 16 bytes.
#[kernel(block = 64)]
pub unsafe fn vectors_16(
    bytes: ViewMut<'_, u8>,
    halves: ViewMut<'_, u16>,
    words: ViewMut<'_, u32>,
    doubles: ViewMut<'_, u64>,
    add: u32,
) {
    let cells = shared_array![u32; 256];
    let t = thread::thread_idx_x();
    // Every element changes: a value that stays the same would not have to be stored.
    let b: [u8; 16] = bytes.ld_vector(t * 16);
    bytes.st_vector(t * 16, b.map(|byte| byte.wrapping_add(add as u8)));
    let h: [u16; 8] = halves.ld_vector(t * 8);
    halves.st_vector(t * 8, h.map(|half| half.wrapping_add(add as u16)));
    let w: [u32; 4] = words.ld_vector(t * 4);
    // Through shared memory, to test its vectors too.
    cells.st_vector(t * 4, w.map(|word| word.wrapping_add(add)));
    thread::sync_threads();
    words.st_vector(t * 4, cells.ld_vector::<4>((t ^ 1) * 4));
    let d: [u64; 2] = doubles.ld_vector(t * 2);
    doubles.st_vector(t * 2, d.map(|double| double.wrapping_add(u64::from(add))));
}

/// Swaps the words of pairs; 8 bytes per thread.
///
/// # Safety
///
/// One block; `words` has 128 elements and starts at a multiple of 8 bytes.
#[kernel(block = 64)]
pub unsafe fn vectors_8(words: ViewMut<'_, u32>) {
    let t = thread::thread_idx_x();
    let [low, high]: [u32; 2] = words.ld_vector(t * 2);
    words.st_vector(t * 2, [high, low]);
}

/// Sums what it reads through the read-only cache, of every element size and as vectors.
///
/// # Safety
///
/// One block; the views have 64 times 16 bytes and start at multiples of 16 bytes, `out` has 64
/// elements.
#[kernel(block = 64)]
pub unsafe fn read_only(
    bytes: View<'_, u8>,
    halves: View<'_, u16>,
    words: View<'_, u32>,
    doubles: View<'_, u64>,
    out: ViewMut<'_, u64>,
) {
    let t = thread::thread_idx_x();
    let [w0, w1, w2, w3] = words.ldg_vector::<4>(t * 4);
    let [p0, p1] = words.ldg_vector::<2>(t * 2);
    let [d0, d1] = doubles.ldg_vector::<2>(t * 2);
    let sum = u64::from(bytes.ldg(t))
        .wrapping_add(u64::from(halves.ldg(t)).wrapping_mul(3))
        .wrapping_add(u64::from(words.ldg(t)).wrapping_mul(5))
        .wrapping_add(doubles.ldg(t).wrapping_mul(7))
        .wrapping_add(u64::from(w0 ^ w1 ^ w2 ^ w3).wrapping_mul(11))
        .wrapping_add(u64::from(p0 ^ p1).wrapping_mul(13))
        .wrapping_add((d0 ^ d1).wrapping_mul(17));
    out.st(t, sum);
}

/// Moves each word on through every kind of atomic and volatile access, in place, the narrow ones
/// through shared memory too.
///
/// # Safety
///
/// One block; the views have 64 elements.
#[kernel(block = 64)]
pub unsafe fn scoped(narrow: ViewMut<'_, u32>, wide: ViewMut<'_, u64>, signed: ViewMut<'_, i32>) {
    let cells = shared_array![u32; 64];
    let t = thread::thread_idx_x();
    cells.st_release(t, narrow.ld_relaxed(t, Block) + 1, Block);
    cells.st_volatile(t, cells.ld_relaxed(t, Block));
    narrow.st_relaxed(t, cells.ld_volatile(t), Block);
    narrow.st_relaxed(t, narrow.ld_relaxed(t, Device) + 2, Device);
    narrow.st_relaxed(t, narrow.ld_relaxed(t, System) + 4, System);
    narrow.st_release(t, narrow.ld_acquire(t, Block) + 8, Block);
    narrow.st_release(t, narrow.ld_acquire(t, Device) + 16, Device);
    narrow.st_release(t, narrow.ld_acquire(t, System) + 32, System);
    narrow.st_volatile(t, narrow.ld_volatile(t) + 64);
    wide.st_relaxed(t, wide.ld_relaxed(t, Block) + 1, Block);
    wide.st_relaxed(t, wide.ld_relaxed(t, Device) + 2, Device);
    wide.st_relaxed(t, wide.ld_relaxed(t, System) + 4, System);
    wide.st_release(t, wide.ld_acquire(t, Block) + 8, Block);
    wide.st_release(t, wide.ld_acquire(t, Device) + 16, Device);
    wide.st_release(t, wide.ld_acquire(t, System) + 32, System);
    wide.st_volatile(t, wide.ld_volatile(t) + 64);
    signed.st_release(t, signed.ld_acquire(t, Device) - 1, Device);
}
