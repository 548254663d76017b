//! Nets in windows, and which of them are routed at the same time.
//!
//! The order of a round's nets is fixed. A net only reads and changes edges in its window. So a net
//! whose window no earlier net's window overlaps can be routed at once; the result is that of
//! routing one net after the other in this order, whatever the number of threads.

use crate::error::Result;
use crate::generate::random;
use crate::geometry::Window;
use crate::memory::{collect, push, zeroed_vec};
use crate::route::grid::RoutingGrid;
use crate::route::net::Net;

/// The sides of the squares by which overlaps are found.
const SQUARE: u32 = 8;
/// Name used in out-of-memory errors.
const SCHEDULE: &str = "the order of nets";

/// The window of a net: the box around its pins with a margin, within its permitted window.
pub(super) fn window(grid: &RoutingGrid, net: &Net, margin: u32) -> Window {
    let permitted = net.window.unwrap_or_else(|| Window::of(grid));
    let mut cells = net.pins.iter().flat_map(|pin| &pin.cells);
    let Some(first) = cells.next() else {
        return Window {
            width: 1,
            height: 1,
            ..permitted
        };
    };
    let start = (first.x, first.x, first.y, first.y);
    let (x0, x1, y0, y1) = cells.fold(start, |(x0, x1, y0, y1), cell| {
        (x0.min(cell.x), x1.max(cell.x), y0.min(cell.y), y1.max(cell.y))
    });
    // The permitted window is within the grid, so its ends are 32-bit numbers.
    let side = |least: u32, most: u32, start: u32, len: u32| {
        let least = least.saturating_sub(margin).max(start);
        let most = most.saturating_add(margin).min(start + (len - 1));
        (least, most - least + 1)
    };
    let (x, width) = side(x0, x1, permitted.x, permitted.width);
    let (y, height) = side(y0, y1, permitted.y, permitted.height);
    Window {
        x,
        y,
        width,
        height,
    }
}

/// Puts nets in the order of a round, which differs from round to round and does not follow the
/// order in which the nets were given: neighbours in the list are often neighbours on the grid, and
/// would wait for each other.
pub(super) fn shuffle(nets: &mut [u32], round: u32) {
    nets.sort_unstable_by_key(|&net| (random::random(round.into(), net.into()), net));
}

/// Groups of nets, to be routed one group after the other: the windows within a group do not
/// overlap, and of two nets whose windows do, the one that comes first in `order` is in an earlier
/// group.
pub(super) fn groups(
    grid: &RoutingGrid,
    order: &[u32],
    window_of: impl Fn(u32) -> Window,
) -> Result<Vec<Vec<u32>>> {
    let columns = grid.width().div_ceil(SQUARE) as usize;
    let rows = grid.height().div_ceil(SQUARE) as usize;
    // By square: the first group that is later than all nets there.
    let mut free: Vec<u32> = zeroed_vec(columns * rows, SCHEDULE)?;
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for &net in order {
        let window = window_of(net);
        let squares = |start: u32, len: u32| {
            (start / SQUARE) as usize..=((start + (len - 1)) / SQUARE) as usize
        };
        let across = squares(window.x, window.width);
        let lines = || squares(window.y, window.height).map(|row| row * columns);
        let latest = lines().flat_map(|line| &free[line + across.start()..=line + across.end()]);
        let group = latest.copied().max().unwrap_or(0);
        for line in lines() {
            free[line + across.start()..=line + across.end()].fill(group + 1);
        }
        if groups.len() == group as usize {
            push(&mut groups, Vec::new(), SCHEDULE)?;
        }
        push(&mut groups[group as usize], net, SCHEDULE)?;
    }
    Ok(groups)
}

/// The numbers of the nets that have something to join.
pub(super) fn all(nets: &[Net]) -> Result<Vec<u32>> {
    let joinable = (0..).zip(nets).filter(|(_, net)| net.pins.len() > 1);
    collect(joinable.map(|(number, _)| number), SCHEDULE)
}
