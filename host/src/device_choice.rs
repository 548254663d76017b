//! [`Job`]: the size of a piece of work, and the device on which it takes less time.

use trazar_kernels::primitives::bits::left_neighbours;
use trazar_kernels::route::fields::MOST_UNPLACED;

use crate::backend::Backend;
use crate::image::{BinaryImage, PixelValue, ValueImage};
use crate::route::gpu::small_fields::{LEAST_PINS, MOST_PINS, MOST_SPREAD};
use crate::route::{Cell, Net, RoutingGrid};

/// The size of a piece of work: the numbers on which its time depends.
/// [`Engine::auto`](crate::Engine::auto) and [`Engine::for_workload`](crate::Engine::for_workload)
/// choose a device by it.
///
/// Input and result are in this machine's memory. Times are estimated from the figures in
/// `docs/engineering/device-choice.md` for one H200 and its host's cores. A rough estimate is
/// enough, as the devices mostly differ by a large factor. The results do not depend on the device.
///
/// ```
/// use trazar::{Backend, Job};
///
/// let labels = Job::Label { pixels: 1 << 28, sides: 6_400_000 };
/// assert_eq!(labels.backend(16, true, 1), Backend::Cpu);
/// // The contours of noise take longer.
/// let contours = Job::Trace { pixels: 1 << 28, sides: 1 << 27 };
/// assert_eq!(contours.backend(16, true, 1), Backend::Cuda);
/// assert_eq!(contours.backend(16, false, 1), Backend::Cpu);
/// // For images of a megapixel, a GPU is worth opening if there are many of them.
/// let blobs = Job::Trace { pixels: 1 << 20, sides: 25_000 };
/// assert_eq!(blobs.backend(16, true, 1), Backend::Cpu);
/// assert_eq!(blobs.backend(16, true, 10_000), Backend::Cuda);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Job {
    /// [`Engine::label`](crate::Engine::label).
    Label {
        /// The number of the image's pixels.
        pixels: u64,
        /// The number of vertical pixel edges between foreground and background: two for each run
        /// of foreground in a row.
        sides: u64,
    },
    /// [`Engine::label_bands`](crate::Engine::label_bands); only the size of the image is known.
    LabelBands {
        /// The number of the image's pixels.
        pixels: u64,
    },
    /// [`Engine::trace`](crate::Engine::trace).
    Trace {
        /// The number of the image's pixels.
        pixels: u64,
        /// The number of vertical pixel edges between foreground and background, which stands for
        /// the borders' length.
        sides: u64,
    },
    /// [`Engine::trace_bands`](crate::Engine::trace_bands); only the size of the image is known.
    TraceBands {
        /// The number of the image's pixels.
        pixels: u64,
    },
    /// [`Engine::label_values`](crate::Engine::label_values).
    LabelValues {
        /// The number of the image's pixels.
        pixels: u64,
        /// Bytes of a value.
        bytes: u32,
        /// The number of vertical pixel edges between pixels of different values.
        sides: u64,
    },
    /// [`Engine::trace_regions`](crate::Engine::trace_regions) and
    /// [`Engine::trace_values`](crate::Engine::trace_values).
    TraceValues {
        /// The number of the image's pixels, with those that pad rows to whole words of 64.
        pixels: u64,
        /// Bytes of a value.
        bytes: u32,
        /// The number of vertical pixel edges between pixels of different values, which stands for
        /// the borders' length.
        sides: u64,
    },
    /// [`Engine::route`](crate::Engine::route).
    Route {
        /// The number of the grid's cells, on all layers.
        cells: u64,
        /// The number of the grid's layers.
        layers: u32,
        /// The number of nets.
        nets: u64,
        /// The sum, over the nets, of the number of cells in the net's window on all layers.
        searched: u64,
        /// The number of pins of all nets.
        pins: u64,
    },
    /// [`Engine::negotiate`](crate::Engine::negotiate).
    Negotiate {
        /// The number of paths: the pins of all nets but the first of each.
        paths: u64,
        /// The sum, over these, of the longer side of the box around the net's pins, in cells.
        reach: u64,
    },
    /// [`Engine::distances`](crate::Engine::distances).
    Distances {
        /// The number of the grid's cells, on all layers.
        cells: u64,
    },
}

