//! List ranking: for each element of linked lists, the sum of the weights from it to the end.

use std::mem::swap;

use trazar_kernels::primitives::list_ranking::{
    MOST_SHORT, jump_pointers, rank_short_lists, rounds,
};

use super::{Gpu, GpuBuffer};
use crate::Result;

/// Replaces the weight of each element of `list` by the sum of the weights from it to the end of
/// its list, and all links by the lists' end.
///
/// An element is made by [`element`](trazar_kernels::primitives::list_ranking::element); its link
/// is the index of an element, or the end.
///
/// # Errors
/// No memory; a kernel's failure.
pub(crate) fn rank_lists<G: Gpu>(gpu: &G, mut list: G::Buffer<u64>) -> Result<G::Buffer<u64>> {
    let n = list.len() as u32;
    let on = &gpu.launcher();
    let mut other = gpu.alloc(n as usize)?;
    if n <= MOST_SHORT {
        let rounds = rounds(n).next_multiple_of(2);
        // SAFETY: both have as many elements, and the number of rounds is even.
        unsafe {
            rank_short_lists::launch(on, 1, list.view_mut(), other.view_mut(), rounds)?;
        }
        return Ok(list);
    }
    for _ in 0..rounds(n) {
        // SAFETY: both have as many elements.
        unsafe {
            jump_pointers::launch_threads(on, n, list.view(), other.view_mut())?;
        }
        swap(&mut list, &mut other);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use cuda_std::emulator::Emulator;
    use trazar_kernels::primitives::list_ranking::{END, element};

    use super::*;

    /// One list of all elements needs every round, whether or not there is room for all rounds in
    /// one launch.
    #[test]
    fn a_list_as_long_as_the_array() {
        for n in [1, 2, 3, 1024, MOST_SHORT, MOST_SHORT + 1] {
            // Element `i` is the one before element `7 * i`, say: neighbours lie apart.
            let step = if n % 7 == 0 { 5 } else { 7 };
            let order: Vec<u32> = (0..n).map(|i| (i * step) % n).collect();
            let mut list = vec![0; n as usize];
            let mut sums = vec![0; n as usize];
            let mut sum = 0;
            for (k, &at) in order.iter().enumerate().rev() {
                let weight = at % 5 + 1;
                sum += weight;
                let next = order.get(k + 1).copied().unwrap_or(END);
                list[at as usize] = element(next, weight);
                sums[at as usize] = element(END, sum);
            }
            let emulator = Emulator::new(u64::from(n));
            let list = Gpu::upload(&emulator, &list).expect("memory");
            let ranked = rank_lists(&emulator, list).expect("no fault");
            assert_eq!(ranked.to_vec().expect("memory"), sums, "{n} elements");
        }
    }
}
