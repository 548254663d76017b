//! Halves of open saddles: half `2 i` of saddle `i` is that of its upper foreground pixel, half
//! `2 i + 1` that of its lower one. At each half one fragment ends and one begins.

use std::ops::Range;

use super::fragments::check_count;
use super::saddles::OpenSaddle;
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

/// The half of an open saddle that ends a walk along the side `code` of pixel `(x, y)`.
pub(super) fn half_of(open: &[OpenSaddle], x: u32, y: u32, code: u8) -> u32 {
    // E and N sides end at an upper corner, W and S sides at a lower one; E and S sides at the
    // right one, N and W sides at the left one.
    let is_upper_pixel = code >= 2;
    let corner = (
        y + u32::from(is_upper_pixel),
        x + u32::from(matches!(code, 0 | 3)),
    );
    // Ends of E and W sides are rising saddles, which come after falling ones at the same corner.
    let is_rising = code.is_multiple_of(2);
    let saddle = open
        .partition_point(|saddle| ((saddle.y, saddle.x), !saddle.falling) < (corner, is_rising));
    2 * saddle as u32 + u32::from(!is_upper_pixel)
}