impl Job {
    /// The job of labelling `image`. Measures its borders as [`trace`](Self::trace) does.
    pub fn label(image: &BinaryImage) -> Self {
        let (pixels, sides) = measure(image);
        Self::Label { pixels, sides }
    }

    /// The job of tracing `image`. Measures its borders in a pass over its bits. For an image of
    /// more than 2²² pixels, the pass reads every second row, or every third, and so on: 2²²
    /// pixels.
    pub fn trace(image: &BinaryImage) -> Self {
        let (pixels, sides) = measure(image);
        Self::Trace { pixels, sides }
    }

    /// The job of labelling the regions of `image`. Measures its borders as
    /// [`trace_values`](Self::trace_values) does.
    pub fn label_values<T: PixelValue>(image: &ValueImage<'_, T>) -> Self {
        let (pixels, sides) = measure_values(image);
        let bytes = size_of::<T>() as u32;
        Self::LabelValues {
            pixels,
            bytes,
            sides,
        }
    }

    /// The job of tracing the regions or the values of `image`. Measures its borders in a pass over
    /// its values; for an image of more than 2²⁰ pixels, over 2²⁰ of them, in rows.
    pub fn trace_values<T: PixelValue>(image: &ValueImage<'_, T>) -> Self {
        let (_, sides) = measure_values(image);
        let bytes = size_of::<T>() as u32;
        let padded = u64::from(image.width()).next_multiple_of(64);
        Self::TraceValues {
            pixels: padded * u64::from(image.height()),
            bytes,
            sides,
        }
    }

    /// The job of labelling `images`.
    pub(crate) fn labels(images: &[BinaryImage]) -> Self {
        let (pixels, sides) = measure_all(images);
        Self::Label { pixels, sides }
    }

    /// The job of tracing `images`.
    pub(crate) fn traces(images: &[BinaryImage]) -> Self {
        let (pixels, sides) = measure_all(images);
        Self::Trace { pixels, sides }
    }

    /// The job of routing `nets` on `grid`.
    pub fn route(grid: &RoutingGrid, nets: &[Net]) -> Self {
        let layers = u64::from(grid.layers());
        let area = |net: &Net| match net.window {
            Some(window) => u64::from(window.width) * u64::from(window.height),
            None => u64::from(grid.width()) * u64::from(grid.height()),
        };
        let searched = nets.iter().map(area).fold(0, u64::saturating_add);
        Self::Route {
            cells: grid.cell_count().into(),
            layers: grid.layers(),
            nets: nets.len() as u64,
            searched: searched.saturating_mul(layers),
            pins: nets.iter().map(|net| net.pins.len() as u64).sum(),
        }
    }

    /// The job of routing `nets` that compete for edges.
    pub fn negotiate(nets: &[Net]) -> Self {
        let (mut paths, mut reach) = (0, 0_u64);
        for net in nets {
            let cells = net.pins.iter().flat_map(|pin| &pin.cells);
            let extent = |at: fn(&Cell) -> u32| {
                let places = cells.clone().map(at);
                let (low, high) = (places.clone().min(), places.max());
                high.unwrap_or(0) - low.unwrap_or(0)
            };
            let joins = net.pins.len().saturating_sub(1) as u64;
            let side = u64::from(extent(|cell| cell.x).max(extent(|cell| cell.y)));
            paths += joins;
            reach = reach.saturating_add(joins.saturating_mul(side));
        }
        Self::Negotiate { paths, reach }
    }

    /// The device estimated to take less time for `runs` such jobs, one after the other: this
    /// machine's processor with `cores` cores, or a GPU, which has to be opened first. `gpu` says
    /// whether there is one.
    ///
    /// Contours of images of 2³² pixels or more, or of 2³¹ sides or more, are for the processor.
    pub fn backend(self, cores: usize, gpu: bool, runs: u32) -> Backend {
        let runs = f64::from(runs);
        let on_cpu = runs * self.cpu_nanoseconds(cores);
        let on_gpu = OPENING + runs * self.gpu_nanoseconds();
        if gpu && self.fits_kernels() && on_gpu < on_cpu {
            Backend::Cuda
        } else {
            Backend::Cpu
        }
    }

