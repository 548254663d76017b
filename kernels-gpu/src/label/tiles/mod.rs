//! Labelling by union-find over runs, in tiles.
//!
//! | kernel | does | reads, writes |
//! | --- | --- | --- |
//! | [`tiles_label`](fn@tiles_label) | joins the runs of each tile in shared memory | image; 2 bytes a run and a word, 1 bit a pixel |
//! | [`tiles_merge`](fn@tiles_merge) | joins components along the tiles' borders | border words, and what its unions touch |
//! | [`tiles_flatten`](fn@tiles_flatten) | points each tile's components at their roots; counts roots | 1 bit a pixel, twice; 2 bytes a word |
//! | [`tiles_write`](fn@tiles_write) | writes every pixel's label | image, 2 bytes a run and a word; **4 bytes a pixel** |
//!
//! Between the last two, a scan of the chunks' counts numbers the roots ([`number`](super::number)). All but
//! `tiles_write` work on bits and runs, so that what is written to memory is little more than the labels.
//!
//! # Tiles, runs, components
//!
//! A tile is 4 words (256 pixels) wide and 64 rows high: one word for each of a block's 256 threads. Its runs, which end at
//! the tile's sides, are numbered in raster order, so that a run's number is the number of the first run of its word
//! (`offsets`) plus the run starts up to it in its word. What is stored of a run (`firsts`) is the first pixel of the
//! component that it belongs to within its tile, as a position in the tile: 6 bits of row, 8 bits of column.
//!
//! The components' own union-find is over pixel numbers, in the output array: only the first pixels of tiles'
//! components are nodes. A tile's union-find keeps the smallest run as root, which is where the component's first pixel
//! is; the global one keeps the smallest pixel, which is the component's first pixel in the image. `tiles_write` then
//! reads nodes of its own tile alone before it overwrites them.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use crate::image::pack::pack_sixteen;
use crate::label::number::{Counts, Numbers, count_chunk};
use crate::primitives::bits::{Beside, Touching, count_through, starts};
use crate::primitives::quotient;
use crate::primitives::scan::make_ready;
use crate::primitives::union_find::{Parents, find, union};

/// A tile's width in words.
const COLUMNS: u32 = 4;
/// A tile's height.
const ROWS: u32 = 64;
/// Threads of a block: one for each word of a tile.
const BLOCK: u32 = COLUMNS * ROWS;
/// A tile's width in pixels.
const WIDTH: u32 = COLUMNS * 64;
/// Threads that join a word's width of border.
const PARTS: u32 = 4;
/// The most runs of a tile: every second pixel.
const MAX_RUNS: u32 = ROWS * WIDTH / 2;
/// A row of words in shared memory: the tile's, and one of zeros, which is to the right of this row and to the left of the
/// next one.
const STRIDE: u32 = COLUMNS + 1;
/// Words in shared memory: a row of zeros, the tile, and the zero to the right of its last row.
const WORDS: usize = ((ROWS + 1) * STRIDE + 1) as usize;

/// An image and its tiles.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod)]
pub struct Grid {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Words in a row of the image.
    pub row_words: u32,
    /// Tiles in a row of tiles.
    pub tiles_x: u32,
    /// Rows of tiles.
    pub tiles_y: u32,
    /// Elements of `firsts` for each tile: the most runs that a tile of the image can have.
    pub tile_runs: u32,
}

