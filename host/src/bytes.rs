//! Values as bytes, to be sent or stored, and read back with checks.
//!
//! A format begins with four letters and a version, and ends with a hash of all bytes before it.
//! Numbers are little-endian; lists begin with their length, in 64 bits. The hash detects damage.
//! Readers also check everything that later code relies on, since anyone can write bytes with a
//! right hash.
//!
//! A codec of serde's would spare some 200 of these formats' 1,300 lines, since checks remain, and
//! would take 12 times as long to write and 5 times as long to read: 29 ms and 9 ms with postcard
//! 1.2 for contours of 10 MB with their hash, against 2.5 ms and 2.0 ms here (one core,
//! 2026-11-24). It would also allocate lists without a way to report that memory ran out.

use std::ops::Range;

use crate::error::{Error, OptionProblem, Result};
use crate::image::MAX_SIDE;
use crate::memory::reserve;

/// A number with a fixed byte format.
pub trait Number: Copy {
    const SIZE: usize;
    fn put(self, to: &mut Vec<u8>);
    /// From the first [`SIZE`](Self::SIZE) bytes.
    fn get(from: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const SIZE: usize = size_of::<Self>();
            #[inline]
            fn put(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn get(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<Self>()];
                bytes.copy_from_slice(&from[..size_of::<Self>()]);
                Self::from_le_bytes(bytes)
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, u128, i16, i32, i64, i128, f32, f64);

/// Nothing, for lists of elements that have a value or none.
impl Number for () {
    const SIZE: usize = 0;
    fn put(self, _: &mut Vec<u8>) {}
    fn get(_: &[u8]) -> Self {}
}

/// Writes one format.
pub(crate) struct Writer {
    bytes: Vec<u8>,
    what: &'static str,
}

impl Writer {
    /// `what` names the format in errors; `room` is the approximate number of bytes.
    pub(crate) fn new(
        letters: [u8; 4],
        version: u8,
        room: usize,
        what: &'static str,
    ) -> Result<Self> {
        let mut writer = Self {
            bytes: Vec::new(),
            what,
        };
        writer.reserve(room)?;
        writer.bytes.extend_from_slice(&letters);
        writer.bytes.push(version);
        Ok(writer)
    }

    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<()> {
        // The hash follows.
        reserve(&mut self.bytes, bytes + 8, self.what)
    }

    /// Writes a number; its room must be reserved already.
    pub(crate) fn put<T: Number>(&mut self, value: T) {
        debug_assert!(
            self.bytes.capacity() - self.bytes.len() >= T::SIZE,
            "no room is reserved, so that want of memory would end the process"
        );
        value.put(&mut self.bytes);
    }

    /// Writes a list with its length.
    pub(crate) fn list<T: Number>(
        &mut self,
        values: impl ExactSizeIterator<Item = T>,
    ) -> Result<()> {
        self.reserve(8 + values.len() * T::SIZE)?;
        self.put(values.len() as u64);
        values.for_each(|value| value.put(&mut self.bytes));
        Ok(())
    }

    /// The bytes so far, for appending elements already counted by a list's length.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        self.reserve(0)?;
        let hash = hash(&self.bytes);
        self.put(hash);
        Ok(self.bytes)
    }
}

/// Reads one format.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// Refuses bytes of another format or version, and damaged ones.
    pub(crate) fn new(
        bytes: &'a [u8],
        letters: [u8; 4],
        version: u8,
        what: &'static str,
    ) -> Result<Self> {
        let reader = Self { rest: bytes, what };
        if bytes.len() < 13 || bytes[..4] != letters {
            return Err(reader.refusal("they are none"));
        }
        if bytes[4] != version {
            return Err(reader.refusal(format!(
                "they are of version {}, and this release reads version {version}",
                bytes[4]
            )));
        }
        let (body, end) = bytes.split_at(bytes.len() - 8);
        if hash(body) != u64::get(end) {
            return Err(reader.refusal("they do not match their hash"));
        }
        Ok(Self {
            rest: &body[5..],
            what,
        })
    }

