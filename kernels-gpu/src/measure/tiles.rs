//! Sums of each label's pixels within a tile, added to a [table](super::table).
//!
//! A lane goes down a column of the tile, and adds up each stretch of equal pixels as a whole. The
//! sums of a stretch have closed forms. Its block collects them in shared memory, in a hash table
//! of the labels of this tile, so that device memory gets one addition per tile and label. The few
//! labels that find no place there are added directly.
//!
//! All sums are of integers, so the order of additions does not matter.

use cuda_std::prelude::*;

use super::table::{LabelTable, Tally};
use crate::image::bits::ValueBits;
use crate::primitives::quotient;
use crate::primitives::rows::for_each_row;
use crate::trace::fragments::row_values::RowsOfValues;
use crate::trace::pixels::Raster;

/// Threads per block: one per column of the tile.
pub const BLOCK: u32 = 128;
/// Columns of a tile.
pub(super) const WIDTH: u32 = BLOCK;
/// Rows of a tile.
pub(super) const HEIGHT: u32 = 64;
/// Places of the block's table, a power of two.
pub(super) const PLACES: u32 = 256;
/// Places that are tried for a label.
const TRIES: u32 = 8;

/// Blocks for an image of `width × height` pixels.
#[must_use]
pub const fn blocks(width: u32, height: u32) -> u64 {
    width.div_ceil(WIDTH) as u64 * height.div_ceil(HEIGHT) as u64
}

/// The block's table. All sums within a tile fit 32 bits.
#[derive(Clone, Copy)]
pub(super) struct TileTable {
    /// The labels; 0 for a place that is free.
    pub(super) labels: SharedView<u32>,
    pub(super) areas: SharedView<u32>,
    pub(super) rows: SharedView<u32>,
    pub(super) columns: SharedView<u32>,
    /// The tile's height minus the first row.
    tops: SharedView<u32>,
    /// The tile's width minus the first column.
    lefts: SharedView<u32>,
    /// The column after the last.
    rights: SharedView<u32>,
    /// The row after the last.
    bottoms: SharedView<u32>,
}

/// Pixels of one label in a column of the tile.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    pub(super) x: u32,
    /// The first row, and the row after the last.
    pub(super) begin: u32,
    pub(super) end: u32,
}

impl Stretch {
    #[inline(always)]
    pub(super) const fn area(self) -> u32 {
        self.end - self.begin
    }

    /// The sum of the rows.
    #[inline(always)]
    pub(super) const fn rows(self) -> u32 {
        self.area() * (self.begin + self.end - 1) / 2
    }
}

impl TileTable {
    /// The block's table, uninitialised.
    #[inline(always)]
    pub(super) fn of_block() -> Self {
        Self {
            labels: shared_array![u32; PLACES as usize],
            areas: shared_array![u32; PLACES as usize],
            rows: shared_array![u32; PLACES as usize],
            columns: shared_array![u32; PLACES as usize],
            tops: shared_array![u32; PLACES as usize],
            lefts: shared_array![u32; PLACES as usize],
            rights: shared_array![u32; PLACES as usize],
            bottoms: shared_array![u32; PLACES as usize],
        }
    }

    /// Frees all places. All threads of the block call it, and wait for each other afterwards.
    #[inline(always)]
    pub(super) fn clear(self, t: u32) {
        let mut place = t;
        while place < PLACES {
            self.labels.st(place, 0);
            self.areas.st(place, 0);
            self.rows.st(place, 0);
            self.columns.st(place, 0);
            self.tops.st(place, 0);
            self.lefts.st(place, 0);
            self.rights.st(place, 0);
            self.bottoms.st(place, 0);
            place += BLOCK;
        }
    }

    /// The place of a label; none if those that it may have are taken.
    #[inline(always)]
    pub(super) fn place(self, label: u32) -> Option<u32> {
        // Fibonacci hashing.
        let mut place = label.wrapping_mul(0x9e37_79b9) >> (u32::BITS - PLACES.trailing_zeros());
        let mut tries = 0;
        while tries < TRIES {
            let found = self.labels.atomic_cas(place, 0, label);
            if found == 0 || found == label {
                return Some(place);
            }
            place = (place + 1) % PLACES;
            tries += 1;
        }
        None
    }

    /// Adds a stretch to the label in a place.
    #[inline(always)]
    pub(super) fn add(self, place: u32, stretch: Stretch) {
        let Stretch { x, begin, end } = stretch;
        // planted: measure-tile-add
        self.areas.atomic_add(place, stretch.area());
        self.rows.atomic_add(place, stretch.rows());
        self.columns.atomic_add(place, stretch.area() * x);
        self.tops.atomic_max(place, HEIGHT - begin);
        self.lefts.atomic_max(place, WIDTH - x);
        self.rights.atomic_max(place, x + 1);
        self.bottoms.atomic_max(place, end);
    }
}

/// A tile of the image, by its first pixel.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) left: u32,
    pub(super) top: u32,
}

