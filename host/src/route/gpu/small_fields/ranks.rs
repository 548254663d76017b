//! Which pin is the nearest.

use crate::Result;
use crate::memory::{push, reserve};
use crate::route::net_by_net::PINS;

/// What is known of the cost at which a pin is joined, and the pin. Ranks compare by cost; at the
/// same cost, those that are only bounds come first; then by pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u64);

impl Rank {
    /// Of a joined pin.
    pub(super) const JOINED: Self = Self(u64::MAX);

    /// Of a pin whose path to the tree is known to cost this.
    pub(super) const fn known(pin: u32, cost: u32) -> Self {
        // planted: near-bounds.1
        Self::new(pin, cost, true)
    }

    /// Of a pin that is not joined at a lower cost than this.
    pub(super) const fn bound(pin: u32, cost: u32) -> Self {
        // planted: near-bounds.2
        Self::new(pin, cost, false)
    }

    const fn new(pin: u32, cost: u32, is_known: bool) -> Self {
        Self((cost as u64) << 33 | (is_known as u64) << 32 | pin as u64)
    }

    pub(super) fn pin(self) -> u32 {
        self.0 as u32
    }

    /// The cost, or its bound.
    pub(super) const fn cost(self) -> u32 {
        (self.0 >> 33) as u32
    }

    /// Whether the cost is known.
    pub(super) fn is_known(self) -> bool {
        // planted: near-bounds.3
        self.0 >> 32 & 1 != 0
    }
}

/// Ranks of a group, and the groups of a larger one.
const GROUP: usize = 16;

/// The ranks of a net's pins, and the least ones of groups.
pub(super) struct Ranks {
    /// First the ranks by pin; then, level by level, the least of each group of the level before.
    /// Each level is a number of whole groups, and the last one is a single group.
    levels: Vec<Vec<Rank>>,
}

impl Ranks {
    pub(super) fn new(ranks: Vec<Rank>) -> Result<Self> {
        let mut levels = Vec::new();
        let mut level = ranks;
        loop {
            let padding = level.len().next_multiple_of(GROUP).max(GROUP) - level.len();
            reserve(&mut level, padding, PINS)?;
            level.resize(level.len() + padding, Rank::JOINED);
            let groups = level.len() / GROUP;
            let mut next = Vec::new();
            if groups > 1 {
                reserve(&mut next, groups.next_multiple_of(GROUP), PINS)?;
                next.extend(level.chunks_exact(GROUP).map(least_of));
            }
            push(&mut levels, level, PINS)?;
            if groups == 1 {
                return Ok(Self { levels });
            }
            level = next;
        }
    }

    /// The least rank: [`Rank::JOINED`] if all pins are joined.
    pub(super) fn least(&self) -> Rank {
        self.levels
            .last()
            .map_or(Rank::JOINED, |level| least_of(level))
    }

    /// Lowers a pin's rank.
    pub(super) fn lower(&mut self, pin: u32, rank: Rank) {
        let mut index = pin as usize;
        for level in &mut self.levels {
            if level[index] <= rank {
                break;
            }
            level[index] = rank;
            index /= GROUP;
        }
    }

    /// Sets a pin's rank, which may be higher than before.
    pub(super) fn set(&mut self, pin: u32, rank: Rank) {
        let (mut index, mut rank) = (pin as usize, rank);
        for level in &mut self.levels {
            level[index] = rank;
            index /= GROUP;
            rank = least_of(&level[index * GROUP..][..GROUP]);
        }
    }
}

/// The least rank of a group.
fn least_of(group: &[Rank]) -> Rank {
    // One after the other, each comparison would wait for the one before.
    let mut least = [Rank::JOINED; 4];
    for ranks in group.chunks_exact(4) {
        for (least, &rank) in least.iter_mut().zip(ranks) {
            *least = rank.min(*least);
        }
    }
    let [a, b, c, d] = least;
    // planted: near-least
    a.min(b).min(c.min(d))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        /// After each change the least rank is that of all pins.
        #[test]
        fn the_least_rank_is_known(
            costs in prop::collection::vec(0..2000_u32, 1..700),
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0..2000_u32), 0..300),
        ) {
            let rank = |pin: usize, cost| Rank::known(pin as u32, cost);
            let all = costs.iter().enumerate().map(|(pin, &cost)| rank(pin, cost));
            let mut all: Vec<_> = all.collect();
            let mut ranks = Ranks::new(all.clone()).unwrap();
            for (pin, cost) in changes {
                let pin = pin.index(all.len());
                let changed = match cost {
                    0..100 => Rank::JOINED,
                    _ => rank(pin, cost),
                };
                if changed < all[pin] {
                    ranks.lower(pin as u32, changed);
                } else {
                    ranks.set(pin as u32, changed);
                }
                all[pin] = changed;
                let expected = all.iter().min();
                prop_assert_eq!(Some(&ranks.least()), expected, "not the oracle's");
            }
        }
    }
}
