//! Measures of labels in a GPU's memory: columns made by [`tiles`], or from the runs of each label,
//! by [`hulls`], [`pieces`], [`portions`] and [`moments`].

mod column_runs;
mod columns;
mod hulls;
mod intensities;
mod moments;
mod pieces;
mod portions;
mod result;
mod runs;
mod tiles;

use cuda_std::warp::WARP_SIZE;
use trazar_kernels::trace::fragments::row_values::RowsOfValues;

use columns::table_without_rows;
pub use intensities::DeviceIntensities;
pub(in crate::measure) use intensities::DeviceIntensity;
use moments::{MomentKind, SumsForMoments};
use pieces::SumsOfPieces;
use portions::SumsOfPortions;
pub use result::{DeviceColumn, DeviceColumnValues, DeviceMeasures};
pub(crate) use runs::Sorted;

use super::intensities::{AnyIntensities, Intensity, with_intensities};
use super::labels::{Label, with_labels};
use super::strip::Needs;
use super::{MeasureOptions, Measures, Property, check};
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::image::gpu::{AnyValues, DeviceValues, Equality};

/// Measures labels on one GPU. Clones work on the same queue.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::measure::{DeviceMeasurer, MeasureOptions, Property};
/// use trazar::{DeviceValues, Samples, ValueImage};
///
/// // On an NVIDIA GPU: `trazar::cuda::Queue::open(&trazar::cuda::Device::open(0)?)?`.
/// let measurer = DeviceMeasurer::on(Emulator::new(0));
/// let labels = ValueImage::new(Samples::new(3, 2, &[7u8, 7, 0, 2, 7, 0])?)?;
/// let labels = DeviceValues::upload(measurer.gpu(), &labels)?;
/// let options = MeasureOptions::default().properties([Property::Label, Property::Area]);
/// let measures = measurer.measure(&labels, &options)?;
/// assert_eq!(measures.integers("label"), Some(&[2, 7][..]));
/// assert_eq!(measures.floats("area"), Some(&[1.0, 3.0][..]));
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceMeasurer<G: Gpu> {
    gpu: G,
}

impl<G: Gpu> DeviceMeasurer<G> {
    /// Measures on `gpu`.
    pub fn on(gpu: G) -> Self {
        Self { gpu }
    }

    /// The queue that it works on, with the kernels.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// Measures the labels of an image, as [`Engine::measure`](crate::Engine::measure) does: its
    /// positive values, but for those of background and of pixels that the mask leaves out.
    ///
    /// All numbers are those of the processor, bit for bit; NaN may have other bits.
    ///
    /// Labels, areas, boxes, centroids, equivalent diameters and extents take one pass over the
    /// pixels, and 40 bytes of the GPU's memory per label up to the greatest one, which may be as
    /// large as a quarter of the number of pixels. Axes, orientations, inertia tensors, perimeters,
    /// Euler numbers and intensities take up to 84 bytes per label more.
    ///
    /// All other properties, and all properties of greater labels, take some 50 bytes per run.
    /// Finding hulls also takes 24 bytes per row of the labels' boxes. Labels are processed in
    /// batches: the boxes of a batch together have at most as many rows as the image has runs,
    /// unless a single box has more. Finding holes takes 4 bytes per run, and both take up to 40
    /// bytes per label. Weighted and higher moments take 128 bytes per label and strip of some 2¹⁹
    /// pixels. Weighted centroids take 32 bytes, and intensities that are floating-point numbers or
    /// of 64 bits take 56. Exact sums, which central moments and the properties of greater labels
    /// follow from, take up to 240 bytes per label.
    ///
    /// # Errors
    /// Those of [`Engine::measure`](crate::Engine::measure);
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for 2³² pixels or more; `Error::Cuda`,
    /// [`Error::Emulator`](crate::Error::Emulator).
    pub fn measure<L: Label>(
        &self,
        labels: &DeviceValues<G, L>,
        options: &MeasureOptions,
    ) -> Result<Measures> {
        self.measure_on_device(labels, options)?.to_host()
    }

