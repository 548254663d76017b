//! What to trace: the kernels' options.

use cuda_std::prelude::*;

/// Where borders run.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub enum Geometry {
    /// Over the centers of pixels.
    Centers,
    /// Along the edges of pixels.
    Edges,
}

/// Which of a border's points are kept.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub enum Approximation {
    /// One per step.
    None,
    /// The points where the border turns, or its only point.
    Simple,
}

/// Which borders are kept, and which of their parents count.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub enum Levels {
    /// Borders without a parent.
    External,
    /// All borders, without parents.
    List,
    /// Outer borders without parents, holes with theirs.
    Ccomp,
    /// All borders and parents.
    Tree,
}
