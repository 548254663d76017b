//! `trazar man`.

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use trazar::formats::Output;

use crate::args::{Args, ManArgs};
use crate::failure::Failure;

pub(crate) fn run(args: &ManArgs) -> Result<(), Failure> {
    fs::create_dir_all(&args.dir)
        .map_err(|error| Failure::Failed(format!("{}: {error}", args.dir.display())))?;
    let mut command = Args::command().disable_help_subcommand(true);
    // Gives subcommands their names: `trazar-trace`, `trazar-generate-mask`.
    command.build();
    write_pages(&command, &args.dir)
}

/// Writes the page of `command` and those of its subcommands.
fn write_pages(command: &Command, dir: &Path) -> Result<(), Failure> {
    let notes = command.get_after_long_help().or(command.get_after_help());
    let notes = notes
        .map(|text| sections(&text.to_string()))
        .unwrap_or_default();
    // The generator would refill the lines of examples and tables.
    let without = command
        .clone()
        .after_help(None::<&str>)
        .after_long_help(None::<&str>);
    let man = Man::new(without);
    let mut page = Vec::new();
    man.render(&mut page)?;
    page.extend(notes.into_bytes());
    let mut file = Output::create(dir.join(man.get_filename()))?;
    file.fill(|out| Ok(out.write_all(&page)?))?;
    file.commit()?;
    command
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set())
        .try_for_each(|subcommand| write_pages(subcommand, dir))
}

/// The text after a command's options as sections of its page, line by line. A short line like
/// `Examples:` starts a section.
fn sections(text: &str) -> String {
    const LONGEST_TITLE: usize = 20;
    let mut roff = String::new();
    for line in text.lines() {
        let title = line.strip_suffix(':').filter(|title| {
            title.len() <= LONGEST_TITLE && title.starts_with(|c: char| c.is_uppercase())
        });
        if roff.is_empty() && title.is_none() {
            roff += ".SH NOTES\n.nf\n";
        }
        if let Some(title) = title {
            if !roff.is_empty() {
                roff += ".fi\n";
            }
            roff += &format!(".SH {}\n.nf\n", title.to_uppercase());
            continue;
        }
        // A line that starts with a full stop or a quote would be a request.
        if line.starts_with(['.', '\'']) {
            roff += "\\&";
        }
        roff += &line.replace('\\', "\\e").replace('-', "\\-");
        roff.push('\n');
    }
    if !roff.is_empty() {
        roff += ".fi\n";
    }
    roff
}
