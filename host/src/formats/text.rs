//! Fast writing of text with many integers.

use std::io::Write;

use crate::Result;
use crate::memory::reserve;

/// Collects text and writes it in large portions.
pub(super) struct Text<W> {
    out: W,
    buffer: Vec<u8>,
    digits: itoa::Buffer,
}

/// The size of a portion in bytes.
const PORTION: usize = 1 << 16;

impl<W: Write> Text<W> {
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub(super) fn new(out: W) -> Result<Self> {
        let mut buffer = Vec::new();
        reserve(&mut buffer, PORTION + 256, "text to write")?;
        Ok(Self {
            out,
            buffer,
            digits: itoa::Buffer::new(),
        })
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

    /// Writes the collected text once it fills a portion. Call it once per few dozen bytes.
    pub(super) fn write_full(&mut self) -> Result<()> {
        if self.buffer.len() >= PORTION {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.out.write_all(&self.buffer)?;
        Ok(self.out.flush()?)
    }
}
