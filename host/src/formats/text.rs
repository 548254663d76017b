//! Fast writing of text with many integers.

use std::io::Write;

use crate::Result;
use crate::memory::reserve;

/// Collects text, or other bytes, and writes it in large portions; or keeps it in memory.
pub(super) struct Text<W> {
    /// Where portions go; `None` for memory.
    out: Option<W>,
    buffer: Vec<u8>,
    /// The length from which the buffer has to be written, or has to grow.
    full: usize,
    digits: itoa::Buffer,
}

/// The size of a portion in bytes.
const PORTION: usize = 1 << 16;

/// What is put between two calls of [`Text::write_full`] usually has fewer bytes.
const MARGIN: usize = 256;

/// Name used in out-of-memory errors.
const WHAT: &str = "text to write";

impl<W: Write> Text<W> {
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub(super) fn new(out: W) -> Result<Self> {
        let mut buffer = Vec::new();
        reserve(&mut buffer, PORTION + MARGIN, WHAT)?;
        Ok(Self {
            out: Some(out),
            full: PORTION,
            ..Self::in_memory(buffer)
        })
    }

    /// Text that is kept in `buffer`, whose old contents are lost.
    pub(super) fn in_memory(mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        Self {
            out: None,
            full: buffer.capacity().saturating_sub(MARGIN),
            buffer,
            digits: itoa::Buffer::new(),
        }
    }

    pub(super) fn put(&mut self, text: &str) -> &mut Self {
        self.buffer.extend_from_slice(text.as_bytes());
        self
    }

    pub(super) fn integer(&mut self, value: impl itoa::Integer) -> &mut Self {
        let digits = self.digits.format(value);
        self.buffer.extend_from_slice(digits.as_bytes());
        self
    }

    /// Puts a finite number, in as few digits as tell it apart from others of its type.
    pub(super) fn float(&mut self, value: f64) -> &mut Self {
        // Whole numbers that a double holds exactly.
        if value.fract() == 0.0 && value.abs() < 9e15 {
            return self.integer(value as i64).put(".0");
        }
        self.display(format_args!("{value:?}"))
    }

    pub(super) fn display(&mut self, text: std::fmt::Arguments<'_>) -> &mut Self {
        // Writing to memory cannot fail.
        let _ = self.buffer.write_fmt(text);
        self
    }

    /// What has been collected and not written, to put other bytes after it.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes the collected text once it fills a portion, or makes room for more of it in memory.
    /// Call it once per few dozen bytes.
    #[inline]
    pub(super) fn write_full(&mut self) -> Result<()> {
        match self.buffer.len() >= self.full {
            true => self.make_room(),
            false => Ok(()),
        }
    }

    #[cold]
    fn make_room(&mut self) -> Result<()> {
        match &mut self.out {
            Some(out) => {
                out.write_all(&self.buffer)?;
                self.buffer.clear();
            }
            None => {
                reserve(&mut self.buffer, PORTION + MARGIN, WHAT)?;
                self.full = self.buffer.capacity() - MARGIN;
            }
        }
        Ok(())
    }

    /// Writes what is left; returns the buffer, which holds all of it if it is kept in memory.
    pub(super) fn into_buffer(mut self) -> Result<Vec<u8>> {
        if let Some(out) = &mut self.out {
            out.write_all(&self.buffer)?;
        }
        Ok(self.buffer)
    }

    pub(super) fn finish(mut self) -> Result<()> {
        if let Some(out) = &mut self.out {
            out.write_all(&self.buffer)?;
            out.flush()?;
        }
        Ok(())
    }
}
