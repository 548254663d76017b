//! Images of values: touching cells, and smooth classes.

use rayon::prelude::*;

/// A number from 0 to before 1 that depends on two integers.
fn random(x: u32, y: u32) -> f32 {
    let mut bits = (u64::from(x) << 32 | u64::from(y)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits >> 40) as f32 / (1 << 24) as f32
}

/// The values of the pixels, row by row.
fn of_pixels<T: Send>(side: u32, value: impl Fn(u32, u32) -> T + Sync) -> Vec<T> {
    let row = |y| {
        let value = &value;
        (0..side).map(move |x| value(x, y))
    };
    let rows = (0..side)
        .into_par_iter()
        .map(|y| row(y).collect::<Vec<_>>());
    rows.collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Cells about `size` pixels wide that touch each other, numbered from 1: each pixel belongs to the
/// nearest of some points, one at random in each square of a grid.
pub fn cells(side: u32, size: u32) -> Vec<u32> {
    let columns = side.div_ceil(size) + 2;
    of_pixels(side, |x, y| {
        let (column, row) = (x / size + 1, y / size + 1);
        let mut nearest = (f32::INFINITY, 0);
        for (u, v) in (row - 1..row + 2).flat_map(|v| (column - 1..column + 2).map(move |u| (u, v)))
        {
            let dx = (u as f32 - 1.0 + random(u, v)) * size as f32 - x as f32;
            let dy = (v as f32 - 1.0 + random(v, u + columns)) * size as f32 - y as f32;
            let cell = v * columns + u + 1;
            if dx * dx + dy * dy < nearest.0 {
                nearest = (dx * dx + dy * dy, cell);
            }
        }
        nearest.1
    })
}

/// Classes with smooth borders, like those of land cover: a sum of interpolated random numbers on
/// grids of 64, 32 and 16 pixels, in `count` steps.
pub fn classes(side: u32, count: u32) -> Vec<u8> {
    let at = |x: u32, y: u32, size: u32| {
        let (u, v) = (x / size, y / size);
        let smooth = |part: u32| {
            let part = part as f32 / size as f32;
            part * part * (3.0 - 2.0 * part)
        };
        let (a, b) = (smooth(x % size), smooth(y % size));
        let mix = |p: f32, q: f32, share: f32| p + (q - p) * share;
        let key = size * 1_000_003;
        let above = mix(random(u + key, v), random(u + 1 + key, v), a);
        let below = mix(random(u + key, v + 1), random(u + 1 + key, v + 1), a);
        mix(above, below, b)
    };
    of_pixels(side, |x, y| {
        let height = (at(x, y, 64) * 4.0 + at(x, y, 32) * 2.0 + at(x, y, 16)) / 7.0;
        (height * count as f32) as u8
    })
}
