//! Regions of many shapes: their pieces must cover exactly their pixels.

use super::*;
use crate::{BinaryImage, Engine, Geometry, Retrieval, TraceOptions};
use proptest::prelude::*;

fn region(image: &BinaryImage) -> Vec<Ring> {
    let options = TraceOptions::default()
        .geometry(Geometry::Edges)
        .retrieval(Retrieval::Tree);
    let contours = Engine::cpu().trace(image, &options).unwrap();
    contours.iter().map(|c| c.points().to_vec()).collect()
}

fn pieces(region: &[Ring], limit: usize) -> Result<Vec<Ring>> {
    Pieces::new(region.iter().map(Vec::as_slice), limit)?.collect()
}

/// The number of rings that cover each pixel, by the even-odd rule.
fn coverage(rings: &[Ring], width: usize, height: usize) -> Vec<u32> {
    let mut covered = vec![0; width * height];
    for ring in rings {
        for y in 0..height {
            let mut crossings: Vec<i32> = (0..ring.len())
                .map(|i| (ring[i], ring[(i + 1) % ring.len()]))
                .filter(|(a, b)| a.y.min(b.y) <= y as i32 && a.y.max(b.y) > y as i32)
                .map(|(a, b)| {
                    assert_eq!(a.x, b.x, "an edge is neither horizontal nor vertical");
                    a.x
                })
                .collect();
            crossings.sort_unstable();
            for run in crossings.chunks(2) {
                for x in run[0]..run[1] {
                    covered[y * width + x as usize] += 1;
                }
            }
        }
    }
    covered
}

fn check(image: &BinaryImage, limit: usize) {
    let rings = pieces(&region(image), limit).unwrap();
    let (width, height) = (image.width() as usize, image.height() as usize);
    let covered = coverage(&rings, width, height);
    for y in 0..height {
        for x in 0..width {
            let expected = u32::from(image.get(x as u32, y as u32));
            assert_eq!(covered[y * width + x], expected, "at {x}, {y} of\n{image}");
        }
    }
    let area: i128 = rings.iter().map(|ring| doubled_area(ring)).sum();
    assert_eq!(area, 2 * i128::from(image.count_foreground()));
    for ring in &rings {
        assert!(ring.len() <= limit, "{} vertices in {ring:?}", ring.len());
    }
}

fn images() -> impl Strategy<Value = BinaryImage> {
    (1u32..40, 1u32..40, 1u32..10).prop_flat_map(|(width, height, density)| {
        let pixels = prop::collection::vec(0..10u32, (width * height) as usize);
        pixels.prop_map(move |pixels| {
            BinaryImage::from_fn(width, height, |x, y| {
                pixels[(y * width + x) as usize] < density
            })
            .unwrap()
        })
    })
}

proptest! {
    #![proptest_config(crate::seeds::config(256, 1))]

    #[test]
    fn one_ring_for_each_outer_border(image in images()) {
        let region = region(&image);
        let outer = region.iter().filter(|ring| doubled_area(ring) > 0).count();
        prop_assert_eq!(pieces(&region, usize::MAX).unwrap().len(), outer);
        check(&image, usize::MAX);
    }

    #[test]
    fn pieces_cover_every_pixel_once(image in images(), limit in 4usize..40) {
        check(&image, limit);
    }
}

#[test]
fn divides_what_no_single_line_divides_well() {
    // A spiral: every line through its middle crosses half of all edges.
    let n = 101i32;
    let mut image = BinaryImage::new(n as u32, n as u32).unwrap();
    let (mut p, mut step) = (IVec2::ZERO, IVec2::X);
    let taken = |image: &BinaryImage, q: IVec2| {
        q.min_element() < 0 || q.max_element() >= n || image.get(q.x as u32, q.y as u32)
    };
    loop {
        image.set(p.x as u32, p.y as u32, true);
        let ahead = |image: &BinaryImage, step: IVec2| {
            !taken(image, p + step)
                && ((p + 2 * step).min_element() < 0
                    || (p + 2 * step).max_element() >= n
                    || !image.get((p + 2 * step).x as u32, (p + 2 * step).y as u32))
        };
        if !ahead(&image, step) {
            step = IVec2::new(-step.y, step.x);
            if !ahead(&image, step) {
                break;
            }
        }
        p += step;
    }
    check(&image, 4);
    check(&image, 8);
    check(&image, 20);
    check(&image, usize::MAX);
}

#[test]
fn joins_a_long_chain_of_holes() {
    // Each hole is joined to the one on its left.
    let image = BinaryImage::from_fn(40_001, 3, |x, y| y != 1 || x % 2 == 0).unwrap();
    let rings = pieces(&region(&image), usize::MAX).unwrap();
    assert_eq!(rings.len(), 1);
    let rings = pieces(&region(&image), 8190).unwrap();
    assert!(rings.len() > 1);
    let area: i128 = rings.iter().map(|ring| doubled_area(ring)).sum();
    assert_eq!(area, 2 * i128::from(image.count_foreground()));
}

#[test]
fn refuses_what_is_no_region() {
    let square: Ring = [(0, 0), (0, 2), (2, 2), (2, 0)].map(IVec2::from).to_vec();
    let hole: Ring = square.iter().rev().copied().collect();
    let one = pieces(std::slice::from_ref(&square), 8);
    assert_eq!(one.unwrap(), [square]);
    assert!(matches!(
        pieces(&[hole], 8),
        Err(Error::Unwritable {
            problem: WriteProblem::Inexpressible,
            ..
        })
    ));
}
