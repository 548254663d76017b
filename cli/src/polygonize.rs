//! `trazar polygonize`.

use std::io::Write;
use std::mem;
use std::path::Path;

use serde_json::json;
use trazar::formats::{
    self, FileValue, GdsOptions, GeoReference, Note, Raster, RasterValues, RegionSource,
    RegionWriteOptions, read_raster,
};
use trazar::regions::{SimplifiedRegions, SimplifyOptions};
use trazar::{Backend, BorderKind, Engine, Job, RegionOptions, Regions, Samples, ValueImage};

use crate::args::{Coordinates, NoDataArg, PolygonizeArgs, RegionFormat, RunArgs};
use crate::facts::{Facts, count};
use crate::failure::Failure;
use crate::gds::gds_options;
use crate::image;
use crate::output;
use crate::paths::{check_distinct, source};
use crate::place;
use crate::printable::number;
use crate::progress::Progress;
use crate::run_job::Steps;

/// The job, its options checked.
pub(crate) struct Polygonize<'a> {
    args: &'a PolygonizeArgs,
    format: Option<RegionFormat>,
    options: RegionOptions,
    simplify: Option<SimplifyOptions>,
    gds: GdsOptions,
}

/// A raster, and what of its file is used.
pub(crate) struct Input {
    /// Without its values.
    raster: Raster,
    values: Values,
    /// Where results are; `None` for pixels.
    placed: Option<GeoReference>,
    /// The value that is left out.
    no_data: Option<f64>,
    notes: Vec<String>,
}

/// Defines [`Values`] and [`FoundRegions`], with the type of values of each variant.
macro_rules! types_of_values {
    ($($variant:ident($type:ty),)*) => {
        /// Values of a type whose regions are found.
        enum Values {
            $($variant(Vec<$type>),)*
        }

        /// Regions of values of any type.
        pub(crate) enum FoundRegions {
            $($variant(Found<$type>),)*
        }

        impl Values {
            /// The values of a raster of this width; the error says why there are none.
            fn of(values: RasterValues, width: u32) -> Result<Self, String> {
                match values {
                    $(RasterValues::$variant(values) => Ok(Self::$variant(values)),)*
                    RasterValues::F64(values) => Ok(Self::F32(narrowed(&values, width)?)),
                    other => Err(format!("regions of {} values are not found", other.dtype())),
                }
            }

            /// Whether the type of the values has `number`.
            fn can_be(&self, number: f64) -> bool {
                match self {
                    $(Self::$variant(_) => <$type as Value>::of(number).is_some(),)*
                }
            }
        }

        impl Polygonize<'_> {
            fn trace(&self, engine: &Engine, input: &Input) -> trazar::Result<FoundRegions> {
                let (width, height) = (input.raster.width, input.raster.height);
                match &input.values {
                    $(Values::$variant(values) => {
                        let mut image = ValueImage::new(Samples::new(width, height, values)?)?;
                        if let Some(value) = input.no_data.and_then(<$type as Value>::of) {
                            image = image.background(value)?;
                        }
                        let regions = engine.trace_regions(&image, &self.options)?;
                        Ok(FoundRegions::$variant(self.changed(regions)?))
                    })*
                }
            }
        }

        /// What is found as `$regions` in `$do`, whatever its type.
        macro_rules! with_regions {
            ($found:expr, $regions:ident => $do:expr) => {
                match $found {
                    $(FoundRegions::$variant($regions) => $do,)*
                }
            };
        }
    };
}

types_of_values! {
    U8(u8),
    U16(u16),
    U32(u32),
    I16(i16),
    I32(i32),
    I64(i64),
    F32(f32),
}

/// What is written, and what is said of it.
pub(crate) struct Found<T> {
    regions: Polygons<T>,
    /// The numbers of all regions, and of those that are too small.
    all: u64,
    small: u64,
}

enum Polygons<T> {
    Traced(Regions<T>),
    Simplified(SimplifiedRegions<T>),
}

