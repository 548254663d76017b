//! Failures of a run: their message and exit status.

use std::io;
use std::path::Path;

use trazar::Error;

use crate::printable::printable;
use crate::stderr;

/// Why a run ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Options that do not fit each other or the image: status 2.
    Usage(String),
    /// A command line that cannot be read, in lines to print: status 2.
    Arguments(Vec<String>),
    /// Everything else: status 1.
    Failed(String),
    /// The reader of the output closed its pipe: no message, and the status that a shell gives to a
    /// command ended by the signal SIGPIPE.
    Closed,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// An error about the file at `path`, in case the error itself does not name it.
    pub(crate) fn about(path: &Path, error: Error) -> Self {
        match &error {
            Error::Io { .. } | Error::Unreadable { .. } | Error::Write(_) => error.into(),
            Error::InvalidOption(_) => Self::Usage(format!("{}: {error}", path.display())),
            _ => Self::Failed(format!("{}: {error}", path.display())),
        }
    }

    /// Prints the failure on standard error, and returns the exit status.
    pub(crate) fn report(self) -> u8 {
        let (message, status) = match self {
            Self::Usage(message) => (message, 2),
            Self::Failed(message) => (message, 1),
            Self::Arguments(lines) => {
                stderr::say(lines.join("\n"));
                return 2;
            }
            Self::Closed => return 141,
        };
        stderr::say(format_args!("error: {}", printable(&message)));
        status
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match &error {
            Error::Io { source, .. } | Error::Write(source)
                if source.kind() == io::ErrorKind::BrokenPipe =>
            {
                Self::Closed
            }
            Error::InvalidOption(_) => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// From a failed write to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Failed(format!("standard output: {error}"))
        }
    }
}
