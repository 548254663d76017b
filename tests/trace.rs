//! Tracing against plain oracles, on random and on awkward images.

use std::collections::HashSet;

use glam::IVec2;
use proptest::prelude::*;
use trazar::generate::Pattern;
use trazar::{
    Approximation, BinaryImage, BorderKind, Contours, Engine, Geometry, Retrieval, TraceOptions,
};
use trazar_test_support::contours::RETRIEVALS;
use trazar_test_support::images::noise_or_rectangles;
use trazar_test_support::{border_oracle as oracle, seeds};

fn trace(
    image: &BinaryImage,
    geometry: Geometry,
    retrieval: Retrieval,
    approximation: Approximation,
) -> Contours {
    let options = TraceOptions::default()
        .retrieval(retrieval)
        .approximation(approximation)
        .geometry(geometry);
    Engine::cpu().trace(image, &options).unwrap()
}

/// Compares all retrievals, `none` and `simple`, with the oracle.
fn check_centers(image: &BinaryImage) {
    let borders = oracle::suzuki(image);
    for retrieval in RETRIEVALS {
        let (order, rows) = oracle::arrange(&borders, retrieval);
        for approximation in [Approximation::None, Approximation::Simple] {
            let contours = trace(image, Geometry::Centers, retrieval, approximation);
            let what = format!("{retrieval:?} {approximation:?} of {image:?}");
            assert_eq!(contours.hierarchy(), rows, "{what}");
            for (contour, &i) in contours.iter().zip(&order) {
                let points = match approximation {
                    Approximation::None => borders[i].points.clone(),
                    _ => oracle::turns(&borders[i].points),
                };
                assert_eq!(contour.kind(), borders[i].kind, "{what}");
                assert_eq!(contour.points(), points, "{what}");
            }
        }
        // The dominant points are points of the border in its order; the first one may come again
        // at the end.
        for approximation in [Approximation::TehChinL1, Approximation::TehChinKCos] {
            let contours = trace(image, Geometry::Centers, retrieval, approximation);
            assert_eq!(contours.hierarchy(), rows);
            for (contour, &i) in contours.iter().zip(&order) {
                let walk = &borders[i].points;
                let mut rest = walk.iter().chain(walk.first());
                let in_order = contour.points().iter().all(|p| rest.any(|q| q == p));
                assert!(in_order && !contour.points().is_empty());
            }
        }
    }
}

/// Compares the rings along edges with the oracle's: their number, the area that each encloses, and
/// the ring around it. Checks that each is simple and turns at every vertex.
fn check_edges(image: &BinaryImage) {
    let expected = oracle::rings(image);
    for retrieval in RETRIEVALS {
        let contours = trace(image, Geometry::Edges, retrieval, Approximation::Simple);
        let none = trace(image, Geometry::Edges, retrieval, Approximation::None);
        assert_eq!(contours, none);
        let what = format!("{retrieval:?} of {image:?}");
        let kept = |ring: &oracle::Ring| retrieval != Retrieval::External || ring.parent.is_none();
        let count = expected.values().filter(|ring| kept(ring)).count();
        assert_eq!(contours.len(), count, "{what}");
        for contour in contours.iter() {
            let points = contour.points();
            let first = points[0];
            let ring = &expected[&(first.y, first.x)];
            assert!(kept(ring), "{what}");
            assert_eq!(contour.kind(), ring.kind, "{what}");
            assert_eq!(contour.area(), ring.area as f64, "{what}");
            assert_eq!(signed_area(points) > 0, ring.kind == BorderKind::Outer);
            let parent = match (retrieval, ring.kind) {
                (Retrieval::Tree, _) | (Retrieval::Ccomp, BorderKind::Hole) => ring.parent,
                _ => None,
            };
            let traced_parent = contour.links().parent.and_then(|i| contours.get(i));
            assert_eq!(traced_parent.map(|p| p.points()[0]), parent, "{what}");
            check_simple(points);
        }
    }
}

/// Twice the area, positive counter-clockwise on the screen.
fn signed_area(points: &[IVec2]) -> i64 {
    let next = points.iter().cycle().skip(1);
    let cross = |(a, b): (&IVec2, &IVec2)| {
        i64::from(b.x) * i64::from(a.y) - i64::from(a.x) * i64::from(b.y)
    };
    points.iter().zip(next).map(cross).sum()
}

fn check_simple(points: &[IVec2]) {
    let mut corners = HashSet::new();
    let mut last = points[0] - *points.last().unwrap();
    for (&a, &b) in points.iter().zip(points.iter().cycle().skip(1)) {
        let side = b - a;
        assert!(
            (side.x == 0) != (side.y == 0),
            "{a} to {b} is not along an axis"
        );
        assert_eq!(last.dot(side), 0, "no turn at {a} in {points:?}");
        last = side;
        for i in 0..side.abs().max_element() {
            assert!(
                corners.insert(a + side.signum() * i),
                "{points:?} is not simple"
            );
        }
    }
}

