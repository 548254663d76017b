//! Cost distances against a plain oracle, on random and on awkward rasters.

mod oracle;
mod refused;

use oracle::{Answer, Number, Raster};
use trazar::distance::{
    CellSize, CostDistance, CostDistanceOptions, CostSurface, Costs, Direction, DistanceAlgorithm,
    Friction, Neighbours, Precision, Source, Sources, StepCost, corridor, follow_directions,
};
use trazar::{Engine, Samples};
use trazar_test_support::seeds::{Random, seed_or};

/// Friction as drawn; NaN and infinity are barriers.
struct Drawn {
    width: u32,
    height: u32,
    friction: Vec<f64>,
}

/// The kinds of rasters.
const KINDS: u32 = 8;

fn draw(random: &mut Random, kind: u32, largest: u32) -> Drawn {
    let mut side = || 1 + random.below(largest);
    let (width, height) = match (side(), side(), kind) {
        (long, _, 6) => (long * 4, 1),
        (long, _, 7) => (1, long * 4),
        (width, height, _) => (width, height),
    };
    let cells = width * height;
    let mut friction: Vec<f64> = (0..cells)
        .map(|i| match kind {
            // Reals; few whole numbers, which tie; zeros; barriers; one number.
            0 => f64::from(1 + random.below(1 << 20)) / 65536.0,
            1 => f64::from(random.below(3)),
            2 => f64::from(random.below(4) / 3),
            3 => [1.5, f64::NAN, 2.25, f64::INFINITY][random.below(4) as usize],
            4 => 1.0,
            // Walls every second row with one gap each: a maze with one path.
            5 => match (i / width % 2, i / width / 2 % 2, i % width) {
                (1, 0, x) if x + 1 < width => f64::NAN,
                (1, 1, x) if x > 0 => f64::NAN,
                _ => f64::from(1 + random.below(9)),
            },
            // Steps that vanish beside the cost.
            _ => 10f64.powi(random.below(24) as i32 - 12),
        })
        .collect();
    friction[random.below(cells) as usize] = 1.0;
    Drawn {
        width,
        height,
        friction,
    }
}

fn draw_sources(random: &mut Random, drawn: &Drawn) -> Sources {
    let free: Vec<_> = (0..drawn.width * drawn.height)
        .filter(|&i| drawn.friction[i as usize].is_finite())
        .collect();
    let most = 1 << random.below(5);
    let count = 1 + random.below(most);
    (0..count)
        .map(|_| {
            let cell = free[random.below(free.len() as u32) as usize];
            let source = Source::new(cell % drawn.width, cell / drawn.width, 1 + random.below(4));
            match random.below(4) {
                0 => source.start_cost(f64::from(random.below(8))),
                _ => source,
            }
        })
        .collect()
}

fn draw_options(random: &mut Random) -> CostDistanceOptions {
    const NEIGHBOURS: [Neighbours; 3] = [Neighbours::Four, Neighbours::Eight, Neighbours::Sixteen];
    let options = CostDistanceOptions::default()
        .neighbours(NEIGHBOURS[random.below(3) as usize])
        .allocation(true)
        .direction(true);
    let options = match random.below(3) {
        0 => options.cell_size(CellSize { x: 2.0, y: 0.3 }),
        _ => options,
    };
    let options = match random.below(4) {
        0 if options.neighbours != Neighbours::Sixteen => options.step_cost(StepCost::Entered),
        _ => options,
    };
    match random.below(4) {
        0 => options.max_cost(f64::from(random.below(20))),
        _ => options,
    }
}

