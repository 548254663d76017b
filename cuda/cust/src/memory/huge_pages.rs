//! Large pages for new memory on the host.

use std::mem::MaybeUninit;

/// Advises the system to back new memory with large pages: in pages of 4 KiB, providing the memory
/// takes longer than the bus takes to fill it. The system may ignore the advice.
pub(crate) fn advise<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        /// The size of a large page.
        const LARGE: usize = 2 << 20;
        let start = (memory.as_ptr() as usize).next_multiple_of(LARGE);
        let end = (memory.as_ptr() as usize + size_of_val(memory)) / LARGE * LARGE;
        if start < end {
            // SAFETY: whole pages within memory of this process. The advice changes no content.
            let _ = unsafe {
                libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE)
            };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
