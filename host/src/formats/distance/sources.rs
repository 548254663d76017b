//! Sources and cells from CSV files and rasters.

use std::path::Path;

use crate::distance::{Source, Sources};
use crate::error::{Error, ReadProblem, Result, check_len};
use crate::formats::image::{Affine, RasterValues};
use crate::formats::source::Source as File;
use crate::memory::push;

/// Where coordinates are in a raster.
#[derive(Clone, Copy, Debug)]
pub struct CellOf {
    /// The raster's width in cells.
    pub width: u32,
    /// The raster's height in cells.
    pub height: u32,
    /// From cells to coordinates, if the raster says so.
    pub transform: Option<Affine>,
}

impl CellOf {
    /// The coordinates of a cell's centre.
    pub fn centre(&self, x: u32, y: u32) -> (f64, f64) {
        let (x, y) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
        self.transform
            .map_or((x, y), |transform| transform.apply(x, y))
    }
}

/// Reads sources from CSV: a header that names the columns, then one source per line.
///
/// The columns are `row` and `column`, counted from 0, or `x` and `y`, coordinates of the raster's
/// transform; and, if they are there, `id`, from 1 on, by default the number of the line, and
/// `cost`, what a path costs at its start. Other columns are skipped.
///
/// # Errors
/// [`Error::Io`]; [`Error::Unreadable`] for other headers, for what is no number, for coordinates
/// without a transform, and for cells outside the raster; [`Error::OutOfMemory`].
pub fn read_sources(path: impl AsRef<Path>, cells: &CellOf) -> Result<Sources> {
    let path = path.as_ref();
    let mut sources = Sources::default();
    read(path, cells, |row, (x, y), line| {
        let id = match row.id {
            Some(text) => text
                .trim()
                .parse()
                .ok()
                .filter(|&id| id > 0)
                .ok_or_else(|| {
                    format!(
                        "line {line}: the id {text:?} is not a whole number from 1 to 4294967295"
                    )
                })?,
            None => (sources.as_slice().len() as u32).saturating_add(1),
        };
        let cost = row
            .cost
            .map_or(Ok(0.0), |text| number("cost", text, line))?;
        let source = Source::new(x, y, id).start_cost(cost);
        Ok(sources.push(source))
    })?;
    Ok(sources)
}

/// Reads cells (column, row) from CSV, as [`read_sources`] does.
///
/// # Errors
/// Those of [`read_sources`].
pub fn read_cells(path: impl AsRef<Path>, cells: &CellOf) -> Result<Vec<(u32, u32)>> {
    let mut found = Vec::new();
    read(path.as_ref(), cells, |_, cell, _| {
        Ok(push(&mut found, cell, "the cells of a file"))
    })?;
    Ok(found)
}

/// The fields of a line, besides those of its cell.
struct Row<'a> {
    id: Option<&'a str>,
    cost: Option<&'a str>,
}

fn number(name: &str, text: &str, line: u64) -> std::result::Result<f64, String> {
    let value = text.trim().parse().ok();
    value
        .filter(|value: &f64| value.is_finite())
        .ok_or_else(|| format!("line {line}: the {name} {text:?} is not a number"))
}

