//! Images of any size whose contours are known, as what follows from small images.

use std::time::Instant;

use glam::IVec2;
use trazar::generate;
use trazar::{BinaryImage, Contours, DeviceImage, DeviceTracer, Engine, TraceOptions};
use trazar_test_support::optional;

use crate::Alone;
use crate::devices::trace_bands::{bands_of, trace_on};

/// An image of `side × side` pixels whose rows are made of words.
fn from_rows(side: u32, mut row: impl FnMut(u32, &mut [u64])) -> BinaryImage {
    let row_words = side.div_ceil(64) as usize;
    let mut words = vec![0; row_words * side as usize];
    for (y, words) in words.chunks_exact_mut(row_words).enumerate() {
        row(y as u32, words);
        if !side.is_multiple_of(64) {
            words[row_words - 1] &= (1 << (side % 64)) - 1;
        }
    }
    BinaryImage::from_words(side, side, words).unwrap()
}

/// Sets the bits from `begin` to before `end` that `pattern` has.
fn set_bits(words: &mut [u64], begin: u32, end: u32, pattern: u64) {
    for at in begin / 64..end.div_ceil(64) {
        let from = begin.max(at * 64) - at * 64;
        let to = end.min(at * 64 + 64) - at * 64;
        words[at as usize] |= pattern & (u64::MAX >> (64 - to)) & (u64::MAX << from);
    }
}

/// What `generate::spiral` makes, by words: one line through all of the image. The side is even.
fn spiral(side: u32) -> BinaryImage {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let mut image = from_rows(side, |y, words| {
        let frame = y.min(side - 1 - y);
        set_bits(words, 0, frame, EVEN);
        if frame % 2 == 0 {
            set_bits(words, frame, side - frame, u64::MAX);
        }
        set_bits(words, side - frame, side, !EVEN);
    });
    for k in (0..side / 2).step_by(2) {
        if side - 2 * k >= 3 {
            image.set(k, k + 1, false);
        }
        if side - 2 * k >= 5 {
            image.set(k + 1, k + 2, true);
        }
    }
    image
}

/// Images with known answers: what `trace` finds is what follows from small images.
fn check_known_answers(side: u32, trace: &dyn Fn(&BinaryImage) -> Contours) {
    const CELL: u32 = 32;
    assert!(side.is_multiple_of(CELL));
    let cpu = |image: &BinaryImage| {
        Engine::cpu()
            .trace(image, &TraceOptions::default())
            .unwrap()
    };

    // One ring around everything.
    let frame = |side: u32| {
        from_rows(side, |y, words| {
            let whole = y == 0 || y == side - 1;
            let ends = [0..1, side - 1..side];
            let all = [0..side, 0..0];
            for run in if whole { all } else { ends } {
                set_bits(words, run.start, run.end, u64::MAX);
            }
        })
    };
    let (found, expected) = (trace(&frame(side)), cpu(&frame(CELL)));
    let far = |at: i32| at + (side - CELL).cast_signed() * i32::from(at >= 16);
    let stretched = expected.points().iter().map(|point| point.map(far));
    assert!(found.points().iter().copied().eq(stretched), "the ring");
    assert_eq!(found.hierarchy(), expected.hierarchy());
    assert_eq!(found.kinds(), expected.kinds());

    // One line through everything, along which the border goes to and fro.
    let image = spiral(side);
    let found = trace(&image);
    assert_eq!(found.len(), 1);
    assert_eq!(found.points().len(), 3 * side as usize - 2);
    let points = found.points();
    let steps = |(i, a): (usize, &IVec2)| {
        let to = (points[(i + 1) % points.len()] - *a).abs();
        assert!(to.x == 0 || to.y == 0 || to.x == to.y);
        u64::from(to.max_element().cast_unsigned())
    };
    let walked: u64 = points.iter().enumerate().map(steps).sum();
    // To the line's end and back, but for one step less at the inner side of each corner.
    assert_eq!(
        walked + u64::from(side - 1),
        2 * (image.count_foreground() - 1)
    );
    drop((image, found));

    // Cells with a ring, a dot in it, and a line across its rim.
    let cell = BinaryImage::from_fn(CELL, CELL, |x, y| {
        let ring = x.abs_diff(14).max(y.abs_diff(15));
        matches!(ring, 9 | 10) || ring == 0 || (x + y == 50 && x >= 26)
    })
    .unwrap();
    let image = from_rows(side, |y, words| {
        let row = cell.row(y % CELL)[0];
        words.fill(row | row << CELL);
    });
    let one = cpu(&cell);
    let found = trace(&image);
    drop(image);
    let columns = side / CELL;
    let cells = u64::from(columns) * u64::from(columns);
    assert_eq!(found.len() as u64, one.len() as u64 * cells);
    assert_eq!(
        found.points().len() as u64,
        one.points().len() as u64 * cells
    );
    // Borders without a parent stand in reverse order of discovery: here of rows, then of columns.
    let mut tops: Vec<(IVec2, usize)> = Vec::new();
    let of_one: Vec<_> = one.iter().collect();
    let top_level = |i: &usize| one.hierarchy()[*i][3] < 0;
    let one_tops: Vec<usize> = (0..one.len()).filter(top_level).collect();
    for row in (0..columns).rev() {
        // Starts in one row of cells: by their rows, then by columns.
        let mut starts: Vec<_> = one_tops
            .iter()
            .flat_map(|&top| {
                let start = of_one[top].points()[0];
                (0..columns).map(move |column| {
                    let origin = IVec2::new(column.cast_signed(), row.cast_signed());
                    (start.y, origin.x, start.x, origin, top)
                })
            })
            .collect();
        starts.sort_unstable_by_key(|&(y, column, x, ..)| std::cmp::Reverse((y, column, x)));
        tops.extend(
            starts
                .into_iter()
                .map(|(.., origin, top)| (origin * CELL as i32, top)),
        );
    }
    let mut at = 0;
    let mut all = found.iter();
    for (i, &(origin, top)) in tops.iter().enumerate() {
        let end = one_tops.iter().copied().find(|&next| next > top);
        let size = end.unwrap_or(one.len()) - top;
        for (k, expected) in of_one[top..top + size].iter().enumerate() {
            let found = all.next().unwrap();
            assert_eq!(found.kind(), expected.kind());
            let moved = expected.points().iter().map(|point| *point + origin);
            assert!(
                found.points().iter().copied().eq(moved),
                "contour {}",
                at + k
            );
        }
        let [next, previous, ..] = found.hierarchy()[at];
        let sibling = |exists: bool, to: usize| if exists { to as i32 } else { -1 };
        assert_eq!(next, sibling(i + 1 < tops.len(), at + size));
        assert_eq!(previous < 0, i == 0);
        let inner =
            |row: [i32; 4], first: usize| row.map(|to| if to < 0 { -1 } else { to - first as i32 });
        for k in 1..size {
            let (found, expected) = (found.hierarchy()[at + k], one.hierarchy()[top + k]);
            assert_eq!(inner(found, at), inner(expected, top));
        }
        at += size;
    }
    assert!(all.next().is_none());
}

