//! What the benches share: inputs, published figures to compare with, and settings.

pub mod grids;
pub mod images;
pub mod labels;
pub mod report;
pub mod settings;