/// Calls `take` with each line's fields, cell and number.
fn read(
    path: &Path,
    cells: &CellOf,
    mut take: impl FnMut(Row<'_>, (u32, u32), u64) -> std::result::Result<Result<()>, String>,
) -> Result<()> {
    let source = File::open(path)?;
    let origin = source.origin;
    let refused = |reason: String| origin.unreadable(reason);
    let broken = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => origin.io(error),
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => refused(format!(
            "line {}: {len} fields, and the header has {expected_len}",
            pos.map_or(0, |pos| pos.line())
        )),
        _ => refused("it is no CSV in UTF-8".into()),
    };
    let mut reader = csv::Reader::from_reader(source.bytes);
    let header = reader.headers().map_err(broken)?.clone();
    let column = |name: &str| {
        let mut names = header.iter();
        names.position(|found| {
            found
                .trim()
                .trim_start_matches('\u{feff}')
                .eq_ignore_ascii_case(name)
        })
    };
    let (places, by_coordinates) = match (column("row"), column("column"), column("x"), column("y"))
    {
        (Some(row), Some(column), ..) => ([column, row], None),
        (.., Some(x), Some(y)) => match &cells.transform {
            Some(transform) => ([x, y], Some(transform)),
            None => {
                return Err(origin.refused(
                    ReadProblem::Mismatch,
                    "it gives coordinates x and y, and the raster of friction has no transform: \
                     give row and column, or a GeoTIFF with a transform",
                ));
            }
        },
        _ => {
            return Err(refused(
                "its first line names no columns `row` and `column`, nor `x` and `y`".into(),
            ));
        }
    };
    let (id, cost) = (column("id"), column("cost"));
    let names = if by_coordinates.is_some() {
        ["x", "y"]
    } else {
        ["column", "row"]
    };
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |place: usize| record.get(place).unwrap_or_default();
        let values = [0, 1].map(|i| number(names[i], field(places[i]), line));
        let [x, y] = values;
        let (x, y) = (x.map_err(refused)?, y.map_err(refused)?);
        let (column, row) = match by_coordinates {
            Some(transform) => {
                let (x, y) = transform.unapply(x, y);
                (x.floor(), y.floor())
            }
            None if x.fract() == 0.0 && y.fract() == 0.0 => (x, y),
            None => {
                return Err(refused(format!(
                    "line {line}: row and column are whole numbers"
                )));
            }
        };
        let inside = |value: f64, side: u32| (0.0..f64::from(side)).contains(&value);
        if !inside(column, cells.width) || !inside(row, cells.height) {
            return Err(origin.refused(
                ReadProblem::Mismatch,
                format_args!(
                    "line {line}: there is no cell at row {row}, column {column}: the raster has \
                     {} rows and {} columns, counted from 0",
                    cells.height, cells.width
                ),
            ));
        }
        let fields = Row {
            id: id.map(field),
            cost: cost.map(field),
        };
        take(fields, (column as u32, row as u32), line).map_err(refused)??;
    }
    Ok(())
}

/// The sources of a raster of ids: cells that are neither 0, nor `no_data`, nor NaN.
///
/// # Errors
/// [`Error::InvalidOption`] for ids that are not whole numbers from 1 on, and for a raster of
/// another size; [`Error::OutOfMemory`].
pub fn sources_of_raster(
    values: &RasterValues,
    no_data: Option<f64>,
    width: u32,
    height: u32,
) -> Result<Sources> {
    check_len(width as usize * height as usize, values.len())?;
    let mut sources = Sources::default();
    let mut take = |index: usize, value: f64| -> Result<()> {
        if value == 0.0 || value.is_nan() || Some(value) == no_data {
            return Ok(());
        }
        let (x, y) = (
            (index % width as usize) as u32,
            (index / width as usize) as u32,
        );
        if !(value > 0.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0) {
            let why = format!(
                "the raster of sources has the id {} at row {y}, column {x}: ids are whole numbers \
                 from 1 to 4294967295, and 0 is no source",
                crate::error::short(value)
            );
            let problem = crate::error::OptionProblem::OutOfRange;
            return Err(Error::option("sources", problem, why));
        }
        sources.push(Source::new(x, y, value as u32))
    };
    macro_rules! each {
        ($($kind:ident => $to:expr;)*) => {
            match values {
                $(RasterValues::$kind(values) => {
                    for (index, &value) in values.iter().enumerate() {
                        take(index, $to(value))?;
                    }
                })*
            }
        };
    }
    each! {
        U8 => f64::from;
        U16 => f64::from;
        U32 => f64::from;
        I16 => f64::from;
        I32 => f64::from;
        I64 => |value| value as f64;
        F32 => f64::from;
        F64 => f64::from;
    }
    Ok(sources)
}
