//! How much of the edges' capacities nets use, as PNG.

use std::io::Write;

use super::check_picture;
use crate::error::Result;
use crate::formats::canvas::Canvas;
use crate::memory::zeroed_vec;
use crate::route::{BLOCKED, EdgeCounts, RoutingGrid, UNLIMITED};

/// The palette's entries: shades from no use to full edges, then overfull edges, by one net, two,
/// and so on; then cells with no open edge.
const FULL: u8 = 100;
const OVERFULL: u8 = FULL + 1;
const MOST_OVER: u8 = 8;
const CLOSED: u8 = OVERFULL + MOST_OVER;
const CLOSED_COLOUR: [u8; 3] = [74, 80, 92];

/// Writes a PNG picture of `usage`, the number of nets that use each edge of `grid`, beside
/// `capacities`, one pixel for each column and row; small grids are enlarged.
///
/// A pixel shows the fullest edge of its cells, to the right, down or to the next layer, on any
/// layer: white if no net uses one, then through blue to dark blue for a full edge, and from orange
/// to red for an overfull one, red for eight nets too many or more. Columns and rows without an
/// open edge are slate.
///
/// # Errors
/// [`Error::InvalidOption`](crate::Error::InvalidOption) for capacities or usage of another grid;
/// [`Error::Unwritable`](crate::Error::Unwritable) for grids with a side of 2³¹ cells or more;
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Write`](crate::Error::Write).
pub fn write_congestion_png(
    grid: &RoutingGrid,
    capacities: &EdgeCounts,
    usage: &EdgeCounts,
    out: impl Write,
) -> Result<()> {
    capacities.check_fits(grid)?;
    usage.check_fits(grid)?;
    check_picture(grid)?;
    let area = grid.width() as usize * grid.height() as usize;
    // One more than the entry; 0 where there is no open edge.
    let mut entries: Vec<u8> = zeroed_vec(area, "the picture")?;
    let kinds = [
        (grid.rights(), capacities.rights(), usage.rights()),
        (grid.downs(), capacities.downs(), usage.downs()),
        (grid.vias(), capacities.vias(), usage.vias()),
    ];
    for (weights, capacities, usage) in kinds {
        let edges = weights.iter().zip(capacities).zip(usage).enumerate();
        for (cell, ((&weight, &capacity), &usage)) in edges {
            if weight != BLOCKED && capacity > 0 {
                let entry = &mut entries[cell % area];
                *entry = (*entry).max(1 + shade(usage, capacity));
            }
        }
    }
    for entry in &mut entries {
        *entry = entry.checked_sub(1).unwrap_or(CLOSED);
    }
    let canvas = Canvas::new(grid.width(), grid.height(), entries, false)?;
    canvas.write(palette(), out)
}

/// The palette entry of an edge.
fn shade(usage: u32, capacity: u32) -> u8 {
    if capacity == UNLIMITED || usage == 0 {
        return 0;
    }
    match usage.checked_sub(capacity) {
        None | Some(0) => {
            let share = u64::from(usage) * u64::from(FULL) / u64::from(capacity);
            (share as u8).max(1)
        }
        Some(over) => OVERFULL + (over.min(MOST_OVER.into()) as u8 - 1),
    }
}

fn palette() -> Vec<u8> {
    let between = |from: [u8; 3], to: [u8; 3], at: u8, of: u8| {
        let mix = |from: u8, to: u8| {
            let (from, to) = (i32::from(from), i32::from(to));
            (from + (to - from) * i32::from(at) / i32::from(of)) as u8
        };
        [0, 1, 2].map(|i| mix(from[i], to[i]))
    };
    let mut palette = Vec::new();
    for at in 0..=FULL {
        palette.extend(between([255, 255, 255], [24, 62, 128], at, FULL));
    }
    for at in 0..MOST_OVER {
        palette.extend(between([255, 150, 20], [200, 0, 0], at, MOST_OVER - 1));
    }
    palette.extend(CLOSED_COLOUR);
    palette
}