impl Grid {
    /// The tiles of an image of `width × height` pixels; none if the image, its words or its runs can't be numbered
    /// with 32 bits.
    #[must_use]
    pub const fn new(width: u32, height: u32) -> Option<Self> {
        let row_words = width.div_ceil(64);
        let tiles_x = row_words.div_ceil(COLUMNS);
        let tiles_y = height.div_ceil(ROWS);
        let widest = if width < WIDTH { width } else { WIDTH };
        let tile_runs = ROWS * widest.div_ceil(2);
        let most = u32::MAX as u64;
        let tiles = tiles_x as u64 * tiles_y as u64;
        if width as u64 * height as u64 > most
            || row_words as u64 * height as u64 > most - BLOCK as u64
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
        })
    }

    /// Words of the image.
    #[must_use]
    pub const fn words(self) -> u32 {
        self.row_words * self.height
    }

    /// Tiles of the image: blocks of [`tiles_label`](fn@tiles_label) and [`tiles_write`](fn@tiles_write).
    #[must_use]
    pub const fn tiles(self) -> u32 {
        self.tiles_x * self.tiles_y
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

    /// Threads that [`tiles_merge`](fn@tiles_merge) needs: one for each 16 pixels below a tile, and for each 16 rows of a side between tiles.
    #[must_use]
    pub const fn merge_threads(self) -> u64 {
        let below = (self.tiles_y as u64).saturating_sub(1) * self.row_words as u64 * PARTS as u64;
        let beside = (self.tiles_x as u64).saturating_sub(1) * self.tiles_y as u64 * PARTS as u64;
        below + beside
    }
}

/// The tile's row and column of a position in it.
#[inline(always)]
const fn split(position: u32) -> (u32, u32) {
    (position / WIDTH, position % WIDTH)
}

/// What the kernels that join the runs of tiles write.
#[derive(Clone, Copy)]
struct Found<'a> {
    status: ViewMut<'a, u64>,
    ticket: ViewMut<'a, u32>,
    parents: ViewMut<'a, u32>,
    firsts: ViewMut<'a, u16>,
    offsets: ViewMut<'a, u16>,
    sides: ViewMut<'a, u32>,
    locals: ViewMut<'a, u64>,
}

/// This thread's word of its block's tile.
#[derive(Clone, Copy)]
struct Place {
    tile: u32,
    tile_x: u32,
    tile_y: u32,
    /// Row and column of words in the tile.
    row: u32,
    column: u32,
    /// Row and column of words in the image.
    y: u32,
    word_x: u32,
    /// Whether the image has it.
    inside: bool,
    /// Its number in the image.
    word: u32,
}

impl Place {
    #[inline(always)]
    fn mine(grid: Grid) -> Self {
        let t = thread::thread_idx_x();
        let tile = thread::block_idx_x();
        let tile_y = quotient(tile, grid.tiles_x);
        let tile_x = tile - tile_y * grid.tiles_x;
        let (row, column) = (t / COLUMNS, t % COLUMNS);
        let (y, word_x) = (tile_y * ROWS + row, tile_x * COLUMNS + column);
        Self {
            tile,
            tile_x,
            tile_y,
            row,
            column,
            y,
            word_x,
            // planted: tile-inside
            inside: y < grid.height && word_x < grid.row_words,
            word: y * grid.row_words + word_x,
        }
    }

    /// Where its word is among the tile's words in shared memory.
    #[inline(always)]
    const fn at(&self) -> u32 {
        (self.row + 1) * STRIDE + self.column + 1
    }
}

/// Frames the tile by zeros on the left, above and on the right.
#[inline(always)]
fn frame(words: SharedView<u64>, place: &Place) {
    let t = thread::thread_idx_x();
    if place.column == 0 {
        // planted: tile-frame
        words.st(place.at() - 1, 0);
    }
    if t < STRIDE {
        words.st(t, 0);
    }
    if t == BLOCK - 1 {
        words.st(place.at() + 1, 0);
    }
}

