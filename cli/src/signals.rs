//! Signals that end the command: temporary files go first.

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

/// From here on, the signals that end the command remove its temporary files first. Signals that
/// are ignored (by `nohup`) stay so.
pub(crate) fn clean_up_at_the_end() {
    for signal in ENDING {
        // SAFETY: all zeros is a value of this plain struct, and the pointers are to such structs
        // or null. The handler calls nothing but what a handler may call.
        unsafe {
            let mut old: libc::sigaction = mem::zeroed();
            if libc::sigaction(signal, ptr::null(), &mut old) != 0
                || old.sa_sigaction == libc::SIG_IGN
            {
                continue;
            }
            let mut new: libc::sigaction = mem::zeroed();
            new.sa_sigaction = end as *const () as libc::sighandler_t;
            // The default action is back when the handler is called.
            new.sa_flags = libc::SA_RESETHAND;
            libc::sigemptyset(&mut new.sa_mask);
            libc::sigaction(signal, &new, ptr::null_mut());
        }
    }
}

/// Ends the process as the signal does without a handler.
extern "C" fn end(signal: c_int) {
    formats::remove_temporaries();
    // SAFETY: a handler may call it. The signal waits until the handler returns.
    unsafe { libc::raise(signal) };
}
