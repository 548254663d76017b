//! [`Ties`]: the fragments that begin and end at a band's rims and at open saddles.

use super::Crossings;
use crate::error::Result;
use crate::memory::{filled_vec, reserve, zeroed_vec};
use crate::trace::cpu::fragments::follow::{Exit, Fragment, FragmentId, Strip};

/// No fragment.
pub(super) const NO_FRAGMENT: FragmentId = FragmentId::MAX;

/// The fragments that begin and end at the band's rims and at open saddles.
pub(super) struct Ties {
    pub(super) crossings: [Crossings; 2],
    /// By halves of open saddles; [`NO_FRAGMENT`] beyond the rims.
    pub(super) begins: Vec<FragmentId>,
    pub(super) ends: Vec<FragmentId>,
    /// One bit per fragment: whether it begins there.
    pub(super) is_begin: Vec<u64>,
}

impl Ties {
    /// Finds them, and makes each one that ends be followed by one that begins.
    pub(super) fn tie(
        fragments: &mut [Fragment],
        first_fragments: &[FragmentId],
        strips: &[Strip],
        saddles: usize,
    ) -> Result<Self> {
        const WHAT: &str = "the fragments of borders";
        let last = strips.len() - 1;
        let (from_above, from_below) = (strips[0].from_above, strips[last].from_below);
        let first_from_below = first_fragments[last] + strips[last].from_above;
        let none = |count: usize| filled_vec(NO_FRAGMENT, count, WHAT);
        let mut this = Self {
            crossings: [Crossings::default(), Crossings::default()],
            begins: none(2 * saddles)?,
            ends: none(2 * saddles)?,
            is_begin: zeroed_vec(fragments.len().div_ceil(64), WHAT)?,
        };
        let entries = [
            0..from_above,
            first_from_below..first_from_below + from_below,
        ];
        for (crossings, entries) in this.crossings.iter_mut().zip(entries) {
            reserve(&mut crossings.entries, entries.len(), WHAT)?;
            crossings.entries.extend(entries);
        }
        for (strip, &first) in strips.iter().zip(first_fragments) {
            let first = first + strip.from_above + strip.from_below;
            for (&half, id) in strip.halves.iter().zip(first..) {
                this.begins[half as usize] = id;
            }
        }

        let leaves = |strip: u32, exit: Exit| match exit {
            Exit::Above => strip == 0,
            Exit::Below => strip as usize == last,
            Exit::Saddle => true,
        };
        let mut exits = [0, 0];
        for fragment in fragments.iter().filter(|f| leaves(f.strip, f.exit)) {
            match fragment.exit {
                Exit::Above => exits[0] += 1,
                Exit::Below => exits[1] += 1,
                Exit::Saddle => {}
            }
        }
        for (crossings, count) in this.crossings.iter_mut().zip(exits) {
            crossings.exits = none(count)?;
        }
        for (id, fragment) in fragments.iter().enumerate() {
            if leaves(fragment.strip, fragment.exit) {
                let ends = match fragment.exit {
                    Exit::Above => &mut this.crossings[0].exits,
                    Exit::Below => &mut this.crossings[1].exits,
                    Exit::Saddle => &mut this.ends,
                };
                ends[fragment.next as usize] = id as FragmentId;
            }
        }

        let [above, below] = &this.crossings;
        let begins = [&above.entries, &below.entries, &this.begins];
        let ends = [&above.exits, &below.exits, &this.ends];
        let [begins, ends] = [begins, ends].map(|ids| {
            let all = ids.into_iter().flatten().copied();
            all.filter(|&id| id != NO_FRAGMENT)
        });
        for (begin, end) in begins.zip(ends) {
            fragments[end as usize].next = begin;
            this.is_begin[begin as usize / 64] |= 1 << (begin % 64);
        }
        Ok(this)
    }

    pub(super) fn is_begin(&self, id: FragmentId) -> bool {
        self.is_begin[id as usize / 64] >> (id % 64) & 1 == 1
    }
}
