//! Structs and enums as arguments.

use cuda_std::prelude::*;

/// Threads per block of [`structured`](fn@structured).
pub const BLOCK: u32 = 64;

/// What is done with each element.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub enum Step {
    /// The scale is added.
    Add = 5,
    /// It is multiplied by the scale.
    Multiply = 2,
}

/// Plain data in a struct.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Extents {
    /// Elements to handle.
    pub count: u32,
    /// What each place is shifted by.
    pub shift: [u16; 2],
}

/// An array, and where its results go.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Column<'a, T: Pod> {
    /// `count` elements.
    pub input: View<'a, T>,
    /// `count` elements.
    pub output: ViewMut<'a, T>,
    /// What is added to or multiplied with.
    pub scale: T,
}

/// Everything that the kernel takes, with fields of every kind and with padding between them.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Table<'a> {
    /// The sizes.
    pub extents: Extents,
    /// What is done.
    pub step: Step,
    /// Elements of one byte.
    pub bytes: Column<'a, u8>,
    /// Elements of eight bytes.
    pub doubles: Column<'a, u64>,
    /// Counts the threads that had an element; one element.
    pub handled: ViewMut<'a, u32>,
}

/// `output[(i + shift[first]) % count] = input[i]` plus or times the scale, for both columns.
///
/// # Safety
///
/// The views have the lengths that their fields ask for, and `first` is 0 or 1.
#[kernel(block = BLOCK)]
pub unsafe fn structured(table: Table<'_>, first: u32) {
    let Table {
        extents,
        step,
        bytes,
        doubles,
        handled,
    } = table;
    let i = thread::index_1d();
    if i >= extents.count {
        return;
    }
    let shift = if first == 0 {
        extents.shift[0]
    } else {
        extents.shift[1]
    };
    let mut to = i + u32::from(shift);
    if to >= extents.count {
        to -= extents.count;
    }
    let (byte, double) = (bytes.input.ld(i), doubles.input.ldg(i));
    let (byte, double) = match step {
        Step::Add => (
            byte.wrapping_add(bytes.scale),
            double.wrapping_add(doubles.scale),
        ),
        Step::Multiply => (
            byte.wrapping_mul(bytes.scale),
            double.wrapping_mul(doubles.scale),
        ),
    };
    bytes.output.st(to, byte);
    doubles.output.st(to, double);
    handled.atomic_add(0u32, 1);
}
