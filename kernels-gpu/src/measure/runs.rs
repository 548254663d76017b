//! The runs of equal values in an image, and kernels that list those in its rows.

use cuda_std::prelude::*;

use crate::image::equality::EqualityPlanes;
use crate::primitives::quotient;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Runs of valid pixels of equal values, in rows or along columns. The sizes are their number.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u32, buffers = RunsBuffers)]
pub struct Runs<'a> {
    /// The first pixel of each, by its index in raster order.
    #[len(*sizes)]
    pub starts: ViewMut<'a, u32>,
    /// Of runs in rows, the column after the last pixel of each; of runs along columns, the place
    /// after it, column by column.
    #[len(*sizes)]
    pub ends: ViewMut<'a, u32>,
}

/// Counts the runs that begin in each word.
///
/// Launch: one thread per word. Reads 1/4 byte per pixel, and writes 4 bytes per word.
///
/// # Safety
///
/// `counts` has an element per word, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(planes = (), counts = planes.raster.words()))]
pub unsafe fn count_value_runs(planes: EqualityPlanes<'_>, counts: ViewMut<'_, u32>) {
    let word = thread::index_1d();
    if word < planes.raster.words() {
        let y = quotient(word, planes.raster.row_words);
        let begins = planes.run_starts(word - y * planes.raster.row_words, y);
        counts.st(word, begins.count_ones());
    }
}

/// Lists the runs.
///
/// Launch: one thread per word. Reads 3/8 byte per pixel and 4 bytes per word, and writes 8 bytes
/// per run.
///
/// # Safety
///
/// `before` has the number of runs that begin before each word; `runs` has room for all. Nothing
/// else uses `runs` meanwhile.
#[kernel(block = BLOCK, len(
    planes = (),
    before = planes.raster.words(),
    runs = runs.starts.len() as u32,
))]
pub unsafe fn list_value_runs(planes: EqualityPlanes<'_>, before: View<'_, u32>, runs: Runs<'_>) {
    let raster = planes.raster;
    let word = thread::index_1d();
    if word >= raster.words() {
        return;
    }
    let y = quotient(word, raster.row_words);
    let word_x = word - y * raster.row_words;
    let mut begins = planes.run_starts(word_x, y);
    let mut at = before.ldg(word);
    while begins != 0 {
        let x = word_x * 64 + begins.trailing_zeros();
        begins &= begins - 1;
        runs.starts.st(at, raster.wide_pixel(x, y) as u32);
        // planted: measure-run-end
        runs.ends.st(at, planes.run_end(x, y) + 1);
        at += 1;
    }
}
