//! Polygons with holes, for formats whose polygons are one ring of limited length.
//!
//! A *region* is a set of rings along the pixels' edges: outer rings with the foreground inside,
//! hole rings with it outside, each counter-clockwise or clockwise on the screen in turn (so the
//! foreground is always on the same side), with horizontal and vertical edges only, no two rings
//! crossing.
//!
//! [`pieces`] turns a region into rings without holes and of at most a given number of vertices.
//! Each hole is joined to what lies left of it by a **cut**, a line that is walked there and
//! back (a *keyhole*), so that a component with holes stays one polygon. What is still too long
//! is divided along a line between pixels, as often as needed. All coordinates stay integers,
//! so the pieces cover exactly the region's pixels, each one once.

use std::collections::BTreeMap;

use glam::IVec2;

use crate::geometry::doubled_area;

/// A closed polygon; the first vertex is not repeated.
pub(super) type Ring = Vec<IVec2>;

/// Divides the region into rings without holes, of at most `limit` vertices (8 at least).
///
/// A component of the region that fits the limit makes one ring. `None` if the rings are no
/// region: holes outside every outer ring, or edges that are neither horizontal nor vertical.
pub(super) fn pieces(region: Vec<Ring>, limit: usize) -> Option<Vec<Ring>> {
    let limit = limit.max(8);
    let mut done = Vec::new();
    let mut regions = vec![region];
    while let Some(mut region) = regions.pop() {
        for Joined { ring, members } in join_holes(&region)? {
            if ring.len() <= limit {
                done.push(ring);
                continue;
            }
            let part: Vec<Ring> = members
                .into_iter()
                .map(|member| std::mem::take(&mut region[member]))
                .collect();
            let cut = Cut::through(&part)?;
            regions.extend(cut.sides(&part)?);
        }
    }
    Some(done)
}

/// An outer ring with its holes joined to it.
struct Joined {
    ring: Ring,
    /// Which of the region's rings it is made of, the outer one first.
    members: Vec<usize>,
}

/// Where a hole is joined to another ring.
#[derive(Clone, Copy)]
struct Joint {
    /// The edge of the other ring, counted from its start.
    edge: usize,
    /// The point on that edge.
    at: IVec2,
    hole: usize,
}

/// Joins each hole to the ring that bounds the foreground left of it.
///
/// Take a hole's topmost, then leftmost vertex. The pixel to the left, in the row below that
/// vertex, is foreground; the run of foreground pixels that it ends starts at a vertical edge,
/// of the outer ring or of another hole. That other hole starts higher, or in the same row and
/// further left, so following the joints from hole to hole always ends at an outer ring.
fn join_holes(region: &[Ring]) -> Option<Vec<Joined>> {
    let starts: Vec<usize> = region.iter().map(|ring| start_of(ring)).collect();
    let (holes, outers): (Vec<usize>, Vec<usize>) = (0..region.len())
        .filter(|&index| !region[index].is_empty())
        .partition(|&index| doubled_area(&region[index]) < 0);
    let joints = find_joints(region, &starts, holes)?;
    let joined = outers.into_iter().map(|outer| {
        let mut joined = Joined {
            ring: Vec::new(),
            members: Vec::new(),
        };
        walk(region, &starts, &joints, outer, &mut joined);
        joined
    });
    Some(joined.collect())
}

/// The ring's topmost, then leftmost vertex.
fn start_of(ring: &[IVec2]) -> usize {
    (0..ring.len())
        .min_by_key(|&i| (ring[i].y, ring[i].x))
        .unwrap_or(0)
}

/// For each ring, the holes to join to it in the order in which a walk from its start meets
/// them.
fn find_joints(
    region: &[Ring],
    starts: &[usize],
    mut holes: Vec<usize>,
) -> Option<Vec<Vec<Joint>>> {
    let mut joints: Vec<Vec<Joint>> = vec![Vec::new(); region.len()];
    if holes.is_empty() {
        return Some(joints);
    }
    // Sweep down the rows with the vertical edges of the row at hand, by their x. An edge
    // leaves before the one below it comes in.
    let mut events: Vec<(i32, bool, usize, usize)> = Vec::new();
    for (index, ring) in region.iter().enumerate() {
        for i in 0..ring.len() {
            let (a, b) = (ring[i], ring[(i + 1) % ring.len()]);
            if a.x == b.x {
                events.push((a.y.min(b.y), true, index, i));
                events.push((a.y.max(b.y), false, index, i));
            } else if a.y != b.y {
                return None;
            }
        }
    }
    events.sort_unstable();
    let mut events = events.into_iter().peekable();
    let mut row: BTreeMap<i32, (usize, usize)> = BTreeMap::new();

    let start = |index: usize| region[index][starts[index]];
    holes.sort_unstable_by_key(|&hole| (start(hole).y, start(hole).x));
    for hole in holes {
        let from = start(hole);
        while let Some((_, enters, index, i)) = events.next_if(|event| event.0 <= from.y) {
            let x = region[index][i].x;
            if enters {
                row.insert(x, (index, i));
            } else {
                row.remove(&x);
            }
        }
        let (&x, &(index, i)) = row.range(..from.x).next_back()?;
        let n = region[index].len();
        joints[index].push(Joint {
            edge: (i + n - starts[index]) % n,
            at: IVec2::new(x, from.y),
            hole,
        });
    }
    for (index, joints) in joints.iter_mut().enumerate() {
        let ring = &region[index];
        joints.sort_unstable_by_key(|joint| {
            let from = ring[(starts[index] + joint.edge) % ring.len()];
            (joint.edge, (joint.at.y - from.y).abs())
        });
    }
    Some(joints)
}

