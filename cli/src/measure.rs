//! `trazar measure`.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use trazar::formats::{self, Raster, RasterValues, read_raster};
use trazar::measure::{Label, MeasureOptions, Measures, Properties};
use trazar::{Backend, Engine, Job, Samples};

use crate::args::{Asked, MeasureArgs, RunArgs, TableFormat};
use crate::facts::{Facts, count};
use crate::failure::Failure;
use crate::image;
use crate::output;
use crate::paths::{check_distinct, check_one_stdin, is_stdout, source};
use crate::progress::Progress;
use crate::run_job::Steps;

/// The job, its options checked.
pub(crate) struct Measure<'a> {
    args: &'a MeasureArgs,
    format: Option<TableFormat>,
    options: MeasureOptions,
}

/// A label image, and perhaps one of intensities.
pub(crate) struct Input {
    labels: Raster,
    intensities: Option<Raster>,
}

impl<'a> Measure<'a> {
    pub(crate) fn new(args: &'a MeasureArgs) -> Result<Self, Failure> {
        let format = match args.output.as_deref() {
            // There is one format.
            Some(path) if is_stdout(path) => Some(TableFormat::Csv),
            path => output::format(path, args.format)?,
        };
        args.run.check()?;
        args.run.check_one_gpu("measure")?;
        if args.run.json && args.output.as_deref().is_some_and(is_stdout) {
            return Err(Failure::usage(
                "only one of -o - and --json can have standard output",
            ));
        }
        let intensity = ("--intensity", args.intensity.as_deref());
        let inputs = [("LABELS", Some(args.labels.as_path())), intensity];
        check_one_stdin(&inputs)?;
        check_distinct(&inputs, &[("-o", args.output.as_deref())])?;
        let spacing = match args.spacing[..] {
            [both] => [both; 2],
            [rows, columns] => [rows, columns],
            _ => return Err(Failure::usage("--spacing takes one number or two")),
        };
        let mut properties = Vec::new();
        for asked in &args.properties {
            match asked {
                Asked::Property(property) => properties.push(*property),
                Asked::All => {
                    let all = Properties::all(args.intensity.is_some());
                    properties.extend(all.as_slice());
                }
            }
        }
        if args.intensity.is_none()
            && let Some(property) = properties.iter().find(|each| each.needs_intensities())
        {
            return Err(Failure::usage(format!(
                "{property} needs an image of intensities: --intensity"
            )));
        }
        Ok(Self {
            args,
            format,
            options: MeasureOptions::default()
                .properties(properties)
                .spacing(spacing),
        })
    }

    fn read_raster(&self, path: &Path) -> Result<Raster, Failure> {
        let read = Progress::reading(self.args.run.quiet, || read_raster(source(path)));
        read.map_err(|error| Failure::about(path, error))
    }

    fn measure<L: Label>(
        &self,
        engine: &Engine,
        input: &Input,
        values: &[L],
    ) -> trazar::Result<Measures> {
        let (width, height) = (input.labels.width, input.labels.height);
        let labels = Samples::new(width, height, values)?;
        let Some(raster) = &input.intensities else {
            return engine.measure(labels, &self.options);
        };
        macro_rules! with {
            ($values:expr) => {{
                let intensities = Samples::new(raster.width, raster.height, $values)?;
                engine.measure_intensities(labels, intensities, &self.options)
            }};
        }
        match &raster.values {
            RasterValues::U8(values) => with!(values),
            RasterValues::U16(values) => with!(values),
            RasterValues::U32(values) => with!(values),
            RasterValues::I16(values) => with!(values),
            RasterValues::I32(values) => with!(values),
            RasterValues::I64(values) => with!(values),
            RasterValues::F32(values) => with!(values),
            RasterValues::F64(values) => with!(values),
            other => Err(unsupported(other)),
        }
    }
}

/// The error for values that are no labels.
fn unsupported(values: &RasterValues) -> trazar::Error {
    let reason = format!("values of {} are not measured", values.dtype());
    std::io::Error::other(reason).into()
}