fn images() -> impl Strategy<Value = BinaryImage> {
    noise_or_rectangles([1..40, 1..24], [60..140, 1..40])
}

fn cases() -> ProptestConfig {
    seeds::config(400, 1985)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn random_images_match_the_oracle(image in images()) {
        check_centers(&image);
    }

    #[test]
    fn random_rings_match_the_oracle(image in images()) {
        check_edges(&image);
    }
}

#[test]
fn patterns_match_the_oracle() {
    for pattern in Pattern::ALL {
        for (width, height) in [
            (1, 1),
            (1, 9),
            (9, 1),
            (16, 16),
            (63, 20),
            (64, 20),
            (65, 20),
        ] {
            let image = pattern.generate(width, height, 7).unwrap();
            check_centers(&image);
            check_edges(&image);
        }
    }
}

#[test]
fn long_runs_across_words_match_the_oracle() {
    // Bars of every length and offset around the 64 bits of a word, above and below each other.
    for offset in [0, 1, 7, 8, 55, 56, 57, 63, 64, 65] {
        for length in [1, 2, 3, 54, 55, 56, 57, 58, 63, 64, 65, 66, 128, 129] {
            let image = BinaryImage::from_fn(260, 7, |x, y| {
                let bar = (offset..offset + length).contains(&x);
                match y {
                    1 | 5 => bar,
                    3 => bar && x % 61 != 5,
                    2 => x == offset + length / 2,
                    _ => y == 6 && x % 3 == 0,
                }
            })
            .unwrap();
            check_centers(&image);
            check_edges(&image);
        }
    }
}

#[test]
fn dominant_points_are_those_of_opencv() {
    // From OpenCV 5.0's findContours with CHAIN_APPROX_TC89_L1 and CHAIN_APPROX_TC89_KCOS.
    let image = BinaryImage::from_art(DOMINANT_IMAGE).unwrap();
    for (approximation, expected) in [
        (Approximation::TehChinL1, DOMINANT_L1),
        (Approximation::TehChinKCos, DOMINANT_KCOS),
    ] {
        let contours = trace(&image, Geometry::Centers, Retrieval::Tree, approximation);
        let points: Vec<Vec<[i32; 2]>> = contours
            .iter()
            .map(|c| c.points().iter().map(|p| p.to_array()).collect())
            .collect();
        assert_eq!(points, expected, "{approximation:?}");
    }
}

const DOMINANT_IMAGE: &str = "
    ..........#####........###########
    ..........#####........###########
    ..........######.#.....###########
    #####....##########....#####..####
    ####....######...####..........###
    ###......#####...#####.........###
    ###......####....#######.......###
    ###.......##...##########......###
    ####......###############......###
    ######.....#############........##
    #######.....###.###...............
    ...####.........###...............
    ....###.........####..............
    .....##........######.............
    .....#####.....#######............
    ....########....######............
    ....##########...#####............
    ....##########....####............
";
const DOMINANT_L1: &[&[[i32; 2]]] = &[
    &[
        [0, 3],
        [0, 10],
        [2, 10],
        [4, 15],
        [4, 17],
        [13, 16],
        [11, 15],
        [9, 14],
        [6, 13],
        [5, 9],
        [2, 7],
        [2, 5],
        [4, 3],
    ],
    &[
        [23, 0],
        [23, 3],
        [27, 3],
        [29, 2],
        [31, 4],
        [33, 9],
        [33, 0],
    ],
    &[
        [10, 0],
        [10, 2],
        [8, 4],
        [9, 6],
        [10, 8],
        [12, 10],
        [15, 9],
        [16, 12],
        [15, 14],
        [18, 17],
        [21, 17],
        [21, 14],
        [19, 9],
        [23, 6],
        [20, 4],
        [17, 2],
        [14, 0],
    ],
    &[[13, 4], [17, 4], [16, 7], [14, 8], [11, 7], [13, 4]],
];
const DOMINANT_KCOS: &[&[[i32; 2]]] = &[
    &[
        [0, 3],
        [0, 10],
        [2, 10],
        [5, 14],
        [4, 17],
        [13, 16],
        [11, 15],
        [9, 14],
        [6, 13],
        [5, 9],
        [4, 9],
        [2, 7],
        [2, 5],
        [4, 3],
    ],
    &[[23, 0], [23, 3], [29, 2], [31, 4], [33, 9], [33, 0]],
    &[
        [10, 0],
        [10, 2],
        [8, 4],
        [9, 6],
        [10, 8],
        [12, 10],
        [15, 9],
        [16, 12],
        [15, 14],
        [18, 17],
        [21, 17],
        [21, 14],
        [19, 9],
        [23, 6],
        [22, 6],
        [17, 2],
        [14, 0],
    ],
    &[[13, 4], [17, 4], [16, 7], [14, 8], [11, 7]],
];
