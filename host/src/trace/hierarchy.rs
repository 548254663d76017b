//! From each border's parent to the result's order and hierarchy rows.
//!
//! The result is the pre-order walk of a forest whose siblings stand in reverse order of
//! discovery; the retrieval says which borders are in it and which of their parents count. Time:
//! linear in the number of borders.

use super::Retrieval;
use super::chains::{Border, BorderId, Chains, NO_BORDER};
use super::contours::{BorderKind, HierarchyRow};
use crate::error::{Error, Result, reserve, zeroed_vec};

/// The id of the next border.
///
/// # Errors
/// [`Error::TooMany`] where a hierarchy row could not hold it.
pub(super) fn next_id(borders: &[Border]) -> Result<BorderId> {
    const LIMIT: usize = i32::MAX as usize;
    if borders.len() >= LIMIT {
        return Err(Error::TooMany {
            what: "borders",
            limit: LIMIT as u64,
        });
    }
    Ok(borders.len() as BorderId)
}

/// Finds all borders' parents, when `before(border)` is the border of the last side before the
/// one that `border` begins at: the two are siblings if they are of one kind, else the border
/// lies inside the one before.
///
/// Borders must be in raster order of their starts.
pub(super) fn find_parents(borders: &mut [Border], before: impl Fn(&Border) -> BorderId) {
    for id in 0..borders.len() {
        let before = before(&borders[id]);
        borders[id].parent = match borders.get(before as usize) {
            Some(sibling) if sibling.kind == borders[id].kind => sibling.parent,
            _ => before,
        };
    }
}

/// The borders of the result, in its order.
pub(super) struct Arrangement {
    pub(super) order: Vec<BorderId>,
    pub(super) kinds: Vec<BorderKind>,
    pub(super) rows: Vec<HierarchyRow>,
}

/// Columns of a [`HierarchyRow`].
const NEXT: usize = 0;
const FIRST_CHILD: usize = 2;
const NONE: i32 = -1;

/// Puts the borders that `retrieval` keeps into order and links them.
pub(super) fn arrange(chains: &Chains, retrieval: Retrieval) -> Result<Arrangement> {
    let top = Some(NO_BORDER);
    match retrieval {
        Retrieval::External => walk(chains, |b| top.filter(|&none| b.parent == none)),
        Retrieval::List => walk(chains, |_| top),
        Retrieval::Ccomp => walk(chains, |b| match b.kind {
            BorderKind::Outer => top,
            BorderKind::Hole => Some(b.parent),
        }),
        Retrieval::Tree => walk(chains, |b| Some(b.parent)),
    }
}

/// Walks the forest in which a border's parent is `parent(border)`; `None` leaves it out.
fn walk(chains: &Chains, parent: impl Fn(&Border) -> Option<BorderId>) -> Result<Arrangement> {
    let count = chains.borders.len();
    // Each border's first child and next sibling: a border goes before the siblings that were
    // discovered earlier. One more entry stands for the parent of those that have none.
    let mut first_children: Vec<BorderId> = zeroed_vec(count + 1, "the hierarchy")?;
    let mut next_siblings: Vec<BorderId> = zeroed_vec(count, "the hierarchy")?;
    first_children.fill(NO_BORDER);
    let mut kept = 0;
    for (id, border) in chains.borders.iter().enumerate() {
        if let Some(parent) = parent(border) {
            let first_child = &mut first_children[(parent as usize).min(count)];
            next_siblings[id] = std::mem::replace(first_child, id as BorderId);
            kept += 1;
        }
    }

    let mut result = Arrangement {
        order: Vec::new(),
        kinds: Vec::new(),
        rows: Vec::new(),
    };
    reserve(&mut result.order, kept, "the hierarchy")?;
    reserve(&mut result.kinds, kept, "the hierarchy")?;
    reserve(&mut result.rows, kept, "the hierarchy")?;
    // A border to visit, with the places of its parent and its previous sibling.
    let mut visit = (first_children[count], NONE, NONE);
    let mut later = Vec::new();
    loop {
        let (id, parent, previous) = visit;
        if id == NO_BORDER {
            match later.pop() {
                Some(next) => visit = next,
                None => return Ok(result),
            }
            continue;
        }
        let place = result.rows.len() as i32;
        if let Ok(previous) = usize::try_from(previous) {
            result.rows[previous][NEXT] = place;
        } else if let Ok(parent) = usize::try_from(parent) {
            result.rows[parent][FIRST_CHILD] = place;
        }
        result.rows.push([NONE, previous, NONE, parent]);
        result.order.push(id);
        result.kinds.push(chains.borders[id as usize].kind);
        later.push((next_siblings[id as usize], parent, place));
        visit = (first_children[id as usize], place, NONE);
    }
}