    /// The nanoseconds that an open GPU saves; `None` if it takes longer, or does not do the job.
    pub(crate) fn saved_nanoseconds(self, cores: usize) -> Option<f64> {
        let saved = self.cpu_nanoseconds(cores) - self.gpu_nanoseconds();
        (saved > 0.0 && self.fits_kernels()).then_some(saved)
    }

    /// Time on the processor, by the algorithm that its engine chooses.
    fn cpu_nanoseconds(self, cores: usize) -> f64 {
        match self {
            // 16384² blobs: 390 ms on one core, 47 to 52 on 16; noise of 10 % 97, of 50 % 155.
            Self::Label { pixels, sides } => {
                (1.2 * pixels as f64 + 7.0 * sides as f64) / cores.clamp(1, 8) as f64
            }
            // 65536² blobs: 1.06 s on 16 cores; twice through the image, and reading it.
            Self::LabelBands { pixels } => 1.9 * pixels as f64 / cores.clamp(1, 8) as f64,
            // One core: 41 to 54 on masks, blobs and noise. 16 cores: 2.5 times as fast on blobs of
            // 1024², 5.4 on those of 4096², 9.8 on those of 16384², 4.5 on noise.
            Self::Trace { pixels, sides } => {
                let one_core = 40.0 * sides as f64 + 0.1 * pixels as f64;
                one_core / (cores.clamp(1, 16) as f64).powf(0.6)
            }
            // 65536² blobs: 1 s on 16 cores.
            Self::TraceBands { pixels } => {
                1.25 * pixels as f64 / (cores.clamp(1, 16) as f64).powf(0.6)
            }
            // One core: touching cells of 2048² 6 ms, 16 smooth classes 8.4. 16 cores: 16384² 81 to
            // 104.
            Self::LabelValues { pixels, sides, .. } => {
                (1.3 * pixels as f64 + 8.0 * sides as f64) / cores.clamp(1, 6) as f64
            }
            // One core: polygons of touching cells of 2048² 15 ms, of 16 smooth classes 50. 16
            // cores: 16384² 303 and 500.
            Self::TraceValues { pixels, sides, .. } => {
                let one_core = 80.0 * sides as f64 + 1.5 * pixels as f64;
                one_core / (cores.clamp(1, 16) as f64).powf(0.5)
            }
            // 65 to 120 per cell for 16 pins or more; 10,000 pins on 256² cells take 2 µs each.
            // A net is routed by one core, other nets by others at the same time.
            Self::Route {
                nets,
                searched,
                pins,
                ..
            } => {
                let one_core = 80.0 * searched as f64 + 1500.0 * pins as f64;
                one_core
                    / (cores.clamp(1, 16) as f64)
                        .min(nets.max(1) as f64)
                        .powf(0.9)
            }
            // 1,200 paths of nets some 30 cells across 0.17 s on one core, 50,000 of some 180 cells
            // 24 s; 5.3 times as fast on 16.
            Self::Negotiate { paths, reach } => {
                let one_core = 80_000.0 * paths as f64 + 2_000.0 * reach as f64;
                one_core / (cores.clamp(1, 16) as f64).powf(0.6)
            }
            // 1024²: 65 ms on one core, 18 on 16.
            Self::Distances { cells } => {
                60.0 * cells as f64 / (cores.clamp(1, 16) as f64).powf(0.5)
            }
        }
    }

