//! Borders of components and holes, and rings along pixels' edges, by slow and plain algorithms.

use std::collections::{BTreeMap, VecDeque};

use glam::IVec2;
use trazar::trace::HierarchyRow;
use trazar::{BinaryImage, BorderKind, Retrieval};

/// One border as an oracle finds it.
#[derive(Clone, Debug)]
pub struct Border {
    /// Whether it is an outer border or a hole's.
    pub kind: BorderKind,
    /// Every pixel of the border, in the order in which it is followed.
    pub points: Vec<IVec2>,
    /// Index of the border around it.
    pub parent: Option<usize>,
}

/// Border following as in the appendix of S. Suzuki and K. Abe, *Topological structural analysis of
/// digitized binary images by border following*, 1985, with a label image and the table of parents;
/// borders in the order of discovery.
pub fn suzuki(image: &BinaryImage) -> Vec<Border> {
    // Around a pixel, counter-clockwise on the screen.
    const AROUND: [(i32, i32); 8] = [
        (1, 0),
        (1, -1),
        (0, -1),
        (-1, -1),
        (-1, 0),
        (-1, 1),
        (0, 1),
        (1, 1),
    ];
    let (width, height) = (image.width() as i32, image.height() as i32);
    let mut f: BTreeMap<(i32, i32), i64> = BTreeMap::new();
    for y in 0..height {
        for x in 0..width {
            if image.get(x as u32, y as u32) {
                f.insert((x, y), 1);
            }
        }
    }
    let at = |f: &BTreeMap<_, i64>, p: (i32, i32)| f.get(&p).copied().unwrap_or(0);
    let step = |p: (i32, i32), d: usize| (p.0 + AROUND[d % 8].0, p.1 + AROUND[d % 8].1);

    // Border number n is at n - 2; number 1 is the frame, a hole border.
    let mut borders: Vec<Border> = Vec::new();
    for y in 0..height {
        let mut last = 1i64;
        for x in 0..width {
            let p = (x, y);
            let value = at(&f, p);
            if value == 0 {
                continue;
            }
            let begun = if value == 1 && at(&f, (x - 1, y)) == 0 {
                Some((BorderKind::Outer, 4))
            } else if value >= 1 && at(&f, (x + 1, y)) == 0 {
                if value > 1 {
                    last = value;
                }
                Some((BorderKind::Hole, 0))
            } else {
                None
            };
            if let Some((kind, aside)) = begun {
                let around = usize::try_from(last - 2).ok();
                let around_kind = around.map_or(BorderKind::Hole, |i| borders[i].kind);
                let parent = if around_kind == kind {
                    around.and_then(|i| borders[i].parent)
                } else {
                    around
                };
                let number = borders.len() as i64 + 2;
                let first = (1..8)
                    .map(|i| aside + 8 - i)
                    .find(|&d| at(&f, step(p, d)) != 0);
                let mut points = vec![IVec2::new(x, y)];
                match first {
                    None => {
                        f.insert(p, -number);
                    }
                    Some(first) => {
                        points.clear();
                        let (mut here, mut back) = (p, first % 8);
                        loop {
                            points.push(here.into());
                            let mut d = back + 1;
                            let mut east_is_background = false;
                            while at(&f, step(here, d)) == 0 {
                                east_is_background |= d % 8 == 0;
                                d += 1;
                            }
                            if east_is_background {
                                f.insert(here, -number);
                            } else if at(&f, here) == 1 {
                                f.insert(here, number);
                            }
                            let next = step(here, d);
                            if next == p && here == step(p, first) {
                                break;
                            }
                            (here, back) = (next, (d + 4) % 8);
                        }
                    }
                }
                borders.push(Border {
                    kind,
                    points,
                    parent,
                });
            }
            let value = at(&f, p);
            if value != 1 {
                last = value.abs();
            }
        }
    }
    borders
}

/// The points at which a closed chain of points turns.
pub fn turns(points: &[IVec2]) -> Vec<IVec2> {
    let n = points.len();
    (0..n)
        .filter(|&i| {
            let (before, after) = (points[(i + n - 1) % n], points[(i + 1) % n]);
            n == 1 || points[i] - before != after - points[i]
        })
        .map(|i| points[i])
        .collect()
}

