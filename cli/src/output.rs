//! Where results go: a file, or standard output.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, StdoutLock, Write};
use std::path::Path;

use clap::ValueEnum;
use trazar::formats::Output;

use crate::args::RunArgs;
use crate::failure::Failure;

/// Whether the path stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses a result and a summary that both want standard output.
pub(crate) fn check_not_beside_json(output: Option<&Path>, run: &RunArgs) -> Result<(), Failure> {
    if run.json && output.is_some_and(is_stdout) {
        return Err(Failure::usage(
            "-o - and --json both want standard output: write to a file, or leave --json out",
        ));
    }
    Ok(())
}

/// The format that was asked for, or the one that the extension of `path` names.
pub(crate) fn format<F: ValueEnum>(path: &Path, asked: Option<F>) -> Result<F, Failure> {
    if let Some(format) = asked {
        return Ok(format);
    }
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

/// A file with the argument that names it, if it does.
pub(crate) type Named<'a> = (&'static str, Option<&'a Path>);

/// Refuses a run whose outputs would replace each other or what is read.
pub(crate) fn check_distinct(inputs: &[Named<'_>], outputs: &[Named<'_>]) -> Result<(), Failure> {
    let mut taken = Vec::new();
    for &(argument, path) in inputs {
        let Some(path) = path else { continue };
        if let Ok(resolved) = fs::canonicalize(path) {
            taken.push((argument, path, resolved));
        }
    }
    for &(option, path) in outputs {
        let Some(path) = path.filter(|path| !is_stdout(path)) else {
            continue;
        };
        let Some(resolved) = Output::resolve(path) else {
            continue;
        };
        if let Some((other, name, _)) = taken.iter().find(|(.., taken)| *taken == resolved) {
            return Err(Failure::usage(format!(
                "{option} {} and {other} {} name the same file: give them two",
                path.display(),
                name.display()
            )));
        }
        taken.push((option, path, resolved));
    }
    Ok(())
}

/// A destination that is ready to be written.
#[derive(Debug)]
pub(crate) enum Destination {
    Stdout(StdoutLock<'static>),
    File(Output),
}

impl Destination {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if is_stdout(path) {
            Ok(Self::Stdout(io::stdout().lock()))
        } else {
            Ok(Self::File(Output::create(path)?))
        }
    }

    /// Writes the whole result. A file is in its place after [`commit`](Self::commit).
    pub(crate) fn fill(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> trazar::Result<()>,
    ) -> Result<(), Failure> {
        match self {
            Self::File(file) => Ok(file.fill(|file| write(file))?),
            Self::Stdout(stdout) => match write(stdout) {
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
