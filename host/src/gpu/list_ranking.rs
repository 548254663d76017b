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
