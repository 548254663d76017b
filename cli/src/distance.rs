//! `trazar distance`.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use trazar::distance::{
    self, CellSize, CostDistance, CostDistanceOptions, CostSurface, Costs, DistanceAlgorithm,
    Sources,
};
use trazar::formats::{self, CellOf, GeoTags, Raster, RasterValues, Values};
use trazar::{Backend, Engine, Job, Samples};

use crate::args::{CostFormat, DistanceArgs, RunArgs};
use crate::facts::{Facts, count};
use crate::failure::Failure;
use crate::image;
use crate::output;
use crate::paths::{Named, check_distinct, check_one_stdin, source};
use crate::progress::Progress;
use crate::run_job::Steps;

/// The job, its options checked.
pub(crate) struct Distance<'a> {
    args: &'a DistanceArgs,
    options: CostDistanceOptions,
    outputs: Vec<Destined<'a>>,
}

/// A part of the result with its format, and the file that it goes to.
type Destined<'a> = ((Part, CostFormat), &'a Path);

/// What goes to one file.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Part {
    Costs,
    Allocation,
    Direction,
    Paths,
}

/// The files, read.
pub(crate) struct Input {
    raster: Raster,
    tags: GeoTags,
    cells: CellOf,
    /// The code of the reference system of the cells' coordinates.
    epsg: Option<u32>,
    sources: Sources,
    ends: Vec<(u32, u32)>,
    cell_size: CellSize,
}

/// Costs and paths.
pub(crate) struct Found {
    distance: CostDistance,
    paths: Vec<distance::Path>,
}

impl<'a> Distance<'a> {
    pub(crate) fn new(args: &'a DistanceArgs) -> Result<Self, Failure> {
        args.run.check()?;
        args.run.check_one_gpu("distance")?;
        let outputs = outputs(args)?;
        let has_paths = outputs.iter().any(|((what, _), _)| *what == Part::Paths);
        match (&args.path_to, has_paths) {
            (None, true) => {
                return Err(Failure::usage(
                    "-o OUT.geojson is for paths: say which with --path-to CELLS.csv",
                ));
            }
            (Some(_), false) => {
                return Err(Failure::usage(
                    "--path-to needs a file for the paths: add -o OUT.geojson",
                ));
            }
            _ => {}
        }
        let inputs: [Named<'_>; 3] = [
            ("FRICTION", Some(&args.friction)),
            ("--sources", Some(&args.sources)),
            ("--path-to", args.path_to.as_deref()),
        ];
        check_one_stdin(&inputs)?;
        let named: Vec<Named<'_>> = outputs
            .iter()
            .map(|&((what, _), path)| (what.option(), Some(path)))
            .collect();
        check_distinct(&inputs, &named)?;
        let options = CostDistanceOptions::default()
            .neighbours(trazar::distance::Neighbours::from(args.neighbours))
            .precision(trazar::distance::Precision::from(args.precision))
            .max_cost(args.max_cost)
            .allocation(args.allocation.is_some())
            .direction(args.direction.is_some() || has_paths)
            .algorithm(Option::<trazar::distance::DistanceAlgorithm>::from(
                args.algorithm,
            ));
        options.validate()?;
        Ok(Self {
            args,
            options,
            outputs,
        })
    }

    /// The options with the size of the input's cells.
    fn options(&self, input: &Input) -> CostDistanceOptions {
        self.options.cell_size(input.cell_size)
    }

    fn read_files(&self) -> Result<Input, Failure> {
        let args = self.args;
        let friction = source(&args.friction);
        let about = |error| Failure::about(&args.friction, error);
        let raster = formats::read_raster(friction).map_err(about)?;
        let tags = GeoTags::read(friction).map_err(about)?;
        let place = raster.georeference().map_err(about)?;
        let transform = place.and_then(|place| place.transform);
        let cells = CellOf {
            width: raster.width,
            height: raster.height,
            transform,
        };
        let cell_size = match (args.cell_size, transform) {
            (Some((x, y)), _) => CellSize { x, y },
            (None, Some(transform)) => {
                let [a, b, _, d, e, _] = transform.coefficients();
                CellSize {
                    x: a.hypot(d),
                    y: b.hypot(e),
                }
            }
            (None, None) => CellSize::default(),
        };
        let sources = read_sources(&args.sources, &cells)?;
        let ends = match &args.path_to {
            Some(path) => formats::read_cells(source(path), &cells)
                .map_err(|error| Failure::about(path, error))?,
            None => Vec::new(),
        };
        let crs = place.and_then(|place| place.crs);
        let epsg = transform.and(crs).and_then(formats::Crs::epsg);
        Ok(Input {
            raster,
            tags,
            cells,
            epsg,
            sources,
            ends,
            cell_size,
        })
    }
}

