//! Memory for large arrays: errors instead of aborts, and large pages.

use std::collections::{BinaryHeap, HashMap, HashSet, LinkedList};
use std::hash::Hash;
use std::mem::MaybeUninit;

use rayon::prelude::*;

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

/// An empty `Vec` with room for `len` values.
pub(crate) fn with_room<T>(len: usize, what: &'static str) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    reserve(&mut vec, len, what)?;
    Ok(vec)
}

/// Adds `value` to the end of `vec`.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
#[inline(always)]
pub(crate) fn push<T>(vec: &mut Vec<T>, value: T, what: &'static str) -> Result<()> {
    if vec.len() == vec.capacity() {
        reserve(vec, 1, what)?;
    }
    vec.push(value);
    Ok(())
}

/// Adds `values` to the end of `vec`.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
pub(crate) fn extend<T>(
    vec: &mut Vec<T>,
    values: impl IntoIterator<Item = T>,
    what: &'static str,
) -> Result<()> {
    let values = values.into_iter();
    reserve(vec, values.size_hint().0, what)?;
    for value in values {
        push(vec, value, what)?;
    }
    Ok(())
}

/// Adds copies of `values` to the end of `vec`.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
#[inline]
pub(crate) fn extend_from_slice<T: Copy>(
    vec: &mut Vec<T>,
    values: &[T],
    what: &'static str,
) -> Result<()> {
    reserve(vec, values.len(), what)?;
    vec.extend_from_slice(values);
    Ok(())
}

/// A `Vec` of `values`.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
pub(crate) fn collect<T>(
    values: impl IntoIterator<Item = T>,
    what: &'static str,
) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    extend(&mut vec, values, what)?;
    Ok(vec)
}

/// A `Vec` of `values`, in their order, collected on several threads.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
pub(crate) fn par_collect<T: Send>(
    values: impl ParallelIterator<Item = T>,
    what: &'static str,
) -> Result<Vec<T>> {
    let shares = values
        .fold(
            || Ok(Vec::new()),
            |share: Result<Vec<T>>, value| {
                let mut share = share?;
                push(&mut share, value, what)?;
                Ok(share)
            },
        )
        // Each thread has some of the shares.
        .map(|share| LinkedList::from([share]))
        .reduce(LinkedList::new, |mut shares, mut later| {
            shares.append(&mut later);
            shares
        });
    let mut all = Vec::new();
    for share in shares {
        let mut share = share?;
        if all.is_empty() {
            all = share;
            continue;
        }
        reserve(&mut all, share.len(), what)?;
        all.append(&mut share);
    }
    Ok(all)
}

/// The values of all results, in their order, collected on several threads.
///
/// # Errors
/// The first of the results' errors, in their order; [`Error::OutOfMemory`], instead of an abort.
pub(crate) fn par_try_collect<T: Send>(
    results: impl ParallelIterator<Item = Result<T>>,
    what: &'static str,
) -> Result<Vec<T>> {
    let results: Vec<Result<T>> = par_collect(results, what)?;
    let mut values = with_room(results.len(), what)?;
    for result in results {
        values.push(result?);
    }
    Ok(values)
}

/// Has the processor load the cache line of a value that is read soon, without waiting for it. Does
/// nothing on other architectures than x86-64. Any index will do.
#[inline(always)]
pub(crate) fn prefetch<T>(array: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        let place = array.as_ptr().wrapping_add(index);
        // SAFETY: all processors of the architecture have SSE. The instruction is a hint: it reads
        // and writes nothing, and does not fault on any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, index);
}

/// How far ahead of their use values are loaded to the cache, in bytes.
const AHEAD: usize = 4096;

/// [`prefetch`] of the values that lie [`AHEAD`] bytes after the `count` values from `index` on,
/// which are read now. A processor also loads an array ahead by itself, but less far if branches in
/// between are mispredicted.
#[inline(always)]
pub(crate) fn prefetch_ahead<T>(array: &[T], index: usize, count: usize) {
    const LINE: usize = 64;
    for byte in (0..count * size_of::<T>()).step_by(LINE) {
        prefetch(array, index + (AHEAD + byte) / size_of::<T>());
    }
}

/// Makes room for one more entry in `map`.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
#[inline]
pub(crate) fn reserve_in_map<K: Eq + Hash, V>(
    map: &mut HashMap<K, V>,
    what: &'static str,
) -> Result<()> {
    if map.len() < map.capacity() {
        return Ok(());
    }
    map.try_reserve(1).map_err(|_| Error::OutOfMemory {
        what,
        bytes: (2 * map.capacity() as u64).saturating_mul(size_of::<(K, V)>() as u64),
    })
}