/// Joins the runs of each tile. Makes the first pixel of each of a tile's components a node of `parents`, its own parent.
/// Makes `status` and `ticket` ready.
///
/// # Safety
///
/// `image` has the grid's words, `parents` an element per pixel, `firsts`, `offsets` and `sides` have the grid's
/// lengths, `locals` an element per word, `status` [`status_len`](super::super::number::status_len) and `ticket` one; nothing else
/// uses what is written meanwhile; the launch has one block per tile.
#[kernel(block = 256)]
pub unsafe fn tiles_label(
    image: View<'_, u64>,
    parents: ViewMut<'_, u32>,
    firsts: ViewMut<'_, u16>,
    offsets: ViewMut<'_, u16>,
    sides: ViewMut<'_, u32>,
    locals: ViewMut<'_, u64>,
    status: ViewMut<'_, u64>,
    ticket: ViewMut<'_, u32>,
    grid: Grid,
    eight: u32,
) {
    let words = shared_array![u64; WORDS];
    let place = Place::mine(grid);
    frame(words, &place);
    let here = if place.inside {
        image.ldg(place.word)
    } else {
        0
    };
    words.st(place.at(), here);
    // planted: tile-load-barrier
    thread::sync_threads();
    let found = Found {
        status,
        ticket,
        parents,
        firsts,
        offsets,
        sides,
        locals,
    };
    label_tile(words, &place, found, grid, eight != 0);
}

/// [`tiles_label`](fn@tiles_label) from an image of bytes, foreground being `value > threshold`. Also writes the image's words.
///
/// # Safety
///
/// As for [`tiles_label`](fn@tiles_label); `bytes` has an element per pixel and starts at a multiple of 16 bytes; the width is a multiple
/// of 16; nothing else uses `image` meanwhile.
#[kernel(block = 256)]
pub unsafe fn tiles_label_bytes(
    bytes: View<'_, u8>,
    image: ViewMut<'_, u64>,
    parents: ViewMut<'_, u32>,
    firsts: ViewMut<'_, u16>,
    offsets: ViewMut<'_, u16>,
    sides: ViewMut<'_, u32>,
    locals: ViewMut<'_, u64>,
    status: ViewMut<'_, u64>,
    ticket: ViewMut<'_, u32>,
    grid: Grid,
    eight: u32,
    threshold: u32,
) {
    /// Loads of 16 pixels a thread.
    const LOADS: usize = 4;

    let words = shared_array![u64; WORDS];
    let place = Place::mine(grid);
    frame(words, &place);
    // SAFETY: the same memory, as quarters of words.
    let quarters =
        unsafe { SharedView::from_raw_parts(words.as_mut_ptr().cast::<u16>(), 4 * WORDS) };
    let t = thread::thread_idx_x();
    let (row, column) = (t / 16, t % 16);
    let x = place.tile_x * WIDTH + column * 16;
    // All loads before the first use.
    let mut pixels = [[0; 16]; LOADS];
    for (pixels, i) in pixels.iter_mut().zip(0..) {
        let y = place.tile_y * ROWS + row + i * 16;
        // planted: tile-bytes-inside
        if y < grid.height && x < grid.width {
            *pixels = bytes.ldg_vector(y * grid.width + x);
        }
    }
    for (pixels, i) in pixels.iter().zip(0..) {
        let at = ((row + i * 16 + 1) * STRIDE + 1) * 4 + column;
        // Beside the image, a threshold of 0 or more leaves zeros.
        quarters.st(at, pack_sixteen(*pixels, threshold) as u16);
    }
    thread::sync_threads();
    if place.inside {
        image.st(place.word, words.ld(place.at()));
    }
    let found = Found {
        status,
        ticket,
        parents,
        firsts,
        offsets,
        sides,
        locals,
    };
    label_tile(words, &place, found, grid, eight != 0);
}

