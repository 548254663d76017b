//! Operations among the lanes of a warp: their operands, and the result of each lane.

use super::clocks::LANES;

/// A warp operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpOp {
    Sync,
    VoteAll,
    VoteAny,
    Ballot,
    MatchAny32,
    MatchAny64,
    MatchAll32,
    MatchAll64,
    ReduceAdd,
    ReduceMin,
    ReduceMax,
    ReduceMinSigned,
    ReduceMaxSigned,
    ReduceAnd,
    ReduceOr,
    ReduceXor,
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    ShuffleIdx,
}

impl WarpOp {
    /// The function's name in `cuda_std::warp`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync_warp",
            Self::VoteAll => "warp_vote_all",
            Self::VoteAny => "warp_vote_any",
            Self::Ballot => "warp_vote_ballot",
            Self::MatchAny32 => "warp_match_any_32",
            Self::MatchAny64 => "warp_match_any_64",
            Self::MatchAll32 => "warp_match_all_32",
            Self::MatchAll64 => "warp_match_all_64",
            Self::ReduceAdd => "warp_reduce_add",
            Self::ReduceMin => "warp_reduce_min",
            Self::ReduceMax => "warp_reduce_max",
            Self::ReduceMinSigned => "warp_reduce_min_i32",
            Self::ReduceMaxSigned => "warp_reduce_max_i32",
            Self::ReduceAnd => "warp_reduce_and",
            Self::ReduceOr => "warp_reduce_or",
            Self::ReduceXor => "warp_reduce_xor",
            Self::ShuffleUp => "warp_shuffle_up",
            Self::ShuffleDown => "warp_shuffle_down",
            Self::ShuffleXor => "warp_shuffle_xor",
            Self::ShuffleIdx => "warp_shuffle_idx",
        }
    }
}

/// A lane's operand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operand {
    pub(super) value: u64,
    /// Of a shuffle: the distance, lane mask or lane, and the segments and clamp as the instruction
    /// takes them.
    pub(super) lane: u32,
    pub(super) segments: u32,
}

/// A lane's result.
pub(super) type Answer = (u64, bool);

/// Error: a lane reads from a lane that does not take part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inactive {
    pub(super) reader: usize,
    pub(super) lane: usize,
}

/// Sets the result of each lane of `mask`, from the operands of these lanes.
pub(super) fn answers(
    op: WarpOp,
    mask: u32,
    operands: &[Operand; LANES],
    answers: &mut [Answer; LANES],
) -> Result<(), Inactive> {
    let lanes = || (0..LANES).filter(|lane| mask >> lane & 1 != 0);
    let values = || lanes().map(|lane| operands[lane].value);
    let narrow = || values().map(|value| value as u32);
    let signed = || narrow().map(u32::cast_signed);
    let where_value = |value: u64| {
        lanes()
            .filter(|&lane| operands[lane].value == value)
            .fold(0u32, |found, lane| found | 1 << lane)
    };
    let all: Option<Answer> = match op {
        WarpOp::Sync => Some((0, false)),
        WarpOp::VoteAll => Some((values().all(|v| v != 0).into(), false)),
        WarpOp::VoteAny => Some((values().any(|v| v != 0).into(), false)),
        WarpOp::Ballot => Some(((mask & !where_value(0)).into(), false)),
        WarpOp::MatchAll32 | WarpOp::MatchAll64 => {
            let first = values().next().unwrap_or(0);
            let same = where_value(first) == mask;
            Some((if same { mask.into() } else { 0 }, same))
        }
        WarpOp::ReduceAdd => Some((narrow().fold(0, u32::wrapping_add).into(), false)),
        WarpOp::ReduceMin => narrow().min().map(|v| (v.into(), false)),
        WarpOp::ReduceMax => narrow().max().map(|v| (v.into(), false)),
        WarpOp::ReduceMinSigned => signed().min().map(|v| (v.cast_unsigned().into(), false)),
        WarpOp::ReduceMaxSigned => signed().max().map(|v| (v.cast_unsigned().into(), false)),
        WarpOp::ReduceAnd => Some((narrow().fold(u32::MAX, |a, b| a & b).into(), false)),
        WarpOp::ReduceOr => Some((narrow().fold(0, |a, b| a | b).into(), false)),
        WarpOp::ReduceXor => Some((narrow().fold(0, |a, b| a ^ b).into(), false)),
        WarpOp::MatchAny32
        | WarpOp::MatchAny64
        | WarpOp::ShuffleUp
        | WarpOp::ShuffleDown
        | WarpOp::ShuffleXor
        | WarpOp::ShuffleIdx => None,
    };
    for lane in lanes() {
        answers[lane] = match (all, op) {
            (Some(all), _) => all,
            (None, WarpOp::MatchAny32 | WarpOp::MatchAny64) => {
                (where_value(operands[lane].value).into(), false)
            }
            _ => {
                let (source, valid) = shuffle_source(op, lane as u32, operands[lane]);
                let source = source as usize;
                if mask >> source & 1 == 0 {
                    return Err(Inactive {
                        reader: lane,
                        lane: source,
                    });
                }
                (operands[source].value, valid)
            }
        };
    }
    Ok(())
}