    /// Time on a GPU, with the copies to and from it.
    fn gpu_nanoseconds(self) -> f64 {
        match self {
            // 16384² blobs: 36 ms, noise of 10 % 57; of 50 %, whose labels come pixel by pixel, 62.
            Self::Label { pixels, sides } => {
                let pixels = pixels as f64;
                IMAGE_LAUNCHES + (0.12 * pixels + 0.5 * sides as f64).min(0.235 * pixels)
            }
            // 65536² blobs, with reading: 0.66 s of labels, 0.68 s of contours.
            Self::LabelBands { pixels } | Self::TraceBands { pixels } => 0.155 * pixels as f64,
            // 0.9 to 1.5 on blobs and masks, 3.9 on noise, which has many short contours. Finding
            // them takes a tenth of that time, copies and the host's arrays the rest.
            Self::Trace { pixels, sides } => {
                IMAGE_LAUNCHES + 2.0 * sides as f64 + 0.01 * pixels as f64
            }
            // The values are copied up, as fast as labels down, and labels and points down. Kernels
            // take 2.4 ms for labels of 16384², and 4.2 to 6.6 for polygons.
            Self::LabelValues { pixels, bytes, .. } => {
                IMAGE_LAUNCHES + (0.06 * f64::from(bytes) + 0.245) * pixels as f64
            }
            Self::TraceValues {
                pixels,
                bytes,
                sides,
            } => {
                let up = (0.06 * f64::from(bytes) + 0.02) * pixels as f64;
                IMAGE_LAUNCHES + up + 3.0 * sides as f64
            }
            Self::Route {
                cells,
                layers,
                nets,
                searched,
                pins,
            } => {
                // 4096²: 7 ms.
                let copies = 0.42 * cells as f64;
                let distance = (searched as f64 / pins.max(1) as f64).sqrt();
                let pins_of_net = pins as f64 / nets.max(1) as f64;
                // Of pins a few cells apart, a GPU finds small fields, and the host does the rest.
                // Pins that are up to some 200 cells apart have distance fields, along which paths
                // are followed. To find the fields around a path, the kernel looks at all pins of
                // the net, or, if the net is large, at those in buckets near the path. At larger
                // distances, a search advances by one cell per microsecond.
                let is_dense = layers == 1
                    && (LEAST_PINS as f64..=MOST_PINS).contains(&pins_of_net)
                    && distance <= MOST_SPREAD;
                let pin = if is_dense {
                    200.0 * distance
                } else if layers == 1 && distance <= 200.0 {
                    2_500.0 + 100.0 * distance + 0.5 * pins_of_net.min(f64::from(MOST_UNPLACED))
                } else {
                    1_000.0 * distance
                };
                // The pins of a net are joined one after the other, nets at the same time: 1000
                // nets take 2 ms. Where the host joins pins, copies and the making of trees remain.
                let at_once = nets.clamp(1, 16) as f64;
                let at_once = if is_dense { at_once.cbrt() } else { at_once };
                LAUNCHES + copies + pin * pins as f64 / at_once
            }
            // A block searches for a path at a time, and the processor does the rest.
            Self::Negotiate { paths, .. } => LAUNCHES + 60_000.0 * paths as f64,
            // 1024²: 3 ms, 4096²: 42, nearly all of it copies.
            Self::Distances { cells } => LAUNCHES + 2.5 * cells as f64,
        }
    }

    fn fits_kernels(self) -> bool {
        match self {
            // Bands of rows go to the GPU one after the other.
            Self::Label { .. } | Self::LabelBands { .. } | Self::TraceBands { .. } => true,
            // Along edges there are labels, which take 16 GiB for 2³² pixels. A side has a point or
            // two, and kernels number less than 2³² points.
            Self::Trace { pixels, sides } => pixels < 1 << 32 && sides < 1 << 31,
            Self::LabelValues { pixels, .. } => pixels <= 1 << 31,
            // Each side is one of two pixels, and has a point or two.
            Self::TraceValues { pixels, sides, .. } => pixels < 1 << 31 && sides < 1 << 29,
            Self::Route { .. } | Self::Negotiate { .. } | Self::Distances { .. } => true,
        }
    }
}

/// Opening a GPU takes 200 to 300 ms, and the needs of its first job, such as page-locked memory,
/// another 20 to 50; the very first time, compiling the kernels takes another 260 ms.
pub(crate) const OPENING: f64 = 250e6;

/// Launches and waits for counts take this long, even for the smallest work.
const LAUNCHES: f64 = 0.4e6;

/// The same for labels and contours, which wait once.
const IMAGE_LAUNCHES: f64 = 0.1e6;

/// The pixels and the sides of all images, as [`measure`] counts those of one.
fn measure_all(images: &[BinaryImage]) -> (u64, u64) {
    let mut all = (0, 0);
    for image in images {
        let (pixels, sides) = measure(image);
        all.0 += pixels;
        all.1 += sides;
    }
    all
}

