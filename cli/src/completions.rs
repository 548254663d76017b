//! `trazar completions`.

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::failure::Failure;
use crate::stdout;

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    // Into memory first: the generator panics if a write fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "trazar", &mut script);
    Ok(stdout::write(script)?)
}