/// The lane that `lane` reads from, as PTX defines `shfl.sync`: itself where there is none.
fn shuffle_source(op: WarpOp, lane: u32, operand: Operand) -> (u32, bool) {
    let distance = operand.lane & 31;
    let segment_mask = operand.segments >> 8 & 31;
    let clamp = operand.segments & 31;
    let first = lane & segment_mask;
    let limit = first | (clamp & !segment_mask);
    let (source, valid) = match op {
        // A negative lane wraps around to one above the limit: hence the first comparison.
        WarpOp::ShuffleUp => {
            let source = lane.wrapping_sub(distance);
            (source, lane >= distance && source >= limit)
        }
        WarpOp::ShuffleDown => (lane + distance, lane + distance <= limit),
        WarpOp::ShuffleXor => (lane ^ distance, lane ^ distance <= limit),
        _ => {
            let source = first | (distance & !segment_mask);
            (source, source <= limit)
        }
    };
    if valid { (source, true) } else { (lane, false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(op: WarpOp, distance: u32, width: u32, clamp: u32) -> Vec<Answer> {
        let segments = (32 - width) << 8 | clamp;
        let operands = std::array::from_fn(|lane| Operand {
            value: 100 + lane as u64,
            lane: distance,
            segments,
        });
        let mut found = [(0, false); LANES];
        answers(op, u32::MAX, &operands, &mut found).unwrap();
        found.to_vec()
    }

    #[test]
    fn shuffles_stay_in_their_segments() {
        let up = shuffled(WarpOp::ShuffleUp, 3, 8, 0);
        assert_eq!(up[2], (102, false));
        assert_eq!(up[3], (100, true));
        assert_eq!(up[8], (108, false));
        assert_eq!(up[31], (128, true));
        let down = shuffled(WarpOp::ShuffleDown, 3, 8, 31);
        assert_eq!(down[4], (107, true));
        assert_eq!(down[5], (105, false));
        assert_eq!(down[24], (127, true));
        let xor = shuffled(WarpOp::ShuffleXor, 8, 8, 31);
        // A lane of an earlier segment can be read, a lane of a later one can't.
        assert_eq!(xor[0], (100, false));
        assert_eq!(xor[8], (100, true));
        let idx = shuffled(WarpOp::ShuffleIdx, 10, 4, 31);
        assert_eq!(idx[0], (102, true));
        assert_eq!(idx[30], (130, true));
    }

    #[test]
    fn reading_from_a_lane_outside_the_mask_is_noticed() {
        let operands = [Operand {
            value: 0,
            lane: 1,
            segments: 31,
        }; LANES];
        let mut found = [(0, false); LANES];
        let inactive = answers(WarpOp::ShuffleDown, 0b0101, &operands, &mut found).unwrap_err();
        assert_eq!((inactive.reader, inactive.lane), (0, 1));
    }
}
