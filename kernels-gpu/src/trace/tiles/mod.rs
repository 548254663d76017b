//! Border following in rectangles, one thread a rectangle.
//!
//! V. M. Garcia-Molla, P. Alonso-Jordá, R. García-Laguía, "Parallel border tracking in binary images using GPUs", The
//! Journal of Supercomputing 78 (2022). The image is divided into NX × NY rectangles, powers of two. In each, one thread
//! follows all borders, forward and then backward where they leave it; then log2(NY) + log2(NX) launches join neighbouring
//! rectangles in pairs, one thread a pair.
//!
//! | kernel | threads |
//! | --- | --- |
//! | [`border_preprocessing`](fn@border_preprocessing) | one a word: the pixels that borders pass, and the number of vertical sides |
//! | [`track_count`](fn@track_count), then scans, then [`track_write`](fn@track_write) | one a rectangle |
//! | [`connect`](fn@connect), for each stage | one a pair of rectangles |
//! | [`mark_discoveries`](fn@mark_discoveries), then a scan, then [`list_borders`](fn@list_borders) | one a fragment |
//! | [`rank_fragments`](fn@rank_fragments) | one a border: where each fragment's steps go, and the number of steps |
//! | [`find_previous_in_row`](fn@find_previous_in_row) | one a border: what lies before it in its row |
//! | [`count_turns`](fn@count_turns), then [`rank_turns`](fn@rank_turns) | one a fragment, then one a border: where turns go, if only these are points |
//! | [`write_points`](fn@write_points) | one a fragment |
//!
//! Threads that follow borders go different ways, so that each has a block, and so a warp, of its own; 16 of these on a
//! multiprocessor are asked for, because ptxas else spills registers to make room for more. The other kernels have 256
//! threads a block.
//!
//! # Terms
//!
//! A **node** is a step of a border with what it passes: over centers, it is known by its pixel and the direction **back**
//! to the former one; along edges, by its pixel and half the direction of the **side** that it runs along. Either is the
//! node's code. A pixel's **sides** are where it is foreground and its neighbour to the E, N, W or S is not. A side
//! belongs to one node, a node to one border. A pixel's **mark** is the set of its sides that have
//! been passed, as 4 bits (the paper multiplies 2, 3, 5 and 7 for W, N, E and S instead):
//! [`track_count`](fn@track_count) adds the sides that each node passes, and
//! [`track_write`](fn@track_write), which goes the same way, takes them away.
//!
//! A **fragment** is a piece of a border within a rectangle: the codes of its steps, those that were followed forward, then
//! those that were followed backward, from their end. Fragments are linked; their codes are not moved.
//!
//! **Vertical sides** (W and E) are numbered in raster order, a pixel's W before its E: so they are W and E in turn. A
//! border is **discovered** at the first that it passes: its key. An even key is an outer border's, an odd one a hole's; and
//! what lies before a border is what passes the side before its key.

pub mod connect;
pub mod gather;
pub mod grid;
pub mod points;
pub mod sides;
pub mod track;
mod walk;
