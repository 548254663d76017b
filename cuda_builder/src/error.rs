//! What can go wrong between source and PTX.

use std::path::PathBuf;

use crate::lint::Lint;

/// Why a build failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No compiler that can build device code was found.
    #[error(
        "no device toolchain found; install it with `{install}`\n\
         looked for:\n{looked}\n\
         (device code needs rustc 1.96.0 with its library's source, and LLVM 22's opt, llc and \
         llvm-link)"
    )]
    ToolchainMissing {
        /// The command that installs it.
        install: &'static str,
        /// What was looked for, one line each.
        looked: String,
    },
    /// A program could not be started.
    #[error("could not run `{program}`: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// A program reported an error.
    #[error("`{program}` failed ({status}):\n{stderr}")]
    Tool {
        /// The program.
        program: String,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// What it wrote to its standard error.
        stderr: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A program's output was not of the expected form.
    #[error("unexpected output: {0}")]
    Unexpected(String),
    /// The crate has no function with `#[kernel]`.
    #[error("{} has no kernels: mark a function with `#[kernel(block = ...)]`", .0.display())]
    NoKernels(PathBuf),
    /// A static in shared memory has an initial value.
    #[error(
        "the shared array `{0}` has an initial value; shared memory has none: declare it with \
         `shared_array!`"
    )]
    SharedInitialised(String),
    /// The kernels break a rule.
    #[error("{} refused:{}", .0.len(), list(.0))]
    Lints(Vec<Lint>),
    /// A PTX file has no header of this builder.
    #[error("{0}: not a PTX header of cuda_builder")]
    Header(String),
}

/// One line per lint.
fn list(lints: &[Lint]) -> String {
    lints.iter().map(|lint| format!("\n- {lint}")).collect()
}

/// `std::io::Error` with the path it is about.
pub(crate) trait Context<T> {
    /// Adds the path.
    fn at(self, path: impl Into<PathBuf>) -> Result<T, Error>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn at(self, path: impl Into<PathBuf>) -> Result<T, Error> {
        self.map_err(|source| Error::Io {
            path: path.into(),
            source,
        })
    }
}
