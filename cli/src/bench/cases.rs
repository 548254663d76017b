//! What is measured: jobs and their inputs.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use trazar::distance::{CostDistanceOptions, CostSurface, Friction, Neighbours, Sources};
use trazar::formats::{self, Raster, RasterValues, ReadOptions};
use trazar::generate::{self, Pattern, RandomNets};
use trazar::measure::{Label, MeasureOptions, Property};
use trazar::route::{RouteOptions, RoutingCase};
use trazar::{
    BinaryImage, Engine, LabelOptions, PixelValue, RegionOptions, Samples, TraceOptions, ValueImage,
};

use super::digest::Found;
use crate::args::{BenchJob, name};
use crate::failure::Failure;
use crate::paths::source;
use crate::printable::printable;

type Work<R> = Box<dyn Fn(&Engine) -> trazar::Result<R> + Send + Sync>;

/// A job on an input.
pub(super) struct Case {
    pub(super) job: BenchJob,
    /// As in "blobs 1024 × 1024".
    pub(super) input: String,
    pub(super) pixels: u64,
    /// The input's size.
    pub(super) bytes: u64,
    /// Does the job, and says what came of it.
    pub(super) look: Work<Found>,
    /// Does the job, and says how many seconds it took. Freeing the result is not part of it.
    pub(super) time: Work<f64>,
}

/// An input by its name, width and height.
struct Named {
    name: String,
    width: u32,
    height: u32,
}

impl Named {
    fn new(name: &str, width: u32, height: u32) -> Self {
        Self {
            name: format!("{name} {width} × {height}"),
            width,
            height,
        }
    }

    fn case<R: 'static>(
        &self,
        job: BenchJob,
        bytes: u64,
        work: impl Fn(&Engine) -> trazar::Result<R> + Send + Sync + 'static,
    ) -> Case
    where
        Found: for<'a> From<&'a R>,
    {
        let work = Arc::new(work);
        let timed = Arc::clone(&work);
        Case {
            job,
            input: self.name.clone(),
            pixels: u64::from(self.width) * u64::from(self.height),
            bytes,
            look: Box::new(move |engine| Ok(Found::from(&work(engine)?))),
            time: Box::new(move |engine| {
                let started = Instant::now();
                let result = timed(engine)?;
                let seconds = started.elapsed().as_secs_f64();
                drop(result);
                Ok(seconds)
            }),
        }
    }

    fn label(&self, image: &Arc<BinaryImage>) -> Case {
        let image = Arc::clone(image);
        let bytes = size_of_val(image.words()) as u64;
        self.case(BenchJob::Label, bytes, move |engine| {
            engine.label(&image, &LabelOptions::default())
        })
    }

    fn trace(&self, image: &Arc<BinaryImage>) -> Case {
        let image = Arc::clone(image);
        let bytes = size_of_val(image.words()) as u64;
        self.case(BenchJob::Trace, bytes, move |engine| {
            engine.trace(&image, &TraceOptions::default())
        })
    }

    fn polygonize<T: PixelValue + 'static>(&self, values: &Arc<Vec<T>>) -> Case {
        let (values, width, height) = (Arc::clone(values), self.width, self.height);
        let bytes = size_of_val(&values[..]) as u64;
        self.case(BenchJob::Polygonize, bytes, move |engine| {
            let image = ValueImage::new(Samples::new(width, height, &values)?)?;
            engine.trace_regions(&image, &RegionOptions::default())
        })
    }

    fn measure<L: Label + Send + Sync + 'static>(&self, labels: &Arc<Vec<L>>) -> Case {
        let (labels, width, height) = (Arc::clone(labels), self.width, self.height);
        let bytes = size_of_val(&labels[..]) as u64;
        let options = MeasureOptions::default().properties([
            Property::Label,
            Property::Area,
            Property::Bbox,
            Property::Centroid,
            Property::Perimeter,
            Property::Eccentricity,
            Property::Orientation,
            Property::EulerNumber,
        ]);
        self.case(BenchJob::Measure, bytes, move |engine| {
            engine.measure(Samples::new(width, height, &labels)?, &options)
        })
    }

    /// From the cell in the middle, or from the first one after it that is no barrier.
    fn distance<T: Friction + 'static>(
        &self,
        friction: &Arc<Vec<T>>,
        no_data: Option<f64>,
    ) -> Result<Case, Failure> {
        let (friction, width, height) = (Arc::clone(friction), self.width, self.height);
        let middle = friction.len() / 2 + width as usize / 2;
        let is_open = |&i: &usize| {
            let value = friction[i];
            value.to_f64().is_finite() && !no_data.is_some_and(|no_data| value.is(no_data))
        };
        let mut order = (middle..friction.len()).chain(0..middle.min(friction.len()));
        let Some(start) = order.find(is_open) else {
            return Err(Failure::Failed(format!(
                "{}: all cells are barriers",
                self.name
            )));
        };
        let (x, y) = (start % width as usize, start / width as usize);
        let sources = Sources::from_cells([(x as u32, y as u32)]);
        let options = CostDistanceOptions::default().neighbours(Neighbours::Eight);
        let bytes = size_of_val(&friction[..]) as u64;
        Ok(self.case(BenchJob::Distance, bytes, move |engine| {
            let samples = Samples::new(width, height, &friction[..])?;
            let surface = CostSurface::new(samples).no_data(no_data);
            engine.cost_distance(&surface, &sources, &options)
        }))
    }

    fn route(&self, case: RoutingCase) -> Case {
        let weights = if case.grid.layers() > 1 { 3 } else { 2 };
        let bytes = 4 * weights * u64::from(case.grid.cell_count());
        self.case(BenchJob::Route, bytes, move |engine| {
            engine.route(&case.grid, &case.nets, &RouteOptions::default())
        })
    }
}

