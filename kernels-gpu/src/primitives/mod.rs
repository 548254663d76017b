//! Building blocks that the kernels of every job share.

pub mod scan;
