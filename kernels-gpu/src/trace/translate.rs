//! Adds an offset to the points of contours, in place.
//!
//! | | |
//! | --- | --- |
//! | launch | [`translate_points`](fn@translate_points) with one thread per point |
//! | moves | reads and writes 8 bytes per point |
//!
//! Few callers have an offset, so it has a pass of its own instead of an argument of each of the
//! kernels that write points.

use cuda_std::prelude::*;

use super::BLOCK;

/// Adds `x` and `y` to each point, modulo 2³².
///
/// # Safety
///
/// `points` has x and y of fewer than 2³² points, and starts at a multiple of 8 bytes; nothing else
/// uses it meanwhile. The launch has one thread per point.
#[kernel(block = BLOCK)]
pub unsafe fn translate_points(points: ViewMut<'_, i32>, x: i32, y: i32) {
    // Indices of coordinates may pass 2³².
    let at = thread::index_1d() as usize * 2;
    // planted: translate-end
    if at < points.len() {
        let point: [i32; 2] = points.ld_vector(at);
        // planted: translate-y
        points.st_vector(at, [point[0].wrapping_add(x), point[1].wrapping_add(y)]);
    }
}
