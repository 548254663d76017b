//! The order of borders of values: rings by region, contours by value.

use super::super::chains::{BorderId, Nesting};
use super::super::hierarchy::Arrangement;
use crate::error::Result;
use crate::image::PixelValue;
use crate::memory::{advise_large_pages, collect, filled_vec, push, zeroed_vec};
use crate::trace::contours::{BorderKind, HierarchyRow};

/// Name used in out-of-memory errors.
const ORDER: &str = "the order of borders";

/// The rings of an image, each outer ring with its holes after it.
pub(in crate::trace) struct RingOrder {
    /// Parents are the holes' outer rings.
    pub(in crate::trace) arrangement: Arrangement,
    /// Each ring's region, from 1.
    pub(in crate::trace) regions: Vec<u32>,
    /// The number of regions.
    pub(in crate::trace) count: u32,
}

/// Puts rings into the order of their regions, which is the raster order of the outer rings'
/// starts: an outer ring begins at its region's first pixel. `nesting` has the rings in raster
/// order, and each hole's parent is its region's outer ring.
pub(in crate::trace) fn by_region(nesting: &Nesting) -> Result<RingOrder> {
    let count = nesting.kinds.len();
    // The number of holes, by outer ring.
    let mut holes: Vec<u32> = zeroed_vec(count, ORDER)?;
    advise_large_pages(&mut holes);
    for (&kind, &parent) in nesting.kinds.iter().zip(&nesting.parents) {
        if kind == BorderKind::Hole {
            holes[parent as usize] += 1;
        }
    }
    // The place of each outer ring.
    let mut places: Vec<u32> = zeroed_vec(count, ORDER)?;
    advise_large_pages(&mut places);
    let mut arrangement = Arrangement {
        order: zeroed_vec(count, ORDER)?,
        kinds: filled_vec(BorderKind::Outer, count, ORDER)?,
        parents: zeroed_vec(count, ORDER)?,
    };
    let mut regions: Vec<u32> = zeroed_vec(count, ORDER)?;
    let mut region_count = 0;
    let mut next = 0;
    for id in 0..count {
        let at = match nesting.kinds[id] {
            BorderKind::Outer => {
                places[id] = next;
                let at = next as usize;
                next += 1 + holes[id];
                // From now on, the number of its holes that have their places.
                holes[id] = 0;
                region_count += 1;
                arrangement.parents[at] = -1;
                regions[at] = region_count;
                at
            }
            BorderKind::Hole => {
                // Its outer ring comes first in raster order.
                let outer = nesting.parents[id] as usize;
                holes[outer] += 1;
                let place = places[outer] as usize;
                let at = place + holes[outer] as usize;
                arrangement.kinds[at] = BorderKind::Hole;
                arrangement.parents[at] = place as i32;
                regions[at] = regions[place];
                at
            }
        };
        arrangement.order[at] = id as BorderId;
    }
    Ok(RingOrder {
        arrangement,
        regions,
        count: region_count,
    })
}

/// The contours of an image, grouped by value.
pub(super) struct ValueOrder<T> {
    pub(super) order: Vec<BorderId>,
    pub(super) kinds: Vec<BorderKind>,
    /// The place of each border's parent in the order, or -1.
    pub(super) parents: Vec<i32>,
    /// The values of the groups, ascending.
    pub(super) values: Vec<T>,
    /// Where each group begins in the order, then the order's length.
    pub(super) groups: Vec<usize>,
}

/// Groups borders by their `values`. Within a group they stay in their order. A border and its
/// parent have one value, so the borders inside a border still follow it.
pub(super) fn by_value<T: PixelValue>(
    arrangement: &Arrangement,
    values: &[T],
) -> Result<ValueOrder<T>> {
    let keys = values.iter().map(|value| value.key());
    let mut sorted: Vec<(u64, u32)> = collect(keys.zip(0..), ORDER)?;
    sorted.sort_unstable();
    let mut places: Vec<u32> = zeroed_vec(sorted.len(), ORDER)?;
    advise_large_pages(&mut places);
    for (place, &(_, before)) in sorted.iter().enumerate() {
        places[before as usize] = place as u32;
    }
    let place_of = |parent: i32| match usize::try_from(parent) {
        Ok(parent) => places[parent].cast_signed(),
        Err(_) => -1,
    };
    let before = || sorted.iter().map(|&(_, before)| before as usize);
    let mut result = ValueOrder {
        order: collect(before().map(|at| arrangement.order[at]), ORDER)?,
        kinds: collect(before().map(|at| arrangement.kinds[at]), ORDER)?,
        parents: collect(before().map(|at| place_of(arrangement.parents[at])), ORDER)?,
        values: Vec::new(),
        groups: collect([0], ORDER)?,
    };
    for group in sorted.chunk_by(|a, b| a.0 == b.0) {
        let first = result.groups[result.groups.len() - 1];
        push(&mut result.groups, first + group.len(), ORDER)?;
        push(&mut result.values, values[group[0].1 as usize], ORDER)?;
    }
    Ok(result)
}

/// Removes the links between the outermost borders of different groups.
pub(super) fn unlink_groups(hierarchy: &mut [HierarchyRow], groups: &[usize]) {
    let [next, previous] = [0, 1];
    // The first border of a group is an outermost one, and so is the one before it in their chain.
    let [_, inner @ .., _] = groups else {
        return;
    };
    for &first in inner {
        let before = hierarchy[first][previous];
        hierarchy[first][previous] = -1;
        hierarchy[before as usize][next] = -1;
    }
}
