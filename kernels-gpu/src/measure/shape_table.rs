//! Sums beside those of a [`LabelTable`], slot by slot, and the columns made of both: axes,
//! orientations, perimeters, Euler numbers, intensities.

use cuda_std::math::sqrt;
use cuda_std::prelude::*;

use super::ellipse::{CenteredSums, Spread, rounded};
use super::intensities::{floor_quotient, variance};
use super::lengths;
#[cfg(not(target_arch = "nvptx64"))]
use super::sums::wanted;
#[cfg(not(target_arch = "nvptx64"))]
use super::table::ColumnSizes;
use super::table::{LabelTable, TableShape};
use super::tiles::Tile;

/// Threads per block.
const BLOCK: u32 = 256;

/// A number of slots, and the [sums](super::sums::wanted) that they have.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeSizes {
    /// The number of slots.
    pub slots: u32,
    /// The bits of the sums.
    pub wanted: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl ShapeSizes {
    /// Elements of an array.
    const fn of(self, bit: u32) -> u32 {
        if self.wanted & bit != 0 {
            self.slots
        } else {
            0
        }
    }
}

/// What is summed up of each label besides a [`LabelTable`]. Arrays of other sums than the wanted
/// ones are empty.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(ShapeSizes, buffers = ShapeTableBuffers)]
pub struct ShapeTable<'a> {
    /// Sums of squared rows.
    #[len(sizes.of(wanted::SECOND), zeroed)]
    pub rr: ViewMut<'a, u64>,
    /// Sums of rows times columns.
    #[len(sizes.of(wanted::SECOND), zeroed)]
    pub rc: ViewMut<'a, u64>,
    /// Sums of squared columns.
    #[len(sizes.of(wanted::SECOND), zeroed)]
    pub cc: ViewMut<'a, u64>,
    /// Runs.
    #[len(sizes.of(wanted::PAIRS), zeroed)]
    pub runs: ViewMut<'a, u32>,
    /// Pairs of a pixel and the one below.
    #[len(sizes.of(wanted::PAIRS), zeroed)]
    pub below: ViewMut<'a, u32>,
    /// Pairs of a pixel and one below it to the right or to the left.
    #[len(sizes.of(wanted::PAIRS), zeroed)]
    pub slanted: ViewMut<'a, u32>,
    /// Squares of 2 × 2 pixels.
    #[len(sizes.of(wanted::PAIRS), zeroed)]
    pub squares: ViewMut<'a, u32>,
    /// Squares in which only the two pixels of a diagonal have the label.
    #[len(sizes.of(wanted::PAIRS), zeroed)]
    pub diagonals: ViewMut<'a, u32>,
    /// Border pixels that add 1 to the perimeter.
    #[len(sizes.of(wanted::OUTLINE), zeroed)]
    pub straight: ViewMut<'a, u32>,
    /// Those that add √2.
    #[len(sizes.of(wanted::OUTLINE), zeroed)]
    pub oblique: ViewMut<'a, u32>,
    /// Those that add the mean of both.
    #[len(sizes.of(wanted::OUTLINE), zeroed)]
    pub mixed: ViewMut<'a, u32>,
    /// Sums of intensities, each plus the magnitude of its type's least number.
    #[len(sizes.of(wanted::INTENSITIES), zeroed)]
    pub intensities: ViewMut<'a, u64>,
    /// `u32::MAX` minus the least of these numbers.
    #[len(sizes.of(wanted::INTENSITIES), zeroed)]
    pub least: ViewMut<'a, u32>,
    /// The greatest of them.
    #[len(sizes.of(wanted::INTENSITIES), zeroed)]
    pub greatest: ViewMut<'a, u32>,
    /// Sums of squared intensities.
    #[len(sizes.of(wanted::SQUARES), zeroed)]
    pub intensity_squares: ViewMut<'a, u64>,
}

/// Numbers of a label's runs and of its pairs and squares of neighbouring pixels: see
/// [`ShapeTable`].
#[derive(Clone, Copy)]
pub(super) struct PairCounts {
    pub(super) runs: u64,
    pub(super) below: u64,
    pub(super) slanted: u64,
    pub(super) squares: u64,
    pub(super) diagonals: u64,
}

