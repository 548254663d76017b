//! The files of the ISPD 2024 contest: what they say, and what is refused with its line.

use std::fs;

use trazar::route::{BLOCKED, Cell, NegotiationOptions, RoutingCase, UNLIMITED};
use trazar::{Engine, Error, formats};

const CAP: &str = "2 3 2\n0.5 4 60 60\n2000 3000\n2000\nmetal1 0 0\n4 4 0\n4 0 9\nmetal2 1 0\n\
                   2.5 0.9 1\n7 7 7\n";
const NET: &str = "clk\n(\n[(0, 0, 0), (1, 0, 0)]\n[(1, 2, 1)]\n)\nn[1]\n(\n[(0, 1, 1)]\n)\n";

fn read(cap: &str, net: &str) -> Result<RoutingCase, Error> {
    let folder = tempfile::tempdir().unwrap();
    let (cap_file, net_file) = (folder.path().join("a.cap"), folder.path().join("a.net"));
    fs::write(&cap_file, cap).unwrap();
    fs::write(&net_file, net).unwrap();
    formats::read_ispd(cap_file, net_file)
}

#[test]
fn grids_capacities_and_nets_are_read() {
    let case = read(CAP, NET).unwrap();
    let (grid, capacities) = (&case.grid, case.capacities.as_ref().unwrap());
    assert_eq!((grid.width(), grid.height(), grid.layers()), (3, 2, 2));
    let at = |x, y, layer| Cell { x, y, layer };
    // Along x on the first layer, along y on the second; edges without room are blocked.
    assert_eq!(grid.right(at(0, 0, 0)), 1000);
    assert_eq!(grid.right(at(1, 0, 0)), 1500);
    assert_eq!(grid.right(at(1, 1, 0)), BLOCKED);
    assert_eq!(grid.down(at(0, 0, 0)), BLOCKED);
    assert_eq!(grid.down(at(0, 0, 1)), 1000);
    assert_eq!(grid.down(at(1, 0, 1)), BLOCKED);
    assert_eq!(grid.right(at(0, 0, 1)), BLOCKED);
    assert_eq!(grid.via(at(2, 1, 0)), 4);
    assert_eq!(capacities.right(at(0, 0, 0)), 4);
    assert_eq!(capacities.right(at(1, 1, 0)), 0);
    assert_eq!(capacities.right(at(2, 1, 0)), 0);
    assert_eq!(capacities.down(at(0, 0, 1)), 2);
    assert_eq!(capacities.down(at(1, 0, 1)), 0);
    assert_eq!(capacities.down(at(2, 0, 1)), 1);
    assert_eq!(capacities.via(at(1, 1, 0)), UNLIMITED);
    assert_eq!(case.names, ["clk", "n[1]"]);
    assert_eq!(case.nets[0].pins[0].cells, [at(0, 0, 0), at(0, 0, 1)]);
    assert_eq!(case.nets[0].pins[1].cells, [at(2, 1, 1)]);
    assert_eq!(case.nets[1].pins.len(), 1);
    // Costs that are not whole numbers: the largest becomes 65,536.
    let case = read(&CAP.replace("0.5 4", "0.00075 4"), NET).unwrap();
    assert_eq!(case.grid.via(at(0, 0, 0)), 65_536);
    assert_eq!(case.grid.right(at(1, 0, 0)), 36_864);
    assert_eq!(case.grid.down(at(0, 0, 1)), 24_576);
    // Lines of other systems, and spaces.
    let spaced = NET.replace(", ", " ,  ").replace('\n', " \r\n");
    assert_eq!(
        read(CAP, &spaced).unwrap().nets,
        read(CAP, NET).unwrap().nets
    );
    let case = read(CAP, NET).unwrap();
    let options = NegotiationOptions::default();
    let capacities = case.capacities.as_ref().unwrap();
    let found = Engine::cpu()
        .negotiate(&case.grid, capacities, &case.nets, &options)
        .unwrap();
    let mut text = Vec::new();
    formats::write_routes_ispd(&case, &found.routes, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    // Two ways cost the same, over the first row or the second; the second is closed at (1, 1).
    assert_eq!(
        text,
        "clk\n(\n2 0 1 2 1 1\n2 0 0 2 0 1\n0 0 0 2 0 0\n)\nn[1]\n(\n)\n"
    );
}

#[test]
fn lies_are_refused_with_their_line() {
    let of_cap = |from: &str, to: &str| (CAP.replacen(from, to, 1), NET.to_owned());
    let of_net = |from: &str, to: &str| (CAP.to_owned(), NET.replacen(from, to, 1));
    for ((cap, net), line, what) in [
        (of_cap("2 3 2", "0 3 2"), 1, "the number of layers \"0\""),
        (of_cap("2 3 2", "2 3"), 1, "the number of rows is missing"),
        (
            of_cap("2 3 2", "2 3 2 1"),
            1,
            "follows layers, columns and rows",
        ),
        (of_cap("2 3 2", "2 30000 30000"), 1, "the file is truncated"),
        (
            of_cap("0.5 4 60 60", "0.5"),
            2,
            "the cost of a via is missing",
        ),
        (of_cap("0.5 4 60 60", "-1 4"), 2, "not a number, 0 or more"),
        (
            of_cap("0.5 4 60 60", "0.5 inf"),
            2,
            "not a number, 0 or more",
        ),
        (
            of_cap("0.5 4 60 60", "0.5 4 x"),
            2,
            "the cost of overflow in a layer \"x\"",
        ),
        (
            of_cap("2000 3000", "2000"),
            3,
            "the length of an edge is missing",
        ),
        (
            of_cap("2000 3000", "2000 3000 1"),
            3,
            "follows the 2 lengths between columns",
        ),
        (
            of_cap("metal1 0 0", "metal1 2 0"),
            5,
            "the direction of a layer",
        ),
        (
            of_cap("metal1 0 0", "metal1 0"),
            5,
            "the shortest wire of a layer is missing",
        ),
        (
            of_cap("4 4 0", "4 4"),
            6,
            "the line has 2 capacities: it needs 3",
        ),
        (of_cap("4 4 0", "4 4 0 1"), 6, "follows the 3 capacities"),
        (
            of_cap("4 4 0", "4 nan 0"),
            6,
            "the capacity \"nan\" is not a number",
        ),
        (
            of_cap("7 7 7\n", ""),
            10,
            "the file ends before line 1 (of 2, from 0)",
        ),
        (
            of_cap("7 7 7\n", "7 7 7\nmetal3 0 0\n"),
            11,
            "\"metal3\" follows",
        ),
        (of_net("clk\n", ""), 1, "where a net's name should be"),
        (
            of_net("clk\n(\n", "clk\n"),
            2,
            "the line after a net's name should begin with '('",
        ),
        (
            of_net("(0, 0, 0)", "(2, 0, 0)"),
            3,
            "the pin's layer \"2\" is not from 0 to 1",
        ),
        (
            of_net("(0, 0, 0)", "(0, 3, 0)"),
            3,
            "the pin's column \"3\" is not from 0 to 2",
        ),
        (of_net("(0, 0, 0)", "(0, 0, -1)"), 3, "the pin's row \"-1\""),
        (
            of_net("(0, 0, 0)", "(0, 0)"),
            3,
            "what follows a pin's column",
        ),
        (
            of_net("(0, 0, 0), (", "(0, 0, 0) ("),
            3,
            "what follows a cell of a pin",
        ),
        (of_net("1)]", "1)"), 4, "what follows a cell of a pin"),
        (
            of_net("[(1, 2, 1)]", "[]"),
            4,
            "a cell of a pin should begin with '('",
        ),
        (
            of_net("[(1, 2, 1)]", "[(1, 2, 1)] 5"),
            4,
            "\"5\" follows the ] of a pin",
        ),
        (of_net("1)]\n)\n", "1)]\n"), 5, "a pin, or the )"),
    ] {
        match read(&cap, &net) {
            Err(Error::Unreadable { reason, .. }) => {
                assert!(reason.contains(what), "{what}: {reason}");
                assert!(reason.contains(&format!("line {line}")), "{line}: {reason}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    let end = NET.strip_suffix("(\n[(0, 1, 1)]\n)\n").unwrap();
    for missing in [end, &format!("{end}(\n"), &format!("{end}(\n[(0, 1, 1)]\n")] {
        let error = read(CAP, missing).unwrap_err().to_string();
        assert!(error.contains("the file ends before"), "{error}");
    }
    for empty in ["", "\n"] {
        assert!(matches!(read(empty, NET), Err(Error::Unreadable { .. })));
    }
}

#[test]
fn capacities_in_text_are_read_back_and_checked() {
    let text = "2 2\n1\nPin 0 0\nVertical 1\nVertical 2\nHorizontal 3 x\n\
                VerticalCapacity 5\nVerticalCapacity x\nHorizontalCapacity 6 0\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("case.txt");
    let read = |text: &str| {
        fs::write(&file, text).unwrap();
        formats::read_case(&file)
    };
    let case = read(text).unwrap();
    let capacities = case.capacities.as_ref().unwrap();
    assert_eq!(capacities.rights(), [5, 0, UNLIMITED, 0]);
    assert_eq!(capacities.downs(), [6, 0, 0, 0]);
    let mut written = Vec::new();
    formats::write_case_text(&case, &mut written).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), text);
    for (from, to, line, what) in [
        (
            "HorizontalCapacity 6 0\n",
            "",
            9,
            "the file ends before \"HorizontalCapacity\"",
        ),
        (
            "HorizontalCapacity 6 0",
            "HorizontalCapacity 6",
            9,
            "has 1 capacities: it needs 2",
        ),
        (
            "HorizontalCapacity 6 0",
            "HorizontalCapacity 6 0 1",
            9,
            "has 2 capacities",
        ),
        (
            "HorizontalCapacity 6 0",
            "HorizontalCapacity 6 y",
            9,
            "the capacity (x is no limit)",
        ),
        (
            "HorizontalCapacity 6 0",
            "HorizontalCapacity 6 4294967295",
            9,
            "the capacity",
        ),
        (
            "VerticalCapacity 5",
            "Capacity 5",
            7,
            "follows the last line",
        ),
    ] {
        match read(&text.replacen(from, to, 1)) {
            Err(Error::Unreadable { reason, .. }) => {
                assert!(reason.contains(what), "{what}: {reason}");
                assert!(reason.contains(&format!("line {line}")), "{line}: {reason}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}
