//! The runs of each label in each strip of the processor, their rounded sums in a GPU's memory, and
//! columns that follow from these.

use cuda_std::ViewMut;
use trazar_kernels::measure::portion_columns::{
    self, PortionColumnBuffers, PortionSums, column, write_portion_columns,
};
use trazar_kernels::measure::portions::{self, Portions, count_portions, list_portions};
use trazar_kernels::measure::powers::{POWERS, sum_count, sum_powers};
use trazar_kernels::trace::fragments::row_values::RowsOfValues;

use super::DeviceColumnValues::Floats;
use super::columns::{columns_of, points, table_of};
use super::intensities::SummedOver;
use super::moments::MomentKind;
use super::result::DeviceMeasures;
use super::runs::Sorted;
use super::warp_blocks;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first};
use crate::measure::intensities::Kind;
use crate::measure::strip::Needs;
use crate::measure::{Intensity, Property, rows_per_strip};

/// The column of a property that follows from portions; none for the others. Sums of intensities
/// are those of portions if they are rounded.
pub(super) const fn column_of(property: Property, are_rounded: bool) -> Option<u32> {
    Some(match property {
        Property::IntensityMin if are_rounded => column::INTENSITY_MIN,
        Property::IntensityMax if are_rounded => column::INTENSITY_MAX,
        Property::IntensityMean if are_rounded => column::INTENSITY_MEAN,
        Property::IntensityStd if are_rounded => column::INTENSITY_STD,
        Property::CentroidWeighted => column::CENTROID,
        Property::CentroidWeightedLocal => column::LOCAL_CENTROID,
        _ => return None,
    })
}

/// The runs of each label in each strip, and their sums. What is not needed is empty.
pub(super) struct SumsOfPortions<G: Gpu> {
    /// Where each portion begins in the order of runs.
    begins: G::Buffer<u32>,
    /// The place of each one's first pixel.
    origins: G::Buffer<u64>,
    is_one_strip: bool,
    /// Sums of coordinates.
    pub(super) powers: G::Buffer<f64>,
    /// The same, weighted by intensities.
    pub(super) weighted: G::Buffer<f64>,
    weighted_powers: u32,
    /// Rounded sums of intensities.
    intensities: G::Buffer<u64>,
    /// Whether intensities are integers.
    is_whole: bool,
    /// The first column of each label's box.
    pub(super) first_columns: G::Buffer<u32>,
}

impl<G: Gpu> SumsOfPortions<G> {
    /// The sums of portions that these properties need. If they need sums of intensities, `I` is a
    /// type whose sums are rounded.
    ///
    /// # Safety
    /// Intensities have the labels' size, and the queue has acquired them.
    pub(super) unsafe fn find<I: Intensity>(
        gpu: &G,
        sorted: &mut Sorted<G>,
        light: Option<RowsOfValues<'_, I>>,
        properties: &[Property],
    ) -> Result<Self> {
        let on = &gpu.launcher();
        let needs = Needs::of(properties.iter().copied());
        let rows_per_strip = rows_per_strip(sorted.width as usize);
        let (begins, origins) = find_portions(gpu, sorted, rows_per_strip)?;
        let weighted_powers = weighted_powers(properties);
        let over = SummedOver {
            runs: sorted.view(),
            portions: begins.view(),
            powers: weighted_powers,
            with_deviations: needs.deviations,
        };
        let intensities = match light.filter(|_| needs.intensities) {
            // SAFETY: the caller's promise; the portions are those of the runs.
            Some(rows) => unsafe { I::sum_intensities(gpu, rows, over)? },
            None => gpu.alloc(0)?,
        };
        let count = begins.len();
        let powers = sums(gpu, needs.powers, count, POWERS, |blocks, sums| {
            // SAFETY: there is room for the sums of each portion.
            unsafe { sum_powers::launch(on, blocks, over.runs, over.portions, sums) }
        })?;
        let sum_weighted = |blocks: u32, sums: ViewMut<'_, f64>| match light {
            // SAFETY: the caller's promise; there is room for the sums of each portion.
            Some(rows) => unsafe { I::sum_weighted(on, blocks, rows, over, sums) },
            None => Ok(()),
        };
        let weighted = sums(gpu, needs.weighted, count, weighted_powers, sum_weighted)?;
        let first_columns = match properties.iter().any(|&property| is_in_box(property)) {
            true => sorted.first_columns(gpu)?,
            false => gpu.alloc(0)?,
        };
        Ok(Self {
            begins,
            origins,
            is_one_strip: sorted.height as usize <= rows_per_strip,
            powers,
            weighted,
            weighted_powers,
            intensities,
            is_whole: Kind::of::<I>().is_whole,
            first_columns,
        })
    }

    /// The portions, for kernels to read.
    pub(super) fn view(&self) -> Portions<'_> {
        Portions {
            begins: self.begins.view(),
            origins: self.origins.view(),
            is_one_strip: self.is_one_strip.into(),
        }
    }

    /// The table of these properties, all of which [follow](column_of) from portions. There are the
    /// sums that they need.
    pub(super) fn table(
        &self,
        gpu: &G,
        sorted: &mut Sorted<G>,
        properties: &[Property],
        spacing: [f64; 2],
    ) -> Result<DeviceMeasures<G>> {
        let sizes =
            sorted.column_sizes(columns_of(properties, |property| column_of(property, true)));
        let mut columns = PortionColumnBuffers::alloc(&OnGpu(gpu.clone()), &sizes)?;
        let sums = PortionSums {
            wanted: sizes.wanted,
            labels: sorted.groups.values,
            is_whole: self.is_whole.into(),
            powers: self.weighted_powers,
            portions: self.view(),
            reals: self.intensities.view(),
            weighted: self.weighted.view(),
            first_columns: self.first_columns.view(),
        };
        let shape = sorted.shape(spacing);
        // SAFETY: the portions are those of the runs, and there is a row for each label that is not
        // background. The launch is refused if sums are missing.
        unsafe {
            write_portion_columns::launch_threads(
                &gpu.launcher(),
                sizes.rows,
                sorted.view(),
                sums,
                shape,
                columns.views(),
            )?;
        }
        let columns = vec![
            (Property::IntensityMin, vec![Floats(columns.min)]),
            (Property::IntensityMax, vec![Floats(columns.max)]),
            (Property::IntensityMean, vec![Floats(columns.mean)]),
            (Property::IntensityStd, vec![Floats(columns.std)]),
            (Property::CentroidWeighted, points(columns.centroid)),
            (
                Property::CentroidWeightedLocal,
                points(columns.local_centroid),
            ),
        ];
        Ok(table_of(columns, sizes.rows as usize, properties))
    }
}

