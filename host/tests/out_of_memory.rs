//! Want of memory is an error, wherever it happens, and never the end of the process.
//!
//! This test has an allocator that refuses one large allocation. Each operation runs again and
//! again: first its first large allocation is refused, then its second, until a run has fewer
//! large allocations than that. A refused allocation that is not handled ends the process
//! ([`std::alloc::handle_alloc_error`]) and the test, which prints each operation's name first.

#![cfg(feature = "formats")]
#![allow(missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trazar::formats::{self, GdsOptions, RegionWriteOptions};
use trazar::generate;
use trazar::label::{BandSource, LabelPart};
use trazar::measure::{MeasureOptions, MeasurePart, Properties};
use trazar::regions::{SimplifyMethod, SimplifyOptions};
use trazar::route::{
    DistanceAlgorithm, DistanceOptions, EdgeCounts, NegotiationOptions, RoutingCase,
};
use trazar::trace::{
    Band, BandTracer, ContourOptions, ContourPart, RegionPart, RegionTracer, TileCounts, ValueBand,
};
use trazar::{
    Approximation, BinaryImage, Cell, Connectivity, Contours, Engine, Error, Geometry,
    LabelAlgorithm, LabelOptions, Net, RegionOptions, Result, Retrieval, RouteAlgorithm,
    RouteOptions, RoutingGrid, Samples, TraceAlgorithm, TraceOptions, TreeKind, ValueImage,
    ValueRows,
};

/// The system's allocator, which refuses the large allocation that [`LEFT`] counts down to.
struct Refusing;

/// An allocation of more bytes counts. The images are small, so that the test is fast; what does
/// not depend on an image's size, such as a file's buffer, is of at most this size.
const LARGE: usize = 1 << 16;

/// The number of large allocations until one is refused; 0 refuses none.
static LEFT: AtomicU64 = AtomicU64::new(0);
/// The number of bytes that were refused.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

impl Refusing {
    /// Whether to refuse an allocation of this size.
    fn refuses(bytes: usize) -> bool {
        if bytes <= LARGE || LEFT.load(Relaxed) == 0 {
            return false;
        }
        let counted = LEFT.try_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        let is_refused = counted == Ok(1);
        if is_refused {
            REFUSED.store(bytes, Relaxed);
        }
        is_refused
    }
}