/// Sets pixels with the file's no-data value to 0, background.
#[allow(clippy::cast_lossless, reason = "of some of the types only")]
fn leave_out(raster: &mut Raster) {
    let Some(no_data) = raster.no_data else {
        return;
    };
    /// Replaces values equal to `no_data` by 0, if the type can hold it.
    fn clear<T: Copy + PartialEq + Default>(values: &mut [T], no_data: Option<T>) {
        if let Some(no_data) = no_data {
            for value in values.iter_mut().filter(|value| **value == no_data) {
                *value = T::default();
            }
        }
    }
    // Up to here `f64` holds every whole number exactly; larger no-data values are ignored.
    const MOST: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
    let whole = no_data.fract() == 0.0 && no_data.abs() <= MOST;
    let Some(no_data) = whole.then_some(no_data as i64) else {
        return;
    };
    match &mut raster.values {
        RasterValues::U8(values) => clear(values, no_data.try_into().ok()),
        RasterValues::U16(values) => clear(values, no_data.try_into().ok()),
        RasterValues::U32(values) => clear(values, no_data.try_into().ok()),
        RasterValues::I16(values) => clear(values, no_data.try_into().ok()),
        RasterValues::I32(values) => clear(values, no_data.try_into().ok()),
        RasterValues::I64(values) => clear(values, Some(no_data)),
        _ => {}
    }
}

impl Steps for Measure<'_> {
    const NAME: &'static str = "measure";
    type Input = Input;
    type Found = Measures;
    type Output = TableFormat;

    fn run_args(&self) -> &RunArgs {
        &self.args.run
    }

    fn backends(&self) -> Option<&'static [Backend]> {
        Some(&[Backend::Cpu])
    }

    fn read(&self) -> Result<Input, Failure> {
        let mut labels = self.read_raster(&self.args.labels)?;
        if let RasterValues::F32(_) | RasterValues::F64(_) = labels.values {
            return Err(Failure::Failed(format!(
                "{}: values of {}: labels are integers",
                self.args.labels.display(),
                labels.values.dtype()
            )));
        }
        leave_out(&mut labels);
        let intensities = match &self.args.intensity {
            Some(path) => Some(self.read_raster(path)?),
            None => None,
        };
        if let (Some(raster), Some(path)) = (&intensities, &self.args.intensity)
            && (raster.width, raster.height) != (labels.width, labels.height)
        {
            return Err(Failure::usage(format!(
                "{} is {} × {} pixels, and {} is {} × {}: labels and intensities have the same size",
                path.display(),
                raster.width,
                raster.height,
                self.args.labels.display(),
                labels.width,
                labels.height
            )));
        }
        Ok(Input {
            labels,
            intensities,
        })
    }

    fn input_path(&self) -> &Path {
        &self.args.labels
    }

    fn outputs(&self) -> Vec<(TableFormat, &Path)> {
        let output = self.format.zip(self.args.output.as_deref());
        output.into_iter().collect()
    }

    fn size(&self, input: &Input) -> Job {
        Job::LabelBands {
            pixels: u64::from(input.labels.width) * u64::from(input.labels.height),
        }
    }

    fn work(&self, engine: &Engine, input: &Input) -> trazar::Result<Measures> {
        match &input.labels.values {
            RasterValues::U8(values) => self.measure(engine, input, values),
            RasterValues::U16(values) => self.measure(engine, input, values),
            RasterValues::U32(values) => self.measure(engine, input, values),
            RasterValues::I16(values) => self.measure(engine, input, values),
            RasterValues::I32(values) => self.measure(engine, input, values),
            RasterValues::I64(values) => self.measure(engine, input, values),
            other => Err(unsupported(other)),
        }
    }

    fn write(
        &self,
        format: TableFormat,
        _input: &mut Input,
        measures: &Measures,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        match format {
            TableFormat::Csv => formats::write_measures_csv(measures, out),
        }
    }

    fn algorithm(&self, _: &Engine, _: &Input) -> &'static str {
        "runs"
    }

    fn input_facts(&self, input: &Input) -> Facts {
        let labels = &input.labels;
        let name = self.args.labels.display();
        let mut notes = image::notes(&labels.notes, None);
        if let Some(raster) = &input.intensities {
            notes.extend(image::notes(&raster.notes, None));
        }
        Facts {
            text: format!(
                "{name}: {} × {} pixels, {}",
                labels.width,
                labels.height,
                labels.kind.name()
            ),
            values: json!({
                "image": name.to_string(),
                "width": labels.width,
                "height": labels.height,
                "samples": labels.kind.name(),
                "notes": notes,
            }),
        }
    }

    fn found_facts(&self, measures: &Measures) -> Facts {
        let labels = count(measures.len() as u64, "label", "labels");
        let columns = count(measures.columns().len() as u64, "column", "columns");
        Facts {
            text: format!("{labels}, {columns}"),
            values: json!({
                "labels": measures.len(),
                "columns": measures.columns().iter().map(|each| each.name()).collect::<Vec<_>>(),
            }),
        }
    }
}
