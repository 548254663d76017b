//! How an image is cut into tiles, and which word of its tile a thread works on.

use cuda_std::prelude::*;

use crate::label::Connectivity;
use crate::label::number::chunks;
use crate::primitives::quotient;

/// A tile's width in words.
pub(in crate::label) const COLUMNS: u32 = 4;
/// Halves of words per row of a tile.
pub(in crate::label) const ROW_HALVES: u32 = 2 * COLUMNS;
/// A tile's height.
pub(super) const ROWS: u32 = 64;
/// Threads per block: one for each word of a tile.
pub(super) const BLOCK: u32 = COLUMNS * ROWS;
/// A tile's width in pixels.
pub(in crate::label) const WIDTH: u32 = COLUMNS * 64;
/// Threads that join one word's width of border, or 64 rows of border.
pub(super) const PARTS: u32 = 8;
/// Words per row of a tile in shared memory: the tile's, and a zero, which lies to the right of
/// this row and to the left of the next.
pub(super) const STRIDE: u32 = COLUMNS + 1;

/// The most runs of a tile: one per two pixels of a row, or, 8-connected, one per two columns of a
/// band of two rows.
#[inline(always)]
pub(super) const fn max_runs(connectivity: Connectivity) -> u32 {
    // planted: tile-max-runs
    let most = ROWS * WIDTH / 2;
    match connectivity {
        Connectivity::Four => most,
        Connectivity::Eight => most / 2,
    }
}

/// Bytes of dynamic shared memory of [`tiles_label`](fn@super::label::tiles_label),
/// [`tiles_label_bytes`](fn@super::label::tiles_label_bytes),
/// [`tiles_write`](fn@super::write::tiles_write) and
/// [`tiles_write_numbered`](fn@super::write::tiles_write_numbered): one `u32` per run that a tile
/// can have.
#[must_use]
pub const fn run_bytes(connectivity: Connectivity) -> u32 {
    4 * max_runs(connectivity)
}

/// One `u32` in dynamic shared memory for each run that a tile can have.
///
/// # Safety
///
/// The launch has [`run_bytes`] of dynamic shared memory.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(super) unsafe fn shared_runs(connectivity: Connectivity) -> SharedView<u32> {
    // SAFETY: the caller's promise.
    unsafe { shared::dynamic_shared_mem(0, max_runs(connectivity) as usize) }
}

/// The size of an image, or of each of several images, and its tiles.
///
/// A tile has pixels of one image only. Images follow each other in all arrays: tile after tile,
/// word after word, pixel after pixel. Only in the array of their bits, rows of background may lie
/// between two images.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct TileLayout {
    /// Pixels per row of an image.
    pub width: u32,
    /// Rows of an image.
    pub height: u32,
    /// Words per row of an image.
    pub row_words: u32,
    /// Tiles per row of tiles.
    pub tiles_x: u32,
    /// Rows of tiles of an image.
    pub tiles_y: u32,
    /// Elements of `firsts` per tile: the most runs that a tile of the image can have.
    pub tile_runs: u32,
    /// The number of images.
    pub images: u32,
    /// In the array of the images' bits: words from the start of one image to that of the next.
    pub pitch: u32,
}

impl TileLayout {
    /// The tiles of an image of `width × height` pixels. `None` if 32 bits can't index the pixels,
    /// the words or the runs of all tiles.
    #[must_use]
    pub const fn new(width: u32, height: u32) -> Option<Self> {
        Self::of(width, height, 1, 0)
    }

    /// The tiles of `images` images of `width × height` pixels each, with a row of background after
    /// each in the array of their bits. `None` if 32 bits can't index the pixels, the words or the
    /// runs of all tiles of all images.
    #[must_use]
    pub const fn stack(width: u32, height: u32, images: u32) -> Option<Self> {
        Self::of(width, height, images, 1)
    }

    const fn of(width: u32, height: u32, images: u32, rows_between: u32) -> Option<Self> {
        let row_words = width.div_ceil(64);
        let tiles_x = row_words.div_ceil(COLUMNS);
        let tiles_y = height.div_ceil(ROWS);
        let widest = if width < WIDTH { width } else { WIDTH };
        let tile_runs = ROWS * widest.div_ceil(2);
        let most = u32::MAX as u64;
        let count = images as u64;
        let pitch = row_words as u64 * (height as u64 + rows_between as u64);
        if width as u64 * height as u64 > most || pitch > most - BLOCK as u64 {
            return None;
        }
        // None of these products reaches 2⁶⁴: an image has less than 2³² words and pixels.
        let tiles = tiles_x as u64 * tiles_y as u64 * count;
        if width as u64 * height as u64 * count > most
            || pitch * count > most - BLOCK as u64
            || tiles * tile_runs as u64 > most
            || tiles * BLOCK as u64 > most
        {
            return None;
        }
        Some(Self {
            width,
            height,
            row_words,
            tiles_x,
            tiles_y,
            tile_runs,
            images,
            pitch: pitch as u32,
        })
    }

