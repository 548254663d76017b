//! How far fields will have to reach: an estimate from where the pins are.
//!
//! A pin is joined only if no other pin can be nearer to the tree. So a path is joined only if the
//! fields of all remaining pins reach at least as far as the path is long: the field of a pin has
//! to reach as far as the longest path that is joined before its own. If paths led from pin to pin
//! only, they would be the edges of the pins' minimum spanning tree, in the order in which Prim's
//! algorithm adds them. Actual paths may begin anywhere on the tree, so they are shorter.

use crate::Result;
use crate::memory::{filled_vec, push};
use crate::route::net_by_net::PINS;

/// Lengths are rounded up to multiples of the longest one divided by this.
const LEVELS: usize = 64;
/// Pins are sorted into squares. The longest edge is at most this many squares long.
const SQUARES: u32 = 2;
/// The most pairs per pin that are compared: where pins are crowded, all pairs would be too many.
const MOST_PAIRS: usize = 64;

/// The longest edge that Prim's algorithm, started at the first pin, has added when it reaches a
/// pin, for each pin; at least the longest edge that reaches half of the pins, and at most
/// `longest`. `length` is the length of an edge by the columns and rows that its ends are apart,
/// and no less than either.
pub(super) fn longest_edges(
    pins: &[(u32, u32)],
    longest: u32,
    length: impl Fn(f32, f32) -> f32,
) -> Result<Vec<u32>> {
    let mut found = filled_vec(longest, pins.len(), PINS)?;
    let mut others = Squares::of(pins, longest.div_ceil(SQUARES).max(1))?;
    let per_cell = LEVELS as f32 / longest as f32;
    // By level, the pins to which edges of that length lead; by pin, the least level so far.
    let mut ends = filled_vec(Vec::new(), LEVELS, PINS)?;
    let mut least = filled_vec(LEVELS, pins.len(), PINS)?;
    push(&mut ends[0], 0, PINS)?;
    let (mut reached, mut usual, mut pairs) = (0, longest, 0);
    let (mut level, mut highest) = (0, 0);
    while level < LEVELS && pairs < MOST_PAIRS * pins.len() {
        let Some(pin) = ends[level].pop() else {
            level += 1;
            continue;
        };
        if !others.remove(pin) {
            continue;
        }
        // planted: reach-highest
        highest = highest.max(level);
        let len = ((highest + 1) * longest as usize).div_ceil(LEVELS) as u32;
        found[pin as usize] = len;
        reached += 1;
        // planted: reach-usual
        if reached == pins.len().div_ceil(2) {
            usual = len;
        }
        let (x, y) = pins[pin as usize];
        for other in others.near(pin) {
            let (other_x, other_y) = pins[other as usize];
            let len = length(x.abs_diff(other_x) as f32, y.abs_diff(other_y) as f32);
            let other_level = (len * per_cell) as usize;
            let least = &mut least[other as usize];
            if other_level < *least {
                *least = other_level;
                push(&mut ends[other_level], other, PINS)?;
                level = level.min(other_level);
            }
            pairs += 1;
        }
    }
    for len in &mut found {
        *len = usual.max(*len);
    }
    Ok(found)
}

/// Pins, sorted into squares of the plane.
struct Squares {
    columns: usize,
    rows: usize,
    /// By square, row by row: where its pins begin and end in `pins`.
    ranges: Vec<(u32, u32)>,
    pins: Vec<u32>,
    /// By pin: its square, and its index in `pins`.
    places: Vec<(u32, u32)>,
}

impl Squares {
    fn of(pins: &[(u32, u32)], side: u32) -> Result<Self> {
        let low = |of: fn(&(u32, u32)) -> u32| pins.iter().map(of).min().unwrap_or(0);
        let high = |of: fn(&(u32, u32)) -> u32| pins.iter().map(of).max().unwrap_or(0);
        let (left, top) = (low(|pin| pin.0), low(|pin| pin.1));
        let columns = (high(|pin| pin.0) - left) / side + 1;
        let rows = (high(|pin| pin.1) - top) / side + 1;
        let mut squares = Self {
            columns: columns as usize,
            rows: rows as usize,
            ranges: filled_vec((0, 0), columns as usize * rows as usize, PINS)?,
            pins: filled_vec(0, pins.len(), PINS)?,
            places: filled_vec((0, 0), pins.len(), PINS)?,
        };
        for (place, &(x, y)) in squares.places.iter_mut().zip(pins) {
            let square = (y - top) / side * columns + (x - left) / side;
            place.0 = square;
            squares.ranges[square as usize].1 += 1;
        }
        let mut start = 0;
        for range in &mut squares.ranges {
            let len = range.1;
            *range = (start, start);
            start += len;
        }
        for (pin, place) in (0..).zip(&mut squares.places) {
            let end = &mut squares.ranges[place.0 as usize].1;
            place.1 = *end;
            squares.pins[*end as usize] = pin;
            *end += 1;
        }
        Ok(squares)
    }

