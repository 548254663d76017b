//! Stacks of coroutines.

#[cfg(windows)]
use corosensei::stack::StackTebFields;
use corosensei::stack::{DefaultStack, StackPointer};

/// Size of a stack in bytes. Only the part in use takes memory.
const SIZE: usize = 128 << 10;
/// Bytes of a cache line, a multiple of what a stack's base is aligned to.
const LINE: usize = 64;
/// Lines of a page.
const LINES: usize = 64;

/// A coroutine's stack. Memory for stacks begins at the start of a page, so that the lines in use
/// of all threads would compete for the same few places of the caches; so the stacks begin at
/// different lines.
pub(super) struct Stack {
    memory: DefaultStack,
    base: StackPointer,
}

impl Stack {
    /// The `number`th stack, if there is memory for it.
    pub(super) fn new(number: usize) -> Option<Self> {
        let memory = DefaultStack::new(SIZE).ok()?;
        let base = corosensei::stack::Stack::base(&memory).get() - number % LINES * LINE;
        Some(Self {
            base: StackPointer::new(base)?,
            memory,
        })
    }
}

// SAFETY: the memory is that of a `DefaultStack`, with its guard page. Of its 128 KiB, all but the
// last page at most can be used. The base is as aligned as that of `DefaultStack`, less lines.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.memory.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> StackTebFields {
        self.memory.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.memory
            .update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}
