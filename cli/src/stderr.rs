//! Standard error, which may be a closed pipe or a file on a full disk.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes `line`. Errors are ignored: there is nowhere else to report them.
pub(crate) fn say(line: impl Display) {
    // In one write, so that lines of other processes do not interleave.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
