//! The results as a picture: a bar per result, on one logarithmic axis of time.

use std::fmt::Write;

use super::results::{Measured, Results, time};

const WIDTH: f64 = 860.0;
/// Where bars begin and end.
const LEFT: f64 = 300.0;
const RIGHT: f64 = 780.0;
const TOP: f64 = 96.0;
const BAR: f64 = 16.0;
const GAP: f64 = 10.0;
const TITLE: f64 = 30.0;

/// The axis, whole powers of ten.
struct Axis {
    first: i32,
    last: i32,
}

impl Axis {
    fn of(results: &[Measured]) -> Self {
        let times = results
            .iter()
            .flat_map(|each| [each.seconds.median, each.copy_seconds]);
        let powers = times.map(|seconds| seconds.max(1e-9).log10());
        let (least, most) = powers.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), p| {
            (least.min(p), most.max(p))
        });
        if least > most {
            return Self { first: -3, last: 0 };
        }
        let (first, last) = (least.floor() as i32, most.ceil() as i32);
        Self {
            first,
            last: last.max(first + 1),
        }
    }

    fn x(&self, seconds: f64) -> f64 {
        let share =
            (seconds.max(1e-9).log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

/// The picture.
pub(super) fn render(results: &Results) -> String {
    let axis = Axis::of(&results.results);
    let mut body = String::new();
    let mut y = TOP;
    for job in results.results.chunk_by(|a, b| a.job == b.job) {
        y += TITLE;
        text(&mut body, 16.0, y - 10.0, "start", "job", &job[0].job);
        for group in job.chunk_by(|a, b| a.input == b.input) {
            y = put_group(&mut body, &axis, group, y) + GAP;
        }
    }
    let mut svg = String::new();
    let height = y + 20.0;
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <style>.job{{font-weight:bold;font-size:15px}}.note{{fill:#666}}\
         .core{{fill:#9db4c0}}.cpu{{fill:#5c7f96}}.cuda{{fill:#e09f3e}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
    let title = format!("trazar {}, {}", results.trazar, results.date);
    text(&mut svg, 16.0, 24.0, "start", "job", &title);
    text(
        &mut svg,
        16.0,
        42.0,
        "start",
        "note",
        &results.machine.lines().join("; "),
    );
    let legend = "medians; the line on a bar is a copy, by one core, of as many bytes as the job \
                  reads and returns";
    text(&mut svg, 16.0, 60.0, "start", "note", legend);
    for power in axis.first..=axis.last {
        let x = axis.x(10f64.powi(power));
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {} V{y:.1}\" stroke=\"#ddd\"/>",
            TOP - 6.0
        );
        text(&mut svg, x, TOP - 12.0, "middle", "note", &unit(power));
    }
    svg + &body + "</svg>\n"
}

/// Draws the bars of one input, and returns where the next thing goes.
fn put_group(body: &mut String, axis: &Axis, group: &[Measured], top: f64) -> f64 {
    text(body, LEFT - 60.0, top + 12.0, "end", "", &group[0].input);
    let mut y = top;
    for each in group {
        let end = axis.x(each.seconds.median);
        text(body, LEFT - 8.0, y + 12.0, "end", "note", &each.device);
        let _ = writeln!(
            body,
            "<rect class=\"{}\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            escaped(&each.device),
            (end - LEFT).max(1.0),
            BAR - 3.0
        );
        text(
            body,
            end + 5.0,
            y + 11.0,
            "start",
            "",
            &time(each.seconds.median),
        );
        y += BAR;
    }
    let copy = axis.x(group[0].copy_seconds);
    let _ = writeln!(
        body,
        "<path d=\"M{copy:.1} {top:.1} V{:.1}\" stroke=\"#333\" stroke-width=\"2\"/>",
        y - 3.0
    );
    y
}

fn unit(power: i32) -> String {
    match power {
        ..-6 => format!("{} ns", 10u64.pow((power + 9).max(0) as u32)),
        -6..-3 => format!("{} µs", 10u64.pow((power + 6) as u32)),
        -3..0 => format!("{} ms", 10u64.pow((power + 3) as u32)),
        _ => format!("{} s", 10f64.powi(power)),
    }
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(text)
    );
}

/// Text within XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_have_units() {
        let powers = [-9, -7, -6, -4, -3, -1, 0, 2];
        assert_eq!(
            powers.map(unit),
            [
                "1 ns", "100 ns", "1 µs", "100 µs", "1 ms", "100 ms", "1 s", "100 s"
            ]
        );
    }

    #[test]
    fn times_are_placed_by_their_logarithms() {
        let axis = Axis { first: -3, last: 0 };
        assert_eq!(axis.x(1e-3), LEFT);
        assert_eq!(axis.x(1.0), RIGHT);
        assert_eq!(axis.x(100.0), RIGHT);
        let third = axis.x(1e-2) - LEFT;
        assert!((third - (RIGHT - LEFT) / 3.0).abs() < 1e-9);
    }
}
