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
