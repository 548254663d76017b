//! An image held by several GPUs, some of its rows in each.

use std::thread;

use super::spread::join;
use super::{DeviceLabeler, DeviceLabels};
use crate::error::{Error, OptionProblem, Result};
use crate::gpu::Gpu;
use crate::image::gpu::DeviceImage;
use crate::label::{Component, LabelOptions};

/// Labels images that are spread over several GPUs: each holds a band of rows, and its labels.
///
/// ```
/// use trazar::emulator::Emulator;
/// use trazar::label::MultiLabeler;
/// use trazar::{BinaryImage, DeviceImage, LabelOptions};
///
/// // On NVIDIA GPUs, the queues of `trazar::cuda::Queue::open`.
/// let labeler = MultiLabeler::on([Emulator::new(0), Emulator::new(1)]);
/// let bands = ["#.#\n#.#", "###\n..."].map(BinaryImage::from_art);
/// let mut images = Vec::new();
/// for (gpu, band) in labeler.gpus().zip(bands) {
///     images.push(DeviceImage::upload(gpu, &band?)?);
/// }
/// let labels = labeler.label(&images, &LabelOptions::default().statistics(true))?;
/// assert_eq!(labels.count(), 1);
/// assert_eq!(labels.components().unwrap()[0].area, 7);
/// let lower = labels.bands()[1].to_host()?;
/// assert_eq!(lower.as_slice(), [1, 1, 1, 0, 0, 0]);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MultiLabeler<G: Gpu> {
    labelers: Vec<DeviceLabeler<G>>,
}

/// The labels of an image that is spread over several GPUs.
#[derive(Debug)]
pub struct MultiLabels<G: Gpu> {
    bands: Vec<DeviceLabels<G>>,
    count: u64,
    components: Option<Vec<Component>>,
}

impl<G: Gpu + Send + Sync> MultiLabeler<G> {
    /// Labels on `gpus`, the first of which has the image's first rows.
    pub fn on(gpus: impl IntoIterator<Item = G>) -> Self {
        Self::from_labelers(gpus.into_iter().map(DeviceLabeler::on))
    }

    /// Labels by `labelers`, the first of which has the image's first rows.
    pub fn from_labelers(labelers: impl IntoIterator<Item = DeviceLabeler<G>>) -> Self {
        Self {
            labelers: labelers.into_iter().collect(),
        }
    }

    /// The GPUs, in the order of the rows that they hold.
    pub fn gpus(&self) -> impl ExactSizeIterator<Item = &G> {
        self.labelers.iter().map(DeviceLabeler::gpu)
    }

    /// Labels the image whose rows are those of `bands`, one after the other: one band per GPU, in
    /// its memory. Waits for the bands' components, which are joined on the host.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] unless there is one band per GPU, and at least one;
    /// [`Error::PartsDiffer`] for bands of different widths; those of [`DeviceLabeler::label_part`]
    /// and [`UnfinishedLabels::finish`](super::UnfinishedLabels::finish).
    pub fn label(&self, bands: &[DeviceImage<G>], options: &LabelOptions) -> Result<MultiLabels<G>>
    where
        G::Buffer<u64>: Send + Sync,
        G::Buffer<u32>: Send,
        G::Buffer<u16>: Send,
    {
        if bands.is_empty() || bands.len() != self.labelers.len() {
            let (bands, gpus) = (bands.len(), self.labelers.len());
            let why = format!("{bands} bands for {gpus} GPUs: give one band for each GPU");
            return Err(Error::option("bands", OptionProblem::Conflict, why));
        }
        let mut first_rows = Vec::with_capacity(bands.len());
        // planted: several-devices-rows
        let mut next_row = 0u32;
        for band in bands {
            first_rows.push(next_row);
            next_row = next_row.saturating_add(band.height());
        }
        let labelled = on_each(&self.labelers, |labeler, i| {
            labeler.label_part(&bands[i], first_rows[i], options)
        })?;
        let (labels, parts): (Vec<_>, Vec<_>) = labelled.into_iter().unzip();
        let table = join(parts.into_iter())?;
        // The kernels are queued one GPU after the other, and run at the same time.
        let mut finished = Vec::with_capacity(labels.len());
        for labels in labels {
            finished.push(labels.finish(&table)?);
        }
        Ok(MultiLabels {
            bands: finished,
            count: table.count(),
            components: table.components().map(<[_]>::to_vec),
        })
    }
}

impl<G: Gpu> MultiLabels<G> {
    /// The labels of each band, in the memory of its GPU.
    pub fn bands(&self) -> &[DeviceLabels<G>] {
        &self.bands
    }

    /// Takes the bands' labels out.
    pub fn into_bands(self) -> Vec<DeviceLabels<G>> {
        self.bands
    }

    /// The number of components of the image.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The measures of the image's components, in the host's memory: element `i` is label `i + 1`.
    /// `None` without the option [`statistics`](field@crate::label::ComponentOptions::statistics).
    pub fn components(&self) -> Option<&[Component]> {
        self.components.as_deref()
    }
}

/// The results of `work` for each labeler and its index, on one thread per labeler.
///
/// # Errors
/// The error of the first labeler for which `work` fails; [`Error::OutOfMemory`] if the system
/// provides no thread.
fn on_each<G, T>(
    labelers: &[DeviceLabeler<G>],
    work: impl Fn(&DeviceLabeler<G>, usize) -> Result<T> + Sync,
) -> Result<Vec<T>>
where
    G: Gpu + Send + Sync,
    T: Send,
{
    if let [only] = labelers {
        return Ok(vec![work(only, 0)?]);
    }
    const STACK: usize = 2 << 20;
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = labelers
            .iter()
            .enumerate()
            .map(|(i, labeler)| {
                let builder = thread::Builder::new()
                    .name("labels".into())
                    .stack_size(STACK);
                builder
                    .spawn_scoped(scope, move || work(labeler, i))
                    .map_err(|_| Error::OutOfMemory {
                        what: "a thread for a GPU",
                        bytes: STACK as u64,
                    })
            })
            .collect();
        // All threads are joined before the first error is returned.
        let results: Vec<Result<T>> = threads
            .into_iter()
            .map(|thread| match thread?.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect();
        results.into_iter().collect()
    })
}