/// Compares every algorithm with the oracle.
fn check<P: Number, T: Friction>(
    drawn: &Drawn,
    values: &[T],
    sources: &Sources,
    options: &CostDistanceOptions,
    what: &str,
) {
    let friction = drawn.friction.iter();
    let friction = friction.map(|&value| value.is_finite().then(|| P::of(value)));
    let raster = Raster {
        width: drawn.width as i32,
        height: drawn.height as i32,
        friction: friction.collect(),
    };
    let answer = raster.solve(sources, options);
    let samples = Samples::new(drawn.width, drawn.height, values).unwrap();
    // The values of types without NaN have a number that stands for it.
    let surface = CostSurface::new(samples).no_data(255.0);
    for &algorithm in DistanceAlgorithm::ALL {
        let options = options.algorithm(algorithm);
        let found = Engine::cpu().cost_distance(&surface, sources, &options);
        let what = format!("{what}, {algorithm}");
        let found = found.unwrap_or_else(|error| panic!("{what}: {error}, not the oracle's costs"));
        check_result(&raster, &answer, &found, &options, &what);
        check_lowered(&surface, sources, &answer, &options, &what);
    }
}

/// Sources that are added to earlier ones.
fn check_lowered<P: Number, T: Friction>(
    surface: &CostSurface<'_, T>,
    sources: &Sources,
    answer: &Answer<P>,
    options: &CostDistanceOptions,
    what: &str,
) {
    let options = options.direction(false);
    let all = sources.as_slice();
    let engine = Engine::cpu();
    let some = |sources: &[Source]| sources.iter().copied().collect::<Sources>();
    let earlier = all.len() / 2;
    let before = some(&all[..earlier.max(1)]);
    let before = engine.cost_distance(surface, &before, &options).unwrap();
    // Allocation names the given sources only.
    for given in [&all[earlier..], all] {
        let lowered = engine
            .lower_cost_distance(surface, before.costs(), &some(given), &options)
            .unwrap();
        let costs = (0..answer.costs.len()).map(|index| lowered.costs().at(index).to_bits());
        let oracle = answer.costs.iter();
        let oracle = oracle.map(|cost| cost.map_or(f64::NAN, Number::to_f64).to_bits());
        assert!(costs.eq(oracle), "{what}: lowered, not the oracle's");
        if given.len() == all.len() {
            let ids = lowered.allocation().unwrap();
            assert_eq!(ids, answer.allocation, "{what}: lowered, not the oracle's");
        }
    }
}

fn check_result<P: Number>(
    raster: &Raster<P>,
    answer: &Answer<P>,
    found: &CostDistance,
    options: &CostDistanceOptions,
    what: &str,
) {
    let bits = |index: usize| match found.costs() {
        Costs::F32(costs) => u64::from(costs[index].to_bits()),
        Costs::F64(costs) => costs[index].to_bits(),
        _ => unreachable!("two precisions"),
    };
    for (index, cost) in answer.costs.iter().enumerate() {
        let at = index as i32;
        let (x, y) = (at % raster.width, at / raster.width);
        match cost {
            Some(cost) => assert_eq!(
                bits(index),
                cost.bits(),
                "{what}: at {x}, {y}, not the oracle's"
            ),
            None => assert!(found.costs().at(index).is_nan(), "{what}: at {x}, {y}"),
        }
    }
    assert_eq!(found.allocation().unwrap(), answer.allocation, "{what}");
    assert_eq!(found.direction().unwrap(), answer.direction, "{what}");
    // Paths, by adding up their steps.
    let pace = 1 + answer.costs.len() / 16;
    for (index, cost) in answer.costs.iter().enumerate().step_by(pace) {
        let at = index as i32;
        let (x, y) = (at % raster.width, at / raster.width);
        let path = found.least_cost_path(x as u32, y as u32);
        let Some(cost) = cost else {
            assert!(path.is_err(), "{what}");
            continue;
        };
        let path = path.unwrap();
        let cells: Vec<_> = path
            .cells()
            .iter()
            .map(|&(x, y)| (x as i32, y as i32))
            .collect();
        let start = (cells[0].1 * raster.width + cells[0].0) as usize;
        assert_eq!(answer.direction[start], 0, "{what}");
        let mut sum = answer.costs[start].unwrap();
        for pair in cells.windows(2) {
            let [from, to] = [pair[0], pair[1]];
            let step = raster.step(options, from, (to.0 - from.0, to.1 - from.1));
            sum = sum.add(step.expect("an allowed step"));
        }
        assert_eq!(sum.bits(), cost.bits(), "{what}: the path to {x}, {y}");
        assert_eq!(cells.last(), Some(&(x, y)), "{what}");
    }
}

