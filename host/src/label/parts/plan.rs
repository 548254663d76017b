//! The height of the bands under a memory limit.

use super::{BandPixels, BandSource};
use crate::error::{Error, OptionProblem, Result};
use crate::label::cpu::sums_fit_64_bits;
use crate::label::gpu::PIXELS_PER_RUN;
use crate::label::{ComponentOptions, Connectivity};

/// The height of the bands, and whether all of them are kept between the passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) rows: u32,
    pub(super) hold: bool,
}

/// Memory of the program itself and its threads.
const BASE: f64 = (32 << 20) as f64;

/// The most pixels of a band on a GPU: enough that copying the labels takes longer than the other
/// work per band.
const GPU_BAND_PIXELS: u64 = 1 << 28;

/// The memory in bytes that labelling takes.
struct Needs {
    /// Per pixel of a band.
    per_pixel: f64,
    /// Per row on a band's rim.
    per_rim: f64,
    /// The most rows that a band can have.
    most_rows: u64,
}

impl Plan {
    /// For the processor.
    pub(super) fn new<B: BandPixels>(
        source: &impl BandSource<B>,
        options: &ComponentOptions,
        memory: u64,
    ) -> Result<Self> {
        let worst = Worst::of(source, options);
        // The band's bits or values, and labels; of values, two bits per pixel and the labels of
        // runs, which grow by doubling; per component, its forest, which grows by doubling, its
        // number, and its measures, preceded by tallies if they cannot share memory.
        let measures = match (options.statistics, worst.sums_fit) {
            (false, _) => 0.0,
            (true, true) => 40.0,
            (true, false) => 104.0,
        };
        let runs = if B::MANY_VALUES { 8.25 } else { 0.0 };
        let per_component = 8.0 + worst.number + measures;
        let needs = Needs {
            per_pixel: B::BYTES_PER_PIXEL
                + 4.0
                + runs
                + worst.wide_label
                + worst.components * per_component,
            per_rim: worst.per_rim,
            most_rows: worst.most_rows,
        };
        needs.plan(source, memory)
    }

    /// For GPUs, on which `workers` bands are labelled at the same time.
    pub(super) fn on_gpus<B: BandPixels>(
        source: &impl BandSource<B>,
        options: &ComponentOptions,
        memory: u64,
        workers: usize,
    ) -> Result<Self> {
        let worst = Worst::of(source, options);
        let workers = workers as f64;
        // Each worker has a band's bits and labels, and those of its runs; the caller has the
        // labels of another band. Per component, the measures come as arrays and become tallies and
        // components; the caller has the measures of another band, and 64-bit numbers.
        let (of_worker, of_caller) = match options.statistics {
            false => (0.0, 0.0),
            true => (136.0, 40.0),
        };
        let wide = worst.wide_label + worst.components * (worst.number - 4.0);
        let of_runs = 4.0 / PIXELS_PER_RUN as f64;
        let per_pixel = workers
            * (B::BYTES_PER_PIXEL + 4.0 + of_runs + worst.components * of_worker)
            + 4.0
            + worst.components * of_caller
            + wide;
        let pixels = GPU_BAND_PIXELS / u64::from(source.width());
        let needs = Needs {
            per_pixel,
            // Plus the labels of both rows, as copied from the GPU.
            per_rim: worst.per_rim + 8.0 * f64::from(source.width()),
            most_rows: worst.most_rows.min(pixels).max(1),
        };
        needs.plan(source, memory)
    }
}

/// The needs of the worst image of a size.
struct Worst {
    /// The most components, or provisional labels, per pixel.
    components: f64,
    /// Whether sums of coordinates fit into 64 bits.
    sums_fit: bool,
    /// The bytes of a component's number.
    number: f64,
    /// The bytes per pixel of 64-bit labels, if there may be any.
    wide_label: f64,
    /// The bytes per row on a band's rim.
    per_rim: f64,
    /// The number of rows whose components 32 bits can number.
    most_rows: u64,
}

impl Worst {
    fn of<B: BandPixels>(source: &impl BandSource<B>, options: &ComponentOptions) -> Self {
        let (width, height) = (u64::from(source.width()), u64::from(source.height()));
        let components: f64 = match options.connectivity {
            _ if B::MANY_VALUES => 1.0,
            Connectivity::Four => 0.5,
            Connectivity::Eight => 0.25,
        };
        let is_wide = components * width as f64 * height as f64 > f64::from(u32::MAX);
        Self {
            components,
            sums_fit: sums_fit_64_bits(width * height, source.width().max(source.height())),
            number: if is_wide { 8.0 } else { 4.0 },
            wide_label: if is_wide { 8.0 } else { 0.0 },
            // In two rows, each pixel may have a component with a node, a place in the table, and a
            // tally.
            per_rim: width as f64
                * match (options.statistics, B::MANY_VALUES) {
                    (false, false) => 40.0,
                    (true, false) => 144.0,
                    // Each pixel may have a run, too.
                    (_, true) => 120.0,
                },
            // A row of bits has at most one new component per two pixels.
            most_rows: (u64::from(u32::MAX)
                / if B::MANY_VALUES {
                    width
                } else {
                    width.div_ceil(2)
                })
            .max(1),
        }
    }
}

impl Needs {
    fn plan<B: BandPixels>(&self, source: &impl BandSource<B>, memory: u64) -> Result<Plan> {
        let (width, height) = (f64::from(source.width()), f64::from(source.height()));
        let most_rows = height.min(self.most_rows as f64);
        let fixed = BASE + source.decoding_bytes() as f64;
        let free = memory as f64 - fixed;
        let (row, per_rim) = (width * self.per_pixel, self.per_rim);
        // Bands of `rows` rows take rows · row + height / rows · per_rim bytes; find the most rows
        // for which this is at most `free`.
        let rows = |free: f64| {
            let square = free * free - 4.0 * row * height * per_rim;
            let rows = ((free + square.sqrt()) / (2.0 * row))
                .floor()
                .min(most_rows);
            // The rims of lower bands may take more.
            let fits = rows * row + height / rows * per_rim <= free;
            (free > 0.0 && rows >= 1.0 && fits).then_some(rows as u32)
        };
        let all = width * height * B::BYTES_PER_PIXEL;
        if all <= free / 3.0
            && let Some(rows) = rows(free - all)
        {
            return Ok(Plan { rows, hold: true });
        }
        if let Some(rows) = rows(free) {
            return Ok(Plan { rows, hold: false });
        }
        let best = (height * per_rim / row).sqrt().clamp(1.0, most_rows);
        let least = (best + 1.0) * row + height / best * per_rim;
        let mebibytes = ((fixed + least) / f64::from(1 << 20)).ceil();
        Err(Error::option(
            "memory",
            OptionProblem::OutOfRange,
            format!(
                "{memory} bytes of memory are too little for the bands of an image of {} × {} \
                 pixels: give {mebibytes} MiB or more",
                source.width(),
                source.height()
            ),
        ))
    }
}