    /// Words of one image.
    #[must_use]
    pub const fn image_words(self) -> u32 {
        self.row_words * self.height
    }

    /// Words of all images.
    #[must_use]
    pub const fn words(self) -> u32 {
        self.image_words() * self.images
    }

    /// Length of the array of all images' bits.
    #[must_use]
    pub const fn source_words(self) -> u32 {
        self.pitch * self.images
    }

    /// Pixels of all images.
    #[must_use]
    pub const fn pixels(self) -> u32 {
        self.width * self.height * self.images
    }

    /// Chunks of all images' words, for counting bits.
    #[must_use]
    pub const fn chunks(self) -> u32 {
        chunks(self.words())
    }

    /// Tiles of one image.
    #[must_use]
    pub const fn image_tiles(self) -> u32 {
        self.tiles_x * self.tiles_y
    }

    /// Tiles of all images.
    #[must_use]
    pub const fn tiles(self) -> u32 {
        self.image_tiles() * self.images
    }

    /// Length of `firsts`.
    #[must_use]
    pub const fn firsts_len(self) -> usize {
        self.tiles() as usize * self.tile_runs as usize
    }

    /// Length of `offsets`.
    #[must_use]
    pub const fn offsets_len(self) -> usize {
        self.tiles() as usize * BLOCK as usize
    }

    /// Length of `sides`.
    #[must_use]
    pub const fn sides_len(self) -> usize {
        self.tiles() as usize * 4
    }

    /// Threads of [`tiles_merge`](fn@super::merge::tiles_merge) per image: one for every 8 pixels
    /// of border below a tile, and one for every 8 rows of border between tiles side by side.
    #[must_use]
    pub const fn merge_threads(self) -> u64 {
        let below = (self.tiles_y as u64).saturating_sub(1) * self.row_words as u64 * PARTS as u64;
        let beside = (self.tiles_x as u64).saturating_sub(1) * self.tiles_y as u64 * PARTS as u64;
        below + beside
    }
}

/// The row and the column of a position in the tile.
#[inline(always)]
pub(in crate::label) const fn split(position: u32) -> (u32, u32) {
    (position / WIDTH, position % WIDTH)
}

/// A word of a block's tile.
#[derive(Clone, Copy)]
pub(super) struct TileWord {
    /// Index of the tile among those of all images.
    pub(super) tile: u32,
    /// Column and row of the tile among those of its image.
    pub(super) tile_x: u32,
    pub(super) tile_y: u32,
    /// Index of the tile's first pixel among those of all images.
    pub(super) first_pixel: u32,
    /// Row of the word in the tile, and its column in words.
    pub(super) row: u32,
    pub(super) column: u32,
    /// Whether the image has the word.
    pub(super) inside: bool,
    /// Index of the word among those of all images.
    pub(super) index: u32,
    /// Index of the word in the array of the images' bits.
    pub(super) source: u32,
}

impl TileWord {
    /// The word of this thread, in a block of one thread per word.
    #[inline(always)]
    pub(super) fn of_thread(layout: TileLayout) -> Self {
        Self::of(thread::thread_idx_x(), layout)
    }

    /// Word `i` of the block's tile: tile x of image y, by the block's indices.
    #[inline(always)]
    pub(super) fn of(i: u32, layout: TileLayout) -> Self {
        let (in_image, image) = (thread::block_idx_x(), thread::block_idx_y());
        let tile_y = quotient(in_image, layout.tiles_x);
        let tile_x = in_image - tile_y * layout.tiles_x;
        let (row, column) = (i / COLUMNS, i % COLUMNS);
        let (y, word_x) = (tile_y * ROWS + row, tile_x * COLUMNS + column);
        let index = y * layout.row_words + word_x;
        let first_row = image * layout.height + tile_y * ROWS;
        Self {
            tile: image * layout.image_tiles() + in_image,
            tile_x,
            tile_y,
            first_pixel: first_row * layout.width + tile_x * WIDTH,
            row,
            column,
            // planted: tile-inside
            inside: y < layout.height && word_x < layout.row_words,
            index: image * layout.image_words() + index,
            // planted: tile-source
            source: image * layout.pitch + index,
        }
    }

    /// Index of the word among the tile's words in shared memory.
    #[inline(always)]
    pub(super) const fn at(&self) -> u32 {
        (self.row + 1) * STRIDE + self.column + 1
    }
}