    /// The error for bytes that are not what they should be.
    pub(crate) fn refusal(&self, reason: impl std::fmt::Display) -> Error {
        damaged(self.what, reason)
    }

    /// Refuses the bytes unless a condition holds.
    pub(crate) fn check(&self, holds: bool, reason: &str) -> Result<()> {
        match holds {
            true => Ok(()),
            false => Err(self.refusal(reason)),
        }
    }

    pub(crate) fn get<T: Number>(&mut self) -> Result<T> {
        match self.rest.split_at_checked(T::SIZE) {
            Some((value, rest)) => {
                self.rest = rest;
                Ok(T::get(value))
            }
            None => Err(self.refusal("they end too early")),
        }
    }

    /// Reads a list with its length. Allocates no more memory than the bytes have elements for.
    pub(crate) fn list<T: Number>(&mut self) -> Result<Vec<T>> {
        let len = self.length(T::SIZE)?;
        let mut values = Vec::new();
        reserve(&mut values, len, self.what)?;
        let (own, rest) = self.rest.split_at(len * T::SIZE);
        values.extend(own.chunks_exact(T::SIZE).map(T::get));
        self.rest = rest;
        Ok(values)
    }

    /// Reads the length of a list of `size`-byte elements, which must all be there.
    pub(crate) fn length(&mut self, size: usize) -> Result<usize> {
        let len: u64 = self.get()?;
        let most = self.rest.len() / size;
        self.check(len <= most as u64, "a list is longer than they are")?;
        Ok(len as usize)
    }

    /// Reads the first row of some rows of an image, and the one after the last.
    pub(crate) fn rows(&mut self) -> Result<Range<u32>> {
        let rows = self.get()?..self.get()?;
        self.check_rows(rows.start < rows.end && rows.end <= MAX_SIDE)?;
        Ok(rows)
    }

    /// Reads the width of an image, and some rows of it.
    pub(crate) fn width_and_rows(&mut self) -> Result<(u32, Range<u32>)> {
        let width = self.get()?;
        let rows = self.rows()?;
        self.check_rows((1..=MAX_SIDE).contains(&width))?;
        Ok((width, rows))
    }

    fn check_rows(&self, are_right: bool) -> Result<()> {
        self.check(are_right, "they are of no rows of an image")
    }

    /// Reads bytes preceded by their number.
    pub(crate) fn raw(&mut self) -> Result<&'a [u8]> {
        let len = self.length(1)?;
        let (own, rest) = self.rest.split_at(len);
        self.rest = rest;
        Ok(own)
    }

    /// Refuses trailing bytes.
    pub(crate) fn end(&self) -> Result<()> {
        self.check(self.rest.is_empty(), "there is more behind their end")
    }
}

/// The error for bytes that are not `what` they should be.
pub(crate) fn damaged(what: &'static str, reason: impl std::fmt::Display) -> Error {
    let reason = format!("the bytes are not those of {what}: {reason}");
    Error::option("bytes", OptionProblem::Malformed, reason)
}

/// A hash that distinguishes byte strings of one length that differ in at most eight neighbouring
/// bytes.
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let mut add = |word: u64| hash = add_to_hash(hash, word);
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().for_each(|&word| add(u64::from_le_bytes(word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    add(u64::from_le_bytes(last));
    hash
}

/// The hash of a sequence of words, given that of all but the last.
#[inline]
pub(crate) fn add_to_hash(hash: u64, last: u64) -> u64 {
    // The golden ratio's bits: odd, and without a pattern.
    (hash.rotate_left(25) ^ last).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// For tests: the bytes with the right hash in place.
#[cfg(test)]
pub(crate) fn with_hash(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(body) = bytes.len().checked_sub(8) {
        let hash = hash(&bytes[..body]);
        bytes[body..].copy_from_slice(&hash.to_le_bytes());
    }
    bytes
}
