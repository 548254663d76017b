//! Cost distances: the least cost of travel from sources to every cell of a raster of friction, the
//! source that it is least from, the way back, paths and corridors.
//!
//! ```
//! use trazar::distance::{CostDistanceOptions, CostSurface, Sources};
//! use trazar::{Engine, Samples};
//!
//! let nan = f32::NAN; // A barrier.
//! let friction = [
//!     1.0, 1.0, 1.0, //
//!     1.0, nan, 4.0,
//!     2.0, 1.0, 1.0f32,
//! ];
//! let surface = CostSurface::new(Samples::new(3, 3, &friction)?);
//! let sources = Sources::from_cells([(0, 0)]);
//! let options = CostDistanceOptions::default().direction(true);
//! let distance = Engine::cpu().cost_distance(&surface, &sources, &options)?;
//! assert_eq!(distance.get(2, 0), Some(2.0));
//! assert_eq!(distance.get(1, 1), None);
//! let path = distance.least_cost_path(2, 2)?;
//! assert_eq!(path.cells(), [(0, 0), (0, 1), (1, 2), (2, 2)]);
//! # Ok::<(), trazar::Error>(())
//! ```
//!
//! # What is computed
//!
//! `docs/distances.md` states it with the reasons. In short, with all operations rounded in the
//! [`Precision`] of the costs, f32 or f64:
//!
//! - A step from a cell to a neighbour costs `half · (a + b)`: `a` and `b` are the friction of the
//!   two cells, and `half` is half the distance between their centres, computed in f64 and rounded.
//!   A knight's move costs `quarter · ((a + b) + (c + d))`, where `c` and `d` are the two cells
//!   that the segment between the centres crosses.
//! - A path costs its steps' sum from the source on, `((start + step) + step) + …`. A cell's cost
//!   is the least over all paths from all sources. Rounded sums are monotone in their first term,
//!   so this is one number, whatever the order in which paths are found.
//! - A step from `u` to `v` is **tight** if `cost(u) + step = cost(v)`, rounded. A source is tight
//!   if its start cost is its cell's cost. **Allocation** is the least id of the tight sources from
//!   which tight steps lead to the cell.
//! - **Direction** is 0 at tight sources. Elsewhere it is the least [code](Direction) of a tight
//!   step from a cell of smaller cost. A cell without such a step lies on a plateau, where steps
//!   add nothing. It has the least code that begins a shortest way within the plateau, counted in
//!   steps, to a tight source or to a cell with such a step.
//!
//! # Files
//!
//! | what | file |
//! |---|---|
//! | input: friction, sources, options | `surface.rs`, `sources.rs`, `options.rs` |
//! | steps to neighbours, the arithmetic | `steps.rs`, `real.rs` |
//! | the checked input with a margin of barriers, which every algorithm takes | `search.rs` |
//! | results: costs, allocation, direction; paths; corridors | `result.rs`, `path.rs`, `corridor.rs` |
//! | on the processor | `cpu/` |
//! | by kernels | `gpu/` |

mod corridor;
pub(crate) mod cpu;
pub(crate) mod gpu;
mod options;
mod path;
pub(crate) mod real;
mod result;
pub(crate) mod search;
mod sources;
mod steps;
mod surface;

pub use corridor::{Corridor, corridor};
pub use gpu::{CostBuffer, CostParts, DeviceCosts, DeviceDistances, DeviceSurface};
pub use options::{
    CellSize, CostDistanceOptions, DistanceAlgorithm, Neighbours, Precision, StepCost,
};
pub use path::{Path, follow_directions};
pub(crate) use result::Parts;
pub use result::{CostDistance, Costs};
pub use sources::{Source, Sources};
pub use steps::{Direction, NO_DIRECTION};
pub use surface::{CostSurface, Friction};