/// Walks around `outer` and, at each joint, to the hole, around it and back.
fn walk(
    region: &[Ring],
    starts: &[usize],
    joints: &[Vec<Joint>],
    outer: usize,
    joined: &mut Joined,
) {
    struct Walk {
        index: usize,
        /// Vertices passed, from the ring's start.
        passed: usize,
        /// Joints passed.
        joints: usize,
        /// Where to go back to afterwards.
        back: Option<IVec2>,
    }
    let ring = &mut joined.ring;
    let mut pass = |point: IVec2| {
        if ring.last() != Some(&point) {
            ring.push(point);
        }
    };
    let walk = |index, back| Walk {
        index,
        passed: 0,
        joints: 0,
        back,
    };
    // Holes can hang on holes in long chains, so no recursion.
    let mut stack = vec![walk(outer, None)];
    joined.members.push(outer);
    while let Some(top) = stack.last_mut() {
        let points = &region[top.index];
        let start = starts[top.index];
        let joint = joints[top.index].get(top.joints);
        if let Some(joint) = joint.filter(|joint| joint.edge + 1 == top.passed) {
            top.joints += 1;
            pass(joint.at);
            joined.members.push(joint.hole);
            stack.push(walk(joint.hole, Some(joint.at)));
        } else if top.passed < points.len() {
            pass(points[(start + top.passed) % points.len()]);
            top.passed += 1;
        } else {
            if let Some(back) = top.back {
                pass(points[start]);
                pass(back);
            }
            stack.pop();
        }
    }
    if ring.len() > 1 && ring.first() == ring.last() {
        ring.pop();
    }
}

/// A line between pixels that divides a region in two.
enum Cut {
    /// Between the rows `y - 1` and `y`.
    Rows(i32),
    /// Between the columns `x - 1` and `x`.
    Columns(i32),
}

impl Cut {
    /// Of the lines through the median vertex, the one that crosses fewer edges. `None` for a
    /// region without a vertex inside its bounding box in either direction: a rectangle.
    fn through(region: &[Ring]) -> Option<Self> {
        let rows = median_line(region);
        let columns = median_line(&transposed(region));
        match (rows, columns) {
            (Some((y, by_rows)), Some((x, by_columns))) => Some(if by_rows <= by_columns {
                Self::Rows(y)
            } else {
                Self::Columns(x)
            }),
            (Some((y, _)), None) => Some(Self::Rows(y)),
            (None, Some((x, _))) => Some(Self::Columns(x)),
            (None, None) => None,
        }
    }

    /// The region's parts on both sides of the line.
    fn sides(&self, region: &[Ring]) -> Option<[Vec<Ring>; 2]> {
        match *self {
            Self::Rows(y) => Some([
                part_above(region, y)?,
                flipped(&part_above(&flipped(region), -y)?),
            ]),
            Self::Columns(x) => {
                let [left, right] = Self::Rows(x).sides(&transposed(region))?;
                Some([transposed(&left), transposed(&right)])
            }
        }
    }
}

/// The median of the vertices' y, or the next one inside the bounding box, and how many edges
/// the horizontal line through it crosses.
fn median_line(region: &[Ring]) -> Option<(i32, usize)> {
    let mut ys: Vec<i32> = region.iter().flatten().map(|p| p.y).collect();
    ys.sort_unstable();
    let (&first, &last) = (ys.first()?, ys.last()?);
    let median = ys[ys.len() / 2];
    let y = if median > first && median < last {
        median
    } else {
        // Half of the vertices or more are on the first or the last row.
        *ys.iter().find(|&&y| y > first && y < last)?
    };
    let crossed = region
        .iter()
        .flat_map(|ring| ring.iter().zip(ring.iter().cycle().skip(1)))
        .filter(|(a, b)| a.y.min(b.y) < y && a.y.max(b.y) > y)
        .count();
    Some((y, crossed))
}

