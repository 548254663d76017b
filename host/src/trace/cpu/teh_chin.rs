//! Dominant points of a closed digital curve.
//!
//! C.-H. Teh, R. T. Chin, "On the detection of dominant points on digital curves", IEEE TPAMI
//! 11(8), 1989, as OpenCV implements it from 4.10 on (`CHAIN_APPROX_TC89_L1` and
//! `CHAIN_APPROX_TC89_KCOS`); the chosen points are the same.
//!
//! Every point has a *significance*. Where the direction does not change it is 0, and the point is
//! dropped, though it still counts as geometry. The others get a *region of support*, k points to
//! either side, over which the curve keeps bending away from its chord. Three passes then drop
//! points: those less significant than a neighbour in half their region; those with the least
//! region that do not stand out; and (L1 only) the inner points of unbroken rows of survivors. A
//! dropped point loses its significance at once, so each pass depends on its order along the curve.
//!
//! Time: the sum of the regions of support, at worst quadratic in the length of the curve.

use glam::IVec2;

use super::chains::Direction;
use crate::error::{Error, Result};
use crate::memory::reserve;

/// Measure of a point's significance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Curvature {
    /// The change of direction at the point, in eighths of a turn.
    L1,
    /// The cosine at the point of the angle spanned by its region of support.
    KCosine,
}

/// Finds the dominant points of one curve after the other; keeps its memory.
#[derive(Default)]
pub(in crate::trace) struct Selection {
    /// Each point's significance; 0 once it is dropped.
    significance: Vec<u32>,
    /// Each point's region of support k: it reaches from k points before to k points after.
    support: Vec<u32>,
    /// The indices of the points that are not dropped, in order.
    kept: Vec<u32>,
}

impl Selection {
    /// The indices of the dominant points of a closed walk; `steps[i]` leads from `walk[i]` to the
    /// next point. A walk without steps has one point, which is dominant.
    pub(in crate::trace) fn dominant(
        &mut self,
        walk: &[IVec2],
        steps: &[Direction],
        curvature: Curvature,
    ) -> Result<&[u32]> {
        if u32::try_from(walk.len()).is_err() {
            return Err(Error::TooMany {
                what: "points on one border",
                limit: u32::MAX.into(),
            });
        }
        self.start(steps)?;
        let Some(&last) = steps.last() else {
            self.kept.push(0);
            return Ok(&self.kept);
        };
        let mut step_in = last;
        for (i, &step_out) in steps.iter().enumerate() {
            let turn = turn(step_in, step_out);
            self.significance.push(turn);
            self.support.push(0);
            if turn != 0 {
                self.kept.push(i as u32);
            }
            step_in = step_out;
        }
        for &i in &self.kept {
            let i = i as usize;
            let support = region_of_support(walk, i);
            self.support[i] = support as u32;
            if curvature == Curvature::KCosine {
                self.significance[i] = k_cosine(walk, i, support);
            }
        }
        self.suppress_non_maxima();
        self.suppress_least_support();
        if curvature == Curvature::L1 {
            self.thin_rows();
        }
        Ok(&self.kept)
    }

    fn start(&mut self, steps: &[Direction]) -> Result<()> {
        self.significance.clear();
        self.support.clear();
        self.kept.clear();
        let len = steps.len() + 1;
        reserve(&mut self.significance, len, "a border's significances")?;
        reserve(&mut self.support, len, "a border's regions of support")?;
        reserve(&mut self.kept, len, "a border's dominant points")
    }

    /// Drops points for which `drop` holds, one after the other.
    fn drop_where(&mut self, drop: impl Fn(&[u32], &[u32], usize) -> bool) {
        let (significance, support) = (&mut self.significance, &self.support);
        self.kept.retain(|&i| {
            let i = i as usize;
            let dropped = drop(significance, support, i);
            if dropped {
                significance[i] = 0;
            }
            !dropped
        });
    }

    /// Drops a point if one within half its region of support is more significant.
    fn suppress_non_maxima(&mut self) {
        self.drop_where(|significance, support, i| {
            (1..=support[i] as usize / 2).any(|j| {
                let (before, after) = around(significance.len(), i, j);
                significance[before].max(significance[after]) > significance[i]
            })
        });
    }

    /// Drops a point of support 1 unless it is more significant than both its neighbours.
    fn suppress_least_support(&mut self) {
        self.drop_where(|significance, support, i| {
            let (before, after) = around(significance.len(), i, 1);
            support[i] == 1 && significance[i] <= significance[before].max(significance[after])
        });
    }

