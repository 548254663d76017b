//! Boundary extraction: the nodes of all pixels, as bits, and their indices.

use std::ops::Range;

use rayon::prelude::*;
use trazar_kernels::trace::node_bits::{Around, BesideBits, NodeBits};

use super::super::pixels::SPARE_ROWS;
use super::super::plane::Plane;
use super::{E, Entry, W, entry};
use crate::error::{Error, Result};
use crate::image::WORD_BITS;
use crate::memory::{advise_large_pages, zeroed_vec};
use crate::trace::Geometry;

/// The nodes of 64 pixels.
#[derive(Clone, Copy, bytemuck::Zeroable)]
struct WordNodes {
    /// For each kind, one bit per pixel that has a node of that kind.
    kinds: [u64; 4],
    /// The indices of the first W or E node, and of the first N or S node.
    first: [u32; 2],
}

/// The nodes of an image.
pub(super) struct Nodes {
    /// The nodes of the plane's words, without its spare rows.
    words: Vec<WordNodes>,
    row_words: usize,
    /// The number of nodes.
    pub(super) count: u32,
    /// The number of nodes of kinds W and E.
    pub(super) beside: u32,
}

/// Kinds in pairs: W and E, N and S.
const BESIDE: usize = 0;
const ABOVE: usize = 1;
const ALL: Range<usize> = 0..2;

impl Nodes {
    /// Finds all nodes and their indices.
    pub(super) fn count_nodes(plane: &Plane, geometry: Geometry) -> Result<Self> {
        let n = plane.row_words;
        let rows = plane.words.len() / n - 2 * SPARE_ROWS;
        let mut words: Vec<WordNodes> = zeroed_vec(rows * n, "the nodes of borders")?;
        advise_large_pages(&mut words);
        let mut sums: Vec<[u64; 2]> = zeroed_vec(rows, "the numbers of nodes")?;
        let each_row = words.par_chunks_mut(n).zip(&mut sums).enumerate();
        each_row.for_each(|(y, (row, sums))| {
            for (i, word) in row.iter_mut().enumerate() {
                let around = around(&plane.words, (y + SPARE_ROWS) * n + i, n);
                let NodeBits { w, e, n, s } = match geometry {
                    Geometry::Centers => around.gaps(),
                    Geometry::Edges => around.sides(),
                };
                word.kinds = [w, e, n, s];
                for pair in ALL {
                    // Relative to the row for now.
                    word.first[pair] = sums[pair] as u32;
                    let [a, b] = word.pair(pair);
                    sums[pair] += u64::from(a.count_ones() + b.count_ones());
                }
            }
        });

        let mut total = [0; 2];
        for sums in &mut sums {
            for pair in ALL {
                total[pair] += std::mem::replace(&mut sums[pair], total[pair]);
            }
        }
        let limit = u32::MAX.into();
        if total[0] + total[1] > limit {
            return Err(Error::TooMany {
                what: "steps of borders",
                limit,
            });
        }
        words.par_chunks_mut(n).zip(&sums).for_each(|(row, sums)| {
            for word in row {
                word.first[0] += sums[0] as u32;
                word.first[1] += (total[0] + sums[1]) as u32;
            }
        });
        Ok(Self {
            words,
            row_words: n,
            count: (total[0] + total[1]) as u32,
            beside: total[0] as u32,
        })
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.words.len() / self.row_words
    }

    /// The index of a node.
    #[inline]
    pub(super) fn index(&self, entry: Entry) -> u32 {
        let (place, kind) = (super::place(entry), (entry & 3) as usize);
        let word = &self.words[place / WORD_BITS - SPARE_ROWS * self.row_words];
        let bit = place % WORD_BITS;
        let below = (1u64 << bit) - 1;
        let [a, b] = word.pair(kind / 2);
        // A pixel's second node comes after its first.
        let own = (a >> bit) as u32 & kind as u32 & 1;
        word.first[kind / 2] + (a & below).count_ones() + (b & below).count_ones() + own
    }

    /// The index of the first W or E node in row `y` or below.
    pub(super) fn first_beside(&self, y: usize) -> u32 {
        let word = self.words.get(y * self.row_words);
        word.map_or(self.beside, |word| word.first[BESIDE])
    }

