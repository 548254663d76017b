//! Runs the kernels on a device and compares with results computed here. Host only.
//!
//! A device is anything that has memory and launches kernels: a GPU, or an emulator.

mod arithmetic;
mod atomics;
mod barriers;
mod fences;
mod grids;
mod memory;
mod parameters;
mod thread_indices;
mod warps;

use std::fmt::{Debug, Display};

pub use grids::exchanged;

use cuda_std::launch::{KernelSpec, Launcher};
use cuda_std::{Pod, View, ViewMut};

/// A device under test.
pub trait Device: Launcher<Error: Display> {
    /// Copies `data` to new memory of the device and returns its address, a multiple of 16. The
    /// memory stays until the device goes away.
    fn upload<T: Pod>(&self, data: &[T]) -> *mut T;

    /// Waits for all launches, and copies `len` elements back.
    ///
    /// # Panics
    ///
    /// If a kernel failed meanwhile.
    fn download<T: Pod>(&self, from: *const T, len: usize) -> Vec<T>;

    /// The number of blocks of a kernel without dynamic shared memory that are resident at once.
    fn resident_blocks(&self, spec: &'static KernelSpec) -> u32;
}

/// One check: `Err` says what differed.
pub type Check<D> = fn(&D) -> Result<(), String>;

/// All checks, by name.
#[must_use]
pub fn all<D: Device>() -> Vec<(&'static str, Check<D>)> {
    vec![
        ("thread indices", thread_indices::check),
        ("shuffles", warps::shuffles),
        ("votes", warps::votes),
        ("reductions", warps::reductions),
        ("warp barrier", warps::warp_barrier),
        ("static shared memory", barriers::reverse_static),
        ("dynamic shared memory", barriers::reverse_dynamic),
        ("voting barriers", barriers::voting_barriers),
        ("hand over between blocks", fences::hand_over),
        ("hand over in a block", fences::hand_over_in_block),
        ("barrier of a grid", grids::exchange),
        ("atomics on u32", atomics::operations_u32),
        ("atomics on i32", atomics::operations_i32),
        ("atomics on u64", atomics::operations_u64),
        ("contended atomics", atomics::contended),
        ("plain accesses", memory::plain),
        ("vectors of 16 bytes", memory::vectors_16),
        ("vectors of 8 bytes", memory::vectors_8),
        ("read-only accesses", memory::read_only),
        ("scoped accesses", memory::scoped),
        ("structs as arguments", parameters::structured),
        ("arithmetic of doubles", arithmetic::doubles),
    ]
}

/// A buffer of the device under test.
struct Buffer<'a, D, T> {
    device: &'a D,
    address: *mut T,
    len: usize,
}

impl<'a, D: Device, T: Pod> Buffer<'a, D, T> {
    fn new(device: &'a D, data: &[T]) -> Self {
        Self {
            device,
            address: device.upload(data),
            len: data.len(),
        }
    }

    fn view(&self) -> View<'_, T> {
        // SAFETY: the device keeps the memory; kernels access it through views alone.
        unsafe { View::from_raw_parts(self.address, self.len) }
    }

    fn view_mut(&self) -> ViewMut<'_, T> {
        // SAFETY: as above.
        unsafe { ViewMut::from_raw_parts(self.address, self.len) }
    }

    fn read(&self) -> Vec<T> {
        self.device.download(self.address, self.len)
    }
}

/// Compares two slices and names the first difference.
fn equal<T: PartialEq + Debug>(what: &str, found: &[T], expected: &[T]) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!(
            "{what}: {} elements instead of {}",
            found.len(),
            expected.len()
        ));
    }
    match found
        .iter()
        .zip(expected)
        .position(|(found, expected)| found != expected)
    {
        None => Ok(()),
        Some(i) => Err(format!(
            "{what}[{i}]: {:?} instead of {:?}",
            found[i], expected[i]
        )),
    }
}

/// The launch's result as a check's.
fn launched<E: Display>(result: Result<(), E>) -> Result<(), String> {
    result.map_err(|error| format!("launch: {error}"))
}

/// Reproducible numbers without a pattern (xorshift64*).
fn numbers(count: usize) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    (0..count).map(|_| next()).collect()
}
