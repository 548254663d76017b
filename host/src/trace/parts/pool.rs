//! [`Pool`]: the borders of a part, and the fragments of those that leave it.
//!
//! A fragment is two lists of **pieces**: the steps before the first vertical side that it passes,
//! and those from there on. If the border starts at that side, the first list follows the second
//! one. A piece is a range of bytes in the [`Store`]. Linking two fragments appends their lists.
//!
//! The item before a start in its row is a border or a fragment, and the fragment may be linked to
//! others later. Fragments therefore have permanent names, and a forest leads from a name to what
//! has become of it.

use super::store::Store;
use crate::bytes::Number;
use crate::error::{Error, Result};
use crate::image::PixelValue;
use crate::memory::reserve;
use crate::trace::contours::BorderKind;
use crate::trace::cpu::chains::Direction;

/// A vertical side of a pixel, and so a possible start of a border: its number in raster order,
/// with the row in the upper 32 bits, and twice the column, plus 1 for an east side, in the lower
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Key(pub(in super::super) u64);

impl Key {
    /// Sentinel: after all sides.
    pub(in super::super) const NONE: Self = Self(u64::MAX);

    /// The kind of the border that starts here.
    pub(super) fn kind(self) -> BorderKind {
        if self.0 & 1 == 0 {
            BorderKind::Outer
        } else {
            BorderKind::Hole
        }
    }

    /// The pixel.
    pub(super) fn pixel(self) -> (u32, u32) {
        (self.0 as u32 >> 1, (self.0 >> 32) as u32)
    }
}

/// A fragment's name.
pub(in super::super) type Name = u32;

/// A border, by its index with the flag [`BORDER`]; or a fragment, by its name.
pub(in super::super) type Item = u32;

/// Marks a border among items.
pub(super) const BORDER: Item = 1 << 31;

/// Sentinel: no item.
pub(in super::super) const NO_ITEM: Item = Item::MAX;

/// The most borders, and the most names, that fit an item.
pub(super) const MOST: usize = (BORDER - 1) as usize;

const FRAGMENTS: &str = "fragments of borders";

/// The item of border `index`.
pub(in super::super) fn border_item(index: u32) -> Item {
    BORDER | index
}

/// The number of a border's points, and the direction of the step to its first one.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Length(pub(super) u64);

impl Length {
    pub(in super::super) fn new(points: u64, step_in: Direction) -> Self {
        Self(points << 3 | u64::from(step_in))
    }

    pub(super) fn points(self) -> u64 {
        self.0 >> 3
    }

    pub(super) fn step_in(self) -> Direction {
        self.0 as u8 & 7
    }
}

/// A border, all of which is in the part.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Border<V = ()> {
    /// The side where it starts.
    pub(in super::super) key: Key,
    pub(in super::super) length: Length,
    /// Its first piece, or [`NO_PIECE`].
    pub(in super::super) first_piece: u32,
    /// The item that passes the side before its start.
    pub(in super::super) before: Item,
    /// Its region's.
    pub(in super::super) value: V,
}

/// A stretch of a border that leaves the part at both ends.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Fragment<V = ()> {
    /// The first side in raster order that it passes, the item that passes the side before, and
    /// the value there; without meaning if it passes no vertical side.
    pub(in super::super) key: Key,
    pub(in super::super) before: Item,
    pub(in super::super) value: V,
    /// The direction of the step to the start of a border that starts at `key`.
    pub(in super::super) step_in: Direction,
    /// The number of points.
    pub(in super::super) points: u64,
    /// The steps before that point, and from it on.
    pub(in super::super) head: List,
    pub(in super::super) tail: List,
}

/// Pieces one after the other.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct List {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl List {
    pub(in super::super) const EMPTY: Self = Self {
        first: NO_PIECE,
        last: NO_PIECE,
    };

    /// One piece.
    pub(in super::super) fn of(piece: u32) -> Self {
        Self {
            first: piece,
            last: piece,
        }
    }
}

/// A range of bytes of the store that encodes steps.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Piece {
    pub(in super::super) offset: u64,
    pub(in super::super) bytes: u32,
    /// The piece after it in its list.
    pub(in super::super) next: u32,
}

/// Sentinel: no piece.
pub(in super::super) const NO_PIECE: u32 = u32::MAX;

/// What has become of a name.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Fate {
    /// A fragment, by its index.
    Fragment(u32),
    /// That of another name.
    Name(Name),
    /// A border, by its index.
    Border(u32),
}

