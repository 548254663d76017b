//! Tests of the text format: right, wrong and damaged files.

use std::fs;

use proptest::prelude::*;

use super::*;
use crate::formats::test_file::file;
use crate::generate::random::random;
use crate::route::{BLOCKED, Cell, Net, Pin, RoutingCase, RoutingGrid, Window};
use crate::{Error, Result};

const EXAMPLE: &str = "3 3\n2\nPin 1 1\nPin 0 2\nVertical 24 26\nVertical 47 13\nVertical 70 2\n\
                       Horizontal 33 68 51\nHorizontal 80 24 77\n";

fn read(text: impl AsRef<[u8]>) -> Result<RoutingCase> {
    read_case(file(text.as_ref()).path())
}

fn write(case: &RoutingCase) -> String {
    let mut text = Vec::new();
    write_case_text(case, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Expects a refusal whose message has all of `words`, first the place.
#[track_caller]
fn refused(text: impl AsRef<[u8]>, words: &[&str]) {
    match read(text) {
        Err(Error::Unreadable { reason, .. }) => {
            assert!(reason.starts_with(words[0]), "{reason}");
            for word in words {
                assert!(reason.contains(word), "no {word:?} in {reason}");
            }
        }
        other => panic!("{other:?} where {words:?} should be said"),
    }
}

/// The example with `old`, which must occur once, replaced by `new`.
fn with(old: &str, new: &str) -> String {
    assert_eq!(EXAMPLE.matches(old).count(), 1, "{old:?}");
    EXAMPLE.replace(old, new)
}

#[test]
fn the_reports_example() {
    let case = read(EXAMPLE).unwrap();
    let right = [24, 26, 47, 13, 70, 2];
    let down = [33, 68, 51, 80, 24, 77];
    let grid = RoutingGrid::from_edges(3, 3, &right, &down).unwrap();
    let net = Net::from_cells([Cell::at(1, 1), Cell::at(2, 0)]);
    assert_eq!(case, RoutingCase::new(grid, [net]));
    assert_eq!(write(&case), EXAMPLE);
}

#[test]
fn spaces_and_line_ends_are_free() {
    let case = read(EXAMPLE).unwrap();
    assert_eq!(read(EXAMPLE.replace('\n', "\r\n")).unwrap(), case);
    assert_eq!(read(EXAMPLE.replace('\n', " \t \n")).unwrap(), case);
    assert_eq!(read(EXAMPLE.replace(' ', "   ")).unwrap(), case);
    assert_eq!(read(EXAMPLE.replace(' ', "\t")).unwrap(), case);
    assert_eq!(read(EXAMPLE.trim_end()).unwrap(), case);
    assert_eq!(read(format!("{EXAMPLE}\n \r\n\n")).unwrap(), case);
    assert_eq!(
        read(EXAMPLE.replace(" 7", " 00000000000007")).unwrap(),
        case
    );
}

#[test]
fn no_pin_one_pin_and_the_same_pin_again() {
    let rest = EXAMPLE.split_once("0 2\n").unwrap().1;
    let pins = |text: &str| {
        let case = read(format!("3 3\n{text}{rest}")).unwrap();
        assert_eq!(case.nets.len(), 1);
        case.nets[0].pins.clone()
    };
    assert_eq!(pins("0\n"), []);
    assert_eq!(pins("1\nPin 2 0\n"), [Cell::at(0, 2).into()]);
    assert_eq!(
        pins("2\nPin 2 0\nPin 2 0\n"),
        [Pin::from(Cell::at(0, 2)), Cell::at(0, 2).into()]
    );
}

#[test]
fn the_smallest_grids() {
    assert_eq!(read("1 1\n0\nVertical\n").unwrap().grid.cell_count(), 1);
    let column = read("1 2\n0\nVertical\nVertical\nHorizontal 5").unwrap();
    assert_eq!(column.grid.down(Cell::at(0, 0)), 5);
    let row = read("2 1\n0\nVertical 5").unwrap();
    assert_eq!(row.grid.right(Cell::at(0, 0)), 5);
}

#[test]
fn layers_nets_blocked_edges_and_pins_of_several_cells() {
    let text = "2 2 2\n1\nPin 0 1 1 / 1 0 0\nNet 0\nNet 1\nPin 1 1 0\n\
                Vertical 1\nVertical x\nHorizontal 2 3\nVia 4 5\nVia x 6\n\
                Vertical 7\nVertical 8\nHorizontal 4294967294 0\n";
    let case = read(text).unwrap();
    let cell = |x, y, layer| Cell { x, y, layer };
    let several = Pin {
        cells: vec![cell(1, 0, 1), cell(0, 1, 0)],
    };
    assert_eq!(case.nets[0].pins, [several]);
    assert_eq!(case.nets[1], Net::default());
    assert_eq!(case.nets[2], Net::from_cells([cell(1, 1, 0)]));
    let grid = &case.grid;
    assert_eq!(
        grid.rights(),
        [1, BLOCKED, BLOCKED, BLOCKED, 7, BLOCKED, 8, BLOCKED]
    );
    let downs = [2, 3, BLOCKED, BLOCKED, BLOCKED - 1, 0, BLOCKED, BLOCKED];
    assert_eq!(grid.downs(), downs);
    assert_eq!(
        grid.vias(),
        [&[4, 5, BLOCKED, 6][..], &[BLOCKED; 4]].concat()
    );
    assert_eq!(write(&case), text);
    // Without a layer, a pin is on the lowest one.
    let shorter = text.replace("Pin 1 1 0", "Pin 1 1").replace("1 0 0", "1 0");
    assert_eq!(read(shorter).unwrap(), case);
}

#[test]
fn bad_sizes() {
    refused("", &["the file is empty"]);
    refused("\n", &["line 1, column 1: the grid's width is missing"]);
    refused("3", &["line 1, column 2: the grid's height is missing"]);
    refused(
        with("3 3\n", "0 3\n"),
        &["line 1, column 1: the grid's width \"0\"", "from 1"],
    );
    refused(
        with("3 3\n", "3 0\n"),
        &["line 1, column 3: the grid's height \"0\"", "from 1"],
    );
    refused(
        with("3 3\n", "3 -3\n"),
        &["line 1, column 3", "\"-3\" is not a whole number"],
    );
    refused(
        with("3 3\n", "3.5 3\n"),
        &["line 1, column 1", "\"3.5\" is not a whole number"],
    );
    refused(
        with("3 3\n", "3 3 0\n"),
        &["line 1, column 5: the number of layers", "1 to 16"],
    );
    refused(with("3 3\n", "3 3 17\n"), &["line 1, column 5", "1 to 16"]);
    refused(
        with("3 3\n", "3 3 1 1\n"),
        &["line 1, column 7: \"1\" follows"],
    );
    refused(
        with("3 3\n", "99999999999 1\n"),
        &["line 1, column 1", "4294967295"],
    );
    refused(
        with("3 3\n", "4294967295 4294967295\n"),
        &["line 1", "too large"],
    );
    // Nothing is allocated for it: this much would not be available.
    let huge = with("3 3\n", "60000 60000\n");
    refused(
        huge,
        &["line 1: the file is truncated", "60000 × 60000 cells"],
    );
    refused(
        with("\n2\n", "\n4000000000\n"),
        &["line 2: the file is truncated", "pins"],
    );
    refused("<html>", &["line 1, column 1: the grid's width \"<html>\""]);
    refused([0xff; 40], &["line 1, column 1", "…"]);
    refused(vec![b'7'; 2 << 20], &["line 1 is longer than"]);
    refused(vec![0; 2 << 20], &["line 1 is longer than"]);
}

#[test]
fn bad_pins() {
    refused(
        with("Pin 0 2", "Pin 3 2"),
        &["line 4, column 5: the pin's row \"3\"", "0 to 2"],
    );
    refused(
        with("Pin 0 2", "Pin 0 3"),
        &["line 4, column 7: the pin's column \"3\"", "0 to 2"],
    );
    refused(
        with("Pin 0 2", "Pin 0 2 1"),
        &["line 4, column 9: the pin's layer", "0 to 0"],
    );
    refused(with("Pin 0 2", "Pin -1 2"), &["line 4, column 5", "\"-1\""]);
    refused(
        with("Pin 0 2", "Pin 0"),
        &["line 4, column 6: the pin's column is missing"],
    );
    refused(
        with("Pin 0 2", "Pin"),
        &["line 4, column 4: the pin's row is missing"],
    );
    refused(
        with("Pin 0 2", "Pin 0 2 /"),
        &["line 4, column 10: the pin's row is missing"],
    );
    refused(
        with("Pin 0 2", "Pin 0 2 0 1"),
        &["line 4, column 11: \"1\" follows"],
    );
    refused(
        with("Pin 0 2", "Pins 0 2"),
        &["line 4, column 1: \"Pins\"", "\"Pin\""],
    );
    refused(
        with("Pin 0 2\n", ""),
        &["line 4, column 1: \"Vertical\"", "pin 1 (of 2"],
    );
    refused(
        with("\n2\n", "\n1\n"),
        &["line 4, column 1: \"Pin\"", "\"Vertical\" line 0 (of 3"],
    );
    refused(
        with("\n2\n", "\n-2\n"),
        &["line 2, column 1: the number of pins \"-2\""],
    );
    refused(
        with("\n2\n", "\n2 2\n"),
        &["line 2, column 3: \"2\" follows"],
    );
    refused(
        with("Pin 0 2\n", "Pin 0 2\nNet\n"),
        &["line 5, column 4: the number of pins"],
    );
    refused(
        "3 3\n2\nPin 1 1\nPin 0 2               ",
        &["line 5: the file ends before"],
    );
    refused("1 1", &["line 2: the file ends before the number of pins"]);
}

#[test]
fn windows() {
    let case = read(with("Pin 0 2\n", "Pin 0 2\nWindow 0 1 2 2\n")).unwrap();
    let window = Window {
        x: 1,
        y: 0,
        width: 2,
        height: 2,
    };
    assert_eq!(case.nets[0].window, Some(window));
    for (line, words) in [
        (
            "Window 3 1 1 1",
            ["line 5, column 8: the window's first row \"3\"", "0 to 2"],
        ),
        (
            "Window 0 3 1 1",
            ["line 5, column 10: the window's first column", "0 to 2"],
        ),
        (
            "Window 1 0 3 1",
            ["line 5, column 12: the window's number of rows", "1 to 2"],
        ),
        (
            "Window 0 0 0 1",
            ["line 5, column 12: the window's number of rows", "1 to 3"],
        ),
        (
            "Window 0 1 1 3",
            [
                "line 5, column 14: the window's number of columns",
                "1 to 2",
            ],
        ),
        (
            "Window 0 1 1",
            [
                "line 5, column 13: the window's number of columns",
                "missing",
            ],
        ),
        ("Window 0 1 1 1 1", ["line 5, column 16: \"1\" follows", ""]),
    ] {
        refused(with("Pin 0 2\n", &format!("Pin 0 2\n{line}\n")), &words);
    }
}

#[test]
fn bad_weights() {
    refused(
        with("47 13", "47"),
        &["line 6, column 12: \"Vertical\" line 1", "1 weights", "2"],
    );
    refused(
        with("47 13", "47 13 5"),
        &["line 6, column 16: \"5\" is too much", "2 weights"],
    );
    refused(
        with("47 13", "47 -13"),
        &["line 6, column 13: the weight", "\"-13\"", "4294967294"],
    );
    refused(
        with("47 13", "47 13.5"),
        &["line 6, column 13", "\"13.5\" is not a whole number"],
    );
    refused(
        with("47 13", "47 4294967295"),
        &["line 6, column 13", "4294967294"],
    );
    refused(
        with("47 13", "99999999999999999999 1"),
        &["line 6, column 10"],
    );
    refused(
        with("47 13", "47 X"),
        &["line 6, column 13", "(x blocks an edge)", "\"X\""],
    );
    refused(with("47 13", "47 xx"), &["line 6, column 13", "\"xx\""]);
    refused(with("47 13", "47,13"), &["line 6, column 10", "\"47,13\""]);
    refused(
        with("Vertical 47", "vertical 47"),
        &["line 6, column 1: \"vertical\""],
    );
    refused(
        with("Vertical 47", "Vertical47"),
        &["line 6, column 1: \"Vertical47\""],
    );
    refused(
        with("Vertical 47 13\n", ""),
        &["line 7, column 1: \"Horizontal\"", "line 2 (of 3"],
    );
    refused(
        with("Vertical 47 13\n", "Vertical 47 13\nVertical 1 1\n"),
        &[
            "line 8, column 1: \"Vertical\"",
            "\"Horizontal\" line 0 (of 2",
        ],
    );
    refused(
        with("Horizontal 80 24 77\n", ""),
        &["line 9: the file ends before \"Horizontal\" line 1"],
    );
    refused(
        format!("{EXAMPLE}Horizontal 1 2 3"),
        &["line 10, column 1: \"Horizontal\" follows"],
    );
    refused(
        format!("{EXAMPLE}\n\nx"),
        &["line 12, column 1: \"x\" follows"],
    );
    refused(
        with("Vertical 47", "\nVertical 47"),
        &["line 6, column 1: the line's end"],
    );
    let layers = with("3 3\n", "3 3 2\n");
    refused(
        layers + &" ".repeat(99),
        &[
            "line 10, column 100: the line's end",
            "\"Via\"",
            "of layer 0",
        ],
    );
}

#[test]
fn numbers_of_any_length_and_nothing_like_them() {
    // Far enough from the line's end for reading many digits at once.
    let line = |weight: &[u8]| [b"9 1\n0\nVertical 7 ", weight, b" 6 5 4 3 2 1"].concat();
    for digits in 0..10 {
        let weight = 1_234_567_890 / 10u32.pow(digits);
        let text = weight.to_string();
        for zeros in ["", "0", "0000000"] {
            let case = read(line(format!("{zeros}{text}").as_bytes())).unwrap();
            assert_eq!(case.grid.rights()[..3], [7, weight, 6], "{zeros}{text}");
        }
    }
    for byte in 0..=u8::MAX {
        let read = read(line(&[b'1', byte, b'2']));
        match byte {
            b'0'..=b'9' => {
                let weight = 102 + 10 * u32::from(byte - b'0');
                assert_eq!(read.unwrap().grid.rights()[1], weight);
            }
            // One weight more, or less.
            b' ' | b'\t' | b'\r' | b'\n' => assert!(read.is_err()),
            _ => {
                let error = read.unwrap_err().to_string();
                assert!(error.contains("line 3, column 1"), "{byte}: {error}");
            }
        }
    }
}

#[test]
fn what_has_no_words_is_not_written() {
    let mut case = read(EXAMPLE).unwrap();
    let refused = |case: &RoutingCase, word: &str| match write_case_text(case, &mut Vec::new()) {
        Err(Error::Unwritable { reason, .. }) => assert!(reason.contains(word), "{reason}"),
        other => panic!("{other:?}"),
    };
    case.nets.push(Net {
        pins: vec![Pin { cells: vec![] }],
        window: None,
    });
    refused(&case, "net 1 has a pin without cells");
    case.nets.clear();
    assert_eq!(read(write(&case)).unwrap().nets, [Net::default()]);
}

/// Files that differ from a valid one in some bytes are read or refused, never worse.
#[test]
fn damaged_files_are_read_or_refused() {
    let whole = "3 2 2\n2\nPin 1 1 1\nPin 0 2 / 0 1\nWindow 0 1 2 2\nNet 1\nPin 0 0\n\
                 Vertical 1 22\nVertical 333 x\nHorizontal 33 68 51\nVia 1 2 3\nVia 4 5 6\n\
                 Vertical 5 5\nVertical 6 7\nHorizontal 8 9 1\n";
    assert!(read(whole).is_ok());
    let file = file(whole.as_bytes());
    let mut read_again = 0;
    for seed in 0..3000u64 {
        let mut bytes = whole.as_bytes().to_vec();
        for i in 0..1 + seed % 3 {
            let drawn = random(seed, i);
            if bytes.is_empty() {
                break;
            }
            let at = (drawn >> 32) as usize % bytes.len();
            let byte = b" \n/-xPinNetV0123456789\r\t\0\xff"[(drawn >> 8) as usize % 26];
            match drawn % 4 {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        fs::write(file.path(), &bytes).unwrap();
        match read_case(file.path()) {
            Ok(case) => {
                assert_eq!(read(write(&case)).unwrap(), case, "seed {seed}");
                read_again += 1;
            }
            Err(Error::Unreadable { reason, .. }) => assert!(!reason.contains('\n')),
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
    // Mostly other digits, and more spaces.
    assert!((100..2000).contains(&read_again), "{read_again}");
}

fn weight() -> impl Strategy<Value = u32> {
    prop_oneof![
        0..100u32,
        (0..10u32).prop_map(|digits| 10u32.pow(digits)),
        Just(BLOCKED),
        any::<u32>(),
    ]
}

fn case() -> impl Strategy<Value = RoutingCase> {
    (1..9u32, 1..6u32, 1..4u32).prop_flat_map(|(width, height, layers)| {
        let layer = (
            prop::collection::vec(weight(), ((width - 1) * height) as usize),
            prop::collection::vec(weight(), (width * (height - 1)) as usize),
        );
        let layer = layer.prop_map(move |(right, down)| {
            RoutingGrid::from_edges(width, height, &right, &down).unwrap()
        });
        let vias = prop::collection::vec(weight(), (width * height * (layers - 1)) as usize);
        let grid = (prop::collection::vec(layer, layers as usize), vias)
            .prop_map(|(layers, vias)| RoutingGrid::stack(&layers, &vias).unwrap());
        let cell = (0..width, 0..height, 0..layers);
        let cell = cell.prop_map(|(x, y, layer)| Cell { x, y, layer });
        let pin = prop::collection::vec(cell, 1..3).prop_map(|cells| Pin { cells });
        let window = (0..width, 0..height).prop_flat_map(move |(x, y)| {
            (1..=width - x, 1..=height - y).prop_map(move |(width, height)| Window {
                x,
                y,
                width,
                height,
            })
        });
        let net = (prop::collection::vec(pin, 0..4), prop::option::of(window));
        let net = net.prop_map(|(pins, window)| Net { pins, window });
        (grid, prop::collection::vec(net, 1..4))
            .prop_map(|(grid, nets)| RoutingCase::new(grid, nets))
    })
}

proptest! {
    #![proptest_config(crate::seeds::config(256, 1))]

    #[test]
    fn what_is_written_is_read_back(case in case()) {
        let text = write(&case);
        prop_assert_eq!(&read(&text).unwrap(), &case);
        prop_assert_eq!(&read(text.replace('\n', " \r\n")).unwrap(), &case);
    }
}
