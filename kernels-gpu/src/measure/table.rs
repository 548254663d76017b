//! A table with a slot per label value: sums over all tiles, and the columns made of them.
//!
//! Slot `i` is that of label `i + 1`, so labels are in order without being sorted, and most slots
//! are taken where labels are numbered 1, 2, … as is usual. A slot without pixels is no label.

use cuda_std::math::sqrt;
use cuda_std::prelude::*;

use crate::trace::pixels::Raster;

/// Threads per block.
const BLOCK: u32 = 256;

/// The fewest slots of a table.
const FEWEST_SLOTS: u64 = 256;
/// Pixels per slot of the largest table: with 40 bytes per slot, and up to 124 for all sums, it
/// takes less memory than lists of runs do.
const LEAST_PIXELS: u64 = 4;

/// The number of slots of an image's table: one per `pixels_per_slot` pixels, and at least 256.
#[must_use]
#[inline(always)]
pub const fn slots(pixels: u64, pixels_per_slot: u64) -> u32 {
    let slots = pixels / pixels_per_slot;
    (if slots < FEWEST_SLOTS {
        FEWEST_SLOTS
    } else {
        slots
    }) as u32
}

/// The number of slots of the largest table that an image may have.
#[must_use]
#[inline(always)]
pub const fn most_slots(pixels: u64) -> u32 {
    slots(pixels, LEAST_PIXELS)
}

/// What is summed up of each label. The sizes are the number of slots.
///
/// All arrays begin with zeros, so that one way to clear memory suits sums and extremes: of what
/// has a least value, the table keeps its distance from a value above all.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(u32, buffers = LabelTableBuffers)]
pub struct LabelTable<'a> {
    /// Numbers of pixels.
    #[len(*sizes, zeroed)]
    pub areas: ViewMut<'a, u64>,
    /// Sums of rows.
    #[len(*sizes, zeroed)]
    pub rows: ViewMut<'a, u64>,
    /// Sums of columns.
    #[len(*sizes, zeroed)]
    pub columns: ViewMut<'a, u64>,
    /// `u32::MAX` minus the first row.
    #[len(*sizes, zeroed)]
    pub tops: ViewMut<'a, u32>,
    /// `u32::MAX` minus the first column.
    #[len(*sizes, zeroed)]
    pub lefts: ViewMut<'a, u32>,
    /// The columns after the last.
    #[len(*sizes, zeroed)]
    pub rights: ViewMut<'a, u32>,
    /// The rows after the last.
    #[len(*sizes, zeroed)]
    pub bottoms: ViewMut<'a, u32>,
    /// The greatest label that has no slot, or 0: one element.
    #[len(1, zeroed)]
    pub beyond: ViewMut<'a, u64>,
}

/// The sums of some pixels of a label.
#[derive(Clone, Copy)]
pub(super) struct Tally {
    pub(super) area: u64,
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) top: u32,
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) bottom: u32,
}

impl LabelTable<'_> {
    /// The number of slots.
    #[inline(always)]
    pub(super) const fn slots(&self) -> u32 {
        self.areas.len() as u32
    }

    /// The row of a slot's label in the columns, given the number of labels in the slots before
    /// each; none if the slot is no label's.
    #[inline(always)]
    pub(super) fn row_of(
        &self,
        slot: u32,
        before: View<'_, u32>,
        shape: &TableShape,
    ) -> Option<u32> {
        let row = before.ldg(slot);
        // The next slot's number is greater by one if this one is a label's.
        let next = if slot + 1 < self.slots() {
            before.ldg(slot + 1)
        } else {
            shape.labels as u32
        };
        if next == row { None } else { Some(row) }
    }

    /// Notes a label that has no slot.
    #[inline(always)]
    pub(super) fn note_beyond(&self, label: u64) {
        // Most such labels are less than one already noted. The load spares them the atomic
        // operation.
        // planted: measure-beyond
        if self.beyond.ld_relaxed(0, Device) < label {
            self.beyond.atomic_max(0, label);
        }
    }

    /// Whether a label has been noted for which the largest table of this image has no slot. All
    /// threads of the block call it with their numbers, and wait for each other.
    #[inline(always)]
    pub(super) fn is_given_up(&self, raster: Raster, t: u32) -> bool {
        let pixels = u64::from(raster.width) * u64::from(raster.height);
        let most = u64::from(most_slots(pixels));
        // planted: measure-given-up
        let is_beyond = t == 0 && self.beyond.ld_relaxed(0, Device) > most;
        // planted: measure-given-up-by-all
        thread::sync_threads_or(is_beyond)
    }

    /// Adds pixels to a slot.
    #[inline(always)]
    pub(super) fn add(&self, slot: u32, tally: &Tally) {
        // planted: measure-table-add
        self.areas.atomic_add(slot, tally.area);
        self.rows.atomic_add(slot, tally.rows);
        self.columns.atomic_add(slot, tally.columns);
        self.tops.atomic_max(slot, u32::MAX - tally.top);
        self.lefts.atomic_max(slot, u32::MAX - tally.left);
        self.rights.atomic_max(slot, tally.right);
        self.bottoms.atomic_max(slot, tally.bottom);
    }
}

