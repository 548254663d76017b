//! Shares of contours, encoded on all threads and written in order.

use std::io::{self, Write};
use std::mem::{replace, swap, take};
use std::ops::Range;

use glam::IVec2;
use rayon::prelude::*;

use super::text::Text;
use crate::Result;
use crate::memory::push;
use crate::trace::{ContourSource, PointRoom, RangePoints};

/// Consecutive contours.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Share {
    pub(super) contours: Range<usize>,
    /// At most how many points are written with them, or a guess.
    points: u64,
}

impl Share {
    /// The points of its contours, except those of a share that is encoded alone: there, each
    /// contour is read by itself.
    pub(super) fn points<'a>(
        &self,
        contours: &'a impl ContourSource,
        room: &'a mut PointRoom,
    ) -> Result<Option<RangePoints<'a>>> {
        match self.is_large() {
            true => Ok(None),
            false => contours
                .points_of_range(self.contours.clone(), room)
                .map(Some),
        }
    }

    /// Whether it has too many points for a batch.
    fn is_large(&self) -> bool {
        self.points > BATCH
    }
}

/// What the shares' encoders write to: memory, or the output.
pub(super) type Sink<'a> = Text<&'a mut dyn Write>;

/// The number of points from which a share is complete.
const SHARE: u64 = 1 << 14;

/// The number of points of the shares that are encoded at a time. Shares with more are encoded
/// alone, straight into the output.
const BATCH: u64 = 1 << 19;

/// Points of a contour, if their number is not known.
const GUESS: u64 = 64;

/// Divides contours into shares. `points` is [`own_points`] or [`family_points`] of a contour, or
/// `None` if it is written with one before it: then no share begins there.
pub(super) fn shares(
    range: Range<usize>,
    points: impl Fn(usize) -> Option<u64>,
) -> impl Iterator<Item = Share> {
    let Range { start: mut at, end } = range;
    std::iter::from_fn(move || {
        let first = at;
        let mut sum = 0;
        while at < end {
            let own = points(at);
            if at > first && own.is_some_and(|own| sum >= SHARE || own > BATCH) {
                break;
            }
            sum += own.unwrap_or(0);
            at += 1;
        }
        (first < at).then_some(Share {
            contours: first..at,
            points: sum,
        })
    })
}

/// At most how many points a contour has, or a guess.
pub(super) fn own_points(contours: &impl ContourSource, index: usize) -> u64 {
    contours.most_points(index).unwrap_or(GUESS)
}

/// At most how many points a contour and those directly inside have, or a guess.
pub(super) fn family_points(contours: &impl ContourSource, index: usize) -> u64 {
    let family = std::iter::once(index).chain(contours.children(index));
    family.map(|index| own_points(contours, index)).sum()
}

/// The points of a contour that is read without its neighbours.
pub(super) fn alone<'a>(
    contours: &'a impl ContourSource,
    index: usize,
    room: &'a mut PointRoom,
) -> Result<&'a [IVec2]> {
    let points = contours.points_of_range(index..index + 1, room)?;
    Ok(points.get(index).unwrap_or_default())
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
        Some(None) => visit(alone(contours, index, &mut PointRoom::default())?),
        None => contours.visit_points(index, visit),
    }
}

