//! Exact sums of the runs of each label, and the columns that follow from them.

use trazar_kernels::measure::piece_columns::{WantedOfPieces, write_piece_columns};
use trazar_kernels::measure::piece_sums::{PieceSizes, PieceSums};
use trazar_kernels::measure::sums::{self, sum_pieces, wanted};
use trazar_kernels::trace::fragments::row_values::RowsOfValues;

use super::columns::{ColumnBits, ExactColumns};
use super::intensities::SummedOver;
use super::result::DeviceMeasures;
use super::runs::Sorted;
use super::warp_blocks;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::gpu::Equality;
use crate::measure::strip::Needs;
use crate::measure::{Intensity, Label, Property};

/// The bits of the exact sums that are needed.
pub(super) const fn sums_of(needs: Needs) -> u32 {
    let mut bits = 0;
    if needs.second {
        bits |= wanted::SECOND;
    }
    if needs.pairs {
        bits |= wanted::PAIRS;
    }
    if needs.outline {
        bits |= wanted::OUTLINE;
    }
    if needs.intensities {
        bits |= wanted::INTENSITIES;
    }
    bits
}

/// The sums of all pieces.
pub(super) struct SumsOfPieces<G: Gpu> {
    /// The bits of the sums.
    pub(super) bits: u32,
    pixels: G::Buffer<u64>,
    /// Empty if they are not needed.
    intensities: G::Buffer<u64>,
}

impl<G: Gpu> SumsOfPieces<G> {
    /// No sums.
    pub(super) fn none(gpu: &G) -> Result<Self> {
        Ok(Self {
            bits: 0,
            pixels: gpu.alloc(0)?,
            intensities: gpu.alloc(0)?,
        })
    }

    /// The sums that are needed. If those of intensities are, `I` is a type whose sums are exact.
    ///
    /// # Safety
    /// Intensities have the labels' size, and the queue has acquired them.
    pub(super) unsafe fn find<I: Intensity>(
        gpu: &G,
        (sorted, equality): (&mut Sorted<G>, &Equality<G>),
        light: Option<RowsOfValues<'_, I>>,
        needs: Needs,
    ) -> Result<Self> {
        let bits = sums_of(needs);
        let (planes, runs) = (equality.view(), sorted.view());
        let sizes = PieceSizes::of(runs, bits);
        let mut pixels = gpu.alloc(sizes.words() as usize)?;
        let blocks = warp_blocks(sizes.pieces, sums::BLOCK);
        // SAFETY: the runs are those of the planes, and there is room for the sums of each piece.
        unsafe {
            sum_pieces::launch(
                &gpu.launcher(),
                blocks,
                planes,
                runs,
                bits,
                pixels.view_mut(),
            )?;
        }
        let intensities = match light.filter(|_| needs.intensities) {
            // SAFETY: the caller's promise.
            Some(rows) => unsafe { I::sum_intensities(gpu, rows, SummedOver::pieces(runs))? },
            None => gpu.alloc(0)?,
        };
        Ok(Self {
            bits,
            pixels,
            intensities,
        })
    }

    /// The sums, for kernels to read.
    pub(super) fn view(&self) -> PieceSums<'_> {
        PieceSums {
            pixels: self.pixels.view(),
            intensities: self.intensities.view(),
        }
    }

    /// The table of these properties, which [follow](ColumnBits) from exact sums, all of which
    /// there are.
    pub(super) fn table<L: Label>(
        &self,
        gpu: &G,
        sorted: &mut Sorted<G>,
        properties: &[Property],
        spacing: [f64; 2],
    ) -> Result<DeviceMeasures<G>> {
        let rows = sorted.rows();
        let bits = ColumnBits::of(properties);
        let mut all = ExactColumns::alloc(gpu, rows, bits)?;
        let wanted = WantedOfPieces {
            sums: self.bits,
            columns: bits.columns,
            shape_columns: bits.shape_columns,
        };
        let shape = sorted.shape(spacing);
        // SAFETY: the pieces are those of the runs, and there is a row for each label that is not
        // background. The launch is refused if the pieces lack sums.
        unsafe {
            write_piece_columns::launch_threads(
                &gpu.launcher(),
                rows,
                sorted.view(),
                self.view(),
                wanted,
                shape,
                L::SIGN,
                all.columns.views(),
                all.shapes.views(),
            )?;
        }
        Ok(all.table(rows as usize, properties))
    }
}
