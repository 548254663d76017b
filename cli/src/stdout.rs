//! Standard output, with errors when it cannot be written.
//!
//! Rust's own standard output reports success for writes to a descriptor that is closed or
//! read-only, and before `main` it replaces a closed one by `/dev/null`. Results would be lost with
//! exit status 0.

use std::io::{self, Write};

/// Standard output, unbuffered.
#[cfg(unix)]
pub(crate) type Stdout = std::fs::File;
#[cfg(not(unix))]
pub(crate) type Stdout = io::Stdout;

/// Standard output.
///
/// # Errors
/// Standard output was closed when the command began.
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

/// Whether standard output was open when the process began.
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
        // SAFETY: F_GETFD reads a descriptor's flags, and changes nothing.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        OPEN.store(flags != -1, Ordering::Relaxed);
    }
}
