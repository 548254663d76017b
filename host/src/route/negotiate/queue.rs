//! [`Queue`]: a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest
//! path problem", 1990), the queue of a search whose keys never decrease.

use crate::error::Result;
use crate::memory::push;

/// Name used in out-of-memory errors.
const QUEUE: &str = "the queue of a search";

/// A cell that waits in a queue.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) key: u64,
    /// The cell's index in the window.
    pub(super) local: u32,
    /// The number of the cell's row, counted from layer to layer.
    pub(super) line: u32,
}

/// Bucket 0 has the keys equal to the last minimum; bucket `b` has those whose highest bit that
/// differs from it is bit `b - 1`. Of equal keys, the one added last comes first: among ways that
/// look equally good, a search goes on along the one it is on, instead of widening all of them.
pub(super) struct Queue {
    buckets: [Vec<Waiting>; 65],
    /// Bit `b` is set if bucket `b + 1` has entries.
    filled: u64,
    last: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            buckets: [const { Vec::new() }; 65],
            filled: 0,
            last: 0,
        }
    }
}

impl Queue {
    pub(super) fn clear(&mut self) {
        for bucket in &mut self.buckets {
            bucket.clear();
        }
        self.filled = 0;
        self.last = 0;
    }

    /// Adds a cell. A key below the last minimum counts as that.
    #[inline(always)]
    pub(super) fn push(&mut self, mut waiting: Waiting) -> Result<()> {
        waiting.key = waiting.key.max(self.last);
        let bucket = (u64::BITS - (waiting.key ^ self.last).leading_zeros()) as usize;
        if bucket > 0 {
            self.filled |= 1 << (bucket - 1);
        }
        push(&mut self.buckets[bucket], waiting, QUEUE)
    }

    /// Removes a cell with the smallest key.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Result<Option<Waiting>> {
        if self.buckets[0].is_empty() && !self.refill()? {
            return Ok(None);
        }
        Ok(self.buckets[0].pop())
    }

    /// Distributes the bucket with the smallest keys over those before it.
    fn refill(&mut self) -> Result<bool> {
        if self.filled == 0 {
            return Ok(false);
        }
        let bucket = self.filled.trailing_zeros() as usize + 1;
        self.filled &= self.filled - 1;
        let mut entries = std::mem::take(&mut self.buckets[bucket]);
        let least = entries.iter().map(|entry| entry.key).min();
        self.last = least.unwrap_or(self.last);
        for &entry in &entries {
            self.push(entry)?;
        }
        entries.clear();
        self.buckets[bucket] = entries;
        Ok(true)
    }
}
