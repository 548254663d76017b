//! What the views and shared arrays of a kernel tell the machine.

use core::fmt;
use std::ops::Range;

use super::event::Source;
use crate::backend::Access;

/// An access as the views describe it.
#[derive(Clone, Copy)]
pub(crate) struct Accessed {
    pub(crate) start: usize,
    pub(crate) index: usize,
    pub(crate) count: usize,
    pub(crate) len: usize,
    pub(crate) size: usize,
    pub(crate) alignment: usize,
    pub(crate) access: Access,
    pub(crate) source: Source,
}

/// An array in dynamic shared memory, as the kernel asks for it.
#[derive(Clone, Copy)]
pub(crate) struct DynamicArray {
    /// Where it starts, in bytes from the start of that memory.
    pub(crate) offset: usize,
    pub(crate) len: usize,
    /// Bytes per element.
    pub(crate) size: usize,
    pub(crate) element: &'static str,
    pub(crate) source: Source,
}

impl DynamicArray {
    /// The bytes that it has in dynamic shared memory.
    pub(super) fn bytes(&self) -> Range<usize> {
        let bytes = self.len.saturating_mul(self.size);
        self.offset..self.offset.saturating_add(bytes)
    }
}

impl fmt::Display for DynamicArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset,
            len,
            element,
            source,
            ..
        } = self;
        write!(f, "[{element}; {len}] from byte {offset} on, of {source}")
    }
}