/// The cases of a job, or of all, on generated inputs of these sides.
pub(super) fn generated(job: BenchJob, sides: &[u32]) -> Result<Vec<Case>, Failure> {
    const SEED: u64 = 1;
    let is_wanted = |wanted| job == BenchJob::All || job == wanted;
    let mut cases = Vec::new();
    let mut images = Vec::new();
    if is_wanted(BenchJob::Label) || is_wanted(BenchJob::Trace) {
        for &side in sides {
            for pattern in [Pattern::Blobs, Pattern::Noise { density: 0.5 }] {
                let image = Arc::new(pattern.generate(side, side, SEED)?);
                images.push((Named::new(pattern.name(), side, side), image));
            }
        }
    }
    if is_wanted(BenchJob::Label) {
        cases.extend(images.iter().map(|(named, image)| named.label(image)));
    }
    if is_wanted(BenchJob::Trace) {
        cases.extend(images.iter().map(|(named, image)| named.trace(image)));
    }
    for &side in sides {
        if is_wanted(BenchJob::Polygonize) || is_wanted(BenchJob::Measure) {
            let cells = Named::new("touching cells", side, side);
            let labels = Arc::new(generate::cells(side, side, 26, SEED)?);
            if is_wanted(BenchJob::Polygonize) {
                let classes = Arc::new(generate::classes(side, side, 16, SEED)?);
                cases.push(Named::new("16 classes", side, side).polygonize(&classes));
                cases.push(cells.polygonize(&labels));
            }
            if is_wanted(BenchJob::Measure) {
                cases.push(cells.measure(&labels));
            }
        }
        if is_wanted(BenchJob::Distance) {
            let friction = Arc::new(generate::friction(side, side, SEED)?);
            let named = Named::new("random friction", side, side);
            cases.push(named.distance(&friction, None)?);
        }
        if is_wanted(BenchJob::Route) {
            let nets = RandomNets::default().width(side).height(side);
            let pins = nets.pins.min(side.saturating_mul(side));
            let case = nets.pins(pins).generate(SEED)?;
            cases.push(Named::new(&format!("{pins} pins on"), side, side).route(case));
        }
    }
    cases.sort_by_key(|case| case.job as u8);
    Ok(cases)
}

/// The case of a job on a file.
pub(super) fn of_file(job: BenchJob, path: &Path) -> Result<Vec<Case>, Failure> {
    let about = |error| Failure::about(path, error);
    let file = path.file_name().unwrap_or(path.as_os_str());
    // It is printed to terminals.
    let file = file.to_string_lossy();
    let file = printable(&file);
    let case = match job {
        BenchJob::All => return Ok(Vec::new()),
        BenchJob::Label | BenchJob::Trace => {
            let read = formats::read_image(source(path), &ReadOptions::default());
            let image = Arc::new(read.map_err(about)?.image);
            let named = Named::new(&file, image.width(), image.height());
            match job {
                BenchJob::Label => named.label(&image),
                _ => named.trace(&image),
            }
        }
        BenchJob::Polygonize | BenchJob::Measure | BenchJob::Distance => {
            let raster = formats::read_raster(source(path)).map_err(about)?;
            let named = Named::new(&file, raster.width, raster.height);
            of_raster(job, &named, raster, path)?
        }
        BenchJob::Route => {
            let case = formats::read_case(source(path)).map_err(about)?;
            let (width, height) = (case.grid.width(), case.grid.height());
            Named::new(&file, width, height).route(case)
        }
    };
    Ok(vec![case])
}

fn of_raster(job: BenchJob, named: &Named, raster: Raster, path: &Path) -> Result<Case, Failure> {
    let no_data = raster.no_data;
    let dtype = raster.values.dtype();
    let refused = |types: &str| {
        Err(Failure::Failed(format!(
            "{}: values of {dtype}: `trazar bench {}` takes {types}",
            path.display(),
            name(&job)
        )))
    };
    // The case `$of` the values, if they are of one of these types.
    macro_rules! case {
        ($($variant:ident)*: $values:ident => $of:expr, else $types:literal) => {
            match raster.values {
                $(RasterValues::$variant(values) => {
                    let $values = Arc::new(values);
                    $of
                })*
                _ => refused($types),
            }
        };
    }
    match job {
        BenchJob::Polygonize => case!(
            U8 U16 U32 I16 I32 I64 F32: values => Ok(named.polygonize(&values)),
            else "integers or float32"
        ),
        BenchJob::Measure => case!(
            U8 U16 U32 I16 I32 I64: values => Ok(named.measure(&values)),
            else "integers"
        ),
        _ => case!(
            U8 U16 U32 F32 F64: values => named.distance(&values, no_data),
            else "unsigned integers or floats"
        ),
    }
}