/// Both precisions, and the types of friction that hold the drawn values.
fn check_types(
    random: &mut Random,
    drawn: &Drawn,
    sources: &Sources,
    options: &CostDistanceOptions,
    what: &str,
) {
    let whole = drawn
        .friction
        .iter()
        .all(|&v| !v.is_finite() || v.fract() == 0.0 && v < 200.0);
    let singles: Vec<_> = drawn.friction.iter().map(|&value| value as f32).collect();
    let bytes = || {
        drawn
            .friction
            .iter()
            .map(|v| if v.is_finite() { *v as u8 } else { 255 })
    };
    for precision in [Precision::F32, Precision::F64] {
        let options = options.precision(precision);
        let what = format!("{what}, {precision}");
        macro_rules! check {
            ($values:expr) => {
                match precision {
                    Precision::F32 => check::<f32, _>(drawn, $values, sources, &options, &what),
                    _ => check::<f64, _>(drawn, $values, sources, &options, &what),
                }
            };
        }
        match random.below(if whole { 5 } else { 2 }) {
            0 => check!(&drawn.friction),
            // f32 holds the values of kinds 0 to 5.
            1 if drawn
                .friction
                .iter()
                .all(|&v| f64::from(v as f32) == v || v.is_nan()) =>
            {
                check!(&singles);
            }
            2 => check!(&bytes().collect::<Vec<_>>()),
            3 => check!(&bytes().map(u16::from).collect::<Vec<_>>()),
            4 => check!(&bytes().map(u32::from).collect::<Vec<_>>()),
            _ => check!(&drawn.friction),
        }
    }
}

#[test]
fn algorithms_equal_the_oracle_on_small_rasters() {
    let mut random = Random::new(seed_or(31));
    for case in 0..600 {
        let kind = case % KINDS;
        let drawn = draw(&mut random, kind, 1 + case % 14);
        let sources = draw_sources(&mut random, &drawn);
        let options = draw_options(&mut random);
        let what = format!("case {case}, {} × {}", drawn.width, drawn.height);
        check_types(&mut random, &drawn, &sources, &options, &what);
    }
}

/// Larger than a tile, so that costs cross from tile to tile, and back.
#[test]
fn algorithms_equal_the_oracle_on_rasters_of_several_tiles() {
    let mut random = Random::new(seed_or(32));
    for kind in 0..KINDS {
        let mut drawn = draw(&mut random, kind, 150);
        while drawn.friction.len() < 4000 && drawn.height > 1 && drawn.width > 1 {
            drawn = draw(&mut random, kind, 150);
        }
        let sources = draw_sources(&mut random, &drawn);
        let options = draw_options(&mut random);
        let what = format!("kind {kind}, {} × {}", drawn.width, drawn.height);
        check_types(&mut random, &drawn, &sources, &options, &what);
    }
}

#[test]
fn samples_may_have_any_layout() {
    let mut random = Random::new(seed_or(33));
    let drawn = draw(&mut random, 0, 20);
    let (width, height) = (drawn.width as usize, drawn.height as usize);
    let mut turned = vec![0.0; width * height];
    for (i, &value) in drawn.friction.iter().enumerate() {
        turned[i % width * height + i / width] = value;
    }
    let sources = draw_sources(&mut random, &drawn);
    let options = draw_options(&mut random);
    let solve = |samples| {
        let surface = CostSurface::new(samples);
        let found = Engine::cpu().cost_distance(&surface, &sources, &options);
        found
            .unwrap()
            .costs()
            .as_f32()
            .unwrap()
            .iter()
            .map(|cost| cost.to_bits())
            .collect()
    };
    let rows: Vec<u32> = solve(Samples::new(drawn.width, drawn.height, &drawn.friction).unwrap());
    let columns = Samples::with_strides(drawn.width, drawn.height, 1, height, &turned).unwrap();
    assert_eq!(rows, solve(columns));
}

