//! List ranking in a tile: the place of each node on its fragment or closed border.
//!
//! In a round of pointer jumping, each node takes over the link of the node that it leads to. A
//! node on a fragment learns the fragment's last node and the number of points up to it; a node on
//! a closed border learns the first of the border's nodes and the number of points up to it.

use super::follow::Tile;
use super::place::ENDED;
use super::source::Source;

impl<I: Source, const THREADS: u32> Tile<I, THREADS> {
    /// Ranks all nodes by rounds of pointer jumping, until no node learns anything. There is a
    /// barrier before and after.
    #[inline(always)]
    pub(super) fn rank(&self, node_count: u32) {
        loop {
            let mut learned = false;
            self.for_each(node_count, |i| learned |= self.jump(i));
            // planted: fragment-rounds, fragment-own-rounds
            if !self.sync_or(learned) {
                break;
            }
        }
    }

    /// One round of pointer jumping for a node; returns whether it learned something. Other threads
    /// may replace the places that it reads, before or after it does: both are right.
    #[inline(always)]
    fn jump(&self, i: u32) -> bool {
        let place = self.place(i);
        if place.has(ENDED) || place.next() == i {
            return false;
        }
        let first = self.place(place.first());
        if !first.has(ENDED) && first.first() == place.first() {
            // That node has been all around its border, so it is the first of all, and this node is
            // done.
            self.replace(i, place.with(i, place.first(), 0, place.to_first()));
            return false;
        }
        // Two jumps per round halve the number of tests above and of barriers.
        let mut jumped = place.jumped(self.place(place.next()));
        if !jumped.has(ENDED) {
            jumped = jumped.jumped(self.place(jumped.next()));
        }
        self.replace(i, jumped);
        // planted: fragment-learned
        jumped.has(ENDED) || jumped.first() != place.first()
    }
}
