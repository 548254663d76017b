//! Numbers the components on the first and the last row.

use cuda_std::prelude::*;

use super::layout::TileLayout;
use super::merge::Lookup;
use super::runs::TileRuns;
use crate::label::Connectivity;
use crate::label::number::Numbering;

/// Threads per block.
const RIM_BLOCK: u32 = 128;

/// Writes to `rim` the number of the component of each pixel of the first row, then of each pixel
/// of the last row; 0 for background. There is one image, whose labels need not be written yet.
///
/// # Safety
///
/// `image`, `runs`, `layout` and `connectivity` are those of
/// [`tiles_label`](fn@super::label::tiles_label), `parents` is its array, and `numbering` is of the
/// roots that [`tiles_flatten`](fn@super::flatten::tiles_flatten) has left. `rim` has the elements
/// of two rows; nothing else uses it meanwhile. The launch has one thread per column.
#[kernel(
    block = RIM_BLOCK,
    len(
        image = layout.source_words(),
        runs = layout,
        parents = layout.pixels(),
        numbering = layout.words(),
        rim = 2 * layout.width,
    ),
)]
pub unsafe fn tiles_rim(
    image: View<'_, u64>,
    runs: TileRuns<'_>,
    parents: View<'_, u32>,
    numbering: Numbering<'_>,
    rim: ViewMut<'_, u32>,
    layout: TileLayout,
    connectivity: Connectivity,
) {
    let x = thread::index_1d();
    // planted: rim-columns
    if x >= layout.width {
        return;
    }
    let lookup = Lookup {
        image,
        runs,
        layout,
        connectivity,
        index: 0,
    };
    // planted: rim-last-row
    let last = layout.height - 1;
    for (y, at) in [(0, x), (last, layout.width + x)] {
        let is_foreground = lookup.word(x / 64, y) >> (x % 64) & 1 != 0;
        let number = if is_foreground {
            // The node's parent is its root.
            numbering.number(parents.ldg(lookup.node(x, y)))
        } else {
            0
        };
        rim.st(at, number);
    }
}
