//! Measures of labels in a GPU's memory. Most become columns there: by [`tiles`], or from the runs
//! of each label, by [`hulls`] and [`portions`]. For higher and weighted moments, and for labels
//! that are large numbers, kernels sum up the runs, and the processor computes the columns from the
//! sums, by the code for its own sums.

mod hulls;
mod intensities;
mod portions;
mod result;
mod runs;
mod tiles;

use cuda_std::warp::WARP_SIZE;
use trazar_kernels::measure::pieces::pieces;
use trazar_kernels::measure::sums;
use trazar_kernels::trace::fragments::row_values::RowsOfValues;

pub use intensities::DeviceIntensities;
pub(in crate::measure) use intensities::DeviceIntensity;
use portions::SumsOfPortions;
pub use result::{DeviceColumn, DeviceColumnValues, DeviceMeasures};
use runs::Sorted;

use super::intensities::{AnyIntensities, Intensity, Kind, with_intensities};
use super::labels::{Label, with_labels};
use super::records::{Records, wanted};
use super::strip::Sums;
use super::{MeasureOptions, Measures, Property, check, check_options, table_of};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::gpu::{AnyValues, DeviceValues};

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
    /// of 64 bits take 56.
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
    ) -> Result<Found<G>> {
        let gpu = &self.gpu;
        let all = options.properties.as_slice().iter().copied();
        let (of_hulls, others): (Vec<_>, Vec<_>) =
            all.partition(|&property| hulls::column_of(property).is_some());
        let size = [labels.width(), labels.height()];
        let in_tables = light.and_then(I::in_tables);
        let (mut by_tiles, mut by_runs) = tiles::split(&others, size, in_tables);
        let of_portions = |properties: &[Property]| {
            let follows = |&property: &_| portions::column_of(property, !I::HAS_SQUARES).is_some();
            properties.iter().all(follows)
        };
        if !of_portions(&by_runs) && tiles::follow_from_boxes(&by_tiles) {
            // Sums of runs come with areas and boxes.
            by_tiles.clear();
            by_runs.clone_from(&others);
        }
        let mut found = Found::default();
        if !by_tiles.is_empty() || options.properties.as_slice().is_empty() {
            let options = options.clone().properties(by_tiles);
            match tiles::measure(gpu, labels, in_tables, &options)? {
                Some(table) => found.on_device.push(table),
                None => by_runs = others,
            }
        }
        // A table without columns has rows, too.
        let is_done = |found: &Found<G>| by_runs.is_empty() && !found.on_device.is_empty();
        if of_hulls.is_empty() && is_done(&found) {
            return Ok(found);
        }
        let mut sorted = Sorted::find(gpu, labels)?;
        if !of_hulls.is_empty() {
            let options = options.clone().properties(of_hulls);
            let table = hulls::measure(gpu, sorted.as_mut(), &options)?;
            found.on_device.push(table);
        }
        if is_done(&found) {
            return Ok(found);
        }
        let of_portions = of_portions(&by_runs);
        let options = options.clone().properties(by_runs);
        if of_portions {
            let sorted = sorted.as_mut();
            // SAFETY: the caller's promise.
            let table = unsafe { portions::measure(gpu, sorted, light, &options)? };
            found.on_device.push(table);
        } else {
            let sums = match sorted {
                // SAFETY: the caller's promise.
                Some(sorted) => unsafe { self.sum_up::<L, I>(sorted, light, &options)? },
                None => Sums::default(),
            };
            found.on_host = Some(table_of(&sums, &[], &options, Kind::of::<I>())?);
        }
        Ok(found)
    }

    /// The sums that the properties need, of all labels in ascending order.
    ///
    /// # Safety
    /// Intensities have the labels' size, and the queue has acquired them.
    unsafe fn sum_up<L: Label, I: Intensity>(
        &self,
        mut sorted: Sorted<G>,
        light: Option<RowsOfValues<'_, I>>,
        options: &MeasureOptions,
    ) -> Result<Sums> {
        let needs = check_options(options, light.is_some())?;
        let gpu = &self.gpu;
        let wanted = wanted(needs);
        let words = sums::words(wanted) as usize;
        let count = pieces(sorted.groups.values, sorted.len);
        let on = &gpu.launcher();
        let mut of_pieces = gpu.alloc(count as usize * words)?;
        let (planes, runs) = sorted.views();
        // SAFETY: the runs are those of the planes, and there is a record for each piece.
        unsafe {
            sums::sum_pieces::launch(
                on,
                warp_blocks(count, sums::BLOCK),
                planes,
                runs,
                wanted,
                of_pieces.view_mut(),
            )?;
        }
        // SAFETY: the caller's promise.
        let portions = unsafe { SumsOfPortions::find(gpu, &mut sorted, light, options)? };
        let records = Records {
            begins: sorted.begins()?,
            pieces: of_pieces.to_vec()?,
            intensities: portions.intensities.to_vec()?,
            has_reals: !I::HAS_SQUARES,
            portions: portions.to_host()?,
            needs,
        };
        records.join::<L>(sorted.background as usize)
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

/// The bits of the columns of these properties.
fn columns_of(properties: &[Property], column_of: impl Fn(Property) -> Option<u32>) -> u32 {
    let columns = properties
        .iter()
        .filter_map(|&property| column_of(property));
    columns.fold(0, |all, column| all | column)
}

/// A table of `len` rows with these properties in their order, from the columns of each.
fn table_in_order<G: Gpu>(
    mut columns: Vec<(Property, Vec<DeviceColumnValues<G>>)>,
    len: usize,
    properties: &[Property],
) -> Result<DeviceMeasures<G>> {
    let place = |property: Property| properties.iter().position(|&wanted| wanted == property);
    columns.retain(|&(property, _)| place(property).is_some());
    columns.sort_by_key(|&(property, _)| place(property));
    let columns = columns.into_iter().flat_map(|(property, values)| {
        let names = property.columns().into_iter();
        names.zip(values).map(move |(name, values)| DeviceColumn {
            property,
            name,
            values,
        })
    });
    Ok(DeviceMeasures {
        len,
        columns: columns.collect(),
    })
}

/// The columns of a table, each where it was made.
struct Found<G: Gpu> {
    on_device: Vec<DeviceMeasures<G>>,
    on_host: Option<Measures>,
}

impl<G: Gpu> Default for Found<G> {
    fn default() -> Self {
        Self {
            on_device: Vec::new(),
            on_host: None,
        }
    }
}

impl<G: Gpu> Found<G> {
    fn on_host(self, options: &MeasureOptions) -> Result<Measures> {
        let copied = self.on_device.iter().map(DeviceMeasures::to_host);
        let copied = copied.collect::<Result<Vec<_>>>()?;
        let tables = copied.into_iter().chain(self.on_host);
        let tables = tables.map(|table| (table.len, table.columns));
        let (len, columns) = joined(tables, options, |column| column.property);
        Ok(Measures { len, columns })
    }

    fn on_device(self, gpu: &G, options: &MeasureOptions) -> Result<DeviceMeasures<G>> {
        let copied = self
            .on_host
            .map(|table| DeviceMeasures::upload(gpu, &table));
        let tables = self.on_device.into_iter().chain(copied.transpose()?);
        let tables = tables.map(|table| (table.len, table.columns));
        let (len, columns) = joined(tables, options, |column| column.property);
        Ok(DeviceMeasures { len, columns })
    }
}

/// The columns of tables of the same labels, in the order of the properties; those of a property
/// stay in their order.
fn joined<C>(
    tables: impl Iterator<Item = (usize, Vec<C>)>,
    options: &MeasureOptions,
    property: impl Fn(&C) -> Property,
) -> (usize, Vec<C>) {
    let (mut rows, mut all) = (0, Vec::new());
    for (len, columns) in tables {
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
