//! The one order of fences.
//!
//! The fences of a device come one after the other in an order that all its threads agree on, as
//! PTX's `fence.sc` do, which `membar` is; so do those of a block. What a thread knew at its fence,
//! a thread knows after a later one. Such an order prevents no data race, since in another order of
//! the fences there would be one. But it limits which overwritten values a load may return.

use std::collections::BTreeMap;

/// Times of a thread or block that are kept; the last ones.
const KEPT: usize = 64;

/// What was known at each of a sequence of fences, which have numbers from 1 on.
#[derive(Debug, Default)]
pub(super) struct Fences {
    count: u32,
    blocks: BTreeMap<u32, Times>,
    threads: BTreeMap<u32, Times>,
}

/// The times up to which a thread, or a block's threads, were known, and the numbers of the fences
/// from which on they were. Both rise.
type Times = Vec<(u32, u32)>;

impl Fences {
    /// The number of a new fence.
    pub(super) fn next(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    /// At the last fence, all threads of `block` were known up to `time`.
    pub(super) fn add_block(&mut self, block: u32, time: u32) {
        raise(self.blocks.entry(block).or_default(), self.count, time);
    }

    /// At the last fence, `thread` was known up to `time`.
    pub(super) fn add_thread(&mut self, thread: u32, time: u32) {
        raise(self.threads.entry(thread).or_default(), self.count, time);
    }

    /// Whether what `thread`, of `block`, did at its time `time` was known at the fence of number
    /// `fence` or before.
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
        // In doubt, a time counts as known: a load is then not stale, which is always allowed.
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
