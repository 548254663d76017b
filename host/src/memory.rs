//! Memory for large arrays: errors instead of aborts, and large pages.

use crate::error::{Error, Result};

/// A `Vec` of `len` zeros.
///
/// The system provides zeroed pages, which are not touched here.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
pub(crate) fn zeroed_vec<T: bytemuck::Zeroable>(len: usize, what: &'static str) -> Result<Vec<T>> {
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| Error::OutOfMemory {
        what,
        bytes: (len as u64).saturating_mul(size_of::<T>() as u64),
    })
}

/// Makes room for `additional` more values in `vec`.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
pub(crate) fn reserve<T>(vec: &mut Vec<T>, additional: usize, what: &'static str) -> Result<()> {
    vec.try_reserve(additional).map_err(|_| Error::OutOfMemory {
        what,
        bytes: ((vec.len() + additional) as u64).saturating_mul(size_of::<T>() as u64),
    })
}

/// The smallest array for which large pages are requested: two of them.
#[cfg(target_os = "linux")]
const LEAST_BYTES: usize = 4 << 20;

/// Asks Linux to back a large new array by large pages (transparent huge pages, in their usual mode
/// `madvise`). Does nothing on other systems.
///
/// The first write to each small page of a new array takes longer than filling the page: labels of
/// 4096² pixels took 50 ms with pages of 4 KiB, and a third of that with large ones.
#[cfg(target_os = "linux")]
pub(crate) fn advise_large_pages<T>(array: &mut [T]) {
    let bytes = size_of_val(array);
    if bytes < LEAST_BYTES {
        return;
    }
    // The request is for whole pages; 64 KiB is the largest size of an ordinary page.
    const PAGE: usize = 1 << 16;
    let skipped = array.as_ptr().cast::<u8>().align_offset(PAGE).min(bytes);
    let length = (bytes - skipped) & !(PAGE - 1);
    let start = array.as_mut_ptr().cast::<u8>().wrapping_add(skipped);
    // SAFETY: `start` and `length` lie within the array, which is borrowed. MADV_HUGEPAGE changes
    // how memory is backed, not its contents. If the system refuses, nothing changes.
    unsafe {
        libc::madvise(start.cast(), length, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn advise_large_pages<T>(_array: &mut [T]) {}
