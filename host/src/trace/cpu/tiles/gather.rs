//! Gathering: turns closed borders, linked fragments, into chains in order of discovery.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::super::chains::{Border, BorderId, Chains, Direction, NO_BORDER, check_count};
use super::super::pixels::Pixels;
use super::super::sides::Sides;
use super::super::walk::Walk;
use super::connect::Links;
use super::grid::TileGrid;
use super::track::{Closed, FragmentId, Tile};
use crate::error::Result;
use crate::memory::{advise_large_pages, reserve, zeroed_vec};
use crate::trace::contours::BorderKind;

/// Makes the chains of all borders.
pub(super) fn gather<W: Walk>(
    tiles: &[Tile],
    links: &Links,
    mut closed: Vec<Closed>,
    sides: &Sides,
    grid: &TileGrid,
) -> Result<Chains> {
    closed.par_sort_unstable_by_key(|border| border.discovery.key);
    let mut chains = Chains::default();
    check_count(closed.len())?;
    let total: usize = closed.iter().map(|border| border.length).sum();
    chains.steps = zeroed_vec(total, "the chain codes of borders")?;
    advise_large_pages(&mut chains.steps);
    reserve(&mut chains.borders, closed.len(), "the borders")?;
    reserve(&mut chains.nesting.kinds, closed.len(), "the borders")?;
    let mut parts = Vec::new();
    reserve(&mut parts, closed.len(), "the borders")?;
    let mut rest = &mut *chains.steps;
    let mut steps_end = 0;
    for border in &closed {
        let (kind, x, y) = begin(border, sides);
        let (part, after) = rest.split_at_mut(border.length);
        parts.push(part);
        rest = after;
        steps_end += border.length;
        let (start, _) = W::start(kind, x, y);
        chains.borders.push(Border { start, steps_end });
        chains.nesting.kinds.push(kind);
    }

    let fragments = tiles.iter().map(|tile| tile.ends.len()).sum();
    let border_of: Vec<AtomicU32> = zeroed_vec(fragments, "the borders of pieces")?;
    chains.turns = closed
        .par_iter()
        .zip(parts)
        .enumerate()
        .map(|(id, (border, steps))| {
            let (kind, ..) = begin(border, sides);
            let (_, delay) = W::start(kind, 0, 0);
            let first = border.discovery.fragment;
            let (mut fragment, mut filled) = (first, 0);
            let mut tail: &[Direction] = &[];
            loop {
                border_of[fragment as usize].store(id as BorderId, Relaxed);
                let mut piece = steps_of(tiles, fragment);
                if fragment == first {
                    (tail, piece) =
                        piece.split_at((border.discovery.step + delay).min(piece.len()));
                }
                steps[filled..][..piece.len()].copy_from_slice(piece);
                filled += piece.len();
                fragment = links.next(fragment);
                if fragment == first {
                    break;
                }
            }
            steps[filled..].copy_from_slice(tail);
            turns(steps)
        })
        .sum();

    chains.find_parents(|kind, start| {
        let (x, y) = W::first_pixel(kind, start);
        let Some((fragment, x)) = sides.border_and_column_before(kind, x, y) else {
            return NO_BORDER;
        };
        let tile = &tiles[grid.tile_at(x, y)];
        border_of[(tile.fragments_before + fragment) as usize].load(Relaxed)
    })?;
    Ok(chains)
}

/// The kind of a border, and the pixel where it is discovered.
fn begin(border: &Closed, sides: &Sides) -> (BorderKind, u32, u32) {
    let key = border.discovery.key;
    let (x, y) = sides.plane.coordinates((key / 2) as usize);
    let kind = if key.is_multiple_of(2) {
        BorderKind::Outer
    } else {
        BorderKind::Hole
    };
    (kind, x, y)
}

/// The steps of a fragment.
fn steps_of(tiles: &[Tile], fragment: FragmentId) -> &[Direction] {
    let after = tiles.partition_point(|tile| tile.fragments_before <= fragment);
    let tile = &tiles[after - 1];
    let index = (fragment - tile.fragments_before) as usize;
    let begin = match index {
        0 => 0,
        _ => tile.ends[index - 1],
    };
    &tile.steps[begin..tile.ends[index]]
}

/// The number of points where a closed chain turns; a single pixel is one.
fn turns(steps: &[Direction]) -> usize {
    let Some((&first, &last)) = steps.first().zip(steps.last()) else {
        return 1;
    };
    let inside = steps.windows(2).filter(|pair| pair[0] != pair[1]).count();
    inside + usize::from(first != last)
}
