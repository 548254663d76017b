//! The results as Markdown.

use super::results::{Measured, Results, size, time};

/// A table per job.
pub(super) fn render(results: &Results) -> String {
    let mut text = format!("# trazar {}, {}\n\n", results.trazar, results.date);
    for line in results.machine.lines() {
        text += &format!("- {line}\n");
    }
    text += "\nMedians of all runs; the spread is from the least to the greatest median of a fifth \
             of them.\n\"Copies\" is the median in copies by one core of as many bytes as the job \
             reads and returns.\n";
    for job in results.results.chunk_by(|a, b| a.job == b.job) {
        text += &format!("\n## {}\n\n", job[0].job);
        text += "| input | found | bytes | device | runs | median | spread | Mpixel/s | copies |\n";
        text += "|---|---|---|---|---|---|---|---|---|\n";
        for each in job {
            text += &row(each);
        }
    }
    text
}

fn row(each: &Measured) -> String {
    let [low, high] = each.seconds.spread.map(time);
    format!(
        "| {} | {} | {} | {} | {} | {} | {low} to {high} | {:.0} | {:.1} |\n",
        each.input.replace('|', "\\|"),
        each.found,
        size(each.bytes),
        each.device,
        each.runs,
        time(each.seconds.median),
        each.megapixels(),
        each.copies()
    )
}
