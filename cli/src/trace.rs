//! `trazar trace`.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;
use trazar::formats::{self, GdsOptions, GeoReference, ReadImage};
use trazar::trace::{ContourSource, TileCounts};
use trazar::{Backend, BorderKind, Contours, Engine, Job, TraceAlgorithm, TraceOptions};

use crate::args::{ContourFormat, Coordinates, Geometry, Retrieval, RunArgs, TraceArgs};
use crate::facts::{Facts, count};
use crate::failure::Failure;
use crate::gds::gds_options;
use crate::image;
use crate::output;
use crate::paths::check_distinct;
use crate::place;
use crate::run_job::Steps;

/// The job, its options checked.
pub(crate) struct Trace<'a> {
    pub(crate) args: &'a TraceArgs,
    pub(crate) format: Option<ContourFormat>,
    pub(crate) options: TraceOptions,
    pub(crate) gds: GdsOptions,
}

/// The image, and where results are; `None` for pixels.
pub(crate) struct Input {
    read: ReadImage,
    placed: Option<GeoReference>,
}

impl<'a> Trace<'a> {
    /// Where results are, if their format has such coordinates.
    pub(crate) fn placed(
        &self,
        read: impl FnOnce() -> trazar::Result<Option<GeoReference>>,
    ) -> Result<Option<GeoReference>, Failure> {
        match self.format {
            Some(ContourFormat::Geojson) => {
                place::placed(&self.args.input.image, self.args.coordinates, read)
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn new(args: &'a TraceArgs) -> Result<Self, Failure> {
        let format = output::format(args.output.as_deref(), args.format)?;
        check(args, format)?;
        let gds = gds_options(&args.gds)?;
        let options = TraceOptions::default()
            .retrieval(args.retrieval.map(Into::into).unwrap_or_default())
            .approximation(args.approximation.into())
            .geometry(match (args.geometry, format) {
                (Some(geometry), _) => geometry.into(),
                (None, Some(ContourFormat::Gds)) => trazar::Geometry::Edges,
                (None, _) => trazar::Geometry::default(),
            })
            .algorithm(algorithm(args)?);
        options.contours.validate()?;
        Ok(Self {
            args,
            format,
            options,
            gds,
        })
    }

    /// Writes contours in a format that needs nothing else.
    pub(crate) fn write_contours(
        &self,
        format: ContourFormat,
        contours: &impl ContourSource,
        placed: Option<&GeoReference>,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        match format {
            ContourFormat::Json => formats::write_contours_json(contours, out),
            ContourFormat::Svg => formats::write_contours_svg(contours, out),
            ContourFormat::Geojson => match placed {
                Some(placed) => formats::write_contours_geojson_in(contours, placed, out),
                None => formats::write_contours_geojson(contours, out),
            },
            ContourFormat::Gds => formats::write_contours_gds(contours, &self.gds, out),
            ContourFormat::Png => {
                Err(io::Error::other("the picture to draw over was not kept").into())
            }
        }
    }
}

impl Steps for Trace<'_> {
    const NAME: &'static str = "trace";
    type Input = Input;
    type Found = Contours;
    type Output = ContourFormat;

    fn run_args(&self) -> &RunArgs {
        &self.args.run
    }

    fn backends(&self) -> Option<&'static [Backend]> {
        self.options.algorithm.map(TraceAlgorithm::backends)
    }

    fn read(&self) -> Result<Input, Failure> {
        let keep_grey = self.format == Some(ContourFormat::Png);
        let read = image::read(&self.args.input, &self.args.run, keep_grey)?;
        if self.format == Some(ContourFormat::Gds) {
            self.gds
                .check_fits(read.image.width(), read.image.height())?;
        }
        let placed = self.placed(|| read.georeference())?;
        Ok(Input { read, placed })
    }

    fn input_path(&self) -> &Path {
        &self.args.input.image
    }

    fn outputs(&self) -> Vec<(ContourFormat, &Path)> {
        let output = self.format.zip(self.args.output.as_deref());
        output.into_iter().collect()
    }

    fn size(&self, input: &Input) -> Job {
        Job::trace(&input.read.image)
    }

    fn work(&self, engine: &Engine, input: &Input) -> trazar::Result<Contours> {
        engine.trace(&input.read.image, &self.options)
    }

    fn write(
        &self,
        format: ContourFormat,
        input: &mut Input,
        contours: &Contours,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        match (format, input.read.grey.take()) {
            (ContourFormat::Png, Some(grey)) => formats::write_overlay_png(contours, grey, out),
            _ => self.write_contours(format, contours, input.placed.as_ref(), out),
        }
    }

    fn algorithm(&self, engine: &Engine, _: &Input) -> &'static str {
        engine.trace_algorithm(&self.options).name()
    }