    /// As [`measure`](Self::measure), with the table in the GPU's memory.
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::measure::{DeviceMeasurer, MeasureOptions};
    /// use trazar::{DeviceValues, Samples, ValueImage};
    ///
    /// let measurer = DeviceMeasurer::on(Emulator::new(0));
    /// let labels = ValueImage::new(Samples::new(3, 1, &[4u8, 0, 4])?)?;
    /// let labels = DeviceValues::upload(measurer.gpu(), &labels)?;
    /// let table = measurer.measure_on_device(&labels, &MeasureOptions::default())?;
    /// let names: Vec<_> = table.columns().iter().map(|column| column.name()).collect();
    /// assert_eq!(names, ["label", "bbox-0", "bbox-1", "bbox-2", "bbox-3"]);
    /// assert_eq!(table.to_host()?.integers("bbox-3"), Some(&[3][..]));
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`measure`](Self::measure).
    pub fn measure_on_device<L: Label>(
        &self,
        labels: &DeviceValues<G, L>,
        options: &MeasureOptions,
    ) -> Result<DeviceMeasures<G>> {
        check_on_gpu(size_of(labels), None, options)?;
        // SAFETY: there are no intensities.
        unsafe { self.find_columns::<L, u8>(labels, None, options) }
    }

    /// As [`measure`](Self::measure), with an image of intensities of the same size.
    ///
    /// # Errors
    /// Those of [`measure`](Self::measure);
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) if the sizes differ.
    pub fn measure_intensities<L: Label, I: Intensity>(
        &self,
        labels: &DeviceValues<G, L>,
        intensities: &DeviceIntensities<G, I>,
        options: &MeasureOptions,
    ) -> Result<Measures> {
        self.measure_intensities_on_device(labels, intensities, options)?
            .to_host()
    }

    /// As [`measure_intensities`](Self::measure_intensities), with the table in the GPU's memory.
    ///
    /// # Errors
    /// Those of [`measure_intensities`](Self::measure_intensities).
    pub fn measure_intensities_on_device<L: Label, I: Intensity>(
        &self,
        labels: &DeviceValues<G, L>,
        intensities: &DeviceIntensities<G, I>,
        options: &MeasureOptions,
    ) -> Result<DeviceMeasures<G>> {
        check_on_gpu(size_of(labels), Some(intensities.size()), options)?;
        intensities.using(&self.gpu, |rows| {
            // SAFETY: the sizes have been compared, and the intensities have been acquired.
            unsafe { self.find_columns(labels, Some(rows), options) }
        })
    }

    /// Measures labels: by tiles, and by runs what tiles don't give.
    ///
    /// # Safety
    /// Intensities have the labels' size, and the queue has acquired them.
    unsafe fn find_columns<L: Label, I: Intensity>(
        &self,
        labels: &DeviceValues<G, L>,
        light: Option<RowsOfValues<'_, I>>,
        options: &MeasureOptions,
    ) -> Result<DeviceMeasures<G>> {
        let (gpu, all) = (&self.gpu, options.properties.as_slice());
        let (of_hulls, others) = split(all, |property| hulls::column_of(property).is_some());
        let size = [labels.width(), labels.height()];
        let in_tables = light.and_then(I::in_tables);
        let (mut by_tiles, mut by_runs) =
            split(&others, |property| tiles::gives(property, size, in_tables));
        if ByRuns::of::<I>(&by_runs).needs_pieces() && tiles::follow_from_boxes(&by_tiles) {
            // Sums of pieces come with areas and boxes.
            by_tiles.clear();
            by_runs.clone_from(&others);
        }
        let mut tables = Vec::new();
        if !by_tiles.is_empty() || all.is_empty() {
            let options = options.clone().properties(by_tiles);
            match tiles::measure(gpu, labels, in_tables, &options)? {
                Some(table) => tables.push(table),
                None => by_runs = others,
            }
        }
        if let [table, ..] = &tables[..]
            && by_runs.is_empty()
            && of_hulls.is_empty()
        {
            return Ok(joined(table.len, tables, all));
        }
        let Some((sorted, equality)) = &mut Sorted::of_rows(gpu, labels)? else {
            return table_without_rows(gpu, all);
        };
        if !of_hulls.is_empty() {
            tables.push(hulls::table(gpu, sorted, &of_hulls, options.spacing)?);
        }
        if !by_runs.is_empty() {
            let by_runs = ByRuns::of::<I>(&by_runs);
            // SAFETY: the caller's promise.
            tables.extend(unsafe {
                by_runs.tables::<G, L, I>(gpu, (sorted, equality), light, options)?
            });
        }
        // A table without columns has rows, too.
        Ok(joined(sorted.rows() as usize, tables, all))
    }
}

/// The properties for which a condition holds, and the others, both in their order.
fn split(
    properties: &[Property],
    condition: impl Fn(Property) -> bool,
) -> (Vec<Property>, Vec<Property>) {
    let all = properties.iter().copied();
    all.partition(|&property| condition(property))
}

/// Properties found from runs, grouped by the sums that they follow from.
struct ByRuns {
    of_portions: Vec<Property>,
    moments: Vec<Property>,
    of_pieces: Vec<Property>,
}

impl ByRuns {
    /// These properties, of intensities of type `I`.
    fn of<I: Intensity>(properties: &[Property]) -> Self {
        let (moments, others) = split(properties, |property| MomentKind::of(property).is_some());
        let (of_portions, of_pieces) = split(&others, |property| {
            portions::column_of(property, !I::HAS_SQUARES).is_some()
        });
        Self {
            of_portions,
            moments,
            of_pieces,
        }
    }

