//! Surfaces and costs that stay in a device's memory, under the emulator: equal to the processor's
//! results and errors.

use trazar::distance::{
    CostBuffer, CostDistanceOptions, CostSurface, Costs, Friction, Neighbours, Precision, Source,
    Sources, StepCost,
};
use trazar::emulator::{Emulator, Schedule};
use trazar::{DeviceDistances, DeviceSurface, Engine, Error, Result, Samples};
use trazar_test_support::emulators::seed;
use trazar_test_support::seeds::Random;

fn distances(seed: u64) -> DeviceDistances<Emulator> {
    let gpu = Emulator::new(seed)
        .with_schedule(Schedule::Mixed)
        .with_step_limit(1 << 26)
        .with_resident_blocks(2);
    DeviceDistances::on(gpu)
}

/// The bits of costs, or the error.
fn told(costs: Result<Costs>) -> std::result::Result<Vec<u64>, String> {
    let bits = |costs: Costs| match costs {
        Costs::F32(costs) => costs.iter().map(|cost| cost.to_bits().into()).collect(),
        Costs::F64(costs) => costs.iter().map(|cost| cost.to_bits()).collect(),
        _ => unreachable!("two precisions"),
    };
    costs.map(bits).map_err(|error| error.to_string())
}

/// Compares resident costs with the processor's, for every precision.
fn check<T: Friction>(
    on: &DeviceDistances<Emulator>,
    surface: &CostSurface<'_, T>,
    sources: &Sources,
    options: &CostDistanceOptions,
) {
    for precision in [Precision::F32, Precision::F64] {
        let options = options.precision(precision);
        let expected = Engine::cpu().cost_distance(surface, sources, &options);
        let expected = told(expected.map(|found| found.into_parts().0));
        let resident = DeviceSurface::upload(on.gpu(), surface).unwrap();
        let found = on.cost_distance(&resident, sources, &options);
        let found = told(found.and_then(|found| found.to_host()));
        assert!(
            found == expected,
            "not the CPU's costs, in {precision}: {found:?} instead of {expected:?}"
        );
    }
}

/// Whole numbers and floats, of which some are barriers, in rows that are apart.
#[test]
fn resident_surfaces() {
    let random = &mut Random::new(seed());
    let on = distances(seed());
    let (width, height, stride) = (37, 41, 40);
    let numbers: Vec<u32> = (0..stride * height).map(|_| 1 + random.below(7)).collect();
    let first = (0..width * height)
        .map(|i| (i % width, i / width))
        .find(|&(x, y)| numbers[(y * stride + x) as usize] != 3);
    let sources = Sources::from_cells([first.expect("a cell that is no barrier")]);
    let options = CostDistanceOptions::default();
    macro_rules! check_type {
        ($($t:ty)*) => {$({
            let values: Vec<$t> = numbers.iter().map(|&number| number as $t).collect();
            let rows = Samples::with_strides(width, height, stride as usize, 1, &values).unwrap();
            for no_data in [Some(3.0), Some(3.5), Some(-1.0), None] {
                check(&on, &CostSurface::new(rows).no_data(no_data), &sources, &options);
            }
        })*};
    }
    check_type! { u8 u16 u32 f32 f64 }
    // The first cell that is refused is named, of several in several blocks.
    for bad in [-1.0, f64::NEG_INFINITY, 1e300] {
        let mut values: Vec<f64> = numbers.iter().map(|&number| number.into()).collect();
        for cell in [900, 310, 1500] {
            values[cell] = bad;
        }
        let rows = Samples::with_strides(width, height, stride as usize, 1, &values).unwrap();
        check(&on, &CostSurface::new(rows), &sources, &options);
    }
}

/// Sources outside, on barriers, past the limit, and costs that overflow.
#[test]
fn resident_sources() {
    let on = distances(seed() + 1);
    let mut values = vec![1.0f32; 12 * 11];
    (values[5], values[30], values[31]) = (f32::NAN, 3e38, 3e38);
    let surface = CostSurface::new(Samples::new(12, 11, &values).unwrap());
    let good = Source::new(3, 3, 2);
    let barred = Source::new(5, 0, 7);
    let outside = Source::new(12, 0, 1);
    let huge = Source::new(1, 1, 1).start_cost(1e39);
    let far = Source::new(1, 1, 1).start_cost(30.0);
    for sources in [
        vec![],
        vec![good, barred, outside],
        vec![good, outside, barred],
        vec![huge, barred],
        vec![barred, huge],
        vec![far, good],
        vec![far],
        vec![good, Source::new(2, 2, 0)],
    ] {
        let sources: Sources = sources.into_iter().collect();
        for neighbours in [Neighbours::Eight, Neighbours::Sixteen] {
            for max_cost in [None, Some(4.0)] {
                let options = CostDistanceOptions::default()
                    .neighbours(neighbours)
                    .max_cost(max_cost);
                check(&on, &surface, &sources, &options);
            }
        }
    }
}

/// Memory is adopted as it is, and what a search needs is kept.
#[test]
fn resident_memory() {
    let on = distances(seed() + 2);
    let friction = on.gpu().upload(&[1u8, 3, 99, 2, 2]).unwrap();
    let surface = DeviceSurface::new(2, 2, 3, friction).unwrap();
    let (sources, options) = (
        Sources::from_cells([(0, 0)]),
        CostDistanceOptions::default(),
    );
    assert_eq!(on.working_memory(), 0);
    for _ in 0..2 {
        let costs = on.cost_distance(&surface, &sources, &options).unwrap();
        assert_eq!((costs.width(), costs.height()), (2, 2));
        let diagonal = 1.5 * 2f32.sqrt();
        let expected = [0.0, 2.0, 1.5, diagonal];
        assert_eq!(costs.to_host().unwrap().as_f32(), Some(&expected[..]));
        assert!(matches!(costs.into_costs(), CostBuffer::F32(_)));
        assert!(on.working_memory() > 0);
    }
    let kept = on.working_memory();
    assert_eq!(on.release_working_memory(), kept);
    assert_eq!(on.working_memory(), 0);

    // Allocation and directions stay there, too, and their memory is kept.
    let options = options.allocation(true).direction(true);
    let found = on.cost_distance(&surface, &sources, &options).unwrap();
    assert!(on.working_memory() > kept);
    let (_, ids, codes) = found.into_parts();
    assert_eq!(ids.unwrap().to_vec().unwrap(), [1, 1, 1, 1]);
    assert_eq!(codes.unwrap().to_vec().unwrap(), [0, 5, 7, 6]);

    let entered = options.step_cost(StepCost::Entered);
    let error = on.cost_distance(&surface, &sources, &entered);
    assert!(matches!(error, Err(Error::Unavailable(_))), "{error:?}");
    for (width, height, pitch) in [(2, 3, 3), (6, 1, 6)] {
        let friction = on.gpu().upload(&[1u8; 5]).unwrap();
        let error = DeviceSurface::<Emulator, u8>::new(width, height, pitch, friction);
        assert!(
            matches!(error, Err(Error::SizeMismatch { .. })),
            "{error:?}"
        );
    }
    let friction = on.gpu().upload(&[1u8; 5]).unwrap();
    let error = DeviceSurface::<Emulator, u8>::new(3, 1, 2, friction).unwrap_err();
    assert!(matches!(error, Error::InvalidOption(_)), "{error}");
}