/// Joins the runs of the tile in `words`. For a whole block.
#[inline(always)]
fn label_tile(words: SharedView<u64>, place: &Place, found: Found<'_>, grid: Grid, eight: bool) {
    /// Marks an element of `runs` as the position of a root's first pixel.
    const POSITION: u32 = 1 << 31;

    let run_offsets = shared_array![u32; BLOCK as usize];
    let warp_counts = shared_array![u32; (BLOCK / WARP_SIZE) as usize];
    // planted: tile-max-runs
    let runs = shared_array![u32; MAX_RUNS as usize];

    let t = thread::thread_idx_x();
    let lane = t % WARP_SIZE;
    let warp = t / WARP_SIZE;
    let at = place.at();
    let Place {
        tile,
        row,
        column,
        y,
        word_x,
        ..
    } = *place;
    make_ready(found.status, found.ticket, tile * BLOCK + t);
    let here = words.ld(at);
    let beside = Beside {
        left: words.ld(at - 1),
        here,
        right: words.ld(at + 1),
    };
    let up = Beside {
        left: words.ld(at - 1 - STRIDE),
        here: words.ld(at - STRIDE),
        right: words.ld(at + 1 - STRIDE),
    };
    if warp < 2 {
        // The tile's first and last columns of pixels, for `tiles_merge`.
        let row_at = (t + 1) * STRIDE;
        let left = warp::warp_vote_ballot(FULL_MASK, words.ld(row_at + 1) & 1 != 0);
        let right = warp::warp_vote_ballot(FULL_MASK, words.ld(row_at + COLUMNS) >> 63 != 0);
        if lane == 0 {
            found.sides.st(tile * 4 + warp, left);
            found.sides.st(tile * 4 + 2 + warp, right);
        }
    }

    // Number the runs.
    let own_starts = starts(here, beside.left);
    let count = own_starts.count_ones();
    let mut through = count;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let (before, _) = warp::warp_shuffle_up(FULL_MASK, through, distance, WARP_SIZE);
        if lane >= distance {
            through += before;
        }
        distance *= 2;
    }
    if lane == WARP_SIZE - 1 {
        warp_counts.st(warp, through);
    }
    // planted: tile-count-barrier
    thread::sync_threads();
    let mut total = 0;
    let mut offset = through - count;
    for other in 0..BLOCK / WARP_SIZE {
        if other == warp {
            offset += total;
        }
        total += warp_counts.ld(other);
    }
    run_offsets.st(t, offset);
    found.offsets.st(tile * BLOCK + t, offset as u16);
    // planted: tile-offset-barrier
    thread::sync_threads();

    // Hook every run to the first run above that it touches: a smaller number, so there are no cycles.
    let up_starts = starts(up.here, up.left);
    let up_offset = if row > 0 {
        run_offsets.ld(t - COLUMNS)
    } else {
        0
    };
    let above = |bit: u32| up_offset + count_through(up_starts, bit) - 1;
    let above_left = |bit: u32| {
        if bit == 0 {
            up_offset - 1
        } else {
            above(bit - 1)
        }
    };
    let above_right = |bit: u32| {
        if bit == 63 {
            // planted: tile-above-right
            up_offset + up_starts.count_ones()
        } else {
            above(bit + 1)
        }
    };
    let mut touching = Touching::find(beside, up, eight);
    let mut rest = own_starts;
    let mut run = offset;
    while rest != 0 {
        let first = rest & rest.wrapping_neg();
        rest ^= first;
        // From this start to before the next one.
        let span = (rest & rest.wrapping_neg()).wrapping_sub(first);
        let overlap = touching.above & span;
        let corner = touching.above_right & span;
        let target = if touching.above_left & first != 0 {
            touching.above_left ^= first;
            above_left(first.trailing_zeros())
        } else if overlap != 0 {
            touching.above ^= overlap & overlap.wrapping_neg();
            above(overlap.trailing_zeros())
        } else if corner != 0 {
            touching.above_right ^= corner;
            above_right(corner.trailing_zeros())
        } else {
            run
        };
        runs.st(run, target);
        run += 1;
    }
    // planted: tile-hook-barrier
    thread::sync_threads();

    // Shorten the paths until all are one step long.
    loop {
        let mut changed = false;
        let mut i = t;
        while i < total {
            let parent = runs.parent(i);
            let ancestor = runs.parent(runs.parent(parent));
            if ancestor != parent {
                runs.lower(i, ancestor);
                changed = true;
            }
            i += BLOCK;
        }
        if !thread::sync_threads_or(changed) {
            break;
        }
    }

    // Join what else touches.
    let joins = !touching.is_empty();
    while touching.above != 0 {
        let bit = touching.above.trailing_zeros();
        touching.above &= touching.above - 1;
        union(
            runs,
            offset + count_through(own_starts, bit) - 1,
            above(bit),
        );
    }
    while touching.above_left != 0 {
        let bit = touching.above_left.trailing_zeros();
        touching.above_left &= touching.above_left - 1;
        union(
            runs,
            offset + count_through(own_starts, bit) - 1,
            above_left(bit),
        );
    }
    while touching.above_right != 0 {
        let bit = touching.above_right.trailing_zeros();
        touching.above_right &= touching.above_right - 1;
        union(
            runs,
            offset + count_through(own_starts, bit) - 1,
            above_right(bit),
        );
    }
    if thread::sync_threads_or(joins) {
        let mut i = t;
        while i < total {
            runs.lower(i, find(runs, i));
            i += BLOCK;
        }
    }
    thread::sync_threads();

    // Roots become positions, and nodes of the image's union-find.
    let mut roots = 0;
    let mut rest = own_starts;
    let mut run = offset;
    while rest != 0 {
        let first = rest & rest.wrapping_neg();
        rest ^= first;
        if runs.ld(run) == run {
            let bit = first.trailing_zeros();
            roots |= first;
            runs.st(run, POSITION | (row * WIDTH + column * 64 + bit));
            let pixel = y * grid.width + word_x * 64 + bit;
            found.parents.st(pixel, pixel);
        }
        run += 1;
    }
    if place.inside {
        found.locals.st(place.word, roots);
    }
    // planted: tile-position-barrier
    thread::sync_threads();
    let mut i = t;
    while i < total {
        let mut value = runs.ld(i);
        if value & POSITION == 0 {
            value = runs.ld(value);
        }
        found.firsts.st(tile * grid.tile_runs + i, value as u16);
        i += BLOCK;
    }
}

