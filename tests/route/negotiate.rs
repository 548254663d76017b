//! Nets that compete for edges: legal trees by an independent checker, which finds planted
//! violations; the same result on any number of threads.

use proptest::prelude::*;
use trazar::generate::CompetingNets;
use trazar::route::{
    BLOCKED, Cell, EdgeCounts, Negotiated, NegotiationOptions, Net, RouteOptions, RoutingCase,
    RoutingGrid, Window,
};
use trazar::{Engine, Error, formats};
use trazar_test_support::competing::any_case;
use trazar_test_support::legality::{Problem, Violation};
use trazar_test_support::route_oracle;
use trazar_test_support::seeds::seed_or;
use trazar_test_support::threads::on_threads;

use super::{THREADS, cases};

fn negotiate(case: &RoutingCase) -> Negotiated {
    let options = NegotiationOptions::default();
    with_options(case, &options)
}

fn with_options(case: &RoutingCase, options: &NegotiationOptions) -> Negotiated {
    let capacities = case.capacities.as_ref().unwrap();
    let found = Engine::cpu().negotiate(&case.grid, capacities, &case.nets, options);
    found.unwrap()
}

fn case_text(case: &RoutingCase) -> String {
    let mut text = Vec::new();
    formats::write_case_text(case, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn route_text(case: &RoutingCase, found: &Negotiated) -> String {
    let mut text = Vec::new();
    formats::write_routes_ispd(case, &found.routes, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Checks the trees by the checker, and the result's own figures by what the checker finds.
fn check(case: &RoutingCase, found: &Negotiated) {
    let mut overfull = Vec::new();
    for violation in Problem::parse(&case_text(case)).violations(&route_text(case, found)) {
        match violation {
            Violation::Overfull {
                from,
                to,
                usage,
                capacity,
            } => overfull.push((from, to, usage, capacity)),
            Violation::PinApart { net, pin } => {
                assert!(found.routes[net].unreached().contains(&pin), "{net} {pin}");
            }
            other => panic!("{other:?}"),
        }
    }
    let cell = |cell: Cell| [cell.layer, cell.y, cell.x].map(|at| at as usize);
    let mut expected: Vec<_> = found
        .overfull
        .iter()
        .map(|edge| {
            let numbers = (u64::from(edge.usage), u64::from(edge.capacity));
            (cell(edge.from), cell(edge.to), numbers.0, numbers.1)
        })
        .collect();
    expected.sort_unstable();
    overfull.sort_unstable();
    assert_eq!(overfull, expected);
    for (route, net) in found.routes.iter().zip(&case.nets) {
        route.verify(&case.grid, net).unwrap();
    }
    let edges = || found.routes.iter().flat_map(|route| route.edges());
    let vias = edges().filter(|(a, b)| a.layer != b.layer).count() as u64;
    assert_eq!(found.vias(), vias);
    assert_eq!(found.wire_length(), edges().count() as u64 - vias);
}

fn small(seed: u64) -> CompetingNets {
    CompetingNets::default()
        .width(40 + (seed % 7) as u32)
        .height(30)
        .nets(60)
        .pins(2 + (seed % 3) as u32)
        .reach(16)
        .demand(0.6)
}

#[test]
fn competing_nets_are_legal_and_the_same_on_any_number_of_threads() {
    let seed = seed_or(31);
    for seed in seed..seed + 6 {
        let case = small(seed).generate(seed).unwrap();
        let found = negotiate(&case);
        assert!(
            found.rounds[0].overflow > 0,
            "seed {seed}: nothing to negotiate"
        );
        assert_eq!(found.overflow(), 0, "seed {seed}: {:?}", found.rounds);
        check(&case, &found);
        for threads in THREADS {
            let again = on_threads(threads, || negotiate(&case));
            assert!(again == found, "seed {seed}, {threads} threads");
        }
    }
}

#[test]
fn remaining_overflow_is_reported_where_it_is() {
    let seed = seed_or(32);
    let case = small(seed).nets(150).demand(0.95).generate(seed).unwrap();
    for rounds in 0..4 {
        let options = NegotiationOptions::default().rounds(rounds);
        let found = with_options(&case, &options);
        assert_eq!(found.rounds.len(), rounds as usize);
        let last = found.rounds.last();
        assert_eq!(found.overflow(), last.map_or(0, |round| round.overflow));
        assert_eq!(found.overfull.is_empty(), rounds == 0);
        if rounds > 0 {
            check(&case, &found);
        }
    }
    // Three nets between the same cells of a grid with two ways.
    let grid = RoutingGrid::uniform(3, 2, 1).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(2, 0)]);
    let capacities = EdgeCounts::uniform(&grid, 1, 0).unwrap();
    let case = RoutingCase::new(grid, vec![net; 3]).with_capacities(capacities);
    let found = negotiate(&case);
    check(&case, &found);
    assert_eq!(found.rounds.len(), 100);
    assert!(found.overflow() >= 2, "{found:?}");
}

/// Replaces a line of a tree that `wanted` takes; the line is given to `change`, with its net.
fn changed(
    text: &str,
    wanted: impl Fn(usize, &str) -> bool,
    change: impl Fn(&str) -> String,
) -> (usize, String) {
    let (mut net, mut is_in_net, mut done) = (usize::MAX, false, None);
    let mut out = String::new();
    for line in text.lines() {
        match line {
            "(" => is_in_net = true,
            ")" => is_in_net = false,
            _ if !is_in_net => net = net.wrapping_add(1),
            _ => {}
        }
        let is_segment = is_in_net && line != "(";
        if is_segment && done.is_none() && wanted(net, line) {
            done = Some(net);
            out += &change(line);
        } else {
            out += line;
            out += "\n";
        }
    }
    (done.expect("a line to change"), out)
}

#[test]
fn the_checker_finds_what_is_planted() {
    let seed = seed_or(33);
    let case = small(seed).generate(seed).unwrap();
    let found = negotiate(&case);
    let problem = Problem::parse(&case_text(&case));
    let text = route_text(&case, &found);
    assert_eq!(problem.violations(&text), []);

    // A segment that is missing leaves a pin apart.
    let (net, missing) = changed(&text, |_, _| true, |_| String::new());
    let violations = problem.violations(&missing);
    let apart = |violation: &Violation| match violation {
        Violation::PinApart { net: other, .. } => *other == net,
        _ => false,
    };
    assert!(violations.iter().any(apart), "{violations:?}");

    // A pin that no wire reaches: all segments of its net are gone.
    let start = text.find("(\n").unwrap();
    let end = text.find(")\n").unwrap();
    let empty = format!("{}{}", &text[..start + 2], &text[end..]);
    let pins = case.nets[0].pins.len();
    let expected: Vec<_> = (1..pins)
        .filter(|&pin| case.nets[0].pins[pin] != case.nets[0].pins[0])
        .map(|pin| Violation::PinApart { net: 0, pin })
        .collect();
    assert_eq!(problem.violations(&empty), expected);

    // One more net on a full edge: a detour of another net there and back counts.
    let capacities = case.capacities.as_ref().unwrap();
    let full = (0..case.grid.cell_count()).find(|&cell| {
        let cell = case.grid.cell(cell);
        found.usage.right(cell) == capacities.right(cell) && found.usage.right(cell) > 0
    });
    let full = case.grid.cell(full.unwrap());
    let users = |net: usize| {
        let to = Cell {
            x: full.x + 1,
            ..full
        };
        let mut edges = found.routes[net].edges();
        edges.any(|(a, b)| (a.min(b), a.max(b)) == (full, to))
    };
    let more = format!(
        "{} {} {layer} {} {} {layer}\n",
        full.x,
        full.y,
        full.x + 1,
        full.y,
        layer = full.layer
    );
    let (net, crowded) = changed(
        &text,
        |net, _| !users(net),
        |line| format!("{line}\n{more}"),
    );
    let usage = u64::from(capacities.right(full));
    let at = |x: u32| [full.layer, full.y, x].map(|at| at as usize);
    let overfull = Violation::Overfull {
        from: at(full.x),
        to: at(full.x + 1),
        usage: usage + 1,
        capacity: usage,
    };
    let violations = problem.violations(&crowded);
    assert!(violations.contains(&overfull), "net {net}: {violations:?}");

    // A wire across its layer's direction.
    let across = |line: &str| {
        let numbers: Vec<u32> = line.split(' ').map(|n| n.parse().unwrap()).collect();
        let (x, y) = (numbers[0], numbers[1].min(28));
        format!("{line}\n{x} {y} 0 {x} {} 0\n", y + 1)
    };
    let (net, wrong) = changed(&text, |_, _| true, across);
    let violations = problem.violations(&wrong);
    let blocked = |violation: &Violation| match violation {
        Violation::Blocked {
            net: other,
            from: [0, ..],
            ..
        } => *other == net,
        _ => false,
    };
    assert!(violations.iter().any(blocked), "{violations:?}");

    // Wires that hang in the air, a segment that is not straight, one off the grid, a net without
    // a tree.
    let (net, stray) = changed(&text, |_, _| true, |line| format!("{line}\n0 0 2 1 0 2\n"));
    let violations = problem.violations(&stray);
    assert!(
        violations.contains(&Violation::WireApart { net }),
        "{violations:?}"
    );
    for bad in ["0 0 0 1 1 0", "0 0 0 0 0 0", "0 0 0 99 0 0"] {
        let (net, bad) = changed(&text, |_, _| true, |line| format!("{line}\n{bad}\n"));
        assert_eq!(problem.violations(&bad), [Violation::Crooked { net }]);
    }
    let (_, less) = text.split_once(")\n").unwrap();
    let nets = Violation::Nets {
        expected: 60,
        found: 59,
    };
    assert!(problem.violations(less).contains(&nets));
}

/// The grid with a new weight for each edge that is not blocked.
fn with_weights(grid: &RoutingGrid, weight: impl Fn(u32) -> u32) -> RoutingGrid {
    let mut changed = grid.clone();
    let of = |before| {
        if before == BLOCKED {
            before
        } else {
            weight(before)
        }
    };
    for index in 0..grid.cell_count() {
        let cell = grid.cell(index);
        if cell.x + 1 < grid.width() {
            changed.set_right(cell, of(grid.right(cell))).unwrap();
        }
        if cell.y + 1 < grid.height() {
            changed.set_down(cell, of(grid.down(cell))).unwrap();
        }
        if cell.layer + 1 < grid.layers() {
            changed.set_via(cell, of(grid.via(cell))).unwrap();
        }
    }
    changed
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn any_trees_are_legal_and_reach_what_can_be_reached(case in any_case()) {
        let options = NegotiationOptions::default().rounds(12).margin(1);
        let found = with_options(&case, &options);
        check(&case, &found);
        let again = on_threads(3, || with_options(&case, &options));
        prop_assert!(again == found);
        // Text and back.
        let mut text = Vec::new();
        formats::write_case_text(&case, &mut text).unwrap();
        // A pin is out of reach if edges with room for a net do not lead there.
        let mut open = case.grid.clone();
        let capacities = case.capacities.as_ref().unwrap();
        for index in 0..open.cell_count() {
            let cell = open.cell(index);
            if capacities.right(cell) == 0 && cell.x + 1 < open.width() {
                open.set_right(cell, BLOCKED).unwrap();
            }
            if capacities.down(cell) == 0 && cell.y + 1 < open.height() {
                open.set_down(cell, BLOCKED).unwrap();
            }
            if capacities.via(cell) == 0 && cell.layer + 1 < open.layers() {
                open.set_via(cell, BLOCKED).unwrap();
            }
        }
        let plain = Engine::cpu().route(&open, &case.nets, &RouteOptions::default()).unwrap();
        for (net, (found, plain)) in found.routes.iter().zip(&plain).enumerate() {
            prop_assert_eq!(found.unreached(), plain.unreached(), "net {}", net);
        }
    }

    #[test]
    fn a_net_alone_gets_a_cheapest_path(case in any_case()) {
        // Weights above 0, as an edge of weight 0 costs a little here.
        let grid = with_weights(&case.grid, |weight| weight + 1);
        let capacities = EdgeCounts::uniform(&grid, 1, 1).unwrap();
        let area = grid.width().max(grid.height());
        let options = NegotiationOptions::default().margin(area);
        for net in case.nets.iter().filter(|net| net.pins.len() == 2) {
            let nets = std::slice::from_ref(net);
            let found = Engine::cpu().negotiate(&grid, &capacities, nets, &options).unwrap();
            let tree = route_oracle::tree(&grid, net);
            let cost: u64 = tree.paths.iter().map(|path| path.1).sum();
            prop_assert_eq!(found.routes[0].cost(), cost);
        }
    }
}

#[test]
fn windows_are_kept() {
    // The straight way is full; the way around leaves the window of one net.
    let grid = RoutingGrid::uniform(6, 5, 1).unwrap();
    let capacities = EdgeCounts::uniform(&grid, 1, 0).unwrap();
    let window = Window {
        x: 0,
        y: 2,
        width: 6,
        height: 1,
    };
    let net = Net::from_cells([Cell::at(0, 2), Cell::at(5, 2)]);
    let nets = [net.clone(), net.within(window)];
    let options = NegotiationOptions::default();
    let found = Engine::cpu()
        .negotiate(&grid, &capacities, &nets, &options)
        .unwrap();
    assert_eq!(found.overflow(), 0);
    assert_eq!((found.routes[0].cost(), found.routes[1].cost()), (7, 5));
    for (route, net) in found.routes.iter().zip(&nets) {
        route.verify(&grid, net).unwrap();
    }
}

/// Nets that can never have what they want: the negotiation ends, and says where it failed.
#[test]
fn what_cannot_be_routed_ends_and_is_reported() {
    // Layers 0 and 2 along x, layer 1 along y; a net of four corners, and one within a row.
    let layer = |right: u32, down: u32| {
        RoutingGrid::from_edges(7, 5, &[right; 6 * 5], &[down; 7 * 4]).unwrap()
    };
    let (along_x, along_y) = (layer(1, BLOCKED), layer(BLOCKED, 1));
    let layers = [along_x.clone(), along_y, along_x];
    let grid = RoutingGrid::stack(&layers, &[2; 2 * 7 * 5]).unwrap();
    let corners = [(0, 0), (6, 0), (0, 4), (6, 4)].map(|(x, y)| Cell::at(x, y));
    let nets = vec![
        Net::from_cells(corners),
        Net::from_cells([Cell::at(1, 2), Cell::at(5, 2)]),
        Net::from_cells([]),
        Net::from_cells([Cell::at(3, 3)]),
        // Twice the same cell: joined by a path without edges.
        Net::from_cells([Cell::at(3, 3), Cell::at(3, 3)]),
    ];
    let unreached = |found: &Negotiated| -> Vec<Vec<usize>> {
        let routes = found.routes.iter();
        routes.map(|route| route.unreached().to_vec()).collect()
    };
    // No edge has room for anyone.
    let nothing = EdgeCounts::zero(&grid).unwrap();
    let case = RoutingCase::new(grid.clone(), nets.clone()).with_capacities(nothing);
    let found = negotiate(&case);
    check(&case, &found);
    assert_eq!(found.overflow(), 0);
    assert_eq!(found.wire_length() + found.vias(), 0);
    let expected = [vec![1, 2, 3], vec![1], vec![], vec![], vec![]];
    assert_eq!(unreached(&found), expected);
    // No vias: rows only.
    let rows = EdgeCounts::uniform(&grid, 1, 0).unwrap();
    let case = RoutingCase::new(grid.clone(), nets.clone()).with_capacities(rows);
    let found = negotiate(&case);
    check(&case, &found);
    assert_eq!(found.overflow(), 0);
    let expected = [vec![2, 3], vec![], vec![], vec![], vec![]];
    assert_eq!(unreached(&found), expected);
    // Every edge for one net, and three nets from corner to corner: two edges lead away from each.
    let one = EdgeCounts::uniform(&grid, 1, 1).unwrap();
    let crowd = vec![Net::from_cells(corners); 3];
    let case = RoutingCase::new(grid, crowd).with_capacities(one);
    let found = with_options(&case, &NegotiationOptions::default().rounds(30));
    check(&case, &found);
    assert_eq!(found.rounds.len(), 30);
    assert!(found.overflow() >= 4, "{:?}", found.overfull);
    assert!(unreached(&found).iter().all(Vec::is_empty));
}

/// The neighbours of a cell in the order in which a path that is `near` a cell tries them, as
/// docs/routing.md has it. `before` is the path's cell before.
fn in_order(grid: &RoutingGrid, cell: Cell, near: Cell, before: Option<Cell>) -> Vec<Cell> {
    let moved = |x: i64, y: i64, layer: i64| {
        let at = [(cell.x, x), (cell.y, y), (cell.layer, layer)];
        let [x, y, layer] = at.map(|(at, step)| u32::try_from(i64::from(at) + step).ok());
        let (x, y, layer) = (x?, y?, layer?);
        let inside = x < grid.width() && y < grid.height() && layer < grid.layers();
        inside.then_some(Cell { x, y, layer })
    };
    let towards = |at: u32, near: u32| (i64::from(near) - i64::from(at)).signum();
    let (x, y) = (towards(cell.x, near.x), towards(cell.y, near.y));
    let mut order = Vec::new();
    // Along the layer towards the cell: straight on, else along the row before the column.
    let straight_on = before.and_then(|before| {
        let step = [(before.x, cell.x), (before.y, cell.y)];
        let step = step.map(|(before, cell)| i64::from(cell) - i64::from(before));
        let leads_there = step != [0, 0] && (step == [x, 0] || step == [0, y]);
        leads_there.then_some((step[0], step[1]))
    });
    for (dx, dy) in straight_on.into_iter().chain([(x, 0), (0, y)]) {
        if (dx, dy) != (0, 0) {
            order.push(moved(dx, dy, 0));
        }
    }
    let layers = if near.layer < cell.layer {
        [-1, 1]
    } else {
        [1, -1]
    };
    order.extend(layers.map(|layer| moved(0, 0, layer)));
    order.extend([(1, 0), (-1, 0), (0, 1), (0, -1)].map(|(dx, dy)| moved(dx, dy, 0)));
    order.into_iter().flatten().collect()
}

/// Compares the path of a net of two cells with the one that the rule chooses.
fn check_rule(grid: &RoutingGrid, [near, pin]: [Cell; 2]) -> Result<(), TestCaseError> {
    let weights = route_oracle::weights(grid);
    let capacities = EdgeCounts::uniform(grid, 1, 1).unwrap();
    let options = NegotiationOptions::default().margin(20);
    let net = Net::from_cells([near, pin]);
    let found = Engine::cpu()
        .negotiate(grid, &capacities, &[net], &options)
        .unwrap();
    let costs = route_oracle::dijkstra(grid, &[near]);
    let cost = |cell: Cell| costs[grid.index(cell) as usize];
    if cost(pin) == u64::MAX {
        prop_assert_eq!(found.routes[0].unreached(), &[1][..]);
        return Ok(());
    }
    let mut expected = Vec::new();
    let (mut cell, mut before) = (pin, None);
    while cell != near {
        let cheapest = in_order(grid, cell, near, before)
            .into_iter()
            .find(|&next| {
                let weight = weights.get(&(cell, next));
                weight.is_some_and(|&weight| cost(next).checked_add(weight) == Some(cost(cell)))
            });
        let next = cheapest.unwrap();
        expected.push((cell.min(next), cell.max(next)));
        before = Some(cell);
        cell = next;
    }
    expected.sort();
    let edges = found.routes[0].edges().map(|(a, b)| (a.min(b), a.max(b)));
    let mut edges: Vec<_> = edges.collect();
    edges.sort();
    prop_assert_eq!(
        edges,
        expected,
        "not the oracle's, from {:?} to {:?}",
        pin,
        near
    );
    Ok(())
}

proptest! {
    #![proptest_config(cases(200))]

    /// All cheapest paths but one are other ones.
    #[test]
    fn of_cheapest_paths_the_rule_chooses(case in any_case(), two_ways in any::<bool>()) {
        // Few different weights, so that many paths are equally cheap.
        let grid = with_weights(&case.grid, |weight| 1 + u32::from(two_ways && weight == 5));
        for net in case.nets.iter().filter(|net| net.pins.len() == 2) {
            check_rule(&grid, [0, 1].map(|pin| net.pins[pin].cells[0]))?;
        }
    }
}

proptest! {
    #![proptest_config(cases(20))]

    /// Between all cells of small grids with blocked edges, where a path may first go away from the
    /// tree.
    #[test]
    fn of_cheapest_detours_the_rule_chooses(
        (width, height, layers) in (1u32..4, 1u32..4, 1u32..4),
        drawn in prop::collection::vec(prop_oneof![Just(1), Just(1), Just(2), Just(BLOCKED)], 54),
    ) {
        let mut weights = drawn.into_iter();
        let mut some = |count: u32| -> Vec<u32> { weights.by_ref().take(count as usize).collect() };
        let planes: Vec<_> = (0..layers)
            .map(|_| {
                let (right, down) = (some((width - 1) * height), some(width * (height - 1)));
                RoutingGrid::from_edges(width, height, &right, &down).unwrap()
            })
            .collect();
        let grid = RoutingGrid::stack(&planes, &some((layers - 1) * width * height)).unwrap();
        let cells = || (0..layers).flat_map(|layer| {
            (0..width * height).map(move |i| Cell { layer, y: i / width, x: i % width })
        });
        for near in cells() {
            for pin in cells() {
                check_rule(&grid, [near, pin])?;
            }
        }
    }
}

/// What was found on 27 November 2026. Trees that are as legal, but other ones, mean that the order
/// of nets, the costs of edges or their history have changed, which the changelog must say.
#[test]
fn trees_are_those_of_before() {
    let found = [3, 4, 5, 6].map(|seed| {
        let case = small(seed).demand(0.7).generate(seed).unwrap();
        let found = negotiate(&case);
        let text = route_text(&case, &found);
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        (found.rounds.len(), found.wire_length(), hash)
    });
    let expected = [
        (3, 686, 8_530_687_833_317_123_702),
        (4, 1032, 7_220_150_576_867_993_872),
        (4, 1333, 9_190_909_838_288_317_138),
        (4, 637, 3_566_462_815_995_806_976),
    ];
    assert_eq!(found, expected);
}

/// An estimate that is too large would hide the cheap way: through the next layer but one, far from
/// the straight line, or along edges of weight 0.
#[test]
fn cheapest_paths_take_detours() {
    let straight = RoutingGrid::uniform(9, 4, 1).unwrap();
    let dear = RoutingGrid::uniform(9, 4, 50).unwrap();
    for (layers, vias, cost) in [
        ([dear.clone(), dear.clone(), straight.clone()], 3, 6 + 8 + 6),
        ([dear.clone(), straight, dear], 7, 7 + 8 + 7),
    ] {
        let vias = vec![vias; 2 * 9 * 4];
        let grid = RoutingGrid::stack(&layers, &vias).unwrap();
        let net = Net::from_cells([Cell::at(0, 1), Cell::at(8, 1)]);
        let capacities = EdgeCounts::uniform(&grid, 1, 1).unwrap();
        let case = RoutingCase::new(grid, [net]).with_capacities(capacities);
        let found = negotiate(&case);
        check(&case, &found);
        assert_eq!(found.routes[0].cost(), cost);
    }
}

#[test]
fn what_negotiation_refuses() {
    let grid = RoutingGrid::uniform(4, 3, 1).unwrap();
    let other = RoutingGrid::uniform(3, 4, 1).unwrap();
    let heavy = RoutingGrid::uniform(4, 3, 1 << 24).unwrap();
    let (of_other, own) = (
        EdgeCounts::uniform(&other, 1, 1).unwrap(),
        EdgeCounts::uniform(&grid, 1, 1).unwrap(),
    );
    let options = NegotiationOptions::default();
    let by = |engine: Engine, grid: &RoutingGrid, capacities: &EdgeCounts, nets: &[Net]| {
        engine
            .negotiate(grid, capacities, nets, &options)
            .unwrap_err()
    };
    let error = by(Engine::cpu(), &grid, &of_other, &[]);
    assert!(matches!(error, Error::InvalidOption(_)), "{error}");
    assert!(error.to_string().contains("3 × 4 cells"), "{error}");
    let error = by(Engine::cpu(), &heavy, &own, &[]);
    assert!(matches!(error, Error::CostTooLarge { .. }), "{error}");
    let outside = [Net::from_cells([Cell::at(4, 0)])];
    let error = by(Engine::cpu(), &grid, &own, &outside);
    assert!(matches!(error, Error::PinOutside { .. }), "{error}");
    let emulator = || Engine::on(trazar::emulator::Emulator::new(0));
    let error = by(emulator(), &heavy, &own, &[]);
    assert!(matches!(error, Error::CostTooLarge { .. }), "{error}");
    let error = by(emulator(), &grid, &own, &outside);
    assert!(matches!(error, Error::PinOutside { .. }), "{error}");
    // One below the limit is a cost like any other.
    let heavy = RoutingGrid::uniform(4, 3, (1 << 24) - 1).unwrap();
    let nets = vec![Net::from_cells([Cell::at(0, 0), Cell::at(3, 2)]); 9];
    let found = Engine::cpu()
        .negotiate(&heavy, &own, &nets, &options)
        .unwrap();
    assert!(found.overflow() > 0);
    let case = RoutingCase::new(heavy, nets).with_capacities(own);
    check(&case, &found);
}
