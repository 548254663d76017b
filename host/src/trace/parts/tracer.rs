//! [`BandTracer`]: traces an image band by band.

use std::mem::replace;
#[cfg(feature = "formats")]
use std::path::Path;

use super::part::{ContourPart, Part};
use super::pool::RegionValue;
use super::store::Store;
use super::stored_contours::StoredContours;
use crate::error::{Error, OptionProblem, Result};
use crate::gpu::{Gpu, Workers};
use crate::image::BinaryImage;
use crate::memory::collect;
use crate::trace::gpu::DeviceTracer;
use crate::trace::gpu::band::BAND_ROWS;
use crate::trace::{Band, ContourOptions};

/// Memory for tracing, per pixel of a band of noise.
const BYTES_PER_PIXEL: u64 = 4;

/// The same on a GPU, in the host's memory: the contours and the borders cut from them, and the
/// band twice.
const BYTES_PER_PIXEL_ON_GPU: u64 = 12;

/// Memory for the program itself, and for reading contours back.
const FIXED: u64 = 32 << 20;

/// Memory for the planes of a strip.
const FIXED_PER_THREAD: u64 = 2 << 20;

/// The fewest rows of a band that are worth the work at its seams.
const LEAST_ROWS: u32 = 16;

/// Traces an image that comes in bands of rows, from top to bottom, and keeps each band only until
/// the next one has come.
///
/// The result is that of tracing the image at once: the same points, order and hierarchy. The steps
/// of borders are stored, in memory or in a temporary file, so memory holds
///
/// | bytes | per | |
/// |---|---|---|
/// | 0.25 | pixel of a band | the last band and the one before |
/// | 1 | step of a border in a band | while the band is traced |
/// | 48 | border | at most 110 while the result is put into order |
/// | 24 to 40 | pass of a border through a band | of borders in several bands, complete or not |
/// | 64 | fragment: part of a border that is not complete yet | |
///
/// and with [`Geometry::Edges`](crate::Geometry::Edges) 4 bytes more per run of foreground in a row
/// of a band, and 24 bytes and two fragments per saddle that is not decided yet. In the file a
/// border takes at most a byte per step, and a few bytes per straight line.
///
/// ```
/// use trazar::trace::{BandTracer, ContourOptions};
/// use trazar::{BinaryImage, Engine};
///
/// let art = [".####.\n.#..#.\n", ".#..#.\n.####.\n"];
/// let options = ContourOptions::default();
/// let mut tracer = BandTracer::in_memory(&options)?;
/// for band in art {
///     tracer.push(BinaryImage::from_art(band)?)?;
/// }
/// let contours = tracer.finish()?.into_contours()?;
/// let whole = BinaryImage::from_art(&art.concat())?;
/// assert_eq!(contours, Engine::cpu().trace(&whole, &options.into())?);
/// # Ok::<(), trazar::Error>(())
/// ```
#[derive(Debug)]
pub struct BandTracer {
    stack: Stack<BinaryImage>,
}

/// Rows of an image, bits or values.
pub(super) trait Rows: Sized + Send + Sync {
    /// What their regions differ in.
    type Value: RegionValue;
    /// How they are traced.
    type Options: Send + Sync;

    fn width(&self) -> u32;

    fn height(&self) -> u32;

    /// A copy of row `y`.
    fn row(&self, y: u32) -> Result<Self>;

    /// Traces them. They begin with row `first_row` of the image; beside them are the last row of
    /// the rows above and the first one of the rows below, if there are any.
    fn trace(
        &self,
        first_row: u32,
        beside: [Option<&Self>; 2],
        options: &Self::Options,
    ) -> Result<Part<Self::Value>>;
}

/// Bands from top to bottom, each traced once the next one is known, and joined to those above.
#[derive(Debug)]
pub(super) struct Stack<B: Rows> {
    pub(super) options: B::Options,
    /// The part of the rows above the last band.
    part: Option<Part<B::Value>>,
    /// The store that the first part is moved to.
    store: Option<Store>,
    /// The last band, which waits for the row below it; and its first row.
    band: Option<(B, u32)>,
    /// The row above it.
    above: Option<B>,
}

impl BandTracer {
    /// A tracer that keeps steps in memory.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for options that contradict each other.
    pub fn in_memory(options: &ContourOptions) -> Result<Self> {
        Self::new(options, Store::in_memory())
    }

