//! Problems with options, algorithms and files, for programs to match.

use crate::backend::Backend;

/// An option, or an argument of a function, that does not take its value.
///
/// ```
/// use trazar::error::{OptionError, OptionProblem};
/// use trazar::{Error, TraceAlgorithm, TraceOptions};
///
/// let options = TraceOptions::default().algorithm(TraceAlgorithm::Suzuki).tiles((2, 2));
/// assert!(matches!(
///     options.validate(),
///     Err(Error::InvalidOption(OptionError {
///         option: "tiles",
///         problem: OptionProblem::Conflict,
///         ..
///     }))
/// ));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
#[non_exhaustive]
pub struct OptionError {
    /// The name of the option's field, or of the function's parameter.
    pub option: &'static str,
    /// The kind of problem.
    pub problem: OptionProblem,
    /// The value, and what would be right, in words.
    pub reason: String,
}

impl OptionError {
    /// The error of `option`.
    pub fn new(option: &'static str, problem: OptionProblem, reason: impl Into<String>) -> Self {
        Self {
            option,
            problem,
            reason: reason.into(),
        }
    }
}

/// Why an option does not take a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OptionProblem {
    /// A number, or the number of elements, is too small or too large.
    OutOfRange,
    /// A text or a number of a form that the option does not take, or a name that does not exist.
    Malformed,
    /// The value does not go with another option, or with the input.
    Conflict,
    /// The option, or a result that it asks for, is needed and was not given.
    Missing,
}

/// An engine, algorithm or result that this build or backend does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// This build of the library does not use GPUs.
    #[error("this build of trazar does not use GPUs: build it with the feature `cuda`")]
    GpuSupport,

    /// An algorithm that does not run on the backend.
    #[error(
        "the {job} algorithm `{algorithm}` runs on the device {}; {} has {}",
        names(runs_on), backend.name(), instead.join(" and ")
    )]
    #[non_exhaustive]
    Algorithm {
        /// The work: `"labelling"`, `"tracing"`, `"routing"`.
        job: &'static str,
        /// The algorithm's name.
        algorithm: &'static str,
        /// The backend that was to run it.
        backend: Backend,
        /// The backends that run it.
        runs_on: &'static [Backend],
        /// The names of the algorithms that `backend` runs.
        instead: Vec<&'static str>,
    },

    /// A job that no algorithm does on the backend.
    #[error("{job} run on the device cpu, and not yet on {}", backend.name())]
    #[non_exhaustive]
    Job {
        /// The work, in words.
        job: &'static str,
        /// The backend that was to do it.
        backend: Backend,
    },

    /// A result that an [`Engine`](crate::Engine) computes on the processor, requested from a
    /// device.
    #[error("{what} are made on the processor: {instead}, or with an engine")]
    #[non_exhaustive]
    OnDevice {
        /// The results, in words.
        what: &'static str,
        /// What to request from the device, in words.
        instead: &'static str,
    },
}

fn names(backends: &[Backend]) -> String {
    let names: Vec<_> = backends.iter().map(|backend| backend.name()).collect();
    names.join(" or ")
}

/// Why a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadProblem {
    /// It is a device, which may never end.
    NotAFile,
    /// It is not of a format that is read here.
    UnknownFormat,
    /// It is of a known format, with contents that are not read.
    Unsupported,
    /// It ends too early.
    Truncated,
    /// It contradicts its format.
    Damaged,
    /// It does not fit the other files that it is read with.
    Mismatch,
    /// Its contents do not fit the memory.
    TooLarge,
    /// Its decoder panicked.
    DecoderPanic,
}

/// Why a format cannot hold a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteProblem {
    /// A size or a coordinate is larger than the format's numbers.
    TooLarge,
    /// The format has no form for a part of the result.
    Inexpressible,
    /// The result was made with options that do not fit the format.
    WrongOptions,
    /// The format's encoder refused it.
    Encoder,
}
