//! Measures of labels in a GPU's memory: kernels sum up the runs of each label; what follows from
//! the sums is computed by the processor, by the code for its own sums.

use cuda_std::ViewMut;
use cuda_std::warp::WARP_SIZE;
use trazar_kernels::measure::pieces::{SortedRuns, pieces};
use trazar_kernels::measure::runs::{RunsBuffers, count_value_runs, list_value_runs};
use trazar_kernels::measure::{intensities, sums};
use trazar_kernels::trace::borders::count;
use trazar_kernels::trace::fragments::row_values::RowsOfValues;
use trazar_kernels::trace::values::group_borders;

use super::intensities::{AnyIntensities, Intensity, Kind, with_intensities};
use super::labels::{Label, with_labels};
use super::strip::{Needs, Sums};
use super::sums::{Base, Brightness, Outline, Pairs, Powers, Second, Span};
use super::{MeasureOptions, Measures, check, table_of};
use crate::error::{Result, Unavailable};
use crate::gpu::{Gpu, GpuBuffer, OnGpu, Scanner, read_first};
use crate::image::gpu::{AnyValues, DeviceValues, Equality};
use crate::image::{PixelValue, ValueImage};
use crate::memory::reserve;
use crate::trace::gpu::Groups;

/// Named in out-of-memory errors.
const SUMS: &str = "the sums of labels";

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
    /// Integers, and the sums behind all numbers, are those of the processor, and so are the
    /// numbers. Sums of third powers beyond 2⁵³, which the processor rounds as it adds them, are
    /// rounded once. Takes some 50 bytes per run of the GPU's memory; runs are copied to the
    /// processor for hulls and holes, which it finds.
    ///
    /// # Errors
    /// Those of [`Engine::measure`](crate::Engine::measure);
    /// [`Error::ImageTooLarge`](crate::Error::ImageTooLarge) for more than 2³¹ words of 64 pixels;
    /// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator).
    pub fn measure<L: Label>(
        &self,
        labels: &DeviceValues<G, L>,
        options: &MeasureOptions,
    ) -> Result<Measures> {
        let size = [labels.width() as usize, labels.height() as usize];
        let needs = check(size, None, options)?;
        let sums = self.sum_up(labels, None, needs)?;
        table_of(&sums, options, Kind::default())
    }

    /// As [`measure`](Self::measure), with an image of intensities of the same size: integers of up
    /// to 32 bits.
    ///
    /// # Errors
    /// Those of [`measure`](Self::measure);
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) if the sizes differ;
    /// [`Error::Unavailable`](crate::Error::Unavailable) for intensities of other types, and for
    /// weighted centroids and moments.
    pub fn measure_intensities<L: Label, I: Intensity + PixelValue>(
        &self,
        labels: &DeviceValues<G, L>,
        intensities: &DeviceValues<G, I>,
        options: &MeasureOptions,
    ) -> Result<Measures> {
        let size = [labels.width() as usize, labels.height() as usize];
        let intensity_size = [intensities.width() as usize, intensities.height() as usize];
        let needs = check(size, Some(intensity_size), options)?;
        let gpu = &self.gpu;
        let values = gpu.using(intensities.values())?;
        let rows = RowsOfValues {
            values: values.view(),
            pitch: intensities.pitch(),
        };
        let light = |blocks: u32, runs: SortedRuns<'_>, sums: ViewMut<'_, u64>| {
            // SAFETY: the image has the labels' size, and has been acquired; there is room for the
            // sums of each piece.
            unsafe { I::sum_intensities(&gpu.launcher(), blocks, rows, runs, sums) }
        };
        let sums = self.sum_up(labels, Some(&light), needs)?;
        values.finish()?;
        let kind = Kind {
            has_squares: I::HAS_SQUARES,
            is_whole: I::IS_WHOLE,
        };
        table_of(&sums, options, kind)
    }

    /// The sums of all labels, in ascending order of these. `light` launches, in this number of
    /// blocks, the kernel that sums up the intensities of pieces.
    fn sum_up<L: Label>(
        &self,
        labels: &DeviceValues<G, L>,
        light: Option<&SumIntensities<'_>>,
        needs: Needs,
    ) -> Result<Sums> {
        if needs.weighted {
            return Err(Unavailable::Job {
                job: "weighted moments",
                backend: G::BACKEND,
            }
            .into());
        }
        let gpu = &self.gpu;
        let equality = labels.equality(gpu)?;
        let Some(mut sorted) = Sorted::find(gpu, labels, &equality)? else {
            return Ok(Sums::default());
        };
        let wanted = wanted(needs);
        let words = sums::words(wanted) as usize;
        let count = pieces(sorted.groups.values, sorted.len);
        let blocks = |warps_per_block: u32| count.div_ceil(warps_per_block);
        let on = &gpu.launcher();
        let mut records = gpu.alloc(count as usize * words)?;
        // SAFETY: the runs are those of the planes, and there is a record for each piece.
        unsafe {
            sums::sum_pieces::launch(
                on,
                blocks(sums::BLOCK / WARP_SIZE),
                equality.view(),
                sorted.view(),
                wanted,
                records.view_mut(),
            )?;
        }
        let mut brightness = Vec::new();
        if let Some(light) = light.filter(|_| needs.brightness) {
            let mut sums = gpu.alloc(count as usize * intensities::WORDS as usize)?;
            light(
                blocks(intensities::BLOCK / WARP_SIZE),
                sorted.view(),
                sums.view_mut(),
            )?;
            brightness = sums.to_vec()?;
        }
        let mut all = Sums::default();
        let background = join_pieces::<L>(&records.to_vec()?, words, &brightness, needs, &mut all)?;
        if needs.spans {
            sorted.add_spans(background, &mut all.spans)?;
        }
        Ok(all)
    }
}

