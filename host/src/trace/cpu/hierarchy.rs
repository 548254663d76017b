//! From each border's parent to the result's order and hierarchy rows.
//!
//! The result is the pre-order walk of a forest whose siblings are in reverse order of discovery.
//! The retrieval decides which borders are in it and which of their parents count. Time: linear in
//! the number of borders; only accesses to parents are scattered in memory.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::chains::{BorderId, NO_BORDER, Nesting};
use crate::error::Result;
use crate::memory::{advise_large_pages, reserve, zeroed_vec};
use crate::trace::Retrieval;
use crate::trace::contours::{BorderKind, HierarchyRow};

/// The borders of the result, in its order.
pub(in crate::trace) struct Arrangement {
    pub(in crate::trace) order: Vec<BorderId>,
    pub(in crate::trace) kinds: Vec<BorderKind>,
    /// The place of each border's parent in the order, or [`NONE`].
    pub(in crate::trace) parents: Vec<i32>,
}

/// Sentinel: no such link.
const NONE: i32 = -1;

/// The fewest borders that are worth a task.
const LEAST_SHARE: usize = 1 << 14;

/// Columns of a [`HierarchyRow`].
const NEXT: usize = 0;
const PREVIOUS: usize = 1;
const FIRST_CHILD: usize = 2;
const PARENT: usize = 3;

/// Orders the borders that `retrieval` keeps.
pub(in crate::trace) fn arrange(nesting: &Nesting, retrieval: Retrieval) -> Result<Arrangement> {
    let top = Some(NO_BORDER);
    match retrieval {
        Retrieval::External => walk(nesting, |_, parent| top.filter(|&none| parent == none)),
        Retrieval::List => walk(nesting, |_, _| top),
        Retrieval::Ccomp => walk(nesting, |kind, parent| match kind {
            BorderKind::Outer => top,
            BorderKind::Hole => Some(parent),
        }),
        Retrieval::Tree => walk(nesting, |_, parent| Some(parent)),
    }
}

/// Walks the forest in which a border's parent is `parent(kind, its parent)`; `None` leaves the
/// border out.
///
/// A border's place follows from its parent's and from the sizes of subtrees: the sibling that was
/// discovered first ends where its parent's subtree ends, and each later one ends where the sibling
/// before begins. Parents are discovered before their children, so two passes over the borders are
/// enough. Unlike in a walk, no memory access in them waits for the one before.
fn walk(
    nesting: &Nesting,
    parent: impl Fn(BorderKind, BorderId) -> Option<BorderId> + Sync,
) -> Result<Arrangement> {
    let Nesting { kinds, parents } = nesting;
    let count = kinds.len();
    let place_of = |id: usize| match parent(kinds[id], parents[id]) {
        None => Nested::LeftOut,
        Some(parent) if (parent as usize) < id => Nested::Below(parent as usize),
        Some(_) => Nested::Top,
    };
    // The size of the subtree of each kept border, itself included.
    let mut sizes: Vec<u32> = zeroed_vec(count, "the hierarchy")?;
    advise_large_pages(&mut sizes);
    let mut kept = 0;
    for id in (0..count).rev() {
        sizes[id] += 1;
        match place_of(id) {
            Nested::LeftOut => sizes[id] = 0,
            Nested::Top => kept += sizes[id],
            Nested::Below(parent) => sizes[parent] += sizes[id],
        }
    }
    // The end of each border's subtree without its children already placed; finally one more than
    // its own place.
    let mut ends: Vec<u32> = zeroed_vec(count, "the hierarchy")?;
    advise_large_pages(&mut ends);
    let mut end = kept;
    for id in 0..count {
        let end = match place_of(id) {
            Nested::LeftOut => continue,
            Nested::Top => &mut end,
            Nested::Below(parent) => &mut ends[parent],
        };
        let own = *end;
        *end -= sizes[id];
        ends[id] = own;
    }
    drop(sizes);

    let order: Vec<AtomicU32> = zeroed_vec(kept as usize, "the hierarchy")?;
    let each = ends.par_iter().with_min_len(LEAST_SHARE).enumerate();
    each.for_each(|(id, &end)| {
        if end > 0 {
            order[end as usize - 1].store(id as u32, Relaxed);
        }
    });
    let order: Vec<BorderId> = order.into_iter().map(AtomicU32::into_inner).collect();
    let mut result = Arrangement {
        order: Vec::new(),
        kinds: Vec::new(),
        parents: Vec::new(),
    };
    reserve(&mut result.kinds, order.len(), "the hierarchy")?;
    reserve(&mut result.parents, order.len(), "the hierarchy")?;
    let each = order.par_iter().with_min_len(LEAST_SHARE);
    each.clone()
        .map(|&id| kinds[id as usize])
        .collect_into_vec(&mut result.kinds);
    each.map(|&id| match place_of(id as usize) {
        Nested::Below(parent) => ends[parent].cast_signed() - 1,
        _ => NONE,
    })
    .collect_into_vec(&mut result.parents);
    result.order = order;
    Ok(result)
}