/// On the processor, which shows that the answers are known.
#[test]
fn known_answers_on_the_processor() {
    for side in [64, 96, 320] {
        assert_eq!(spiral(side), generate::spiral(side, side).unwrap());
        check_known_answers(side, &|image| {
            Engine::cpu()
                .trace(image, &TraceOptions::default())
                .unwrap()
        });
    }
}

/// Up to 10¹⁰ pixels in one call.
#[test]
fn known_answers_of_huge_images() {
    let test = "known_answers_of_huge_images";
    if !optional::large(test) {
        return;
    }
    let Some(alone) = Alone::open(test) else {
        return;
    };
    let tracer = DeviceTracer::on(alone.queue.clone());
    for side in [320, 40_000, 65_536, 100_000] {
        check_known_answers(side, &|image| {
            let on_device = DeviceImage::upload(tracer.gpu(), image).unwrap();
            // The first call takes memory for the image, the second one uses it again.
            for call in 0..2 {
                let begin = Instant::now();
                let found = tracer.trace(&on_device, &TraceOptions::default()).unwrap();
                tracer.gpu().stream().synchronize().unwrap();
                println!(
                    "{side} x {side}, {} contours, {} points, call {call}: {:.2} ms",
                    found.len(),
                    found.point_count(),
                    begin.elapsed().as_secs_f64() * 1e3
                );
                if call == 1 {
                    return found.to_host().unwrap();
                }
            }
            unreachable!()
        });
    }
}

/// One GPU as two, band by band.
#[test]
fn known_answers_of_huge_images_in_bands() {
    let test = "known_answers_of_huge_images_in_bands";
    if !optional::large(test) {
        return;
    }
    let Some(alone) = Alone::open(test) else {
        return;
    };
    let gpus = [alone.on_own_stream(), alone.on_own_stream()];
    check_known_answers(65_536, &|image| {
        let begin = Instant::now();
        let found = trace_on(&gpus, bands_of(image, 4096), &TraceOptions::default());
        println!(
            "65536 x 65536 in bands of 4096 rows on two streams of one GPU, {} contours, {} \
             points: {:.0} ms",
            found.len(),
            found.points().len(),
            begin.elapsed().as_secs_f64() * 1e3
        );
        found
    });
}