/// Launches the kernel that sums up intensities.
type SumIntensities<'a> = dyn Fn(u32, SortedRuns<'_>, ViewMut<'_, u64>) -> Result<()> + 'a;

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
        check(size, intensity_size, options)?;
        let labels = DeviceValues::upload(gpu, labels)?;
        match intensities {
            None => measurer.measure(&labels, options),
            Some(intensities) => with_intensities!(intensities, samples => {
                let image = DeviceValues::upload(gpu, &ValueImage::new(samples)?)?;
                measurer.measure_intensities(&labels, &image, options)
            }),
        }
    })
}

/// The bits of the sums that are needed.
const fn wanted(needs: Needs) -> u32 {
    let mut bits = 0;
    if needs.second {
        bits |= sums::wanted::SECOND;
    }
    if needs.powers {
        bits |= sums::wanted::POWERS;
    }
    if needs.pairs {
        bits |= sums::wanted::PAIRS;
    }
    if needs.outline {
        bits |= sums::wanted::OUTLINE;
    }
    bits
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

/// A record, word by word.
struct Record<'a>(std::slice::Iter<'a, u64>);

impl Record<'_> {
    fn word(&mut self) -> u64 {
        self.0.next().copied().unwrap_or_default()
    }

    /// Two numbers of 32 bits.
    fn pair(&mut self) -> [u32; 2] {
        let word = self.word();
        [word as u32, (word >> 32) as u32]
    }

    fn wide(&mut self) -> i128 {
        let (low, high) = (self.word(), self.word());
        (u128::from(high) << 64 | u128::from(low)).cast_signed()
    }
}

