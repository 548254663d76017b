//! Destinations of results: a file, or standard output.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use trazar::formats::Output;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::paths::is_stdout;
use crate::progress::Progress;
use crate::stdout::{self, Stdout};

/// Refuses a run whose result and summary would both go to standard output.
pub(crate) fn check_not_beside_json(output: Option<&Path>, run: &RunArgs) -> Result<(), Failure> {
    if run.json && output.is_some_and(is_stdout) {
        return Err(Failure::usage(
            "-o - and --json both want standard output: write to a file, or leave --json out",
        ));
    }
    Ok(())
}

/// The format for the file at `path`, if there is a path: the requested format, or the one that the
/// extension implies.
pub(crate) fn format<F: ValueEnum>(
    path: Option<&Path>,
    asked: Option<F>,
) -> Result<Option<F>, Failure> {
    match (path, asked) {
        (None, _) => Ok(None),
        (Some(_), Some(format)) => Ok(Some(format)),
        (Some(path), None) => by_extension(path).map(Some),
    }
}

/// The format that the extension of `path` implies.
pub(crate) fn by_extension<F: ValueEnum>(path: &Path) -> Result<F, Failure> {
    let names: Vec<String> = F::value_variants()
        .iter()
        .filter_map(ValueEnum::to_possible_value)
        .map(|value| value.get_name().to_owned())
        .collect();
    if is_stdout(path) {
        return Err(Failure::usage(format!(
            "-o - needs --format: one of {}",
            names.join(", ")
        )));
    }
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    F::from_str(extension, true).map_err(|_| {
        Failure::usage(format!(
            "{}: no known extension: use .{}, or give --format",
            path.display(),
            names.join(", .")
        ))
    })
}

/// Paths that name standard output.
const NAMES_OF_STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// An open destination.
#[derive(Debug)]
pub(crate) enum Destination {
    Stdout(Stdout),
    File(Output),
}

impl Destination {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if is_stdout(path) {
            return Ok(Self::Stdout(stdout::open()?));
        }
        if NAMES_OF_STDOUT.iter().any(|name| path == Path::new(name)) {
            stdout::open()?;
        }
        Ok(Self::File(Output::create(path)?))
    }

    /// Writes the whole result, with a progress bar. A file replaces its target only in
    /// [`commit`](Self::commit).
    pub(crate) fn fill(
        &mut self,
        quiet: bool,
        write: impl FnOnce(&mut dyn Write) -> trazar::Result<()>,
    ) -> Result<(), Failure> {
        match self {
            Self::File(file) => Ok(file.fill(|file| Progress::writing(quiet, file, write))?),
            Self::Stdout(stdout) => match Progress::writing(quiet, stdout, write) {
                Ok(()) => Ok(stdout.flush()?),
                Err(trazar::Error::Write(error)) => Err(error.into()),
                Err(error) => Err(error.into()),
            },
        }
    }

    pub(crate) fn commit(self) -> Result<(), Failure> {
        match self {
            Self::File(file) => Ok(file.commit()?),
            Self::Stdout(_) => Ok(()),
        }
    }
}
