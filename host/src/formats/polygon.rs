//! Polygons with holes, for formats whose polygons are one ring of limited length.
//!
//! A *region* is a set of rings along the pixels' edges: outer rings with the foreground inside,
//! hole rings with it outside, each counter-clockwise or clockwise on the screen in turn (so the
//! foreground is always on the same side), with horizontal and vertical edges only, no two rings
//! crossing.
//!
//! [`Pieces`] turns a region into rings without holes and of at most a given number of vertices.
//! Each hole is joined to what lies left of it by a **cut**, a line that is walked there and
//! back (a *keyhole*), so that a component with holes stays one polygon. What would be too long
//! is sliced first, along lines between pixels, into many bands at once; a band that is still
//! too long is sliced again, the other way if that is shorter. All coordinates stay integers, so
//! the pieces cover exactly the region's pixels, each one once.
//!
//! A region of n vertices that makes p pieces is sliced about log log p times over, each time in
//! one pass; only what fits is joined. Slicing it copies its points; the pieces themselves are
//! made as they are asked for.

use std::collections::BTreeMap;

use glam::IVec2;

use crate::geometry::doubled_area;

/// A closed polygon; the first vertex is not repeated.
pub(super) type Ring = Vec<IVec2>;

/// The vertices that joining a hole adds to its own: where the cut starts, the hole's start
/// again, and where the cut ends; one less where the cut starts at a vertex.
const CUT: usize = 3;

/// The most bands of one slicing: each holds memory of its own while it is filled.
const MAX_BANDS: usize = 64;

/// About how many of a region's edges are looked at to choose where to slice it.
const SAMPLES: usize = 1 << 14;

/// The region, divided into rings without holes, of at most `limit` vertices.
///
/// A component of the region that fits the limit makes one ring. `None` for an item, which is
/// then the last, if the rings are no region: holes outside every outer ring, or edges that are
/// neither horizontal nor vertical.
pub(super) struct Pieces<'a> {
    limit: usize,
    whole: Option<Region<'a>>,
    /// What is still to be looked at, the last first.
    parts: Vec<Part>,
    /// What is done, the last first.
    ready: Vec<Ring>,
}

impl<'a> Pieces<'a> {
    /// `limit`: 4 at least.
    pub(super) fn new(rings: impl IntoIterator<Item = &'a [IVec2]>, limit: usize) -> Self {
        let (mut outers, holes): (Vec<_>, Vec<_>) = rings
            .into_iter()
            .filter(|ring| !ring.is_empty())
            .partition(|ring| doubled_area(ring) >= 0);
        let count = outers.len();
        outers.extend(holes);
        Self {
            limit: limit.max(4),
            whole: Some(Region {
                rings: outers,
                outers: count,
            }),
            parts: Vec::new(),
            ready: Vec::new(),
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Option<Ring>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ring) = self.ready.pop() {
                return Some(Some(ring));
            }
            let done = if let Some(whole) = self.whole.take() {
                divide(&whole, self.limit, &mut self.ready, &mut self.parts)
            } else {
                let part = self.parts.pop()?;
                divide(&part.region(), self.limit, &mut self.ready, &mut self.parts)
            };
            if done.is_none() {
                self.ready.clear();
                self.parts.clear();
                return Some(None);
            }
            self.ready.reverse();
        }
    }
}

/// Rings that are somewhere else.
struct Region<'a> {
    /// The outer ones first.
    rings: Vec<&'a [IVec2]>,
    /// How many of them are outer.
    outers: usize,
}

/// Rings, one after the other.
#[derive(Default)]
struct Rings {
    points: Vec<IVec2>,
    ends: Vec<usize>,
}

impl Rings {
    fn push(&mut self, ring: &[IVec2]) {
        self.points.extend_from_slice(ring);
        self.close();
    }

    /// Ends the ring whose points were added last.
    fn close(&mut self) {
        self.ends.push(self.points.len());
    }

    fn iter(&self) -> impl Iterator<Item = &[IVec2]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        self.ends
            .iter()
            .zip(starts)
            .map(|(&end, &start)| &self.points[start..end])
    }
}

/// A region with rings of its own.
#[derive(Default)]
struct Part {
    outers: Rings,
    holes: Rings,
}