/// Where a border is in the forest.
enum Nested {
    /// The result leaves it out.
    LeftOut,
    /// It has no parent.
    Top,
    /// Its parent.
    Below(usize),
}

/// The hierarchy rows of a pre-order walk, from the places of the parents.
pub(crate) fn link(parents: &[i32]) -> Result<Vec<HierarchyRow>> {
    let count = parents.len();
    let mut sizes: Vec<i32> = zeroed_vec(count, "the hierarchy")?;
    advise_large_pages(&mut sizes);
    for (place, &parent) in parents.iter().enumerate().rev() {
        sizes[place] += 1;
        if let Ok(parent) = usize::try_from(parent) {
            sizes[parent] += sizes[place];
        }
    }
    // Where the subtree of the border at a place ends.
    let end = |place: i32| match usize::try_from(place) {
        Ok(at) => place + sizes[at],
        Err(_) => count as i32,
    };
    let mut rows: Vec<HierarchyRow> = zeroed_vec(count, "the hierarchy")?;
    advise_large_pages(&mut rows);
    // Siblings whose next is in another share: at most one per level of nesting at the share's end.
    let apart = rows
        .par_chunks_mut(LEAST_SHARE)
        .zip(parents.par_chunks(LEAST_SHARE))
        .enumerate()
        .map(|(share, (rows, parents))| {
            let first = share * LEAST_SHARE;
            let mut apart = Vec::new();
            rows.fill([NONE; 4]);
            for (at, &parent) in parents.iter().enumerate() {
                let place = (first + at) as i32;
                let next = end(place);
                rows[at][PARENT] = parent;
                if next > place + 1 {
                    rows[at][FIRST_CHILD] = place + 1;
                }
                if next < end(parent) {
                    rows[at][NEXT] = next;
                    match rows.get_mut(next as usize - first) {
                        Some(row) => row[PREVIOUS] = place,
                        None => {
                            reserve(&mut apart, 1, "the hierarchy")?;
                            apart.push((place, next));
                        }
                    }
                }
            }
            Ok(apart)
        })
        .collect::<Result<Vec<_>>>()?;
    for (place, next) in apart.into_iter().flatten() {
        rows[next as usize][PREVIOUS] = place;
    }
    Ok(rows)
}

