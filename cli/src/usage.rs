//! Reading the command line, and the message for an invalid one.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::Args;
use crate::failure::Failure;
use crate::printable::printable;
use crate::stdout;

/// The arguments of the command line `line`, which starts with the program's name; `None` if it
/// requested help or the version, which are then printed.
pub(crate) fn read(line: &[OsString]) -> Result<Option<Args>, Failure> {
    let error = match Args::try_parse_from(line) {
        Ok(args) => return Ok(Some(args)),
        Err(error) => error,
    };
    if let ErrorKind::DisplayHelp | ErrorKind::DisplayVersion = error.kind() {
        // In colour on a terminal.
        if io::stdout().is_terminal() {
            error.print()?;
        } else {
            stdout::write(error.render().to_string())?;
        }
        return Ok(None);
    }
    // The message quotes arguments: it is made again from printable arguments.
    let shown = line.iter().map(|argument| {
        let text = argument.to_string_lossy();
        OsString::from(printable(&text).as_ref())
    });
    let error = Args::try_parse_from(shown).err().unwrap_or(error);
    Err(Failure::Arguments(lines(&error.render().to_string())))
}

/// The parser's message in at most three lines: what is wrong, a tip if there is one, and where to
/// find help.
fn lines(message: &str) -> Vec<String> {
    let paragraphs: Vec<String> = message
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let wrong = paragraphs.first().cloned().unwrap_or_default();
    let tip = message.lines().find(|line| line.starts_with("  tip: "));
    let help = paragraphs
        .iter()
        .find(|paragraph| paragraph.starts_with("For more information"));
    let mut lines = vec![wrong];
    lines.extend(tip.map(str::to_owned));
    lines.extend(help.cloned());
    lines.iter().map(|line| printable(line).into()).collect()
}