    /// Removes a pin; returns whether it was there.
    fn remove(&mut self, pin: u32) -> bool {
        let (square, place) = self.places[pin as usize];
        let end = &mut self.ranges[square as usize].1;
        if place >= *end {
            return false;
        }
        *end -= 1;
        let last = self.pins[*end as usize];
        self.pins.swap(place as usize, *end as usize);
        self.places[last as usize].1 = place;
        self.places[pin as usize].1 = *end;
        true
    }

    /// The pins in the squares around that of a pin.
    fn near(&self, pin: u32) -> impl Iterator<Item = u32> + '_ {
        let square = self.places[pin as usize].0 as usize;
        let (column, row) = (square % self.columns, square / self.columns);
        let around = |at: usize, len: usize| {
            let near = SQUARES as usize;
            at.saturating_sub(near)..(at + near + 1).min(len)
        };
        let columns = around(column, self.columns);
        around(row, self.rows).flat_map(move |row| {
            let squares = &self.ranges[row * self.columns..][columns.clone()];
            squares
                .iter()
                .flat_map(|&(start, end)| &self.pins[start as usize..end as usize])
                .copied()
        })
    }
}

#[cfg(test)]
mod tests {
    use trazar_test_seeds::{Random, seed_or};

    use super::*;

    /// By Prim's algorithm with all pairs of pins, in the order in which it reaches the pins.
    fn by_all_pairs(pins: &[(u32, u32)], length: impl Fn(f32, f32) -> f32) -> Vec<(usize, f32)> {
        let mut lengths = vec![f32::INFINITY; pins.len()];
        lengths[0] = 0.0;
        let mut open: Vec<usize> = (0..pins.len()).collect();
        let mut found: Vec<(usize, f32)> = Vec::new();
        while !open.is_empty() {
            let by_length = |&i: &usize, &j: &usize| lengths[open[i]].total_cmp(&lengths[open[j]]);
            let nearest = (0..open.len()).min_by(by_length).unwrap();
            let next = open.swap_remove(nearest);
            let longest = found.last().map_or(0.0, |&(_, longest)| longest);
            found.push((next, lengths[next].max(longest)));
            for &pin in &open {
                let (a, b) = (pins[pin], pins[next]);
                let len = length(a.0.abs_diff(b.0) as f32, a.1.abs_diff(b.1) as f32);
                lengths[pin] = lengths[pin].min(len);
            }
        }
        found
    }

    /// The results are those of all pairs, rounded up.
    #[test]
    fn edges_are_the_longest_of_the_spanning_tree() {
        let mut random = Random::new(seed_or(41));
        let straight = |x: f32, y: f32| (x * x + y * y).sqrt();
        let steps = |x: f32, y: f32| x + y;
        for case in 0..300 {
            let (width, height) = (random.below(300) + 1, random.below(300) + 1);
            let count = random.below(120) as usize + 1;
            let pins: Vec<(u32, u32)> = (0..count)
                .map(|_| (random.below(width), random.below(height)))
                .collect();
            let longest = random.below(90) + 1;
            let length = if case % 2 == 0 { straight } else { steps };
            let expected = by_all_pairs(&pins, length);
            let found = longest_edges(&pins, longest, length).unwrap();
            let step = longest as f32 / LEVELS as f32;
            let usual = expected[count.div_ceil(2) - 1].1;
            for (pin, len) in expected {
                let wanted = len.max(usual).min(longest as f32);
                let excess = found[pin] as f32 - wanted;
                assert!(
                    (-0.01..=step + 1.01).contains(&excess),
                    "case {case}, {pin} of {count} pins: not the oracle's {wanted}, but {}",
                    found[pin]
                );
            }
        }
    }

    /// Where very many pins are near each other, the search ends early. Its results are then no
    /// less than they would be.
    #[test]
    fn crowded_pins_are_not_all_compared() {
        let mut pins: Vec<(u32, u32)> = (0..3000).map(|i| (i % 50, i / 50)).collect();
        pins.push((1000, 0));
        let longest = 100;
        let found = longest_edges(&pins, longest, |x, y| x + y).unwrap();
        assert!(found.iter().all(|&len| len == longest));
    }
}