impl Tile {
    /// This block's tile.
    #[inline(always)]
    pub(super) fn of_block(raster: Raster) -> Self {
        let across = raster.width.div_ceil(WIDTH);
        let tile_y = quotient(thread::block_idx_x(), across);
        Self {
            left: (thread::block_idx_x() - tile_y * across) * WIDTH,
            top: tile_y * HEIGHT,
        }
    }

    /// The rows that the image has of it.
    #[inline(always)]
    pub(super) fn height(self, raster: Raster) -> u32 {
        HEIGHT.min(raster.height.saturating_sub(self.top))
    }

    /// A stretch as the whole image has it.
    #[inline(always)]
    pub(super) fn tally(self, stretch: Stretch) -> Tally {
        let Stretch { x, begin, end } = stretch;
        let area = u64::from(stretch.area());
        Tally {
            area,
            rows: u64::from(stretch.rows()) + area * u64::from(self.top),
            columns: area * u64::from(self.left + x),
            top: self.top + begin,
            left: self.left + x,
            right: self.left + x + 1,
            bottom: self.top + end,
        }
    }

    /// The sums in a place of its table.
    #[inline(always)]
    pub(super) fn tally_of(self, table: TileTable, place: u32) -> Tally {
        let area = u64::from(table.areas.ld(place));
        Tally {
            area,
            rows: u64::from(table.rows.ld(place)) + area * u64::from(self.top),
            columns: u64::from(table.columns.ld(place)) + area * u64::from(self.left),
            top: self.top + HEIGHT - table.tops.ld(place),
            // planted: measure-tile-left
            left: self.left + WIDTH - table.lefts.ld(place),
            right: self.left + table.rights.ld(place),
            bottom: self.top + table.bottoms.ld(place),
        }
    }
}

/// Sums up the labels of a tile.
#[inline(always)]
fn sum_tile<T: ValueBits + Default>(
    values: RowsOfValues<'_, T>,
    mask: View<'_, u64>,
    raster: Raster,
    most: u64,
    table: LabelTable<'_>,
) {
    let t = thread::thread_idx_x();
    let own = TileTable::of_block();
    let tile = Tile::of_block(raster);
    own.clear(t);
    if table.is_given_up(raster, t) {
        return;
    }
    let x = tile.left + t;
    let height = tile.height(raster);
    if x < raster.width {
        let add = |label: u32, begin: u32, end: u32| {
            let stretch = Stretch { x: t, begin, end };
            match own.place(label) {
                Some(place) => own.add(place, stretch),
                None => table.add(label - 1, &tile.tally(stretch)),
            }
        };
        // The label of the stretch that goes on, 0 for none, and the value that it was read as.
        let (mut label, mut value, mut begin) = (0, 0, 0);
        // Rows below the image have the value 0.
        let load = |y: u32| values.at(x, tile.top + y);
        for_each_row(height, load, |loaded: T, y: u32| {
            let mut here = loaded.equal_bits();
            if !mask.is_empty() && y < height {
                let word = (tile.top + y) * raster.row_words + x / 64;
                // planted: measure-tile-mask
                if mask.ldg(word) >> (x % 64) & 1 == 0 {
                    here = 0;
                }
            }
            if here != value {
                if label != 0 {
                    // planted: measure-tile-stretch
                    add(label, begin, y);
                }
                value = here;
                begin = y;
                label = 0;
                if here <= most && here <= table.slots().into() {
                    label = here as u32;
                } else if here <= most {
                    table.note_beyond(here);
                }
            }
        });
        if label != 0 {
            add(label, begin, height);
        }
    }
    // planted: measure-tile-barrier
    thread::sync_threads();
    let mut place = t;
    while place < PLACES {
        let label = own.labels.ld(place);
        if label != 0 {
            table.add(label - 1, &tile.tally_of(own, place));
        }
        // planted: measure-tile-places
        place += BLOCK;
    }
}

/// Defines the kernel for a type of labels.
macro_rules! tiles_kernel {
    ($name:ident, $t:ty, $what:literal) => {
        #[doc = concat!("Adds the pixels of each tile to its labels' sums, for labels of ", $what)]
        /// bits. Labels are the values from 1 to `most`; the greatest without a slot is noted.
        /// Once that label has no slot in the largest table either, blocks that begin add nothing.
        ///
        /// Launch: [`blocks`] blocks. Reads each value once and 1 bit per pixel of a mask, and adds
        /// some 40 bytes per tile and label.
        ///
        /// # Safety
        ///
        /// `values` has an element for each pixel, rows `pitch` elements apart. `mask` has the
        /// words of a binary image of the same size, or none. Other threads may add to the table
        /// meanwhile, but not read it.
        #[kernel(block = BLOCK, min_blocks = 8, len(table = table.slots()))]
        pub unsafe fn $name(
            values: RowsOfValues<'_, $t>,
            mask: View<'_, u64>,
            raster: Raster,
            most: u64,
            table: LabelTable<'_>,
        ) {
            sum_tile(values, mask, raster, most, table);
        }
    };
}

tiles_kernel!(sum_tiles_of_u8, u8, "8");
tiles_kernel!(sum_tiles_of_u16, u16, "16");
tiles_kernel!(sum_tiles_of_u32, u32, "32");
tiles_kernel!(sum_tiles_of_u64, u64, "64");