/// Whether borders with these parents are in pre-order: each directly below the one before it or an
/// ancestor of that one, or without a parent.
pub(in crate::trace) fn is_pre_order(parents: &[i32]) -> bool {
    (0..).zip(parents).all(|(place, &parent)| {
        let mut above = place - 1;
        while above > parent.max(NONE) {
            above = parents[above as usize];
        }
        above == parent
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Random;

    /// Borders each of which lies in one of the last `near` discovered before it, or in none.
    fn nesting(count: u32, near: u32, seed: u64) -> Nesting {
        let mut random = Random::new(seed);
        let mut nesting = Nesting::default();
        for id in 0..count {
            let back = random.below(near.min(id) + 1);
            let (kind, parent) = match back {
                0 => (BorderKind::Outer, NO_BORDER),
                _ => match nesting.kinds[(id - back) as usize] {
                    BorderKind::Outer => (BorderKind::Hole, id - back),
                    BorderKind::Hole => (BorderKind::Outer, id - back),
                },
            };
            nesting.kinds.push(kind);
            nesting.parents.push(parent);
        }
        nesting
    }

    /// The places of the borders, children after their parent, those discovered last first; and
    /// the rows.
    fn expected(
        nesting: &Nesting,
        parent: impl Fn(usize) -> Option<BorderId>,
    ) -> (Vec<BorderId>, Vec<HierarchyRow>) {
        let count = nesting.kinds.len();
        let mut children = vec![Vec::new(); count + 1];
        for id in 0..count {
            if let Some(parent) = parent(id) {
                children[(parent as usize).min(count)].push(id);
            }
        }
        let (mut order, mut rows): (Vec<BorderId>, Vec<HierarchyRow>) = (Vec::new(), Vec::new());
        let mut visits: Vec<(usize, i32)> = children[count].iter().map(|&id| (id, NONE)).collect();
        let mut last_children = vec![NONE; count + 1];
        while let Some((id, parent)) = visits.pop() {
            let place = rows.len() as i32;
            let around = if parent < 0 { count } else { parent as usize };
            let previous = std::mem::replace(&mut last_children[around], place);
            if previous >= 0 {
                rows[previous as usize][NEXT] = place;
            } else if parent >= 0 {
                rows[parent as usize][FIRST_CHILD] = place;
            }
            order.push(id as BorderId);
            rows.push([NONE, previous, NONE, parent]);
            visits.extend(children[id].iter().map(|&child| (child, place)));
        }
        (order, rows)
    }

    #[test]
    fn orders_are_pre_orders() {
        let top = Some(NO_BORDER);
        for (seed, count, near) in [
            (0, 0, 1),
            (1, 1, 1),
            (2, 300, 300),
            (3, 50_000, 50_000),
            (4, 50_000, 4),
            (5, 50_000, 1),
        ] {
            let nesting = nesting(count, near, seed);
            let Nesting { kinds, parents } = &nesting;
            for retrieval in [
                Retrieval::External,
                Retrieval::List,
                Retrieval::Ccomp,
                Retrieval::Tree,
            ] {
                let (order, rows) = expected(&nesting, |id| match (retrieval, kinds[id]) {
                    (Retrieval::Tree, _) | (Retrieval::Ccomp, BorderKind::Hole) => {
                        Some(parents[id])
                    }
                    (Retrieval::External, _) if parents[id] != NO_BORDER => None,
                    _ => top,
                });
                let found = arrange(&nesting, retrieval).unwrap();
                assert!(found.order == order, "seed {seed}, {retrieval:?}");
                let found_kinds = order.iter().map(|&id| kinds[id as usize]);
                assert!(found.kinds.iter().copied().eq(found_kinds));
                assert!(found.parents.iter().eq(rows.iter().map(|row| &row[PARENT])));
                assert!(is_pre_order(&found.parents));
                let linked = link(&found.parents).unwrap();
                assert!(linked == rows, "seed {seed}, {retrieval:?}");
            }
        }
    }

    #[test]
    fn other_orders_are_refused() {
        for parents in [&[][..], &[-1], &[-1, 0, 1, 0, -1, 4, 5, 5]] {
            assert!(is_pre_order(parents), "{parents:?}");
        }
        for parents in [
            &[0][..],
            &[-2],
            &[1, -1],
            &[-1, -1, 0],
            &[-1, 0, 0, 1],
            &[-1, 2],
            &[-1, 0, -2],
            &[-1, i32::MAX],
            &[i32::MIN],
        ] {
            assert!(!is_pre_order(parents), "{parents:?}");
        }
    }
}