/// Encodes shares on all threads, and writes them to `out` in order, with `between` between each
/// two that are not empty. While some are written, the next ones are encoded.
///
/// Memory: what the encoders make of two batches of points, and those points.
///
/// # Errors
/// The first one of `encode`, in the order of the shares; [`Error::OutOfMemory`]; [`Error::Write`].
pub(super) fn write_shares(
    mut shares: impl Iterator<Item = Share>,
    encode: impl Fn(&Share, &mut PointRoom, &mut Sink<'_>) -> Result<()> + Sync,
    between: &str,
    out: impl Write,
) -> Result<()> {
    crate::threads::ensure();
    let mut out = Joined {
        out,
        between,
        is_empty: true,
        is_next: false,
    };
    let (mut encoded, mut next) = (Batch::default(), Batch::default());
    loop {
        let large = next.take(&mut shares)?;
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
            out.is_next = true;
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

/// A share, and what has become of it.
struct Slot {
    share: Share,
    room: PointRoom,
    bytes: Result<Vec<u8>>,
}

/// The most bytes of a slot that are kept for another share.
const MOST_KEPT: usize = 1 << 22;

impl Batch {
    /// Takes the next shares. Returns a share that is too large for a batch, and comes after these.
    fn take(&mut self, shares: &mut impl Iterator<Item = Share>) -> Result<Option<Share>> {
        self.len = 0;
        let mut points = 0;
        while points < BATCH
            && let Some(share) = shares.next()
        {
            if share.is_large() {
                return Ok(Some(share));
            }
            points += share.points;
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
        Ok(None)
    }

    /// Encodes its shares, several of them on all threads.
    fn encode(
        &mut self,
        encode: &(impl Fn(&Share, &mut PointRoom, &mut Sink<'_>) -> Result<()> + Sync),
    ) {
        match &mut self.slots[..self.len] {
            [slot] => slot.encode(encode),
            slots => slots.par_iter_mut().for_each(|slot| slot.encode(encode)),
        }
    }

    /// Writes its shares, of which none are left.
    fn write(&mut self, out: &mut Joined<'_, impl Write>) -> Result<()> {
        for slot in &mut self.slots[..take(&mut self.len)] {
            let bytes = replace(&mut slot.bytes, Ok(Vec::new()))?;
            out.is_next = true;
            out.write_all(&bytes)?;
            slot.bytes = Ok(bytes);
        }
        Ok(())
    }
}

impl Slot {
    fn encode(&mut self, encode: impl Fn(&Share, &mut PointRoom, &mut Sink<'_>) -> Result<()>) {
        let mut buffer = replace(&mut self.bytes, Ok(Vec::new())).unwrap_or_default();
        if buffer.capacity() > MOST_KEPT {
            (buffer, self.room) = Default::default();
        }
        let mut text = Sink::in_memory(buffer);
        let encoded = encode(&self.share, &mut self.room, &mut text);
        self.bytes = encoded.and_then(|()| text.into_buffer());
    }
}

/// An output of several parts, with something between two that are not empty.
struct Joined<'a, W> {
    out: W,
    between: &'a str,
    /// Whether nothing has been written.
    is_empty: bool,
    /// Whether what comes is part of the next part.
    is_next: bool,
}

impl<W: Write> Write for Joined<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if std::mem::take(&mut self.is_next) && !self.is_empty {
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
        for every in [1, 3, 50, 10_000] {
            let starts = |at: usize| at.is_multiple_of(every);
            let points = |at: usize| starts(at).then(|| own_points(&lengths, at));
            let mut at = 2;
            for share in shares(2..3900, points) {
                let Range { start, end } = share.contours;
                assert_eq!(start, at);
                assert!(start == 2 || starts(start), "{start}");
                assert!(end == 3900 || starts(end), "{end}");
                let sum = |range: Range<usize>| range.filter_map(points).sum::<u64>();
                assert_eq!(share.points, sum(start..end));
                // It ends at the first place where it may, once it is large enough.
                if let Some(last) = (start + 1..end).rfind(|&at| starts(at)) {
                    assert!(sum(start..last) < SHARE, "{start}..{end}");
                }
                let next_is_large = end < 3900 && own_points(&lengths, end) > BATCH;
                let is_enough = share.points >= SHARE || next_is_large || end == 3900;
                assert!(is_enough, "{start}..{end}");
                at = end;
            }
            assert_eq!(at, 3900);
        }
        assert_eq!(shares(5..5, |_| Some(1)).next(), None);
    }

    #[test]
    fn shares_are_joined_in_order() {
        let lengths = lengths();
        let all = || shares(0..4000, |at| Some(own_points(&lengths, at)));
        assert_eq!(all().filter(Share::is_large).count(), 2);
        for (modulus, rest) in [(1, 0), (5, 1), (4000, 999), (4000, 3999), (5000, 4999)] {
            // Each of these contours, on a line of its own.
            let is_written = |at: &usize| at % modulus == rest;
            let put = |share: &Share, _: &mut PointRoom, text: &mut Sink<'_>| {
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
        let put = |share: &Share, _: &mut PointRoom, text: &mut Sink<'_>| {
            text.put("x");
            match share.contours.start {
                at @ 1000.. => Err(Error::EmptyImage {
                    width: at as u64,
                    height: 0,
                }),
                _ => Ok(()),
            }
        };
        let all = || shares(0..4000, |at| Some(own_points(&lengths, at)));
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
