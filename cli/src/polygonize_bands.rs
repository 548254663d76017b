//! `trazar polygonize --memory`: a raster whose regions are found in bands of rows.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use trazar::formats::RasterBands;
use trazar::trace::RegionTracer;
use trazar::{Backend, Engine, Job};

use crate::args::{PolygonizeArgs, RegionFormat, RunArgs};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::paths::{folder_beside, source};
use crate::polygonize::{
    About, FoundRegions, Header, Polygonize, Value, Values, for_types_of_values,
};
use crate::progress::Progress;
use crate::run_job::Steps;

/// The job, its options checked.
pub(crate) struct PolygonizeBands<'a> {
    job: Polygonize<'a>,
    /// The most memory to use.
    memory: u64,
    /// The folder where rings are kept until they are written.
    folder: PathBuf,
}

/// The raster; at first only its header is read.
pub(crate) struct Bands {
    about: About,
    file: RefCell<RasterBands>,
    /// The number of rows of a band.
    rows: u32,
    /// Why values that have been read have no regions.
    refused: RefCell<Option<String>>,
}

/// Regions, and how they were found.
pub(crate) struct FoundInBands {
    /// `None` for values without regions.
    regions: Option<FoundRegions>,
    /// The number of rows, and of those of a band.
    height: u32,
    rows: u32,
}

impl<'a> PolygonizeBands<'a> {
    pub(crate) fn new(args: &'a PolygonizeArgs, memory: u64) -> Result<Self, Failure> {
        let job = Polygonize::new(args)?;
        Ok(Self {
            job,
            memory,
            folder: folder_beside(args.output.as_deref()),
        })
    }
}

impl Bands {
    /// The values of the next band. Values without regions end the raster, and are
    /// [refused](Steps::check) later.
    fn next(&self, file: &mut RasterBands) -> trazar::Result<Option<Values>> {
        let first_row = file.next_row();
        let Some(values) = file.next_band(self.rows)? else {
            return Ok(None);
        };
        match Values::of(values, self.about.width, first_row) {
            Ok(values) => Ok(Some(values)),
            Err(reason) => {
                *self.refused.borrow_mut() = Some(reason);
                Ok(None)
            }
        }
    }
}

/// Defines what depends on the type of values.
macro_rules! bands_of_values {
    ($($variant:ident($type:ty),)*) => {
        impl PolygonizeBands<'_> {
            /// The number of rows of a band of such values.
            fn rows(&self, values: &Values, file: &RasterBands) -> trazar::Result<u32> {
                let rows = match values {
                    $(Values::$variant(_) => RegionTracer::<$type>::rows_within,)*
                };
                rows(file.width(), file.height(), self.memory, file.decoding_bytes())
            }

            fn trace(&self, input: &Bands) -> trazar::Result<Option<FoundRegions>> {
                let file = &mut *input.file.borrow_mut();
                if file.next_row() > 0 {
                    file.rewind()?;
                }
                let (width, options) = (input.about.width, &self.job.options);
                let regions = match input.next(file)? {
                    $(Some(Values::$variant(values)) => {
                        let mut tracer = RegionTracer::in_file(width, options, &self.folder)?;
                        if let Some(value) = input.about.no_data.and_then(<$type as Value>::of) {
                            tracer = tracer.background(value)?;
                        }
                        let mut first = Some(values);
                        let regions = tracer.trace(|| {
                            if let Some(values) = first.take() {
                                return Ok(Some(values));
                            }
                            // All bands of a file are of one type.
                            Ok(match input.next(file)? {
                                Some(Values::$variant(values)) => Some(values),
                                _ => None,
                            })
                        })?;
                        FoundRegions::of(regions, self.job.args.min_area)?
                    })*
                    None => return Ok(None),
                };
                Ok(Some(regions))
            }
        }
    };
}

for_types_of_values!(bands_of_values);

impl Steps for PolygonizeBands<'_> {
    const NAME: &'static str = "polygonize";
    type Input = Bands;
    type Found = FoundInBands;
    type Output = RegionFormat;

    fn run_args(&self) -> &RunArgs {
        self.job.run_args()
    }

    fn backends(&self) -> Option<&'static [Backend]> {
        // Bands are traced on the processor.
        Some(&[Backend::Cpu])
    }

    fn read(&self) -> Result<Bands, Failure> {
        let path = &self.job.args.raster;
        let about = |error| Failure::about(path, error);
        let file = RasterBands::open(source(path)).map_err(about)?;
        let values = Values::none(file.kind());
        // Too little memory is reported before anything is read.
        let rows = self.rows(&values, &file).map_err(about)?;
        let header = Header {
            width: file.width(),
            height: file.height(),
            kind: file.kind(),
            no_data: file.no_data(),
            notes: file.notes(),
        };
        let about = self.job.about(&header, &values, || file.georeference())?;
        Ok(Bands {
            about,
            file: RefCell::new(file),
            rows,
            refused: RefCell::new(None),
        })
    }

    fn input_path(&self) -> &Path {
        self.job.input_path()
    }

    fn outputs(&self) -> Vec<(RegionFormat, &Path)> {
        self.job.outputs()
    }

    fn size(&self, input: &Bands) -> Job {
        Job::TraceBands {
            pixels: u64::from(input.about.width) * u64::from(input.about.height),
        }
    }

    fn work(&self, _: &Engine, input: &Bands) -> trazar::Result<FoundInBands> {
        let regions = Progress::reading(self.run_args().quiet, || self.trace(input))?;
        Ok(FoundInBands {
            regions,
            height: input.about.height,
            rows: input.rows,
        })
    }

    fn check(&self, input: &Bands, _: &FoundInBands) -> Result<(), Failure> {
        match input.refused.take() {
            None => Ok(()),
            Some(reason) => Err(Failure::Failed(format!(
                "{}: {reason}",
                self.input_path().display()
            ))),
        }
    }

    fn write(
        &self,
        format: RegionFormat,
        input: &mut Bands,
        found: &FoundInBands,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        match &found.regions {
            Some(found) => self.job.write_found(format, &input.about, found, out),
            None => Ok(()),
        }
    }

    fn algorithm(&self, _: &Engine, _: &Bands) -> &'static str {
        "fragments"
    }

    fn input_facts(&self, input: &Bands) -> Facts {
        self.job.facts(&input.about)
    }

    fn found_facts(&self, found: &FoundInBands) -> Facts {
        let Some(regions) = &found.regions else {
            return Facts {
                text: String::new(),
                values: json!({}),
            };
        };
        let facts = regions.facts(self.job.args.min_area);
        facts.in_bands(found.height, found.rows)
    }
}
