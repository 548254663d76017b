//! `trazar trace --memory`: an image traced in bands of rows.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::path::{Path, PathBuf};

use trazar::formats::{GeoReference, ImageBands};
use trazar::trace::{BandTracer, ContourSource, StoredContours};
use trazar::{Backend, Engine, Job, TraceAlgorithm};

use crate::args::{ContourFormat, Device, RunArgs, TraceArgs};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::image::{self, Described};
use crate::paths::{folder_beside, source};
use crate::progress::Progress;
use crate::run_job::Steps;
use crate::trace::{Trace, found_facts};

/// The job, its options checked.
pub(crate) struct TraceBands<'a> {
    trace: Trace<'a>,
    /// The most memory to use.
    memory: u64,
    /// The folder where points are kept until they are written.
    folder: PathBuf,
}

/// The image; at first only its header is read.
pub(crate) struct Bands {
    file: RefCell<ImageBands>,
    /// Where results are; `None` for pixels.
    placed: Option<GeoReference>,
    /// The number of foreground pixels, once all is read.
    foreground: Cell<u64>,
}

/// Contours, the number of their points, and how they were found.
pub(crate) struct FoundContours {
    contours: StoredContours,
    points: u64,
    /// The number of rows of a band.
    rows: u32,
}

impl<'a> TraceBands<'a> {
    pub(crate) fn new(args: &'a TraceArgs, memory: u64) -> Result<Self, Failure> {
        let trace = Trace::new(args)?;
        check(&trace)?;
        Ok(Self {
            trace,
            memory,
            folder: folder_beside(args.output.as_deref()),
        })
    }

    /// Whether bands are to be traced on an explicitly requested GPU.
    fn is_on_gpu(&self) -> bool {
        !matches!(self.run_args().device, Device::Auto | Device::Cpu)
    }

    /// The number of rows of a band, for this many GPUs or none.
    fn rows(&self, file: &ImageBands, gpus: u32) -> trazar::Result<u32> {
        let (width, height) = (file.width(), file.height());
        let (memory, reserved) = (self.memory, file.decoding_bytes());
        match gpus {
            0 => BandTracer::rows_within(width, height, memory, reserved),
            _ => BandTracer::rows_within_on(width, height, memory, reserved, gpus),
        }
    }
}

impl Steps for TraceBands<'_> {
    const NAME: &'static str = "trace";
    type Input = Bands;
    type Found = FoundContours;
    type Output = ContourFormat;

    fn run_args(&self) -> &RunArgs {
        self.trace.run_args()
    }

    fn backends(&self) -> Option<&'static [Backend]> {
        Some(TraceAlgorithm::Fragments.backends())
    }

    fn read(&self) -> Result<Bands, Failure> {
        let input = &self.trace.args.input;
        let file = ImageBands::open(source(&input.image), &image::options(input))
            .map_err(|error| Failure::about(&input.image, error))?;
        if self.trace.format == Some(ContourFormat::Gds) {
            self.trace.gds.check_fits(file.width(), file.height())?;
        }
        // Too little memory is reported before anything is read.
        self.rows(&file, u32::from(self.is_on_gpu()))
            .map_err(|error| Failure::about(&input.image, error))?;
        let placed = self.trace.placed(|| file.georeference())?;
        Ok(Bands {
            placed,
            file: RefCell::new(file),
            foreground: Cell::new(0),
        })
    }

    fn input_path(&self) -> &Path {
        self.trace.input_path()
    }

    fn outputs(&self) -> Vec<(ContourFormat, &Path)> {
        self.trace.outputs()
    }

    fn size(&self, input: &Bands) -> Job {
        let file = input.file.borrow();
        Job::TraceBands {
            pixels: u64::from(file.width()) * u64::from(file.height()),
        }
    }

    fn needs_processor(&self, engine: &Engine, input: &Bands) -> bool {
        // A GPU's bands take more memory than the processor's.
        self.rows(&input.file.borrow(), engine.gpu_count()).is_err()
    }

    fn work(&self, engine: &Engine, input: &Bands) -> trazar::Result<FoundContours> {
        let mut file = input.file.borrow_mut();
        if file.next_row() > 0 {
            file.rewind()?;
        }
        let rows = self.rows(&file, engine.gpu_count())?;
        let run = self.run_args();
        let mut foreground = 0;
        let contours = Progress::reading(run.quiet, || {
            let tracer = BandTracer::in_file(&self.trace.options.contours, &self.folder)?;
            engine.trace_bands(tracer, || {
                let band = file.next_band(rows)?;
                foreground += band.as_ref().map_or(0, |band| band.count_foreground());
                Ok(band)
            })
        })?;
        image::warn_of_threshold(file.only_below_threshold(), file.threshold(), run);
        input.foreground.set(foreground);
        let points = contours.point_count()?;
        Ok(FoundContours {
            contours,
            points,
            rows,
        })
    }

    fn write(
        &self,
        format: ContourFormat,
        input: &mut Bands,
        found: &FoundContours,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        let placed = input.placed.as_ref();
        self.trace
            .write_contours(format, &found.contours, placed, out)
    }

    fn algorithm(&self, _: &Engine, _: &Bands) -> &'static str {
        TraceAlgorithm::Fragments.name()
    }

    fn input_facts(&self, input: &Bands) -> Facts {
        let file = input.file.borrow();
        let described = Described {
            width: file.width(),
            height: file.height(),
            kind: file.kind(),
            threshold: file.threshold(),
            foreground: input.foreground.get(),
            notes: image::notes(file.notes(), input.placed.as_ref()),
        };
        described.facts(&self.trace.args.input)
    }

    fn found_facts(&self, found: &FoundContours) -> Facts {
        let facts = found_facts(found.contours.kinds(), found.points);
        facts.in_bands(found.contours.height(), found.rows)
    }
}

/// Refuses options that need the whole image.
fn check(trace: &Trace<'_>) -> Result<(), Failure> {
    if trace.format == Some(ContourFormat::Png) {
        return Err(Failure::usage(
            "a picture of the whole image takes the memory that --memory saves: write .json, .svg, \
             .geojson or .gds, or leave --memory out",
        ));
    }
    let algorithm = trace.options.algorithm;
    if algorithm.is_some_and(|algorithm| algorithm != TraceAlgorithm::Fragments) {
        return Err(Failure::usage(
            "with --memory the algorithm is fragments: leave --algorithm out",
        ));
    }
    Ok(())
}