/// What [`tiles_merge`](fn@tiles_merge) looks runs up in.
#[derive(Clone, Copy)]
struct Runs<'a> {
    image: View<'a, u64>,
    firsts: View<'a, u16>,
    offsets: View<'a, u16>,
    grid: Grid,
}

impl Runs<'_> {
    /// The word `word_x` of row `y`; 0 beside the image.
    #[inline(always)]
    fn word(&self, word_x: u32, y: u32) -> u64 {
        // Left of the image, `word_x` has wrapped around.
        if word_x < self.grid.row_words {
            self.image.ldg(y * self.grid.row_words + word_x)
        } else {
            0
        }
    }

    /// The word `word_x` of row `y`, and those beside it.
    #[inline(always)]
    fn beside(&self, word_x: u32, y: u32) -> Beside {
        Beside {
            left: self.word(word_x.wrapping_sub(1), y),
            here: self.word(word_x, y),
            right: self.word(word_x + 1, y),
        }
    }

    /// The node of the tile's component that foreground pixel `(x, y)` belongs to.
    #[inline(always)]
    fn node(&self, x: u32, y: u32) -> u32 {
        let grid = self.grid;
        let word_x = x / 64;
        // planted: merge-side-run
        let left = if word_x.is_multiple_of(COLUMNS) {
            0
        } else {
            self.word(word_x - 1, y)
        };
        let starts = starts(self.word(word_x, y), left);
        let (tile_x, tile_y) = (word_x / COLUMNS, y / ROWS);
        let tile = tile_y * grid.tiles_x + tile_x;
        let in_tile = y % ROWS * COLUMNS + word_x % COLUMNS;
        let offset = u32::from(self.offsets.ldg(tile * BLOCK + in_tile));
        let run = offset + count_through(starts, x % 64) - 1;
        let (row, column) = split(self.firsts.ldg(tile * grid.tile_runs + run).into());
        (tile_y * ROWS + row) * grid.width + tile_x * WIDTH + column
    }
}

