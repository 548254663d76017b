//! Simplified rings against what must hold of them, checked line by line.

use std::collections::{HashMap, HashSet};

use glam::IVec2;

use super::{SimplifyMethod, SimplifyOptions};
use crate::geometry::doubled_area;
use crate::seeds::{self, Random};
use crate::{
    BinaryImage, BorderKind, Connectivity, Contours, Engine, Geometry, Location, RegionOptions,
    Regions, Samples, TraceOptions, ValueImage,
};

type Edge = (IVec2, IVec2);

fn cross(o: IVec2, a: IVec2, b: IVec2) -> i64 {
    let (a, b) = (
        a.as_i64vec2() - o.as_i64vec2(),
        b.as_i64vec2() - o.as_i64vec2(),
    );
    a.x * b.y - a.y * b.x
}

/// Whether two lines have a point in common that is not an end of both.
fn conflict((a, b): Edge, (c, d): Edge) -> bool {
    let on = |p: IVec2, (a, b): Edge| {
        cross(a, b, p) == 0 && p.cmpge(a.min(b)).all() && p.cmple(a.max(b)).all()
    };
    let is_end = |p: IVec2, (a, b): Edge| p == a || p == b;
    let touches = |p: IVec2, edge: Edge| on(p, edge) && !is_end(p, edge);
    if touches(a, (c, d)) || touches(b, (c, d)) || touches(c, (a, b)) || touches(d, (a, b)) {
        return true;
    }
    let differ = |x: i64, y: i64| x.signum() * y.signum() < 0;
    differ(cross(a, b, c), cross(a, b, d)) && differ(cross(c, d, a), cross(c, d, b))
}

fn edges(rings: &Contours) -> Vec<Edge> {
    rings
        .iter()
        .flat_map(|ring| super::arcs::edges(ring.points()).collect::<Vec<_>>())
        .collect()
}

/// Checks all that is guaranteed, but for how near the rings are to the old ones.
fn check(old: &Contours, new: &Contours, partition: bool, name: &str) {
    assert_eq!(old.kinds(), new.kinds(), "{name}");
    assert_eq!(old.hierarchy(), new.hierarchy(), "{name}");
    let directed = edges(new);
    let set: HashSet<Edge> = directed.iter().copied().collect();
    assert_eq!(set.len(), directed.len(), "a line twice: {name}");
    // One of each two that are opposite.
    let lines: Vec<Edge> = directed
        .iter()
        .filter(|&&(a, b)| !set.contains(&(b, a)) || a.to_array() < b.to_array())
        .copied()
        .collect();
    for (i, &line) in lines.iter().enumerate() {
        for &other in &lines[..i] {
            assert!(!conflict(line, other), "{line:?} meets {other:?}: {name}");
        }
    }
    let mut total = 0;
    for (was, ring) in old.iter().zip(new.iter()) {
        let points = ring.points();
        assert!(points.len() >= 3, "{name}");
        assert!(
            points
                .iter()
                .all(|p| [p.y, p.x] >= [points[0].y, points[0].x]),
            "{name}"
        );
        let all = super::arcs::edges(was.points());
        let is_on = |p: IVec2| {
            all.clone()
                .any(|(a, b)| p.cmpge(a.min(b)).all() && p.cmple(a.max(b)).all())
        };
        assert!(points.iter().all(|&p| is_on(p)), "{name}");
        let area = doubled_area(points);
        assert_eq!(area > 0, ring.kind() == BorderKind::Outer, "{name}");
        assert_ne!(area, 0, "{name}");
        total += area;
        // Rings do not cross, so one vertex that is not on the other ring tells.
        if let Some(outer) = ring.links().parent.and_then(|parent| new.get(parent)) {
            let is_in = |p: &IVec2| outer.locate(*p) != Location::Outside;
            assert!(points.iter().all(is_in), "a hole is outside: {name}");
        }
    }
    if partition {
        let all = 2 * i128::from(old.width()) * i128::from(old.height());
        assert_eq!(total, all, "gaps or overlaps: {name}");
        let (right, bottom) = (old.width() as i32, old.height() as i32);
        for &(a, b) in &directed {
            let is_on_frame = (a.x == b.x && (a.x == 0 || a.x == right))
                || (a.y == b.y && (a.y == 0 || a.y == bottom));
            assert_ne!(set.contains(&(b, a)), is_on_frame, "{a} {b}: {name}");
        }
    }
}

