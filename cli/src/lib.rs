//! The command `trazar`: label, trace and route from the shell.
//!
//! [`run`] is the whole command, for the binary and for the Python package, which includes it.

// These macros panic if the output cannot be written.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod args;
mod bench;
mod completions;
mod distance;
mod facts;
mod failure;
mod gds;
mod generate;
mod image;
mod info;
mod label;
mod label_bands;
mod man;
mod measure;
mod output;
mod paths;
mod place;
mod polygonize;
mod polygonize_bands;
mod printable;
mod progress;
mod repeat;
mod route;
mod run_job;
#[cfg(unix)]
mod signals;
mod start;
mod stderr;
mod stdout;
mod summary;
mod trace;
mod trace_bands;
mod usage;

use std::ffi::OsString;

use args::Command;
use distance::Distance;
use failure::Failure;
use label::Label;
use measure::Measure;
use polygonize::Polygonize;
use polygonize_bands::PolygonizeBands;
use route::RouteNets;
use trace::Trace;
use trace_bands::TraceBands;

/// Runs the command with these arguments, the first of which is the program's name, and returns the
/// exit status. It reads standard input, writes to standard output and standard error, and sets the
/// process's signal handling. Call it once, as the last action of a process.
pub fn run(args: &[OsString]) -> u8 {
    #[cfg(unix)]
    // SAFETY: ignoring a signal runs no code when it comes.
    unsafe {
        // A file that grows past its limit is an error to report, not a reason to be killed.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
    #[cfg(unix)]
    signals::clean_up_at_the_end();
    match run_command(args) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

fn run_command(args: &[OsString]) -> Result<(), Failure> {
    let Some(args) = usage::read(args)? else {
        return Ok(());
    };
    match args.command {
        Command::Trace(args) => match args.input.memory {
            Some(memory) => run_job::run(&TraceBands::new(&args, memory)?),
            None => run_job::run(&Trace::new(&args)?),
        },
        Command::Label(args) => Label::new(&args)?.run(),
        Command::Measure(args) => run_job::run(&Measure::new(&args)?),
        Command::Polygonize(args) => match args.memory {
            Some(memory) => run_job::run(&PolygonizeBands::new(&args, memory)?),
            None => run_job::run(&Polygonize::new(&args)?),
        },
        Command::Route(args) => run_job::run(&RouteNets::new(&args)?),
        Command::Distance(args) => run_job::run(&Distance::new(&args)?),
        Command::Bench(args) => bench::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
