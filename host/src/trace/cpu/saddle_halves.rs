//! Halves of open saddles: half `2 i` of saddle `i` is that of its upper foreground pixel, half
//! `2 i + 1` that of its lower one. At each half one fragment ends and one begins.

use std::ops::Range;

use super::fragments::check_count;
use super::saddles::{Diagonal, OpenSaddle};
use super::walk::Rim;
use crate::error::Result;
use crate::memory::with_room;

/// The halves of open saddles in some rows.
pub(super) fn halves_within(open: &[OpenSaddle], rows: &Range<u32>) -> Result<Vec<u32>> {
    // The lower pixel of a saddle is in the row of its corner.
    let begin = open.partition_point(|saddle| saddle.y < rows.start);
    let end = open.partition_point(|saddle| saddle.y <= rows.end);
    check_count(2 * open.len() as u64)?;
    let mut halves = with_room(2 * (end - begin), "the open saddles")?;
    for (i, saddle) in open.iter().enumerate().take(end).skip(begin) {
        if saddle.y > rows.start {
            halves.push(2 * i as u32);
        }
        if saddle.y < rows.end {
            halves.push(2 * i as u32 + 1);
        }
    }
    Ok(halves)
}

/// The half of the open saddle on a diagonal at the upper left corner of pixel `(x, y)` that is its
/// upper or its lower pixel's.
pub(super) fn half_of(
    open: &[OpenSaddle],
    (x, y): (u32, u32),
    diagonal: Diagonal,
    pixel: Rim,
) -> u32 {
    // Rising saddles come after falling ones at the same corner.
    let is_rising = diagonal == Diagonal::Rising;
    let saddle =
        open.partition_point(|saddle| (saddle.y, saddle.x, !saddle.falling) < (y, x, is_rising));
    2 * saddle as u32 + u32::from(pixel == Rim::Below)
}
