//! Inputs that are refused, each with its one line.

use trazar::distance::{
    CellSize, CostDistanceOptions, CostSurface, Costs, Neighbours, Precision, Source, Sources,
    StepCost, corridor,
};
use trazar::error::{OptionProblem, Unavailable};
use trazar::{Engine, Error, Result, Samples};

fn solve(
    friction: &[f32],
    sources: &Sources,
    options: &CostDistanceOptions,
) -> Result<trazar::CostDistance> {
    let samples = Samples::new(friction.len() as u32, 1, friction).unwrap();
    Engine::cpu().cost_distance(&CostSurface::new(samples), sources, options)
}

fn first() -> Sources {
    Sources::from_cells([(0, 0)])
}

#[test]
fn each_has_a_line_of_its_own() {
    let options = CostDistanceOptions::default();
    let nan = f32::NAN;
    let lines = [
        (
            solve(&[1.0, 2.0, -0.5], &first(), &options),
            "the friction at row 0, column 2 is -0.5: it must be 0 or more, or NaN for a barrier",
        ),
        (
            solve(&[1.0; 3], &Sources::from_cells([(0, 0), (3, 0)]), &options),
            "there is no cell at row 0, column 3: the raster has 1 rows and 3 columns, counted \
             from 0",
        ),
        (
            solve(&[nan; 3], &first(), &options),
            "the source with id 1 at row 0, column 0 is on a barrier (the friction is NaN, \
             infinite or no-data): move it, or give the cell a friction",
        ),
        (
            solve(&[1.0; 3], &Sources::default(), &options),
            "there are no sources: give at least one cell",
        ),
        (
            solve(&[3e38, 1e38, 3e38], &first(), &options),
            "the costs of all paths to row 0, column 1 exceed the largest f32: take the precision \
             f64, or a larger unit of cost",
        ),
        (
            solve(
                &[1.0],
                &Sources::from_iter([Source::new(0, 0, 0)]),
                &options,
            ),
            "the source at row 0, column 0 has the id 0, which marks cells that nothing reaches: \
             ids start at 1",
        ),
        (
            solve(&[1.0], &first(), &options.max_cost(-1.0)),
            "`max_cost` is -1: it must be 0 or more",
        ),
        (
            solve(
                &[1.0],
                &first(),
                &options.cell_size(CellSize { x: 0.0, y: 1.0 }),
            ),
            "a cell's side is 0: it must be positive and finite",
        ),
    ];
    for (result, line) in lines {
        assert_eq!(result.unwrap_err().to_string(), line);
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    let options = CostDistanceOptions::default();
    for bad in [f64::NAN, -1.0, f64::INFINITY] {
        let sources = Sources::from_iter([Source::new(0, 0, 1).start_cost(bad)]);
        let refused = solve(&[1.0], &sources, &options);
        assert!(matches!(refused, Err(Error::InvalidOption(_))), "{bad}");
        if bad != f64::INFINITY {
            let refused = solve(&[1.0], &first(), &options.max_cost(bad));
            assert!(matches!(refused, Err(Error::InvalidOption(_))), "{bad}");
        }
        let refused = solve(
            &[1.0],
            &first(),
            &options.cell_size(CellSize { x: 1.0, y: bad }),
        );
        assert!(matches!(refused, Err(Error::InvalidOption(_))), "{bad}");
    }
    for side in [1e-60, 1e60] {
        let size = CellSize { x: side, y: 1.0 };
        let refused = solve(&[1.0], &first(), &options.cell_size(size));
        assert!(matches!(refused, Err(Error::InvalidOption(_))), "{side}");
        let wide = options.cell_size(size).precision(Precision::F64);
        assert!(solve(&[1.0], &first(), &wide).is_ok(), "{side}");
    }
}

#[test]
fn overflow_is_named_unless_a_limit_excludes_it() {
    let friction = [3e38, 1e38, 3e38];
    let options = CostDistanceOptions::default();
    let limited = solve(&friction, &first(), &options.max_cost(1e30)).unwrap();
    assert_eq!(limited.get(0, 0), Some(0.0));
    assert_eq!(limited.get(1, 0), None);
    let wide = solve(&friction, &first(), &options.precision(Precision::F64)).unwrap();
    assert!(wide.get(2, 0).unwrap() > 3.9e38);
    // Behind a barrier there is nothing to overflow.
    let parted = [3e37, f32::NAN, 3e38];
    assert!(solve(&parted, &first(), &options.neighbours(Neighbours::Sixteen)).is_ok());
    let samples = Samples::new(2, 1, &[1.0, 1e300]).unwrap();
    let refused = Engine::cpu().cost_distance(&CostSurface::new(samples), &first(), &options);
    assert!(matches!(refused, Err(Error::Friction { x: 1, .. })));
}

#[test]
fn paths_need_directions_and_a_way() {
    let options = CostDistanceOptions::default();
    let found = solve(&[1.0, 1.0], &first(), &options).unwrap();
    assert!(matches!(
        found.least_cost_path(1, 0),
        Err(Error::InvalidOption(error)) if error.problem == OptionProblem::Missing
    ));
    let found = solve(&[1.0, f32::NAN, 1.0], &first(), &options.direction(true)).unwrap();
    assert!(matches!(
        found.least_cost_path(2, 0),
        Err(Error::Unreached { x: 2, y: 0, .. })
    ));
    assert!(matches!(
        found.least_cost_path(0, 1),
        Err(Error::OutsideRaster { y: 1, .. })
    ));
}

#[test]
fn lowering_needs_costs_of_the_same_raster() {
    let options = CostDistanceOptions::default();
    let samples = Samples::new(3, 1, &[1.0f32; 3]).unwrap();
    let surface = CostSurface::new(samples);
    let lower = |before: Costs, options: &CostDistanceOptions| {
        Engine::cpu().lower_cost_distance(&surface, &before, &first(), options)
    };
    let nan = f32::NAN;
    assert!(lower(Costs::F32(vec![nan; 3]), &options).is_ok());
    let refused = lower(Costs::F32(vec![nan; 2]), &options);
    assert!(matches!(
        refused,
        Err(Error::LengthMismatch {
            needed: 3,
            given: 2,
            ..
        })
    ));
    let lines = [
        (
            lower(Costs::F64(vec![0.0; 3]), &options),
            "costs in f64 can't be lowered in f32: take the precision in which they were found",
        ),
        (
            lower(Costs::F32(vec![0.0, nan, -2.5]), &options),
            "a cost of -2.5 at row 0, column 2: earlier costs are 0 or more, or NaN where nothing \
             was reached",
        ),
        (
            lower(Costs::F32(vec![f32::INFINITY; 3]), &options),
            "a cost of inf at row 0, column 0: earlier costs are 0 or more, or NaN where nothing \
             was reached",
        ),
        (
            lower(Costs::F32(vec![nan; 3]), &options.direction(true)),
            "directions depend on all sources: compute them by `cost_distance`",
        ),
    ];
    for (result, line) in lines {
        assert_eq!(result.unwrap_err().to_string(), line);
    }
}

#[test]
fn corridors_need_two_like_surfaces() {
    let options = CostDistanceOptions::default();
    let three = solve(&[1.0; 3], &first(), &options).unwrap();
    let two = solve(&[1.0; 2], &first(), &options).unwrap();
    let wide = solve(&[1.0; 3], &first(), &options.precision(Precision::F64)).unwrap();
    for (a, b) in [(&three, &two), (&three, &wide)] {
        assert!(matches!(
            corridor(a, b, None),
            Err(Error::RastersDiffer { .. })
        ));
    }
    assert!(matches!(
        corridor(&three, &three, Some(-1.0)),
        Err(Error::InvalidOption(_))
    ));
}

#[test]
fn devices_say_what_they_do_not_run() {
    let samples = Samples::new(2, 1, &[1.0f32; 2]).unwrap();
    let surface = CostSurface::new(samples);
    let options = CostDistanceOptions::default().step_cost(StepCost::Entered);
    let refused = Engine::emulator(0).cost_distance(&surface, &first(), &options);
    assert!(matches!(
        refused,
        Err(Error::Unavailable(Unavailable::Job { .. }))
    ));
    let options = CostDistanceOptions::default();
    let before = Costs::F32(vec![0.0; 2]);
    let refused = Engine::emulator(0).lower_cost_distance(&surface, &before, &first(), &options);
    assert!(matches!(
        refused,
        Err(Error::Unavailable(Unavailable::Job { .. }))
    ));
}
