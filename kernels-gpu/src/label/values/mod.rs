//! Labelling the regions of an image of values: connected pixels of equal value.
//!
//! | file | kernel | does | reads and writes |
//! | --- | --- | --- | --- |
//! | [`label`] | [`value_tiles_label`](fn@label::value_tiles_label) | joins the runs of each tile in shared memory | planes of equality; 2 bytes per run and per word, 1 bit per pixel |
//! | [`merge`] | [`value_tiles_merge`](fn@merge::value_tiles_merge) | joins regions along the tiles' borders | border words, and the parents on the unions' paths |
//! | [`write`](mod@write) | [`value_tiles_write`](fn@write::value_tiles_write) | writes every pixel's label | planes of equality, 2 bytes per run and per word; **4 bytes per pixel** |
//!
//! Between the last two, [`tiles_flatten`](fn@super::tiles::flatten::tiles_flatten) and a scan
//! number the roots, as for bits.
//!
//! The algorithm is that of [`tiles`](super::tiles) for 4-connected bits, with two differences:
//!
//! - A run is a longest stretch of equal valid pixels of a row within a tile. Runs may follow each
//!   other without background between them, so a tile may have as many runs as pixels. A tile
//!   therefore has 32 rows instead of 64, which keeps its runs in 32 KiB of shared memory.
//! - Which runs start and touch comes from the planes of equality
//!   ([`equality`](mod@crate::image::equality)), not from words of pixels. 8-connected regions take
//!   the runs of single rows too: pixels of two rows in consecutive columns need not be equal, so
//!   there are no bands of two rows.

pub mod label;
pub mod layout;
pub mod merge;
pub mod write;