/// Joins the components of neighbouring tiles.
///
/// # Safety
///
/// The arguments are those of [`tiles_label`](fn@tiles_label), which has run; the launch has the grid's
/// [`merge_threads`](Grid::merge_threads), rounded up to blocks.
#[kernel(block = 128, min_blocks = 8)]
pub unsafe fn tiles_merge(
    image: View<'_, u64>,
    parents: ViewMut<'_, u32>,
    firsts: View<'_, u16>,
    offsets: View<'_, u16>,
    sides: View<'_, u32>,
    grid: Grid,
    eight: u32,
) {
    let runs = Runs {
        image,
        firsts,
        offsets,
        grid,
    };
    let item = thread::index_1d();
    let below = (grid.tiles_y - 1) * grid.row_words * PARTS;
    // Pairs to join: straight across the border, and the two diagonals. Bit i stands for pixel (x, y), moved by i along
    // the border.
    let (x, y, mut straight, mut falling, mut rising);
    let is_below = item < below;
    if is_below {
        // A part of a word of a tile's first row, and the row above it.
        let border = quotient(item / PARTS, grid.row_words);
        let word_x = item / PARTS - border * grid.row_words;
        (x, y) = (word_x * 64, (border + 1) * ROWS);
        let touching = Touching::find(
            runs.beside(word_x, y),
            runs.beside(word_x, y - 1),
            eight != 0,
        );
        // planted: merge-corner-falling, merge-corner-rising
        (straight, falling, rising) = (touching.above, touching.above_left, touching.above_right);
    } else {
        // A part of the side between a tile and the one to its left. Columns are words here: a bit a row.
        let side = (item - below) / PARTS;
        let across = grid.tiles_x - 1;
        if across == 0 || side >= across * grid.tiles_y {
            return;
        }
        let tile_y = quotient(side, across);
        let tile_x = side - tile_y * across + 1;
        let tile = tile_y * grid.tiles_x + tile_x;
        let column = |i: u32| u64::from(sides.ldg(i)) | u64::from(sides.ldg(i + 1)) << 32;
        let left = column(tile * 4 - 2);
        let right = column(tile * 4);
        (x, y) = (tile_x * WIDTH, tile_y * ROWS);
        // Within a tile, pixels above each other are joined already.
        straight = left & right;
        straight &= !(straight << 1);
        (falling, rising) = (0, 0);
        if eight != 0 {
            falling = right & (left << 1) & !left & !(right << 1);
            // planted: merge-rising
            rising = left & (right << 1) & !right & !(left << 1);
        }
    }
    // planted: merge-part
    let mask = (u64::MAX >> (64 - 64 / PARTS)) << (item % PARTS * (64 / PARTS));
    straight &= mask;
    falling &= mask;
    rising &= mask;
    loop {
        // The next pair's lower pixel (or right one), as bit, and how far to the left of it the upper pixel is.
        let (bit, left, above);
        if straight != 0 {
            bit = straight.trailing_zeros();
            straight &= straight - 1;
            (left, above) = if is_below { (0, 1) } else { (1, 0) };
        } else if falling != 0 {
            bit = falling.trailing_zeros();
            falling &= falling - 1;
            (left, above) = (1, 1);
        } else if rising != 0 {
            bit = rising.trailing_zeros();
            rising &= rising - 1;
            (left, above) = (u32::MAX, 1);
        } else {
            return;
        }
        let (mut x, mut y) = (x, y);
        if is_below {
            x += bit;
        } else {
            y += bit;
            // A rising pair's lower pixel is the left one.
            if left == u32::MAX {
                x -= 1;
            }
        }
        let lower = runs.node(x, y);
        union(parents, lower, runs.node(x.wrapping_sub(left), y - above));
    }
}

