//! Parts as bytes, to be sent to other processes.
//!
//! Borders and fragments are written with all their steps in one piece, or in two, and fragments
//! get new names, without gaps. What joining has left unused in the pool is not written.

use std::ops::Range;

use super::follow_band::Crossings;
use super::part::{ContourPart, Half, OpenSaddle, Outline, Part, Rim, SADDLES, connectivity_of};
use super::pool::{
    BORDER, Border, Fate, Fragment, Item, Key, Length, List, MOST, NO_ITEM, NO_PIECE, Name, Piece,
    Pool, RegionValue,
};
use super::store::{Segments, Store};
use crate::bytes::{Number, Reader, Writer};
use crate::error::{Error, Result};
use crate::label::Connectivity;
use crate::memory::{extend_from_slice, reserve, zeroed_vec};
use crate::trace::cpu::saddles::{ENDED, RimRun};
use crate::trace::{Approximation, ContourOptions, Geometry, Retrieval};

/// Name of the bytes' content, in errors.
pub(super) const PART: &str = "a contour part";
const LETTERS: [u8; 4] = *b"TZCP";
const VERSION: u8 = 1;

const BORDERS: &str = "the borders";
const FRAGMENTS: &str = "fragments of borders";

/// The most points of one part that are accepted.
const MOST_POINTS: u128 = 1 << 56;

impl ContourPart {
    /// The part as bytes, which other processes and machines read by
    /// [`from_bytes`](Self::from_bytes).
    ///
    /// They take 28 bytes plus the steps per border, 45 plus the steps per fragment, and end with a
    /// hash of all other bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.0.to_bytes(LETTERS, PART)
    }

    /// The part that [`to_bytes`](Self::to_bytes) has written, in this version of the library or in
    /// another one with the same format.
    ///
    /// The bytes are checked here, and their borders in [`finish`](Self::finish): any bytes give
    /// either an error or contours within the image. Only whether they come from an image is
    /// unknown.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for bytes that are damaged, or not of a part;
    /// [`Error::OutOfMemory`].
    ///
    /// ```
    /// use trazar::BinaryImage;
    /// use trazar::trace::{Band, ContourOptions, ContourPart};
    ///
    /// let image = BinaryImage::from_art(".##\n.##")?;
    /// let part = ContourPart::trace(Band::new(&image, 0), &ContourOptions::default())?;
    /// let bytes = part.to_bytes()?;
    /// assert_eq!(ContourPart::from_bytes(&bytes)?.finish()?, part.finish()?);
    /// assert!(ContourPart::from_bytes(&bytes[1..]).is_err());
    /// # Ok::<(), trazar::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(Self(Part::from_bytes(bytes, LETTERS, PART)?))
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }
}