/// What is kept of the region that a border belongs to, besides the border: its value, or nothing
/// where all regions are foreground.
pub(in crate::trace) trait RegionValue:
    Copy + PartialEq + std::fmt::Debug + Number + Send + Sync
{
    /// The type's number in parts' bytes; 0 for nothing.
    const TYPE: u8;
}

impl RegionValue for () {
    const TYPE: u8 = 0;
}

impl<T: PixelValue> RegionValue for T {
    const TYPE: u8 = <T as crate::image::Key>::TYPE;
}

/// Borders and fragments.
#[derive(Debug)]
pub(in super::super) struct Pool<V = ()> {
    pub(in super::super) borders: Vec<Border<V>>,
    pub(in super::super) fragments: Vec<Fragment<V>>,
    /// The indices of `fragments` that are unused.
    free: Vec<u32>,
    /// By name.
    pub(in super::super) fates: Vec<Fate>,
    pub(in super::super) pieces: Vec<Piece>,
    pub(in super::super) store: Store,
}

impl<V: RegionValue> Pool<V> {
    pub(in super::super) fn new(store: Store) -> Self {
        Self {
            borders: Vec::new(),
            fragments: Vec::new(),
            free: Vec::new(),
            fates: Vec::new(),
            pieces: Vec::new(),
            store,
        }
    }

    /// Adds borders and their pieces. Their piece indices count from the first piece given here,
    /// and their offsets from the next byte that is stored. There must be room for them.
    pub(in super::super) fn add_borders(&mut self, borders: &[Border<V>], pieces: &[Piece]) {
        let (first_piece, first_byte) = (self.pieces.len() as u32, self.store.end());
        self.borders.extend(borders.iter().map(|border| Border {
            first_piece: match border.first_piece {
                NO_PIECE => NO_PIECE,
                piece => piece + first_piece,
            },
            ..*border
        }));
        self.pieces.extend(pieces.iter().map(|piece| Piece {
            offset: piece.offset + first_byte,
            ..*piece
        }));
    }

    /// A copy, with the steps in memory.
    pub(super) fn try_clone(&self) -> Result<Self> {
        fn copy<T: Copy>(values: &[T]) -> Result<Vec<T>> {
            let mut copy = Vec::new();
            reserve(&mut copy, values.len(), "the borders")?;
            copy.extend_from_slice(values);
            Ok(copy)
        }
        Ok(Self {
            borders: copy(&self.borders)?,
            fragments: copy(&self.fragments)?,
            free: copy(&self.free)?,
            fates: copy(&self.fates)?,
            pieces: copy(&self.pieces)?,
            store: self.store.try_clone()?,
        })
    }

    /// The number of fragments.
    pub(super) fn open(&self) -> usize {
        self.fragments.len() - self.free.len()
    }

    /// The cost of [`absorb`](Self::absorb)ing it: the number of elements to copy.
    pub(super) fn size(&self) -> usize {
        self.borders.len() + self.fates.len() + self.pieces.len()
    }

    /// Moves another pool into this one. Returns the number that is added to its names.
    pub(super) fn absorb(&mut self, other: Self) -> Result<Name> {
        check(self.borders.len() + other.borders.len(), MOST, "borders")?;
        check(self.fates.len() + other.fates.len(), MOST, FRAGMENTS)?;
        let pieces = self.pieces.len() + other.pieces.len();
        check(pieces, NO_PIECE as usize, "pieces of borders")?;
        let (first_border, first_name) = (self.borders.len() as u32, self.fates.len() as Name);
        let (first_piece, first_byte) = (self.pieces.len() as u32, self.store.end());
        let item = |item: Item| match item {
            NO_ITEM => NO_ITEM,
            BORDER.. => item + first_border,
            _ => item + first_name,
        };
        let piece = |piece: u32| match piece {
            NO_PIECE => NO_PIECE,
            _ => piece + first_piece,
        };
        let list = |List { first, last }| List {
            first: piece(first),
            last: piece(last),
        };

        self.store.append(other.store)?;
        reserve(&mut self.borders, other.borders.len(), "the borders")?;
        self.borders
            .extend(other.borders.iter().map(|border| Border {
                first_piece: piece(border.first_piece),
                before: item(border.before),
                ..*border
            }));
        reserve(
            &mut self.pieces,
            other.pieces.len(),
            "the pieces of borders",
        )?;
        self.pieces.extend(other.pieces.iter().map(|own| Piece {
            offset: own.offset + first_byte,
            next: piece(own.next),
            ..*own
        }));
        reserve(&mut self.fates, other.fates.len(), FRAGMENTS)?;
        reserve(&mut self.fragments, other.fragments.len(), FRAGMENTS)?;
        for &fate in &other.fates {
            let fate = match fate {
                Fate::Name(name) => Fate::Name(name + first_name),
                Fate::Border(border) => Fate::Border(border + first_border),
                Fate::Fragment(fragment) => {
                    let fragment = other.fragments[fragment as usize];
                    let fragment = Fragment {
                        before: item(fragment.before),
                        head: list(fragment.head),
                        tail: list(fragment.tail),
                        ..fragment
                    };
                    Fate::Fragment(self.place(fragment))
                }
            };
            self.fates.push(fate);
        }
        Ok(first_name)
    }