/// A corridor's least sum is the cost between the two sources, and the path is in it.
#[test]
fn a_corridor_has_the_path_between_its_sources() {
    let mut random = Random::new(seed_or(34));
    for _ in 0..20 {
        let drawn = draw(&mut random, 1, 20);
        let samples = Samples::new(drawn.width, drawn.height, &drawn.friction).unwrap();
        let surface = CostSurface::new(samples);
        let options = CostDistanceOptions::default()
            .direction(true)
            .precision(Precision::F64);
        let (a, b) = ((0, 0), (drawn.width - 1, drawn.height - 1));
        let from = |cell| {
            let sources = Sources::from_cells([cell]);
            Engine::cpu()
                .cost_distance(&surface, &sources, &options)
                .unwrap()
        };
        let (first, second) = (from(a), from(b));
        let found = corridor(&first, &second, Some(1e-9)).unwrap();
        let least = found.least().unwrap();
        assert!((least - first.get(b.0, b.1).unwrap()).abs() < 1e-9);
        for &(x, y) in first.least_cost_path(b.0, b.1).unwrap().cells() {
            let sum = found.costs().at((y * drawn.width + x) as usize);
            assert!(sum <= least + 1e-9, "{sum}, {least}");
        }
    }
}

/// A corridor includes the cells whose sum is exactly at the threshold. All sums are exact.
#[test]
fn a_corridor_ends_at_its_threshold() {
    let friction = [1.0f32; 15];
    let surface = CostSurface::new(Samples::new(5, 3, &friction).unwrap());
    let options = CostDistanceOptions::default().neighbours(Neighbours::Four);
    let from = |cell| {
        let sources = Sources::from_cells([cell]);
        Engine::cpu().cost_distance(&surface, &sources, &options)
    };
    let (first, second) = (from((0, 0)).unwrap(), from((4, 0)).unwrap());
    for (threshold, kept) in [(0.0, 5), (1.5, 5), (2.0, 10), (4.0, 15)] {
        let found = corridor(&first, &second, Some(threshold)).unwrap();
        assert_eq!(found.least(), Some(4.0));
        let sums = found.costs().as_f32().unwrap();
        let count = sums.iter().filter(|sum| !sum.is_nan()).count();
        assert_eq!(count, kept, "{threshold}");
    }
}

#[test]
fn a_raster_of_ids_gives_sources() {
    let ids = [0u32, 4, 0, u32::MAX, 0, 4];
    let sources = Sources::from_raster(&Samples::new(3, 2, &ids).unwrap()).unwrap();
    let expected = [(1, 0, 4), (0, 1, u32::MAX), (2, 1, 4)];
    let expected = expected.map(|(x, y, id)| Source::new(x, y, id));
    assert_eq!(sources.as_slice(), expected);
}

#[test]
fn codes_are_directions() {
    for code in 0..=16 {
        let direction = Direction::from_code(code).unwrap();
        assert_eq!(direction.code(), code);
    }
    assert_eq!(Direction::from_code(17), None);
    assert_eq!(Direction::from_code(13).unwrap().offset(), (-2, -1));
}

#[test]
fn codes_that_lead_nowhere_are_refused() {
    for codes in [[1, 5, 0], [0, 1, 1], [0, 99, 5]] {
        assert!(follow_directions(3, 1, &codes, 1, 0).is_err(), "{codes:?}");
    }
    assert_eq!(follow_directions(3, 1, &[0, 5, 5], 2, 0).unwrap().len(), 3);
    assert!(follow_directions(3, 1, &[0; 2], 2, 0).is_err());
}
