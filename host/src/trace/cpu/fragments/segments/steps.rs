//! [`Steps`]: chain codes, written a straight side at a time.

use super::super::super::chains::Direction;
use crate::error::{Error, Result};
use crate::memory::reserve;

/// A straight side of a border: its direction and the number of steps.
pub(super) type Straight = (Direction, usize);

/// Chain codes at the end of an array.
pub(super) struct Steps<'a> {
    /// The steps, and room for more.
    array: &'a mut Vec<Direction>,
    len: usize,
}

/// As many bytes are written for a short side, whatever its length: the number of steps is hard to
/// predict.
const SHORT: usize = 16;

impl<'a> Steps<'a> {
    /// At the end of an array, in all the room that it has.
    pub(super) fn after(array: &'a mut Vec<Direction>) -> Self {
        let len = array.len();
        array.resize(array.capacity(), 0);
        Self { array, len }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Appends a side.
    #[inline(always)]
    pub(super) fn add(&mut self, side: Straight) -> Result<()> {
        self.add_two(side, (0, 0))
    }

    /// Appends two sides.
    #[inline(always)]
    pub(super) fn add_two(&mut self, first: Straight, second: Straight) -> Result<()> {
        let is_short = first.1 <= SHORT && second.1 <= SHORT;
        match self.array.get_mut(self.len..self.len + 2 * SHORT) {
            Some(to) if is_short => {
                to[..SHORT].fill(first.0);
                to[first.1..first.1 + SHORT].fill(second.0);
                self.len += first.1 + second.1;
                Ok(())
            }
            _ => self.add_long([first, second]),
        }
    }

    /// Appends sides of any lengths.
    #[cold]
    fn add_long(&mut self, sides: [Straight; 2]) -> Result<()> {
        for (direction, count) in sides {
            // Room for short sides too, the next time.
            self.make_room(count.max(2 * SHORT))?;
            self.array[self.len..self.len + count].fill(direction);
            self.len += count;
        }
        Ok(())
    }

    fn make_room(&mut self, more: usize) -> Result<()> {
        if self.array.len() - self.len >= more {
            return Ok(());
        }
        let limit = u32::MAX as usize;
        if self.len > limit - more {
            return Err(Error::TooMany {
                what: "steps of borders in a strip",
                limit: limit as u64,
            });
        }
        self.array.truncate(self.len);
        reserve(self.array, more, "the chain codes of borders")?;
        self.array.resize(self.array.capacity(), 0);
        Ok(())
    }
}

impl Drop for Steps<'_> {
    /// Leaves the steps alone in the array.
    fn drop(&mut self) {
        self.array.truncate(self.len);
    }
}
