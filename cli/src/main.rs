//! The program `trazar`.

use std::process::ExitCode;

fn main() -> ExitCode {
    trazar_cli::run(std::env::args_os().collect()).into()
}
