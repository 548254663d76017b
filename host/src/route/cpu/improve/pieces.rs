//! The pieces that a tree is divided into, and the parts into which it falls without some of its
//! paths.
//!
//! Each key cell of the tree is a piece, and so are stretches of key paths between them. A part
//! consists of whole pieces.

#[cfg(test)]
use std::collections::HashMap;

use super::TREE;
use super::exchange::{Exchange, PIN, Path};
use crate::Result;
use crate::memory::{collect, extend, filled_vec, push};
use crate::route::grid::RoutingGrid;

/// The piece of a cell that is not on the tree.
pub(super) const NONE: u32 = u32::MAX;

/// The part that is not listed: the largest one.
const LARGEST: u32 = u32::MAX;

/// A key cell, or consecutive cells between two key cells.
#[derive(Clone, Copy, Default)]
pub(super) struct Piece {
    /// Its first and last cell.
    ends: [u32; 2],
    /// The number of its cells.
    cells: u32,
    /// The change of the tree that made it.
    pub(super) born: u32,
    /// The last change that took it off the tree.
    pub(super) gone: u32,
    /// The last query for a part that it belongs to.
    pub(super) seen: u32,
    /// The last part that it belonged to, by [`Parts::first`].
    part: u32,
}

pub(super) struct Pieces {
    /// By cell.
    of: Vec<u32>,
    all: Vec<Piece>,
    /// Pieces that are no longer on the tree.
    pub(super) unused: Vec<u32>,
}

impl Pieces {
    pub(super) fn new(grid: &RoutingGrid) -> Result<Self> {
        Ok(Self {
            of: filled_vec(NONE, grid.cell_count() as usize, TREE)?,
            all: Vec::new(),
            unused: Vec::new(),
        })
    }

    pub(super) fn copy(&self) -> Result<Self> {
        Ok(Self {
            of: collect(self.of.iter().copied(), TREE)?,
            all: collect(self.all.iter().copied(), TREE)?,
            unused: collect(self.unused.iter().copied(), TREE)?,
        })
    }

    /// Forgets the tree.
    pub(super) fn clear(&mut self) {
        self.of.fill(NONE);
        self.all.clear();
        self.unused.clear();
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// A new piece, made by change `born`.
    pub(super) fn add(&mut self, born: u32) -> Result<u32> {
        let piece = match self.unused.pop() {
            Some(piece) => piece,
            None => {
                push(&mut self.all, Piece::default(), TREE)?;
                self.all.len() as u32 - 1
            }
        };
        self.all[piece as usize].born = born;
        Ok(piece)
    }

    /// By cell.
    pub(super) fn by_cell(&self) -> &[u32] {
        &self.of
    }

    #[inline(always)]
    pub(super) fn of(&self, cell: u32) -> u32 {
        self.of[cell as usize]
    }

    pub(super) fn set(&mut self, cell: u32, piece: u32) {
        self.of[cell as usize] = piece;
    }

    /// Notes the part that a piece belongs to. Returns the number of the piece's cells.
    fn mark(&mut self, piece: u32, part: u32) -> u64 {
        let piece = self.get_mut(piece);
        piece.part = part;
        piece.cells.into()
    }

    #[inline(always)]
    pub(super) fn get(&self, piece: u32) -> &Piece {
        &self.all[piece as usize]
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, piece: u32) -> &mut Piece {
        &mut self.all[piece as usize]
    }
}

/// The parts of a tree without some of its paths, while they are joined again.
pub(super) struct Parts {
    /// All but the largest and those that have been joined with it.
    pub(super) open: Vec<Part>,
    /// The number of part 0.
    first: u32,
    /// By part: what it belongs to now, itself at first.
    joined: Vec<u32>,
}

pub(super) struct Part {
    /// Its number, from 0.
    id: u32,
    pub(super) pieces: Vec<u32>,
    /// The number of its cells.
    pub(super) cells: u64,
}

impl Parts {
    /// The part that a piece belongs to.
    fn of(&self, piece: &Piece) -> u32 {
        // Numbers of earlier parts are smaller.
        let part = piece.part.checked_sub(self.first);
        part.and_then(|part| self.joined.get(part as usize).copied())
            .unwrap_or(LARGEST)
    }

    /// Whether `part` is the one that a piece belongs to.
    pub(super) fn is_in(&self, part: &Part, piece: &Piece) -> bool {
        self.of(piece) == part.id
    }

