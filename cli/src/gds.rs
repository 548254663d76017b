//! The options of GDSII, converted from the units of the command line to those of the file.

use trazar::formats::GdsOptions;

use crate::args::GdsArgs;
use crate::failure::Failure;
use crate::printable::number;

/// The options from the arguments.
///
/// # Errors
/// Options that do not fit GDSII.
pub(crate) fn gds_options(args: &GdsArgs) -> Result<GdsOptions, Failure> {
    let default = GdsOptions::default();
    let mut options = GdsOptions::default()
        .database_unit(args.dbu.unwrap_or(default.database_unit))
        .user_unit(args.user_unit.unwrap_or(default.user_unit))
        .layer(args.layer.unwrap_or(default.layer))
        .datatype(args.datatype.unwrap_or(default.datatype))
        .max_vertices(args.max_vertices.unwrap_or(default.max_vertices))
        .cell(args.cell.clone().unwrap_or(default.cell))
        .library(args.library.clone().unwrap_or(default.library));
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

/// Rounds to 12 digits, which removes the rounding error of a product.
fn rounded(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}