    /// A tracer that puts steps into a temporary file in `folder`.
    ///
    /// The file is deleted when the tracer or its [`StoredContours`] are dropped. On Unix it has no
    /// name, so it is deleted even if the process is killed.
    ///
    /// # Errors
    /// Those of [`in_memory`](Self::in_memory), and [`Error::Io`] if no file can be made there.
    #[cfg(feature = "formats")]
    pub fn in_file(options: &ContourOptions, folder: impl AsRef<Path>) -> Result<Self> {
        Self::new(options, Store::in_folder(folder.as_ref())?)
    }

    fn new(options: &ContourOptions, store: Store) -> Result<Self> {
        options.validate()?;
        Ok(Self {
            stack: Stack::new(*options, store),
        })
    }

    /// The number of rows per band for which tracing an image of this size takes at most about
    /// `memory` bytes: half of it for bands whose borders are as long as those of noise, and half
    /// for the borders that are kept. Large images with more borders take more. `reserved` bytes of
    /// the memory are for other uses, such as reading the image (`ImageBands::decoding_bytes`).
    ///
    /// # Errors
    /// [`Error::InvalidOption`] if that is less than 16 rows; the error names the memory needed.
    pub fn rows_within(width: u32, height: u32, memory: u64, reserved: u64) -> Result<u32> {
        rows_of(width, height, memory, reserved, (BYTES_PER_PIXEL, 1))
    }

    /// [`rows_within`](Self::rows_within) for bands that are traced [on](Self::trace_on) `gpus`
    /// GPUs: a multiple of 32 rows, or all. The memory is the host's; a GPU takes about twice as
    /// much for a band.
    ///
    /// # Errors
    /// Those of [`rows_within`](Self::rows_within), if it is less than 32 rows.
    pub fn rows_within_on(
        width: u32,
        height: u32,
        memory: u64,
        reserved: u64,
        gpus: u32,
    ) -> Result<u32> {
        let per_pixel = BYTES_PER_PIXEL_ON_GPU.saturating_mul(gpus.max(1).into());
        rows_of(width, height, memory, reserved, (per_pixel, BAND_ROWS))
    }

    /// The number of rows so far.
    pub fn rows(&self) -> u32 {
        self.stack.rows()
    }

    /// Takes the next rows, below those so far. Traces the band before, on all threads of the
    /// current rayon pool.
    ///
    /// # Errors
    /// [`Error::PartsDiffer`] for a band of another width; [`Error::ImageTooLarge`] for rows beyond
    /// [`MAX_SIDE`](crate::MAX_SIDE); [`Error::TooMany`]; [`Error::OutOfMemory`]; [`Error::Io`] for
    /// the temporary file. After an error the tracer is unusable.
    pub fn push(&mut self, band: BinaryImage) -> Result<()> {
        self.stack.push(band)
    }

    /// Takes bands from `next`, from top to bottom, until it returns none, and ends the image
    /// there. `next` is called on this thread, for a band while the band before is traced.
    ///
    /// # Errors
    /// Those of [`push`](Self::push), [`finish`](Self::finish) and `next`.
    pub fn trace(
        self,
        next: impl FnMut() -> Result<Option<BinaryImage>>,
    ) -> Result<StoredContours> {
        ContourPart(self.stack.trace(next)?).finish_stored()
    }