fn transposed(region: &[Ring]) -> Vec<Ring> {
    let swap = |ring: &Ring| ring.iter().map(|p| IVec2::new(p.y, p.x)).collect();
    region.iter().map(swap).collect()
}

fn flipped(region: &[Ring]) -> Vec<Ring> {
    let flip = |ring: &Ring| ring.iter().map(|p| IVec2::new(p.x, -p.y)).collect();
    region.iter().map(flip).collect()
}

/// The part of the region in the rows above `y`.
///
/// What is left of a ring are chains that start and end on the line. On the line, foreground
/// and background take turns where the chains end: sorted by x, each odd end is joined to the
/// even one after it.
fn part_above(region: &[Ring], y: i32) -> Option<Vec<Ring>> {
    let mut part: Vec<Ring> = Vec::new();
    let mut chains: Vec<Ring> = Vec::new();
    for ring in region {
        let Some(below) = ring.iter().position(|p| p.y >= y) else {
            part.push(ring.clone());
            continue;
        };
        let mut chain = Ring::new();
        for k in 0..ring.len() {
            let a = ring[(below + k) % ring.len()];
            let b = ring[(below + k + 1) % ring.len()];
            if a.y >= y && b.y < y {
                chain.push(IVec2::new(a.x, y));
            }
            if b.y < y {
                chain.push(b);
            }
            if a.y < y && b.y >= y {
                chain.push(IVec2::new(a.x, y));
                chains.push(std::mem::take(&mut chain));
            }
        }
    }

    let mut ends: Vec<(i32, usize, bool)> = Vec::with_capacity(2 * chains.len());
    for (index, chain) in chains.iter().enumerate() {
        ends.push((chain.first()?.x, index, true));
        ends.push((chain.last()?.x, index, false));
    }
    ends.sort_unstable();
    let mut next = vec![0; chains.len()];
    for pair in ends.as_chunks::<2>().0 {
        match *pair {
            [(_, to, true), (_, from, false)] | [(_, from, false), (_, to, true)] => {
                next[from] = to;
            }
            _ => return None,
        }
    }
    for first in 0..chains.len() {
        if chains[first].is_empty() {
            continue;
        }
        let mut ring = Ring::new();
        let mut chain = first;
        while !chains[chain].is_empty() {
            ring.append(&mut chains[chain]);
            chain = next[chain];
        }
        part.push(ring);
    }
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryImage, Engine, Geometry, Retrieval, TraceOptions};
    use proptest::prelude::*;

    fn region(image: &BinaryImage) -> Vec<Ring> {
        let options = TraceOptions {
            geometry: Geometry::Edges,
            retrieval: Retrieval::Tree,
            ..TraceOptions::default()
        };
        let contours = Engine::cpu().trace(image, &options).unwrap();
        contours.iter().map(|c| c.points().to_vec()).collect()
    }

    /// How many rings cover each pixel, by the even-odd rule.
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
        let rings = pieces(region(image), limit).unwrap();
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
        #[test]
        fn one_ring_for_each_outer_border(image in images()) {
            let region = region(&image);
            let outer = region.iter().filter(|ring| doubled_area(ring) > 0).count();
            prop_assert_eq!(pieces(region, usize::MAX).unwrap().len(), outer);
            check(&image, usize::MAX);
        }

        #[test]
        fn pieces_cover_every_pixel_once(image in images(), limit in 8usize..40) {
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
        check(&image, 8);
        check(&image, 20);
        check(&image, usize::MAX);
    }

    #[test]
    fn joins_a_long_chain_of_holes() {
        // Each hole hangs on the one left of it.
        let image = BinaryImage::from_fn(40_001, 3, |x, y| y != 1 || x % 2 == 0).unwrap();
        let rings = pieces(region(&image), usize::MAX).unwrap();
        assert_eq!(rings.len(), 1);
        let rings = pieces(region(&image), 8190).unwrap();
        assert!(rings.len() > 1);
        let area: i128 = rings.iter().map(|ring| doubled_area(ring)).sum();
        assert_eq!(area, 2 * i128::from(image.count_foreground()));
    }

    #[test]
    fn refuses_what_is_no_region() {
        let square: Ring = [(0, 0), (0, 2), (2, 2), (2, 0)].map(IVec2::from).to_vec();
        let hole: Ring = square.iter().rev().copied().collect();
        assert_eq!(pieces(vec![square.clone()], 8), Some(vec![square]));
        assert_eq!(pieces(vec![hole], 8), None);
    }
}