/// Points every tile's components at their roots. Leaves of `locals`, the first pixels of tiles' components, those of the
/// image's, and counts them.
///
/// # Safety
///
/// The arguments are those of [`tiles_label`](fn@tiles_label); [`tiles_merge`](fn@tiles_merge) has run; `in_chunk` has an element per word, `chunks`
/// one per chunk; nothing else uses them meanwhile; the launch has [`chunks`](super::super::number::chunks) blocks.
#[kernel(block = 256)]
pub unsafe fn tiles_flatten(
    parents: ViewMut<'_, u32>,
    locals: ViewMut<'_, u64>,
    in_chunk: ViewMut<'_, u16>,
    chunks: ViewMut<'_, u32>,
    grid: Grid,
) {
    let words = grid.words();
    let word = thread::index_1d();
    let mut roots = 0;
    if word < words {
        roots = locals.ld(word);
        let mut rest = roots;
        if rest != 0 {
            let y = quotient(word, grid.row_words);
            let first = y * grid.width + (word - y * grid.row_words) * 64;
            while rest != 0 {
                let pixel = first + rest.trailing_zeros();
                let bit = rest & rest.wrapping_neg();
                rest ^= bit;
                let root = find(parents, pixel);
                if root != pixel {
                    // No thread joins any more: whoever reads this element gets a parent or the root, both right.
                    // planted: flatten-plain-store
                    parents.st_relaxed(pixel, root, Device);
                    roots ^= bit;
                }
            }
            locals.st(word, roots);
        }
    }
    count_chunk(roots, word, words, Counts { in_chunk, chunks });
}

