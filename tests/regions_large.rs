//! More than 2³¹ pixels in bands of rows, with `TRAZAR_LARGE=1`: regions and labels of an image of
//! rectangles whose areas are known. Nothing has the whole image, and the process's memory stays
//! below an eighth of its values. Alone in its process, so that the peak is this test's.

use std::ops::Range;

use glam::IVec2;
use trazar::label::LabelPart;
use trazar::trace::RegionTracer;
use trazar::{Connectivity, Engine, RegionOptions, Samples, ValueImage};
use trazar_test_support::optional;

const WIDTH: u32 = 1 << 16;
/// The last three rows are those past 2³¹ pixels.
const HEIGHT: u32 = (1 << 15) + 3;

/// Each of 8 × 8 blocks has a value of its own, and so has a rectangle in it.
const BLOCK: [u32; 2] = [1 << 13, 1 << 12];
const INNER: [Range<u32>; 2] = [1000..3000, 1500..2500];
/// In each of these rectangles there is an island, all of one value.
const ISLAND: [Range<u32>; 2] = [2000..2100, 2000..2100];
const ISLAND_VALUE: u16 = 7;
/// A frame of this width passes through all bands.
const FRAME: u32 = 3;
const FRAME_VALUE: u16 = u16::MAX;
/// The last pixel, whose index is past 2³¹.
const LAST_VALUE: u16 = 9;

/// The most memory, and that for which bands are planned.
const MOST: u64 = 512 << 20;
const PLANNED: u64 = 400 << 20;

fn value(x: u32, y: u32) -> u16 {
    if (x, y) == (WIDTH - 1, HEIGHT - 1) {
        return LAST_VALUE;
    }
    if x.min(y).min(WIDTH - 1 - x).min(HEIGHT - 1 - y) < FRAME {
        return FRAME_VALUE;
    }
    let block = [x / BLOCK[0], y / BLOCK[1]];
    let at = [x % BLOCK[0], y % BLOCK[1]];
    let within = |sides: &[Range<u32>; 2]| sides[0].contains(&at[0]) && sides[1].contains(&at[1]);
    let index = (block[1] * 8 + block[0]) as u16;
    match () {
        () if within(&ISLAND) => ISLAND_VALUE,
        () if within(&INNER) => 2000 + index,
        () => 1000 + index,
    }
}

/// Value and area of each region, in the order of their numbers.
fn expected() -> Vec<(u16, u64)> {
    let area = |sides: &[Range<u32>; 2]| sides[0].len() as u64 * sides[1].len() as u64;
    let whole = u64::from(WIDTH) * u64::from(HEIGHT);
    let [inner_width, inner_height] = [WIDTH, HEIGHT].map(|side| u64::from(side - 2 * FRAME));
    let mut regions = vec![(FRAME_VALUE, whole - inner_width * inner_height - 1)];
    for row in 0..8 {
        // The frame's lowest rows are below the blocks.
        let height = u64::from(BLOCK[1] - if row == 0 { FRAME } else { 0 });
        regions.extend((0..8).map(|column| {
            let cut = if column % 7 == 0 { FRAME } else { 0 };
            let area = u64::from(BLOCK[0] - cut) * height - area(&INNER);
            (1000 + row * 8 + column, area)
        }));
        regions.extend((0..8).map(|column| {
            let area = area(&INNER) - area(&ISLAND);
            (2000 + row * 8 + column, area)
        }));
        regions.extend([(ISLAND_VALUE, area(&ISLAND)); 8]);
    }
    regions.push((LAST_VALUE, 1));
    assert_eq!(regions.iter().map(|(_, area)| area).sum::<u64>(), whole);
    regions
}

/// The values of some rows. Rows of the same kind are copied.
fn rows(rows: Range<u32>) -> Vec<u16> {
    let mut values: Vec<u16> = Vec::with_capacity(rows.len() * WIDTH as usize);
    let width = WIDTH as usize;
    for y in rows.clone() {
        let changes = [0, FRAME, HEIGHT - FRAME, HEIGHT - 1].contains(&y)
            || y % BLOCK[1] == 0
            || [&INNER[1], &ISLAND[1]]
                .iter()
                .any(|side| [side.start, side.end].contains(&(y % BLOCK[1])));
        if y == rows.start || changes {
            values.extend((0..WIDTH).map(|x| value(x, y)));
        } else {
            values.extend_from_within(values.len() - width..);
        }
    }
    values
}