// SAFETY: what is not refused, which any allocator may do, goes to the system's allocator.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match Self::refuses(layout.size()) {
            true => std::ptr::null_mut(),
            // SAFETY: the caller's promise.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match Self::refuses(layout.size()) {
            true => std::ptr::null_mut(),
            // SAFETY: the caller's promise.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match size > layout.size() && Self::refuses(size) {
            true => std::ptr::null_mut(),
            // SAFETY: the caller's promise.
            false => unsafe { System.realloc(place, layout, size) },
        }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Holds off the other tests, since allocations of all threads count.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` until no allocation of it was refused.
fn check<R>(name: &str, work: impl Fn() -> Result<R>) {
    // To the process's own output: the test's is lost if the process ends.
    let _ = writeln!(io::stderr(), "{name}");
    for nth in 1.. {
        REFUSED.store(0, Relaxed);
        LEFT.store(nth, Relaxed);
        let done = work();
        LEFT.store(0, Relaxed);
        let refused = REFUSED.load(Relaxed);
        match done {
            Ok(_) if refused == 0 => {
                assert!(nth > 1, "{name}: there is no large allocation");
                return;
            }
            // A smaller share of the work may do with less.
            Ok(_) => {}
            Err(error) => {
                assert!(
                    error.is_out_of_memory(),
                    "{name}: allocation {nth} of {refused} bytes: {error:?}"
                );
                assert_ne!(refused, 0, "{name}: {error}");
            }
        }
    }
}

/// Half of the pixels, at random.
fn noise(side: u32) -> BinaryImage {
    generate::noise(side, side, 0.5, 1).unwrap()
}

fn trace_options(
    algorithm: TraceAlgorithm,
    geometry: Geometry,
    approximation: Approximation,
    retrieval: Retrieval,
) -> TraceOptions {
    TraceOptions::default()
        .algorithm(algorithm)
        .geometry(geometry)
        .approximation(approximation)
        .retrieval(retrieval)
}

#[test]
fn images() {
    let _alone = alone();
    let values = vec![1u8; 800 * 800];
    check("from_samples", || {
        let samples = trazar::Samples::new(800, 800, &values)?;
        BinaryImage::from_samples(samples, 0)
    });
    check("from_fn", || BinaryImage::from_fn(800, 800, |x, y| x > y));
}

#[test]
fn labels() {
    let _alone = alone();
    let image = noise(800);
    let engine = Engine::cpu();
    for algorithm in [LabelAlgorithm::Sequential, LabelAlgorithm::Parallel] {
        for statistics in [false, true] {
            let options = LabelOptions::default()
                .algorithm(algorithm)
                .statistics(statistics)
                .connectivity(Connectivity::Four);
            check(&format!("{options:?}"), || engine.label(&image, &options));
        }
    }
}

fn copy(image: &BinaryImage) -> Result<BinaryImage> {
    BinaryImage::from_fn(image.width(), image.height(), |x, y| image.get(x, y))
}

/// The upper and the lower half.
fn halves(image: &BinaryImage) -> [BinaryImage; 2] {
    let (width, rows) = (image.width(), image.height() / 2);
    let half =
        |first: u32| BinaryImage::from_fn(width, rows, |x, y| image.get(x, first + y)).unwrap();
    [half(0), half(rows)]
}

/// The rows of an image in memory, as a source of bands.
struct Rows<'a> {
    image: &'a BinaryImage,
    next: u32,
}

impl BandSource for Rows<'_> {
    fn width(&self) -> u32 {
        self.image.width()
    }

    fn height(&self) -> u32 {
        self.image.height()
    }

    fn next_band(&mut self, rows: u32) -> Result<Option<BinaryImage>> {
        let (image, first) = (self.image, self.next);
        let rows = rows.min(image.height() - first);
        self.next += rows;
        if rows == 0 {
            return Ok(None);
        }
        BinaryImage::from_fn(image.width(), rows, |x, y| image.get(x, first + y)).map(Some)
    }

    fn rewind(&mut self) -> Result<()> {
        self.next = 0;
        Ok(())
    }
}

#[test]
fn simplified_rings() {
    let _alone = alone();
    let options = TraceOptions::default().geometry(Geometry::Edges);
    let rings = Engine::cpu().trace(&noise(300), &options).unwrap();
    for method in SimplifyMethod::ALL {
        let options = SimplifyOptions::default().tolerance(2.0).method(*method);
        check(&format!("simplify, {method}"), || rings.simplify(&options));
    }
    check("filter", || rings.filter_regions(3, false));
}

#[test]
fn labels_of_parts_and_bands() {
    let _alone = alone();
    let image = noise(800);
    let [upper, lower] = halves(&image);
    let options = LabelOptions::default()
        .statistics(true)
        .connectivity(Connectivity::Four);
    let engine = Engine::cpu();
    check("label_part", || {
        engine.label_part(&upper, 0, &options.components)
    });
    let parts = || -> Result<_> {
        Ok((
            engine.label_part(&upper, 0, &options.components)?,
            engine.label_part(&lower, upper.height(), &options.components)?,
        ))
    };
    check("bytes of parts", || {
        let (upper, _) = parts()?;
        LabelPart::from_bytes(&upper.to_bytes()?)
    });
    check("label_band", || {
        let (above, below) = parts()?;
        let numbers = LabelPart::join(above, below)?.finish()?.into_bands();
        engine.label_band::<u32>(&lower, &numbers[1], options.components.connectivity)?;
        engine.label_band::<u64>(&lower, &numbers[1], options.components.connectivity)
    });
    check("Engine::label_bands", || {
        let rows = Rows {
            image: &image,
            next: 0,
        };
        let mut band_labels = Engine::cpu().label_bands(rows, &options.components, 1 << 26)?;
        while let Some(band) = band_labels.next_band::<u32>()? {
            formats::write_band_labels_npy(&band, io::sink())?;
            formats::write_band_statistics_csv(&band, io::sink())?;
        }
        Ok(())
    });
}

/// Rows of computed values, as a source of bands.
struct ComputedRows(u32);

impl BandSource<ValueRows<u16>> for ComputedRows {
    fn width(&self) -> u32 {
        300
    }

    fn height(&self) -> u32 {
        200
    }

    fn next_band(&mut self, rows: u32) -> Result<Option<ValueRows<u16>>> {
        let rows = rows.min(200 - self.0);
        self.0 += rows;
        let mut values = Vec::new();
        let len = 300 * rows as usize;
        values
            .try_reserve_exact(len)
            .map_err(|_| Error::out_of_memory("values", 2 * len as u64))?;
        values.extend((0..len).map(|at| (at * at % 7) as u16));
        match rows {
            0 => Ok(None),
            _ => ValueRows::new(300, values)?.background(3).map(Some),
        }
    }

    fn rewind(&mut self) -> Result<()> {
        self.0 = 0;
        Ok(())
    }
}

#[test]
fn labels_of_values_in_parts_and_bands() {
    let _alone = alone();
    let (engine, eight) = (Engine::cpu(), Connectivity::Eight);
    let values: Vec<u16> = (0..60_000u32).map(|at| (at * at % 7) as u16).collect();
    let band = |half: usize| {
        let samples = Samples::new(300, 100, &values[half * 30_000..][..30_000])?;
        ValueImage::new(samples)
    };
    let parts = || -> Result<_> {
        Ok((
            engine.label_values_part(&band(0)?, 0, eight)?,
            engine.label_values_part(&band(1)?, 100, eight)?,
        ))
    };
    check("label_values_part", parts);
    check("bytes of parts of values", || {
        let (upper, _) = parts()?;
        LabelPart::from_bytes(&upper.to_bytes()?)
    });
    check("label_values_band", || {
        let (above, below) = parts()?;
        let numbers = LabelPart::join(above, below)?.finish()?.into_bands();
        engine.label_values_band::<u32, _>(&band(1)?, &numbers[1], eight)?;
        engine.label_values_band::<u64, _>(&band(1)?, &numbers[1], eight)
    });
    check("Engine::label_value_bands", || {
        let mut bands = Engine::cpu().label_value_bands(ComputedRows(0), eight, 1 << 26)?;
        while let Some(band) = bands.next_band::<u64>()? {
            assert_eq!(band.width(), 300);
        }
        Ok(())
    });
}

#[test]
fn contours() {
    let _alone = alone();
    use Approximation::{None, Simple, TehChinKCos, TehChinL1};
    use Geometry::{Centers, Edges};
    use Retrieval::{Ccomp, External, List, Tree};
    use TraceAlgorithm::{Components, Fragments, Suzuki, Tiles};
    let image = noise(400);
    let engine = Engine::cpu();
    for (algorithm, geometry, approximation, retrieval) in [
        (Suzuki, Centers, Simple, Tree),
        (Suzuki, Edges, None, Ccomp),
        (Fragments, Centers, None, Tree),
        (Fragments, Edges, Simple, External),
        (Fragments, Centers, TehChinL1, List),
        (Tiles(TileCounts::BY_SIZE), Centers, Simple, Ccomp),
        (Components, Centers, TehChinKCos, Tree),
    ] {
        let options = trace_options(algorithm, geometry, approximation, retrieval);
        check(&format!("{options:?}"), || engine.trace(&image, &options));
    }
    let images = halves(&image);
    let options = TraceOptions::default();
    check("trace_batch", || engine.trace_batch(&images, &options));
}

#[test]
fn contours_of_parts_and_bands() {
    let _alone = alone();
    let [upper, lower] = halves(&noise(400));
    let options = TraceOptions::default();
    let engine = Engine::cpu();
    let parts = || -> Result<_> {
        let band = Band::new(&upper, 0).with_below(lower.row(0));
        let above = engine.trace_part(band, &options.contours)?;
        let last = upper.row(upper.height() - 1);
        let band = Band::new(&lower, upper.height()).with_above(last);
        Ok((above, engine.trace_part(band, &options.contours)?))
    };
    check("joined parts", || {
        let (above, below) = parts()?;
        ContourPart::join(above, below)?.finish()
    });
    check("bytes of a part", || {
        let (above, _) = parts()?;
        ContourPart::from_bytes(&above.try_clone()?.to_bytes()?)
    });
    let spill = tempfile::tempdir().unwrap();
    for in_file in [false, true] {
        check("trace_bands", || {
            let tracer = match in_file {
                true => BandTracer::in_file(&options.contours, spill.path())?,
                false => BandTracer::in_memory(&options.contours)?,
            };
            let mut bands = [&upper, &lower].into_iter();
            let next = || bands.next().map(copy).transpose();
            let stored = engine.trace_bands(tracer, next)?;
            formats::write_contours_geojson(&stored, io::sink())?;
            stored.into_contours()
        });
    }
}

#[test]
fn regions_and_measures_of_parts_and_bands() {
    let _alone = alone();
    // Enough regions for a byte of each to be a large allocation.
    let (width, rows) = (400u32, 130u32);
    let count = (width * rows) as usize;
    let classes: Vec<u8> = (0..2 * count).map(|i| (i * i / 7 % 5) as u8).collect();
    let image = |values| ValueImage::new(Samples::new(width, rows, values)?);
    let options = RegionOptions::default();
    let parts = || -> Result<_> {
        let (upper, lower) = (image(&classes[..count])?, image(&classes[count..])?);
        let above = RegionPart::trace(ValueBand::new(&upper, 0).with_below(&lower), &options)?;
        let band = ValueBand::new(&lower, rows).with_above(&upper);
        Ok((above, RegionPart::trace(band, &options)?))
    };
    check("joined parts of regions", || {
        let (above, below) = parts()?;
        RegionPart::join(above, below)?.finish()
    });
    check("bytes of a part of regions", || {
        let (above, _) = parts()?;
        RegionPart::<u8>::from_bytes(&above.try_clone()?.to_bytes()?)
    });
    let spill = tempfile::tempdir().unwrap();
    for in_file in [false, true] {
        check("regions in bands", || {
            let tracer = match in_file {
                true => RegionTracer::in_file(width, &options, spill.path())?,
                false => RegionTracer::in_memory(width, &options)?,
            };
            // Copies of bands are small.
            let mut bands = classes.chunks(count / 2);
            let next = || Ok(bands.next().map(<[u8]>::to_vec));
            let stored = tracer.background(3)?.trace(next)?;
            formats::write_regions_flatgeobuf(&stored, &RegionWriteOptions::default(), io::sink())?;
            stored.into_regions()
        });
    }
    let options = MeasureOptions::default().properties(Properties::all(false));
    check("parts of measures", || {
        let all = || Samples::new(width, 2 * rows, &classes);
        let upper = MeasurePart::of(all()?, 0..rows, 0, &options)?;
        let lower = MeasurePart::of(all()?, rows..2 * rows, rows, &options)?;
        let lower = MeasurePart::from_bytes(&lower.to_bytes()?)?;
        MeasurePart::join(upper.try_clone()?, &lower)?.finish()
    });
}

/// Rims are as long as an image is wide.
#[test]
fn rims_of_wide_images() {
    let _alone = alone();
    let image = generate::noise(40_000, 4, 0.5, 1).unwrap();
    let [upper, _] = halves(&image);
    let engine = Engine::cpu();
    let below = image.row(2);
    check("bytes of a wide part of contours", || {
        let band = Band::new(&upper, 0).with_below(below);
        let part = engine.trace_part(band, &ContourOptions::default())?;
        ContourPart::from_bytes(&part.to_bytes()?)
    });
    let options = LabelOptions::default().statistics(true);
    check("bytes of a wide part of labels", || {
        let part = engine.label_part(&upper, 0, &options.components)?;
        LabelPart::from_bytes(&part.to_bytes()?)
    });
    check("bands of a wide image", || {
        let rows = Rows {
            image: &image,
            next: 0,
        };
        let mut band_labels = Engine::cpu().label_bands(rows, &options.components, 1 << 26)?;
        while band_labels.next_band::<u32>()?.is_some() {}
        Ok(())
    });
}

#[test]
fn files_of_contours() {
    let _alone = alone();
    // One large component, with many holes.
    let image = generate::noise(400, 400, 0.8, 1).unwrap();
    let options = TraceOptions::default().geometry(Geometry::Edges);
    let contours = Engine::cpu().trace(&image, &options).unwrap();
    check("bytes", || Contours::from_bytes(&contours.to_bytes()?));
    for max_vertices in [200, 8190] {
        let options = GdsOptions::default().max_vertices(max_vertices);
        check("gds", || {
            formats::write_contours_gds(&contours, &options, io::sink())
        });
    }
    let part = Engine::cpu()
        .trace_part(Band::new(&image, 0), &options.contours)
        .unwrap();
    let stored = part.finish_stored().unwrap();
    check("stored geojson", || {
        formats::write_contours_geojson(&stored, io::sink())
    });
    check("geojson", || {
        formats::write_contours_geojson(&contours, io::sink())
    });
    check("stored svg", || {
        formats::write_contours_svg(&stored, io::sink())
    });
    check("stored json", || {
        formats::write_contours_json(&stored, io::sink())
    });
}

/// The sides of the grid: its paths are long enough for a large allocation.
const SIDE: u32 = 130;

/// A grid with random weights, and a net of this number of random cells.
fn case(pins: u32) -> RoutingCase {
    let mut state = 1u64;
    let mut random = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % u64::from(below)) as u32
    };
    let weights: Vec<u32> = (0..SIDE * (SIDE - 1)).map(|_| random(50)).collect();
    let grid = RoutingGrid::from_edges(SIDE, SIDE, &weights, &weights).unwrap();
    let cells = (0..pins).map(|_| Cell::at(random(SIDE), random(SIDE)));
    let net = Net::from_cells(cells);
    RoutingCase::new(grid, [net])
}

#[test]
fn routes() {
    let _alone = alone();
    let (few, many) = (case(3), case(5_000));
    let grid = &few.grid;
    let engine = Engine::cpu();
    let weights = vec![1; (SIDE * (SIDE - 1)) as usize];
    check("grid", || {
        RoutingGrid::from_edges(SIDE, SIDE, &weights, &weights)
    });
    let layers = [grid.clone(), grid.clone()];
    let vias = vec![1; (SIDE * SIDE) as usize];
    check("stack", || RoutingGrid::stack(&layers, &vias));
    for algorithm in [
        RouteAlgorithm::Dijkstra,
        RouteAlgorithm::Sweep,
        RouteAlgorithm::SweepParallel,
    ] {
        // Others search the whole grid for each pin.
        let nets = match algorithm {
            RouteAlgorithm::Dijkstra => &many.nets,
            _ => &few.nets,
        };
        let options = RouteOptions::default().algorithm(algorithm);
        check(algorithm.name(), || engine.route(grid, nets, &options));
    }
    check("fewest edges", || {
        engine.route_fewest_edges(grid, &few.nets)
    });
    // Many pins far from each other: long lists of paths and of cells.
    let improved = RouteOptions::default().tree(TreeKind::Improved);
    let pins = case(400);
    check("improved", || engine.route(grid, &pins.nets, &improved));
    let turns = RouteOptions::default().turn_cost(7);
    check("turn_cost", || engine.route(grid, &many.nets, &turns));
    // Short lines that cross, and one net that winds through the whole grid.
    let lines = (0..40).map(|i| Net::from_cells([Cell::at(i, 40 - i), Cell::at(i + 50, 90 - i)]));
    let nets: Vec<Net> = lines.chain(case(40).nets).collect();
    let capacities = EdgeCounts::uniform(grid, 1, 1).unwrap();
    check("capacities", || EdgeCounts::uniform(grid, 1, 1));
    let options = NegotiationOptions::default().rounds(4);
    check("negotiate", || {
        engine.negotiate(grid, &capacities, &nets, &options)
    });
    for algorithm in [
        DistanceAlgorithm::Dijkstra,
        DistanceAlgorithm::Sweep,
        DistanceAlgorithm::Tiles,
    ] {
        let options = DistanceOptions::default().algorithm(algorithm);
        check("distances", || {
            engine.distances(grid, &[Cell::at(3, 4)], &options)
        });
    }
}
