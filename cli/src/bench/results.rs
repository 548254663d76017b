//! The results: what is written as JSON, and read again by `--against`.

use serde::{Deserialize, Serialize};

use super::machine::Machine;

/// All that one run of `trazar bench` says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Results {
    /// The version.
    pub(super) trazar: String,
    /// In UTC, as RFC 3339 writes it.
    pub(super) date: String,
    pub(super) machine: Machine,
    pub(super) results: Vec<Measured>,
}

/// One job on one input and one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) job: String,
    /// As in "blobs 4096 × 4096".
    pub(super) input: String,
    pub(super) device: String,
    /// As in "12 contours".
    pub(super) found: String,
    pub(super) pixels: u64,
    /// Bytes of the input and of the result.
    pub(super) bytes: u64,
    pub(super) runs: usize,
    pub(super) seconds: Seconds,
    /// The median time of a copy of as many bytes by one core.
    pub(super) copy_seconds: f64,
}

/// Times of one job on one input and one device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Seconds {
    pub(super) least: f64,
    pub(super) median: f64,
    /// The least and the greatest of the rounds' medians.
    pub(super) spread: [f64; 2],
}

impl Seconds {
    /// Of the times of some rounds, each of which has at least one.
    pub(super) fn of_rounds(rounds: &[Vec<f64>]) -> Self {
        let medians: Vec<f64> = rounds.iter().map(|round| median(round.clone())).collect();
        let all: Vec<f64> = rounds.iter().flatten().copied().collect();
        let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
        Self {
            least: least(&all),
            spread: [least(&medians), most(&medians)],
            median: median(all),
        }
    }
}

/// The median of some times; of an even number, the mean of the two in the middle.
pub(super) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    let middle = times.len() / 2;
    match times.len() {
        0 => f64::NAN,
        len if len.is_multiple_of(2) => (times[middle - 1] + times[middle]) / 2.0,
        _ => times[middle],
    }
}

impl Results {
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// A table for a terminal.
    pub(super) fn to_text(&self) -> String {
        let mut text = self.machine.lines().join("\n");
        text.push('\n');
        for group in self
            .results
            .chunk_by(|a, b| a.job == b.job && a.input == b.input)
        {
            let first = &group[0];
            let copy = time(first.copy_seconds);
            text += &format!(
                "\n{}, {}: {}; a copy of {} takes {copy}\n",
                first.job,
                first.input,
                first.found,
                size(first.bytes)
            );
            text += "  device    runs      median  spread                  pixels/s    copies\n";
            for each in group {
                text += &each.row();
            }
        }
        text
    }
}

impl Measured {
    /// Whether another result is of the same job, input and device.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.job, &self.input, &self.device) == (&other.job, &other.input, &other.device)
    }

    /// How many copies of its bytes fit into the median.
    pub(super) fn copies(&self) -> f64 {
        self.seconds.median / self.copy_seconds
    }

    /// Millions of pixels per second.
    pub(super) fn megapixels(&self) -> f64 {
        self.pixels as f64 / self.seconds.median / 1e6
    }

    fn row(&self) -> String {
        let [low, high] = self.seconds.spread.map(time);
        format!(
            "  {:8}{:6}{:>12}  {:<22}{:>9.0} M{:>10.1}\n",
            self.device,
            self.runs,
            time(self.seconds.median),
            format!("{low} to {high}"),
            self.megapixels(),
            self.copies()
        )
    }
}

/// A time with three digits, in the unit that fits.
pub(super) fn time(seconds: f64) -> String {
    let (number, unit) = match seconds {
        _ if seconds < 1e-3 => (seconds * 1e6, "µs"),
        _ if seconds < 1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    let digits = match number {
        _ if number < 9.995 => 2,
        _ if number < 99.95 => 1,
        _ => 0,
    };
    format!("{number:.digits$} {unit}")
}

/// A number of bytes.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.0} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        let seconds = Seconds::of_rounds(&[vec![5.0, 1.0, 4.0], vec![2.0], vec![6.0, 3.0]]);
        assert_eq!(seconds.least, 1.0);
        assert_eq!(seconds.median, 3.5);
        assert_eq!(seconds.spread, [2.0, 4.5]);
    }

    #[test]
    fn times_have_three_digits() {
        let times = [
            1e-9, 9.994e-6, 9.996e-6, 4.25e-4, 9.9999e-4, 0.025, 1.5, 123.4,
        ];
        let texts = times.map(time);
        assert_eq!(
            texts,
            [
                "0.00 µs", "9.99 µs", "10.0 µs", "425 µs", "1000 µs", "25.0 ms", "1.50 s", "123 s"
            ]
        );
        assert_eq!(
            [9_999, 10_000, 12_000_000].map(size),
            ["9999 B", "10 kB", "12 MB"]
        );
    }
}
