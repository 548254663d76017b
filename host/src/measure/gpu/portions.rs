//! The runs of each label in each strip of the processor, their sums in a GPU's memory, and columns
//! that follow from these.

use cuda_std::ViewMut;
use trazar_kernels::measure::portion_columns::{
    self, PortionColumnBuffers, PortionSums, column, find_first_columns, write_portion_columns,
};
use trazar_kernels::measure::portions::{self, count_portions, list_portions};
use trazar_kernels::measure::powers::{POWERS, sum_count, sum_powers};
use trazar_kernels::measure::table::{ColumnSizes, TableShape};
use trazar_kernels::trace::fragments::row_values::RowsOfValues;

use super::intensities::SummedOver;
use super::runs::Sorted;
use super::{DeviceColumnValues, DeviceMeasures, columns_of, table_in_order, warp_blocks};
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first};
use crate::measure::intensities::Kind;
use crate::measure::records::Portions;
use crate::measure::{Intensity, MeasureOptions, Property, check_options, rows_per_strip};

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

/// The runs of each label in each strip, and their sums.
pub(super) struct SumsOfPortions<G: Gpu> {
    /// Where each portion begins in the order of runs.
    begins: G::Buffer<u32>,
    /// The place of each one's first pixel.
    origins: G::Buffer<u64>,
    /// Sums of coordinates; empty if they are not needed.
    powers: G::Buffer<f64>,
    /// The same, weighted by intensities.
    weighted: G::Buffer<f64>,
    weighted_powers: u32,
    /// Sums of intensities, of portions if they are rounded, else of pieces.
    pub(super) intensities: G::Buffer<u64>,
    is_one_strip: bool,
}

impl<G: Gpu> SumsOfPortions<G> {
    /// The sums of portions that the properties need, if they need any, and those of intensities.
    ///
    /// # Safety
    /// Intensities have the labels' size, and the queue has acquired them.
    pub(super) unsafe fn find<I: Intensity>(
        gpu: &G,
        sorted: &mut Sorted<G>,
        light: Option<RowsOfValues<'_, I>>,
        options: &MeasureOptions,
    ) -> Result<Self> {
        let on = &gpu.launcher();
        let needs = check_options(options, light.is_some())?;
        let rows_per_strip = rows_per_strip(sorted.width as usize);
        let has_reals = needs.intensities && !I::HAS_SQUARES;
        let (begins, origins) = match has_reals || needs.powers || needs.weighted {
            true => find_portions(gpu, sorted, rows_per_strip)?,
            false => (gpu.alloc(0)?, gpu.alloc(0)?),
        };
        let weighted_powers = weighted_powers(options.properties.as_slice());
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
        Ok(Self {
            begins,
            origins,
            powers,
            weighted,
            weighted_powers,
            intensities,
            is_one_strip: sorted.height as usize <= rows_per_strip,
        })
    }

    /// The portions and their sums in the host's memory, without those of intensities.
    pub(super) fn to_host(&self) -> Result<Portions> {
        Ok(Portions {
            begins: self.begins.to_vec()?,
            origins: self.origins.to_vec()?,
            powers: self.powers.to_vec()?,
            weighted: self.weighted.to_vec()?,
            weighted_powers: self.weighted_powers as usize,
            is_one_strip: self.is_one_strip,
        })
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

/// The powers of coordinates, from 0 up, that weighted sums need: centroids need two.
fn weighted_powers(properties: &[Property]) -> u32 {
    let is_of_moments = |property: &Property| {
        matches!(
            property,
            Property::MomentsWeighted
                | Property::MomentsWeightedCentral
                | Property::MomentsWeightedNormalized
                | Property::MomentsWeightedHu
        )
    };
    if properties.iter().any(is_of_moments) {
        POWERS
    } else {
        portion_columns::POWERS
    }
}

/// The table of these properties, all of which [follow](column_of) from portions. `sorted` is `None`
/// if there are no runs.
///
/// # Safety
/// Intensities have the labels' size, and the queue has acquired them.
pub(super) unsafe fn measure<G: Gpu, I: Intensity>(
    gpu: &G,
    sorted: Option<&mut Sorted<G>>,
    light: Option<RowsOfValues<'_, I>>,
    options: &MeasureOptions,
) -> Result<DeviceMeasures<G>> {
    let properties = options.properties.as_slice();
    let sizes = ColumnSizes {
        rows: sorted.as_ref().map_or(0, |sorted| sorted.rows()),
        wanted: columns_of(properties, |property| column_of(property, !I::HAS_SQUARES)),
    };
    let columns = match sorted {
        Some(sorted) => {
            // SAFETY: the caller's promise.
            let sums = unsafe { SumsOfPortions::find(gpu, sorted, light, options)? };
            let is_whole = Kind::of::<I>().is_whole;
            sums.write_columns(gpu, sorted, is_whole, sizes, options.spacing)?
        }
        None => PortionColumnBuffers::alloc(&OnGpu(gpu.clone()), &sizes)?,
    };
    use DeviceColumnValues::Floats;
    let columns = vec![
        (Property::IntensityMin, vec![Floats(columns.min)]),
        (Property::IntensityMax, vec![Floats(columns.max)]),
        (Property::IntensityMean, vec![Floats(columns.mean)]),
        (Property::IntensityStd, vec![Floats(columns.std)]),
        (
            Property::CentroidWeighted,
            vec![
                Floats(columns.centroid_row),
                Floats(columns.centroid_column),
            ],
        ),
        (
            Property::CentroidWeightedLocal,
            vec![Floats(columns.local_row), Floats(columns.local_column)],
        ),
    ];
    table_in_order(columns, sizes.rows as usize, properties)
}

impl<G: Gpu> SumsOfPortions<G> {
    /// The wanted columns of the last labels; the others are background.
    fn write_columns(
        &self,
        gpu: &G,
        sorted: &mut Sorted<G>,
        is_whole: bool,
        sizes: ColumnSizes,
        spacing: [f64; 2],
    ) -> Result<PortionColumnBuffers<OnGpu<G>>> {
        let (on, len) = (&gpu.launcher(), sorted.len);
        let (labels, runs) = (sorted.groups.values, sorted.view());
        let has_weights = sizes.wanted & column::OF_WEIGHTS != 0;
        let mut first_columns = gpu.alloc(if has_weights { labels as usize } else { 0 })?;
        let mut columns = PortionColumnBuffers::alloc(&OnGpu(gpu.clone()), &sizes)?;
        let shape = TableShape {
            spacing,
            labels: sizes.rows.into(),
        };
        if has_weights {
            first_columns.fill(u32::MAX)?;
            // SAFETY: there is an element per label.
            unsafe {
                find_first_columns::launch_threads(on, len, runs, first_columns.view_mut())?;
            }
        }
        let sums = PortionSums {
            wanted: sizes.wanted,
            labels,
            is_whole: is_whole.into(),
            is_one_strip: self.is_one_strip.into(),
            begins: self.begins.view(),
            origins: self.origins.view(),
            reals: self.intensities.view(),
            weighted: self.weighted.view(),
            first_columns: first_columns.view(),
        };
        // SAFETY: the portions are those of the runs, with the sums that the wanted columns need;
        // there is a row for each label that is not background.
        unsafe {
            write_portion_columns::launch_threads(
                on,
                sizes.rows,
                runs,
                sums,
                shape,
                columns.views(),
            )?;
        }
        Ok(columns)
    }
}