    /// Whether any moments need exact sums.
    fn has_exact_moments(&self) -> bool {
        let mut kinds = self.moments.iter().copied().filter_map(MomentKind::of);
        kinds.any(MomentKind::is_exact)
    }

    fn needs_pieces(&self) -> bool {
        !self.of_pieces.is_empty() || self.has_exact_moments()
    }

    /// Their tables.
    ///
    /// # Safety
    /// Intensities have the labels' size, and the queue has acquired them.
    unsafe fn tables<G: Gpu, L: Label, I: Intensity>(
        &self,
        gpu: &G,
        (sorted, equality): (&mut Sorted<G>, &Equality<G>),
        light: Option<RowsOfValues<'_, I>>,
        options: &MeasureOptions,
    ) -> Result<Vec<DeviceMeasures<G>>> {
        let spacing = options.spacing;
        let from_portions = [&self.of_portions[..], &self.moments].concat();
        let mut needs = Needs::of(self.of_pieces.iter().copied());
        needs.second |= self.has_exact_moments();
        let pieces = match self.needs_pieces() {
            // SAFETY: the caller's promise.
            true => unsafe { SumsOfPieces::find(gpu, (sorted, equality), light, needs)? },
            false => SumsOfPieces::none(gpu)?,
        };
        let mut tables = Vec::new();
        if !self.of_pieces.is_empty() {
            tables.push(pieces.table::<L>(gpu, sorted, &self.of_pieces, spacing)?);
        }
        if from_portions.is_empty() {
            return Ok(tables);
        }
        // SAFETY: the caller's promise.
        let portions = unsafe { SumsOfPortions::find(gpu, sorted, light, &from_portions)? };
        if !self.of_portions.is_empty() {
            tables.push(portions.table(gpu, sorted, &self.of_portions, spacing)?);
        }
        if !self.moments.is_empty() {
            let sums = SumsForMoments {
                portions: &portions,
                pieces: &pieces,
            };
            tables.push(sums.table(gpu, sorted, &self.moments, spacing)?);
        }
        Ok(tables)
    }
}

/// Width and height in pixels.
fn size_of<G: Gpu, L: Label>(labels: &DeviceValues<G, L>) -> [usize; 2] {
    [labels.width(), labels.height()].map(|side| side as usize)
}

/// The blocks of a kernel whose warps take one of `count` each.
const fn warp_blocks(count: u32, block: u32) -> u32 {
    count.div_ceil(block / WARP_SIZE)
}

/// As [`check`], and refuses more pixels than kernels number.
fn check_on_gpu(
    size: [usize; 2],
    intensities: Option<[usize; 2]>,
    options: &MeasureOptions,
) -> Result<()> {
    check(size, intensities, options)?;
    // Sides are below 2³¹.
    let [width, height] = size.map(|side| side as u64);
    if width * height > u32::MAX.into() {
        return Err(Error::ImageTooLarge {
            width,
            height,
            limit: "on a GPU, labels are measured in images of fewer than 2³² pixels; measure on \
                    the CPU",
        });
    }
    Ok(())
}

/// The columns of tables of `len` rows, in the order of the properties; those of a property stay in
/// their order.
fn joined<G: Gpu>(
    len: usize,
    tables: Vec<DeviceMeasures<G>>,
    properties: &[Property],
) -> DeviceMeasures<G> {
    let mut columns: Vec<_> = tables.into_iter().flat_map(|table| table.columns).collect();
    columns.sort_by_key(|column| {
        let mut order = properties.iter();
        order.position(|&other| other == column.property)
    });
    DeviceMeasures { len, columns }
}

/// Measures labels in the host's memory, with the intensities there.
pub(crate) fn measure_host<G: Gpu>(
    gpu: &G,
    labels: AnyValues<'_, '_>,
    intensities: Option<AnyIntensities<'_>>,
    options: &MeasureOptions,
) -> Result<Measures> {
    let measurer = DeviceMeasurer::on(gpu.clone());
    with_labels!(labels, labels => {
        // Before it is copied.
        let size = [labels.width() as usize, labels.height() as usize];
        let intensity_size = intensities.map(AnyIntensities::size);
        check_on_gpu(size, intensity_size, options)?;
        let labels = DeviceValues::upload(gpu, labels)?;
        match intensities {
            None => measurer.measure(&labels, options),
            Some(intensities) => with_intensities!(intensities, samples => {
                let image = DeviceIntensities::upload(gpu, samples)?;
                measurer.measure_intensities(&labels, &image, options)
            }),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_pixels_than_kernels_number_are_refused() {
        let options = MeasureOptions::default();
        // 2³² - 1 pixels, and 2³².
        assert!(check_on_gpu([65_535, 65_537], None, &options).is_ok());
        let refused = check_on_gpu([65_536, 65_536], None, &options);
        assert!(matches!(
            refused.err(),
            Some(Error::ImageTooLarge {
                width: 65_536,
                height: 65_536,
                ..
            })
        ));
    }
}
