//! What changed since an earlier run.

use super::results::{Measured, Results, time};

/// A change up to this factor is none, whatever the spreads.
const LEAST: f64 = 1.03;

/// How a time compares with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Slower,
    Faster,
    /// Within what either run measured of itself.
    Noise,
}

impl Change {
    fn between(old: &Measured, new: &Measured) -> Self {
        let ([old_low, old_high], [new_low, new_high]) = (old.seconds.spread, new.seconds.spread);
        let factor = new.seconds.median / old.seconds.median;
        if new_low > old_high && factor > LEAST {
            Self::Slower
        } else if new_high < old_low && factor < 1.0 / LEAST {
            Self::Faster
        } else {
            Self::Noise
        }
    }
}

/// The changes between two runs.
#[derive(Default)]
pub(super) struct Changes {
    lines: Vec<String>,
    compared: usize,
    slower: usize,
    faster: usize,
}

impl Changes {
    pub(super) fn between(old: &Results, new: &Results) -> Self {
        let mut this = Self::default();
        if old.machine != new.machine {
            this.lines.push(format!(
                "the earlier run was on another machine: {}",
                old.machine.lines().join("; ")
            ));
        }
        for new in &new.results {
            let Some(old) = old.results.iter().find(|old| old.is_same(new)) else {
                continue;
            };
            this.compared += 1;
            let word = match Change::between(old, new) {
                Change::Noise => continue,
                Change::Faster => {
                    this.faster += 1;
                    "faster"
                }
                Change::Slower => {
                    this.slower += 1;
                    "slower"
                }
            };
            let factor = new.seconds.median / old.seconds.median;
            this.lines.push(format!(
                "{word}: {}, {}, {}: {} was {} ({:+.1} %)",
                new.job,
                new.input,
                new.device,
                time(new.seconds.median),
                time(old.seconds.median),
                (factor - 1.0) * 100.0
            ));
        }
        let same = this.compared - this.slower - this.faster;
        this.lines.push(format!(
            "against {}: {} compared, {same} as before within the noise",
            old.date, this.compared
        ));
        this
    }

    /// One line per change, and a summary.
    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(super) fn slower(&self) -> usize {
        self.slower
    }

    pub(super) fn compared(&self) -> usize {
        self.compared
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::Seconds;
    use super::*;

    fn measured(low: f64, median: f64, high: f64) -> Measured {
        Measured {
            job: "trace".into(),
            input: "blobs".into(),
            device: "core".into(),
            found: String::new(),
            pixels: 1,
            bytes: 1,
            runs: 5,
            seconds: Seconds {
                least: low,
                median,
                spread: [low, high],
            },
            copy_seconds: 1.0,
        }
    }

    /// Ten per cent are seen if both runs are steadier than that, and nothing else is.
    #[test]
    fn changes_beyond_the_noise_are_seen() {
        let change = |factor: f64, spread: f64| {
            let of =
                |median: f64| measured(median * (1.0 - spread), median, median * (1.0 + spread));
            Change::between(&of(1.0), &of(factor))
        };
        assert_eq!(change(1.1, 0.04), Change::Slower);
        assert_eq!(change(1.0 / 1.1, 0.04), Change::Faster);
        assert_eq!(change(1.1, 0.06), Change::Noise);
        assert_eq!(change(1.0, 0.0), Change::Noise);
        assert_eq!(change(1.02, 0.001), Change::Noise);
        assert_eq!(change(0.98, 0.001), Change::Noise);
    }

    /// Of a file of earlier results, one job on one device has become 10 % slower.
    #[test]
    fn a_planted_slowness_is_told() {
        let row = |job: &str, device: &str| {
            serde_json::json!({
                "job": job, "input": "blobs 64 × 64", "device": device, "found": "9 contours",
                "pixels": 4096, "bytes": 20_000, "runs": 40, "copy_seconds": 1e-6,
                "seconds": { "least": 0.98e-3, "median": 1e-3, "spread": [0.99e-3, 1.02e-3] },
            })
        };
        let file = serde_json::json!({
            "trazar": "0.2.0", "date": "2026-11-25T03:09:00Z",
            "machine": { "processor": "one", "cores": 2, "system": "linux", "gpu": "none" },
            "results": [row("label", "core"), row("trace", "core"), row("trace", "cpu")],
        });
        let read = |file: &serde_json::Value| -> Results {
            serde_json::from_str(&file.to_string()).expect("as it is written")
        };
        let old = read(&file);
        let unchanged = Changes::between(&old, &read(&file));
        assert_eq!(
            (unchanged.compared, unchanged.slower, unchanged.faster),
            (3, 0, 0)
        );

        let mut planted = file.clone();
        planted["results"][2]["seconds"] = serde_json::json!(
            { "least": 1.078e-3, "median": 1.1e-3, "spread": [1.089e-3, 1.122e-3] });
        let lines = |old: &Results, new: &Results| Changes::between(old, new).lines;
        assert_eq!(
            lines(&old, &read(&planted)),
            [
                "slower: trace, blobs 64 × 64, cpu: 1.10 ms was 1.00 ms (+10.0 %)",
                "against 2026-11-25T03:09:00Z: 3 compared, 2 as before within the noise",
            ]
        );
        assert_eq!(
            lines(&read(&planted), &old)[0],
            "faster: trace, blobs 64 × 64, cpu: 1.00 ms was 1.10 ms (-9.1 %)"
        );
    }
}
