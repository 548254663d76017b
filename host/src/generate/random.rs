//! Numbers that depend on a seed and an index alone.

/// The element `index` of the random sequence of `seed`: SplitMix64 (Guy L. Steele Jr., Doug Lea
/// and Christine H. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), which
/// allows access to any element.
pub(crate) fn random(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Maps 64 random bits to a number below `count`, which is at most 2³²: all are equally likely to
/// within 2⁻³².
pub(crate) fn below(random: u64, count: u64) -> u64 {
    ((u128::from(random) * u128::from(count)) >> 64) as u64
}
