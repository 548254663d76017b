//! The names of temporary files, kept so that a signal handler can remove the files.

use std::io;
use std::path::Path;

#[cfg(unix)]
use self::unix::Entry;
#[cfg(unix)]
pub use self::unix::remove_temporaries;

/// The name of a temporary file; [`remove_temporaries`] removes the file while this value lives.
#[derive(Debug)]
pub(super) struct Registered {
    #[cfg(unix)]
    _entry: Entry,
}

impl Registered {
    /// Registers the name. Call it before the file is created: a signal may come at any time.
    ///
    /// # Errors
    /// The name has a zero byte, or the process is about to end.
    #[cfg(unix)]
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        Ok(Self {
            _entry: Entry::new(path)?,
        })
    }

    /// Does nothing: this system has no signals that end a process.
    #[cfg(not(unix))]
    pub(super) fn new(_: &Path) -> io::Result<Self> {
        Ok(Self {})
    }
}

#[cfg(unix)]
mod unix {
    use std::ffi::{CString, c_char};
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr;
    use std::sync::atomic::Ordering::SeqCst;
    use std::sync::atomic::{AtomicBool, AtomicPtr};

    /// The first slot of the list. Slots are added at the front, reused, and never freed.
    static FIRST: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

    /// Whether [`remove_temporaries`] has begun. From then on names are neither added nor freed.
    static ENDING: AtomicBool = AtomicBool::new(false);

    /// A place for a name in the list.
    #[derive(Debug)]
    struct Slot {
        /// From [`CString::into_raw`], or null.
        name: AtomicPtr<c_char>,
        next: Option<&'static Slot>,
    }

    /// A name in the list.
    #[derive(Debug)]
    pub(super) struct Entry(&'static Slot);

    /// Removes the temporary files of all unfinished [`Output`](super::super::Output)s, of all
    /// threads. Only systems and file systems without unnamed files have such temporary files.
    ///
    /// It is for the handler of a signal that ends the process: it takes no lock, allocates no
    /// memory, and calls only `unlink`. Afterwards, an `Output` that needs a named temporary file
    /// fails. The library installs no handlers; without one, such a signal leaves the files
    /// behind.
    ///
    /// ```no_run
    /// extern "C" fn end(signal: i32) {
    ///     trazar::formats::remove_temporaries();
    ///     // ... then the signal's default action, so that the exit status tells of it.
    /// }
    /// ```
    pub fn remove_temporaries() {
        ENDING.store(true, SeqCst);
        // SAFETY: null or a slot, and slots are never freed.
        let mut next = unsafe { FIRST.load(SeqCst).as_ref() };
        while let Some(slot) = next {
            let name = slot.name.load(SeqCst);
            if !name.is_null() {
                // SAFETY: a C string. It was in its slot after `ENDING` was set, so the thread that
                // takes it out sees that, and does not free it. A failure can only be ignored.
                unsafe { libc::unlink(name) };
            }
            next = slot.next;
        }
    }

    impl Entry {
        pub(super) fn new(path: &Path) -> io::Result<Self> {
            let name = CString::new(path.as_os_str().as_bytes())?;
            let entry = Self(claim(name.into_raw()));
            // Either `remove_temporaries` sees the name, or `ENDING` is seen here.
            if ENDING.load(SeqCst) {
                return Err(io::Error::other("the process is about to end"));
            }
            Ok(entry)
        }
    }

    impl Drop for Entry {
        fn drop(&mut self) {
            let name = self.0.name.swap(ptr::null_mut(), SeqCst);
            if !name.is_null() && !ENDING.load(SeqCst) {
                // SAFETY: from `into_raw`, and taken out of its slot, so no other thread frees it;
                // nor does one read it, since `ENDING` is set before names are read.
                drop(unsafe { CString::from_raw(name) });
            }
        }
    }

    /// Puts `name` in a slot: a free one, or else a new one.
    fn claim(name: *mut c_char) -> &'static Slot {
        let first = FIRST.load(SeqCst);
        // SAFETY: null or a slot, and slots are never freed.
        let mut next = unsafe { first.as_ref() };
        while let Some(slot) = next {
            let free = ptr::null_mut();
            if slot
                .name
                .compare_exchange(free, name, SeqCst, SeqCst)
                .is_ok()
            {
                return slot;
            }
            next = slot.next;
        }
        let slot = Box::leak(Box::new(Slot {
            name: AtomicPtr::new(name),
            next: None,
        }));
        let slot: *mut Slot = slot;
        let mut first = first;
        loop {
            // SAFETY: `slot` is not in the list yet, so no other thread has it; `first` as above.
            unsafe { (*slot).next = first.as_ref() };
            match FIRST.compare_exchange(first, slot, SeqCst, SeqCst) {
                // SAFETY: it is never freed, and from here on only its atomic changes.
                Ok(_) => return unsafe { &*slot },
                Err(now) => first = now,
            }
        }
    }
}