impl Part {
    fn region(&self) -> Region<'_> {
        Region {
            rings: self.outers.iter().chain(self.holes.iter()).collect(),
            outers: self.outers.ends.len(),
        }
    }
}

/// Joins what fits, and slices what does not.
fn divide(
    region: &Region<'_>,
    limit: usize,
    ready: &mut Vec<Ring>,
    parts: &mut Vec<Part>,
) -> Option<()> {
    let holes = &region.rings[region.outers..];
    let all: usize = region.rings.iter().map(|ring| ring.len()).sum();
    if region.outers == 1 && all + holes.len() * (CUT - 1) > limit {
        return slice(region, limit, parts);
    }
    let joints = Joints::find(region)?;

    // What the outer rings are when they are joined with their holes, at least.
    let mut least: Vec<usize> = (0..region.outers).map(|i| region.rings[i].len()).collect();
    for (hole, &outer) in holes.iter().zip(&joints.outers) {
        least[outer] += hole.len() + CUT - 1;
    }
    let mut too_long: BTreeMap<usize, Region<'_>> = BTreeMap::new();
    for (outer, &least) in least.iter().enumerate() {
        if least <= limit {
            let ring = joints.walk(region, outer);
            if ring.len() <= limit {
                ready.push(ring);
                continue;
            }
        }
        let component = Region {
            rings: vec![region.rings[outer]],
            outers: 1,
        };
        too_long.insert(outer, component);
    }
    if !too_long.is_empty() {
        for (hole, outer) in holes.iter().zip(&joints.outers) {
            if let Some(component) = too_long.get_mut(outer) {
                component.rings.push(hole);
            }
        }
    }
    for component in too_long.values() {
        slice(component, limit, parts)?;
    }
    Some(())
}

/// Where a hole is joined to another ring.
#[derive(Clone, Copy)]
struct Joint {
    /// The other ring.
    ring: usize,
    /// The edge of the other ring, counted from its start.
    edge: usize,
    /// The point on that edge.
    at: IVec2,
    hole: usize,
}

/// How the holes of a region are joined to its outer rings.
///
/// Take a hole's topmost, then leftmost vertex. The pixel to the left, in the row below that
/// vertex, is foreground; the run of foreground pixels that it ends starts at a vertical edge,
/// of the outer ring or of another hole. That other hole starts higher, or in the same row and
/// further left, so following the joints from hole to hole always ends at an outer ring.
struct Joints {
    /// The rings' topmost, then leftmost vertices.
    starts: Vec<usize>,
    /// By ring, in the order in which a walk from its start meets them.
    joints: Vec<Joint>,
    /// Where the joints of each ring start, and the last one's end.
    first: Vec<usize>,
    /// For each hole the outer ring that it hangs on in the end.
    outers: Vec<usize>,
}

impl Joints {
    fn find(region: &Region<'_>) -> Option<Self> {
        struct Edge {
            top: i32,
            bottom: i32,
            x: i32,
            ring: usize,
            index: usize,
        }
        let rings = &region.rings;
        let mut found = Self {
            starts: Vec::new(),
            joints: Vec::new(),
            first: Vec::new(),
            outers: vec![0; rings.len() - region.outers],
        };
        if found.outers.is_empty() {
            return Some(found);
        }
        found.starts = rings.iter().map(|ring| start_of(ring)).collect();

        // Sweep down the rows with the vertical edges by their x; those that ended above the
        // row at hand leave when they are met.
        let mut edges: Vec<Edge> = Vec::new();
        for (ring, points) in rings.iter().enumerate() {
            let next = points.iter().skip(1).chain(points.first());
            for (index, (&a, &b)) in points.iter().zip(next).enumerate() {
                if a.x == b.x {
                    let (top, bottom) = (a.y.min(b.y), a.y.max(b.y));
                    edges.push(Edge {
                        top,
                        bottom,
                        x: a.x,
                        ring,
                        index,
                    });
                } else if a.y != b.y {
                    return None;
                }
            }
        }
        edges.sort_unstable_by_key(|edge| edge.top);
        let mut edges = edges.iter().peekable();
        let mut row: BTreeMap<i32, &Edge> = BTreeMap::new();

        let start = |ring: usize| rings[ring][found.starts[ring]];
        let mut holes: Vec<usize> = (region.outers..rings.len()).collect();
        holes.sort_unstable_by_key(|&hole| (start(hole).y, start(hole).x));
        for hole in holes {
            let from = start(hole);
            while let Some(edge) = edges.next_if(|edge| edge.top <= from.y) {
                row.insert(edge.x, edge);
            }
            let edge = loop {
                let (&x, &edge) = row.range(..from.x).next_back()?;
                if edge.bottom > from.y {
                    break edge;
                }
                row.remove(&x);
            };
            found.outers[hole - region.outers] = match edge.ring.checked_sub(region.outers) {
                None => edge.ring,
                Some(other) => found.outers[other],
            };
            let n = rings[edge.ring].len();
            found.joints.push(Joint {
                ring: edge.ring,
                edge: (edge.index + n - found.starts[edge.ring]) % n,
                at: IVec2::new(edge.x, from.y),
                hole,
            });
        }
        let starts = &found.starts;
        found.joints.sort_unstable_by_key(|joint| {
            let points = rings[joint.ring];
            let from = points[(starts[joint.ring] + joint.edge) % points.len()];
            (joint.ring, joint.edge, (joint.at.y - from.y).abs())
        });
        found.first = vec![0; rings.len() + 1];
        for joint in &found.joints {
            found.first[joint.ring + 1] += 1;
        }
        for ring in 0..rings.len() {
            found.first[ring + 1] += found.first[ring];
        }
        Some(found)
    }