/// The number of pixels of an image, and the approximate number of its vertical pixel edges.
fn measure(image: &BinaryImage) -> (u64, u64) {
    const MOST_PIXELS: u64 = 1 << 22;
    let pixels = image.pixel_count();
    let step = pixels.div_ceil(MOST_PIXELS);
    let rows = (0..image.height()).step_by(step as usize);
    let measured = rows.len() as u64;
    let found: u64 = rows.map(|y| sides(image.row(y))).sum();
    (pixels, found * u64::from(image.height()) / measured)
}

/// The number of pixels of an image of values, and the approximate number of vertical edges between
/// different values. NaN differs from itself.
fn measure_values<T: PixelValue>(image: &ValueImage<'_, T>) -> (u64, u64) {
    const MOST_PIXELS: u64 = 1 << 20;
    let pixels = u64::from(image.width()) * u64::from(image.height());
    let step = pixels.div_ceil(MOST_PIXELS);
    let rows = (0..image.height()).step_by(step as usize);
    let measured = rows.len() as u64;
    let differ = |y, x| u64::from(image.value(x - 1, y) != image.value(x, y));
    let found: u64 = rows
        .map(|y| (1..image.width()).map(|x| differ(y, x)).sum::<u64>())
        .sum();
    (pixels, found * u64::from(image.height()) / measured)
}

