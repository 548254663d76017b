//! Where a thread is.

use cuda_std::prelude::*;

/// Values that [`indices`](fn@indices) writes per thread.
pub const VALUES: u32 = 15;

/// Each thread writes its indices and extents to its row of [`VALUES`] numbers.
///
/// # Safety
///
/// `out` has one row per thread of the grid.
#[kernel(block = (8, 4, 2))]
pub unsafe fn indices(out: ViewMut<'_, u32>) {
    let (tx, ty, tz) = (
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
    );
    let (bx, by, bz) = (
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
    );
    let (dx, dy, dz) = (
        thread::block_dim_x(),
        thread::block_dim_y(),
        thread::block_dim_z(),
    );
    let (gx, gy, gz) = (
        thread::grid_dim_x(),
        thread::grid_dim_y(),
        thread::grid_dim_z(),
    );
    let block = bx + gx * (by + gy * bz);
    let row = (block * (dx * dy * dz) + tx + dx * (ty + dy * tz)) * VALUES;
    out.st(row, tx);
    out.st(row + 1, ty);
    out.st(row + 2, tz);
    out.st(row + 3, bx);
    out.st(row + 4, by);
    out.st(row + 5, bz);
    out.st(row + 6, dx);
    out.st(row + 7, dy);
    out.st(row + 8, dz);
    out.st(row + 9, gx);
    out.st(row + 10, gy);
    out.st(row + 11, gz);
    out.st(row + 12, thread::index_1d());
    out.st(row + 13, thread::index_2d().1);
    out.st(row + 14, thread::index_in_block());
}