    /// Walks around an outer ring and, at each joint, to the hole, around it and back.
    fn walk(&self, region: &Region<'_>, outer: usize) -> Ring {
        struct Walk<'a> {
            ring: usize,
            /// Vertices passed, from the ring's start.
            passed: usize,
            /// Joints still to come.
            joints: &'a [Joint],
            /// Where to go back to afterwards.
            back: Option<IVec2>,
        }
        if self.joints.is_empty() {
            return region.rings[outer].to_vec();
        }
        let mut ring = Ring::new();
        let mut pass = |point: IVec2| {
            if ring.last() != Some(&point) {
                ring.push(point);
            }
        };
        let walk = |ring, back| Walk {
            ring,
            passed: 0,
            joints: &self.joints[self.first[ring]..self.first[ring + 1]],
            back,
        };
        // Holes can hang on holes in long chains, so no recursion.
        let mut stack = vec![walk(outer, None)];
        while let Some(top) = stack.last_mut() {
            let points = region.rings[top.ring];
            let start = self.starts[top.ring];
            match top.joints.split_first() {
                Some((joint, rest)) if joint.edge + 1 == top.passed => {
                    top.joints = rest;
                    pass(joint.at);
                    stack.push(walk(joint.hole, Some(joint.at)));
                }
                _ if top.passed < points.len() => {
                    pass(points[(start + top.passed) % points.len()]);
                    top.passed += 1;
                }
                _ => {
                    if let Some(back) = top.back {
                        pass(points[start]);
                        pass(back);
                    }
                    stack.pop();
                }
            }
        }
        if ring.len() > 1 && ring.first() == ring.last() {
            ring.pop();
        }
        ring
    }
}

/// The ring's topmost, then leftmost vertex.
fn start_of(ring: &[IVec2]) -> usize {
    (0..ring.len())
        .min_by_key(|&i| (ring[i].y, ring[i].x))
        .unwrap_or(0)
}

const COLUMNS: usize = 0;
const ROWS: usize = 1;

/// Slices a region of one component that is too long, and adds its parts so that the first is
/// the last.
fn slice(region: &Region<'_>, limit: usize, parts: &mut Vec<Part>) -> Option<()> {
    let holes = region.rings.len() - region.outers;
    let length = region.rings.iter().map(|ring| ring.len()).sum::<usize>() + holes * CUT;
    // As many bands as each of them is sliced into later.
    let bands = length.div_ceil(limit).isqrt() + 1;
    let survey = Survey::of(region);
    let lines = |bands| {
        let rows = survey.lines::<ROWS>(region, bands);
        let columns = survey.lines::<COLUMNS>(region, bands);
        match (rows, columns) {
            (Some(rows), Some(columns)) if columns.cost() < rows.cost() => Some((COLUMNS, columns)),
            (Some(rows), _) => Some((ROWS, rows)),
            (None, Some(columns)) => Some((COLUMNS, columns)),
            (None, None) => None,
        }
    };
    let mut best = lines(bands.clamp(2, MAX_BANDS))?;
    // Where every line cuts much, as through a spiral, what lies between two of them falls into
    // many components: few lines do.
    if best.1.ends > survey.edges.len() / 2 {
        best = lines(2)?;
    }
    let sliced = match best.0 {
        ROWS => bands_of::<ROWS>(region, &best.1.at)?,
        _ => bands_of::<COLUMNS>(region, &best.1.at)?,
    };
    parts.extend(sliced.into_iter().rev());
    Some(())
}

