//! From each border's parent to the result's order and hierarchy rows.
//!
//! The result is the pre-order walk of a forest whose siblings stand in reverse order of
//! discovery; the retrieval says which borders are in it and which of their parents count. Time:
//! linear in the number of borders.

use super::chains::{BorderId, NO_BORDER, Nesting};
use crate::error::Result;
use crate::memory::{reserve, zeroed_vec};
use crate::trace::Retrieval;
use crate::trace::contours::{BorderKind, HierarchyRow};

/// The borders of the result, in its order.
pub(super) struct Arrangement {
    pub(super) order: Vec<BorderId>,
    pub(super) kinds: Vec<BorderKind>,
    /// The place of each one's parent in the order, or [`NONE`].
    pub(super) parents: Vec<i32>,
}

/// No such link.
const NONE: i32 = -1;

/// Columns of a [`HierarchyRow`].
const NEXT: usize = 0;
const PREVIOUS: usize = 1;
const FIRST_CHILD: usize = 2;
const PARENT: usize = 3;

/// Puts the borders that `retrieval` keeps into order.
pub(super) fn arrange(nesting: &Nesting, retrieval: Retrieval) -> Result<Arrangement> {
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

/// Walks the forest in which a border's parent is `parent(kind, its parent)`; `None` leaves it
/// out.
fn walk(
    nesting: &Nesting,
    parent: impl Fn(BorderKind, BorderId) -> Option<BorderId>,
) -> Result<Arrangement> {
    let Nesting { kinds, parents } = nesting;
    let count = kinds.len();
    // Each border's first child and next sibling: a border goes before the siblings that were
    // discovered earlier. One more entry stands for the parent of those that have none.
    let mut first_children: Vec<BorderId> = zeroed_vec(count + 1, "the hierarchy")?;
    let mut next_siblings: Vec<BorderId> = zeroed_vec(count, "the hierarchy")?;
    first_children.fill(NO_BORDER);
    let mut kept = 0;
    for (id, (&kind, &border_parent)) in kinds.iter().zip(parents).enumerate() {
        if let Some(parent) = parent(kind, border_parent) {
            let first_child = &mut first_children[(parent as usize).min(count)];
            next_siblings[id] = std::mem::replace(first_child, id as BorderId);
            kept += 1;
        }
    }

    let mut result = Arrangement {
        order: Vec::new(),
        kinds: Vec::new(),
        parents: Vec::new(),
    };
    reserve(&mut result.order, kept, "the hierarchy")?;
    reserve(&mut result.kinds, kept, "the hierarchy")?;
    reserve(&mut result.parents, kept, "the hierarchy")?;
    // The border to visit and its parent's place; and those to come back to.
    let mut visit = (first_children[count], NONE);
    let mut later = Vec::new();
    loop {
        let (id, parent) = visit;
        if id == NO_BORDER {
            match later.pop() {
                Some(next) => visit = next,
                None => return Ok(result),
            }
            continue;
        }
        let place = result.order.len() as i32;
        result.order.push(id);
        result.kinds.push(kinds[id as usize]);
        result.parents.push(parent);
        let next_sibling = next_siblings[id as usize];
        if next_sibling != NO_BORDER {
            later.push((next_sibling, parent));
        }
        visit = (first_children[id as usize], place);
    }
}

/// The hierarchy rows of a pre-order walk, from the places of the parents.
pub(super) fn link(parents: &[i32]) -> Result<Vec<HierarchyRow>> {
    let mut rows: Vec<HierarchyRow> = Vec::new();
    reserve(&mut rows, parents.len(), "the hierarchy")?;
    // The last child so far of each place, and of none: the next child's previous sibling.
    let mut last_children = zeroed_vec(parents.len(), "the hierarchy")?;
    last_children.fill(NONE);
    let mut last_root = NONE;
    for (place, &parent) in parents.iter().enumerate() {
        let around = usize::try_from(parent).ok();
        let last_child = around.map_or(&mut last_root, |parent| &mut last_children[parent]);
        let place = place as i32;
        let previous = std::mem::replace(last_child, place);
        if let Ok(previous) = usize::try_from(previous) {
            rows[previous][NEXT] = place;
        } else if let Some(parent) = around {
            rows[parent][FIRST_CHILD] = place;
        }
        let mut row = [NONE; 4];
        row[PREVIOUS] = previous;
        row[PARENT] = parent;
        rows.push(row);
    }
    Ok(rows)
}