/// Where each label's runs in each strip of `rows` rows begin in the order, and their first pixels.
fn find_portions<G: Gpu>(
    gpu: &G,
    sorted: &mut Sorted<G>,
    rows: usize,
) -> Result<(G::Buffer<u32>, G::Buffer<u64>)> {
    // Images have fewer rows than that.
    let rows = u32::try_from(rows).unwrap_or(u32::MAX);
    let (on, len, runs) = (&gpu.launcher(), sorted.len, sorted.view());
    let mut before = gpu.alloc(len as usize)?;
    // SAFETY: there is an element per run.
    unsafe { count_portions::launch_threads(on, len, runs, rows, before.view_mut())? };
    let mut scanner = Scanner::new(gpu, len)?;
    scanner.scan_in_place(&mut before)?;
    let count = read_first(scanner.total())? as usize;
    let (mut begins, mut origins) = (gpu.alloc(count)?, gpu.alloc(count)?);
    let (to_begins, to_origins) = (begins.view_mut(), origins.view_mut());
    // SAFETY: there is room for all portions.
    unsafe {
        list_portions::launch_threads(on, len, runs, rows, before.view(), to_begins, to_origins)?;
    }
    Ok((begins, origins))
}

/// The sums of `weight · rowⁱ · columnʲ` of `count` portions for i and j below `powers`, if they
/// are wanted. `launch` launches the kernel, in this number of blocks.
fn sums<G: Gpu>(
    gpu: &G,
    wanted: bool,
    count: usize,
    powers: u32,
    launch: impl FnOnce(u32, ViewMut<'_, f64>) -> Result<()>,
) -> Result<G::Buffer<f64>> {
    if !wanted {
        return gpu.alloc(0);
    }
    let mut sums = gpu.alloc(count * sum_count(powers) as usize)?;
    // There are fewer portions than pixels.
    let blocks = warp_blocks(count as u32, portions::SUM_BLOCK);
    launch(blocks, sums.view_mut())?;
    Ok(sums)
}

/// Whether a property needs the boxes of labels besides the sums of portions.
const fn is_in_box(property: Property) -> bool {
    matches!(
        property,
        Property::CentroidWeighted
            | Property::CentroidWeightedLocal
            | Property::Moments
            | Property::MomentsWeighted
    )
}

/// The powers of coordinates, from 0 up, that weighted sums need: centroids need two.
fn weighted_powers(properties: &[Property]) -> u32 {
    let mut all = properties.iter();
    if all.any(|&property| MomentKind::of(property).is_some_and(|of_kind| of_kind.is_weighted)) {
        POWERS
    } else {
        portion_columns::POWERS
    }
}