/// What is known of a region to choose where to slice it.
struct Survey {
    min: IVec2,
    max: IVec2,
    /// Some of its edges.
    edges: Vec<(IVec2, IVec2)>,
}

/// Lines between pixels to slice a region along.
struct Lines {
    /// Ascending.
    at: Vec<i32>,
    /// How many vertical edges, of those surveyed, end at the lines once it is sliced.
    ends: usize,
}

impl Lines {
    fn cost(&self) -> f64 {
        self.ends as f64 / self.at.len() as f64
    }
}

impl Survey {
    fn of(region: &Region<'_>) -> Self {
        let (mut min, mut max) = (IVec2::MAX, IVec2::MIN);
        let all: usize = region.rings.iter().map(|ring| ring.len()).sum();
        let step = all.div_ceil(SAMPLES);
        let mut edges = Vec::with_capacity(all.div_ceil(step.max(1)) + 1);
        let (mut passed, mut next) = (0, 0);
        // Irregular, as the rings are often regular.
        let mut random = 1u64;
        for &ring in &region.rings {
            for &point in ring {
                min = min.min(point);
                max = max.max(point);
            }
            while next < passed + ring.len() {
                let i = next - passed;
                edges.push((ring[i], ring[(i + 1) % ring.len()]));
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                next += if step > 1 {
                    1 + (random >> 33) as usize % (2 * step - 1)
                } else {
                    1
                };
            }
            passed += ring.len();
        }
        Self { min, max, edges }
    }

    /// At most `bands - 1` lines with about as many vertices between each two, strictly inside
    /// the bounding box; `None` if no vertex is.
    fn lines<const AXIS: usize>(&self, region: &Region<'_>, bands: usize) -> Option<Lines> {
        let inside = |p: &IVec2| p[AXIS] > self.min[AXIS] && p[AXIS] < self.max[AXIS];
        let of_edges = self.edges.iter().map(|edge| &edge.0);
        let mut places: Vec<i32> = of_edges.filter(|p| inside(p)).map(|p| p[AXIS]).collect();
        places.sort_unstable();
        if places.is_empty() {
            let mut points = region.rings.iter().copied().flatten();
            places.push(points.find(|p| inside(p))?[AXIS]);
        }
        let mut at: Vec<i32> = (1..bands)
            .map(|band| places[band * places.len() / bands])
            .collect();
        at.dedup();
        let ends = |&(a, b): &(IVec2, IVec2)| {
            let (low, high) = (a[AXIS].min(b[AXIS]), a[AXIS].max(b[AXIS]));
            let up_to = |end: i32| at.partition_point(|&line| line <= end);
            let below = |end: i32| at.partition_point(|&line| line < end);
            (up_to(high) - up_to(low)) + (below(high) - below(low))
        };
        let ends = self.edges.iter().map(ends).sum();
        Some(Lines { at, ends })
    }
}

/// The region's parts between the lines.
///
/// What is left of a ring between two lines are chains that start and end on them. On a line,
/// foreground and background take turns where the chains end: sorted, each odd end is joined to
/// the even one after it. The ring that this makes has all of the other side of a line outside:
/// it is an outer one.
fn bands_of<const AXIS: usize>(region: &Region<'_>, lines: &[i32]) -> Option<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    let mut chains: Vec<Rings> = Vec::new();
    parts.resize_with(lines.len() + 1, Part::default);
    chains.resize_with(lines.len() + 1, Rings::default);
    for (index, &ring) in region.rings.iter().enumerate() {
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        for point in ring {
            low = low.min(point[AXIS]);
            high = high.max(point[AXIS]);
        }
        let band = lines.partition_point(|&line| line < low);
        if lines.get(band).is_some_and(|&line| line <= high) {
            cut::<AXIS>(ring, lines, &mut chains)?;
        } else if index < region.outers {
            parts[band].outers.push(ring);
        } else {
            parts[band].holes.push(ring);
        }
    }
    for (part, chains) in parts.iter_mut().zip(chains) {
        link::<AXIS>(&chains, &mut part.outers)?;
    }
    Some(parts)
}

