//! The windows of nets, and the order in which a round routes them.

use crate::error::Result;
use crate::generate::random;
use crate::geometry::{Cell, Window};
use crate::memory::collect;
use crate::route::grid::RoutingGrid;
use crate::route::net::Net;

/// Name used in out-of-memory errors.
const SCHEDULE: &str = "the order of nets";

/// The window of a net: the box around its pins with a margin, within its permitted window.
pub(super) fn window(grid: &RoutingGrid, net: &Net, margin: u32) -> Window {
    let permitted = net.window.unwrap_or_else(|| Window::of(grid));
    let cells = net.pins.iter().flat_map(|pin| &pin.cells);
    around(cells.copied(), margin, permitted)
}

/// The box around cells of `permitted` with a margin, within `permitted`.
pub(super) fn around(
    cells: impl IntoIterator<Item = Cell>,
    margin: u32,
    permitted: Window,
) -> Window {
    let mut cells = cells.into_iter();
    let Some(first) = cells.next() else {
        return Window {
            width: 1,
            height: 1,
            ..permitted
        };
    };
    let start = (first.x, first.x, first.y, first.y);
    let (x0, x1, y0, y1) = cells.fold(start, |(x0, x1, y0, y1), cell| {
        (
            x0.min(cell.x),
            x1.max(cell.x),
            y0.min(cell.y),
            y1.max(cell.y),
        )
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
/// nets that are routed at the same time should be far from each other.
pub(super) fn shuffle(nets: &mut [u32], round: u32) {
    nets.sort_unstable_by_key(|&net| (random::random(round.into(), net.into()), net));
}

/// The numbers of the nets that have something to join.
pub(super) fn all(nets: &[Net]) -> Result<Vec<u32>> {
    let joinable = (0..).zip(nets).filter(|(_, net)| net.pins.len() > 1);
    collect(joinable.map(|(number, _)| number), SCHEDULE)
}
