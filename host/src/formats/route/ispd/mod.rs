//! The files of the ISPD 2024 contest on global routing: a grid with capacities (`.cap`) and nets
//! (`.net`) in, trees (`.route`) out.

mod cap;
mod net;
mod write;

pub use self::write::write_routes_ispd;

use std::path::Path;

use crate::Result;
use crate::route::RoutingCase;

/// Reads a grid with capacities and the nets on it from two files of the ISPD 2024 contest ("GPU/ML
/// Enhanced Large Scale Global Routing").
///
/// The file `cap`:
///
/// ```text
/// 2 3 2                 layers, width, height (xSize, ySize)
/// 0.5 4 60 60           cost of a unit of length, of a via; then of overflow, for each layer
/// 2000 3000             lengths between columns: width - 1
/// 2000                  lengths between rows: height - 1
/// metal1 0 0            for each layer: its name, direction (0 along x, 1 along y), shortest wire;
/// 4 4 0                 then height lines of width capacities: that at (x, y) is of the edge to
/// 4 4 0                 (x + 1, y), or to (x, y + 1) in a layer along y
/// metal2 1 0
/// 2.5 2.5 2.5
/// 0 0 0
/// ```
///
/// The file `net`: for each net its name, a line `(`, a line for each pin with its cells
/// `[(layer, x, y), (layer, x, y)]`, and a line `)`.
///
/// Costs become whole weights, in one proportion such that the largest is 65,536 (if the costs are
/// whole numbers up to that already, they stay); weights are 1 at least. Fractions of capacities
/// are dropped: half a track has room for no net. An edge without capacity is blocked. Vias have
/// no limit: what the contest counts for a via on the edges beside it is not counted, nor are the
/// shortest wires and the costs of overflow. The last capacity of each row, or the last row, is of
/// no edge.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) for a file that cannot be read;
/// [`Error::Unreadable`](crate::Error::Unreadable), with line and column, for one that is not of
/// its format; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn read_ispd(cap: impl AsRef<Path>, net: impl AsRef<Path>) -> Result<RoutingCase> {
    let (grid, capacities) = cap::read(cap.as_ref())?;
    let (nets, names) = net::read(net.as_ref(), &grid)?;
    let mut case = RoutingCase::new(grid, nets).with_capacities(capacities);
    case.names = names;
    Ok(case)
}
