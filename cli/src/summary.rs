//! What a run says about itself at its end.

use std::io::Write;

use serde_json::{Value, json};
use trazar::BinaryImage;
use trazar::formats::ReadImage;

use crate::args::{InputArgs, RunArgs};
use crate::failure::Failure;
use crate::stderr;

/// A run's outcome.
pub(crate) struct Summary<'a> {
    pub(crate) input: &'a InputArgs,
    pub(crate) read: &'a ReadImage,
    pub(crate) device: &'static str,
    pub(crate) algorithm: String,
    /// What was found: for the person, and for the script.
    pub(crate) found: String,
    pub(crate) counts: Value,
    /// `"trace"` or `"label"`.
    pub(crate) work: &'static str,
    pub(crate) seconds: Seconds,
    /// The files that were written.
    pub(crate) written: Vec<String>,
}

/// What took how long.
pub(crate) struct Seconds {
    /// Opening the device.
    pub(crate) start: f64,
    pub(crate) read: f64,
    pub(crate) work: f64,
    pub(crate) write: f64,
}

impl Summary<'_> {
    /// On standard output as JSON, or on standard error for a person, or not at all.
    pub(crate) fn say(&self, run: &RunArgs) -> Result<(), Failure> {
        if run.json {
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "{}", self.json(run))?;
            stdout.flush()?;
        } else if !run.quiet {
            stderr::say(self.text(run));
        }
        Ok(())
    }

    fn image(&self) -> &BinaryImage {
        &self.read.image
    }

    fn json(&self, run: &RunArgs) -> Value {
        let mut seconds = json!({
            "start": self.seconds.start,
            "read": self.seconds.read,
            "write": self.seconds.write,
        });
        seconds[self.work] = json!(self.seconds.work);
        let mut all = json!({
            "image": self.input.image.display().to_string(),
            "width": self.image().width(),
            "height": self.image().height(),
            "samples": self.read.kind.name(),
            "threshold": self.read.threshold,
            "foreground": self.image().count_foreground(),
            "device": self.device,
            "algorithm": self.algorithm,
            "repeat": run.repeat.get(),
            "seconds": seconds,
        });
        if let (Value::Object(all), Value::Object(counts)) = (&mut all, &self.counts) {
            all.extend(counts.clone());
        }
        all
    }

    fn text(&self, run: &RunArgs) -> String {
        let image = self.image();
        let share = 100.0 * image.count_foreground() as f64 / image.pixel_count() as f64;
        let start = match self.seconds.start {
            // Opening the processor takes nothing.
            none if none < 1e-3 => String::new(),
            start => format!("start {}, ", time(start)),
        };
        let mut text = format!(
            "{}: {} × {} pixels, {}, {share:.1} % foreground\n{}\n{} on the {}: {start}read {}, {} {}",
            self.input.image.display(),
            image.width(),
            image.height(),
            self.read.kind.name(),
            self.found,
            self.algorithm,
            self.device,
            time(self.seconds.read),
            self.work,
            time(self.seconds.work),
        );
        if run.repeat.get() > 1 {
            text += &format!(" (fastest of {})", run.repeat);
        }
        if !self.written.is_empty() {
            let written: Vec<&str> = self
                .written
                .iter()
                .map(|name| if name == "-" { "standard output" } else { name })
                .collect();
            text += &format!(
                ", write {}: {}",
                time(self.seconds.write),
                written.join(", ")
            );
        }
        text
    }
}

fn time(seconds: f64) -> String {
    if seconds < 0.1 {
        format!("{:.2} ms", 1e3 * seconds)
    } else {
        format!("{seconds:.2} s")
    }
}

/// `number` of something, with its noun in the right number.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
