//! Catches the panics of decoders in other crates.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    /// Whether panics of this thread are caught, and hidden from the program's hook.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
    /// The message and the place of the last caught panic.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `work`. If it panics on this thread, the panic becomes the error, as text, and the
/// program's panic hook does not run.
pub(super) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| match CONTAINED.get() {
            true => LAST.set(describe(info)),
            false => before(info),
        }));
    });
    let outer = CONTAINED.replace(true);
    // Values that `work` was changing when it panicked are not used afterwards.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    result.map_err(|_| LAST.take())
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let words = info.payload_as_str().unwrap_or("panicked");
    let place = info.location().map_or(String::new(), |at| {
        // The path from the crate's folder on.
        let path: Vec<&str> = at.file().split(['/', '\\']).collect();
        let path = path[path.len().saturating_sub(5)..].join("/");
        format!("{path}:{}: ", at.line())
    });
    format!("{place}{words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_errors_and_nothing_else_is_lost() {
        assert_eq!(contain(|| 5), Ok(5));
        let index = [1usize, 7];
        let said = contain(|| index[index[1]]).unwrap_err();
        assert!(
            said.contains("panics.rs") && said.contains("index is 7"),
            "{said}"
        );
        // A caught panic within another, and one after them that is not caught.
        let outer = contain(|| {
            let inner = contain(|| panic!("inner {}", 1)).unwrap_err();
            assert!(inner.ends_with("inner 1"), "{inner}");
            panic!("outer")
        });
        assert!(outer.unwrap_err().ends_with("outer"));
        assert!(!CONTAINED.get());
        // Panics of another thread are not caught.
        let other = contain(|| std::thread::spawn(|| CONTAINED.get()).join());
        assert!(!other.unwrap().unwrap());
    }
}
