//! Grids, cells, nets and options that are refused, and trees that do not pass verification.

use trazar::route::{
    BLOCKED, Cell, DistanceOptions, MAX_LAYERS, Net, Pin, RouteAlgorithm, RouteOptions,
    RoutingGrid, Window,
};
use trazar::{Backend, Engine, Error};

use crate::{by, route};

#[test]
fn costs_of_turns_that_make_no_sense_are_refused() {
    let layer = RoutingGrid::uniform(2, 2, 1).unwrap();
    let layers = RoutingGrid::stack(&[layer.clone(), layer.clone()], &[1; 4]).unwrap();
    let options = |turn_cost| RouteOptions::default().turn_cost(turn_cost);
    for (grid, turn_cost) in [(&layers, 1), (&layer, u32::MAX)] {
        let error = Engine::cpu()
            .route(grid, &[], &options(turn_cost))
            .unwrap_err();
        assert!(matches!(error, Error::InvalidOption(_)), "{error}");
    }
    // A pin on the second layer, which routing with turns adds internally, is still outside.
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(1, 1).on(1)]);
    let error = Engine::cpu()
        .route(&layer, &[net], &options(1))
        .unwrap_err();
    assert!(matches!(error, Error::PinOutside { .. }), "{error}");
}

#[test]
fn bad_grids_are_refused() {
    let weights = |result: trazar::Result<RoutingGrid>| match result.unwrap_err() {
        Error::WeightCount { needed, given, .. } => (needed, given),
        other => panic!("{other}"),
    };
    let empty = [(0, 0), (0, 3), (3, 0)];
    for (width, height) in empty {
        let error = RoutingGrid::uniform(width, height, 1).unwrap_err();
        assert!(matches!(error, Error::EmptyGrid { .. }), "{error}");
        let error = RoutingGrid::from_edges(width, height, &[], &[]).unwrap_err();
        assert!(matches!(error, Error::EmptyGrid { .. }), "{error}");
    }
    for (width, height) in [(1 << 16, 1 << 16), (u32::MAX, 1), (u32::MAX, u32::MAX)] {
        let error = RoutingGrid::uniform(width, height, 1).unwrap_err();
        assert!(matches!(error, Error::GridTooLarge { .. }), "{error}");
    }
    assert_eq!(
        weights(RoutingGrid::from_edges(3, 2, &[1; 3], &[1; 3])),
        (4, 3)
    );
    assert_eq!(
        weights(RoutingGrid::from_edges(3, 2, &[1; 5], &[1; 3])),
        (4, 5)
    );
    assert_eq!(
        weights(RoutingGrid::from_edges(3, 2, &[1; 4], &[1; 4])),
        (3, 4)
    );
    let layer = RoutingGrid::uniform(3, 2, 1).unwrap();
    let two = RoutingGrid::stack(&[layer.clone(), layer.clone()], &[1; 6]).unwrap();
    assert_eq!(
        weights(RoutingGrid::stack(&[layer.clone(), layer.clone()], &[1; 5])),
        (6, 5)
    );
    let other = RoutingGrid::uniform(2, 3, 1).unwrap();
    for layers in [
        vec![],
        vec![layer.clone(), other],
        vec![layer.clone(), two],
        vec![layer.clone(); MAX_LAYERS as usize + 1],
    ] {
        let vias = vec![1; 6 * layers.len().saturating_sub(1)];
        let error = RoutingGrid::stack(&layers, &vias).unwrap_err();
        assert!(matches!(error, Error::InvalidOption(_)), "{error}");
    }
    let vias = vec![1; 6 * (MAX_LAYERS as usize - 1)];
    let most = RoutingGrid::stack(&vec![layer; MAX_LAYERS as usize], &vias).unwrap();
    assert_eq!(most.layers(), MAX_LAYERS);
}