    /// Adds a new piece to a part.
    pub(super) fn extend(&self, part: &mut Part, id: u32, piece: &mut Piece) -> Result<()> {
        piece.part = self.first + part.id;
        push(&mut part.pieces, id, TREE)
    }

    /// Joins `part`, which is not in the list, with the part that a piece belongs to.
    pub(super) fn join(&mut self, mut part: Part, piece: &Piece) -> Result<()> {
        let other = self.of(piece);
        let into = self.open.iter_mut().find(|part| part.id == other);
        for joined in &mut self.joined {
            if *joined == part.id {
                *joined = other;
            }
        }
        if let Some(into) = into {
            into.cells += part.cells;
            if into.pieces.len() < part.pieces.len() {
                std::mem::swap(&mut into.pieces, &mut part.pieces);
            }
            extend(&mut into.pieces, part.pieces, TREE)?;
        }
        Ok(())
    }
}

impl Exchange<'_> {
    /// Divides the tree into pieces.
    pub(super) fn divide(&mut self) -> Result<()> {
        self.diagram.clear();
        for cell in self.key_cells()? {
            self.set_key_piece(cell)?;
            for next in self.tree_neighbours(cell) {
                self.name_stretch(next, NONE)?;
            }
        }
        Ok(())
    }

    /// Makes a new piece of a key cell.
    fn set_key_piece(&mut self, cell: u32) -> Result<()> {
        let piece = self.piece_for(cell)?;
        self.diagram.pieces.set(cell, piece);
        Ok(())
    }

    /// A new piece for a cell, which does not belong to it yet.
    pub(super) fn piece_for(&mut self, cell: u32) -> Result<u32> {
        let piece = self.diagram.new_piece()?;
        self.set_cells(piece, [cell; 2], 1);
        Ok(piece)
    }

    fn set_cells(&mut self, piece: u32, ends: [u32; 2], cells: u32) {
        let piece = self.diagram.pieces.get_mut(piece);
        (piece.ends, piece.cells) = (ends, cells);
    }

    /// Divides the tree's new paths into pieces, and those that they branch off.
    pub(super) fn divide_around(&mut self, added: &[Path]) -> Result<()> {
        let mut divided = Vec::new();
        for &cell in added.iter().flatten() {
            let old = self.diagram.pieces.of(cell);
            if !self.is_key(cell) {
                self.name_stretch(cell, NONE)?;
                continue;
            }
            // It is alone already if the tree branched here before.
            if old != NONE && self.diagram.pieces.get(old).ends == [cell; 2] {
                continue;
            }
            self.set_key_piece(cell)?;
            push(&mut divided, cell, TREE)?;
            let mut same = self
                .tree_neighbours(cell)
                .filter(|&next| old != NONE && self.diagram.pieces.of(next) == old);
            let (same, rest) = (same.next(), same.next());
            if let Some(next) = same {
                extend(&mut divided, self.name_stretch(next, old)?, TREE)?;
            }
            // On the other side the piece goes on, but begins here.
            if let Some(rest) = rest {
                self.measure_stretch(rest, cell);
            }
        }
        self.diagram.keep(&divided)
    }

    /// Makes a new piece of a cell between key cells and of those next to it as far as they belong
    /// to the piece `old`, if it does. Returns its cells.
    fn name_stretch(&mut self, cell: u32, old: u32) -> Result<Vec<u32>> {
        let mut cells = Vec::new();
        if self.is_key(cell) || self.diagram.pieces.of(cell) != old {
            return Ok(cells);
        }
        let piece = self.diagram.new_piece()?;
        self.diagram.pieces.set(cell, piece);
        push(&mut cells, cell, TREE)?;
        // Both ends move away from the first cell, one cell in turn.
        let mut ends = [cell; 2];
        let mut next = 0;
        while let Some(&cell) = cells.get(next) {
            next += 1;
            for near in self.tree_neighbours(cell) {
                if !self.is_key(near) && self.diagram.pieces.of(near) == old {
                    let end = ends.iter().position(|&end| end == cell).unwrap_or(0);
                    ends[end] = near;
                    self.diagram.pieces.set(near, piece);
                    push(&mut cells, near, TREE)?;
                }
            }
        }
        self.set_cells(piece, ends, cells.len() as u32);
        Ok(cells)
    }

