//! Shares of contours, encoded on all threads and written in order.

use std::io::{self, Write};
use std::iter::Peekable;
use std::mem::{replace, swap, take};
use std::ops::Range;

use glam::IVec2;
use rayon::prelude::*;

use super::text::Text;
use crate::Result;
use crate::memory::push;
use crate::trace::{ContourSource, PointRoom, RangePoints};

/// Consecutive contours, the first of which is written.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Share {
    pub(super) contours: Range<usize>,
    /// At most how many points are written with them, or a guess.
    points: u64,
    /// At most how many points they have, or a guess.
    own_points: u64,
}

impl Share {
    /// The points of its contours.
    ///
    /// The range is empty if the contours that are written with earlier ones have too many points.
    /// A share that is encoded alone gives `None`: its contours are read in order.
    pub(super) fn read<'a>(
        &self,
        contours: &'a impl ContourSource,
        room: &'a mut PointRoom,
    ) -> Result<Option<RangePoints<'a>>> {
        if self.is_large() {
            return Ok(None);
        }
        let range = match self.own_points <= BATCH {
            true => self.contours.clone(),
            false => self.contours.start..self.contours.start,
        };
        contours.points_of_range(range, room).map(Some)
    }

    /// Whether it has too many points for a batch.
    fn is_large(&self) -> bool {
        self.points > BATCH
    }

    /// How many points it adds to a batch: at most [`BATCH`] if it is not large.
    fn cost(&self) -> u64 {
        match self.own_points <= BATCH {
            true => self.points.max(self.own_points),
            false => self.points,
        }
    }
}

/// What shares are encoded into: memory, or the output.
pub(super) type ShareText<'a> = Text<&'a mut dyn Write>;

/// The number of points from which a share is complete.
const SHARE: u64 = 1 << 14;

/// The most points of shares that are encoded at a time. Shares with more are encoded alone,
/// straight into the output.
const BATCH: u64 = 1 << 19;

/// Points of a contour, if their number is not known.
const GUESS: u64 = 64;

/// Shares of contours of which each is written by itself.
pub(super) fn single_shares(
    contours: &impl ContourSource,
    range: Range<usize>,
) -> impl Iterator<Item = Share> {
    shares(contours, range, |index| Some(own_points(contours, index)))
}

/// Shares of contours of which some, those that `is_first` is true for, are written with those
/// directly inside. The others are written with one before them, or not at all.
pub(super) fn family_shares(
    contours: &impl ContourSource,
    range: Range<usize>,
    is_first: impl Fn(usize) -> bool,
) -> impl Iterator<Item = Share> {
    shares(contours, range, move |index| {
        let family = || std::iter::once(index).chain(contours.children(index));
        is_first(index).then(|| family().map(|index| own_points(contours, index)).sum())
    })
}

/// `written` gives the number of points that are written with a contour, or `None` if the contour
/// is written with an earlier one. No share begins with such a contour.
fn shares(
    contours: &impl ContourSource,
    range: Range<usize>,
    written: impl Fn(usize) -> Option<u64>,
) -> impl Iterator<Item = Share> {
    let mut rest = range.map(move |index| (index, written(index))).peekable();
    std::iter::from_fn(move || {
        let (first, points) = rest.find(|(_, points)| points.is_some())?;
        let mut share = Share {
            contours: first..first + 1,
            points: points.unwrap_or(0),
            own_points: own_points(contours, first),
        };
        while let Some((index, points)) = rest.next_if(|(_, points)| {
            let is_complete = share.points >= SHARE || share.own_points >= BATCH;
            points.is_none_or(|points| !is_complete && points <= BATCH)
        }) {
            share.points += points.unwrap_or(0);
            share.own_points += own_points(contours, index);
            share.contours.end = index + 1;
        }
        Some(share)
    })
}

/// At most how many points a contour has, or a guess.
fn own_points(contours: &impl ContourSource, index: usize) -> u64 {
    contours.most_points(index).unwrap_or(GUESS)
}

/// Visits the points of a contour: all at once, those in `near` if they are there; or without
/// `near`, some at a time.
pub(super) fn visit_near(
    contours: &impl ContourSource,
    near: Option<RangePoints<'_>>,
    index: usize,
    visit: &mut dyn FnMut(&[IVec2]) -> Result<()>,
) -> Result<()> {
    match near.map(|near| near.get(index)) {
        Some(Some(points)) => visit(points),
        Some(None) => {
            let mut room = PointRoom::default();
            let alone = contours.points_of_range(index..index + 1, &mut room)?;
            visit(alone.get(index).unwrap_or_default())
        }
        None => contours.visit_points(index, visit),
    }
}

