//! Chain codes as runs of equal steps.
//!
//! A border's steps are kept as bytes: three bits of direction, and five bits of the run's length
//! less one. If the length is 32 or more, these five bits are 31, and the excess over 32 follows in
//! groups of seven bits, the lowest first; the highest bit of a byte says that another one follows.
//! A run may be divided into several. So a border takes at most a byte per step, and a straight
//! line a few bytes.

use glam::IVec2;

use crate::error::Result;
use crate::memory::reserve;
use crate::trace::cpu::approximate::offset;
use crate::trace::cpu::chains::Direction;

/// The shortest run that has more than one byte.
const LONG: usize = 32;

/// Appends steps.
pub(in super::super) fn encode(steps: &[Direction], bytes: &mut Vec<u8>) -> Result<()> {
    let begin = bytes.len();
    // A run has at most as many bytes as steps, and one byte is written before it is known to be
    // needed.
    reserve(bytes, steps.len() + 1, "the chain codes of borders")?;
    bytes.resize(begin + steps.len() + 1, 0);
    let out = &mut bytes[begin..];
    let mut at = 0;
    let (mut direction, mut length) = (0, 0);
    for eight in steps.chunks(8) {
        if eight
            .try_into()
            .is_ok_and(|eight: [_; 8]| eight == [direction; 8])
        {
            length += 8;
            continue;
        }
        if length + eight.len() >= LONG {
            at += put(&mut out[at..], direction, length);
            length = 0;
        }
        for &step in eight {
            // Each byte is written, and kept or overwritten by the next.
            out[at] = short(direction, length);
            let ends = step != direction;
            at += usize::from(ends && length > 0);
            length = if ends { 1 } else { length + 1 };
            direction = step;
        }
    }
    if length > 0 {
        at += put(&mut out[at..], direction, length);
    }
    bytes.truncate(begin + at);
    Ok(())
}

/// Appends a run of equal steps, if there are any.
#[inline]
pub(in super::super) fn encode_run(
    direction: Direction,
    length: usize,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    /// The bytes of the longest run.
    const MOST: usize = 1 + usize::BITS.div_ceil(7) as usize;
    if bytes.capacity() - bytes.len() < MOST {
        reserve(bytes, MOST, "the chain codes of borders")?;
    }
    if length < LONG {
        if length > 0 {
            bytes.push(short(direction, length));
        }
        return Ok(());
    }
    let begin = bytes.len();
    bytes.resize(begin + MOST, 0);
    let count = put(&mut bytes[begin..], direction, length);
    bytes.truncate(begin + count);
    Ok(())
}

/// The byte of a short run.
fn short(direction: Direction, length: usize) -> u8 {
    direction | (length as u8).wrapping_sub(1) << 3
}

/// Writes a run; returns the number of bytes.
fn put(out: &mut [u8], direction: Direction, length: usize) -> usize {
    if length < LONG {
        out[0] = short(direction, length);
        return 1;
    }
    out[0] = short(direction, LONG);
    let mut excess = length - LONG;
    let mut at = 1;
    loop {
        let more = u8::from(excess > 0x7f) << 7;
        out[at] = excess as u8 & 0x7f | more;
        excess >>= 7;
        at += 1;
        if more == 0 {
            return at;
        }
    }
}

/// The runs of some bytes.
pub(super) struct Runs<'a>(pub(super) &'a [u8]);

impl Iterator for Runs<'_> {
    /// The direction, and the number of steps.
    type Item = (Direction, usize);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        let direction = byte & 7;
        let length = usize::from(byte >> 3) + 1;
        if length < LONG {
            return Some((direction, length));
        }
        let (mut excess, mut shift) = (0, 0);
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            let seven = usize::from(byte & 0x7f);
            excess |= seven.checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some((direction, LONG.saturating_add(excess)))
    }
}

/// Turns the runs of a border into points, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Pen {
    at: IVec2,
    step_in: Direction,
    /// Whether only points between runs are kept.
    turns_only: bool,
}

impl Pen {
    /// A pen at the start of a border; `step_in` is the direction of the step to it.
    pub(super) fn new(start: (u32, u32), step_in: Direction, turns_only: bool) -> Self {
        Self {
            at: IVec2::new(start.0 as i32, start.1 as i32),
            step_in,
            turns_only,
        }
    }

    /// The first point of the next step.
    pub(super) fn at(&self) -> IVec2 {
        self.at
    }

    /// Writes the points of a run to the first places; returns their number. Another point may be
    /// written after them.
    #[inline]
    pub(super) fn write(
        &mut self,
        direction: Direction,
        length: usize,
        points: &mut [IVec2],
    ) -> usize {
        let step = offset(direction);
        let mut count = length;
        if self.turns_only {
            // Written, and kept or overwritten by the next.
            if let Some(to) = points.first_mut() {
                *to = self.at;
            }
            count = usize::from(direction != self.step_in);
            self.at += step * length as i32;
        } else {
            for to in &mut points[..length] {
                *to = self.at;
                self.at += step;
            }
        }
        self.step_in = direction;
        count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(bytes: &[u8]) -> Vec<Direction> {
        Runs(bytes)
            .flat_map(|(direction, length)| std::iter::repeat_n(direction, length))
            .collect()
    }

    proptest! {
        #[test]
        fn steps_come_back(runs in prop::collection::vec((0..8u8, 1..70usize), 0..40)) {
            let steps: Vec<Direction> = runs
                .iter()
                .flat_map(|&(direction, length)| std::iter::repeat_n(direction, length))
                .collect();
            let mut bytes = vec![77];
            encode(&steps, &mut bytes).unwrap();
            prop_assert_eq!(bytes[0], 77);
            prop_assert!(bytes.len() <= steps.len() + 1);
            prop_assert_eq!(decode(&bytes[1..]), steps);
        }
    }

    #[test]
    fn lengths_at_the_limits_come_back() {
        let lengths = [
            1, 7, 8, 9, 31, 32, 33, 159, 160, 161, 16_415, 16_416, 16_417, 3_000_000,
        ];
        for length in lengths {
            for before in 0..9 {
                let mut steps = vec![3; before];
                steps.extend(vec![5; length]);
                steps.push(0);
                let mut bytes = Vec::new();
                encode(&steps, &mut bytes).unwrap();
                assert_eq!(decode(&bytes), steps, "{length} after {before}");
                bytes.clear();
                for (direction, length) in [(3, before), (5, length), (0, 1)] {
                    encode_run(direction, length, &mut bytes).unwrap();
                }
                assert_eq!(decode(&bytes), steps, "runs: {length} after {before}");
            }
        }
        assert!(decode(&[]).is_empty());
    }
}
