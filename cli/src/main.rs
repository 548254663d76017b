//! The command `trazar`: label and trace from the shell.

mod args;
mod failure;
mod generate;
mod image;
mod info;
mod label;
mod output;
mod progress;
mod summary;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Trace(args) => trace::run(&args),
        Command::Label(args) => label::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Info(args) => info::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