    /// Takes bands as [`trace`](Self::trace) does, and traces them on several GPUs, each as
    /// [`DeviceTracer::trace_part`]: any free GPU takes the next band; [emulators](crate::emulator)
    /// can replace GPUs. Parts are joined in the order of their rows, on this thread, which also
    /// calls `next`. Without a GPU it is [`trace`](Self::trace).
    ///
    /// Bands of a multiple of 32 rows are traced by kernels alone ([`rows_within_on`] returns
    /// such). A GPU that is listed twice works on two bands at a time: one is traced while the host
    /// cuts the borders of the other.
    ///
    /// [`rows_within_on`]: Self::rows_within_on
    ///
    /// ```
    /// use trazar::emulator::Emulator;
    /// use trazar::trace::{BandTracer, ContourOptions};
    /// use trazar::{Engine, generate};
    ///
    /// // On NVIDIA GPUs: `trazar::cuda::Queue::open(&trazar::cuda::Device::open(0)?)?`, and so on.
    /// let gpus = [Emulator::new(0), Emulator::new(1)];
    /// let options = ContourOptions::default();
    /// let image = generate::noise(40, 96, 0.5, 1)?;
    /// let mut rows = (0..96).step_by(32);
    /// let bands = || {
    ///     let band = |first| trazar::BinaryImage::from_fn(40, 32, |x, y| image.get(x, first + y));
    ///     rows.next().map(band).transpose()
    /// };
    /// let contours = BandTracer::in_memory(&options)?.trace_on(&gpus, bands)?.into_contours()?;
    /// assert_eq!(contours, Engine::cpu().trace(&image, &options.into())?);
    /// # Ok::<(), trazar::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`trace`](Self::trace) and of [`DeviceTracer::trace_part`].
    pub fn trace_on<G: Gpu + Send + Sync>(
        mut self,
        gpus: &[G],
        mut next: impl FnMut() -> Result<Option<BinaryImage>>,
    ) -> Result<StoredContours> {
        if gpus.is_empty() {
            return self.trace(next);
        }
        crate::threads::ensure();
        std::thread::scope(|scope| {
            let options = self.stack.options;
            let works = gpus.iter().map(|gpu| {
                let tracer = DeviceTracer::on(gpu.clone());
                move |task: Task<BinaryImage>| {
                    let band = band_of(&task.rows, task.first_row, task.beside());
                    tracer.trace_part(band, &options)
                }
            });
            let mut workers = Workers::in_scope(scope, works)?;
            loop {
                let band = next()?;
                let is_last = band.is_none();
                if let Some(task) = self.stack.task(band)? {
                    // A band waits for no GPU in memory.
                    workers.wait_for_free();
                    workers.start(task);
                }
                if is_last {
                    break;
                }
                while let Some(part) = workers.try_finish() {
                    self.stack.add(part?.0)?;
                }
            }
            while let Some(part) = workers.finish() {
                self.stack.add(part?.0)?;
            }
            ContourPart(self.stack.into_part()?).finish_stored()
        })
    }

    /// Traces the last band and ends the image there.
    ///
    /// # Errors
    /// Those of [`push`](Self::push), and [`Error::EmptyImage`] if there was no band.
    pub fn finish(self) -> Result<StoredContours> {
        ContourPart(self.stack.finish()?).finish_stored()
    }
}

impl<B: Rows> Stack<B> {
    pub(super) fn new(options: B::Options, store: Store) -> Self {
        Self {
            options,
            part: None,
            store: Some(store),
            band: None,
            above: None,
        }
    }

    /// The number of rows so far.
    pub(super) fn rows(&self) -> u32 {
        let band = self.band.as_ref();
        band.map_or(0, |(band, first_row)| {
            first_row.saturating_add(band.height())
        })
    }

    /// Takes the next rows, and traces the band before.
    pub(super) fn push(&mut self, band: B) -> Result<()> {
        let first_row = self.rows();
        self.check_width(&band)?;
        self.trace_last(Some(&band))?;
        self.band = Some((band, first_row));
        Ok(())
    }

    /// Takes bands from `next` until it returns none; returns the part of all rows.
    pub(super) fn trace(
        mut self,
        mut next: impl FnMut() -> Result<Option<B>>,
    ) -> Result<Part<B::Value>> {
        crate::threads::ensure();
        let mut band = next()?;
        while let Some(this) = band {
            let mut pushed = Ok(());
            let (stack, result) = (&mut self, &mut pushed);
            let after = rayon::in_place_scope(|scope| {
                scope.spawn(|_| *result = stack.push(this));
                next()
            });
            pushed?;
            band = after?;
        }
        self.finish()
    }

    /// Traces the last band; returns the part of all rows.
    pub(super) fn finish(mut self) -> Result<Part<B::Value>> {
        self.trace_last(None)?;
        self.into_part()
    }

    fn into_part(self) -> Result<Part<B::Value>> {
        self.part.ok_or(Error::EmptyImage {
            width: 0,
            height: 0,
        })
    }

