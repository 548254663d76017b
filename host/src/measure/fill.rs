//! The pixels of an object with its holes filled.

use super::sums::Span;
use crate::error::{Error, Result};
use crate::memory::push;

/// Pixels between two runs of a row, or outside them.
#[derive(Clone, Copy)]
struct Gap {
    start: i64,
    /// The column after the last.
    end: i64,
    /// A node of the forest; 0 for what is outside the object.
    node: u32,
}

/// Memory that is used again for each object.
#[derive(Default)]
pub(super) struct Filler {
    above: Vec<Gap>,
    row: Vec<Gap>,
    /// Each gap's parent in the union-find forest, and its number of pixels.
    parents: Vec<u32>,
    sizes: Vec<u64>,
}

impl Filler {
    /// The number of pixels in the object's holes: 8-connected sets of other pixels from which no
    /// path leads out. `spans` are the object's runs in raster order.
    pub(super) fn holes(&mut self, spans: &[Span]) -> Result<u64> {
        const WHAT: &str = "the gaps between runs";
        self.parents.clear();
        self.sizes.clear();
        push(&mut self.parents, 0, WHAT)?;
        push(&mut self.sizes, 0, WHAT)?;
        self.above.clear();
        let mut next_row = None;
        for runs in spans.chunk_by(|a, b| a.row == b.row) {
            // Gaps next to a row without pixels of the object are outside.
            let is_below_empty = next_row != Some(runs[0].row);
            if is_below_empty {
                self.open_above();
            }
            self.row.clear();
            let outer = |start, end| Gap {
                start,
                end,
                node: 0,
            };
            push(&mut self.row, outer(i64::MIN, runs[0].start.into()), WHAT)?;
            for pair in runs.windows(2) {
                let (start, end) = (pair[0].end, pair[1].start);
                let mut node = 0;
                if !is_below_empty {
                    node = u32::try_from(self.parents.len()).map_err(|_| Error::TooMany {
                        what: "gaps between the runs of an object",
                        limit: u32::MAX.into(),
                    })?;
                    push(&mut self.parents, node, WHAT)?;
                    push(&mut self.sizes, u64::from(end - start), WHAT)?;
                }
                let gap = Gap {
                    start: start.into(),
                    end: end.into(),
                    node,
                };
                push(&mut self.row, gap, WHAT)?;
            }
            let last = runs[runs.len() - 1].end.into();
            push(&mut self.row, outer(last, i64::MAX), WHAT)?;
            self.join_rows();
            std::mem::swap(&mut self.above, &mut self.row);
            next_row = Some(runs[0].row + 1);
        }
        self.open_above();
        let mut filled = 0;
        for node in 1..self.parents.len() {
            if self.root(node as u32) != 0 {
                filled += self.sizes[node];
            }
        }
        Ok(filled)
    }

    /// Says that all gaps of the last row are outside.
    fn open_above(&mut self) {
        for i in 0..self.above.len() {
            self.join(self.above[i].node, 0);
        }
        self.above.clear();
    }

    /// Joins the gaps of two rows that touch at a side or a corner.
    fn join_rows(&mut self) {
        let (mut i, mut j) = (0, 0);
        while i < self.above.len() && j < self.row.len() {
            let (a, b) = (self.above[i], self.row[j]);
            if a.start <= b.end && b.start <= a.end {
                self.join(a.node, b.node);
            }
            i += usize::from(a.end <= b.end);
            j += usize::from(b.end <= a.end);
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.parents[node as usize] != node {
            let parent = self.parents[node as usize];
            self.parents[node as usize] = self.parents[parent as usize];
            node = parent;
        }
        node
    }
}
