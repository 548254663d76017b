//! What a run says about itself at its end.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::printable::{printable, write_json};
use crate::route::Routes;
use crate::{stderr, stdout};

/// A run's outcome.
pub(crate) struct Summary<'a> {
    /// What was read.
    pub(crate) input: Facts,
    pub(crate) device: &'static str,
    pub(crate) algorithm: String,
    /// What was found.
    pub(crate) found: Facts,
    /// The trees, one by one, for a script.
    pub(crate) routes: Option<Routes<'a>>,
    /// `"trace"`, `"label"` or `"route"`.
    pub(crate) work: &'static str,
    pub(crate) seconds: Seconds,
    /// The files that were written.
    pub(crate) written: Vec<String>,
}

/// What there is to say of something: to a person on one line, and to a script by an object's values.
pub(crate) struct Facts {
    pub(crate) text: String,
    pub(crate) values: Value,
}

/// What a key of the JSON object stands for.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Own(Value),
    Fact(&'a Value),
    Routes(&'a Routes<'a>),
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
            let mut out = BufWriter::new(stdout::open()?);
            write_json(&mut out, &self.json(run))?;
            out.write_all(b"\n")?;
            out.flush()?;
        } else if !run.quiet {
            stderr::say(self.text(run));
        }
        Ok(())
    }

    /// The JSON object, its keys in order. There may be millions of routes: nothing is made of them
    /// before they are written.
    fn json(&self, run: &RunArgs) -> BTreeMap<&str, Entry<'_>> {
        let mut seconds = json!({
            "start": self.seconds.start,
            "read": self.seconds.read,
            "write": self.seconds.write,
        });
        seconds[self.work] = json!(self.seconds.work);
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
        all.extend(self.routes.iter().map(|all| ("routes", Entry::Routes(all))));
        all
    }

    fn text(&self, run: &RunArgs) -> String {
        let start = match self.seconds.start {
            // Opening the processor takes nothing.
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

/// `number` of something, with its noun in the right number.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