/// Setters, getters and parts of a grid where there is no such cell or edge: nothing wraps around
/// into another row, also in a release build, and no edge leads off the grid.
#[test]
fn cells_and_edges_that_are_not_on_the_grid_are_refused() {
    let layer = RoutingGrid::uniform(4, 3, 10).unwrap();
    let whole = RoutingGrid::stack(&[layer.clone(), layer], &[10; 12]).unwrap();
    let far = u32::MAX;
    let outside = [
        Cell::at(4, 0),
        Cell::at(0, 3),
        Cell::at(0, 0).on(2),
        Cell::at(far, 1),
        Cell::at(1, far),
        Cell::at(1, 1).on(far),
        // Modulo 2³² the number of this cell would be that of a cell on the grid.
        Cell::at(far - 3, 1),
        Cell::at(0, 1 << 30),
        Cell::at(far, far).on(far),
    ];
    type Set = fn(&mut RoutingGrid, Cell, u32) -> trazar::Result<()>;
    type Get = fn(&RoutingGrid, Cell) -> u32;
    let sets: [Set; 4] = [
        RoutingGrid::set_right,
        RoutingGrid::set_down,
        RoutingGrid::set_via,
        |grid, cell, _| grid.block(cell),
    ];
    let gets: [Get; 4] = [
        RoutingGrid::right,
        RoutingGrid::down,
        RoutingGrid::via,
        RoutingGrid::index,
    ];
    let mut grid = whole.clone();
    for cell in outside {
        for set in sets {
            let error = set(&mut grid, cell, 1).unwrap_err();
            let about = matches!(
                error,
                Error::CellOutside { cell: c, width: 4, height: 3, layers: 2, .. } if c == cell
            );
            assert!(about, "{error}");
        }
        for get in gets {
            let got = std::panic::catch_unwind(|| get(&whole, cell));
            assert!(got.is_err(), "{cell}: {got:?}");
        }
    }
    assert!(std::panic::catch_unwind(|| whole.cell(24)).is_err());
    assert_eq!(
        grid.set_down(Cell::at(4, 0), 1).unwrap_err().to_string(),
        "there is no cell at row 0, column 4: the grid has 3 rows, 4 columns and 2 layers, \
         counted from 0"
    );
    // Edges that lead off the grid.
    for (set, cell, to) in [
        (sets[0], Cell::at(3, 1), "to the right"),
        (sets[1], Cell::at(1, 2).on(1), "down"),
        (sets[2], Cell::at(1, 1).on(1), "to the next layer"),
    ] {
        for weight in [1, BLOCKED] {
            let error = set(&mut grid, cell, weight).unwrap_err();
            let about = matches!(
                error,
                Error::EdgeOutside { cell: c, towards, .. } if (c, towards) == (cell, to)
            );
            assert!(about, "{error}");
        }
    }
    assert_eq!(
        grid.set_right(Cell::at(3, 1), 1).unwrap_err().to_string(),
        "there is no edge to the right from row 1, column 3: the grid has 3 rows, 4 columns and \
         2 layers, counted from 0"
    );
    assert!(grid == whole, "nothing was set");
    let window = |x, y, width, height| Window {
        x,
        y,
        width,
        height,
    };
    // The sources of distances are the one pin of net 0.
    let error = Engine::cpu()
        .distances(&grid, &[Cell::at(4, 0)], &DistanceOptions::default())
        .unwrap_err();
    assert!(
        matches!(error, Error::PinOutside { net: 0, pin: 0, .. }),
        "{error}"
    );
    for outside in [
        window(0, 0, 5, 3),
        window(0, 0, 4, 4),
        window(3, 0, 2, 1),
        window(1, 1, 0, 1),
        window(1, 1, 1, 0),
        window(far, 0, 2, 1),
        window(0, far, 1, 2),
    ] {
        let error = whole.crop(outside).unwrap_err();
        let about = matches!(error, Error::PartOutside { window, .. } if window == outside);
        assert!(about, "{error}");
    }
    assert!(whole.crop(window(3, 2, 1, 1)).is_ok());
    // Edges on the grid are set, and no others.
    let at = |x, y, layer| Cell::at(x, y).on(layer);
    grid.set_right(at(2, 1, 0), 1).unwrap();
    grid.set_down(at(3, 1, 1), 2).unwrap();
    grid.set_via(at(3, 2, 0), 3).unwrap();
    assert_eq!(grid.right(at(2, 1, 0)), 1);
    assert_eq!(grid.down(at(3, 1, 1)), 2);
    assert_eq!(grid.via(at(3, 2, 0)), 3);
    for cell in (0..24).map(|number| whole.cell(number)) {
        let mut grid = whole.clone();
        grid.block(cell).unwrap();
        let differs = |at: Cell| {
            [
                grid.right(at) != whole.right(at),
                grid.down(at) != whole.down(at),
                grid.via(at) != whole.via(at),
            ]
        };
        for other in (0..24).map(|number| whole.cell(number)) {
            let is = |there: bool| there && whole.contains(cell);
            let same = (other.y, other.layer) == (cell.y, cell.layer);
            let right = is(same && other.x < 3 && (other.x == cell.x || other.x + 1 == cell.x));
            let same = (other.x, other.layer) == (cell.x, cell.layer);
            let down = is(same && other.y < 2 && (other.y == cell.y || other.y + 1 == cell.y));
            let via = (other.x, other.y) == (cell.x, cell.y) && other.layer == 0;
            assert_eq!(differs(other), [right, down, via], "{cell}, {other}");
        }
    }
}