/// Makes room for `additional` more values in `set`.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
#[inline]
pub(crate) fn reserve_in_set<T: Eq + Hash>(
    set: &mut HashSet<T>,
    additional: usize,
    what: &'static str,
) -> Result<()> {
    if additional <= set.capacity() - set.len() {
        return Ok(());
    }
    set.try_reserve(additional).map_err(|_| Error::OutOfMemory {
        what,
        bytes: (2 * (set.len() + additional) as u64).saturating_mul(size_of::<T>() as u64),
    })
}

/// Adds `value` to `heap`.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
#[inline(always)]
pub(crate) fn push_to_heap<T: Ord>(
    heap: &mut BinaryHeap<T>,
    value: T,
    what: &'static str,
) -> Result<()> {
    if heap.len() == heap.capacity() {
        heap.try_reserve(1).map_err(|_| Error::OutOfMemory {
            what,
            bytes: (2 * heap.len() as u64).saturating_mul(size_of::<T>() as u64),
        })?;
    }
    heap.push(value);
    Ok(())
}

/// A `Vec` of `len` copies of `value`.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
pub(crate) fn filled_vec<T: Clone>(value: T, len: usize, what: &'static str) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    reserve(&mut vec, len, what)?;
    vec.resize(len, value);
    Ok(vec)
}

/// [`filled_vec`] on all threads, in large pages: for long arrays.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
pub(crate) fn par_filled_vec<T: Copy + Send + Sync>(
    value: T,
    len: usize,
    what: &'static str,
) -> Result<Vec<T>> {
    const ROW: usize = 1 << 15;
    par_rows(ROW, len, what, |_| std::iter::repeat(value))
}

/// An array of `len` values in pieces of `size` values; the last piece may be shorter. All threads
/// call `write`, once for each piece, which is zero then, with the piece's index.
///
/// The zero pages of a large array come from the system, and pieces that stay zero are not touched.
/// Smaller arrays may be memory that the allocator gives again: each piece is cleared just before
/// it is written.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
pub(crate) fn par_zeroed_pieces<T: bytemuck::Zeroable + Send>(
    len: usize,
    size: usize,
    what: &'static str,
    write: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Vec<T>> {
    if len.saturating_mul(size_of::<T>()) > KEPT_BYTES {
        let mut all = zeroed_vec(len, what)?;
        advise_large_pages(&mut all);
        par_for_each_piece(&mut all, size, |(i, piece)| write(i, piece));
        return Ok(all);
    }
    let mut all = with_room(len, what)?;
    let room = &mut all.spare_capacity_mut()[..len];
    let clear_and_write = |(i, piece): (usize, &mut [MaybeUninit<T>])| {
        for value in &mut *piece {
            value.write(T::zeroed());
        }
        // SAFETY: all of the piece's values have just been written.
        write(i, unsafe { piece.assume_init_mut() });
    };
    par_for_each_piece(room, size, clear_and_write);
    // SAFETY: all `len` values have been written.
    unsafe { all.set_len(len) };
    Ok(all)
}

/// An array of `len` values in rows of `width` values; the last row may be shorter. `row` gives the
/// values of a row, or more than it has room for. It is called on all threads.
///
/// # Errors
/// [`Error::OutOfMemory`], instead of an abort.
pub(crate) fn par_rows<T: Send, I: Iterator<Item = T>>(
    width: usize,
    len: usize,
    what: &'static str,
    row: impl Fn(usize) -> I + Sync,
) -> Result<Vec<T>> {
    let mut all = with_room(len, what)?;
    let room = &mut all.spare_capacity_mut()[..len];
    advise_large_pages(room);
    let write = |(y, places): (usize, &mut [MaybeUninit<T>])| {
        let written = places.iter_mut().zip(row(y));
        let written = written.map(|(place, value)| place.write(value)).count();
        assert_eq!(written, places.len(), "the values of row {y}");
    };
    par_for_each_piece(room, width, write);
    // SAFETY: all `len` values have been written.
    unsafe { all.set_len(len) };
    Ok(all)
}

/// Calls `work` on all threads, once for each piece of `size` values, with the piece's index. A
/// single piece is worked on here: no other thread is worth waking.
fn par_for_each_piece<T: Send>(
    all: &mut [T],
    size: usize,
    work: impl Fn((usize, &mut [T])) + Sync,
) {
    if all.len() <= size {
        all.chunks_mut(size).enumerate().for_each(work);
    } else {
        crate::threads::ensure();
        all.par_chunks_mut(size).enumerate().for_each(&work);
    }
}

/// The size in bytes up to which glibc's allocator may reuse a freed array for a new one. Memory of
/// larger arrays comes from the system, cleared.
pub(crate) const KEPT_BYTES: usize = 32 << 20;

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
