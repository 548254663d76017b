//! The total order of fences.
//!
//! The fences of a device have a total order that all its threads agree on, like PTX's `fence.sc`
//! (a `membar` is one); so do those of a block. After its fence, a thread knows all that any thread
//! knew at an earlier fence. This order prevents no data race: in another order of the fences there
//! would be one. But it limits the overwritten values that a load may return.

use std::collections::BTreeMap;

/// Number of last times kept per thread or block.
const KEPT: usize = 64;

/// The knowledge at each fence of an order. Fences are numbered from 1.
#[derive(Debug, Default)]
pub(super) struct Fences {
    count: u32,
    blocks: BTreeMap<u32, Times>,
    threads: BTreeMap<u32, Times>,
}

/// Times up to which a thread, or a block's threads, were known, each with the number of the first
/// fence that knew it. Both increase.
type Times = Vec<(u32, u32)>;

impl Fences {
    /// The number of a new fence.
    pub(super) fn next(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    /// Records that all threads of `block` were known up to `time` at the last fence.
    pub(super) fn add_block(&mut self, block: u32, time: u32) {
        raise(self.blocks.entry(block).or_default(), self.count, time);
    }

    /// Records that `thread` was known up to `time` at the last fence.
    pub(super) fn add_thread(&mut self, thread: u32, time: u32) {
        raise(self.threads.entry(thread).or_default(), self.count, time);
    }

    /// Whether time `time` of `thread`, a thread of `block`, was known at fence number `fence` or
    /// before.
    pub(super) fn covered(&self, block: u32, thread: u32, time: u32, fence: u32) -> bool {
        let known = |times: Option<&Times>| {
            times.is_some_and(|times| {
                let later = times.partition_point(|&(number, _)| number <= fence);
                later > 0 && time <= times[later - 1].1
            })
        };
        fence > 0 && (known(self.threads.get(&thread)) || known(self.blocks.get(&block)))
    }
}

fn raise(times: &mut Times, fence: u32, time: u32) {
    if times.last().is_some_and(|&(_, known)| time <= known) {
        return;
    }
    if times.len() == KEPT {
        times.remove(0);
        // Forgotten times count as known: a load may always return the newer value.
        times[0].0 = 0;
    }
    times.push((fence, time));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_covers_what_earlier_ones_knew() {
        let mut fences = Fences::default();
        assert_eq!(fences.next(), 1);
        fences.add_thread(7, 3);
        fences.add_block(2, 5);
        assert_eq!(fences.next(), 2);
        fences.add_thread(7, 4);
        assert!(!fences.covered(0, 7, 3, 0));
        assert!(fences.covered(0, 7, 3, 1));
        assert!(!fences.covered(0, 7, 4, 1));
        assert!(fences.covered(0, 7, 4, 2));
        assert!(fences.covered(2, 70, 5, 1));
        assert!(!fences.covered(2, 70, 6, 2));
        assert!(!fences.covered(3, 70, 1, 2));
    }

    #[test]
    fn what_is_forgotten_counts_as_known() {
        let mut fences = Fences::default();
        for time in 1..=1000 {
            fences.next();
            fences.add_thread(7, time);
        }
        assert_eq!(fences.threads[&7].len(), KEPT);
        assert!(fences.covered(0, 7, 937, 1));
        assert!(!fences.covered(0, 7, 938, 937));
        assert!(fences.covered(0, 7, 938, 938));
    }
}
