//! Border following in rectangles, one thread per rectangle.
//!
//! V. M. Garcia-Molla, P. Alonso-Jordá, R. García-Laguía, "Parallel border tracking in binary
//! images using GPUs", The Journal of Supercomputing 78 (2022). The image is divided into NX × NY
//! rectangles, both numbers powers of two. In each, one thread follows all borders, forward and
//! then backward where they leave it; then log2(NY) + log2(NX) launches join neighbouring
//! rectangles in pairs, one thread per pair.
//!
//! | kernel | one thread per | does |
//! | --- | --- | --- |
//! | [`border_preprocessing`](fn@sides::border_preprocessing) | word | finds the pixels that borders pass, counts vertical sides |
//! | [`track_count`](fn@track::track_count), scans, [`track_write`](fn@track::track_write) | rectangle | follows borders |
//! | [`connect`](fn@connect::connect), for each stage | pair of rectangles | links their borders |
//! | [`mark_discoveries`](fn@gather::mark_discoveries), a scan, [`list_borders`](fn@gather::list_borders) | fragment | lists borders in order of discovery |
//! | [`rank_fragments`](fn@gather::rank_fragments) | border | finds where each fragment's steps go, and counts the steps |
//! | [`find_previous_in_row`](fn@gather::find_previous_in_row) | border | finds the border before it in its row |
//! | [`count_turns`](fn@gather::count_turns) | fragment | counts turns, if only these are points |
//! | [`rank_turns`](fn@gather::rank_turns) | border | finds where each fragment's turns go |
//! | [`write_points`](fn@points::write_points) | fragment | writes the points |
//!
//! Threads that follow borders diverge, so each has a block, and thus a warp, of its own. The
//! kernels ask for at least 16 of these blocks per multiprocessor: otherwise ptxas spills registers
//! to make room for more.
//!
//! # Terms
//!
//! A **node** is a step of a border with the sides that it passes. Over centers, a node is
//! identified by its pixel and the direction **back** to the previous one; along edges, by its
//! pixel and half the direction of the **side** that it runs along. That direction is the node's
//! code. A side belongs to one node, a node to one border. A pixel's **mark** is the
//! [set](crate::trace::neighbours) of its sides that have been passed. (The paper multiplies 2, 3,
//! 5 and 7 for W, N, E and S.) [`track_count`](fn@track::track_count) adds the sides that each node
//! passes; [`track_write`](fn@track::track_write) goes the same way and removes them.
//!
//! A **fragment** is a piece of a border within a rectangle. It has the codes of the steps followed
//! forward, then of those followed backward, from their end. Fragments are linked; their codes are
//! not moved.
//!
//! **Vertical sides** (W and E) have indices in raster order, a pixel's W before its E: so W and E
//! sides alternate. A border is **discovered** at the first one that it passes, its key. An outer
//! border's key is even, a hole's odd. The previous border in a row is the one that passes the side
//! before the key.

pub mod connect;
pub mod gather;
pub mod grid;
pub mod points;
pub mod sides;
pub mod track;
mod walk;