/// The borders that a retrieval gives, in its order, with their hierarchy rows.
pub fn arrange(borders: &[Border], retrieval: Retrieval) -> (Vec<usize>, Vec<HierarchyRow>) {
    let parent = |i: usize| match (retrieval, borders[i].kind) {
        (Retrieval::Tree, _) | (Retrieval::Ccomp, BorderKind::Hole) => borders[i].parent,
        _ => None,
    };
    let kept = |i: &usize| retrieval != Retrieval::External || borders[*i].parent.is_none();
    let children = |of: Option<usize>| -> Vec<usize> {
        (0..borders.len())
            .rev()
            .filter(kept)
            .filter(|&i| parent(i) == of)
            .collect()
    };
    let mut order = Vec::new();
    let mut waiting: Vec<usize> = children(None).into_iter().rev().collect();
    while let Some(i) = waiting.pop() {
        order.push(i);
        waiting.extend(children(Some(i)).into_iter().rev());
    }
    let place = |i: Option<&usize>| {
        i.and_then(|i| order.iter().position(|j| j == i))
            .map_or(-1, |place| place as i32)
    };
    let rows = order
        .iter()
        .map(|&i| {
            let siblings = children(parent(i));
            let at = siblings.iter().position(|&j| j == i).unwrap();
            [
                place(siblings.get(at + 1)),
                place(at.checked_sub(1).map(|before| &siblings[before])),
                place(children(Some(i)).first()),
                place(parent(i).as_ref()),
            ]
        })
        .collect();
    (order, rows)
}

/// The 4-connected components of a set of cells, each sorted in raster order (y, x).
fn parts(width: i32, height: i32, belongs: impl Fn(i32, i32) -> bool) -> Vec<Vec<(i32, i32)>> {
    let mut seen = vec![false; (width * height) as usize];
    let mut parts = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let mut part = Vec::new();
            let mut queue = VecDeque::from([(x, y)]);
            while let Some((x, y)) = queue.pop_front() {
                let inside = (0..width).contains(&x) && (0..height).contains(&y);
                if !inside || seen[(y * width + x) as usize] || !belongs(x, y) {
                    continue;
                }
                seen[(y * width + x) as usize] = true;
                part.push((y, x));
                queue.extend([(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]);
            }
            if !part.is_empty() {
                part.sort_unstable();
                parts.push(part);
            }
        }
    }
    parts
}

/// A ring of [`trazar::Geometry::Edges`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Whether it is an outer border or a hole's.
    pub kind: BorderKind,
    /// The number of pixels that it encloses.
    pub area: u64,
    /// The first pixel, in raster order, that the ring around it encloses.
    pub parent: Option<IVec2>,
}

/// The rings of an image, by the first pixel (y, x) in raster order that each encloses.
pub fn rings(image: &BinaryImage) -> BTreeMap<(i32, i32), Ring> {
    let (width, height) = (image.width() as i32, image.height() as i32);
    let mut rings = BTreeMap::new();
    // Every hole with its cells, to find what lies in it.
    let mut holes: Vec<Vec<(i32, i32)>> = Vec::new();
    let mut outers = Vec::new();
    for region in parts(width, height, |x, y| image.get(x as u32, y as u32)) {
        // The complement, with a frame of one pixel.
        let complement = parts(width + 2, height + 2, |x, y| {
            region.binary_search(&(y - 1, x - 1)).is_err()
        });
        let mut area = region.len();
        for part in &complement[1..] {
            let cells: Vec<_> = part.iter().map(|&(y, x)| (y - 1, x - 1)).collect();
            area += cells.len();
            rings.insert(
                cells[0],
                Ring {
                    kind: BorderKind::Hole,
                    area: cells.len() as u64,
                    parent: Some(IVec2::new(region[0].1, region[0].0)),
                },
            );
            holes.push(cells);
        }
        outers.push((region[0], area as u64));
    }
    for (first, area) in outers {
        let around = holes
            .iter()
            .filter(|cells| cells.binary_search(&first).is_ok())
            .min_by_key(|cells| cells.len());
        rings.insert(
            first,
            Ring {
                kind: BorderKind::Outer,
                area,
                parent: around.map(|cells| IVec2::new(cells[0].1, cells[0].0)),
            },
        );
    }
    rings
}