/// A type of values.
trait Value: Sized {
    /// The value that equals `number`, if there is one; for floats, the nearest one.
    fn of(number: f64) -> Option<Self>;
}

macro_rules! values {
    ($($type:ty)*) => {$(
        impl Value for $type {
            fn of(number: f64) -> Option<Self> {
                // The conversion saturates, beyond all types.
                let whole = number as i128;
                let is_whole = whole as f64 == number;
                is_whole.then(|| whole.try_into().ok()).flatten()
            }
        }
    )*};
}

values! { u8 u16 u32 i16 i32 i64 }

impl Value for f32 {
    fn of(number: f64) -> Option<Self> {
        Some(number as Self)
    }
}

impl<'a> Polygonize<'a> {
    pub(crate) fn new(args: &'a PolygonizeArgs) -> Result<Self, Failure> {
        let format = output::format(args.output.as_deref(), args.format)?;
        check(args, format)?;
        let simplify = args.simplify.map(|tolerance| {
            SimplifyOptions::default()
                .tolerance(tolerance)
                .method(args.simplify_method.into())
        });
        if let Some(Err(error)) = simplify.map(|options| options.validate()) {
            return Err(Failure::usage(format!("--simplify: {error}")));
        }
        Ok(Self {
            simplify,
            args,
            format,
            options: RegionOptions::default().connectivity(args.connectivity.into()),
            gds: gds_options(&args.gds)?,
        })
    }

    /// The value to leave out.
    fn no_data(&self, raster: &Raster, values: &Values) -> Result<Option<f64>, Failure> {
        match self.args.nodata {
            None => Ok(raster.no_data),
            Some(NoDataArg::None) => Ok(None),
            Some(NoDataArg::Value(value)) if value.is_nan() || values.can_be(value) => {
                Ok(Some(value))
            }
            Some(NoDataArg::Value(value)) => Err(Failure::usage(format!(
                "{}: no value of {} samples is {}: see --nodata",
                self.args.raster.display(),
                raster.kind.name(),
                number(value)
            ))),
        }
    }

    /// Leaves out holes and corners, as asked for.
    fn changed<T: FileValue>(&self, mut regions: Regions<T>) -> trazar::Result<Found<T>> {
        let min_area = self.args.min_area;
        let all = u64::from(regions.count());
        let small = if self.args.fill_holes {
            regions = regions.filter(min_area, true)?;
            all - u64::from(regions.count())
        } else {
            count_small(&regions, min_area)
        };
        let regions = match &self.simplify {
            None => Polygons::Traced(regions),
            Some(options) => Polygons::Simplified(regions.simplify(options)?),
        };
        Ok(Found {
            regions,
            all,
            small,
        })
    }

    fn write_options(&self, input: &Input) -> RegionWriteOptions {
        RegionWriteOptions::default()
            .georeference(input.placed)
            .min_area(self.args.min_area)
    }

    /// The raster without its values, and these.
    fn read_raster(&self) -> Result<(Raster, Values), Failure> {
        let path = &self.args.raster;
        let read = Progress::reading(self.args.run.quiet, || read_raster(source(path)));
        let mut raster = read.map_err(|error| Failure::about(path, error))?;
        let values = mem::replace(&mut raster.values, RasterValues::U8(Vec::new()));
        let values = Values::of(values, raster.width)
            .map_err(|reason| Failure::Failed(format!("{}: {reason}", path.display())))?;
        Ok((raster, values))
    }
}

/// 64-bit floats as 32-bit floats, if that loses nothing.
fn narrowed(values: &[f64], width: u32) -> Result<Vec<f32>, String> {
    let mut narrow = Vec::new();
    narrow.try_reserve_exact(values.len()).map_err(|_| {
        format!(
            "out of memory: {} bytes for values could not be had",
            4 * values.len()
        )
    })?;
    for (i, &value) in values.iter().enumerate() {
        let near = value as f32;
        if f64::from(near) != value && !value.is_nan() {
            let (x, y) = (i % width as usize, i / width as usize);
            return Err(format!(
                "the value {} at x = {x}, y = {y} is no 32-bit float: classify the values, or \
                 save them as float32",
                number(value)
            ));
        }
        narrow.push(near);
    }
    Ok(narrow)
}