/// Writes 1 for each slot that is a label's, and 0 for the others: those without pixels, and those
/// of `background`.
///
/// Launch: one thread per slot. Reads 8 bytes per slot, and writes 4.
///
/// # Safety
///
/// `is_label` has an element per slot, and nothing else uses it meanwhile.
#[kernel(block = BLOCK, len(table = table.slots(), is_label = table.slots()))]
pub unsafe fn find_labels(
    table: LabelTable<'_>,
    background: View<'_, u64>,
    is_label: ViewMut<'_, u32>,
) {
    let slot = thread::index_1d();
    if slot >= table.slots() {
        return;
    }
    let mut is = table.areas.ld(slot) > 0;
    let mut i = 0;
    // planted: measure-table-background
    while i < background.len() {
        is &= background.ldg(i) != u64::from(slot) + 1;
        i += 1;
    }
    is_label.st(slot, is.into());
}

/// Bits that say which columns are wanted.
pub mod column {
    /// The label.
    pub const LABEL: u32 = 1;
    /// The number of pixels.
    pub const PIXELS: u32 = 2;
    /// The box: four columns.
    pub const BOX: u32 = 4;
    /// The area.
    pub const AREA: u32 = 8;
    /// The area of the box.
    pub const BOX_AREA: u32 = 16;
    /// The centroid: two columns.
    pub const CENTROID: u32 = 32;
    /// The centroid within the box: two columns.
    pub const LOCAL_CENTROID: u32 = 64;
    /// The diameter of the circle of the same area.
    pub const DIAMETER: u32 = 128;
    /// The share of the box that the label's pixels fill.
    pub const EXTENT: u32 = 256;
}

/// A number of rows, and the columns that have them: those of [`Columns`], for instance.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSizes {
    /// The number of labels.
    pub rows: u32,
    /// The bits of the columns.
    pub wanted: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl ColumnSizes {
    /// Elements of a column.
    pub(super) const fn of(self, bit: u32) -> u32 {
        if self.wanted & bit != 0 { self.rows } else { 0 }
    }
}

/// The two columns of points. The sizes are the number of labels, or 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(u32, buffers = PointBuffers)]
pub struct Points<'a> {
    /// Rows of the image.
    #[len(*sizes)]
    pub rows: ViewMut<'a, f64>,
    /// Columns of the image.
    #[len(*sizes)]
    pub columns: ViewMut<'a, f64>,
}

impl Points<'_> {
    /// Writes the point that is `local` from the pixel at `corner`, in a row of the table.
    #[inline(always)]
    pub(super) fn write(&self, row: u32, corner: [u32; 2], local: [f64; 2], shape: &TableShape) {
        let [dy, dx] = shape.spacing;
        self.rows.st(row, (local[0] + f64::from(corner[0])) * dy);
        self.columns.st(row, (local[1] + f64::from(corner[1])) * dx);
    }
}

/// Columns with a row per label. Those that are not wanted are empty.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(ColumnSizes, buffers = ColumnBuffers)]
pub struct Columns<'a> {
    /// The label.
    #[len(sizes.of(column::LABEL))]
    pub label: ViewMut<'a, i64>,
    /// The number of pixels.
    #[len(sizes.of(column::PIXELS))]
    pub pixels: ViewMut<'a, i64>,
    /// The first row.
    #[len(sizes.of(column::BOX))]
    pub top: ViewMut<'a, i64>,
    /// The first column.
    #[len(sizes.of(column::BOX))]
    pub left: ViewMut<'a, i64>,
    /// The row after the last.
    #[len(sizes.of(column::BOX))]
    pub bottom: ViewMut<'a, i64>,
    /// The column after the last.
    #[len(sizes.of(column::BOX))]
    pub right: ViewMut<'a, i64>,
    /// The area.
    #[len(sizes.of(column::AREA))]
    pub area: ViewMut<'a, f64>,
    /// The area of the box.
    #[len(sizes.of(column::BOX_AREA))]
    pub box_area: ViewMut<'a, f64>,
    /// The centroid.
    #[len(sizes.of(column::CENTROID))]
    pub centroid: Points<'a>,
    /// The same, from the box's first pixel on.
    #[len(sizes.of(column::LOCAL_CENTROID))]
    pub local_centroid: Points<'a>,
    /// The diameter of the circle of the same area.
    #[len(sizes.of(column::DIAMETER))]
    pub diameter: ViewMut<'a, f64>,
    /// The share of the box that is filled.
    #[len(sizes.of(column::EXTENT))]
    pub extent: ViewMut<'a, f64>,
}

