//! Measures of labels in a GPU's memory. Most become columns there, by [`tiles`]. For higher and
//! weighted moments, hulls, holes, intensities that are floating-point numbers or of 64 bits, and
//! labels that are large numbers, kernels sum up the runs of each label, and what follows from the
//! sums is computed by the processor, by the code for its own sums.

mod intensities;
mod result;
mod tiles;

use cuda_std::ViewMut;
use cuda_std::warp::WARP_SIZE;
use trazar_kernels::measure::pieces::{SortedRuns, pieces};
use trazar_kernels::measure::portions::{self, count_portions, list_portions};
use trazar_kernels::measure::powers::{POWERS, sum_count, sum_powers};
use trazar_kernels::measure::runs::{RunsBuffers, count_value_runs, list_value_runs};
use trazar_kernels::measure::sums;
use trazar_kernels::trace::borders::count;
use trazar_kernels::trace::fragments::row_values::RowsOfValues;
use trazar_kernels::trace::values::group_borders;

pub use intensities::DeviceIntensities;
pub(in crate::measure) use intensities::DeviceIntensity;
use intensities::SummedOver;
pub use result::{DeviceColumn, DeviceColumnValues, DeviceMeasures};

use super::intensities::{AnyIntensities, Intensity, Kind, with_intensities};
use super::labels::{Label, with_labels};
use super::records::{Portions, Records, wanted};
use super::strip::Sums;
use super::sums::Span;
use super::{MeasureOptions, Measures, Property, check, check_options, rows_per_strip, table_of};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first};
use crate::image::gpu::{AnyValues, DeviceValues, Equality};
use crate::memory::{reserve, zeroed_vec};
use crate::trace::gpu::Groups;

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
    /// Higher moments, hulls and holes, and greater labels, take some 50 bytes per run; runs are
    /// copied to the processor for hulls and holes, which it finds. Weighted moments, and
    /// intensities that are floating-point numbers or of 64 bits, take as many bytes per run.
    /// Weighted and higher moments take 128 bytes more per label and strip, which has some 2¹⁹
    /// pixels; weighted centroids take 32, and these intensities 56.
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
        self.find(labels, options)?.on_host(options)
    }

    /// As [`measure`](Self::measure), with the table in the GPU's memory. What the processor
    /// computes is copied there.
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
        self.find(labels, options)?.on_device(&self.gpu, options)
    }

    /// Measures labels without intensities.
    fn find<L: Label>(
        &self,
        labels: &DeviceValues<G, L>,
        options: &MeasureOptions,
    ) -> Result<Found<G>> {
        check_on_gpu(size_of(labels), None, options)?;
        // SAFETY: there are no intensities.
        unsafe { self.find_both::<L, u8>(labels, None, options) }
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
        self.find_intensities(labels, intensities, options)?
            .on_host(options)
    }

    /// As [`measure_intensities`](Self::measure_intensities), with the table in the GPU's memory.
    /// What the processor computes is copied there.
    ///
    /// # Errors
    /// Those of [`measure_intensities`](Self::measure_intensities).
    pub fn measure_intensities_on_device<L: Label, I: Intensity>(
        &self,
        labels: &DeviceValues<G, L>,
        intensities: &DeviceIntensities<G, I>,
        options: &MeasureOptions,
    ) -> Result<DeviceMeasures<G>> {
        self.find_intensities(labels, intensities, options)?
            .on_device(&self.gpu, options)
    }

    /// Measures labels with intensities.
    fn find_intensities<L: Label, I: Intensity>(
        &self,
        labels: &DeviceValues<G, L>,
        intensities: &DeviceIntensities<G, I>,
        options: &MeasureOptions,
    ) -> Result<Found<G>> {
        check_on_gpu(size_of(labels), Some(intensities.size()), options)?;
        intensities.using(&self.gpu, |rows| {
            // SAFETY: the sizes have been compared, and the intensities have been acquired.
            unsafe { self.find_both(labels, Some(rows), options) }
        })
    }

    /// Measures labels: by tiles, and by runs what tiles don't give.
    ///
    /// # Safety
    /// Intensities have the labels' size, and the queue has acquired them.
    unsafe fn find_both<L: Label, I: Intensity>(
        &self,
        labels: &DeviceValues<G, L>,
        light: Option<RowsOfValues<'_, I>>,
        options: &MeasureOptions,
    ) -> Result<Found<G>> {
        let all = options.properties.as_slice();
        let size = [labels.width(), labels.height()];
        let in_tables = light.and_then(I::in_tables);
        let (by_tiles, mut by_runs) = tiles::split(all, size, in_tables);
        let mut table = None;
        if !by_tiles.is_empty() || by_runs.is_empty() {
            let options = options.clone().properties(by_tiles);
            table = tiles::measure(&self.gpu, labels, in_tables, &options)?;
            if table.is_none() {
                by_runs = all.to_vec();
            }
        }
        let mut on_host = None;
        if table.is_none() || !by_runs.is_empty() {
            let options = options.clone().properties(by_runs);
            // SAFETY: the caller's promise.
            let sums = unsafe { self.sum_up(labels, light, &options)? };
            on_host = Some(table_of(&sums, &options, Kind::of::<I>())?);
        }
        Ok(Found {
            on_device: table,
            on_host,
        })
    }

    /// The sums that the properties need, of all labels in ascending order.
    ///
    /// # Safety
    /// Intensities have the labels' size, and the queue has acquired them.
    unsafe fn sum_up<L: Label, I: Intensity>(
        &self,
        labels: &DeviceValues<G, L>,
        light: Option<RowsOfValues<'_, I>>,
        options: &MeasureOptions,
    ) -> Result<Sums> {
        let needs = check_options(options, light.is_some())?;
        let gpu = &self.gpu;
        let equality = labels.equality(gpu)?;
        let Some(mut sorted) = Sorted::find(gpu, labels, &equality)? else {
            return Ok(Sums::default());
        };
        let wanted = wanted(needs);
        let words = sums::words(wanted) as usize;
        let count = pieces(sorted.groups.values, sorted.len);
        let on = &gpu.launcher();
        let mut of_pieces = gpu.alloc(count as usize * words)?;
        // SAFETY: the runs are those of the planes, and there is a record for each piece.
        unsafe {
            sums::sum_pieces::launch(
                on,
                warp_blocks(count, sums::BLOCK),
                equality.view(),
                sorted.view(),
                wanted,
                of_pieces.view_mut(),
            )?;
        }
        // SAFETY: the caller's promise.
        let (portions, intensities) =
            unsafe { self.sum_portions(&mut sorted, labels.height(), light, options)? };
        let records = Records {
            begins: sorted.begins()?,
            pieces: of_pieces.to_vec()?,
            intensities,
            has_reals: !I::HAS_SQUARES,
            portions,
            needs,
        };
        let (mut all, background) = records.join::<L>()?;
        if needs.spans {
            sorted.add_spans(background, &mut all.spans)?;
        }
        Ok(all)
    }

    /// The sums of portions that the properties need, if they need any; and the sums of
    /// intensities, of portions if they are rounded, else of pieces. The image has this height.
    ///
    /// # Safety
    /// Intensities have the labels' size, and the queue has acquired them.
    unsafe fn sum_portions<I: Intensity>(
        &self,
        sorted: &mut Sorted<G>,
        height: u32,
        light: Option<RowsOfValues<'_, I>>,
        options: &MeasureOptions,
    ) -> Result<(Portions, Vec<u64>)> {
        let (gpu, on) = (&self.gpu, &self.gpu.launcher());
        let needs = check_options(options, light.is_some())?;
        let rows_per_strip = rows_per_strip(sorted.width as usize);
        let has_reals = needs.intensities && !I::HAS_SQUARES;
        let portions = match has_reals || needs.powers || needs.weighted {
            true => sorted.find_portions(gpu, rows_per_strip)?,
            false => PortionBuffers::none(gpu)?,
        };
        let weighted_powers = weighted_powers(options.properties.as_slice());
        let over = SummedOver {
            runs: sorted.view(),
            portions: portions.begins.view(),
            powers: weighted_powers,
            with_deviations: needs.deviations,
        };
        let mut intensities = Vec::new();
        if let Some(rows) = light.filter(|_| needs.intensities) {
            // SAFETY: the caller's promise; the portions are those of the runs.
            intensities = unsafe { I::sum_intensities(gpu, rows, over)? }.to_vec()?;
        }
        let powers = portions.sums(gpu, needs.powers, POWERS, |blocks, sums| {
            // SAFETY: there is room for the sums of each portion.
            unsafe { sum_powers::launch(on, blocks, over.runs, over.portions, sums) }
        })?;
        let sum_weighted = |blocks: u32, sums: ViewMut<'_, f64>| match light {
            // SAFETY: the caller's promise; there is room for the sums of each portion.
            Some(rows) => unsafe { I::sum_weighted(on, blocks, rows, over, sums) },
            None => Ok(()),
        };
        let weighted = portions.sums(gpu, needs.weighted, weighted_powers, sum_weighted)?;
        let portions = Portions {
            begins: portions.begins.to_vec()?,
            origins: portions.origins.to_vec()?,
            powers,
            weighted,
            weighted_powers: weighted_powers as usize,
            is_one_strip: height as usize <= rows_per_strip,
        };
        Ok((portions, intensities))
    }
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
        2
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

