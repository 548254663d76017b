//! The borders and fragments of a band, for parts that are joined later.
//!
//! Strips are followed and their fragments joined as for a whole image. A fragment that leaves the
//! band, or ends at an open saddle, has no successor. While fragments are joined, it is tied to one
//! that enters: every fragment then has one successor and one predecessor, as list ranking needs.
//! The rings with such ties are then cut there again, and give the band's fragments.

mod ties;

use std::ops::Range;

use rayon::prelude::*;

use super::pool::{
    Border, Fate, Fragment as OpenFragment, Item, Key, Length, List, NO_ITEM, NO_PIECE, Name,
    Piece, Pool, RegionValue, border_item,
};
use super::runs::encode;
use super::store::Store;
use crate::error::{Error, Result};
use crate::memory::{reserve, with_room, zeroed_vec};
use crate::progress::Progress;
use crate::trace::Band;
use crate::trace::cpu::chains::{Direction, NO_BORDER};
use crate::trace::cpu::fragments::follow::{
    Fragment, FragmentId, SideKey, Strip, check_count, follow,
};
use crate::trace::cpu::fragments::join::{Part, Rings, gather, rings};
use crate::trace::cpu::fragments::{KeptPoints, strip_rows};
use crate::trace::cpu::pixels::Strips;
use crate::trace::cpu::saddles::{OpenSaddles, Saddles};
use crate::trace::{ContourOptions, Geometry};
use ties::{NO_FRAGMENT, Ties};

/// What is found in a band.
pub(in crate::trace) struct BandBorders<V = ()> {
    pub(in super::super) pool: Pool<V>,
    /// The fragments that enter and leave over the upper and the lower rim.
    pub(in super::super) crossings: [Crossings; 2],
    pub(in super::super) saddles: OpenSaddles<V>,
    /// The fragments that begin, and that end, at each half of the saddles: at the upper foreground
    /// pixel and at the lower one. A half beyond the rim has none.
    pub(in super::super) begins: Vec<[Name; 2]>,
    pub(in super::super) ends: Vec<[Name; 2]>,
}

/// The fragments that cross a rim.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Crossings {
    /// Those that enter, in their order.
    pub(in super::super) entries: Vec<Name>,
    /// Those that leave, in the order of the entries of the part beyond.
    pub(in super::super) exits: Vec<Name>,
}

/// Traces a band in strips that all cores share.
pub(in super::super) fn trace_band(
    band: Band<'_>,
    options: &ContourOptions,
) -> Result<BandBorders> {
    let rows = strip_rows(band.width(), band.height(), rayon::current_num_threads());
    trace_band_in_strips(band, rows, options)
}

pub(in super::super) fn trace_band_in_strips(
    band: Band<'_>,
    rows: u32,
    options: &ContourOptions,
) -> Result<BandBorders> {
    let (kept, _) = KeptPoints::of(options);
    let (walls, saddles) = match options.geometry {
        Geometry::Centers => (None, OpenSaddles::default()),
        Geometry::Edges => {
            let (walls, open) = Saddles::of_band(band)?;
            (Some(walls), open)
        }
    };
    let first_row = band.rows().start;
    follow_in_strips(band, first_row, (walls, saddles), (rows, kept), |_| ())
}