/// Writes the labels over the nodes.
///
/// A tile with many runs is written in bands of rows, so that the labels of a band's runs fit into shared memory.
///
/// # Safety
///
/// The arguments are those of [`tiles_flatten`](fn@tiles_flatten), which has run, as has the scan of `chunks`; `labels` is its `parents`,
/// and starts at a multiple of 16 bytes; nothing else uses it meanwhile; the launch has one block per tile.
#[kernel(block = 256, min_blocks = 6)]
pub unsafe fn tiles_write(
    image: View<'_, u64>,
    labels: ViewMut<'_, u32>,
    firsts: View<'_, u16>,
    offsets: View<'_, u16>,
    roots: View<'_, u64>,
    in_chunk: View<'_, u16>,
    chunks: View<'_, u32>,
    grid: Grid,
) {
    /// Halves of words in a row of a tile, and in a tile.
    const ROW_HALVES: u32 = 2 * COLUMNS;
    const HALVES: usize = 2 * BLOCK as usize;
    /// Rows of a band, where a tile is written in bands.
    const BAND: u32 = 16;
    /// The most runs of a band.
    const BAND_RUNS: u32 = BAND * WIDTH / 2;

    let bits = shared_array![u32; HALVES];
    let run_starts = shared_array![u32; HALVES];
    // For each half, the number of its first run.
    let run_offsets = shared_array![u32; HALVES + 1];
    let run_labels = shared_array![u32; BAND_RUNS as usize];

    let t = thread::thread_idx_x();
    let place = Place::mine(grid);
    let Place {
        tile,
        tile_x,
        tile_y,
        row,
        column,
        y,
        word_x,
        inside,
        word,
    } = place;
    // planted: write-return
    let here = if inside { image.ldg(word) } else { 0 };
    let left = if inside && column > 0 {
        image.ldg(word - 1)
    } else {
        0
    };
    let own_starts = starts(here, left);
    let offset = u32::from(offsets.ldg(tile * BLOCK + t));
    bits.st(2 * t, here as u32);
    bits.st(2 * t + 1, (here >> 32) as u32);
    run_starts.st(2 * t, own_starts as u32);
    run_starts.st(2 * t + 1, (own_starts >> 32) as u32);
    run_offsets.st(2 * t, offset);
    run_offsets.st(2 * t + 1, offset + (own_starts as u32).count_ones());
    if t == BLOCK - 1 {
        run_offsets.st(2 * BLOCK, offset + own_starts.count_ones());
    }
    thread::sync_threads();

    let numbers = Numbers {
        roots,
        in_chunk,
        chunks,
        width: grid.width,
        row_words: grid.row_words,
    };
    let tile_firsts = tile * grid.tile_runs;
    let tile_pixel = tile_y * ROWS * grid.width + tile_x * WIDTH;
    let total = run_offsets.ld(2 * BLOCK);
    // planted: write-band-runs
    let band = if total <= BAND_RUNS { ROWS } else { BAND };
    let mut top = 0;
    loop {
        let bottom = top + band;
        let band_start = run_offsets.ld(top * ROW_HALVES);
        let band_end = run_offsets.ld(bottom * ROW_HALVES);

        // The labels of the runs that start with a component's first pixel in the tile.
        if row >= top && row < bottom {
            let mut rest = own_starts;
            let mut run = offset;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let position = row * WIDTH + column * 64 + bit;
                if u32::from(firsts.ldg(tile_firsts + run)) == position {
                    // planted: write-read-only
                    let root = labels.ld(y * grid.width + word_x * 64 + bit);
                    run_labels.st(run - band_start, numbers.number(root));
                }
                run += 1;
            }
        }
        // planted: write-first-barrier
        thread::sync_threads();

        // Those of the other runs.
        let mut i = band_start + t;
        while i < band_end {
            let (first_row, first_column) = split(firsts.ldg(tile_firsts + i).into());
            // planted: write-band-edge
            if first_row < top {
                // Of a band above: its label is written already.
                let label = labels.ld(tile_pixel + first_row * grid.width + first_column);
                run_labels.st(i - band_start, label);
            } else {
                let half = first_row * ROW_HALVES + first_column / 32;
                let before = run_starts.ld(half) & low_bits(first_column % 32);
                let first = run_offsets.ld(half) + before.count_ones();
                if first != i {
                    run_labels.st(i - band_start, run_labels.ld(first - band_start));
                }
            }
            i += BLOCK;
        }
        // planted: write-label-barrier
        thread::sync_threads();

        // Every pixel's.
        // planted: write-last-rows
        let mut end = grid.height - tile_y * ROWS;
        if end > bottom {
            end = bottom;
        }
        // planted: write-vector
        if grid.width.is_multiple_of(4) {
            // Four pixels a thread: 512 bytes a warp.
            let x = t % 64 * 4;
            let shift = x % 32;
            if tile_x * WIDTH + x < grid.width {
                let mut row = top + t / 64;
                while row < end {
                    let half = row * ROW_HALVES + x / 32;
                    let four = bits.ld(half) >> shift & 15;
                    let mut value = [0; 4];
                    if four != 0 {
                        let starts = run_starts.ld(half);
                        // The run before these pixels; wraps around where there is none.
                        let mut run = (run_offsets.ld(half)
                            + (starts & low_bits(shift)).count_ones())
                        .wrapping_sub(band_start + 1);
                        let starts = starts >> shift;
                        for (value, i) in value.iter_mut().zip(0..) {
                            run = run.wrapping_add(starts >> i & 1);
                            if four >> i & 1 != 0 {
                                *value = run_labels.ld(run);
                            }
                        }
                    }
                    labels.st_vector(tile_pixel + row * grid.width + x, value);
                    row += 4;
                }
            }
        } else if tile_x * WIDTH + t < grid.width {
            let mut row = top;
            while row < end {
                let half = row * ROW_HALVES + t / 32;
                let mut value = 0;
                if bits.ld(half) >> (t % 32) & 1 != 0 {
                    let through = run_starts.ld(half) & (u32::MAX >> (31 - t % 32));
                    let run = run_offsets.ld(half) + through.count_ones() - 1;
                    value = run_labels.ld(run - band_start);
                }
                labels.st(tile_pixel + row * grid.width + t, value);
                row += 1;
            }
        }
        top = bottom;
        if top >= ROWS {
            break;
        }
        // The next band's labels replace this one's, and it reads labels written here.
        // planted: write-band-barrier
        thread::sync_threads();
    }
}

/// A mask of the `count` lowest bits; `count` is below 32.
#[inline(always)]
const fn low_bits(count: u32) -> u32 {
    (1 << count) - 1
}
