//! Sums of the pixels of each label: what all measures are made of.
//!
//! | file | stage |
//! |---|---|
//! | [`runs`] | the runs of equal labels in the rows |
//! | [`crate::trace::values`] | runs sorted by their labels; labels numbered |
//! | [`sorted_runs`] | these runs, and the background among the labels |
//! | [`pieces`] | the runs of each label in shares for warps |
//! | [`sums`] | sums of coordinates, of pairs and of border pixels, over the runs of each label |
//! | [`intensities`] | sums of another image's values, over the same runs |
//! | [`portions`] | the runs of each label in each strip of rows, for sums that are rounded |
//! | [`powers`] | sums for higher moments and for weighted ones, over these |
//! | [`reals`] | sums of intensities that are floating-point numbers or large, over these |
//! | [`portion_columns`] | columns that follow from sums of portions |
//! | [`moment_columns`] | columns of moments, from sums of powers and from those of pieces |
//! | [`piece_sums`], [`piece_columns`] | sums of a label's pieces, and the columns made of them |
//! | [`hulls`], [`holes`] | convex hulls, and areas with holes filled, from these runs |
//! | [`hull_columns`] | the columns that follow from both |
//! | [`tiles`] | areas, boxes and sums of coordinates of small label values, without runs |
//! | [`table`] | these sums by label value, and the columns made of them |
//! | [`shapes`] | by tiles that overlap: sums for axes, perimeters, Euler numbers, intensities |
//! | [`shape_table`] | these sums by label value, and the columns made of them |
//! | [`neighbours`] | what pixels add to perimeters (for the processor too) and Euler numbers |
//! | [`ellipse`], [`lengths`] | axes and lengths from sums, for the processor too |
//! | [`moments`] | moments from sums of powers, for the processor too |
//! | [`convex`] | chains of hulls and the pixels in them, for the processor too |
//!
//! Sums over pieces take no atomic operations: a warp takes a **piece**, up to [`pieces::PIECE`]
//! runs of one label in raster order, and its lanes' sums are added in a fixed order. Most labels
//! have one piece. Sums that are rounded are those of [`portions`], in the processor's order.
//! [`holes`] adds areas by one atomic addition per warp and label.

pub mod convex;
pub mod ellipse;
pub mod holes;
pub mod hull_columns;
pub mod hulls;
pub mod intensities;
pub mod lengths;
pub mod moment_columns;
pub mod moments;
pub mod neighbours;
pub mod piece_columns;
pub mod piece_sums;
pub mod pieces;
pub mod portion_columns;
pub mod portions;
pub mod powers;
pub mod reals;
pub mod runs;
pub mod shape_table;
pub mod shapes;
pub mod sorted_runs;
pub mod sums;
pub mod table;
pub mod tiles;
