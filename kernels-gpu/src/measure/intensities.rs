//! Sums of the intensities of each label's pixels.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::ellipse::rounded;
#[cfg(not(target_arch = "nvptx64"))]
use super::piece_sums::PieceSizes;
use super::pieces::{least_of_warp, store_wide, sum_of_warp};
use super::sorted_runs::SortedRuns;
use super::sums::for_each_run;
#[cfg(not(target_arch = "nvptx64"))]
use super::sums::wanted;

/// Threads per block.
pub const BLOCK: u32 = 128;
/// Warps per block.
const WARPS: u32 = BLOCK / WARP_SIZE;
/// Words per piece: the least value, the greatest, and the sums of values and of their squares, of
/// two words each.
pub const WORDS: u32 = 6;

/// Words of the sums of all pieces.
#[cfg(not(target_arch = "nvptx64"))]
fn sums_of(runs: SortedRuns<'_>) -> u64 {
    PieceSizes::of(runs, wanted::INTENSITIES).intensities()
}

/// A sum divided by a number of elements, rounded down. Elements are at least -2³¹ and below 2³²;
/// there are at least one and fewer than 2³² of them.
#[inline(always)]
pub(super) fn floor_quotient(sum: i128, n: u64) -> i64 {
    // The sum is positive once this has been added to each element.
    let lift = if sum < 0 { 1i64 << 31 } else { 0 };
    let lifted = (sum + i128::from(n) * i128::from(lift)) as u64;
    // planted: measure-floor
    lifted.checked_div(n).unwrap_or_default().cast_signed() - lift
}

/// The variance of `n` numbers with this sum and this sum of squares. `center` is the mean, rounded
/// down, around which sums are small.
#[must_use]
#[inline(always)]
pub const fn variance(n: i128, sum: i128, squares: i128, center: i128) -> f64 {
    let (count, rest) = (rounded(n), rounded(sum - n * center));
    let squares = squares - 2 * center * sum + n * center * center;
    (rounded(squares) - rest * (rest / count)) / count
}

/// Defines the kernel for a type of intensities.
macro_rules! intensities_kernel {
    ($name:ident, $t:ty, $what:literal) => {
        #[doc = concat!("Writes the sums of intensities of each piece, for ", $what, ".")]
        ///
        /// Launch: one warp per piece. Reads each value once and 12 bytes per run, and writes 48
        /// bytes per piece.
        ///
        /// # Safety
        ///
        /// `values` has an element for each pixel, rows `pitch` elements apart. `sums` has
        /// [`WORDS`] elements per piece, and nothing else uses it meanwhile.
        #[kernel(block = BLOCK, len(runs = (), sums = sums_of(runs)))]
        pub unsafe fn $name(
            values: View<'_, $t>,
            pitch: u32,
            runs: SortedRuns<'_>,
            sums: ViewMut<'_, u64>,
        ) {
            let t = thread::thread_idx_x();
            let lane = t % WARP_SIZE;
            let index = thread::block_idx_x() * WARPS + t / WARP_SIZE;
            if index >= runs.pieces() {
                return;
            }
            let (mut least, mut greatest) = (i64::MAX, i64::MIN);
            let (mut sum, mut squares) = (0i64, 0i128);
            for_each_run(runs, runs.piece(index), lane, |run| {
                let row = run.y as usize * pitch as usize;
                let mut x = run.x;
                while x < run.end {
                    let value = i64::from(values.ldg(row + x as usize));
                    least = least.min(value);
                    greatest = greatest.max(value);
                    sum += value;
                    // planted: measure-intensity-square
                    squares += i128::from(value) * i128::from(value);
                    x += 1;
                }
            });
            let (least, greatest) = (least_of_warp(least), !least_of_warp(!greatest));
            let (sum, squares) = (sum_of_warp(sum.into()), sum_of_warp(squares));
            if lane == 0 {
                let at = index as usize * WORDS as usize;
                sums.st(at, least.cast_unsigned());
                sums.st(at + 1, greatest.cast_unsigned());
                store_wide(sums, at + 2, sum);
                store_wide(sums, at + 4, squares);
            }
        }
    };
}

intensities_kernel!(sum_intensities_of_u8, u8, "unsigned integers of 8 bits");
intensities_kernel!(sum_intensities_of_u16, u16, "unsigned integers of 16 bits");
intensities_kernel!(sum_intensities_of_u32, u32, "unsigned integers of 32 bits");
intensities_kernel!(sum_intensities_of_i16, i16, "signed integers of 16 bits");
intensities_kernel!(sum_intensities_of_i32, i32, "signed integers of 32 bits");