/// The sums of a label's pixels that columns follow from, computed when they are asked for.
pub(super) trait ShapeSums {
    /// Pixels.
    fn pixels(&self) -> u64;
    /// Sums of coordinates from the centroid on.
    fn centered(&self) -> CenteredSums;
    /// Border pixels that add 1 to the perimeter, √2, and the mean of both.
    fn outline(&self) -> [u64; 3];
    /// Runs, and pairs and squares of neighbours.
    fn pairs(&self) -> PairCounts;
    /// The least intensity and the greatest.
    fn extremes(&self) -> [i64; 2];
    /// The sum of intensities.
    fn intensities(&self) -> i128;
    /// The sum of squared intensities.
    fn intensity_squares(&self) -> i128;
}

/// Sums of squared rows, of rows times columns, and of squared columns.
#[derive(Clone, Copy)]
pub(super) struct SecondTally {
    rr: u64,
    rc: u64,
    cc: u64,
}

impl SecondTally {
    /// Those of the whole image, of pixels of a tile of which these are the area, the sums of rows
    /// and of columns, and the sums of products, counted from the tile's first pixel.
    #[inline(always)]
    pub(super) fn of(tile: Tile, [area, rows, columns]: [u32; 3], [rr, rc, cc]: [u32; 3]) -> Self {
        let (top, left) = (u64::from(tile.top), u64::from(tile.left));
        let (area, rows, columns) = (u64::from(area), u64::from(rows), u64::from(columns));
        Self {
            // planted: measure-shape-move
            rr: u64::from(rr) + top * (2 * rows + area * top),
            rc: u64::from(rc) + top * (columns + area * left) + left * rows,
            cc: u64::from(cc) + left * (2 * columns + area * left),
        }
    }
}

/// The sums of the intensities of some pixels.
#[derive(Clone, Copy)]
pub(super) struct IntensityTally {
    /// Of numbers plus the magnitude of their type's least one.
    pub(super) sum: u64,
    /// Of squared numbers.
    pub(super) squares: u64,
    /// The least and the greatest of the same numbers as in `sum`.
    pub(super) least: u32,
    pub(super) greatest: u32,
}

impl IntensityTally {
    /// No pixels.
    pub(super) const NONE: Self = Self {
        sum: 0,
        squares: 0,
        least: u32::MAX,
        greatest: 0,
    };

    /// Adds a pixel's number, plus the magnitude `sign` of its type's least one. For squares,
    /// numbers have at most 16 bits.
    #[inline(always)]
    pub(super) fn add(&mut self, lifted: u32, sign: u32, with_squares: bool) {
        self.sum += u64::from(lifted);
        if with_squares {
            let magnitude = lifted.abs_diff(sign);
            self.squares += u64::from(magnitude) * u64::from(magnitude);
        }
        self.least = self.least.min(lifted);
        self.greatest = self.greatest.max(lifted);
    }
}

impl ShapeTable<'_> {
    /// Adds sums to a slot, if they are wanted.
    #[inline(always)]
    pub(super) fn add_second(&self, slot: u32, sums: &SecondTally) {
        if !self.rr.is_empty() {
            // planted: measure-shape-add
            self.rr.atomic_add(slot, sums.rr);
            self.rc.atomic_add(slot, sums.rc);
            self.cc.atomic_add(slot, sums.cc);
        }
    }

    /// Adds numbers to a slot, those that are wanted: runs, pairs below, slanted pairs, squares,
    /// diagonals; straight, oblique and mixed border pixels.
    #[inline(always)]
    pub(super) fn add_counts(&self, slot: u32, counts: [u32; super::shapes::COUNTS as usize]) {
        if !self.runs.is_empty() {
            self.runs.atomic_add(slot, counts[0]);
            self.below.atomic_add(slot, counts[1]);
            self.slanted.atomic_add(slot, counts[2]);
            self.squares.atomic_add(slot, counts[3]);
            self.diagonals.atomic_add(slot, counts[4]);
        }
        if !self.straight.is_empty() {
            self.straight.atomic_add(slot, counts[5]);
            self.oblique.atomic_add(slot, counts[6]);
            self.mixed.atomic_add(slot, counts[7]);
        }
    }

    /// Adds sums of intensities to a slot.
    #[inline(always)]
    pub(super) fn add_intensities(&self, slot: u32, tally: &IntensityTally) {
        self.intensities.atomic_add(slot, tally.sum);
        self.least.atomic_max(slot, u32::MAX - tally.least);
        self.greatest.atomic_max(slot, tally.greatest);
        if !self.intensity_squares.is_empty() {
            self.intensity_squares.atomic_add(slot, tally.squares);
        }
    }
}

