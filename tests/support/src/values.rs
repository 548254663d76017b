//! Images of values, and a plain labelling of their regions.

use std::collections::VecDeque;

use trazar::Connectivity;
use trazar_test_seeds::Random;

/// An image of small integers, of which 0 may be left out.
#[derive(Clone, Debug)]
pub struct Classes {
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Row by row.
    pub values: Vec<i32>,
}

/// The patterns that [`Classes::draw`] draws.
pub const PATTERNS: [&str; 9] = [
    "noise",
    "few",
    "blocks",
    "stripes",
    "diagonals",
    "checkerboard",
    "spiral",
    "rings",
    "distinct",
];

impl Classes {
    /// An image of a pattern, with values from 0 on.
    ///
    /// # Panics
    /// An unknown pattern.
    pub fn draw(pattern: &str, width: u32, height: u32, random: &mut Random) -> Self {
        let mut values = Vec::new();
        let (side, classes) = (2 + random.below(9), 2 + random.below(6));
        let blocks: Vec<u32> = (0..1024).map(|_| random.below(classes)).collect();
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let to_rim = x.min(y).min(width - 1 - x).min(height - 1 - y);
            let value = match pattern {
                "noise" => random.below(classes),
                "few" => u32::from(random.below(30) == 0) * random.below(classes),
                "blocks" => blocks[((x / side * 37 + y / side * 101) % 1024) as usize],
                "stripes" => y / side % classes,
                "diagonals" => (x + y) / side % classes,
                "checkerboard" => (x + y * 2) % 3,
                // Rings with a gap that leads inwards.
                "spiral" if x == to_rim + 1 && y == to_rim + 1 && to_rim > 0 => to_rim % 2,
                "spiral" => to_rim % 2 + 1,
                "rings" => to_rim % classes,
                "distinct" => y * width + x,
                other => panic!("no pattern {other}"),
            };
            values.push(value as i32);
        }
        Self {
            width,
            height,
            values,
        }
    }

    /// The labels of its regions, by flooding: 0 where `counts` is false.
    pub fn regions(&self, connectivity: Connectivity, counts: impl Fn(usize) -> bool) -> Vec<u32> {
        let (width, height) = (i64::from(self.width), i64::from(self.height));
        let mut labels = vec![0; self.values.len()];
        let mut count = 0;
        for first in 0..labels.len() {
            if labels[first] != 0 || !counts(first) {
                continue;
            }
            count += 1;
            labels[first] = count;
            let mut queue = VecDeque::from([first]);
            while let Some(at) = queue.pop_front() {
                let (x, y) = (at as i64 % width, at as i64 / width);
                for (dx, dy) in (-1..2).flat_map(|dy| (-1..2).map(move |dx| (dx, dy))) {
                    if connectivity == Connectivity::Four && dx != 0 && dy != 0 {
                        continue;
                    }
                    let (x, y) = (x + dx, y + dy);
                    if x < 0 || y < 0 || x >= width || y >= height {
                        continue;
                    }
                    let to = (y * width + x) as usize;
                    if labels[to] == 0 && counts(to) && self.values[to] == self.values[at] {
                        labels[to] = count;
                        queue.push_back(to);
                    }
                }
            }
        }
        labels
    }
}
