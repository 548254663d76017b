//! Running programs.

use std::process::Command;

use crate::Error;

/// Runs `command` to its end and returns its standard output.
pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    let (stdout, _) = run_both(command)?;
    Ok(stdout)
}

/// Runs `command` to its end and returns what it wrote to standard output and to standard error.
pub(crate) fn run_both(command: &mut Command) -> Result<(String, String), Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| Error::Spawn {
        program: program.clone(),
        source,
    })?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(Error::Tool {
            program,
            status: output.status,
            stderr,
        });
    }
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), stderr))
}
