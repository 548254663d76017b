//! Standard error, which may not take anything: a closed pipe, a full disk.

use std::fmt::Display;
use std::io::{self, Write};

/// Says `line`. If nobody can hear it, there is nobody to tell either.
pub(crate) fn say(line: impl Display) {
    // In one piece, so that it stays together beside what other processes say.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