    /// The band before `next`, with the rows beside it, as a task. `next` becomes the last band.
    fn task(&mut self, next: Option<B>) -> Result<Option<Task<B>>> {
        let first_row = self.rows();
        if let Some(next) = &next {
            self.check_width(next)?;
        }
        let below = next.as_ref().map(|band| band.row(0)).transpose()?;
        let next = next.map(|band| (band, first_row));
        let Some((rows, first_row)) = replace(&mut self.band, next) else {
            return Ok(None);
        };
        let above = self.above.replace(rows.row(rows.height() - 1)?);
        Ok(Some(Task {
            rows,
            first_row,
            above,
            below,
        }))
    }

    /// Traces the last band, above the first row of `below`, and joins its part to the others.
    fn trace_last(&mut self, below: Option<&B>) -> Result<()> {
        let Some((band, first_row)) = self.band.take() else {
            return Ok(());
        };
        let part = band.trace(first_row, [self.above.as_ref(), below], &self.options)?;
        self.above = Some(band.row(band.height() - 1)?);
        drop(band);
        self.add(part)
    }

    /// Refuses a band that is not as wide as the one before.
    fn check_width(&self, band: &B) -> Result<()> {
        if let Some((before, _)) = &self.band
            && before.width() != band.width()
        {
            return Err(Error::PartsDiffer {
                what: "width",
                upper: format!("{} pixels", before.width()),
                lower: format!("{} pixels", band.width()),
            });
        }
        Ok(())
    }

    /// Joins a part to that of the rows above it.
    fn add(&mut self, part: Part<B::Value>) -> Result<()> {
        self.part = Some(match (self.part.take(), self.store.take()) {
            (Some(upper), _) => Part::join(upper, part)?,
            (None, Some(store)) => part.with_store(store)?,
            (None, None) => part,
        });
        Ok(())
    }
}

/// The number of rows of a band with these bytes per pixel: a multiple of `multiple`, or all.
pub(super) fn rows_of(
    width: u32,
    height: u32,
    memory: u64,
    reserved: u64,
    (per_pixel, multiple): (u64, u32),
) -> Result<u32> {
    crate::threads::ensure();
    let own = FIXED + FIXED_PER_THREAD * rayon::current_num_threads() as u64;
    let fixed = own.saturating_add(reserved);
    let per_row = u64::from(width.max(1)) * per_pixel;
    let rows = memory.saturating_sub(fixed) / 2 / per_row;
    let least = LEAST_ROWS.max(multiple).min(height);
    if rows < least.into() {
        let needed = fixed.saturating_add(2 * u64::from(least) * per_row);
        return Err(Error::option(
            "memory",
            OptionProblem::OutOfRange,
            format!(
                "{memory} bytes of memory are too little for the bands of an image of {width} \
                 × {height} pixels: give {} MiB or more",
                needed.div_ceil(1 << 20)
            ),
        ));
    }
    if rows >= height.into() {
        return Ok(height);
    }
    let rows = rows as u32;
    Ok(rows / multiple * multiple)
}

/// A band that a GPU is to trace.
struct Task<B> {
    rows: B,
    first_row: u32,
    /// The row above it, unless it is the first band, and the row below it, if there is one.
    above: Option<B>,
    below: Option<B>,
}

impl<B> Task<B> {
    fn beside(&self) -> [Option<&B>; 2] {
        [self.above.as_ref(), self.below.as_ref()]
    }
}

impl Rows for BinaryImage {
    type Value = ();
    type Options = ContourOptions;

    fn width(&self) -> u32 {
        self.width()
    }

    fn height(&self) -> u32 {
        self.height()
    }

    fn row(&self, y: u32) -> Result<Self> {
        let words = collect(self.row(y).iter().copied(), "a row of pixels")?;
        Self::from_words(self.width(), 1, words)
    }

    fn trace(
        &self,
        first_row: u32,
        beside: [Option<&Self>; 2],
        options: &ContourOptions,
    ) -> Result<Part> {
        Ok(ContourPart::trace(band_of(self, first_row, beside), options)?.0)
    }
}

/// A band below the last row of one image and above the first row of another.
fn band_of<'a>(
    rows: &'a BinaryImage,
    first_row: u32,
    [above, below]: [Option<&'a BinaryImage>; 2],
) -> Band<'a> {
    let mut band = Band::new(rows, first_row);
    if let Some(above) = above {
        band = band.with_above(above.row(above.height() - 1));
    }
    if let Some(below) = below {
        band = band.with_below(below.row(0));
    }
    band
}