/// The number of changes between background and foreground along a row. Beside the row there is
/// background.
fn sides(row: &[u64]) -> u64 {
    let mut before = 0;
    let mut sides = 0;
    for &word in row {
        sides += u64::from((word ^ left_neighbours(word, before)).count_ones());
        before = word >> 63;
    }
    sides + before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Samples;
    use crate::route::Window;

    fn route(side: u64, pins: u64) -> Job {
        Job::Route {
            cells: side * side,
            layers: 1,
            nets: 1,
            searched: side * side,
            pins,
        }
    }

    /// Milliseconds from `docs/engineering/device-choice.md` for jobs on the processor and on an open
    /// GPU; labels and contours from host to host.
    #[test]
    fn the_faster_device_is_that_of_the_figures() {
        let routes = [
            (256, 16, 6.5, 0.77),
            (256, 260, 8.3, 1.47),
            (256, 1000, 7.2, 4.4),
            (256, 10_000, 12.3, 4.9),
            (512, 16, 17.5, 1.39),
            (512, 1000, 28.0, 4.81),
            (512, 10_000, 46.0, 10.4),
            (128, 2_500, 4.4, 1.8),
            (1024, 16, 67.7, 4.14),
            (1024, 100, 91.7, 2.91),
            (1024, 700, 112.0, 5.93),
            (2048, 16, 288.0, 8.36),
            (2048, 300, 444.0, 10.2),
            (2048, 700, 427.0, 14.6),
            (2048, 10_000, 516.0, 103.0),
            (4096, 16, 1422.0, 19.1),
            (4096, 1000, 1631.0, 36.4),
        ];
        let routes = routes.map(|(side, pins, cpu, gpu)| (route(side, pins), 1, cpu, gpu));
        let trace = |side: u64, sides| Job::Trace {
            pixels: side * side,
            sides,
        };
        let label = |side: u64, sides| Job::Label {
            pixels: side * side,
            sides,
        };
        let negotiate = |paths: u64, side: u64| Job::Negotiate {
            paths,
            reach: paths * side,
        };
        // Each in its part of 512² cells.
        let dense = |nets: u64, pins: u64| Job::Route {
            cells: 512 * 512,
            layers: 1,
            nets,
            searched: 512 * 512,
            pins: nets * pins,
        };
        let pixels = 1 << 32;
        let others = [
            (label(4096, 398_594), 16, 3.6, 3.2),
            (label(16384, 6_400_000), 16, 52.4, 36.0),
            (label(16384, 6_400_000), 1, 390.0, 36.0),
            (label(16384, 48_300_000), 16, 97.0, 56.0),
            (label(16384, 85_900_000), 16, 137.0, 62.0),
            (label(16384, 134_200_000), 16, 155.0, 62.0),
            (Job::LabelBands { pixels }, 16, 1060.0, 660.0),
            (Job::TraceBands { pixels }, 16, 980.0, 680.0),
            (trace(1024, 23_000), 16, 0.37, 0.173),
            (trace(4096, 398_594), 1, 16.8, 0.60),
            (trace(4096, 398_594), 16, 3.11, 0.60),
            (trace(16384, 6_400_000), 1, 281.0, 8.67),
            (trace(16384, 6_400_000), 16, 28.7, 8.67),
            (trace(4096, 8_400_000), 1, 453.0, 33.1),
            (trace(4096, 8_400_000), 16, 102.0, 33.1),
            (trace(2550, 301_320), 1, 10.3, 0.58),
            (dense(256, 100), 16, 6.0, 9.1),
            (dense(64, 1000), 16, 6.9, 8.6),
            (negotiate(1_200, 32), 1, 170.0, 71.0),
            (negotiate(3_000, 64), 1, 770.0, 258.0),
            (negotiate(12_000, 85), 1, 3_300.0, 700.0),
            (negotiate(50_000, 190), 1, 24_000.0, 2_570.0),
            (negotiate(50_000, 190), 16, 4_630.0, 2_570.0),
            (Job::Distances { cells: 1 << 20 }, 1, 64.5, 3.0),
            (Job::Distances { cells: 1 << 20 }, 16, 17.6, 3.0),
        ];
        for (job, cores, cpu, gpu) in routes.into_iter().chain(others) {
            // So many runs that opening the GPU does not matter; and one run.
            for (runs, opening) in [(u32::MAX, 0.0), (1, 250.0)] {
                let faster = match cpu < gpu + opening {
                    true => Backend::Cpu,
                    false => Backend::Cuda,
                };
                assert_eq!(
                    job.backend(cores, true, runs),
                    faster,
                    "{job:?}, {runs} runs"
                );
                assert_eq!(job.backend(cores, false, runs), Backend::Cpu);
            }
            let within = |estimate: f64, measured: f64| {
                let ratio = estimate / 1e6 / measured;
                assert!(
                    (0.4..2.5).contains(&ratio),
                    "{job:?}: {ratio} of {measured}"
                );
            };
            within(job.cpu_nanoseconds(cores), cpu);
            within(job.gpu_nanoseconds(), gpu);
        }
    }

    /// Milliseconds of images of values: touching cells of 26 pixels, u32, and 16 smooth classes,
    /// u8; on the processor from `docs/engineering/device-choice.md`.
    #[test]
    fn images_of_values_by_the_figures() {
        let within = |job: Job, cores, cpu: f64| {
            let ratio = job.cpu_nanoseconds(cores) / 1e6 / cpu;
            assert!((0.4..2.5).contains(&ratio), "{job:?}: {ratio} of {cpu}");
        };
        let sized = |side: u64, bytes, share: f64| {
            let pixels = side * side;
            let sides = (pixels as f64 * share) as u64;
            let label = Job::LabelValues {
                pixels,
                bytes,
                sides,
            };
            let trace = Job::TraceValues {
                pixels,
                bytes,
                sides,
            };
            (label, trace)
        };
        for (side, bytes, share, cores, labels, polygons) in [
            (2048, 4, 0.04, 1, 6.0, 15.0),
            (2048, 1, 0.07, 1, 8.4, 50.0),
            (16384, 4, 0.04, 16, 88.0, 303.0),
            (16384, 1, 0.07, 16, 83.0, 500.0),
        ] {
            let (label, trace) = sized(side, bytes, share);
            within(label, cores, labels);
            within(trace, cores, polygons);
        }
        let (label, trace) = sized(16384, 4, 0.04);
        assert_eq!(trace.backend(16, true, 100), Backend::Cuda);
        assert_eq!(trace.backend(16, false, 100), Backend::Cpu);
        assert_eq!(label.backend(16, true, u32::MAX), Backend::Cpu);
        assert_eq!(label.backend(1, true, 100), Backend::Cuda);
        let (_, huge) = sized(1 << 16, 1, 0.07);
        assert_eq!(huge.backend(1, true, 100), Backend::Cpu);
    }

    /// 1000 nets of 4 pins in windows of 64² take one core 303 ms.
    #[test]
    fn nets_are_shared_out_among_cores() {
        let nets = |nets| Job::Route {
            cells: 1 << 24,
            layers: 1,
            nets,
            searched: 4096 * nets,
            pins: 4 * nets,
        };
        let seconds = |job: Job, cores| job.cpu_nanoseconds(cores) / 1e9;
        assert!((0.15..0.6).contains(&seconds(nets(1000), 1)));
        assert!(seconds(nets(1000), 16) < seconds(nets(1000), 1) / 10.0);
        // A net is routed by one core.
        assert_eq!(nets(1).cpu_nanoseconds(16), nets(1).cpu_nanoseconds(1));
    }

    /// Pins that are too far apart for small fields, and so close that a core soon reaches the next
    /// one.
    #[test]
    fn pins_some_cells_apart_are_for_the_core() {
        for (side, spread, faster) in [
            (256, 20, Backend::Cuda),
            (256, 40, Backend::Cuda),
            (512, 44, Backend::Cpu),
            (2048, 44, Backend::Cpu),
            (256, 200, Backend::Cuda),
            (2048, 200, Backend::Cuda),
        ] {
            let cells = side * side;
            let job = route(side, cells / spread);
            assert_eq!(job.backend(16, true, u32::MAX), faster, "{side}, {spread}");
        }
    }

    #[test]
    fn what_kernels_cannot_hold_is_for_the_processor() {
        let huge = Job::Trace {
            pixels: 1 << 32,
            sides: 1 << 29,
        };
        assert_eq!(huge.backend(1, true, 1), Backend::Cpu);
        let fits = Job::Trace {
            pixels: (1 << 32) - 1,
            sides: 1 << 29,
        };
        assert_eq!(fits.backend(1, true, 1), Backend::Cuda);
        // Labels have no such limit.
        let pixels = 1 << 34;
        let (sides, labels) = (pixels / 40, Job::LabelBands { pixels });
        assert_eq!(labels.backend(1, true, 9), Backend::Cuda);
        let labels = Job::Label { pixels, sides };
        assert_eq!(labels.backend(1, true, 9), Backend::Cuda);
        let nothing = Job::Route {
            cells: 0,
            layers: 1,
            nets: 0,
            searched: 0,
            pins: 0,
        };
        assert_eq!(nothing.backend(1, true, 1), Backend::Cpu);
    }

    #[test]
    fn sizes_are_those_of_image_and_nets() {
        for width in [1, 3, 63, 64, 65, 128, 130] {
            let image = BinaryImage::from_fn(width, 5, |x, y| (x * x + y) % 3 == 0).unwrap();
            let mut sides = 0;
            for y in 0..5 {
                let mut row: Vec<bool> = (0..width).map(|x| image.get(x, y)).collect();
                row.insert(0, false);
                row.push(false);
                sides += row.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
            }
            let pixels = u64::from(width) * 5;
            assert_eq!(Job::trace(&image), Job::Trace { pixels, sides });
            assert_eq!(Job::label(&image), Job::Label { pixels, sides });
        }
        let values: Vec<u16> = (0..35).map(|at| at % 7 / 2).collect();
        let values = ValueImage::new(Samples::new(7, 5, &values).unwrap()).unwrap();
        let (pixels, bytes, sides) = (35, 2, 15);
        let (label, trace) = (
            Job::LabelValues {
                pixels,
                bytes,
                sides,
            },
            Job::TraceValues {
                pixels: 320,
                bytes,
                sides,
            },
        );
        assert_eq!(Job::label_values(&values), label);
        assert_eq!(Job::trace_values(&values), trace);
        // In a larger image, a sample of rows stands for all.
        let large = BinaryImage::from_fn(20_000, 2_000, |x, y| (x ^ y) & 1 == 0).unwrap();
        let (pixels, sides) = (40_000_000, 40_000_000);
        assert_eq!(Job::trace(&large), Job::Trace { pixels, sides });
        let layer = RoutingGrid::uniform(30, 20, 1).unwrap();
        let grid = RoutingGrid::stack(&[layer.clone(), layer], &[1; 600]).unwrap();
        let mut nets = [
            Net::from_cells([Cell::at(0, 0), Cell::at(3, 4)]),
            Net::default(),
        ];
        nets[1].window = Some(Window {
            x: 0,
            y: 0,
            width: 7,
            height: 5,
        });
        let expected = Job::Route {
            cells: 1200,
            layers: 2,
            nets: 2,
            searched: 2 * (600 + 35),
            pins: 2,
        };
        assert_eq!(Job::route(&grid, &nets), expected);
    }
}
