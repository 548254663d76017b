//! Text in lines of words and numbers, with errors that name the line and column.

use std::fmt::Display;
use std::io::{BufRead, Read};
use std::ops::RangeInclusive;
use std::path::Path;

use crate::formats::source::{Origin, Source};
use crate::route::{BLOCKED, UNLIMITED};
use crate::{Error, Result};

/// The length limit of a line in bytes before the grid's size is known. It bounds the memory for a
/// file without line ends.
const MAX_BYTES: u64 = 1 << 20;

/// A file's lines, one at a time.
pub(super) struct Lines<'a> {
    source: Source<'a>,
    /// The number of the line in `bytes`, from 1.
    line_number: u64,
    bytes: Vec<u8>,
    max_bytes: u64,
    /// Whether [`next`](Self::next) returns the line in `bytes` again.
    again: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let source = Source::open(path)?;
        if source.origin.len == 0 {
            return Err(source.origin.truncated("the file is empty"));
        }
        Ok(Self {
            source,
            line_number: 0,
            bytes: Vec::new(),
            max_bytes: MAX_BYTES,
            again: false,
        })
    }

    /// Allows lines of `weights` weights.
    pub(super) fn allow_weights(&mut self, weights: u32) {
        // At most ten digits, and some spaces.
        self.max_bytes = MAX_BYTES + 16 * u64::from(weights);
    }

    /// The next line; `None` at the file's end.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>> {
        if !std::mem::take(&mut self.again) {
            self.bytes.clear();
            self.line_number += 1;
            let mut portion = (&mut self.source.bytes).take(self.max_bytes + 1);
            let read = portion.read_until(b'\n', &mut self.bytes);
            read.map_err(|error| self.source.origin.io(error))?;
            if self.bytes.len() as u64 > self.max_bytes {
                return Err(self.source.origin.unreadable(format_args!(
                    "line {} is longer than the {} bytes that it may have",
                    self.line_number, self.max_bytes
                )));
            }
        }
        if self.bytes.is_empty() {
            return Ok(None);
        }
        Ok(Some(Line {
            origin: self.source.origin,
            number: self.line_number,
            bytes: self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes),
            at: 0,
            separators: b"/",
        }))
    }

    /// The next line; an error that names `what` at the file's end.
    pub(super) fn expect(&mut self, what: impl Display) -> Result<Line<'_>> {
        let origin = self.source.origin;
        let number = self.line_number + u64::from(!self.again);
        self.next()?.ok_or_else(|| {
            origin.truncated(format_args!("line {number}: the file ends before {what}"))
        })
    }

    /// Makes [`next`](Self::next) return the last line again.
    pub(super) fn put_back(&mut self) {
        self.again = true;
    }

    /// Refuses a file with fewer than `bytes` bytes, the least that `what` takes. The current line
    /// claims `what`.
    pub(super) fn check_holds(&self, bytes: u128, what: impl Display) -> Result<()> {
        if bytes <= self.source.origin.len.into() {
            return Ok(());
        }
        Err(self.source.origin.truncated(format_args!(
            "line {}: the file is truncated: {} bytes cannot hold the {what} it claims",
            self.line_number, self.source.origin.len
        )))
    }

    /// Refuses anything but blank lines from here on.
    pub(super) fn finish(mut self) -> Result<()> {
        while let Some(line) = self.next()? {
            line.finish("the last line of the file")?;
        }
        Ok(())
    }
}

/// What a number of an edge is.
#[derive(Clone, Copy)]
pub(super) enum EdgeNumber {
    Weight,
    Capacity,
}

impl EdgeNumber {
    fn name(self) -> &'static str {
        match self {
            Self::Weight => "weight (x blocks an edge)",
            Self::Capacity => "capacity (x is no limit)",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Weight => "weights",
            Self::Capacity => "capacities",
        }
    }

    /// The number for which `x` stands.
    fn of_x(self) -> u32 {
        match self {
            Self::Weight => BLOCKED,
            Self::Capacity => UNLIMITED,
        }
    }
}