/// What is written where.
fn outputs(args: &DistanceArgs) -> Result<Vec<Destined<'_>>, Failure> {
    let mut all = Vec::new();
    for path in &args.output {
        let format: CostFormat = output::by_extension(path)?;
        let what = match format {
            CostFormat::Geojson => Part::Paths,
            _ => Part::Costs,
        };
        all.push(((what, format), path.as_path()));
    }
    for (what, path) in [
        (Part::Allocation, &args.allocation),
        (Part::Direction, &args.direction),
    ] {
        let Some(path) = path else { continue };
        let format: CostFormat = output::by_extension(path)?;
        if matches!(format, CostFormat::Png | CostFormat::Geojson) {
            return Err(Failure::usage(format!(
                "{} {}: it is written as .tif or .npy",
                what.option(),
                path.display()
            )));
        }
        all.push(((what, format), path.as_path()));
    }
    Ok(all)
}

impl Part {
    fn option(self) -> &'static str {
        match self {
            Self::Costs | Self::Paths => "-o",
            Self::Allocation => "--allocation",
            Self::Direction => "--direction",
        }
    }
}

fn read_sources(path: &Path, cells: &CellOf) -> Result<Sources, Failure> {
    let about = |error| Failure::about(path, error);
    let is_csv = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    if is_csv {
        return formats::read_sources(source(path), cells).map_err(about);
    }
    let raster = formats::read_raster(source(path)).map_err(about)?;
    if (raster.width, raster.height) != (cells.width, cells.height) {
        return Err(Failure::Failed(format!(
            "{}: the raster of sources has {} × {} cells, and that of friction {} × {}: both have \
             one size",
            path.display(),
            raster.width,
            raster.height,
            cells.width,
            cells.height
        )));
    }
    formats::sources_of_raster(&raster.values, raster.no_data, cells.width, cells.height)
        .map_err(about)
}

/// The costs on this friction.
fn solve(
    engine: &Engine,
    input: &Input,
    options: &CostDistanceOptions,
) -> trazar::Result<CostDistance> {
    let Raster {
        width,
        height,
        no_data,
        ..
    } = input.raster;
    macro_rules! on {
        ($values:expr) => {{
            let values = $values;
            let surface = CostSurface::new(Samples::new(width, height, values)?).no_data(no_data);
            engine.cost_distance(&surface, &input.sources, options)
        }};
    }
    /// Signed integers as f64, which holds those of 32 bits.
    fn signed<T: Copy>(values: &[T], to: fn(T) -> f64) -> trazar::Result<Vec<f64>> {
        let mut all = Vec::new();
        all.try_reserve(values.len())
            .map_err(|_| trazar::Error::out_of_memory("the friction", 8 * values.len() as u64))?;
        all.extend(values.iter().map(|&value| to(value)));
        Ok(all)
    }
    match &input.raster.values {
        RasterValues::U8(values) => on!(values),
        RasterValues::U16(values) => on!(values),
        RasterValues::U32(values) => on!(values),
        RasterValues::F32(values) => on!(values),
        RasterValues::F64(values) => on!(values),
        RasterValues::I16(values) => {
            let values = signed(values, f64::from)?;
            on!(&values)
        }
        RasterValues::I32(values) => {
            let values = signed(values, f64::from)?;
            on!(&values)
        }
        RasterValues::I64(values) => {
            let values = signed(values, |value| value as f64)?;
            on!(&values)
        }
        _ => Err(trazar::error::OptionError::new(
            "friction",
            trazar::error::OptionProblem::Malformed,
            "the friction has a type that is not read",
        )
        .into()),
    }
}

