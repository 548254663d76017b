//! `docs/a-race-in-ten-lines.md` shows the template's example as it is, and the report as it comes.

use std::fs;
use std::path::Path;

#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../templates/kernel-crate/examples/race.rs"]
mod race;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    text.replace("\r\n", "\n")
}

fn page() -> String {
    read("../../docs/a-race-in-ten-lines.md")
}

/// The text of the page's only block in `language`.
fn block(page: &str, language: &str) -> String {
    let fence = format!("\n```{language}\n");
    let mut blocks = page.split(&fence).skip(1);
    let block = blocks.next().expect("a block");
    assert_eq!(blocks.next(), None, "more than one block of {language}");
    let (block, _) = block.split_once("```").expect("an end");
    block.to_owned()
}

/// The text with single spaces between its words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_example_is_the_templates() {
    let example = read("templates/kernel-crate/examples/race.rs");
    assert_eq!(block(&page(), "rust"), example);
}

#[test]
fn the_report_is_the_emulators() {
    let report = race::report().expect("a race");
    // Here the example is a module of this test.
    let at = report.find("examples/race.rs").expect("the file's name");
    let start = report[..at].rfind(' ').map_or(0, |space| space + 1);
    let report = report.replace(&report[start..at], "");
    assert_eq!(words(&block(&page(), "text")), words(&report));
    for part in page().lines().filter(|line| line.starts_with("| `")) {
        let part = part.split('`').nth(1).expect("a part");
        assert!(report.contains(part), "no {part} in {report}");
    }
}

/// The example's kernel is the template's, but for its name and one line.
#[test]
fn the_mend_is_the_templates_kernel() {
    let body = |path: &str| {
        let text = read(path);
        let at = text.find("let bins").expect("the kernel's first line");
        let (body, _) = text[at..].split_once("\n}\n").expect("its end");
        format!("    {body}\n")
    };
    let mend = block(&page(), "diff");
    let lines = |leave_out: char| {
        let lines = mend.lines().filter(|line| !line.starts_with(leave_out));
        lines
            .map(|line| format!("{}\n", &line[1..]))
            .collect::<String>()
    };
    let racy = body("templates/kernel-crate/examples/race.rs");
    let (before, after) = (lines('+'), lines('-'));
    assert_eq!(racy.matches(&before).count(), 1, "{before}");
    assert_eq!(
        racy.replace(&before, &after),
        body("templates/kernel-crate/src/lib.rs")
    );
}
