//! Paths as numbers.

#[cfg(not(target_arch = "nvptx64"))]
use std::iter;

use cuda_std::prelude::*;

#[cfg(not(target_arch = "nvptx64"))]
use crate::route::fields::{LEFT, RIGHT, UP};

/// The bits of a key that are not its cost's: two for each step, and one.
const PATH_BITS: u32 = 2 * MOST_STEPS + 1;
/// The most steps of a path.
pub(super) const MOST_STEPS: u32 = 23;
/// Paths cost less than this.
pub(super) const COSTS: u32 = u32::MAX >> (PATH_BITS - u32::BITS);

/// A path of few steps from a pin, as a number: its cost; then its steps from the pin on, two bits
/// each, the first one highest; then a bit that is set, and zeros.
///
/// Of two paths to the same cell, or from a pin to the tree, neither is the beginning of the other,
/// since edges cost something. So of two paths of the same cost, that with the lesser key is the
/// one that steps to the first neighbour where they part.
///
/// A key whose bits below the cost are all 0 has no path: it says that any path costs this or more.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod)]
pub struct PathKey(pub(super) u64);

impl PathKey {
    /// No path within the limits of keys.
    pub const NONE: Self = Self(u64::MAX);
    /// All paths cost less.
    pub const MOST_COST: u32 = COSTS;
    /// Less than any path.
    pub const LEAST: Self = Self(0);
    /// The path from a pin to itself.
    pub(super) const HERE: Self = Self(1 << (PATH_BITS - 1));

    /// Any path that costs `cost` or more.
    #[must_use]
    #[inline(always)]
    pub const fn at_least(cost: u32) -> Self {
        Self((cost as u64) << PATH_BITS)
    }

    /// The cost.
    #[must_use]
    #[inline(always)]
    pub const fn cost(self) -> u32 {
        (self.0 >> PATH_BITS) as u32
    }

    /// The path with another step, along an edge of weight `weight`; [`NONE`](Self::NONE) if the
    /// key has no room for it.
    #[inline(always)]
    pub(super) const fn step(self, direction: u32, weight: u32) -> Self {
        let last = self.0 & self.0.wrapping_neg();
        let room = COSTS - self.cost();
        // planted: near-room
        if weight >= room || self.is_longest() {
            return Self::NONE;
        }
        let step = direction as u64 * (last >> 1) + (last >> 2);
        // planted: near-mark
        Self(self.0 - last + step + ((weight as u64) << PATH_BITS))
    }

    /// Whether there is no room for another step.
    #[inline(always)]
    pub(super) const fn is_longest(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether there is a path.
    #[must_use]
    #[inline(always)]
    pub const fn has_path(self) -> bool {
        self.0 << (u64::BITS - PATH_BITS) != 0
    }

    /// The number of steps.
    #[must_use]
    #[inline(always)]
    pub const fn steps(self) -> u32 {
        (PATH_BITS - 1 - self.0.trailing_zeros()) / 2
    }

    /// The cells of the path, `(x, y)`, from the pin's on.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    pub fn cells(self, (mut x, mut y): (u32, u32)) -> impl Iterator<Item = (u32, u32)> {
        let mut shift = PATH_BITS;
        iter::once((x, y)).chain((0..self.steps()).map(move |_| {
            shift -= 2;
            match (self.0 >> shift) as u32 & 3 {
                LEFT => x -= 1,
                UP => y -= 1,
                RIGHT => x += 1,
                _ => y += 1,
            }
            (x, y)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::fields::DOWN;

    /// All paths of up to six steps: the same cells come back, and keys compare as the costs, then
    /// the directions one by one.
    #[test]
    fn keys_keep_costs_and_steps() {
        let mut paths = vec![(0, Vec::new(), PathKey::HERE)];
        let mut first = 0;
        for _ in 0..6 {
            let end = paths.len();
            for i in first..end {
                for direction in [LEFT, UP, RIGHT, DOWN] {
                    let (cost, mut steps, key) = paths[i].clone();
                    steps.push(direction);
                    let weight = 1 + direction % 2;
                    paths.push((cost + weight, steps, key.step(direction, weight)));
                }
            }
            first = end;
        }
        for (cost, steps, key) in &paths {
            assert_eq!(key.cost(), *cost);
            assert!(key.has_path() && PathKey::at_least(*cost) < *key);
            let mut cell = (9, 7);
            let mut expected = vec![cell];
            for &step in steps {
                match step {
                    LEFT => cell.0 -= 1,
                    UP => cell.1 -= 1,
                    RIGHT => cell.0 += 1,
                    _ => cell.1 += 1,
                }
                expected.push(cell);
            }
            let found: Vec<_> = key.cells((9, 7)).collect();
            assert_eq!(found, expected, "{steps:?}: not the oracle's");
        }
        let last = &paths[first..];
        for (cost, steps, key) in last.iter().step_by(37) {
            for (other_cost, other_steps, other) in last {
                let expected = cost.cmp(other_cost).then(steps.cmp(other_steps));
                assert_eq!(
                    key.cmp(other),
                    expected,
                    "{steps:?} {other_steps:?}: not the oracle's"
                );
            }
        }
    }

    /// At the limits of steps and costs.
    #[test]
    fn keys_without_room_are_none() {
        let mut key = PathKey::HERE;
        for steps in 0..MOST_STEPS {
            assert!(!key.is_longest());
            assert_eq!(key.steps(), steps);
            key = key.step(DOWN, 1);
        }
        assert!(key.is_longest());
        assert_eq!((key.steps(), key.cost()), (MOST_STEPS, MOST_STEPS));
        assert_eq!(key.step(LEFT, 1), PathKey::NONE);

        let here = PathKey::HERE;
        assert_eq!(here.step(UP, COSTS), PathKey::NONE);
        assert_eq!(here.step(UP, u32::MAX), PathKey::NONE);
        let dear = here.step(UP, COSTS - 1);
        assert_eq!(dear.cost(), COSTS - 1);
        assert_eq!(dear.step(UP, 1), PathKey::NONE);
        assert_eq!(PathKey::NONE.step(UP, 1), PathKey::NONE);
        assert!(!PathKey::at_least(COSTS).has_path() && PathKey::at_least(COSTS) < PathKey::NONE);
    }
}