/// Encodes shares on all threads, and writes them to `out` in order, with `between` between
/// consecutive shares that are not empty. While some are written, the next ones are encoded.
///
/// Memory: two batches of 524,288 points, and what the encoders make of them.
///
/// # Errors
/// The first one of `encode`, in the order of the shares;
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory); [`Error::Write`](crate::Error::Write).
pub(super) fn write_shares(
    shares: impl Iterator<Item = Share>,
    encode: impl Fn(&Share, &mut PointRoom, &mut ShareText<'_>) -> Result<()> + Sync,
    between: &str,
    out: impl Write,
) -> Result<()> {
    crate::threads::ensure();
    let mut shares = shares.peekable();
    let mut out = Joined {
        out,
        between,
        is_empty: true,
        starts_part: false,
    };
    let (mut encoded, mut next) = (Batch::default(), Batch::default());
    loop {
        next.fill(&mut shares)?;
        let large = shares.next_if(Share::is_large);
        let is_end = next.len == 0 && large.is_none();
        if next.len > 1 {
            rayon::in_place_scope(|scope| {
                scope.spawn(|_| next.encode(&encode));
                encoded.write(&mut out)
            })?;
        } else {
            encoded.write(&mut out)?;
            next.encode(&encode);
        }
        swap(&mut encoded, &mut next);
        if let Some(share) = large {
            encoded.write(&mut out)?;
            out.starts_part = true;
            let mut text = Text::new(&mut out as &mut dyn Write)?;
            encode(&share, &mut PointRoom::default(), &mut text)?;
            text.into_buffer()?;
        }
        if is_end {
            return Ok(());
        }
    }
}

/// Sums up shares on all threads: `add` adds one to a sum that was `T::default()`, and `join` joins
/// two sums.
///
/// # Errors
/// One of those of `add`; [`Error::OutOfMemory`].
pub(super) fn sum_shares<T: Default + Send>(
    shares: impl Iterator<Item = Share>,
    add: impl Fn(&Share, &mut PointRoom, &mut T) -> Result<()> + Sync,
    join: impl Fn(T, T) -> T + Sync,
) -> Result<T> {
    crate::threads::ensure();
    let (mut small, mut sum) = (Vec::new(), T::default());
    for share in shares {
        if !share.is_large() {
            push(&mut small, share, "shares of contours")?;
        } else {
            // Several threads would hold several of them.
            add(&share, &mut PointRoom::default(), &mut sum)?;
        }
    }
    let sums = small
        .par_iter()
        .map_init(PointRoom::default, |room, share| {
            let mut sum = T::default();
            add(share, room, &mut sum).map(|()| sum)
        });
    let rest = sums.try_reduce(T::default, |a, b| Ok(join(a, b)))?;
    Ok(join(sum, rest))
}

/// Shares that are encoded at the same time.
#[derive(Default)]
struct Batch {
    /// A slot for each share, and others whose memory is kept.
    slots: Vec<Slot>,
    /// The number of shares.
    len: usize,
}

/// A share, and its bytes or the error that ended its encoding.
struct Slot {
    share: Share,
    room: PointRoom,
    bytes: Result<Vec<u8>>,
}

/// The most bytes of a slot's text, and of its points, that are kept for another share.
const MOST_KEPT: usize = 1 << 21;

impl Batch {
    /// Takes the next shares, up to one that is too large for it.
    fn fill(&mut self, shares: &mut Peekable<impl Iterator<Item = Share>>) -> Result<()> {
        self.len = 0;
        let mut points = 0;
        while let Some(share) =
            shares.next_if(|share| !share.is_large() && points + share.cost() <= BATCH)
        {
            points += share.cost();
            if let Some(slot) = self.slots.get_mut(self.len) {
                slot.share = share;
            } else {
                let slot = Slot {
                    share,
                    room: PointRoom::default(),
                    bytes: Ok(Vec::new()),
                };
                push(&mut self.slots, slot, "shares of contours")?;
            }
            self.len += 1;
        }
        Ok(())
    }

    /// Encodes its shares, several of them on all threads.
    fn encode(
        &mut self,
        encode: &(impl Fn(&Share, &mut PointRoom, &mut ShareText<'_>) -> Result<()> + Sync),
    ) {
        match &mut self.slots[..self.len] {
            [slot] => slot.encode(encode),
            slots => slots.par_iter_mut().for_each(|slot| slot.encode(encode)),
        }
    }

    /// Writes its shares, and leaves the batch empty.
    fn write(&mut self, out: &mut Joined<'_, impl Write>) -> Result<()> {
        for slot in &mut self.slots[..take(&mut self.len)] {
            let bytes = replace(&mut slot.bytes, Ok(Vec::new()))?;
            out.starts_part = true;
            out.write_all(&bytes)?;
            if bytes.capacity() <= MOST_KEPT {
                slot.bytes = Ok(bytes);
            }
            if slot.room.bytes() > MOST_KEPT {
                slot.room = PointRoom::default();
            }
        }
        Ok(())
    }
}

impl Slot {
    fn encode(
        &mut self,
        encode: impl Fn(&Share, &mut PointRoom, &mut ShareText<'_>) -> Result<()>,
    ) {
        let buffer = replace(&mut self.bytes, Ok(Vec::new()));
        let mut text = ShareText::in_memory(buffer.unwrap_or_default());
        let encoded = encode(&self.share, &mut self.room, &mut text);
        self.bytes = encoded.and_then(|()| text.into_buffer());
    }
}

/// An output of several parts, with a separator between consecutive parts that are not empty.
struct Joined<'a, W> {
    out: W,
    between: &'a str,
    /// Whether nothing has been written.
    is_empty: bool,
    /// Whether the next write begins a part.
    starts_part: bool,
}

impl<W: Write> Write for Joined<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // `write_all` writes nothing of an empty part.
        if take(&mut self.starts_part) && !self.is_empty {
            self.out.write_all(self.between.as_bytes())?;
        }
        self.is_empty = false;
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::HierarchyRow;
    use crate::{BorderKind, Error, Geometry};

    /// Contours of which only the numbers of points are known.
    struct Lengths(Vec<Option<u64>>);

    impl ContourSource for Lengths {
        fn width(&self) -> u32 {
            1
        }
        fn height(&self) -> u32 {
            1
        }
        fn geometry(&self) -> Geometry {
            Geometry::Edges
        }
        fn kinds(&self) -> &[BorderKind] {
            &[]
        }
        fn hierarchy(&self) -> &[HierarchyRow] {
            &[]
        }
        fn point_count(&self) -> Result<u64> {
            Ok(0)
        }
        fn points_of<'a>(&'a self, _: usize, _: &'a mut Vec<IVec2>) -> Result<&'a [IVec2]> {
            Ok(&[])
        }
        fn most_points(&self, index: usize) -> Option<u64> {
            self.0[index]
        }
    }

    /// Short contours, longer ones, one whose length is not known, and two that are encoded alone.
    fn lengths() -> Lengths {
        let mut lengths: Vec<_> = (0..4000).map(|i| Some(1000 + i % 7)).collect();
        for (at, length) in [(0, BATCH + 1), (5, SHARE), (6, BATCH), (999, BATCH + 1)] {
            lengths[at] = Some(length);
        }
        lengths[7] = None;
        Lengths(lengths)
    }

    #[test]
    fn shares_divide_contours_where_they_may() {
        let lengths = lengths();
        let own = |range: Range<usize>| range.map(|at| own_points(&lengths, at)).sum::<u64>();
        for every in [1, 3, 50, 700, 10_000] {
            let starts = |at: usize| at.is_multiple_of(every);
            let points = |at: usize| starts(at).then(|| own(at..at + 1));
            let mut at = 2usize.next_multiple_of(every);
            for share in shares(&lengths, 2..3900, points) {
                let Range { start, end } = share.contours;
                assert!(start == at && starts(start), "{start}");
                assert!(end == 3900 || starts(end), "{end}");
                let sum = |range: Range<usize>| range.filter_map(points).sum::<u64>();
                assert_eq!(share.points, sum(start..end));
                assert_eq!(share.own_points, own(start..end));
                // It ends at the first place where it may, once it is large enough.
                if let Some(last) = (start + 1..end).rfind(|&at| starts(at)) {
                    assert!(
                        sum(start..last) < SHARE && own(start..last) < BATCH,
                        "{start}..{end}"
                    );
                }
                let next_is_large = end < 3900 && own(end..end + 1) > BATCH;
                let is_enough = share.points >= SHARE || share.own_points >= BATCH;
                assert!(is_enough || next_is_large || end == 3900, "{start}..{end}");
                at = end;
            }
            assert!(at == 3900 || at > 3900 && every == 10_000);
        }
        assert_eq!(single_shares(&lengths, 5..5).next(), None);
    }

    #[test]
    fn batches_are_no_larger_than_they_may_be() {
        let lengths = lengths();
        let mut shares = single_shares(&lengths, 0..4000).peekable();
        let mut batch = Batch::default();
        let (mut at, mut batches) = (0, 0);
        loop {
            batch.fill(&mut shares).unwrap();
            let slots = batch.slots[..batch.len].iter();
            let mut points = 0;
            for share in slots.map(|slot| &slot.share) {
                assert_eq!(share.contours.start, at);
                at = share.contours.end;
                points += share.points;
            }
            assert!(points <= BATCH);
            batches += 1;
            if let Some(large) = shares.next_if(Share::is_large) {
                assert_eq!(large.contours, at..at + 1);
                at += 1;
            } else if batch.len == 0 {
                break;
            }
        }
        assert_eq!(at, 4000);
        // Few enough: 4 million points, in batches that are nearly full.
        assert!(batches < 16, "{batches}");
    }

    /// Points that are written with others are neither read without end nor twice at a time.
    #[test]
    fn shares_of_little_text_read_little() {
        let lengths = Lengths(vec![Some(BATCH / 4); 101]);
        let written = |at: usize| at.is_multiple_of(2).then_some(4);
        for share in shares(&lengths, 1..101, written) {
            assert!(share.contours.start.is_multiple_of(2));
            assert!(share.contours.len() <= 6, "{share:?}");
            assert!(share.cost() <= BATCH);
        }
        assert_eq!(shares(&lengths, 0..100, |_| None).next(), None);
    }

    #[test]
    fn shares_are_joined_in_order() {
        let lengths = lengths();
        let all = || single_shares(&lengths, 0..4000);
        assert_eq!(all().filter(Share::is_large).count(), 2);
        for (modulus, rest) in [(1, 0), (5, 1), (4000, 999), (4000, 3999), (5000, 4999)] {
            // Each of these contours, on a line of its own.
            let is_written = |at: &usize| at % modulus == rest;
            let put = |share: &Share, _: &mut PointRoom, text: &mut ShareText<'_>| {
                let mut before = "";
                for at in share.contours.clone().filter(is_written) {
                    text.put(before).integer(at);
                    before = "\n";
                }
                text.write_full()
            };
            let mut out = Vec::new();
            write_shares(all(), put, "\n", &mut out).unwrap();
            let lines = (0..4000).filter(is_written).map(|at| at.to_string());
            assert!(String::from_utf8(out).unwrap() == lines.collect::<Vec<_>>().join("\n"));
            let add = |share: &Share, _: &mut PointRoom, sum: &mut usize| {
                *sum += share.contours.clone().filter(is_written).sum::<usize>();
                Ok(())
            };
            let sum = sum_shares(all(), add, |a, b| a + b).unwrap();
            assert_eq!(sum, (0..4000).filter(is_written).sum::<usize>());
        }
    }

    #[test]
    fn the_first_error_counts() {
        let lengths = lengths();
        let put = |share: &Share, _: &mut PointRoom, text: &mut ShareText<'_>| {
            text.put("x");
            match share.contours.start {
                at @ 1000.. => Err(Error::EmptyImage {
                    width: at as u64,
                    height: 0,
                }),
                _ => Ok(()),
            }
        };
        let all = || single_shares(&lengths, 0..4000);
        let mut out = Vec::new();
        let error = write_shares(all(), put, "", &mut out).unwrap_err();
        let first = all()
            .position(|share| share.contours.start >= 1000)
            .unwrap();
        assert_eq!(out.len(), first);
        let Error::EmptyImage { width, .. } = error else {
            panic!("{error}");
        };
        let wanted = all().nth(first).unwrap().contours.start;
        assert_eq!(width, wanted as u64);
    }
}
