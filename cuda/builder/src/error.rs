//! What can go wrong between source and PTX.

use std::fmt;
use std::path::PathBuf;

use crate::lint::Lint;

/// Why a build failed.
///
/// `Debug` writes the same text as `Display`: both `build()?` in a build script's `main` and
/// `build().unwrap()` then show the message with its line breaks.
#[derive(thiserror::Error)]
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
    /// The crate or a dependency does not compile for the device.
    #[error("{} does not compile for the device:\n{stderr}{}", crate_dir.display(), note(*hint))]
    Compile {
        /// The kernel crate.
        crate_dir: PathBuf,
        /// The compiler's messages.
        stderr: String,
        /// What to do about it, where the messages do not say so.
        hint: Option<&'static str>,
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
    #[error("the kernels break rules of cuda_builder:{}", list(.0))]
    Lints(Vec<Lint>),
    /// A PTX file has no header of this builder.
    #[error("{0}: not a PTX header of cuda_builder")]
    Header(String),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// What a build script prints so that cargo shows this error: one `cargo::error=` per line.
    #[must_use]
    pub fn cargo_directives(&self) -> String {
        let text = self.to_string();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| format!("cargo::error={line}\n")).collect()
    }
}

/// Unclear compiler messages, with hints.
const HINTS: [(&[&str], &str); 2] = [
    (
        &[
            "can't find crate for `std`",
            "unlinked crate `std`",
            "find `std` in",
        ],
        "the device has no `std`: put `#[cfg(not(target_arch = \"nvptx64\"))]` before what only \
         the host needs, and dependencies that only the host needs under \
         `[target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]`",
    ),
    (
        &[
            "`extern \"ptx-kernel\"` ABI is experimental",
            "\"ptx-kernel\" ABI is experimental",
        ],
        "mark kernels with `#[kernel]` of `cuda_std`, which needs no attribute; a function that is \
         written with `extern \"ptx-kernel\"` needs \
         `#![cfg_attr(target_arch = \"nvptx64\", feature(abi_ptx))]` in `lib.rs`",
    ),
];

/// The hint for these messages of the compiler.
pub(crate) fn hint(stderr: &str) -> Option<&'static str> {
    let fits = |texts: &[&str]| texts.iter().any(|text| stderr.contains(text));
    HINTS
        .into_iter()
        .find_map(|(texts, hint)| fits(texts).then_some(hint))
}

fn note(hint: Option<&str>) -> String {
    hint.map(|hint| format!("\nhint: {hint}"))
        .unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rule, SourcePlace};

    fn error() -> Error {
        let lint = |kernel: &str, rule| Lint {
            kernel: kernel.into(),
            place: Some(SourcePlace {
                file: "src/lib.rs".into(),
                line: 12,
                column: 15,
            }),
            rule,
        };
        Error::Lints(vec![
            lint("scan", Rule::F64),
            lint("sort", Rule::Stack { bytes: 8 }),
        ])
    }

    /// `Result::unwrap` and a `main` that returns the error write `Debug`.
    #[test]
    fn debug_reads_as_display_does() {
        let text = format!("{:?}", error());
        assert_eq!(text, error().to_string());
        assert!(
            text.starts_with(
                "the kernels break rules of cuda_builder:\n\
                 - src/lib.rs:12:15: `scan` computes in double precision"
            ),
            "{text}"
        );
    }

    #[test]
    fn cargo_gets_an_error_per_line() {
        let directives = error().cargo_directives();
        let lines: Vec<_> = directives.lines().collect();
        assert_eq!(lines.len(), 3, "{directives}");
        assert!(lines.iter().all(|line| line.starts_with("cargo::error=")));
        assert!(lines[2].starts_with("cargo::error=- src/lib.rs:12:15: `sort` keeps 8 bytes"));
    }
}