    fn input_facts(&self, input: &Input) -> Facts {
        image::facts(&self.args.input, &input.read, input.placed.as_ref())
    }

    fn found_facts(&self, contours: &Contours) -> Facts {
        found_facts(contours.kinds(), contours.points().len() as u64)
    }
}

/// The summary's facts about contours, from their kinds and the number of their points.
pub(crate) fn found_facts(kinds: &[BorderKind], points: u64) -> Facts {
    let holes = kinds.iter().filter(|&&kind| kind == BorderKind::Hole);
    let holes = holes.count() as u64;
    let all = kinds.len() as u64;
    Facts {
        text: format!(
            "{} ({} outer, {}) of {}",
            count(all, "contour", "contours"),
            all - holes,
            count(holes, "hole", "holes"),
            count(points, "point", "points"),
        ),
        values: json!({ "contours": all, "holes": holes, "points": points }),
    }
}

/// The algorithm, if one is named, or implied by a number of tiles.
fn algorithm(args: &TraceArgs) -> Result<Option<TraceAlgorithm>, Failure> {
    let named: Option<TraceAlgorithm> = args.algorithm.map(Into::into);
    let Some((columns, rows)) = args.tiles else {
        return Ok(named);
    };
    match named {
        None | Some(TraceAlgorithm::Tiles(_)) => {
            Ok(Some(TraceAlgorithm::Tiles(TileCounts::new(columns, rows)?)))
        }
        Some(other) => Err(Failure::usage(format!(
            "--tiles is for the algorithm tiles, not for {other}: leave one of the two out"
        ))),
    }
}

/// Refuses options that do not go together.
fn check(args: &TraceArgs, format: Option<ContourFormat>) -> Result<(), Failure> {
    args.run.check()?;
    if args.input.memory.is_none() {
        args.run.check_one_gpu("trace")?;
    }
    output::check_not_beside_json(args.output.as_deref(), &args.run)?;
    check_distinct(
        &[("IMAGE", Some(&args.input.image))],
        &[("-o", args.output.as_deref())],
    )?;
    if args.coordinates == Some(Coordinates::World)
        && format.is_some_and(|format| format != ContourFormat::Geojson)
    {
        return Err(Failure::usage(
            "only GeoJSON has coordinates of a CRS: use --coordinates world with .geojson",
        ));
    }
    if format == Some(ContourFormat::Gds) {
        if args.geometry == Some(Geometry::Centers) {
            return Err(Failure::usage(
                "a GDSII layout follows the pixels' edges: leave --geometry out, or use edges",
            ));
        }
        match args.retrieval {
            Some(Retrieval::List) => {
                return Err(Failure::usage(
                    "GDSII needs to know which holes are whose: use --retrieval ccomp or tree",
                ));
            }
            Some(Retrieval::External) => {
                return Err(Failure::usage(
                    "a GDSII layout covers the foreground, and external borders leave its holes \
                     out: use --retrieval ccomp or tree",
                ));
            }
            _ => {}
        }
    } else if let Some(option) = args.gds.given() {
        return Err(Failure::usage(format!(
            "{option} is for GDSII: use it with an OUT that ends in .gds, or --format gds"
        )));
    }
    Ok(())
}