/// The sums in a slot.
#[derive(Clone, Copy)]
struct SlotSums<'a> {
    table: LabelTable<'a>,
    shapes: ShapeTable<'a>,
    slot: u32,
    /// The bit of the intensities' sign, or 0.
    sign: u32,
}

impl ShapeSums for SlotSums<'_> {
    #[inline(always)]
    fn pixels(&self) -> u64 {
        self.table.areas.ld(self.slot)
    }

    #[inline(always)]
    fn centered(&self) -> CenteredSums {
        let (table, shapes, slot) = (self.table, self.shapes, self.slot);
        let pixels = table.areas.ld(slot);
        let (rows, columns) = (table.rows.ld(slot), table.columns.ld(slot));
        // No label of a table has no pixels.
        let center = |sum: u64| sum.checked_div(pixels).unwrap_or_default();
        let (y, x) = (center(rows), center(columns));
        let (rr, rc, cc) = (shapes.rr.ld(slot), shapes.rc.ld(slot), shapes.cc.ld(slot));
        // Sums of an image fit 64 bits, and so do those around a pixel of it.
        let square = |products: u64, sum: u64, at: u64| {
            let moved = products
                .wrapping_sub(at.wrapping_mul(sum).wrapping_mul(2))
                .wrapping_add(pixels.wrapping_mul(at).wrapping_mul(at));
            i128::from(moved)
        };
        let both = rc
            .wrapping_sub(y.wrapping_mul(columns))
            .wrapping_sub(x.wrapping_mul(rows))
            .wrapping_add(pixels.wrapping_mul(y).wrapping_mul(x));
        CenteredSums {
            pixels,
            r: i128::from(rows - pixels * y),
            c: i128::from(columns - pixels * x),
            rr: square(rr, rows, y),
            // planted: measure-shape-sign
            rc: i128::from(both.cast_signed()),
            cc: square(cc, columns, x),
        }
    }

    #[inline(always)]
    fn outline(&self) -> [u64; 3] {
        let Self { shapes, slot, .. } = *self;
        [shapes.straight, shapes.oblique, shapes.mixed].map(|counts| counts.ld(slot).into())
    }

    #[inline(always)]
    fn pairs(&self) -> PairCounts {
        let Self { shapes, slot, .. } = *self;
        PairCounts {
            runs: shapes.runs.ld(slot).into(),
            below: shapes.below.ld(slot).into(),
            slanted: shapes.slanted.ld(slot).into(),
            squares: shapes.squares.ld(slot).into(),
            diagonals: shapes.diagonals.ld(slot).into(),
        }
    }

    #[inline(always)]
    fn extremes(&self) -> [i64; 2] {
        let lifted = [
            u32::MAX - self.shapes.least.ld(self.slot),
            self.shapes.greatest.ld(self.slot),
        ];
        lifted.map(|number| i64::from(number) - i64::from(self.sign))
    }

    #[inline(always)]
    fn intensities(&self) -> i128 {
        // Fewer than 2³¹ numbers of 32 bits: their sum fits 63 bits.
        let lifted = self.shapes.intensities.ld(self.slot).cast_signed();
        (lifted - self.pixels().cast_signed() * i64::from(self.sign)).into()
    }

    #[inline(always)]
    fn intensity_squares(&self) -> i128 {
        self.shapes.intensity_squares.ld(self.slot).into()
    }
}

/// Bits that say which columns are wanted.
pub mod shape_column {
    /// The inertia tensor: four columns.
    pub const INERTIA: u32 = 1;
    /// Its eigenvalues: two columns.
    pub const EIGENVALUES: u32 = 2;
    /// The length of the longer axis.
    pub const AXIS_MAJOR: u32 = 4;
    /// The length of the shorter axis.
    pub const AXIS_MINOR: u32 = 8;
    /// The eccentricity.
    pub const ECCENTRICITY: u32 = 16;
    /// The orientation.
    pub const ORIENTATION: u32 = 32;
    /// The perimeter.
    pub const PERIMETER: u32 = 64;
    /// The perimeter by Crofton's formula.
    pub const CROFTON: u32 = 128;
    /// The Euler number where pixels are connected at their corners too.
    pub const EULER_8: u32 = 256;
    /// The Euler number where they are connected at their sides.
    pub const EULER_4: u32 = 512;
    /// The least intensity.
    pub const INTENSITY_MIN: u32 = 1024;
    /// The greatest intensity.
    pub const INTENSITY_MAX: u32 = 2048;
    /// The mean of the intensities.
    pub const INTENSITY_MEAN: u32 = 4096;
    /// Their standard deviation.
    pub const INTENSITY_STD: u32 = 8192;

