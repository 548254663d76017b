//! The summary at the end of a run.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::args::RunArgs;
use crate::facts::Facts;
use crate::failure::Failure;
use crate::printable::{printable, write_json};
use crate::{stderr, stdout};

/// A run's outcome. `L` is a list for scripts that is too long to be built in memory.
pub(crate) struct Summary<L> {
    /// `"trace"`, `"label"` or `"route"`.
    pub(crate) job: &'static str,
    pub(crate) device: &'static str,
    pub(crate) algorithm: &'static str,
    /// The input.
    pub(crate) input: Facts,
    /// The result.
    pub(crate) found: Facts,
    /// The list and its key.
    pub(crate) list: Option<(&'static str, L)>,
    pub(crate) seconds: Seconds,
    /// The files that were written.
    pub(crate) written: Vec<String>,
}

/// The value of a key of the JSON object.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a, L> {
    Own(Value),
    Fact(&'a Value),
    List(&'a L),
}

/// The seconds that each step took.
pub(crate) struct Seconds {
    /// Opening the device.
    pub(crate) start: f64,
    pub(crate) read: f64,
    pub(crate) work: f64,
    pub(crate) write: f64,
}

impl<L: Serialize> Summary<L> {
    /// Prints the summary as JSON on standard output, or as text on standard error, or not at all.
    pub(crate) fn say(&self, run: &RunArgs) -> Result<(), Failure> {
        if run.json {
            let mut out = BufWriter::new(stdout::open()?);
            write_json(&mut out, &self.json(run))?;
            out.write_all(b"\n")?;
            out.flush()?;
        } else if !run.quiet {
            stderr::say(self.text(run));
        }
        Ok(())
    }

    /// The JSON object, its keys in alphabetical order.
    fn json(&self, run: &RunArgs) -> BTreeMap<&str, Entry<'_, L>> {
        let mut seconds = json!({
            "start": self.seconds.start,
            "read": self.seconds.read,
            "write": self.seconds.write,
        });
        seconds[self.job] = json!(self.seconds.work);
        let mut all = BTreeMap::from([
            ("device", Entry::Own(json!(self.device))),
            ("algorithm", Entry::Own(json!(self.algorithm))),
            ("repeat", Entry::Own(json!(run.repeat.get()))),
            ("seconds", Entry::Own(seconds)),
        ]);
        for facts in [&self.input, &self.found] {
            let values = facts.values.as_object().into_iter().flatten();
            all.extend(values.map(|(key, value)| (key.as_str(), Entry::Fact(value))));
        }
        if let Some((key, list)) = &self.list {
            all.insert(key, Entry::List(list));
        }
        all
    }

    fn text(&self, run: &RunArgs) -> String {
        let start = match self.seconds.start {
            // On the processor there is nothing to open.
            none if none < 1e-3 => String::new(),
            start => format!("start {}, ", time(start)),
        };
        let mut text = format!(
            "{}\n{}\n{} on the {}: {start}read {}, {} {}",
            printable(&self.input.text),
            printable(&self.found.text),
            self.algorithm,
            self.device,
            time(self.seconds.read),
            self.job,
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
                printable(&written.join(", "))
            );
        }
        let notes = self.input.values["notes"].as_array();
        for note in notes.into_iter().flatten().filter_map(Value::as_str) {
            text += &format!("\nnote: {note}");
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