/// Cuts a ring that meets a line into chains, each added to its band's.
fn cut<const AXIS: usize>(ring: &[IVec2], lines: &[i32], chains: &mut [Rings]) -> Option<()> {
    let other = 1 - AXIS;
    let with = |point: IVec2, place: i32| {
        let mut point = point;
        point[AXIS] = place;
        point
    };
    // Start on a line: the first edge that meets one.
    let n = ring.len();
    let (first, mut line) = (0..n).find_map(|i| {
        let (a, b) = (ring[i][AXIS], ring[(i + 1) % n][AXIS]);
        let line = lines.partition_point(|&line| line < a.min(b));
        (a != b && *lines.get(line)? <= a.max(b)).then_some((i, Some(line)))
    })?;
    let start = with(ring[first], lines[line?]);

    let (before, after) = ring.split_at(first + 1);
    let (mut at, mut band) = (start, 0);
    for &to in after.iter().chain(before).chain([&start]) {
        let (from, towards) = (at[AXIS], to[AXIS]);
        if from == towards {
            // Along a line it is what joining the chains puts there.
            if line.is_none() && to != at {
                chains[band].points.push(to);
            }
            at = to;
            continue;
        }
        if at[other] != to[other] {
            return None;
        }
        at = to;
        let down = towards > from;
        loop {
            if let Some(on) = line {
                band = if down { on + 1 } else { on };
                chains[band].points.push(with(to, lines[on]));
            }
            let next = if down {
                Some(band)
            } else {
                band.checked_sub(1)
            };
            let next = next.filter(|&next| match lines.get(next) {
                None => false,
                Some(&place) if down => place <= towards,
                Some(&place) => place >= towards,
            });
            line = next;
            let Some(next) = next else {
                chains[band].points.push(to);
                break;
            };
            chains[band].points.push(with(to, lines[next]));
            chains[band].close();
            if lines[next] == towards {
                break;
            }
        }
    }
    Some(())
}

/// Joins a band's chains to rings.
fn link<const AXIS: usize>(chains: &Rings, outers: &mut Rings) -> Option<()> {
    let mut ends: Vec<(i32, i32, usize, bool)> = Vec::with_capacity(2 * chains.ends.len());
    for (index, chain) in chains.iter().enumerate() {
        let (first, last) = (chain.first()?, chain.last()?);
        ends.push((first[AXIS], first[1 - AXIS], index, true));
        ends.push((last[AXIS], last[1 - AXIS], index, false));
    }
    ends.sort_unstable();
    let mut next = vec![0; chains.ends.len()];
    for pair in ends.as_chunks::<2>().0 {
        match *pair {
            [(a, _, to, true), (b, _, from, false)] | [(a, _, from, false), (b, _, to, true)]
                if a == b =>
            {
                next[from] = to;
            }
            _ => return None,
        }
    }
    let chains: Vec<&[IVec2]> = chains.iter().collect();
    let mut linked = vec![false; chains.len()];
    for first in 0..chains.len() {
        if linked[first] {
            continue;
        }
        let start = outers.points.len();
        let mut chain = first;
        while !linked[chain] {
            linked[chain] = true;
            outers.points.extend_from_slice(chains[chain]);
            chain = next[chain];
        }
        outers.close();
        if doubled_area(&outers.points[start..]) <= 0 {
            return None;
        }
    }
    Some(())
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

    fn pieces(region: &[Ring], limit: usize) -> Option<Vec<Ring>> {
        Pieces::new(region.iter().map(Vec::as_slice), limit).collect()
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
        // Each hole hangs on the one left of it.
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
        assert_eq!(pieces(std::slice::from_ref(&square), 8), Some(vec![square]));
        assert_eq!(pieces(&[hole], 8), None);
    }
}