    /// Notes the ends and the length of the piece that begins with `first`, next to the key cell
    /// `before`.
    fn measure_stretch(&mut self, first: u32, before: u32) {
        let piece = self.diagram.pieces.of(first);
        let (mut before, mut at, mut cells) = (before, first, 1);
        loop {
            let mut near = self.tree_neighbours(at);
            let next = near.find(|&next| {
                next != before && !self.is_key(next) && self.diagram.pieces.of(next) == piece
            });
            let Some(next) = next else {
                break;
            };
            (before, at) = (at, next);
            cells += 1;
        }
        self.set_cells(piece, [first, at], cells);
    }

    /// The parts of the tree, from one cell of each, and a part that consists of the piece `fork`,
    /// if there is one, in this order without the largest. This takes as long as the second largest
    /// part.
    pub(super) fn parts(&mut self, seeds: &[u32], fork: Option<u32>) -> Result<Parts> {
        let first = self.last_part + 1;
        let mut open: Vec<(Part, usize)> = Vec::new();
        let pieces = seeds.iter().map(|&seed| self.diagram.pieces.of(seed));
        for (piece, id) in collect(pieces.chain(fork), TREE)?.into_iter().zip(0..) {
            let mut part = Part {
                id,
                pieces: Vec::new(),
                cells: 1,
            };
            // A cell that was the end of a path only is no longer on the tree.
            if piece != NONE {
                part.cells = self.diagram.pieces.mark(piece, first + id);
                push(&mut part.pieces, piece, TREE)?;
            }
            push(&mut open, (part, 0), TREE)?;
        }
        let count = open.len() as u32;
        self.last_part += count;
        let mut parts = Parts {
            open: Vec::new(),
            first,
            joined: collect(0..count, TREE)?,
        };
        while open.len() > 1 {
            // The part with the fewest cells so far, so that the largest one is left.
            let smallest = (0..open.len()).min_by_key(|&i| (open[i].0.cells, open[i].0.id));
            let i = smallest.unwrap_or(0);
            let (part, next) = &mut open[i];
            let Some(&piece) = part.pieces.get(*next) else {
                push(&mut parts.open, open.swap_remove(i).0, TREE)?;
                continue;
            };
            *next += 1;
            let mark = first + part.id;
            let ends = self.diagram.pieces.get(piece).ends;
            let count = 1 + usize::from(ends[0] != ends[1]);
            for &end in &ends[..count] {
                let is_pin = self.states[end as usize] & PIN != 0;
                let joined = match is_pin {
                    true => self.groups.of(end).unwrap_or_default(),
                    false => &[],
                };
                for near in self.tree_neighbours(end).chain(joined.iter().copied()) {
                    let near = self.diagram.pieces.of(near);
                    if self.diagram.pieces.get(near).part != mark {
                        part.cells += self.diagram.pieces.mark(near, mark);
                        push(&mut part.pieces, near, TREE)?;
                    }
                }
            }
        }
        parts.open.sort_unstable_by_key(|part| part.id);
        if let Some((largest, _)) = open.first() {
            parts.joined[largest.id as usize] = LARGEST;
        }
        Ok(parts)
    }

    /// Checks that each piece's cells are consecutive, and that its ends are noted.
    #[cfg(test)]
    pub(super) fn check_pieces(&self) {
        let pieces = &self.diagram.pieces;
        let mut cells: HashMap<u32, Vec<u32>> = HashMap::new();
        for (&piece, cell) in pieces.by_cell().iter().zip(0..) {
            if piece != NONE {
                assert!(!pieces.unused.contains(&piece));
                cells.entry(piece).or_default().push(cell);
            }
        }
        for (piece, cells) in cells {
            let Piece {
                mut ends,
                cells: count,
                ..
            } = *pieces.get(piece);
            assert_eq!(cells.len(), count as usize);
            ends.sort_unstable();
            let same = |&cell: &u32| {
                let near = self.tree_neighbours(cell);
                near.filter(|&near| pieces.of(near) == piece).count()
            };
            assert_eq!(cells.iter().map(same).sum::<usize>(), 2 * (cells.len() - 1));
            let mut found: Vec<u32> = cells
                .iter()
                .copied()
                .filter(|cell| same(cell) < 2)
                .collect();
            if found.len() == 1 {
                found.push(found[0]);
            }
            assert_eq!(ends[..], found);
            assert!(cells.len() == 1 || !cells.iter().any(|&cell| self.is_key(cell)));
        }
    }
}
