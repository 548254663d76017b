//! Signals that end the command: temporary files are removed first.

use std::{mem, ptr};

use libc::c_int;
use trazar::formats;

const ENDING: [c_int; 5] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGXCPU,
];

/// Installs handlers that remove the command's temporary files before a signal ends it. Signals
/// that are ignored (by `nohup`) stay ignored.
pub(crate) fn clean_up_at_the_end() {
    for signal in ENDING {
        // SAFETY: `sigaction` is a C struct for which all zeros is a value, and the pointers are to
        // such structs or null. The handler calls only async-signal-safe functions.
        unsafe {
            let mut old: libc::sigaction = mem::zeroed();
            if libc::sigaction(signal, ptr::null(), &mut old) != 0
                || old.sa_sigaction == libc::SIG_IGN
            {
                continue;
            }
            let mut new: libc::sigaction = mem::zeroed();
            new.sa_sigaction = end as *const () as libc::sighandler_t;
            // The default action is restored before the handler runs.
            new.sa_flags = libc::SA_RESETHAND;
            libc::sigemptyset(&mut new.sa_mask);
            libc::sigaction(signal, &new, ptr::null_mut());
        }
    }
}

/// Ends the process as the signal does without a handler.
extern "C" fn end(signal: c_int) {
    formats::remove_temporaries();
    // SAFETY: `raise` is async-signal-safe. The signal is blocked until the handler returns.
    unsafe { libc::raise(signal) };
}