impl Steps for Distance<'_> {
    const NAME: &'static str = "distance";
    type Input = Input;
    type Found = Found;
    type Output = (Part, CostFormat);

    fn run_args(&self) -> &RunArgs {
        &self.args.run
    }

    fn backends(&self) -> Option<&'static [Backend]> {
        Some(&[Backend::Cpu])
    }

    fn read(&self) -> Result<Input, Failure> {
        Progress::reading(self.args.run.quiet, || self.read_files())
    }

    fn input_path(&self) -> &Path {
        &self.args.friction
    }

    fn outputs(&self) -> Vec<((Part, CostFormat), &Path)> {
        self.outputs.clone()
    }

    fn size(&self, _: &Input) -> Job {
        Job::LabelBands { pixels: 0 }
    }

    fn work(&self, engine: &Engine, input: &Input) -> trazar::Result<Found> {
        let distance = solve(engine, input, &self.options(input))?;
        let paths = distance.least_cost_paths(&input.ends)?;
        Ok(Found { distance, paths })
    }

    fn write(
        &self,
        (what, format): (Part, CostFormat),
        input: &mut Input,
        found: &Found,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        let Raster { width, height, .. } = input.raster;
        let distance = &found.distance;
        let (values, no_data) = match what {
            Part::Costs => (Values::from(distance.costs()), "nan"),
            Part::Allocation => (Values::U32(distance.allocation().unwrap_or_default()), "0"),
            Part::Direction => (Values::U8(distance.direction().unwrap_or_default()), "255"),
            Part::Paths => {
                return formats::write_paths_geojson(&found.paths, &input.cells, input.epsg, out);
            }
        };
        match format {
            CostFormat::Tif | CostFormat::Tiff => {
                formats::write_values_tiff(values, width, height, &input.tags, no_data, out)
            }
            CostFormat::Png => formats::write_costs_png(distance.costs(), width, height, out),
            CostFormat::Npy | CostFormat::Geojson => {
                formats::write_values_npy(values, width, height, out)
            }
        }
    }

    fn algorithm(&self, engine: &Engine, input: &Input) -> &'static str {
        if engine.backend() != Backend::Cpu {
            // The kernels' only algorithm.
            return DistanceAlgorithm::Tiles.name();
        }
        let Raster { width, height, .. } = input.raster;
        let cells = u64::from(width) * u64::from(height);
        let algorithm = engine.distance_algorithm(&self.options, cells);
        algorithm.name()
    }

    fn input_facts(&self, input: &Input) -> Facts {
        let Raster { width, height, .. } = input.raster;
        let sources = input.sources.as_slice().len() as u64;
        let CellSize { x, y } = input.cell_size;
        Facts {
            text: format!(
                "{}: {width} × {height} cells of {x} × {y}, {}",
                self.args.friction.display(),
                count(sources, "source", "sources"),
            ),
            values: json!({
                "friction": self.args.friction.display().to_string(),
                "width": width,
                "height": height,
                "cell_size": [x, y],
                "sources": sources,
                "notes": image::notes(&input.raster.notes, None),
            }),
        }
    }

    fn found_facts(&self, found: &Found) -> Facts {
        let (mut reached, mut most) = (0u64, 0.0);
        let mut take = |cost: f64| {
            if !cost.is_nan() {
                reached += 1;
                most = f64::max(most, cost);
            }
        };
        match found.distance.costs() {
            Costs::F32(costs) => costs.iter().for_each(|&cost| take(cost.into())),
            Costs::F64(costs) => costs.iter().for_each(|&cost| take(cost)),
            _ => {}
        }
        let paths = match found.paths.len() as u64 {
            0 => String::new(),
            paths => format!(", {}", count(paths, "path", "paths")),
        };
        Facts {
            text: format!(
                "{} reached, the farthest at {most}{paths}",
                count(reached, "cell", "cells")
            ),
            values: json!({
                "reached": reached,
                "farthest": most,
                "paths": found.paths.iter().map(distance::Path::cost).collect::<Vec<_>>(),
            }),
        }
    }
}