/// The bands of at most `height` rows.
fn bands(height: u32) -> impl Iterator<Item = Range<u32>> {
    let starts = (0..HEIGHT).step_by(height as usize);
    starts.map(move |start| start..HEIGHT.min(start + height))
}

/// Twice the area that a ring encloses; negative for a hole.
fn twice_the_area(ring: &[IVec2]) -> i64 {
    let next = ring.iter().cycle().skip(1);
    let cross = |(a, b): (&IVec2, &IVec2)| a.as_i64vec2().perp_dot(b.as_i64vec2());
    -ring.iter().zip(next).map(cross).sum::<i64>()
}

/// The most memory that the process has had, where the system says so.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[test]
fn two_to_the_31_pixels_in_bands() {
    if !optional::large("two_to_the_31_pixels_in_bands") {
        return;
    }
    let pixels = u64::from(WIDTH) * u64::from(HEIGHT);
    assert!(pixels > 1 << 31 && MOST * 8 < pixels * 2);
    let expected = expected();

    let height = RegionTracer::<u16>::rows_within(WIDTH, HEIGHT, PLANNED, 0).unwrap();
    let mut tracer = RegionTracer::in_memory(WIDTH, &RegionOptions::default()).unwrap();
    for band in bands(height) {
        tracer.push(rows(band)).unwrap();
    }
    let regions = tracer.finish().unwrap().into_regions().unwrap();
    assert_eq!(regions.count() as usize, expected.len());
    // Frame, blocks and rectangles have a hole.
    assert_eq!(regions.len(), expected.len() + 1 + 64 + 64);
    let mut found: Vec<(u16, i64)> = vec![(0, 0); expected.len()];
    let rings = regions.contours().iter().zip(regions.values());
    for ((ring, &value), &region) in rings.zip(regions.regions()) {
        let of_region = &mut found[region as usize - 1];
        of_region.0 = value;
        of_region.1 += twice_the_area(ring.points());
    }
    let found: Vec<(u16, u64)> = found
        .into_iter()
        .map(|(value, twice)| (value, u64::try_from(twice / 2).unwrap()))
        .collect();
    assert_eq!(found, expected);
    drop(regions);

    // Labels, in bands of other heights.
    let (engine, four) = (Engine::cpu(), Connectivity::Four);
    let on_band = |band: &Range<u32>, on: &mut dyn FnMut(&ValueImage<'_, u16>)| {
        let values = rows(band.clone());
        let samples = Samples::new(WIDTH, band.len() as u32, &values).unwrap();
        on(&ValueImage::new(samples).unwrap());
    };
    let mut joined: Option<LabelPart> = None;
    for band in bands(517) {
        on_band(&band, &mut |image| {
            let part = engine.label_values_part(image, band.start, four).unwrap();
            joined = Some(match joined.take() {
                None => part,
                Some(upper) => LabelPart::join(upper, part).unwrap(),
            });
        });
    }
    let table = joined.unwrap().finish().unwrap();
    assert_eq!(table.count(), expected.len() as u64);
    let mut areas = vec![0; expected.len() + 1];
    for (band, numbers) in bands(517).zip(table.into_bands()) {
        on_band(&band, &mut |image| {
            let labels = engine.label_values_band::<u32, _>(image, &numbers, four);
            for label in labels.unwrap() {
                areas[label as usize] += 1;
            }
        });
    }
    assert_eq!(areas[0], 0);
    assert!(areas[1..].iter().eq(expected.iter().map(|(_, area)| area)));

    if let Some(peak) = peak() {
        println!("peak of memory: {} MiB", peak >> 20);
        assert!(peak < MOST, "{peak} bytes");
    }
}