impl<V: RegionValue> Part<V> {
    /// The part as bytes that begin with `letters`; `what` names them in errors.
    pub(super) fn to_bytes(&self, letters: [u8; 4], what: &'static str) -> Result<Vec<u8>> {
        let pool = &self.pool;
        let Some(segments) = pool.store.segments() else {
            return Err(Error::PartNotWhole {
                first_row: self.rows.start,
                last_row: self.rows.end - 1,
            });
        };
        let (names, fragments) = new_names(pool)?;
        let item = |item: Item| match item {
            NO_ITEM => NO_ITEM,
            BORDER.. => item,
            name => match pool.fates[root(pool, name) as usize] {
                Fate::Border(border) => border | BORDER,
                _ => names[root(pool, name) as usize],
            },
        };
        let name = |name: &Name| names[root(pool, *name) as usize];

        let values = V::SIZE * (pool.borders.len() + fragments.len());
        let lists = 28 * pool.borders.len() + 45 * fragments.len();
        let room = 128 + lists + values + pool.store.end() as usize;
        let mut to = Writer::new(letters, VERSION, room, what)?;
        to.put(self.width);
        to.put(self.rows.start);
        to.put(self.rows.end);
        to.put(number_of(self.options.retrieval, &RETRIEVALS));
        to.put(number_of(self.options.approximation, &APPROXIMATIONS));
        to.put(number_of(self.options.geometry, &GEOMETRIES));
        if V::TYPE != 0 {
            to.put(V::TYPE);
            to.put(number_of(self.connectivity, &CONNECTIVITIES));
        }
        to.put(self.components);

        let borders = || pool.borders.iter();
        to.list(borders().map(|border| border.key.0))?;
        to.list(borders().map(|border| border.length.0))?;
        to.list(borders().map(|border| item(border.before)))?;
        to.list(borders().map(|border| length_of(pool, border.first_piece)))?;
        let open = || fragments.iter().map(|&at| &pool.fragments[at as usize]);
        to.list(open().map(|fragment| fragment.key.0))?;
        to.list(open().map(|fragment| fragment.points))?;
        to.list(open().map(|fragment| fragment.step_in))?;
        to.list(open().map(|fragment| item(fragment.before)))?;
        to.list(open().map(|fragment| length_of(pool, fragment.head.first)))?;
        to.list(open().map(|fragment| length_of(pool, fragment.tail.first)))?;
        if V::TYPE != 0 {
            to.list(borders().map(|border| border.value))?;
            to.list(open().map(|fragment| fragment.value))?;
        }
        let lists = borders().map(|border| border.first_piece);
        let heads = open().flat_map(|fragment| [fragment.head.first, fragment.tail.first]);
        put_steps(&mut to, pool, segments, lists.chain(heads))?;

        let half = |to: &mut Writer, half: &Half| {
            to.put(half.component);
            to.put(name(&half.end));
            to.put(name(&half.begin));
        };
        for rim in &self.outline.rims {
            to.put(u8::from(rim.is_some()));
            let Some(rim) = rim else { continue };
            to.put(rim.rows_hash);
            to.list(rim.crossings.entries.iter().map(name))?;
            to.list(rim.crossings.exits.iter().map(name))?;
            let runs = (12 + V::SIZE) * rim.runs.len();
            to.reserve(16 + 12 * rim.halves.len() + runs)?;
            to.put(rim.halves.len() as u64);
            rim.halves.iter().for_each(|own| half(&mut to, own));
            to.put(rim.runs.len() as u64);
            for run in &rim.runs {
                to.put(run.columns[0]);
                to.put(run.columns[1]);
                to.put(run.component);
                to.put(run.value);
            }
        }
        let saddles = &self.outline.saddles;
        to.reserve(8 + 24 * saddles.len())?;
        to.put(saddles.len() as u64);
        for OpenSaddle(halves) in saddles {
            halves.iter().for_each(|own| half(&mut to, own));
        }
        to.finish()
    }

    /// The part that [`to_bytes`](Self::to_bytes) has written.
    pub(super) fn from_bytes(bytes: &[u8], letters: [u8; 4], what: &'static str) -> Result<Self> {
        let mut from = Reader::new(bytes, letters, VERSION, what)?;
        let from = &mut from;
        let (width, rows) = from.width_and_rows()?;
        let options = ContourOptions::default()
            .retrieval(value_of(from, &RETRIEVALS)?)
            .approximation(value_of(from, &APPROXIMATIONS)?)
            .geometry(value_of(from, &GEOMETRIES)?);
        options.validate()?;
        let mut connectivity = connectivity_of(&options);
        if V::TYPE != 0 {
            let is_edges = options.geometry == Geometry::Edges;
            from.check(is_edges, "regions have rings along edges")?;
            let kind: u8 = from.get()?;
            from.check(kind == V::TYPE, "their values are of another type")?;
            connectivity = value_of(from, &CONNECTIVITIES)?;
        }
        let components: u32 = from.get()?;

        let pool = read_pool(from, width, &rows)?;
        let limits = Limits {
            width,
            components,
            fragments: pool.fragments.len(),
        };
        let rims = [limits.rim(from)?, limits.rim(from)?];
        let starts = rims[0].is_some() == (rows.start > 0);
        from.check(starts, "what is above the rows is missing")?;
        let mut saddles = Vec::new();
        let len = from.length(24)?;
        reserve(&mut saddles, len, SADDLES)?;
        for _ in 0..len {
            saddles.push(OpenSaddle([limits.half(from)?, limits.half(from)?]));
        }
        from.end()?;
        let runs: usize = rims.iter().flatten().map(|rim| rim.runs.len()).sum();
        from.check(components as usize <= runs, "a component touches no rim")?;
        let outline = Outline { rims, saddles };
        let right = limits.each_once(&outline)?;
        from.check(right, "a fragment does not begin once and end once")?;
        Ok(Self {
            width,
            rows,
            options,
            connectivity,
            pool,
            outline,
            components,
            is_foreign: true,
        })
    }