    /// Stores a fragment in a free slot, or a new one.
    fn place(&mut self, fragment: Fragment<V>) -> u32 {
        match self.free.pop() {
            Some(free) => {
                self.fragments[free as usize] = fragment;
                free
            }
            None => {
                self.fragments.push(fragment);
                self.fragments.len() as u32 - 1
            }
        }
    }

    /// The root of a name: the name with the same fate, which is no other name.
    pub(super) fn find(&mut self, mut name: Name) -> Name {
        loop {
            let Fate::Name(next) = self.fates[name as usize] else {
                return name;
            };
            // Halve the path for later searches.
            if let Fate::Name(after) = self.fates[next as usize] {
                self.fates[name as usize] = Fate::Name(after);
            }
            name = next;
        }
    }

    /// The border that an item has become; `None` if it is a fragment or nothing.
    pub(super) fn border_of(&mut self, item: Item) -> Option<u32> {
        match item {
            NO_ITEM => None,
            BORDER.. => Some(item & !BORDER),
            name => {
                let name = self.find(name);
                match self.fates[name as usize] {
                    Fate::Border(border) => Some(border),
                    _ => None,
                }
            }
        }
    }

    /// Links the fragment that `end` has become to the one that `begin` has become and that
    /// continues it. A fragment that is linked to itself is a border.
    pub(super) fn link(&mut self, end: Name, begin: Name) -> Result<()> {
        let (a, b) = (self.find(end), self.find(begin));
        let (Fate::Fragment(first), Fate::Fragment(second)) =
            (self.fates[a as usize], self.fates[b as usize])
        else {
            unreachable!("a border has no ends");
        };
        let fragment = self.fragments[first as usize];
        reserve(&mut self.free, 1, FRAGMENTS)?;
        if a == b {
            let steps = self.append(fragment.tail, fragment.head);
            check(self.borders.len() + 1, MOST, "borders")?;
            reserve(&mut self.borders, 1, "the borders")?;
            self.fates[a as usize] = Fate::Border(self.borders.len() as u32);
            self.borders.push(Border {
                key: fragment.key,
                length: Length::new(fragment.points, fragment.step_in),
                first_piece: steps.first,
                before: fragment.before,
                value: fragment.value,
            });
            self.free.push(first);
            return Ok(());
        }
        let next = self.fragments[second as usize];
        let points = fragment.points + next.points;
        self.fragments[first as usize] = if fragment.key < next.key {
            let tail = self.append(fragment.tail, next.head);
            Fragment {
                points,
                tail: self.append(tail, next.tail),
                ..fragment
            }
        } else {
            let head = self.append(fragment.head, fragment.tail);
            Fragment {
                points,
                head: self.append(head, next.head),
                ..next
            }
        };
        self.free.push(second);
        self.fates[b as usize] = Fate::Name(a);
        Ok(())
    }

    /// Appends a list to another. Two pieces with adjacent bytes become one.
    fn append(&mut self, list: List, next: List) -> List {
        if list.last == NO_PIECE {
            return next;
        }
        if next.first == NO_PIECE {
            return list;
        }
        let following = self.pieces[next.first as usize];
        let last = &mut self.pieces[list.last as usize];
        let follows = last.offset + u64::from(last.bytes) == following.offset;
        match last.bytes.checked_add(following.bytes) {
            Some(bytes) if follows => {
                last.bytes = bytes;
                last.next = following.next;
                List {
                    first: list.first,
                    last: match following.next {
                        NO_PIECE => list.last,
                        _ => next.last,
                    },
                }
            }
            _ => {
                last.next = next.first;
                List {
                    first: list.first,
                    last: next.last,
                }
            }
        }
    }
}

fn check(count: usize, limit: usize, what: &'static str) -> Result<()> {
    if count > limit {
        return Err(Error::TooMany {
            what,
            limit: limit as u64,
        });
    }
    Ok(())
}