/// Adds up the pieces of each label, for labels in ascending order. Returns how many labels are
/// background: those that are not positive.
fn join_pieces<L: Label>(
    records: &[u64],
    words: usize,
    brightness: &[u64],
    needs: Needs,
    all: &mut Sums,
) -> Result<u32> {
    fn add<T>(array: &mut Vec<T>, needed: bool, value: T, is_new: bool, join: impl Fn(&mut T, &T)) {
        match array.last_mut() {
            _ if !needed => {}
            Some(last) if !is_new => join(last, &value),
            _ => array.push(value),
        }
    }
    let count = records.len() / words;
    reserve(&mut all.bases, count, SUMS)?;
    reserve(&mut all.second, if needs.second { count } else { 0 }, SUMS)?;
    reserve(&mut all.powers, if needs.powers { count } else { 0 }, SUMS)?;
    reserve(&mut all.pairs, if needs.pairs { count } else { 0 }, SUMS)?;
    reserve(
        &mut all.outlines,
        if needs.outline { count } else { 0 },
        SUMS,
    )?;
    reserve(
        &mut all.brightness,
        if needs.brightness { count } else { 0 },
        SUMS,
    )?;
    let mut background = 0;
    let mut last_background = None;
    let light_words = intensities::WORDS as usize;
    for (index, record) in records.chunks_exact(words).enumerate() {
        let mut record = Record(record.iter());
        let base = base_of::<L>(&mut record);
        if base.area == 0 {
            continue;
        }
        if base.label <= 0 {
            if last_background != Some(base.label) {
                background += 1;
                last_background = Some(base.label);
            }
            continue;
        }
        let is_new = all.bases.last().is_none_or(|last| last.label != base.label);
        add(&mut all.bases, true, base, is_new, Base::join);
        let (second, powers) = coordinates(&mut record, needs);
        add(&mut all.second, needs.second, second, is_new, Second::join);
        add(&mut all.powers, needs.powers, powers, is_new, Powers::join);
        if needs.pairs {
            let pairs = Pairs {
                runs: record.word(),
                below: record.word(),
                below_right: record.word(),
                below_left: record.word(),
                squares: record.word(),
                diagonals: record.word(),
            };
            add(&mut all.pairs, true, pairs, is_new, Pairs::join);
        }
        if needs.outline {
            let outline = Outline([record.word(), record.word(), record.word()]);
            add(&mut all.outlines, true, outline, is_new, Outline::join);
        }
        if needs.brightness {
            let light = &brightness[index * light_words..][..light_words];
            let light = brightness_of(&mut Record(light.iter()), base.area);
            let join = |mine: &mut Brightness, other: &Brightness| mine.join(other, false);
            add(&mut all.brightness, true, light, is_new, join);
        }
    }
    Ok(background)
}

/// The base of a piece.
fn base_of<L: Label>(record: &mut Record<'_>) -> Base {
    let area = record.word();
    let [row, column] = record.pair();
    let [last_row, min_column] = record.pair();
    let end = record.word();
    Base {
        label: L::of_key(record.word()).number(),
        area,
        row,
        column,
        last_row,
        min_column,
        max_column: (end as u32).wrapping_sub(1),
    }
}

/// The sums of coordinates of a piece, as far as they are needed.
fn coordinates(record: &mut Record<'_>, needs: Needs) -> (Second, Powers) {
    let (mut second, mut powers) = (Second::default(), Powers::default());
    if needs.powers {
        let sums: [[i128; 4]; 4] = std::array::from_fn(|_| std::array::from_fn(|_| record.wide()));
        second = Second {
            r: sums[1][0],
            c: sums[0][1],
            rr: sums[2][0],
            rc: sums[1][1],
            cc: sums[0][2],
        };
        powers = Powers(sums.map(|row| row.map(|sum| sum as f64)));
    } else if needs.second {
        second = Second {
            r: record.wide(),
            c: record.wide(),
            rr: record.wide(),
            rc: record.wide(),
            cc: record.wide(),
        };
    }
    (second, powers)
}

/// The sums of the intensities of a piece of this number of pixels.
fn brightness_of(record: &mut Record<'_>, pixels: u64) -> Brightness {
    let (least, greatest) = (record.word().cast_signed(), record.word().cast_signed());
    Brightness {
        pixels,
        min: least as f64,
        max: greatest as f64,
        whole_sum: record.wide(),
        squares: record.wide().cast_unsigned(),
        ..Brightness::default()
    }
}
