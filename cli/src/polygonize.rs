//! `trazar polygonize`.

use std::io::Write;
use std::mem;
use std::path::Path;

use serde_json::json;
use trazar::formats::{
    self, FileValue, GdsOptions, GeoReference, Note, RasterValues, RegionSource,
    RegionWriteOptions, SampleKind, read_raster,
};
use trazar::regions::SimplifyOptions;
use trazar::trace::ContourSource;
use trazar::{
    Backend, BorderKind, Engine, Job, PixelValue, RegionOptions, Regions, Samples, ValueImage,
};

use crate::args::{Coordinates, Device, NoDataArg, PolygonizeArgs, RegionFormat, RunArgs};
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
    pub(crate) args: &'a PolygonizeArgs,
    format: Option<RegionFormat>,
    pub(crate) options: RegionOptions,
    simplify: Option<SimplifyOptions>,
    gds: GdsOptions,
}

/// A raster.
pub(crate) struct Input {
    about: About,
    values: Values,
}

/// What of a raster's file is used, besides its values.
pub(crate) struct About {
    pub(crate) width: u32,
    pub(crate) height: u32,
    kind: SampleKind,
    /// Where results are; `None` for pixels.
    placed: Option<GeoReference>,
    /// The value that is left out.
    pub(crate) no_data: Option<f64>,
    notes: Vec<String>,
}

/// What a file says of its raster.
pub(crate) struct Header<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) kind: SampleKind,
    pub(crate) no_data: Option<f64>,
    pub(crate) notes: &'a [Note],
}

/// Regions, and what is said of them.
pub(crate) struct FoundRegions {
    source: Box<dyn WriteRegions>,
    regions: u64,
    holes: u64,
    points: u64,
    /// The number of those that are too small.
    left_out: u64,
}

/// Regions of values of any type, in memory or elsewhere.
trait WriteRegions {
    fn write(
        &self,
        format: RegionFormat,
        options: &RegionWriteOptions,
        gds: &GdsOptions,
        out: &mut dyn Write,
    ) -> trazar::Result<()>;
}

impl<S: RegionSource> WriteRegions for S {
    fn write(
        &self,
        format: RegionFormat,
        options: &RegionWriteOptions,
        gds: &GdsOptions,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        match format {
            RegionFormat::Geojson => formats::write_regions_geojson(self, options, out),
            RegionFormat::Geojsonl => formats::write_regions_geojson_lines(self, options, out),
            RegionFormat::Geojsons => formats::write_regions_geojson_sequence(self, options, out),
            RegionFormat::Fgb => formats::write_regions_flatgeobuf(self, options, out),
            RegionFormat::Gds => formats::write_regions_gds(self, options, gds, out),
            RegionFormat::Svg => formats::write_regions_svg(self, options, out),
        }
    }
}

impl FoundRegions {
    /// Takes regions to write. Those of fewer than `min_area` pixels will be left out.
    pub(crate) fn of(regions: impl RegionSource + 'static, min_area: u64) -> trazar::Result<Self> {
        let rings = regions.rings();
        let is_outer = |kind: &&BorderKind| **kind == BorderKind::Outer;
        let count = rings.kinds().iter().filter(is_outer).count() as u64;
        let left_out = match min_area {
            0 | 1 => 0,
            _ => count - formats::count_regions(&regions, min_area)?,
        };
        Ok(Self {
            regions: count,
            holes: rings.len() as u64 - count,
            points: rings.point_count()?,
            left_out,
            source: Box::new(regions),
        })
    }

    pub(crate) fn facts(&self, min_area: u64) -> Facts {
        let mut text = format!(
            "{} with {}, of {}",
            count(self.regions, "region", "regions"),
            count(self.holes, "hole", "holes"),
            count(self.points, "point", "points"),
        );
        if min_area > 1 {
            text += &format!(
                "; {} smaller than {min_area} pixels left out",
                self.left_out
            );
        }
        Facts {
            text,
            values: json!({
                "regions": self.regions,
                "holes": self.holes,
                "points": self.points,
                "left_out": self.left_out,
            }),
        }
    }
}

/// Calls a macro with the types of values, each with its variant of [`Values`].
macro_rules! for_types_of_values {
    ($call:ident) => {
        $call! {
            U8(u8),
            U16(u16),
            U32(u32),
            I16(i16),
            I32(i32),
            I64(i64),
            F32(f32),
        }
    };
}