    pub(super) fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            rows: self.rows.clone(),
            pool: self.pool.try_clone()?,
            outline: self.outline.clone(),
            ..*self
        })
    }
}

const RETRIEVALS: [Retrieval; 4] = [
    Retrieval::External,
    Retrieval::List,
    Retrieval::Ccomp,
    Retrieval::Tree,
];
const APPROXIMATIONS: [Approximation; 4] = [
    Approximation::None,
    Approximation::Simple,
    Approximation::TehChinL1,
    Approximation::TehChinKCos,
];
const GEOMETRIES: [Geometry; 2] = [Geometry::Centers, Geometry::Edges];
const CONNECTIVITIES: [Connectivity; 2] = [Connectivity::Four, Connectivity::Eight];

fn number_of<T: Copy + PartialEq>(value: T, values: &[T]) -> u8 {
    let found = values.iter().position(|known| *known == value);
    found.map_or(u8::MAX, |number| number as u8)
}

fn value_of<T: Copy>(from: &mut Reader<'_>, values: &[T]) -> Result<T> {
    let number: u8 = from.get()?;
    let value = values.get(usize::from(number)).copied();
    value.ok_or_else(|| from.refusal(format!("there is no option {number}")))
}

/// The root of a name: the name with the same fate, which is no other name.
fn root<V: RegionValue>(pool: &Pool<V>, mut name: Name) -> Name {
    while let Fate::Name(next) = pool.fates[name as usize] {
        name = next;
    }
    name
}

/// The new name of each root that is a fragment's, and the fragments in the order of these names.
fn new_names<V: RegionValue>(pool: &Pool<V>) -> Result<(Vec<Name>, Vec<u32>)> {
    let mut names: Vec<Name> = zeroed_vec(pool.fates.len(), FRAGMENTS)?;
    let mut fragments = Vec::new();
    reserve(&mut fragments, pool.open(), FRAGMENTS)?;
    for (name, &fate) in names.iter_mut().zip(&pool.fates) {
        if let Fate::Fragment(fragment) = fate {
            *name = fragments.len() as Name;
            fragments.push(fragment);
        }
    }
    Ok((names, fragments))
}

/// The number of bytes of a list of pieces.
fn length_of<V: RegionValue>(pool: &Pool<V>, first: u32) -> u64 {
    pieces(pool, first)
        .map(|piece| u64::from(piece.bytes))
        .sum()
}

fn pieces<V>(pool: &Pool<V>, first: u32) -> impl Iterator<Item = &Piece> {
    let piece = |index: u32| pool.pieces.get(index as usize);
    std::iter::successors(piece(first), move |last| piece(last.next))
}

/// The bytes of lists of pieces, one after the other.
fn put_steps<V: RegionValue>(
    to: &mut Writer,
    pool: &Pool<V>,
    segments: &Segments,
    lists: impl Iterator<Item = u32> + Clone,
) -> Result<()> {
    let len: u64 = lists.clone().map(|first| length_of(pool, first)).sum();
    to.reserve(8 + len as usize)?;
    to.put(len);
    for piece in lists.flat_map(|first| pieces(pool, first)) {
        segments.read(piece.offset, piece.bytes as usize, to.bytes())?;
    }
    Ok(())
}

/// Lists of equal length.
fn columns<T: Number>(from: &mut Reader<'_>, len: usize) -> Result<Vec<T>> {
    let column = from.list()?;
    from.check(column.len() == len, "there is no value for each border")?;
    Ok(column)
}

