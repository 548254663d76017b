//! Intensity images of any type of numbers, summed run by run.

use trazar_kernels::measure::powers::moved;
use trazar_kernels::measure::reals::{greatest, least};

use super::labels::Run;
use super::rows::Rows;
use super::sums::{Base, IntensitySums, Powers};
use crate::error::Result;
use crate::image::{Sample, Samples};

/// A type of intensities: `u8`, `u16`, `u32`, `i16`, `i32`, `i64`, `f32` or `f64`.
pub trait Intensity: Sample + Send + Sync + std::fmt::Debug + sealed::Summed {}

mod sealed {
    use super::{AnyIntensities, IntensitySums};
    use crate::image::Samples;
    use crate::measure::gpu::DeviceIntensity;

    pub trait Summed: DeviceIntensity {
        /// The value as a floating-point number.
        fn number(self) -> f64;

        /// Sums up a run, which is not empty.
        fn sum_up(run: &[Self], with_deviations: bool) -> IntensitySums
        where
            Self: Sized;

        /// Whether variances come from the sums of squares, without rounding.
        const HAS_SQUARES: bool;
        /// Whether sums are those of integers.
        const IS_WHOLE: bool;

        /// An image, by the type of its intensities.
        fn any(samples: Samples<'_, Self>) -> AnyIntensities<'_>
        where
            Self: Sized;
    }
}

/// An image of intensities of any type in the host's memory.
#[derive(Clone, Copy)]
pub enum AnyIntensities<'a> {
    U8(Samples<'a, u8>),
    U16(Samples<'a, u16>),
    U32(Samples<'a, u32>),
    I16(Samples<'a, i16>),
    I32(Samples<'a, i32>),
    I64(Samples<'a, i64>),
    F32(Samples<'a, f32>),
    F64(Samples<'a, f64>),
}

/// Evaluates an expression for the image in an [`AnyIntensities`].
macro_rules! with_intensities {
    ($intensities:expr, $samples:ident => $result:expr) => {
        match $intensities {
            AnyIntensities::U8($samples) => $result,
            AnyIntensities::U16($samples) => $result,
            AnyIntensities::U32($samples) => $result,
            AnyIntensities::I16($samples) => $result,
            AnyIntensities::I32($samples) => $result,
            AnyIntensities::I64($samples) => $result,
            AnyIntensities::F32($samples) => $result,
            AnyIntensities::F64($samples) => $result,
        }
    };
}

pub(super) use with_intensities;

impl AnyIntensities<'_> {
    /// Width and height.
    pub(super) fn size(self) -> [usize; 2] {
        with_intensities!(self, samples => [samples.width(), samples.height()])
    }
}

/// Numbers that are summed up next to each other, for vector instructions. The sum is that of a
/// fixed order.
const LANES: usize = 8;

/// Pixels whose sums of 16-bit values fit 32 bits in each lane.
const PIECE: usize = 1 << 16;

/// The sum of `value` of each element.
#[inline(always)]
fn sum_in_lanes<T: Copy>(run: &[T], value: impl Fn(T) -> f64) -> f64 {
    let (groups, rest) = run.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for group in groups {
        for (lane, &each) in lanes.iter_mut().zip(group) {
            *lane += value(each);
        }
    }
    let rest: f64 = rest.iter().map(|&each| value(each)).sum();
    lanes.iter().sum::<f64>() + rest
}

/// The sum of squared differences from the mean.
#[inline(always)]
fn deviations<T: Copy>(run: &[T], sum: f64, value: impl Fn(T) -> f64) -> f64 {
    let mean = sum / run.len() as f64;
    sum_in_lanes(run, |each| {
        let apart = value(each) - mean;
        apart * apart
    })
}

macro_rules! integers {
    ($($any:ident: $type:ty, $lane:ty, $square:ty;)*) => {$(
        // Types of all sizes, some of which `From` converts.
        #[allow(clippy::cast_lossless)]
        impl sealed::Summed for $type {
            const HAS_SQUARES: bool = true;
            const IS_WHOLE: bool = true;

            fn any(samples: Samples<'_, Self>) -> AnyIntensities<'_> {
                AnyIntensities::$any(samples)
            }

            #[inline(always)]
            fn number(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn sum_up(run: &[Self], with_deviations: bool) -> IntensitySums {
                let (mut least, mut most) = ([<$type>::MAX; LANES], [<$type>::MIN; LANES]);
                let mut sum = 0i128;
                for piece in run.chunks(PIECE) {
                    let mut sums: [$lane; LANES] = [0; LANES];
                    let (groups, rest) = piece.as_chunks::<LANES>();
                    for group in groups {
                        for lane in 0..LANES {
                            least[lane] = least[lane].min(group[lane]);
                            most[lane] = most[lane].max(group[lane]);
                            sums[lane] += <$lane>::from(group[lane]);
                        }
                    }
                    for (lane, &value) in rest.iter().enumerate() {
                        least[lane] = least[lane].min(value);
                        most[lane] = most[lane].max(value);
                        sums[lane] += <$lane>::from(value);
                    }
                    for lane in sums {
                        sum += i128::from(lane);
                    }
                }
                let mut squares = 0;
                if with_deviations {
                    for &value in run {
                        let value = <$square>::from(value.unsigned_abs());
                        squares += value * value;
                    }
                }
                let min = least.iter().copied().min().unwrap_or_default();
                let max = most.iter().copied().max().unwrap_or_default();
                IntensitySums {
                    pixels: run.len() as u64,
                    min: f64::from(min),
                    max: f64::from(max),
                    whole_sum: sum,
                    squares: u128::from(squares),
                    ..IntensitySums::default()
                }
            }
        }
        impl Intensity for $type {}
    )*};
}

/// The same name for all integers.
trait UnsignedAbs: Sized {
    fn unsigned_abs(self) -> Self;
}

macro_rules! unsigned {
    ($($type:ty)*) => {$(
        impl UnsignedAbs for $type {
            #[inline(always)]
            fn unsigned_abs(self) -> Self {
                self
            }
        }
    )*};
}

unsigned! { u8 u16 u32 }

// A run has fewer than 2³¹ pixels.
integers! {
    U8: u8, u32, u64;
    U16: u16, u32, u64;
    U32: u32, u64, u128;
    I16: i16, i32, u64;
    I32: i32, i64, u128;
}

impl sealed::Summed for i64 {
    const HAS_SQUARES: bool = false;
    const IS_WHOLE: bool = true;

    fn any(samples: Samples<'_, Self>) -> AnyIntensities<'_> {
        AnyIntensities::I64(samples)
    }

    #[inline(always)]
    fn number(self) -> f64 {
        self as f64
    }

    #[inline(always)]
    fn sum_up(run: &[Self], with_deviations: bool) -> IntensitySums {
        let min = run.iter().copied().min().unwrap_or_default();
        let max = run.iter().copied().max().unwrap_or_default();
        let whole_sum: i128 = run.iter().map(|&value| i128::from(value)).sum();
        let sum = whole_sum as f64;
        IntensitySums {
            pixels: run.len() as u64,
            min: min as f64,
            max: max as f64,
            whole_sum,
            sum,
            deviations: if with_deviations {
                deviations(run, sum, |value| value as f64)
            } else {
                0.0
            },
            ..IntensitySums::default()
        }
    }
}

impl Intensity for i64 {}

macro_rules! floats {
    ($($any:ident: $type:ty;)*) => {$(
        impl sealed::Summed for $type {
            const HAS_SQUARES: bool = false;
            const IS_WHOLE: bool = false;

            fn any(samples: Samples<'_, Self>) -> AnyIntensities<'_> {
                AnyIntensities::$any(samples)
            }

            #[inline(always)]
            fn number(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn sum_up(run: &[Self], with_deviations: bool) -> IntensitySums {
                let (groups, rest) = run.as_chunks::<LANES>();
                let (mut min, mut max) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
                for group in groups {
                    for lane in 0..LANES {
                        min[lane] = least(min[lane], group[lane].into());
                        max[lane] = greatest(max[lane], group[lane].into());
                    }
                }
                for (lane, &value) in rest.iter().enumerate() {
                    min[lane] = least(min[lane], value.into());
                    max[lane] = greatest(max[lane], value.into());
                }
                let min = min.into_iter().fold(f64::INFINITY, least);
                let max = max.into_iter().fold(f64::NEG_INFINITY, greatest);
                let sum = sum_in_lanes(run, f64::from);
                IntensitySums {
                    pixels: run.len() as u64,
                    min,
                    max,
                    sum,
                    deviations: if with_deviations {
                        deviations(run, sum, f64::from)
                    } else {
                        0.0
                    },
                    ..IntensitySums::default()
                }
            }
        }
        impl Intensity for $type {}
    )*};
}

floats! {
    F32: f32;
    F64: f64;
}

/// The sums of `intensity · kʲ`, with k = 0 at the first pixel.
#[inline(always)]
fn weighted_sums<T: sealed::Summed + Copy>(run: &[T]) -> [f64; 4] {
    const LANES: usize = 4;
    let (groups, rest) = run.as_chunks::<LANES>();
    let mut lanes = [[0.0; LANES]; 4];
    let mut places: [f64; LANES] = std::array::from_fn(|lane| lane as f64);
    for group in groups {
        for lane in 0..LANES {
            let (value, k) = (group[lane].number(), places[lane]);
            lanes[0][lane] += value;
            lanes[1][lane] += value * k;
            lanes[2][lane] += value * (k * k);
            lanes[3][lane] += value * (k * k * k);
            places[lane] += LANES as f64;
        }
    }
    let mut sums = lanes.map(|lanes| lanes.iter().sum::<f64>());
    let first = groups.len() * LANES;
    for (value, k) in rest.iter().zip(first..) {
        let (value, k) = (value.number(), k as f64);
        sums[0] += value;
        sums[1] += value * k;
        sums[2] += value * (k * k);
        sums[3] += value * (k * k * k);
    }
    sums
}

/// How the sums of an image's type are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Kind {
    pub(super) has_squares: bool,
    pub(super) is_whole: bool,
}

impl Kind {
    pub(super) const fn of<T: Intensity>() -> Self {
        Self {
            has_squares: T::HAS_SQUARES,
            is_whole: T::IS_WHOLE,
        }
    }
}

/// An intensity image, whatever its type.
pub(super) trait IntensityImage: Sync {
    fn width(&self) -> usize;
    fn height(&self) -> usize;
    fn kind(&self) -> Kind;
    /// The rows from `first` to before `end`.
    fn rows(&self, first: usize, end: usize) -> Result<Box<dyn IntensityRows + '_>>;
}

/// Some rows of an intensity image.
pub(super) trait IntensityRows {
    /// Adds the runs of row `y` to the sums of their labels.
    fn add(&self, y: usize, runs: &[Run], sums: &mut [IntensitySums], with_deviations: bool);

    /// Adds the runs of row `y` to their labels' sums of weighted coordinates.
    fn add_weighted(&self, y: usize, runs: &[Run], bases: &[Base], powers: &mut [Powers]);
}

impl<T: Intensity> IntensityImage for Samples<'_, T> {
    fn width(&self) -> usize {
        Samples::width(self)
    }

    fn height(&self) -> usize {
        Samples::height(self)
    }

    fn kind(&self) -> Kind {
        Kind::of::<T>()
    }

    fn rows(&self, first: usize, end: usize) -> Result<Box<dyn IntensityRows + '_>> {
        Ok(Box::new(Rows::new(*self, first, end)?))
    }
}

impl<T: Intensity> IntensityRows for Rows<'_, T> {
    fn add(&self, y: usize, runs: &[Run], sums: &mut [IntensitySums], with_deviations: bool) {
        add_runs(self.row(y), runs, sums, with_deviations);
    }

    fn add_weighted(&self, y: usize, runs: &[Run], bases: &[Base], powers: &mut [Powers]) {
        let row = self.row(y);
        for run in runs {
            let base = &bases[run.slot as usize];
            let sums = weighted_sums(&row[run.start as usize..run.end as usize]);
            let first = f64::from(run.start) - f64::from(base.column);
            let row = (y as u64 - u64::from(base.row)) as f64;
            powers[run.slot as usize].add_run(row, moved(sums, first));
        }
    }
}

/// Adds the runs of a row to the sums of their labels.
fn add_runs<T: Intensity>(
    row: &[T],
    runs: &[Run],
    sums: &mut [IntensitySums],
    with_deviations: bool,
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature, as just asked.
        return unsafe { add_runs_avx2(row, runs, sums, with_deviations) };
    }
    add_runs_anywhere(row, runs, sums, with_deviations);
}

/// As [`add_runs`], with wider vectors. The sums are the same: lanes are added in a fixed order.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_runs_avx2<T: Intensity>(
    row: &[T],
    runs: &[Run],
    sums: &mut [IntensitySums],
    with_deviations: bool,
) {
    add_runs_anywhere(row, runs, sums, with_deviations);
}

#[inline(always)]
fn add_runs_anywhere<T: Intensity>(
    row: &[T],
    runs: &[Run],
    sums: &mut [IntensitySums],
    with_deviations: bool,
) {
    for run in runs {
        let pixels = &row[run.start as usize..run.end as usize];
        let of_run = T::sum_up(pixels, with_deviations);
        sums[run.slot as usize].join(&of_run, with_deviations && !T::HAS_SQUARES);
    }
}
