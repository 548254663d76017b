//! A region sliced along lines between pixels.

use glam::IVec2;

use super::region::{Part, Region, Rings};
use super::{RINGS, no_region};
use crate::error::Result;
use crate::geometry::doubled_area;
use crate::memory::{collect, reserve, zeroed_vec};

/// The region's parts between the lines.
///
/// Between two lines, a ring that crosses them leaves chains that start and end on them. Along a
/// line, foreground and background alternate at the ends of chains, so after sorting, each odd end
/// is joined to the even end after it. Such a ring has the other side of the line outside, so it is
/// an outer ring.
pub(super) fn bands_of<const AXIS: usize>(region: &Region<'_>, lines: &[i32]) -> Result<Vec<Part>> {
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
            parts[band].outers.push(ring)?;
        } else {
            parts[band].holes.push(ring)?;
        }
    }
    for (part, chains) in parts.iter_mut().zip(chains) {
        link::<AXIS>(&chains, &mut part.outers)?;
    }
    Ok(parts)
}

/// Cuts a ring that meets a line into chains, and adds each to the chains of its band.
fn cut<const AXIS: usize>(ring: &[IVec2], lines: &[i32], chains: &mut [Rings]) -> Result<()> {
    let other = 1 - AXIS;
    let with = |point: IVec2, place: i32| {
        let mut point = point;
        point[AXIS] = place;
        point
    };
    // Start on a line: the first edge that meets one.
    let n = ring.len();
    let crossing = (0..n).find_map(|i| {
        let (a, b) = (ring[i][AXIS], ring[(i + 1) % n][AXIS]);
        let line = lines.partition_point(|&line| line < a.min(b));
        (a != b && *lines.get(line)? <= a.max(b)).then_some((i, line))
    });
    let (first, line) = crossing.ok_or_else(no_region)?;
    let start = with(ring[first], lines[line]);
    let mut line = Some(line);

    let (before, after) = ring.split_at(first + 1);
    let (mut at, mut band) = (start, 0);
    for &to in after.iter().chain(before).chain([&start]) {
        let (from, towards) = (at[AXIS], to[AXIS]);
        if from == towards {
            // Joining the chains adds the edges along lines.
            if line.is_none() && to != at {
                chains[band].add(to)?;
            }
            at = to;
            continue;
        }
        if at[other] != to[other] {
            return Err(no_region());
        }
        at = to;
        let down = towards > from;
        loop {
            if let Some(on) = line {
                band = if down { on + 1 } else { on };
                chains[band].add(with(to, lines[on]))?;
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
                chains[band].add(to)?;
                break;
            };
            chains[band].add(with(to, lines[next]))?;
            chains[band].close()?;
            if lines[next] == towards {
                break;
            }
        }
    }
    Ok(())
}

/// Joins the chains of a band to rings.
fn link<const AXIS: usize>(chains: &Rings, outers: &mut Rings) -> Result<()> {
    let mut ends: Vec<(i32, i32, usize, bool)> = Vec::new();
    reserve(&mut ends, 2 * chains.ends.len(), RINGS)?;
    for (index, chain) in chains.iter().enumerate() {
        let (first, last) = chain.first().zip(chain.last()).ok_or_else(no_region)?;
        ends.push((first[AXIS], first[1 - AXIS], index, true));
        ends.push((last[AXIS], last[1 - AXIS], index, false));
    }
    ends.sort_unstable();
    let mut next: Vec<usize> = zeroed_vec(chains.ends.len(), RINGS)?;
    for pair in ends.as_chunks::<2>().0 {
        match *pair {
            [(a, _, to, true), (b, _, from, false)] | [(a, _, from, false), (b, _, to, true)]
                if a == b =>
            {
                next[from] = to;
            }
            _ => return Err(no_region()),
        }
    }
    let chains: Vec<&[IVec2]> = collect(chains.iter(), RINGS)?;
    let mut linked: Vec<bool> = zeroed_vec(chains.len(), RINGS)?;
    for first in 0..chains.len() {
        if linked[first] {
            continue;
        }
        let start = outers.points.len();
        let mut chain = first;
        while !linked[chain] {
            linked[chain] = true;
            outers.extend(chains[chain])?;
            chain = next[chain];
        }
        outers.close()?;
        if doubled_area(&outers.points[start..]) <= 0 {
            return Err(no_region());
        }
    }
    Ok(())
}
