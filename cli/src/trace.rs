//! `trazar trace`.

use std::io::Write;
use std::time::Instant;

use serde_json::json;
use trazar::formats::{self, GdsOptions, GreyImage};
use trazar::{BorderKind, Contours, Job, TraceOptions};

use crate::args::{ContourFormat, GdsArgs, Geometry, Retrieval, TraceAlgorithm, TraceArgs};
use crate::failure::Failure;
use crate::image;
use crate::output::{self, Destination};
use crate::printable::number;
use crate::progress::Progress;
use crate::repeat;
use crate::start::Start;
use crate::summary::{Facts, Seconds, Summary, count};

pub(crate) fn run(args: &TraceArgs) -> Result<(), Failure> {
    let format = match &args.output {
        Some(path) => Some(output::format(path, args.format)?),
        None => None,
    };
    check(args, format)?;
    let gds = gds_options(&args.gds)?;
    let options = TraceOptions {
        retrieval: args.retrieval.map(Into::into).unwrap_or_default(),
        approximation: args.approximation.into(),
        geometry: match (args.geometry, format) {
            (Some(geometry), _) => geometry.into(),
            (None, Some(ContourFormat::Gds)) => trazar::Geometry::Edges,
            (None, _) => trazar::Geometry::default(),
        },
        algorithm: args.algorithm.map(Into::into),
        tiles: args.tiles,
    };
    options.validate()?;
    let algorithm = options.algorithm;
    let start = Start::begin(&args.run, algorithm.map(trazar::TraceAlgorithm::devices))?;
    let (mut read, read_seconds) =
        image::read(&args.input, &args.run, format == Some(ContourFormat::Png))?;
    if format == Some(ContourFormat::Gds) {
        // Before any work.
        gds.check_fits(read.image.width(), read.image.height())?;
    }
    let destination = args.output.as_deref().map(Destination::open).transpose()?;

    let (engine, start_seconds) = start.finish(|| Job::trace(&read.image));
    let (engine, progress) = Progress::watch(engine, "trace", args.run.quiet);
    let (contours, work_seconds) =
        repeat::fastest(args.run.repeat, || engine.trace(&read.image, &options))
            .map_err(|error| Failure::about(&args.input.image, error))?;
    drop(progress);

    let started = Instant::now();
    let mut written = Vec::new();
    if let (Some(mut destination), Some(format), Some(path)) = (destination, format, &args.output) {
        let grey = read.grey.take();
        destination.fill(args.run.quiet, |out| {
            write(&contours, format, grey, &gds, out)
        })?;
        destination.commit()?;
        written.push(path.display().to_string());
    }
    let holes = contours.kinds().iter().filter(|&&k| k == BorderKind::Hole);
    let holes = holes.count() as u64;
    let all = contours.len() as u64;
    let points = contours.points().len() as u64;
    Summary {
        input: image::facts(&args.input, &read),
        device: engine.device().name(),
        algorithm: TraceAlgorithm::name_of(engine.trace_algorithm(&options)),
        found: Facts {
            text: format!(
                "{} ({} outer, {}) of {}",
                count(all, "contour", "contours"),
                all - holes,
                count(holes, "hole", "holes"),
                count(points, "point", "points"),
            ),
            values: json!({ "contours": all, "holes": holes, "points": points }),
        },
        routes: None,
        work: "trace",
        seconds: Seconds {
            start: start_seconds,
            read: read_seconds,
            work: work_seconds,
            write: started.elapsed().as_secs_f64(),
        },
        written,
    }
    .say(&args.run)
}

/// Refuses options that do not go together.
fn check(args: &TraceArgs, format: Option<ContourFormat>) -> Result<(), Failure> {
    args.run.check()?;
    output::check_not_beside_json(args.output.as_deref(), &args.run)?;
    output::check_distinct(
        &[("IMAGE", Some(&args.input.image))],
        &[("-o", args.output.as_deref())],
    )?;
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

fn gds_options(args: &GdsArgs) -> Result<GdsOptions, Failure> {
    let default = GdsOptions::default();
    let mut options = GdsOptions {
        database_unit: args.dbu.unwrap_or(default.database_unit),
        user_unit: args.user_unit.unwrap_or(default.user_unit),
        pixel_size: default.pixel_size,
        layer: args.layer.unwrap_or(default.layer),
        datatype: args.datatype.unwrap_or(default.datatype),
        max_vertices: args.max_vertices.unwrap_or(default.max_vertices),
        cell: args.cell.clone().unwrap_or(default.cell),
        library: args.library.clone().unwrap_or(default.library),
    };
    options.validate()?;
    if let Some(nanometres) = args.pixel_size {
        options.pixel_size = pixel_size(nanometres, options.database_unit)?;
    }
    Ok(options)
}

/// The side of a pixel in database units, which are given in metres.
fn pixel_size(nanometres: f64, database_unit: f64) -> Result<u32, Failure> {
    let units = nanometres * 1e-9 / database_unit;
    let whole = units.round();
    let most = f64::from(i32::MAX);
    let (size, unit) = (number(nanometres), number(database_unit));
    if !(1.0..=most).contains(&whole) {
        let [least, most] = [1.0, most].map(|units| number(rounded(units * database_unit * 1e9)));
        return Err(Failure::usage(format!(
            "a pixel of {size} nm does not fit GDSII: with a database unit of {unit} m it is \
             {least} to {most} nm (see --dbu)"
        )));
    }
    if (units - whole).abs() > 1e-6 * whole {
        return Err(Failure::usage(format!(
            "a pixel of {size} nm is {} database units of {unit} m: it must be a whole number, \
             1 at least (see --dbu)",
            number(rounded(units))
        )));
    }
    Ok(whole as u32)
}

/// With 12 digits: without what a product of binary fractions leaves in the last ones.
fn rounded(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

fn write(
    contours: &Contours,
    format: ContourFormat,
    grey: Option<GreyImage>,
    gds: &GdsOptions,
    out: &mut dyn Write,
) -> trazar::Result<()> {
    match (format, grey) {
        (ContourFormat::Json, _) => formats::write_json(contours, out),
        (ContourFormat::Svg, _) => formats::write_svg(contours, out),
        (ContourFormat::Geojson, _) => formats::write_geojson(contours, out),
        (ContourFormat::Gds, _) => formats::write_gds(contours, gds, out),
        (ContourFormat::Png, Some(grey)) => formats::write_overlay(contours, grey, out),
        (ContourFormat::Png, None) => Err(trazar::Error::Unwritable {
            format: "png",
            reason: "the picture to draw over was not kept".into(),
        }),
    }
}
