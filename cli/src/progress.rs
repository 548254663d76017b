//! Progress bars, for work that takes long enough.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use trazar::{Engine, formats};

/// How long something takes before its bar appears.
const PATIENCE: Duration = Duration::from_millis(500);
/// Steps of a bar for a share of the work.
const STEPS: u64 = 1000;

/// One bar, which disappears when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Arc<Mutex<Option<ProgressBar>>>,
    what: &'static str,
    /// `None` if nobody would see it.
    started: Option<Instant>,
}

/// The progress of the work.
#[derive(Clone, Copy, Debug)]
enum Reached {
    Share(f64),
    /// The number of bytes done, and the total if it is known.
    Bytes(u64, Option<u64>),
}

impl Progress {
    /// A bar for `what`, if there is a terminal to show it.
    pub(crate) fn new(what: &'static str, quiet: bool) -> Self {
        let shown = !quiet && io::stderr().is_terminal();
        Self {
            bar: Arc::default(),
            what,
            started: shown.then(Instant::now),
        }
    }

    /// Makes `engine` report to a bar.
    pub(crate) fn watch(engine: Engine, what: &'static str, quiet: bool) -> (Engine, Self) {
        let progress = Self::new(what, quiet);
        let engine = match progress.share() {
            Some(report) => engine.with_progress(report),
            None => engine,
        };
        (engine, progress)
    }

    /// The function that moves the bar to the completed share of the work; `None` if nobody would
    /// see it.
    pub(crate) fn share(&self) -> Option<impl Fn(f64) -> ControlFlow<()> + Send + Sync + 'static> {
        let report = self.report()?;
        Some(move |share| {
            report(Reached::Share(share));
            ControlFlow::Continue(())
        })
    }

    /// Runs `read`, with a bar for the files that it reads.
    pub(crate) fn reading<T>(quiet: bool, read: impl FnOnce() -> T) -> T {
        let progress = Self::new("read", quiet);
        match progress.report() {
            Some(report) => {
                let report = move |bytes, size| report(Reached::Bytes(bytes, size));
                formats::report_reading(report, read)
            }
            None => read(),
        }
    }

    /// Runs `write` with a writer to `out` that reports to a bar.
    pub(crate) fn writing<T>(
        quiet: bool,
        out: &mut dyn Write,
        write: impl FnOnce(&mut dyn Write) -> T,
    ) -> T {
        let progress = Self::new("write", quiet);
        match progress.report() {
            Some(report) => write(&mut Counted {
                out,
                bytes: 0,
                report,
            }),
            None => write(out),
        }
    }

    /// The function that moves the bar; `None` if nobody would see it.
    fn report(&self) -> Option<impl Fn(Reached) + Send + Sync + 'static> {
        let (bar, what, started) = (Arc::clone(&self.bar), self.what, self.started?);
        Some(move |reached| {
            if started.elapsed() < PATIENCE {
                return;
            }
            let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            let bar = bar.get_or_insert_with(|| new_bar(what, reached));
            bar.set_position(match reached {
                Reached::Share(share) => (share * STEPS as f64) as u64,
                Reached::Bytes(bytes, _) => bytes,
            });
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(what: &'static str, reached: Reached) -> ProgressBar {
    let (bar, template) = match reached {
        Reached::Share(_) => (
            ProgressBar::new(STEPS),
            "{msg} {wide_bar} {percent:>3} % {elapsed}",
        ),
        Reached::Bytes(_, Some(size)) => (
            ProgressBar::new(size),
            "{msg} {wide_bar} {binary_bytes} of {binary_total_bytes} {elapsed}",
        ),
        Reached::Bytes(_, None) => (
            ProgressBar::no_length(),
            "{msg} {spinner} {binary_bytes}, {binary_bytes_per_sec} {elapsed}",
        ),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style).with_message(what),
        Err(_) => bar,
    }
}

/// A writer that reports the number of bytes written through it.
struct Counted<'a, F> {
    out: &'a mut dyn Write,
    bytes: u64,
    report: F,
}

impl<F: Fn(Reached)> Write for Counted<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        (self.report)(Reached::Bytes(self.bytes, None));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