fn read_pool<V: RegionValue>(
    from: &mut Reader<'_>,
    width: u32,
    rows: &Range<u32>,
) -> Result<Pool<V>> {
    let mut pool = Pool::new(Store::in_memory());
    let keys: Vec<u64> = from.list()?;
    let border_count = keys.len();
    let lengths: Vec<u64> = columns(from, border_count)?;
    let befores: Vec<u32> = columns(from, border_count)?;
    let border_bytes: Vec<u64> = columns(from, border_count)?;
    let fragment_keys: Vec<u64> = from.list()?;
    let fragment_count = fragment_keys.len();
    let points: Vec<u64> = columns(from, fragment_count)?;
    let steps_in: Vec<u8> = columns(from, fragment_count)?;
    let fragment_befores: Vec<u32> = columns(from, fragment_count)?;
    let heads: Vec<u64> = columns(from, fragment_count)?;
    let tails: Vec<u64> = columns(from, fragment_count)?;
    let values: [Vec<V>; 2] = match V::TYPE {
        0 => Default::default(),
        _ => [columns(from, border_count)?, columns(from, fragment_count)?],
    };
    // Values without a size are not in the bytes.
    let value = |list: usize, i: usize| values[list].get(i).copied().unwrap_or_else(|| V::get(&[]));
    let steps = from.raw()?;

    let few = border_count <= MOST && fragment_count <= MOST;
    from.check(few, "there are too many borders")?;
    let has_side = |&key: &u64| {
        let (x, y) = Key(key).pixel();
        x < width && rows.contains(&y)
    };
    // A fragment may pass no vertical side.
    let mut of_fragments = fragment_keys.iter().filter(|&&key| Key(key) != Key::NONE);
    let right = keys.iter().all(has_side) && of_fragments.all(has_side);
    from.check(right, "a border starts beyond the rows")?;
    let is_item = |&item: &Item| match item {
        NO_ITEM => true,
        BORDER.. => ((item & !BORDER) as usize) < border_count,
        name => (name as usize) < fragment_count,
    };
    let right = befores.iter().chain(&fragment_befores).all(is_item);
    from.check(right, "a border is missing")?;
    let of_borders = lengths
        .iter()
        .map(|&length| u128::from(Length(length).points()));
    let of_fragments = points.iter().map(|&points| u128::from(points));
    let right = of_borders.chain(of_fragments).sum::<u128>() <= MOST_POINTS;
    from.check(right, "there are too many points")?;
    let right = steps_in.iter().all(|&direction| direction < 8);
    from.check(right, "a border comes from nowhere")?;
    let lens = border_bytes.iter().chain(&heads).chain(&tails);
    let len: u128 = lens.map(|&len| u128::from(len)).sum();
    from.check(len == steps.len() as u128, "steps are missing")?;

    let mut own = Vec::new();
    extend_from_slice(&mut own, steps, "the chain codes of borders")?;
    pool.store.push(own)?;
    reserve(
        &mut pool.pieces,
        border_count + 2 * fragment_count,
        "the pieces of borders",
    )?;
    reserve(&mut pool.borders, border_count, BORDERS)?;
    let mut offset = 0;
    for i in 0..border_count {
        let steps = add_pieces(&mut pool, &mut offset, border_bytes[i])?;
        pool.borders.push(Border {
            key: Key(keys[i]),
            length: Length(lengths[i]),
            first_piece: steps.first,
            before: befores[i],
            value: value(0, i),
        });
    }
    reserve(&mut pool.fragments, fragment_count, FRAGMENTS)?;
    reserve(&mut pool.fates, fragment_count, FRAGMENTS)?;
    for i in 0..fragment_count {
        let head = add_pieces(&mut pool, &mut offset, heads[i])?;
        let tail = add_pieces(&mut pool, &mut offset, tails[i])?;
        pool.fragments.push(Fragment {
            key: Key(fragment_keys[i]),
            before: fragment_befores[i],
            value: value(1, i),
            step_in: steps_in[i],
            points: points[i],
            head,
            tail,
        });
        pool.fates.push(Fate::Fragment(i as u32));
    }
    Ok(pool)
}

