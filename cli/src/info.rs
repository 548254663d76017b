//! `trazar info`.

use std::io::Write;

use serde_json::json;
use trazar::Engine;

use crate::args::{InfoArgs, LabelAlgorithm, TraceAlgorithm};
use crate::failure::Failure;

pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = Engine::cpu().device().name();
    let (trace, label) = (TraceAlgorithm::names(), LabelAlgorithm::names());
    let mut stdout = std::io::stdout().lock();
    if args.json {
        let info = json!({
            "version": version,
            "auto": Engine::auto().device().name(),
            "devices": [{
                "name": cpu,
                "threads": threads,
                "architecture": std::env::consts::ARCH,
                "algorithms": { "trace": trace, "label": label },
            }],
        });
        writeln!(stdout, "{info}")?;
    } else {
        writeln!(stdout, "trazar {version}")?;
        writeln!(stdout, "auto is {}", Engine::auto().device().name())?;
        writeln!(
            stdout,
            "{cpu}: {threads} threads, {}; trace: {}; label: {}",
            std::env::consts::ARCH,
            trace.join(", "),
            label.join(", ")
        )?;
    }
    Ok(stdout.flush()?)
}