    /// The entry of the node that passes the east side of the pixel at `place`, which has one.
    pub(super) fn at_east_side(&self, place: usize) -> Entry {
        let word = &self.words[place / WORD_BITS - SPARE_ROWS * self.row_words];
        let own = word.kinds[E as usize] >> (place % WORD_BITS) & 1 != 0;
        entry(place, if own { E } else { W })
    }

    /// Visits all nodes of row `y`, with their indices.
    #[inline]
    pub(super) fn for_each_in_row(&self, y: usize, visit: impl FnMut(u32, Entry)) {
        self.visit(y, ALL, WordNodes::pair, visit);
    }

    /// Visits the nodes of row `y` that are not joined with their successors by
    /// [`for_each_straight`](Self::for_each_straight).
    #[inline]
    pub(super) fn for_each_bent(&self, y: usize, visit: impl FnMut(u32, Entry)) {
        let bent = |word: &WordNodes, pair| match word.pair(pair) {
            // North of pixels borders go west, south of them east.
            [n, s] if pair == ABOVE => [n & !(n << 1), s & !(s >> 1)],
            beside => beside,
        };
        self.visit(y, ALL, bent, visit);
    }

    /// Visits the pairs of N nodes, and of S nodes, of neighbouring pixels in one word of row `y`,
    /// from W to E: `visit(western, eastern)` gets their indices. One of the two succeeds the
    /// other, because both have background on the same side.
    #[inline]
    pub(super) fn for_each_straight(&self, y: usize, mut visit: impl FnMut(u32, u32)) {
        for word in &self.words[y * self.row_words..][..self.row_words] {
            let [n, s] = word.pair(ABOVE);
            let mut index = word.first[ABOVE];
            let mut western = [0; 2];
            let mut rest = n | s;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                for (western, of_kind) in western.iter_mut().zip([n, s]) {
                    if of_kind >> bit & 1 != 0 {
                        if (of_kind << 1) >> bit & 1 != 0 {
                            visit(*western, index);
                        }
                        *western = index;
                        index += 1;
                    }
                }
            }
        }
    }

    /// Visits the W and E nodes of row `y` in order.
    #[inline]
    pub(super) fn for_each_beside(&self, y: usize, visit: impl FnMut(u32, Entry)) {
        self.visit(y, BESIDE..BESIDE + 1, WordNodes::pair, visit);
    }

    #[inline]
    fn visit(
        &self,
        y: usize,
        pairs: Range<usize>,
        visited: impl Fn(&WordNodes, usize) -> [u64; 2],
        mut visit: impl FnMut(u32, Entry),
    ) {
        let first_word = y * self.row_words;
        let row = &self.words[first_word..][..self.row_words];
        for (i, word) in row.iter().enumerate() {
            let first_place = (first_word + SPARE_ROWS * self.row_words + i) * WORD_BITS;
            for pair in pairs.clone() {
                let [a, b] = word.pair(pair);
                let [visited_a, visited_b] = visited(word, pair);
                let mut index = word.first[pair];
                let mut rest = a | b;
                while rest != 0 {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    let kinds = [(a, visited_a, 2 * pair), (b, visited_b, 2 * pair + 1)];
                    for (of_kind, visited, kind) in kinds {
                        if of_kind >> bit & 1 != 0 {
                            if visited >> bit & 1 != 0 {
                                visit(index, entry(first_place + bit, kind as u32));
                            }
                            index += 1;
                        }
                    }
                }
            }
        }
    }
}

impl WordNodes {
    #[inline]
    fn pair(&self, pair: usize) -> [u64; 2] {
        [self.kinds[2 * pair], self.kinds[2 * pair + 1]]
    }
}

/// Word `at` of a plane with `row_words` words per row, and the pixels around it.
fn around(words: &[u64], at: usize, row_words: usize) -> Around {
    // A row's spare bits separate it from the next.
    let row = |at: usize| BesideBits::new(words[at - 1], words[at], words[at + 1]);
    Around::new(row(at - row_words), row(at), row(at + row_words))
}