impl Steps for Polygonize<'_> {
    const NAME: &'static str = "polygonize";
    type Input = Input;
    type Found = FoundRegions;
    type Output = RegionFormat;

    fn run_args(&self) -> &RunArgs {
        &self.args.run
    }

    fn backends(&self) -> Option<&'static [Backend]> {
        // `--device auto` means the processor.
        Some(&[Backend::Cpu])
    }

    fn read(&self) -> Result<Input, Failure> {
        let (mut raster, values) = self.read_raster()?;
        let no_data = self.no_data(&raster, &values)?;
        if self.args.nodata.is_some() {
            raster.notes.retain(|note| !matches!(note, Note::NoData(_)));
        }
        let in_pixels = self.format.is_some_and(|format| !format.is_of_world());
        let asked = if in_pixels {
            Some(Coordinates::Pixels)
        } else {
            self.args.coordinates
        };
        let placed = place::placed(&self.args.raster, asked, || raster.georeference())?;
        let mut notes = image::notes(&raster.notes, placed.as_ref());
        if let Some(code) = placed.and_then(|placed| placed.crs?.epsg())
            && self.format.is_some_and(|format| !format.names_crs())
            && code != 4326
        {
            notes.push(format!(
                "the output has no place for the CRS of its coordinates, EPSG:{code}"
            ));
        }
        if self.format == Some(RegionFormat::Gds) {
            self.gds.check_fits(raster.width, raster.height)?;
        }
        Ok(Input {
            raster,
            values,
            placed,
            no_data,
            notes,
        })
    }

    fn input_path(&self) -> &Path {
        &self.args.raster
    }

    fn outputs(&self) -> Vec<(RegionFormat, &Path)> {
        let output = self.format.zip(self.args.output.as_deref());
        output.into_iter().collect()
    }

    fn size(&self, input: &Input) -> Job {
        Job::TraceBands {
            pixels: u64::from(input.raster.width) * u64::from(input.raster.height),
        }
    }

    fn work(&self, engine: &Engine, input: &Input) -> trazar::Result<FoundRegions> {
        self.trace(engine, input)
    }

    fn write(
        &self,
        format: RegionFormat,
        input: &mut Input,
        found: &FoundRegions,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        let options = self.write_options(input);
        with_regions!(found, found => match &found.regions {
            Polygons::Traced(regions) => self.write_regions(format, regions, &options, out),
            Polygons::Simplified(regions) => self.write_regions(format, regions, &options, out),
        })
    }

    fn algorithm(&self, _: &Engine, _: &Input) -> &'static str {
        "fragments"
    }

    fn input_facts(&self, input: &Input) -> Facts {
        let raster = &input.raster;
        let name = self.args.raster.display();
        let epsg = input.placed.and_then(|placed| placed.crs);
        let epsg = epsg.and_then(|crs| crs.epsg());
        let mut text = format!(
            "{name}: {} × {} pixels, {}",
            raster.width,
            raster.height,
            raster.kind.name()
        );
        if let Some(code) = epsg {
            text += &format!(", EPSG:{code}");
        }
        let transform = input.placed.and_then(|placed| placed.transform);
        Facts {
            text,
            values: json!({
                "image": name.to_string(),
                "width": raster.width,
                "height": raster.height,
                "samples": raster.kind.name(),
                // JSON has no NaN.
                "nodata": input.no_data.map(|value| match value.is_finite() {
                    true => json!(value),
                    false => json!(value.to_string()),
                }),
                "epsg": epsg,
                "transform": transform.map(|transform| transform.coefficients()),
                "notes": input.notes,
            }),
        }
    }

    fn found_facts(&self, found: &FoundRegions) -> Facts {
        with_regions!(found, found => found_facts(found, self.args.min_area))
    }
}