fn distance(p: IVec2, (a, b): Edge) -> f64 {
    let (p, a, b) = (p.as_dvec2(), a.as_dvec2(), b.as_dvec2());
    let along = ((p - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0);
    p.distance(a + (b - a) * along)
}

/// Noise, blocks, or smooth classes.
fn random_values(random: &mut Random) -> (u32, Vec<u8>) {
    let (width, height) = (1 + random.below(40), 1 + random.below(40));
    let most = 1 + random.below(5);
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let values: Vec<u8> = match random.below(3) {
        0 => pixels.map(|_| random.below(most) as u8).collect(),
        1 => {
            let side = 2 + random.below(6);
            let blocks: Vec<u8> = (0..21 * 21).map(|_| random.below(most) as u8).collect();
            pixels
                .map(|(x, y)| blocks[(y / side * 21 + x / side) as usize])
                .collect()
        }
        _ => {
            let waves: Vec<[f64; 3]> = (0..4)
                .map(|_| [0, 0, 0].map(|_| f64::from(random.below(1000)) / 1000.0))
                .collect();
            let height_at = |x: u32, y: u32| -> f64 {
                let (x, y) = (f64::from(x), f64::from(y));
                let wave = |&[a, b, c]: &[f64; 3]| (a * x + b * y + 6.0 * c).sin();
                waves.iter().map(wave).sum()
            };
            pixels
                .map(|(x, y)| ((height_at(x, y) + 4.0) * f64::from(most) / 8.0) as u8)
                .collect()
        }
    };
    (width, values)
}

fn traced(width: u32, values: &[u8], background: Option<u8>, eight: bool) -> Regions<u8> {
    let height = values.len() as u32 / width;
    let mut image = ValueImage::new(Samples::new(width, height, values).unwrap()).unwrap();
    if let Some(value) = background {
        image = image.background(value).unwrap();
    }
    let connectivity = if eight {
        Connectivity::Eight
    } else {
        Connectivity::Four
    };
    let options = RegionOptions::default().connectivity(connectivity);
    Engine::cpu().trace_regions(&image, &options).unwrap()
}

#[test]
fn simplified_regions_are_a_partition() {
    let mut random = Random::new(seeds::seed_or(31));
    for case in 0..1500 {
        let (width, values) = random_values(&mut random);
        let background = (random.below(2) == 0).then_some(0);
        let regions = traced(width, &values, background, random.below(4) == 0);
        let method = SimplifyMethod::ALL[random.below(2) as usize];
        let tolerance = [0.0, 0.5, 0.75, 1.5, 3.0, 20.0, 1e9][random.below(7) as usize];
        let options = SimplifyOptions::default()
            .tolerance(tolerance)
            .method(method);
        let new = regions.contours().simplify(&options).unwrap();
        let name = format!("case {case}, {options:?}, width {width}, {background:?}, {values:?}");
        check(regions.contours(), &new, background.is_none(), &name);
        if tolerance == 0.0 {
            for (was, ring) in regions.contours().iter().zip(new.iter()) {
                assert_eq!(was.area(), ring.area(), "{name}");
            }
        }
        if method == SimplifyMethod::DouglasPeucker {
            for (was, ring) in regions.contours().iter().zip(new.iter()) {
                for &point in was.points() {
                    let near = super::arcs::edges(ring.points())
                        .map(|edge| distance(point, edge))
                        .fold(f64::INFINITY, f64::min);
                    assert!(near <= 2.0 * tolerance + 1e-9, "{point} by {near}: {name}");
                }
            }
        }
    }
}

/// Each corner that is left has a triangle that is too large, or cannot go.
#[test]
fn visvalingam_leaves_no_corner_that_could_go() {
    let mut random = Random::new(seeds::seed_or(32));
    let mut stayed = 0;
    for case in 0..300 {
        let (width, values) = random_values(&mut random);
        let regions = traced(width, &values, None, false);
        let tolerance = [0.5, 1.0, 2.5, 12.0][random.below(4) as usize];
        let method = SimplifyMethod::Visvalingam;
        let options = SimplifyOptions::default()
            .tolerance(tolerance)
            .method(method);
        let new = regions.contours().simplify(&options).unwrap();
        let all: HashSet<Edge> = edges(&new).into_iter().collect();
        let mut rings_at: HashMap<IVec2, HashSet<IVec2>> = HashMap::new();
        for &(a, b) in &all {
            rings_at.entry(a).or_default().insert(b);
            rings_at.entry(b).or_default().insert(a);
        }
        for ring in new.iter() {
            let points = ring.points();
            for i in 1..points.len() {
                let [u, v, w] = [i - 1, i, i + 1].map(|i| points[i % points.len()]);
                let image_corner =
                    (v.x == 0 || v.x == width as i32) && (v.y == 0 || v.y == new.height() as i32);
                if rings_at[&v].len() > 2 || image_corner {
                    continue;
                }
                // The anchors of rings without junctions stay.
                let is_free = points.iter().all(|p| rings_at[p].len() == 2);
                if cross(u, v, w).abs() as f64 > 2.0 * tolerance || is_free {
                    continue;
                }
                let line = (u, w);
                let joined = all.contains(&(u, w)) || all.contains(&(w, u));
                let rest = all.iter().filter(|&&(a, b)| a != v && b != v);
                let crosses = rest.clone().any(|&edge| conflict(line, edge));
                let around = rings_at.keys().any(|&p| {
                    let signs = [cross(u, v, p), cross(v, w, p), cross(w, u, p)].map(i64::signum);
                    p != u
                        && p != v
                        && p != w
                        && (signs.iter().all(|&s| s >= 0) || signs.iter().all(|&s| s <= 0))
                });
                stayed += 1;
                assert!(
                    joined || crosses || around,
                    "case {case}: {v}, {options:?}, {values:?}"
                );
            }
        }
    }
    // The check is not empty.
    assert!(stayed > 100, "{stayed}");
}

#[test]
fn an_island_in_a_bay_stays_on_its_side() {
    // Without a check, the bay is cut off by a line, and the island is beyond it.
    let art = "
        ############
        ####...#####
        ####.#.#####
        ####...#####
        #####.######
        ............";
    let image = BinaryImage::from_art(art).unwrap();
    let options = TraceOptions::default().geometry(Geometry::Edges);
    let rings = Engine::cpu().trace(&image, &options).unwrap();
    for method in SimplifyMethod::ALL {
        for tolerance in [2.0, 3.0, 5.0, 100.0] {
            let options = SimplifyOptions::default()
                .tolerance(tolerance)
                .method(*method);
            let new = rings.simplify(&options).unwrap();
            check(&rings, &new, false, method.name());
            let [island, land] = [0, 1].map(|ring| new.get(ring).unwrap());
            let (island, land) = match island.points().len() < land.points().len() {
                true => (island, land),
                false => (land, island),
            };
            for &point in island.points() {
                assert_ne!(land.locate(point), Location::Inside, "{method} {tolerance}");
            }
        }
    }
}

#[test]
fn refuses_what_it_cannot_simplify() {
    let image = BinaryImage::from_art("##\n#.").unwrap();
    let contours = Engine::cpu()
        .trace(&image, &TraceOptions::default())
        .unwrap();
    let error = contours.simplify(&SimplifyOptions::default()).unwrap_err();
    assert!(error.to_string().contains("pixels' centers"), "{error}");
    let options = TraceOptions::default().geometry(Geometry::Edges);
    let rings = Engine::cpu().trace(&image, &options).unwrap();
    let once = rings.simplify(&SimplifyOptions::default()).unwrap();
    let error = once.simplify(&SimplifyOptions::default()).unwrap_err();
    assert!(error.to_string().contains("slanted"), "{error}");
    for tolerance in [-1.0, f64::NAN, f64::INFINITY] {
        let options = SimplifyOptions::default().tolerance(tolerance);
        let error = rings.simplify(&options).unwrap_err();
        assert!(error.to_string().contains("tolerance"), "{error}");
    }
}