    /// The columns that follow from a label's ellipse.
    pub const OF_ELLIPSE: u32 =
        INERTIA | EIGENVALUES | AXIS_MAJOR | AXIS_MINOR | ECCENTRICITY | ORIENTATION;
    /// The columns that follow from pairs of neighbours.
    pub const OF_PAIRS: u32 = CROFTON | EULER_8 | EULER_4;
    /// The columns of intensities.
    pub const OF_INTENSITIES: u32 = INTENSITY_MIN | INTENSITY_MAX | INTENSITY_MEAN | INTENSITY_STD;
}

/// Columns with a row per label. Those that are not wanted are empty.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(ColumnSizes, buffers = ShapeColumnBuffers)]
pub struct ShapeColumns<'a> {
    /// The inertia tensor's first entry.
    #[len(sizes.of(shape_column::INERTIA))]
    pub inertia_00: ViewMut<'a, f64>,
    /// The entry to its right.
    #[len(sizes.of(shape_column::INERTIA))]
    pub inertia_01: ViewMut<'a, f64>,
    /// The entry below the first, the same number.
    #[len(sizes.of(shape_column::INERTIA))]
    pub inertia_10: ViewMut<'a, f64>,
    /// The last entry.
    #[len(sizes.of(shape_column::INERTIA))]
    pub inertia_11: ViewMut<'a, f64>,
    /// The greater eigenvalue.
    #[len(sizes.of(shape_column::EIGENVALUES))]
    pub greater: ViewMut<'a, f64>,
    /// The lesser eigenvalue.
    #[len(sizes.of(shape_column::EIGENVALUES))]
    pub lesser: ViewMut<'a, f64>,
    /// The length of the longer axis.
    #[len(sizes.of(shape_column::AXIS_MAJOR))]
    pub axis_major: ViewMut<'a, f64>,
    /// The length of the shorter axis.
    #[len(sizes.of(shape_column::AXIS_MINOR))]
    pub axis_minor: ViewMut<'a, f64>,
    /// The eccentricity.
    #[len(sizes.of(shape_column::ECCENTRICITY))]
    pub eccentricity: ViewMut<'a, f64>,
    /// The orientation.
    #[len(sizes.of(shape_column::ORIENTATION))]
    pub orientation: ViewMut<'a, f64>,
    /// The perimeter.
    #[len(sizes.of(shape_column::PERIMETER))]
    pub perimeter: ViewMut<'a, f64>,
    /// The perimeter by Crofton's formula.
    #[len(sizes.of(shape_column::CROFTON))]
    pub crofton: ViewMut<'a, f64>,
    /// The Euler number, pixels connected at corners too.
    #[len(sizes.of(shape_column::EULER_8))]
    pub euler_8: ViewMut<'a, i64>,
    /// The Euler number, pixels connected at sides.
    #[len(sizes.of(shape_column::EULER_4))]
    pub euler_4: ViewMut<'a, i64>,
    /// The least intensity.
    #[len(sizes.of(shape_column::INTENSITY_MIN))]
    pub intensity_min: ViewMut<'a, f64>,
    /// The greatest intensity.
    #[len(sizes.of(shape_column::INTENSITY_MAX))]
    pub intensity_max: ViewMut<'a, f64>,
    /// The mean of the intensities.
    #[len(sizes.of(shape_column::INTENSITY_MEAN))]
    pub intensity_mean: ViewMut<'a, f64>,
    /// Their standard deviation.
    #[len(sizes.of(shape_column::INTENSITY_STD))]
    pub intensity_std: ViewMut<'a, f64>,
}

