//! The program `trazar`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    trazar_cli::run(&args).into()
}
