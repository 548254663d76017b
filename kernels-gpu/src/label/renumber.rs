//! Gives the components of a band of rows their numbers in the whole image.
//!
//! A band is labelled by itself, with numbers 1, 2, … of its own. The components that start above
//! it in the image are **absorbed**: they take numbers of bands above. The others keep their order,
//! and are numbered after all components that start above the band.
//!
//! [`renumber`](fn@renumber) is for labels that are already written: those of
//! [`direct`](super::direct), and those of measured components.
//!
//! | kernel | launch | moves |
//! | --- | --- | --- |
//! | [`renumber_table`](fn@renumber_table) | one thread per element of the table | reads the absorbed numbers by binary search; writes 4 bytes per component |
//! | [`tiles_write_numbered`](fn@super::tiles::write::tiles_write_numbered) | one block per tile | writes the labels, for the first time, with the table's numbers |
//! | [`renumber`](fn@renumber) | [`threads`]: one per 4 pixels | reads 4 bytes per pixel and 4 per run; writes 4 per pixel of groups of 4 that have foreground |

use cuda_std::prelude::*;

/// Threads per block.
const BLOCK: u32 = 256;

/// Pixels per thread of [`renumber`](fn@renumber).
const GROUP: u32 = 4;

/// Threads of [`renumber`](fn@renumber) for `labels` labels.
#[must_use]
pub const fn threads(labels: u32) -> u64 {
    labels.div_ceil(GROUP) as u64
}

/// The components of a band that start above it in the image. The sizes are their number.
#[repr(C)]
#[derive(Clone, Copy, Debug, KernelParam)]
#[lengths(usize)]
pub struct Absorbed<'a> {
    /// Their numbers in the band, in ascending order.
    #[len(*sizes)]
    pub own: View<'a, u32>,
    /// Their numbers in the image.
    #[len(*sizes)]
    pub numbers: View<'a, u32>,
}

/// Writes the numbers of the band's components in the image: element `n` of `table` is the number
/// of component `n` of the band, and element 0 is 0. `before` is the number of components that
/// start above the band.
///
/// # Safety
///
/// `absorbed` is as its fields say, and `table` has one element more than the band has components.
/// Nothing else uses `table` meanwhile. The launch has one thread per element of `table`.
#[kernel(block = BLOCK, len(absorbed = absorbed.own.len()))]
pub unsafe fn renumber_table(absorbed: Absorbed<'_>, before: u32, table: ViewMut<'_, u32>) {
    let own = thread::index_1d();
    // planted: renumber-table-end
    if own as usize >= table.len() {
        return;
    }
    if own == 0 {
        table.st(own, 0);
        return;
    }
    // The number of absorbed components with smaller numbers.
    let (mut low, mut high) = (0, absorbed.own.len() as u32);
    while low < high {
        let middle = low + (high - low) / 2;
        // planted: renumber-search
        if absorbed.own.ldg(middle) < own {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let is_absorbed = (low as usize) < absorbed.own.len() && absorbed.own.ldg(low) == own;
    let number = if is_absorbed {
        absorbed.numbers.ldg(low)
    } else {
        // planted: renumber-rank
        before + (own - low)
    };
    table.st(own, number);
}

/// Replaces each label by its element of `table`.
///
/// # Safety
///
/// No label is as large as the length of `table`. `labels` has fewer than 2³² elements and starts
/// at a multiple of 16 bytes; nothing else uses it meanwhile. The launch has [`threads`] threads.
#[kernel(block = BLOCK)]
pub unsafe fn renumber(table: View<'_, u32>, labels: ViewMut<'_, u32>) {
    let group = thread::index_1d();
    let count = labels.len() as u32;
    let start = group * GROUP;
    // planted: renumber-last-group
    if group < count / GROUP {
        let mut four: [u32; GROUP as usize] = labels.ld_vector(start);
        if four == [0; GROUP as usize] {
            return;
        }
        // Neighbours mostly have one label.
        let (mut last, mut number) = (0, 0);
        for label in &mut four {
            if *label != last {
                last = *label;
                number = table.ldg(last);
            }
            *label = number;
        }
        labels.st_vector(start, four);
    } else if group == count / GROUP {
        let mut at = start;
        // planted: renumber-rest
        while at < count {
            labels.st(at, table.ldg(labels.ld(at)));
            at += 1;
        }
    }
}
