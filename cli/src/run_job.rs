//! The course that all jobs share.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use trazar::{Backend, Engine, Job};

use crate::args::{Device, RunArgs};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::output::Destination;
use crate::progress::Progress;
use crate::repeat;
use crate::start::Start;
use crate::summary::{Seconds, Summary};

/// The steps in which jobs differ. An implementor's options have been checked already; [`run`]
/// takes the steps in the order in which they are listed here.
pub(crate) trait Steps {
    /// The job's name in progress bars and summaries.
    const NAME: &'static str;
    /// The input.
    type Input;
    /// The engine's result.
    type Found;
    /// One thing to write to one destination: a result and its format.
    type Output: Copy;

    fn run_args(&self) -> &RunArgs;

    /// The backends of the requested algorithm; `None` if none was requested.
    fn backends(&self) -> Option<&'static [Backend]>;

    /// Reads the input, and refuses it if it does not fit the options.
    fn read(&self) -> Result<Self::Input, Failure>;

    /// The input that messages name.
    fn input_path(&self) -> &Path;

    /// The results to write, and where.
    fn outputs(&self) -> Vec<(Self::Output, &Path)>;

    /// The size of the work, by which `--device auto` chooses.
    fn size(&self, input: &Self::Input) -> Job;

    /// Whether the GPU that `--device auto` has chosen can't do the job.
    fn needs_processor(&self, _engine: &Engine, _input: &Self::Input) -> bool {
        false
    }

    /// Does the work.
    fn work(&self, engine: &Engine, input: &Self::Input) -> trazar::Result<Self::Found>;

    /// Refuses results that must not be written.
    fn check(&self, _input: &Self::Input, _found: &Self::Found) -> Result<(), Failure> {
        Ok(())
    }

    /// Writes one output. It may take data from the input that only this output needs.
    fn write(
        &self,
        output: Self::Output,
        input: &mut Self::Input,
        found: &Self::Found,
        out: &mut dyn Write,
    ) -> trazar::Result<()>;

    /// The algorithm that `engine` used.
    fn algorithm(&self, engine: &Engine, input: &Self::Input) -> &'static str;

    /// The summary's facts about the input.
    fn input_facts(&self, input: &Self::Input) -> Facts;

    /// The summary's facts about the result.
    fn found_facts(&self, found: &Self::Found) -> Facts;

    /// A key of the JSON summary for a list that is too long to be built in memory, and the list.
    fn list<'a>(
        &self,
        _input: &'a Self::Input,
        _found: &'a Self::Found,
    ) -> Option<(&'static str, impl Serialize + 'a)> {
        None::<(&'static str, ())>
    }
}

/// Runs a job from opening its device to its summary.
pub(crate) fn run<S: Steps>(steps: &S) -> Result<(), Failure> {
    let run = steps.run_args();
    let start = Start::begin(run, steps.backends())?;
    let (mut input, read_seconds) = timed(|| steps.read())?;
    // An input that cannot be read leaves the outputs untouched; an output that cannot be written
    // is refused before any work.
    let mut destinations = Vec::new();
    for (output, path) in steps.outputs() {
        destinations.push((output, path, Destination::open(path)?));
    }

    let (mut engine, start_seconds) = start.finish(|| steps.size(&input));
    if run.device == Device::Auto && steps.needs_processor(&engine, &input) {
        engine = Engine::cpu();
    }
    let (engine, progress) = Progress::watch(engine, S::NAME, run.quiet);
    let (found, work_seconds) = repeat::fastest(run.repeat, || steps.work(&engine, &input))
        .map_err(|error| Failure::about(steps.input_path(), error))?;
    drop(progress);
    steps.check(&input, &found)?;

    let (written, write_seconds) = timed(|| {
        for (output, _, destination) in &mut destinations {
            destination.fill(run.quiet, |out| {
                steps.write(*output, &mut input, &found, out)
            })?;
        }
        // Only once all are complete. If one cannot replace its target, those before it already
        // have.
        let mut written = Vec::new();
        for (_, path, destination) in destinations {
            destination.commit()?;
            written.push(path.display().to_string());
        }
        Ok(written)
    })?;

    Summary {
        job: S::NAME,
        device: engine.backend().name(),
        algorithm: steps.algorithm(&engine, &input),
        input: steps.input_facts(&input),
        found: steps.found_facts(&found),
        list: steps.list(&input, &found),
        seconds: Seconds {
            start: start_seconds,
            read: read_seconds,
            work: work_seconds,
            write: write_seconds,
        },
        written,
    }
    .say(run)
}

/// The result of `step`, and the seconds that it took.
fn timed<T>(step: impl FnOnce() -> Result<T, Failure>) -> Result<(T, f64), Failure> {
    let started = Instant::now();
    let result = step()?;
    Ok((result, started.elapsed().as_secs_f64()))
}
