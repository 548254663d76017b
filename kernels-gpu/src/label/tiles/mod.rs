//! Labelling by union-find over runs, in tiles.
//!
//! | file | kernel | does | reads and writes |
//! | --- | --- | --- | --- |
//! | [`label`] | [`tiles_label`](fn@label::tiles_label) | joins the runs of each tile in shared memory | image; 2 bytes per run and per word, 1 bit per pixel |
//! | [`merge`] | [`tiles_merge`](fn@merge::tiles_merge) | joins components along the tiles' borders | border words, and the parents on the unions' paths |
//! | [`flatten`] | [`tiles_flatten`](fn@flatten::tiles_flatten) | points each tile's components at their roots; counts roots | 1 bit per pixel, twice; 2 bytes per word |
//! | [`write`](mod@write) | [`tiles_write`](fn@write::tiles_write) | writes every pixel's label | image, 2 bytes per run and per word; **4 bytes per pixel** |
//!
//! For a band of an image, two more kernels allow waiting for the numbers in the whole image:
//!
//! | file | kernel | does | reads and writes |
//! | --- | --- | --- | --- |
//! | [`rim`] | [`tiles_rim`](fn@rim::tiles_rim) | numbers the components on the first and the last row, before labels are written | the runs, parents and roots of two rows; 4 bytes per pixel of them |
//! | [`write`](mod@write) | [`tiles_write_numbered`](fn@write::tiles_write_numbered) | `tiles_write` with the numbers of a table | as `tiles_write`, and 4 bytes per component of a tile |
//!
//! [`layout`] says how an image is cut into tiles, [`runs`] what is stored per tile, and
//! `half_runs` what a thread of [`label`] joins. Before
//! `tiles_write`, a scan of the chunks' counts numbers the roots ([`number`](super::number)). All
//! kernels except those of `write` work on bits and runs, so nearly all bytes written are labels.
//!
//! Images of a batch, of one size, are labelled in the same launches: the blocks of a grid have the
//! tiles of an image along x and the images along y, and no tile has pixels of two images
//! ([`TileLayout`](layout::TileLayout)). All their roots are counted together;
//! [`image_starts`](fn@super::number::image_starts) says how many the images above each have, and
//! `tiles_write` subtracts that.
//!
//! # Tiles, runs, components
//!
//! A tile is 4 words (256 pixels) wide and 64 rows high: one word for each of a block's 256
//! threads. Its runs end at the tile's sides.
//!
//! 4-connected, a run lies in one row. 8-connected, it lies in a band of two rows, and is a longest
//! stretch of columns in which either row has a pixel: its pixels are connected, whichever row they
//! are in. In noise of 50 % there are 0.38 times as many of these runs as runs in single rows. Runs
//! are indexed by row or band, and from left to right. The index of a run is that of the first run
//! of its word, or in a band of its half word (`offsets`), plus the number of runs that start
//! before it there. For each run, `firsts` holds the first pixel of the component that the run
//! belongs to within its tile, as a position in the tile: 6 bits of row, 8 bits of column.
//!
//! A second union-find joins the components of all tiles. Its elements are pixel indices, in the
//! output array; only the first pixels of tiles' components are nodes. A tile's union-find keeps
//! the smallest run as root. That run's row or band has the component's first pixel in the tile: in
//! a row, the run starts with it; in a band, it is the component's smallest pixel there. The second
//! union-find keeps the smallest pixel, the component's first pixel in the image. A block of
//! `tiles_write` reads only nodes of its own tile, before it overwrites them.

pub mod flatten;
pub(super) mod half_runs;
pub mod label;
pub mod layout;
pub mod merge;
pub mod rim;
pub mod runs;
pub mod write;