/// Follows the borders of a band that begins with row `first_row` of the image: in strips of some
/// rows, along edges if there are saddles. `value` gives the value at a side, which is
/// [`SideKey::NONE`] if nothing depends on the value.
pub(in super::super) fn follow_in_strips<S: Strips, V: RegionValue>(
    band: S,
    first_row: u32,
    (walls, saddles): (Option<Saddles>, OpenSaddles<V>),
    (rows, kept): (u32, KeptPoints),
    value: impl Fn(SideKey) -> V + Sync,
) -> Result<BandBorders<V>> {
    let open = &saddles.saddles;
    let mut strips = follow(band, walls.as_ref(), open, rows, kept, &Progress::SILENT)?;
    drop(walls);
    let (mut fragments, first_fragments) = gather(&mut strips)?;
    let ties = Ties::tie(
        &mut fragments,
        &first_fragments,
        &strips,
        saddles.saddles.len(),
    )?;
    let rings = rings(fragments, first_fragments)?;
    let numbered = Numbered::new(&strips, &rings, &ties)?;
    let parts = Assembly {
        strips: &strips,
        rings: &rings,
        numbered: &numbered,
        first_row,
        value,
    };
    let pool = parts.pool()?;
    let names = |fragments: &[FragmentId]| -> Result<Vec<Name>> {
        let mut names = with_room(fragments.len(), "the fragments of borders")?;
        names.extend(fragments.iter().map(|&id| numbered.path_of[id as usize]));
        Ok(names)
    };
    let halves = |fragments: &[FragmentId]| -> Result<Vec<[Name; 2]>> {
        let mut halves = with_room(fragments.len() / 2, "the open saddles")?;
        halves.extend(fragments.as_chunks::<2>().0.iter().map(|halves| {
            halves.map(|id| match id {
                NO_FRAGMENT => Name::MAX,
                id => numbered.path_of[id as usize],
            })
        }));
        Ok(halves)
    };
    let [above, below] = &ties.crossings;
    Ok(BandBorders {
        pool,
        crossings: [
            Crossings {
                entries: names(&above.entries)?,
                exits: names(&above.exits)?,
            },
            Crossings {
                entries: names(&below.entries)?,
                exits: names(&below.exits)?,
            },
        ],
        begins: halves(&ties.begins)?,
        ends: halves(&ties.ends)?,
        saddles,
    })
}

/// The numbers of borders and of paths. A path is what remains of a ring where its ties are cut.
struct Numbered {
    /// The index of the first closed border of each strip, then their number.
    first_closed: Vec<u32>,
    /// The border that each ring is, or [`CUT`].
    border_of: Vec<u32>,
    /// The rings that are borders.
    whole: Vec<u32>,
    /// The fragments of the paths, one path after the other.
    path_fragments: Vec<FragmentId>,
    /// The end of each path in these.
    path_ends: Vec<usize>,
    /// The path of each fragment of a cut ring.
    path_of: Vec<u32>,
}

/// Sentinel in `border_of`: the ring is cut.
const CUT: u32 = u32::MAX;

impl Numbered {
    fn new(strips: &[Strip], rings: &Rings, ties: &Ties) -> Result<Self> {
        const WHAT: &str = "the fragments of borders";
        let mut first_closed = with_room(strips.len() + 1, "the strips")?;
        let mut count = 0u64;
        for strip in strips {
            first_closed.push(count as u32);
            count += strip.closed.len() as u64;
            check_count(count)?;
        }
        first_closed.push(count as u32);
        check_count(count + rings.rings.len() as u64)?;

        let mut this = Self {
            first_closed,
            border_of: zeroed_vec(rings.rings.len(), WHAT)?,
            whole: Vec::new(),
            path_fragments: Vec::new(),
            path_ends: Vec::new(),
            path_of: zeroed_vec(rings.fragments.len(), WHAT)?,
        };
        for (i, word) in ties.is_begin.iter().enumerate() {
            let mut word = *word;
            while word != 0 {
                let id = i as u32 * 64 + word.trailing_zeros();
                word &= word - 1;
                this.border_of[rings.ring_of(id) as usize] = CUT;
            }
        }
        reserve(&mut this.whole, rings.rings.len(), WHAT)?;
        for ring in 0..rings.rings.len() as u32 {
            if this.border_of[ring as usize] != CUT {
                this.border_of[ring as usize] = count as u32;
                count += 1;
                this.whole.push(ring);
                continue;
            }
            let fragments = rings.fragments_of(ring);
            let (before, first) = match fragments.clone().position(|id| ties.is_begin(id)) {
                Some(first) => (first, first),
                None => (0, 0),
            };
            let turned = fragments.clone().skip(first).chain(fragments.take(before));
            for id in turned {
                reserve(&mut this.path_fragments, 1, WHAT)?;
                if ties.is_begin(id) {
                    reserve(&mut this.path_ends, 1, WHAT)?;
                    this.path_ends.push(0);
                }
                this.path_fragments.push(id);
                let path = this.path_ends.len() - 1;
                this.path_ends[path] = this.path_fragments.len();
                this.path_of[id as usize] = path as u32;
            }
        }
        Ok(this)
    }