/// The columns of a table, each where it was made.
struct Found<G: Gpu> {
    on_device: Option<DeviceMeasures<G>>,
    on_host: Option<Measures>,
}

impl<G: Gpu> Found<G> {
    fn on_host(self, options: &MeasureOptions) -> Result<Measures> {
        let there = self.on_device.map(|table| table.to_host()).transpose()?;
        let tables =
            [there, self.on_host].map(|table| table.map(|table| (table.len, table.columns)));
        let (len, columns) = joined(tables, options, |column| column.property);
        Ok(Measures { len, columns })
    }

    fn on_device(self, gpu: &G, options: &MeasureOptions) -> Result<DeviceMeasures<G>> {
        let copied = self
            .on_host
            .map(|table| DeviceMeasures::upload(gpu, &table));
        let tables = [self.on_device, copied.transpose()?]
            .map(|table| table.map(|table| (table.len, table.columns)));
        let (len, columns) = joined(tables, options, |column| column.property);
        Ok(DeviceMeasures { len, columns })
    }
}

/// The columns of tables of the same labels, in the order of the properties; those of a property
/// stay in their order.
fn joined<C>(
    tables: [Option<(usize, Vec<C>)>; 2],
    options: &MeasureOptions,
    property: impl Fn(&C) -> Property,
) -> (usize, Vec<C>) {
    let (mut rows, mut all) = (0, Vec::new());
    for (len, columns) in tables.into_iter().flatten() {
        rows = len;
        all.extend(columns);
    }
    all.sort_by_key(|column| {
        let property = property(column);
        let mut order = options.properties.as_slice().iter();
        order.position(|&other| other == property)
    });
    (rows, all)
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

/// The runs of a label image, sorted by label.
struct Sorted<G: Gpu> {
    /// The number of runs.
    len: u32,
    width: u32,
    runs: RunsBuffers<OnGpu<G>>,
    /// The runs by label.
    groups: Groups<G>,
}

impl<G: Gpu> Sorted<G> {
    /// The runs of an image whose neighbours have been compared; `None` if there are none.
    fn find<L: Label>(
        gpu: &G,
        labels: &DeviceValues<G, L>,
        equality: &Equality<G>,
    ) -> Result<Option<Self>> {
        let on = &gpu.launcher();
        let planes = equality.view();
        let words = planes.raster.words();
        let mut before = gpu.alloc(words as usize)?;
        // SAFETY: there is an element per word.
        unsafe { count_value_runs::launch_threads(on, words, planes, before.view_mut())? };
        let mut scanner = Scanner::new(gpu, words)?;
        scanner.scan_in_place(&mut before)?;
        let len = read_first(scanner.total())?;
        if len == 0 {
            return Ok(None);
        }
        let mut runs = RunsBuffers::alloc(&OnGpu(gpu.clone()), &len)?;
        let blocks = gpu.resident_blocks(&group_borders::SPEC, 0)?;
        let mut counts = [0; count::COUNT as usize];
        counts[count::BORDERS as usize] = len;
        let mut counters = gpu.upload(&counts)?;
        let values = gpu.using(labels.values())?;
        let rows = RowsOfValues {
            values: values.view(),
            pitch: labels.pitch(),
        };
        let width = labels.width();
        // SAFETY: there is room for all runs, which start at pixels of the image; it has been
        // acquired.
        let groups = unsafe {
            list_value_runs::launch_threads(on, words, planes, before.view(), runs.views())?;
            Groups::of(
                gpu,
                (rows, width),
                runs.starts.view(),
                &mut counters,
                blocks,
            )?
        };
        values.finish()?;
        Ok(Some(Self {
            len,
            width,
            runs,
            groups,
        }))
    }

    /// For kernels to read.
    fn view(&mut self) -> SortedRuns<'_> {
        let order = &self.groups.order;
        SortedRuns {
            runs: self.runs.views(),
            order: order.pairs.values.view(),
            begins: order.begins.view(),
            low: order.low.view(),
            high: order.high.view(),
            labels: self.groups.values,
            width: self.width,
        }
    }

    /// The runs of each label in each strip of `rows` rows.
    fn find_portions(&mut self, gpu: &G, rows: usize) -> Result<PortionBuffers<G>> {
        // Images have fewer rows than that.
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        let (on, len, runs) = (&gpu.launcher(), self.len, self.view());
        let mut before = gpu.alloc(len as usize)?;
        // SAFETY: there is an element per run.
        unsafe { count_portions::launch_threads(on, len, runs, rows, before.view_mut())? };
        let mut scanner = Scanner::new(gpu, len)?;
        scanner.scan_in_place(&mut before)?;
        let count = read_first(scanner.total())? as usize;
        let (mut begins, mut origins) = (gpu.alloc(count)?, gpu.alloc(count)?);
        // SAFETY: there is room for all portions.
        unsafe {
            list_portions::launch_threads(
                on,
                len,
                runs,
                rows,
                before.view(),
                begins.view_mut(),
                origins.view_mut(),
            )?;
        }
        Ok(PortionBuffers { begins, origins })
    }

    /// Where each label's runs begin in the order.
    fn begins(&self) -> Result<Vec<u32>> {
        let mut begins = zeroed_vec(self.groups.values as usize, "the runs of labels")?;
        self.groups.order.begins.read_at(0, &mut begins)?;
        Ok(begins)
    }

    /// Adds the runs of all labels but the first ones, which are background.
    fn add_spans(&self, background: u32, spans: &mut Vec<Span>) -> Result<()> {
        let (starts, ends) = (self.runs.starts.to_vec()?, self.runs.ends.to_vec()?);
        let groups = self.groups.order.groups.to_vec()?;
        reserve(spans, starts.len(), "the runs of labels")?;
        for ((start, end), group) in starts.into_iter().zip(ends).zip(groups) {
            if let Some(slot) = group.checked_sub(background) {
                spans.push(Span {
                    slot,
                    row: start / self.width,
                    start: start % self.width,
                    end,
                });
            }
        }
        Ok(())
    }
}

/// The runs of each label in each strip.
struct PortionBuffers<G: Gpu> {
    /// Where each one begins in the order of runs.
    begins: G::Buffer<u32>,
    /// The place of each one's first pixel.
    origins: G::Buffer<u64>,
}

impl<G: Gpu> PortionBuffers<G> {
    fn none(gpu: &G) -> Result<Self> {
        Ok(Self {
            begins: gpu.alloc(0)?,
            origins: gpu.alloc(0)?,
        })
    }

    /// The sums of `weight · rowⁱ · columnʲ` of each one for i and j below `powers`, if they are
    /// wanted. `launch` launches the kernel, in this number of blocks.
    fn sums(
        &self,
        gpu: &G,
        wanted: bool,
        powers: u32,
        launch: impl FnOnce(u32, ViewMut<'_, f64>) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let count = self.begins.len();
        if !wanted {
            return Ok(Vec::new());
        }
        let mut sums = gpu.alloc(count * sum_count(powers) as usize)?;
        // There are fewer portions than pixels.
        launch(
            warp_blocks(count as u32, portions::SUM_BLOCK),
            sums.view_mut(),
        )?;
        sums.to_vec()
    }
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
