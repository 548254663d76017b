//! A progress bar, once it is worth one.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use trazar::Engine;

/// How long work takes before the bar shows.
const PATIENCE: Duration = Duration::from_millis(500);
const STEPS: u64 = 1000;

/// The bar; gone when dropped.
#[derive(Debug, Default)]
pub(crate) struct Progress(Arc<Mutex<Option<ProgressBar>>>);

impl Progress {
    /// Has `engine` report to a bar, if a terminal is there to show it.
    pub(crate) fn watch(engine: Engine, what: &'static str, quiet: bool) -> (Engine, Self) {
        let progress = Self::default();
        if quiet || !io::stderr().is_terminal() {
            return (engine, progress);
        }
        let bar = Arc::clone(&progress.0);
        let started = Instant::now();
        let engine = engine.with_progress(move |share| {
            if started.elapsed() < PATIENCE {
                return;
            }
            let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            let bar = bar.get_or_insert_with(|| new_bar(what));
            bar.set_position((share * STEPS as f64) as u64);
        });
        (engine, progress)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let mut bar = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} % {elapsed}");
    let bar = ProgressBar::new(STEPS);
    match style {
        Ok(style) => bar.with_style(style).with_message(what),
        Err(_) => bar,
    }
}
