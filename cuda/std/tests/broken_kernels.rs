//! Kernels with one mistake each, of the kinds that people make, and beside each its repaired twin:
//! the emulator reports the mistake with its place and its threads, and finds nothing in the twin.
//!
//! Each file below is a family of mistakes, by the rule that is broken; `device` and `structs` are
//! about reports, and `support` runs the kernels.
//!
//! A comment `// @name` in a kernel marks the line that a report should name.

#[path = "broken_kernels/barriers.rs"]
mod barriers;
#[path = "broken_kernels/bounds.rs"]
mod bounds;
#[path = "broken_kernels/device.rs"]
mod device;
#[path = "broken_kernels/grid_races.rs"]
mod grid_races;
#[path = "broken_kernels/initialisation.rs"]
mod initialisation;
#[path = "broken_kernels/launches.rs"]
mod launches;
#[path = "broken_kernels/lengths.rs"]
mod lengths;
#[path = "broken_kernels/locks.rs"]
mod locks;
#[path = "broken_kernels/outputs.rs"]
mod outputs;
#[path = "broken_kernels/panics.rs"]
mod panics;
#[path = "broken_kernels/progress.rs"]
mod progress;
#[path = "broken_kernels/queues.rs"]
mod queues;
#[path = "broken_kernels/races.rs"]
mod races;
#[path = "broken_kernels/read_only.rs"]
mod read_only;
#[path = "broken_kernels/scopes.rs"]
mod scopes;
#[path = "broken_kernels/structs.rs"]
mod structs;
#[path = "broken_kernels/support.rs"]
mod support;
#[path = "broken_kernels/warps.rs"]
mod warps;
#[path = "broken_kernels/weak_memory.rs"]
mod weak_memory;