    /// Thins unbroken rows of adjacent survivors: of three or more the ends stay; of two, the one
    /// that is more significant, or else has the smaller region of support.
    ///
    /// A row that runs over the start of the walk is treated as OpenCV does. Its part after the
    /// start stays whole, and of the part before the start the first point stays. If both parts are
    /// single points, the start stays, and the winner of the two is added at the end: the start may
    /// then occur twice. Where thinning begins, a row of three or more also keeps its second point.
    fn thin_rows(&mut self) {
        let len = self.significance.len();
        let kept = &mut self.kept;
        if kept.len() == len {
            return;
        }
        // Thinning begins at this place among the survivors, or at this index of the walk.
        let (mut begin, mut begin_index) = (0, 0);
        if kept.first() == Some(&0) && kept.last() == Some(&(len as u32 - 1)) {
            let leading = row_length(kept.iter().copied());
            let trailing = row_length(kept.iter().rev().copied());
            if leading == 1 && trailing == 1 {
                begin = 1;
                // The start again, where it follows the last point.
                kept.push(len as u32);
            } else {
                begin = leading - 1;
                kept.truncate(kept.len() + 1 - trailing);
            }
            begin_index = kept[begin];
        }

        let value = |i: u32| {
            let i = i as usize % len;
            (self.significance[i], self.support[i])
        };
        let (mut read, mut write) = (begin, begin);
        while read < kept.len() {
            let row = read..read + row_length(kept[read..].iter().copied());
            read = row.end;
            let (first, last) = (kept[row.start], kept[row.end - 1]);
            let mut keep = |i| {
                kept[write] = i;
                write += 1;
            };
            match row.len() {
                1 => keep(first),
                2 => {
                    let ((s1, k1), (s2, k2)) = (value(first), value(last));
                    let first_stays = s1 > s2 || (s1 == s2 && k1 <= k2);
                    keep(if first_stays { first } else { last });
                }
                _ => {
                    keep(first);
                    if first == begin_index {
                        keep(first + 1);
                    }
                    keep(last);
                }
            }
        }
        kept.truncate(write);
        if let Some(last) = kept.last_mut() {
            *last %= len as u32;
        }
    }
}

/// The length of the first row of indices in which neighbours differ by one.
fn row_length(mut indices: impl Iterator<Item = u32>) -> usize {
    let Some(mut previous) = indices.next() else {
        return 0;
    };
    1 + indices
        .take_while(|&i| i.abs_diff(std::mem::replace(&mut previous, i)) == 1)
        .count()
}

/// The change of direction, in eighths of a turn, 0 to 4.
fn turn(step_in: Direction, step_out: Direction) -> u32 {
    let d = step_out.abs_diff(step_in);
    u32::from(d.min(8 - d))
}

/// The indices `j` before and after `i` on a closed walk of `len` points; `j` is at most `len`.
fn around(len: usize, i: usize, j: usize) -> (usize, usize) {
    let before = if i >= j { i - j } else { i + len - j };
    let after = if i + j >= len { i + j - len } else { i + j };
    (before, after)
}

/// The distance to either side over which the curve bends away from the chord of the two ends.
fn region_of_support(walk: &[IVec2], i: usize) -> usize {
    let point = walk[i].as_i64vec2();
    // Of the last accepted region: the chord's squared length, and the point's distance from the
    // chord times the chord's length.
    let (mut last_chord, mut last_height) = (0i64, 0i64);
    let mut k = 0;
    loop {
        let (before, after) = around(walk.len(), i, k + 1);
        let before = walk[before].as_i64vec2();
        let span = walk[after].as_i64vec2() - before;
        let arm = point - before;
        let chord = span.x * span.x + span.y * span.y;
        let height = arm.x * span.y - arm.y * span.x;
        if k > 0 {
            // Negative if height / chord grows, away from the side where the point lies.
            let falls =
                (last_height as f64 * chord as f64 - height as f64 * last_chord as f64) as f32;
            if last_chord >= chord
                || (last_height > 0 && falls <= 0.0)
                || (last_height < 0 && falls >= 0.0)
            {
                return k;
            }
        }
        (last_chord, last_height) = (chord, height);
        k += 1;
    }
}

/// The largest cosine found while the arms shrink from the region of support, up to where it stops
/// growing. A bit pattern that orders as the cosine does; 0 if there is none.
fn k_cosine(walk: &[IVec2], i: usize, support: usize) -> u32 {
    let point = walk[i].as_i64vec2();
    let mut largest = 0;
    for j in (1..=support).rev() {
        let (before, after) = around(walk.len(), i, j);
        let a = (walk[before].as_i64vec2() - point).as_dvec2();
        let b = (walk[after].as_i64vec2() - point).as_dvec2();
        let (a2, b2) = (a.length_squared(), b.length_squared());
        if a2 == 0.0 || b2 == 0.0 {
            break;
        }
        let cosine = (a.dot(b) / (a2 * b2).sqrt()) as f32;
        // Above 0, where floats order as their bits do.
        let bits = ((f64::from(cosine) + 1.1) as f32).to_bits();
        if j < support && bits <= largest {
            break;
        }
        largest = bits;
    }
    largest
}
