//! Standard output, whose failures count.
//!
//! Rust's own takes what cannot be written to a closed or read-only one for written, and before
//! `main` it opens `/dev/null` in the place of a closed one. Results would be lost, with status 0.

use std::io::{self, Write};

/// Standard output, unbuffered.
#[cfg(unix)]
pub(crate) type Stdout = std::fs::File;
#[cfg(not(unix))]
pub(crate) type Stdout = io::Stdout;

/// Standard output.
///
/// # Errors
/// It was closed when the command began.
#[cfg(unix)]
pub(crate) fn open() -> io::Result<Stdout> {
    use std::os::fd::AsFd;
    if !start::was_open() {
        return Err(io::Error::other("it is closed"));
    }
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

#[cfg(not(unix))]
pub(crate) fn open() -> io::Result<Stdout> {
    Ok(io::stdout())
}

/// Writes all of `bytes`.
pub(crate) fn write(bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut stdout = open()?;
    stdout.write_all(bytes.as_ref())?;
    stdout.flush()
}

/// How standard output was when the process began.
#[cfg(unix)]
mod start {
    use std::sync::atomic::{AtomicBool, Ordering};

    static OPEN: AtomicBool = AtomicBool::new(true);

    pub(super) fn was_open() -> bool {
        OPEN.load(Ordering::Relaxed)
    }

    /// Called before `main`, and before Rust's own start.
    #[used]
    #[cfg_attr(
        target_vendor = "apple",
        unsafe(link_section = "__DATA,__mod_init_func")
    )]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: it only asks.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        OPEN.store(flags != -1, Ordering::Relaxed);
    }
}