/// The next bytes of the store as a list of as few pieces as possible.
fn add_pieces<V: RegionValue>(pool: &mut Pool<V>, offset: &mut u64, mut len: u64) -> Result<List> {
    let mut list = List::EMPTY;
    while len > 0 {
        let bytes = len.min(u32::MAX.into()) as u32;
        let piece = pool.pieces.len() as u32;
        // With all borders and fragments there are fewer than 2³² pieces, except for very long
        // ones.
        if piece == NO_PIECE {
            return Err(Error::TooMany {
                what: "pieces of borders",
                limit: NO_PIECE.into(),
            });
        }
        reserve(&mut pool.pieces, 1, "the pieces of borders")?;
        pool.pieces.push(Piece {
            offset: *offset,
            bytes,
            next: NO_PIECE,
        });
        match list.first {
            NO_PIECE => list.first = piece,
            _ => pool.pieces[list.last as usize].next = piece,
        }
        list.last = piece;
        *offset += u64::from(bytes);
        len -= u64::from(bytes);
    }
    Ok(list)
}

/// Upper limits, exclusive, for numbers in a part's outline.
struct Limits {
    width: u32,
    components: u32,
    fragments: usize,
}

impl Limits {
    fn rim<V: RegionValue>(&self, from: &mut Reader<'_>) -> Result<Option<Rim<V>>> {
        if from.get::<u8>()? == 0 {
            return Ok(None);
        }
        let rows_hash = from.get()?;
        let crossings = Crossings {
            entries: self.names(from)?,
            exits: self.names(from)?,
        };
        let mut halves = Vec::new();
        let len = from.length(12)?;
        reserve(&mut halves, len, SADDLES)?;
        for _ in 0..len {
            halves.push(self.half(from)?);
        }
        let mut runs = Vec::new();
        let len = from.length(12 + V::SIZE)?;
        reserve(&mut runs, len, "the runs at rims")?;
        let mut column = 0;
        for _ in 0..len {
            let run = RimRun {
                columns: [from.get()?, from.get()?],
                component: from.get()?,
                value: from.get()?,
            };
            let [begin, end] = run.columns;
            let right = column <= begin && begin < end && end <= self.width;
            from.check(
                right && run.component < self.components,
                "a run is at no rim",
            )?;
            column = end;
            runs.push(run);
        }
        Ok(Some(Rim {
            rows_hash,
            crossings,
            halves,
            runs,
        }))
    }

    fn names(&self, from: &mut Reader<'_>) -> Result<Vec<Name>> {
        let names: Vec<Name> = from.list()?;
        let right = names.iter().all(|&name| (name as usize) < self.fragments);
        from.check(right, "a fragment is missing")?;
        Ok(names)
    }

    fn half(&self, from: &mut Reader<'_>) -> Result<Half> {
        let half = Half {
            component: from.get()?,
            end: from.get()?,
            begin: from.get()?,
        };
        let right = (half.component < self.components || half.component == ENDED)
            && [half.end, half.begin]
                .iter()
                .all(|&name| (name as usize) < self.fragments);
        from.check(right, "a saddle has no fragments")?;
        Ok(half)
    }

    /// Whether each fragment begins at one place and ends at one: then all links made by joining
    /// are between fragments, and none remains at the end.
    fn each_once<V>(&self, outline: &Outline<V>) -> Result<bool> {
        let rims = || outline.rims.iter().flatten();
        let of_saddles = outline.saddles.iter().flat_map(|OpenSaddle(halves)| halves);
        let halves = || rims().flat_map(|rim| &rim.halves).chain(of_saddles.clone());
        let entries = rims().flat_map(|rim| rim.crossings.entries.iter().copied());
        let exits = rims().flat_map(|rim| rim.crossings.exits.iter().copied());
        let begins = entries.chain(halves().map(|half| half.begin));
        let ends = exits.chain(halves().map(|half| half.end));
        Ok(self.is_each_once(begins)? && self.is_each_once(ends)?)
    }

    fn is_each_once(&self, names: impl Iterator<Item = Name>) -> Result<bool> {
        let mut seen: Vec<u64> = zeroed_vec(self.fragments.div_ceil(64), FRAGMENTS)?;
        let mut count = 0;
        for name in names {
            let (word, bit) = (&mut seen[name as usize / 64], 1 << (name % 64));
            if *word & bit != 0 {
                return Ok(false);
            }
            *word |= bit;
            count += 1;
        }
        Ok(count == self.fragments)
    }
}