impl Polygonize<'_> {
    fn write_regions(
        &self,
        format: RegionFormat,
        regions: &impl RegionSource,
        options: &RegionWriteOptions,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        match format {
            RegionFormat::Geojson => formats::write_regions_geojson(regions, options, out),
            RegionFormat::Geojsonl => formats::write_regions_geojson_lines(regions, options, out),
            RegionFormat::Geojsons => {
                formats::write_regions_geojson_sequence(regions, options, out)
            }
            RegionFormat::Fgb => formats::write_regions_flatgeobuf(regions, options, out),
            RegionFormat::Gds => formats::write_regions_gds(regions, options, &self.gds, out),
            RegionFormat::Svg => formats::write_regions_svg(regions, options, out),
        }
    }
}

/// The number of regions of fewer than `min_area` pixels.
fn count_small<T>(regions: &Regions<T>, min_area: u64) -> u64 {
    if min_area <= 1 {
        return 0;
    }
    let contours = regions.contours().iter();
    let outers = contours.filter(|contour| contour.kind() == BorderKind::Outer);
    outers
        .filter(|outer| {
            let holes: f64 = outer.children().map(|hole| hole.area()).sum();
            outer.area() - holes < min_area as f64
        })
        .count() as u64
}

fn found_facts<T>(found: &Found<T>, min_area: u64) -> Facts {
    let contours = match &found.regions {
        Polygons::Traced(regions) => regions.contours(),
        Polygons::Simplified(regions) => regions.contours(),
    };
    let (all, small) = (found.all, found.small);
    let kinds = contours.kinds().iter();
    let holes = kinds.filter(|&&kind| kind == BorderKind::Hole).count() as u64;
    let points = contours.points().len() as u64;
    let mut text = format!(
        "{} with {}, of {}",
        count(all, "region", "regions"),
        count(holes, "hole", "holes"),
        count(points, "point", "points"),
    );
    if min_area > 1 {
        text += &format!("; {small} smaller than {min_area} pixels left out");
    }
    Facts {
        text,
        values: json!({ "regions": all, "holes": holes, "points": points, "left_out": small }),
    }
}

/// Refuses options that do not go together.
fn check(args: &PolygonizeArgs, format: Option<RegionFormat>) -> Result<(), Failure> {
    args.run.check()?;
    args.run.check_one_gpu("polygonize")?;
    output::check_not_beside_json(args.output.as_deref(), &args.run)?;
    check_distinct(
        &[("RASTER", Some(&args.raster))],
        &[("-o", args.output.as_deref())],
    )?;
    if args.simplify.is_some() && (args.memory.is_some() || format == Some(RegionFormat::Gds)) {
        return Err(Failure::usage(
            "--simplify needs all polygons in memory, and layouts with holes need edges along \
             pixels: leave out --simplify, or --memory and GDSII",
        ));
    }
    if args.fill_holes && args.memory.is_some() {
        return Err(Failure::usage(
            "--fill-holes needs all polygons in memory: leave out one of --fill-holes and --memory",
        ));
    }
    if args.memory.is_some() {
        return Err(Failure::usage(
            "regions are not found in bands yet, they need the whole raster in memory: leave \
             --memory out",
        ));
    }
    if args.coordinates == Some(Coordinates::World)
        && format.is_some_and(|format| !format.is_of_world())
    {
        return Err(Failure::usage(
            "pictures and layouts are in pixels: use --coordinates world with .geojson, \
             .geojsonl, .geojsons or .fgb",
        ));
    }
    if format == Some(RegionFormat::Gds) {
        if args.gds.layer.is_some() {
            return Err(Failure::usage(
                "the layers are the values: leave --layer out",
            ));
        }
    } else if let Some(option) = args.gds.given() {
        return Err(Failure::usage(format!(
            "{option} is for GDSII: use it with an OUT that ends in .gds, or --format gds"
        )));
    }
    Ok(())
}