    /// The fragments of a path.
    fn path(&self, path: usize) -> &[FragmentId] {
        let begin = match path {
            0 => 0,
            _ => self.path_ends[path - 1],
        };
        &self.path_fragments[begin..self.path_ends[path]]
    }
}

/// Steps of one strip that belong to one piece.
struct Stretch {
    strip: u32,
    steps: [u32; 2],
    piece: u32,
}

/// Steps that one task has encoded.
struct Encoded {
    bytes: Vec<u8>,
    /// The pieces that they belong to, each with the number of its bytes.
    pieces: Vec<(u32, u64)>,
}

/// Steps of borders that one task has encoded, with the borders and their pieces.
type EncodedBorders<V> = (Vec<u8>, Vec<Border<V>>, Vec<Piece>);

/// The fewest steps that are worth a task.
const LEAST_STEPS: u64 = 1 << 16;

struct Assembly<'a, F> {
    strips: &'a [Strip],
    rings: &'a Rings,
    numbered: &'a Numbered,
    /// The band's first row.
    first_row: u32,
    /// The value at a side.
    value: F,
}

impl<V: RegionValue, F: Fn(SideKey) -> V + Sync> Assembly<'_, F> {
    fn pool(&self) -> Result<Pool<V>> {
        let mut pool = Pool::new(Store::in_memory());
        let closed = self.numbered.first_closed[self.strips.len()] as usize;
        let borders = closed + self.numbered.whole.len();
        let paths = self.numbered.path_ends.len();
        reserve(&mut pool.borders, borders, "the borders")?;
        reserve(&mut pool.fragments, paths, "the fragments of borders")?;
        reserve(&mut pool.fates, paths, "the fragments of borders")?;
        reserve(
            &mut pool.pieces,
            borders + 2 * paths,
            "the pieces of borders",
        )?;
        self.closed(&mut pool)?;

        let mut stretches = Vec::new();
        for &ring in &self.numbered.whole {
            self.ring(ring, &mut pool, &mut stretches)?;
        }
        for path in 0..paths {
            self.path(path, &mut pool, &mut stretches)?;
        }
        self.encode(&stretches, &mut pool)?;
        Ok(pool)
    }

    /// Adds the borders that are closed in a strip.
    fn closed(&self, pool: &mut Pool<V>) -> Result<()> {
        let encoded: Vec<EncodedBorders<V>> = self
            .strips
            .par_iter()
            .enumerate()
            .map(|(i, strip)| self.closed_of(i, strip))
            .collect::<Result<_>>()?;
        for (bytes, borders, pieces) in encoded {
            pool.add_borders(&borders, &pieces);
            pool.store.push(bytes)?;
        }
        Ok(())
    }

    fn closed_of(&self, i: usize, strip: &Strip) -> Result<EncodedBorders<V>> {
        let mut bytes = Vec::new();
        let mut borders = with_room(strip.closed.len(), "the borders")?;
        let mut pieces = with_room(strip.closed.len(), "the pieces of borders")?;
        let mut begin = self.rings.steps_of_fragments(i) as usize;
        for closed in &strip.closed {
            let steps = &strip.steps[begin..closed.steps_end as usize];
            begin = closed.steps_end as usize;
            let piece = match steps {
                [] => NO_PIECE,
                _ => pieces.len() as u32,
            };
            if piece != NO_PIECE {
                let offset = bytes.len();
                encode(steps, &mut bytes)?;
                pieces.push(Piece {
                    offset: offset as u64,
                    bytes: (bytes.len() - offset) as u32,
                    next: NO_PIECE,
                });
            }
            borders.push(Border {
                key: self.key(closed.side),
                length: Length::new(closed.points.into(), steps.last().copied().unwrap_or(0)),
                first_piece: piece,
                before: self.item(i, closed.before),
                value: (self.value)(closed.side),
            });
        }
        bytes.shrink_to_fit();
        Ok((bytes, borders, pieces))
    }

    /// Adds a ring that is a border; its steps go to `stretches`.
    fn ring(&self, ring: u32, pool: &mut Pool<V>, stretches: &mut Vec<Stretch>) -> Result<()> {
        let piece = pool.pieces.len() as u32;
        let count = self.rings.piece_count(ring);
        reserve(stretches, count as usize, "the fragments of borders")?;
        for i in 0..count {
            let own = self.rings.piece(ring, i);
            self.stretch(own.fragment, own.part, piece, stretches);
        }
        let ring = &self.rings.rings[ring as usize];
        let leader = &self.rings.fragments[ring.leader as usize];
        pool.pieces.push(UNKNOWN);
        pool.borders.push(Border {
            key: self.key(leader.side),
            length: Length::new(ring.points as u64, self.step_to_start(leader)),
            first_piece: piece,
            before: self.item(leader.strip as usize, leader.before),
            value: (self.value)(leader.side),
        });
        Ok(())
    }

    /// Adds a path; its steps go to `stretches`.
    fn path(&self, path: usize, pool: &mut Pool<V>, stretches: &mut Vec<Stretch>) -> Result<()> {
        let fragments = self.numbered.path(path);
        reserve(stretches, fragments.len() + 1, "the fragments of borders")?;
        let mut open = OpenFragment {
            key: Key::NONE,
            before: NO_ITEM,
            value: (self.value)(SideKey::NONE),
            step_in: 0,
            points: 0,
            head: List::EMPTY,
            tail: List::EMPTY,
        };
        let mut leader = fragments.len();
        for (i, &id) in fragments.iter().enumerate() {
            let fragment = &self.rings.fragments[id as usize];
            open.points += u64::from(fragment.points);
            let key = self.key(fragment.side);
            if key < open.key {
                open.key = key;
                open.before = self.item(fragment.strip as usize, fragment.before);
                open.value = (self.value)(fragment.side);
                open.step_in = self.step_to_start(fragment);
                leader = i;
            }
        }
        let mut add = |parts: &mut dyn Iterator<Item = (FragmentId, Part)>| {
            let (piece, before) = (pool.pieces.len() as u32, stretches.len());
            for (id, part) in parts {
                self.stretch(id, part, piece, stretches);
            }
            if stretches.len() == before {
                return List::EMPTY;
            }
            pool.pieces.push(UNKNOWN);
            List::of(piece)
        };
        let (head, rest) = fragments.split_at(leader);
        let whole = |&id: &FragmentId| (id, Part::Whole);
        let [head_end, tail_start] =
            [Part::Head, Part::Tail].map(|part| rest.first().map(|&id| (id, part)));
        open.head = add(&mut head.iter().map(whole).chain(head_end));
        open.tail = add(&mut tail_start.into_iter().chain(rest.iter().skip(1).map(whole)));
        pool.fates.push(Fate::Fragment(path as u32));
        pool.fragments.push(open);
        Ok(())
    }

    /// Lists the steps of a part of a fragment, if there are any.
    fn stretch(&self, id: FragmentId, part: Part, piece: u32, stretches: &mut Vec<Stretch>) {
        let fragment = &self.rings.fragments[id as usize];
        let [begin, end] = fragment.steps;
        let start = begin + fragment.steps_before;
        let steps = match part {
            Part::Whole => [begin, end],
            Part::Head => [begin, start],
            Part::Tail => [start, end],
        };
        if steps[0] < steps[1] {
            stretches.push(Stretch {
                strip: fragment.strip,
                steps,
                piece,
            });
        }
    }

    /// Encodes stretches, sorted by piece, and sets each piece's place in the store.
    fn encode(&self, stretches: &[Stretch], pool: &mut Pool<V>) -> Result<()> {
        // Shares of the same number of steps, whatever the length of pieces.
        let mut shares: Vec<Range<usize>> = Vec::new();
        let (mut begin, mut steps) = (0, 0);
        for (i, stretch) in stretches.iter().enumerate() {
            steps += u64::from(stretch.steps[1] - stretch.steps[0]);
            if steps >= LEAST_STEPS || i + 1 == stretches.len() {
                reserve(&mut shares, 1, "the fragments of borders")?;
                shares.push(begin..i + 1);
                (begin, steps) = (i + 1, 0);
            }
        }
        let encode = |share: Range<usize>| -> Result<Encoded> {
            let mut bytes = Vec::new();
            let mut pieces: Vec<(u32, u64)> = Vec::new();
            for stretch in &stretches[share] {
                let [begin, end] = stretch.steps.map(|step| step as usize);
                let steps = &self.strips[stretch.strip as usize].steps[begin..end];
                let before = bytes.len();
                encode(steps, &mut bytes)?;
                let len = (bytes.len() - before) as u64;
                match pieces.last_mut() {
                    Some((piece, sum)) if *piece == stretch.piece => *sum += len,
                    _ => {
                        reserve(&mut pieces, 1, "the pieces of borders")?;
                        pieces.push((stretch.piece, len));
                    }
                }
            }
            bytes.shrink_to_fit();
            Ok(Encoded { bytes, pieces })
        };
        let encoded: Vec<_> = shares.into_par_iter().map(encode).collect::<Result<_>>()?;
        for Encoded { bytes, pieces } in encoded {
            let mut offset = pool.store.end();
            for (id, len) in pieces {
                let piece = &mut pool.pieces[id as usize];
                if piece.bytes == 0 {
                    piece.offset = offset;
                }
                let sum = u64::from(piece.bytes) + len;
                piece.bytes = u32::try_from(sum).map_err(|_| Error::TooMany {
                    what: "bytes of a border's chain code in a band",
                    limit: u32::MAX.into(),
                })?;
                offset += len;
            }
            pool.store.push(bytes)?;
        }
        Ok(())
    }

    /// The direction of the step to a border's start, in the fragment where the border starts.
    fn step_to_start(&self, fragment: &Fragment) -> Direction {
        match fragment.steps_before.checked_sub(1) {
            Some(before) => {
                let steps = &self.strips[fragment.strip as usize].steps;
                steps[(fragment.steps[0] + before) as usize]
            }
            None => fragment.step_in,
        }
    }

    fn key(&self, side: SideKey) -> Key {
        if side == SideKey::NONE {
            return Key::NONE;
        }
        Key(u64::from(side.y + self.first_row) << 32 | u64::from(side.column_and_side()))
    }

    /// The band's item for a fragment or closed border of a strip.
    fn item(&self, strip: usize, id: FragmentId) -> Item {
        if id == NO_BORDER {
            return NO_ITEM;
        }
        let first = self.rings.first_fragments[strip];
        let fragments = self.rings.first_fragments[strip + 1] - first;
        if id >= fragments {
            return border_item(self.numbered.first_closed[strip] + (id - fragments));
        }
        let fragment = first + id;
        match self.numbered.border_of[self.rings.ring_of(fragment) as usize] {
            CUT => self.numbered.path_of[fragment as usize],
            border => border_item(border),
        }
    }
}

/// A piece whose bytes are not written yet.
const UNKNOWN: Piece = Piece {
    offset: 0,
    bytes: 0,
    next: NO_PIECE,
};