#[test]
fn nets_that_are_not_on_the_grid_are_refused() {
    let grid = RoutingGrid::uniform(4, 3, 1).unwrap();
    let good = Net::from_cells([Cell::at(0, 0), Cell::at(3, 2)]);
    let refused = |net: Net| {
        let nets = [good.clone(), net];
        let result = Engine::cpu().route(&grid, &nets, &RouteOptions::default());
        result.unwrap_err()
    };
    let window = |x, y, width, height| Window {
        x,
        y,
        width,
        height,
    };
    for cell in [Cell::at(4, 0), Cell::at(0, 3), Cell::at(0, 0).on(1)] {
        let error = refused(Net::from_cells([Cell::at(0, 0), cell]));
        let place = matches!(error, Error::PinOutside { net: 1, pin: 1, cell: c, .. } if c == cell);
        assert!(place, "{error}");
    }
    let error = refused(good.clone().within(window(0, 0, 4, 2)));
    assert!(
        matches!(error, Error::PinOutside { net: 1, pin: 1, .. }),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "net 1: pin 1 is at row 2, column 3, outside of rows 0 to 1 and columns 0 to 3 of 1 layers"
    );
    for outside in [
        window(0, 0, 5, 3),
        window(0, 0, 4, 4),
        window(1, 0, 4, 3),
        window(0, 0, 0, 3),
        window(0, 0, 4, 0),
        window(u32::MAX, 0, u32::MAX, 3),
        window(0, u32::MAX, 4, 1),
    ] {
        let error = refused(good.clone().within(outside));
        assert!(
            matches!(error, Error::WindowOutside { net: 1, .. }),
            "{error}"
        );
    }
    let mut empty = good.clone();
    empty.pins.push(Pin::new([]));
    let error = refused(empty);
    assert!(
        matches!(error, Error::PinWithoutCells { net: 1, pin: 2, .. }),
        "{error}"
    );
}

#[test]
fn algorithms_of_other_devices_are_refused() {
    let grid = RoutingGrid::uniform(2, 2, 1).unwrap();
    for &algorithm in RouteAlgorithm::on(Backend::Cuda) {
        let error = Engine::cpu().route(&grid, &[], &by(algorithm)).unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
        assert!(error.to_string().contains(algorithm.name()), "{error}");
    }
    let refused = Engine::emulator(0).route_fewest_edges(&grid, &[]);
    let error = refused.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    assert!(error.to_string().contains("breadth-first"), "{error}");
}

#[test]
fn verification_finds_planted_errors() {
    let grid = RoutingGrid::uniform(5, 5, 3).unwrap();
    let net = Net::from_cells([Cell::at(0, 0), Cell::at(4, 0), Cell::at(2, 4)]);
    let good = route(&grid, &net);
    good.verify(&grid, &net).unwrap();
    let other_weights = RoutingGrid::uniform(5, 5, 4).unwrap();
    good.verify(&other_weights, &net).unwrap_err();
    let mut blocked = grid.clone();
    blocked.block(Cell::at(2, 2)).unwrap();
    good.verify(&blocked, &net).unwrap_err();
    let mut moved = net.clone();
    moved.pins[2] = Cell::at(1, 4).into();
    good.verify(&grid, &moved).unwrap_err();
    let outside = Net::from_cells([Cell::at(0, 0), Cell::at(5, 0), Cell::at(2, 4)]);
    let why = good.verify(&grid, &outside).unwrap_err().reason;
    assert!(why.contains("net 0") && why.contains("pin 1"), "{why}");
    let mut more = net.clone();
    more.pins.push(Cell::at(2, 2).into());
    good.verify(&grid, &more).unwrap_err();
    let mut other_root = net.clone();
    other_root.pins[0] = Cell::at(0, 1).into();
    good.verify(&grid, &other_root).unwrap_err();
}