impl ShapeColumns<'_> {
    /// Writes the wanted columns of a row.
    #[inline(always)]
    pub(super) fn write(&self, row: u32, sums: &impl ShapeSums, wanted: u32, spacing: [f64; 2]) {
        if wanted & shape_column::OF_ELLIPSE != 0 {
            self.write_ellipse(row, &sums.centered(), wanted, spacing);
        }
        if wanted & shape_column::PERIMETER != 0 {
            let length = lengths::perimeter(sums.outline()) * spacing[0];
            self.perimeter.st(row, length);
        }
        if wanted & shape_column::OF_PAIRS != 0 {
            self.write_pairs(row, sums.pixels(), &sums.pairs(), wanted, spacing);
        }
        if wanted & (shape_column::INTENSITY_MIN | shape_column::INTENSITY_MAX) != 0 {
            let [least, greatest] = sums.extremes();
            if wanted & shape_column::INTENSITY_MIN != 0 {
                self.intensity_min.st(row, least as f64);
            }
            if wanted & shape_column::INTENSITY_MAX != 0 {
                self.intensity_max.st(row, greatest as f64);
            }
        }
        if wanted & (shape_column::INTENSITY_MEAN | shape_column::INTENSITY_STD) != 0 {
            let (pixels, sum) = (sums.pixels(), sums.intensities());
            if wanted & shape_column::INTENSITY_MEAN != 0 {
                self.intensity_mean.st(row, rounded(sum) / pixels as f64);
            }
            if wanted & shape_column::INTENSITY_STD != 0 {
                let center = floor_quotient(sum, pixels).into();
                let of_all = variance(pixels.into(), sum, sums.intensity_squares(), center);
                self.intensity_std.st(row, sqrt(of_all));
            }
        }
    }

    /// Writes the wanted columns of a row that follow from the label's pairs of neighbours.
    #[inline(always)]
    fn write_pairs(
        &self,
        row: u32,
        pixels: u64,
        pairs: &PairCounts,
        wanted: u32,
        spacing: [f64; 2],
    ) {
        if wanted & shape_column::CROFTON != 0 {
            let straight = pairs.runs + (pixels - pairs.below);
            let oblique = 2 * pixels - pairs.slanted;
            let length = lengths::crofton(straight, oblique) * spacing[0];
            self.crofton.st(row, length);
        }
        let [runs, below, squares, diagonals] =
            [pairs.runs, pairs.below, pairs.squares, pairs.diagonals].map(u64::cast_signed);
        // planted: measure-shape-euler
        let sides = runs - below + squares;
        if wanted & shape_column::EULER_4 != 0 {
            self.euler_4.st(row, sides);
        }
        if wanted & shape_column::EULER_8 != 0 {
            self.euler_8.st(row, sides - diagonals);
        }
    }

    /// Writes the wanted columns of a row that follow from the label's ellipse.
    #[inline(always)]
    fn write_ellipse(&self, row: u32, sums: &CenteredSums, wanted: u32, spacing: [f64; 2]) {
        let ellipse = Spread::of(sums).ellipse(spacing);
        if wanted & shape_column::INERTIA != 0 {
            self.inertia_00.st(row, ellipse.a);
            self.inertia_01.st(row, ellipse.b);
            self.inertia_10.st(row, ellipse.b);
            self.inertia_11.st(row, ellipse.c);
        }
        if wanted & shape_column::EIGENVALUES != 0 {
            self.greater.st(row, ellipse.major);
            self.lesser.st(row, ellipse.minor);
        }
        if wanted & shape_column::AXIS_MAJOR != 0 {
            self.axis_major.st(row, ellipse.axis_major_length());
        }
        if wanted & shape_column::AXIS_MINOR != 0 {
            self.axis_minor.st(row, ellipse.axis_minor_length());
        }
        if wanted & shape_column::ECCENTRICITY != 0 {
            self.eccentricity.st(row, ellipse.eccentricity());
        }
        if wanted & shape_column::ORIENTATION != 0 {
            self.orientation.st(row, ellipse.orientation());
        }
    }
}

/// Writes the wanted columns, whose sums the tables have. Numbers are those that the processor
/// computes from the same sums. `sums` are the bits of the sums that the table has, and `sign` is
/// that of [`Intensities`](super::shapes::Intensities).
///
/// Launch: one thread per slot. Reads 4 bytes per slot and some 100 per label, and writes 8 per
/// label and column.
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
        shapes = ShapeSizes { slots: table.slots(), wanted: sums },
        before = table.slots(),
        columns = ColumnSizes { rows: shape.labels as u32, wanted },
    ),
)]
pub unsafe fn write_shape_columns(
    table: LabelTable<'_>,
    shapes: ShapeTable<'_>,
    before: View<'_, u32>,
    shape: TableShape,
    sums: u32,
    sign: u32,
    wanted: u32,
    columns: ShapeColumns<'_>,
) {
    // For the lengths above only.
    let _ = sums;
    let slot = thread::index_1d();
    if slot >= table.slots() {
        return;
    }
    let Some(row) = table.row_of(slot, before, &shape) else {
        return;
    };
    let sums = SlotSums {
        table,
        shapes,
        slot,
        sign,
    };
    columns.write(row, &sums, wanted, shape.spacing);
}
