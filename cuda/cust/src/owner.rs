//! What keeps things made elsewhere alive.

use std::any::Any;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Keeps something made elsewhere alive: a stream, a context, an event, memory. Whoever holds the
/// adopted thing holds its owner, and drops it last.
///
/// The owner is any value whose drop ends the thing's life: a handle of another library, a
/// reference to a Python object, a closure's captures. It may be dropped on any thread.
#[derive(Default)]
pub struct Owner(Option<Mutex<Box<dyn Any + Send>>>);

impl Owner {
    /// Keeps `value`.
    pub fn new(value: impl Any + Send) -> Self {
        Self(Some(Mutex::new(Box::new(value))))
    }

    /// Keeps nothing: the caller of the function that takes it keeps the adopted thing alive.
    pub fn none() -> Self {
        Self(None)
    }

    /// The value, if there is one.
    pub fn into_inner(self) -> Option<Box<dyn Any + Send>> {
        self.0
            .map(|value| value.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Owner(..)"
        } else {
            "Owner(none)"
        })
    }
}