/// A line, read from left to right.
pub(super) struct Line<'a> {
    origin: Origin<'a>,
    number: u64,
    bytes: &'a [u8],
    at: usize,
    /// The bytes that end a word, beside spaces.
    separators: &'static [u8],
}

impl Line<'_> {
    /// Has other bytes end a word, beside spaces, than the usual `/`.
    pub(super) fn set_separators(&mut self, separators: &'static [u8]) {
        self.separators = separators;
    }

    /// An error at the next column to read.
    pub(super) fn error(&self, reason: impl Display) -> Error {
        self.origin.unreadable(format_args!(
            "line {}, column {}: {reason}",
            self.number,
            self.at + 1
        ))
    }

    /// Skips spaces, and returns whether the line ends after them.
    pub(super) fn is_done(&mut self) -> bool {
        while let Some(b' ' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.at == self.bytes.len()
    }

    /// Refuses further content after `what`.
    pub(super) fn finish(mut self, what: impl Display) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        Err(self.error(format_args!("{} follows {what}", self.quoted_word())))
    }

    /// Takes the word `word` if it comes next, and returns whether it did.
    pub(super) fn takes(&mut self, word: &str) -> bool {
        self.is_done();
        let found =
            self.bytes[self.at..].starts_with(word.as_bytes()) && self.word().len() == word.len();
        if found {
            self.at += word.len();
        }
        found
    }

    /// Takes the word `word`, which begins `what`.
    pub(super) fn keyword(&mut self, word: &str, what: impl Display) -> Result<()> {
        if self.takes(word) {
            return Ok(());
        }
        Err(self.error(format_args!(
            "{} where {what} should begin with \"{word}\"",
            self.quoted_word()
        )))
    }

    /// Whether the byte `byte` comes next.
    pub(super) fn is_at(&mut self, byte: u8) -> bool {
        !self.is_done() && self.bytes[self.at] == byte
    }

    /// Takes the byte `byte` if it comes next, and returns whether it did.
    pub(super) fn takes_byte(&mut self, byte: u8) -> bool {
        let found = self.is_at(byte);
        self.at += usize::from(found);
        found
    }

    /// Takes a whole number in `range`; errors call it `name`.
    pub(super) fn number(&mut self, name: &str, range: RangeInclusive<u32>) -> Result<u32> {
        let (least, most) = (range.start(), range.end());
        if self.is_done() || self.separators.contains(&self.bytes[self.at]) {
            return Err(self.error(format_args!(
                "the {name} is missing: a whole number from {least} to {most}"
            )));
        }
        match self.whole_number() {
            Some(number) if range.contains(&number) => {
                self.skip_word();
                Ok(number)
            }
            _ => Err(self.no_number(name, *least, *most)),
        }
    }

    /// An error for the next word, which is not a number from `least` to `most`.
    fn no_number(&self, name: &str, least: u32, most: u32) -> Error {
        let is_whole = self.word().iter().all(u8::is_ascii_digit);
        let kind = if is_whole { "" } else { "a whole number " };
        self.error(format_args!(
            "the {name} {} is not {kind}from {least} to {most}",
            self.quoted_word()
        ))
    }

    /// Skips the next word.
    fn skip_word(&mut self) {
        self.at += self.word().len();
    }

    /// Takes the rest of the line: one number for each element of `into`. Errors call the line
    /// `what`.
    pub(super) fn numbers(
        mut self,
        into: &mut [u32],
        of: EdgeNumber,
        what: impl Display,
    ) -> Result<()> {
        let needed = into.len();
        for (i, number) in into.iter_mut().enumerate() {
            *number = match self.quick_number() {
                Some(number) => number,
                None => self.edge_number(i, needed, of, &what)?,
            };
        }
        if self.is_done() {
            return Ok(());
        }
        Err(self.error(format_args!(
            "{} is too much: {what} has {needed} {}",
            self.quoted_word(),
            of.plural()
        )))
    }

    /// Takes a number with or without a fraction, 0 or more; errors call it `name`.
    pub(super) fn decimal(&mut self, name: &str) -> Result<f64> {
        if self.is_done() {
            return Err(self.error(format_args!("the {name} is missing: a number, 0 or more")));
        }
        let word = std::str::from_utf8(self.word()).ok();
        match word.and_then(|word| word.parse::<f64>().ok()) {
            Some(number) if number >= 0.0 && number.is_finite() => {
                self.skip_word();
                Ok(number)
            }
            _ => Err(self.error(format_args!(
                "the {name} {} is not a number, 0 or more",
                self.quoted_word()
            ))),
        }
    }

    /// Takes a word of any kind; errors call it `name`.
    pub(super) fn text(&mut self, name: &str) -> Result<()> {
        if self.is_done() {
            return Err(self.error(format_args!("the {name} is missing")));
        }
        // A separator is no word, but is text.
        self.at += self.word().len().max(1);
        Ok(())
    }

    /// Takes the rest of the line as text, without the spaces around it.
    pub(super) fn rest(&mut self) -> &[u8] {
        self.is_done();
        let rest = self.bytes[self.at..].trim_ascii_end();
        self.at = self.bytes.len();
        rest
    }

    /// Takes a space and one to seven digits followed by another space, without a branch per digit.
    /// Nearly all numbers have this form.
    fn quick_number(&mut self) -> Option<u32> {
        const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
        const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
        const TO_HIGH: u64 = u64::from_le_bytes([0x80 - 10; 8]);
        let (&b' ', rest) = self.bytes.get(self.at..)?.split_first()? else {
            return None;
        };
        let digits = u64::from_le_bytes(*rest.first_chunk()?) ^ ZEROS;
        // The lowest of these bits belongs to the first byte that is not a digit, as the bytes
        // before it cause no carry.
        let others = (digits.wrapping_add(TO_HIGH) | digits) & HIGH;
        let count = others.trailing_zeros() as usize / 8;
        if !(1..=7).contains(&count) || rest[count] != b' ' {
            return None;
        }
        // Leading zeros make it eight digits. Neighbours are then combined into pairs, fours and
        // eight.
        let eight = digits << (64 - 8 * count);
        let pairs = eight.wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
        let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
        let value = fours.wrapping_mul(10_000 << 32 | 1) >> 32;
        self.at += 1 + count;
        Some(value as u32)
    }

    /// Takes the number with index `i` of `needed`, in any form.
    fn edge_number(
        &mut self,
        i: usize,
        needed: usize,
        of: EdgeNumber,
        what: &dyn Display,
    ) -> Result<u32> {
        if self.is_done() {
            return Err(self.error(format_args!(
                "{what} has {i} {}: it needs {needed}",
                of.plural()
            )));
        }
        if self.takes("x") {
            return Ok(of.of_x());
        }
        match self.whole_number() {
            Some(number) if number < u32::MAX => {
                self.skip_word();
                Ok(number)
            }
            _ => Err(self.no_number(of.name(), 0, u32::MAX - 1)),
        }
    }

    /// The next word as a number, if it is one and fits 32 bits.
    fn whole_number(&self) -> Option<u32> {
        let word = self.word();
        // Once it is too large, it stays too large.
        let number = word.iter().try_fold(0u64, |number, byte| {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
            Some((10 * number + digit).min(1 << 32))
        })?;
        u32::try_from(number).ok().filter(|_| !word.is_empty())
    }

    /// The next word, up to a space or separator.
    fn word(&self) -> &[u8] {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| {
            matches!(byte, b' ' | b'\t' | b'\r') || self.separators.contains(byte)
        });
        &rest[..end.unwrap_or(rest.len())]
    }

    /// The next word, quoted for a message.
    pub(super) fn quoted_word(&self) -> String {
        const MOST: usize = 24;
        let word = match self.word() {
            [] => &self.bytes[self.at..(self.at + 1).min(self.bytes.len())],
            word => word,
        };
        let text = String::from_utf8_lossy(&word[..word.len().min(MOST)]);
        let more = if word.len() > MOST { "…" } else { "" };
        match text.is_empty() {
            true => "the line's end".into(),
            false => format!("{:?}", format!("{text}{more}")),
        }
    }
}