/// What columns depend on besides the sums.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod)]
pub struct TableShape {
    /// The distance between rows of pixels, and that between columns of pixels.
    pub spacing: [f64; 2],
    /// The number of labels.
    pub labels: u64,
}

impl TableShape {
    /// The number of the label in a row of the table. The first ones of `labels` labels are
    /// background, and have no rows.
    #[inline(always)]
    pub(super) fn label_of(self, row: u32, labels: u32) -> Option<u32> {
        if u64::from(row) >= self.labels {
            return None;
        }
        // planted: measure-table-row
        Some(labels - self.labels as u32 + row)
    }

    /// The area of a number of pixels.
    #[inline(always)]
    pub(super) fn area(self, pixels: u64) -> f64 {
        let [dy, dx] = self.spacing;
        pixels as f64 * (dy * dx)
    }
}

/// A label's box, its number of pixels, and the sums of their coordinates.
#[derive(Clone, Copy)]
pub(super) struct BoxSums {
    pub(super) pixels: u64,
    /// The sum of rows, from the box's first one on, as the processor computes centroids.
    pub(super) rows: u64,
    /// The sum of columns, from the box's first one on.
    pub(super) columns: u64,
    /// The box: its first row and column, and those after the last.
    pub(super) top: u32,
    pub(super) left: u32,
    pub(super) bottom: u32,
    pub(super) right: u32,
}

impl Columns<'_> {
    /// Writes the wanted columns of a row.
    #[inline(always)]
    pub(super) fn write(
        &self,
        row: u32,
        label: i64,
        sums: &BoxSums,
        wanted: u32,
        shape: &TableShape,
    ) {
        let BoxSums {
            pixels,
            top,
            left,
            bottom,
            right,
            ..
        } = *sums;
        if wanted & column::LABEL != 0 {
            self.label.st(row, label);
        }
        if wanted & column::PIXELS != 0 {
            self.pixels.st(row, pixels.cast_signed());
        }
        if wanted & column::BOX != 0 {
            self.top.st(row, top.into());
            self.left.st(row, left.into());
            self.bottom.st(row, bottom.into());
            self.right.st(row, right.into());
        }
        let area = shape.area(pixels);
        let box_area = shape.area(u64::from(bottom - top) * u64::from(right - left));
        if wanted & column::AREA != 0 {
            self.area.st(row, area);
        }
        if wanted & column::BOX_AREA != 0 {
            self.box_area.st(row, box_area);
        }
        let centroid = [sums.rows, sums.columns].map(|sum| sum as f64 / pixels as f64);
        if wanted & column::CENTROID != 0 {
            self.centroid.write(row, [top, left], centroid, shape);
        }
        if wanted & column::LOCAL_CENTROID != 0 {
            self.local_centroid.write(row, [0; 2], centroid, shape);
        }
        if wanted & column::DIAMETER != 0 {
            self.diameter
                .st(row, sqrt(4.0 * area / core::f64::consts::PI));
        }
        if wanted & column::EXTENT != 0 {
            self.extent.st(row, area / box_area);
        }
    }
}

/// Writes the wanted columns. Numbers are those that the processor computes from the same sums.
///
/// Launch: one thread per slot. Reads 44 bytes per slot, and writes 8 per label and column.
///
/// # Safety
///
/// `before` has the number of labels in the slots before each one, and `shape.labels` is that of
/// all labels. Nothing else uses `columns` meanwhile.
#[kernel(
    block = BLOCK,
    f64,
    len(
        table = table.slots(),
        before = table.slots(),
        columns = ColumnSizes { rows: shape.labels as u32, wanted },
    ),
)]
pub unsafe fn write_columns(
    table: LabelTable<'_>,
    before: View<'_, u32>,
    shape: TableShape,
    wanted: u32,
    columns: Columns<'_>,
) {
    let slot = thread::index_1d();
    if slot >= table.slots() {
        return;
    }
    let Some(row) = table.row_of(slot, before, &shape) else {
        return;
    };
    let pixels = table.areas.ld(slot);
    let top = u32::MAX - table.tops.ld(slot);
    let left = u32::MAX - table.lefts.ld(slot);
    let sums = BoxSums {
        pixels,
        // A sum is at most the product of the numbers of pixels and of rows or columns, and its
        // half in a whole image: below 2⁶⁴.
        // planted: measure-table-origin
        rows: table.rows.ld(slot) - pixels * u64::from(top),
        columns: table.columns.ld(slot) - pixels * u64::from(left),
        top,
        left,
        bottom: table.bottoms.ld(slot),
        right: table.rights.ld(slot),
    };
    columns.write(row, i64::from(slot) + 1, &sums, wanted, &shape);
}
