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
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    let mut file = Output::create(&dir.join(man.get_filename()))?;
    file.fill(|out| Ok(out.write_all(&page)?))?;
    file.commit()?;
    command
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set())
        .try_for_each(|subcommand| write_pages(subcommand, dir))
}
