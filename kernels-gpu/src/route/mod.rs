//! Route: distances on a grid of weighted edges, and trees that join pins.
//!
//! | file | what |
//! |---|---|
//! | `tiles/` | whole nets: tiles relaxed in shared memory, pins joined one after the other, all in one launch |

pub mod tiles;