pub(crate) use for_types_of_values;

/// Defines [`Values`].
macro_rules! types_of_values {
    ($($variant:ident($type:ty),)*) => {
        /// Values of a type whose regions are found.
        pub(crate) enum Values {
            $($variant(Vec<$type>),)*
        }

        impl Values {
            /// The values of a raster of this width, from row `first_row` on; the error says why
            /// there are none.
            pub(crate) fn of(
                values: RasterValues,
                width: u32,
                first_row: u32,
            ) -> Result<Self, String> {
                match values {
                    $(RasterValues::$variant(values) => Ok(Self::$variant(values)),)*
                    RasterValues::F64(values) => {
                        Ok(Self::F32(narrowed(&values, width, first_row)?))
                    }
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
                let (width, height) = (input.about.width, input.about.height);
                match &input.values {
                    $(Values::$variant(values) => {
                        let image = ValueImage::new(Samples::new(width, height, values)?)?;
                        let image = input.about.leave_out(image)?;
                        let regions = engine.trace_regions(&image, &self.options)?;
                        self.changed(regions)
                    })*
                }
            }
        }

        impl Input {
            /// The size of the work.
            fn job(&self) -> trazar::Result<Job> {
                let (width, height) = (self.about.width, self.about.height);
                Ok(match &self.values {
                    $(Values::$variant(values) => {
                        Job::trace_values(&ValueImage::new(Samples::new(width, height, values)?)?)
                    })*
                })
            }
        }
    };
}

for_types_of_values!(types_of_values);

impl Values {
    /// No values, of the type for samples of this kind.
    pub(crate) fn none(kind: SampleKind) -> Self {
        match kind {
            SampleKind::U16 => Self::U16(Vec::new()),
            SampleKind::U32 => Self::U32(Vec::new()),
            SampleKind::I16 => Self::I16(Vec::new()),
            SampleKind::I32 => Self::I32(Vec::new()),
            SampleKind::I64 => Self::I64(Vec::new()),
            SampleKind::F32 | SampleKind::F64 => Self::F32(Vec::new()),
            _ => Self::U8(Vec::new()),
        }
    }
}

/// A type of values.
pub(crate) trait Value: Sized {
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

impl About {
    /// The image without the pixels that have the no-data value.
    fn leave_out<'a, T: PixelValue + Value>(
        &self,
        image: ValueImage<'a, T>,
    ) -> trazar::Result<ValueImage<'a, T>> {
        match self.no_data.and_then(T::of) {
            Some(value) => image.background(value),
            None => Ok(image),
        }
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
        if let Some(options) = &simplify {
            let checked = options.validate();
            checked.map_err(|error| Failure::usage(format!("--simplify: {error}")))?;
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
    fn no_data(&self, file: &Header<'_>, values: &Values) -> Result<Option<f64>, Failure> {
        match self.args.nodata {
            None => Ok(file.no_data),
            Some(NoDataArg::None) => Ok(None),
            Some(NoDataArg::Value(value)) if value.is_nan() || values.can_be(value) => {
                Ok(Some(value))
            }
            Some(NoDataArg::Value(value)) => Err(Failure::usage(format!(
                "{}: no value of {} samples is {}: see --nodata",
                self.args.raster.display(),
                file.kind.name(),
                number(value)
            ))),
        }
    }

    /// What is used of a file with values of this type. `georeference` is its georeference.
    pub(crate) fn about(
        &self,
        file: &Header<'_>,
        values: &Values,
        georeference: impl FnOnce() -> trazar::Result<Option<GeoReference>>,
    ) -> Result<About, Failure> {
        let no_data = self.no_data(file, values)?;
        let mut notes = file.notes.to_vec();
        if self.args.nodata.is_some() {
            notes.retain(|note| !matches!(note, Note::NoData(_)));
        }
        let in_pixels = self.format.is_some_and(|format| !format.is_of_world());
        let asked = if in_pixels {
            Some(Coordinates::Pixels)
        } else {
            self.args.coordinates
        };
        let placed = place::placed(&self.args.raster, asked, georeference)?;
        let mut notes = image::notes(&notes, placed.as_ref());
        if let Some(code) = placed.and_then(|placed| placed.crs?.epsg())
            && self.format.is_some_and(|format| !format.names_crs())
            && code != 4326
        {
            notes.push(format!(
                "the output has no place for the CRS of its coordinates, EPSG:{code}"
            ));
        }
        if self.format == Some(RegionFormat::Gds) {
            self.gds.check_fits(file.width, file.height)?;
        }
        Ok(About {
            width: file.width,
            height: file.height,
            kind: file.kind,
            placed,
            no_data,
            notes,
        })
    }

    /// Leaves out holes and corners, as asked for.
    fn changed<T: FileValue + 'static>(
        &self,
        mut regions: Regions<T>,
    ) -> trazar::Result<FoundRegions> {
        let min_area = self.args.min_area;
        let all = u64::from(regions.count());
        if self.args.fill_holes {
            regions = regions.filter(min_area, true)?;
        }
        let small = all - u64::from(regions.count());
        let found = match &self.simplify {
            None => FoundRegions::of(regions, min_area)?,
            Some(options) => FoundRegions::of(regions.simplify(options)?, min_area)?,
        };
        Ok(FoundRegions {
            regions: all,
            left_out: found.left_out + small,
            ..found
        })
    }

    pub(crate) fn write_found(
        &self,
        format: RegionFormat,
        about: &About,
        found: &FoundRegions,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        let options = RegionWriteOptions::default()
            .georeference(about.placed)
            .min_area(self.args.min_area);
        found.source.write(format, &options, &self.gds, out)
    }

    /// The summary's facts about the raster.
    pub(crate) fn facts(&self, about: &About) -> Facts {
        let name = self.args.raster.display();
        let epsg = about.placed.and_then(|placed| placed.crs);
        let epsg = epsg.and_then(|crs| crs.epsg());
        let mut text = format!(
            "{name}: {} × {} pixels, {}",
            about.width,
            about.height,
            about.kind.name()
        );
        if let Some(code) = epsg {
            text += &format!(", EPSG:{code}");
        }
        let transform = about.placed.and_then(|placed| placed.transform);
        Facts {
            text,
            values: json!({
                "image": name.to_string(),
                "width": about.width,
                "height": about.height,
                "samples": about.kind.name(),
                // JSON has no NaN.
                "nodata": about.no_data.map(|value| match value.is_finite() {
                    true => json!(value),
                    false => json!(value.to_string()),
                }),
                "epsg": epsg,
                "transform": transform.map(|transform| transform.coefficients()),
                "notes": about.notes,
            }),
        }
    }
}

/// 64-bit floats as 32-bit floats, if that loses nothing.
fn narrowed(values: &[f64], width: u32, first_row: u32) -> Result<Vec<f32>, String> {
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
            let (x, y) = (i % width as usize, i / width as usize + first_row as usize);
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
        None
    }

    fn read(&self) -> Result<Input, Failure> {
        let path = &self.args.raster;
        let read = Progress::reading(self.args.run.quiet, || read_raster(source(path)));
        let mut raster = read.map_err(|error| Failure::about(path, error))?;
        let values = mem::replace(&mut raster.values, RasterValues::U8(Vec::new()));
        let values = Values::of(values, raster.width, 0)
            .map_err(|reason| Failure::Failed(format!("{}: {reason}", path.display())))?;
        let header = Header {
            width: raster.width,
            height: raster.height,
            kind: raster.kind,
            no_data: raster.no_data,
            notes: &raster.notes,
        };
        let about = self.about(&header, &values, || raster.georeference())?;
        Ok(Input { about, values })
    }

    fn input_path(&self) -> &Path {
        &self.args.raster
    }

    fn outputs(&self) -> Vec<(RegionFormat, &Path)> {
        let output = self.format.zip(self.args.output.as_deref());
        output.into_iter().collect()
    }

    fn size(&self, input: &Input) -> Job {
        // Values that make no image make no work either: the job says what is wrong.
        input.job().unwrap_or(Job::TraceBands { pixels: 0 })
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
        self.write_found(format, &input.about, found, out)
    }

    fn algorithm(&self, _: &Engine, _: &Input) -> &'static str {
        "fragments"
    }

    fn input_facts(&self, input: &Input) -> Facts {
        self.facts(&input.about)
    }

    fn found_facts(&self, found: &FoundRegions) -> Facts {
        found.facts(self.args.min_area)
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
    if args.memory.is_some() && !matches!(args.run.device, Device::Auto | Device::Cpu) {
        return Err(Failure::usage(
            "with --memory the processor finds regions: leave --device out, or --memory",
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

#[cfg(test)]
#[path = "polygonize_tests.rs"]
mod tests;
