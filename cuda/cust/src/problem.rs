//! Why a launch is impossible.

/// Where a parameter is among a kernel's parameters, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its first byte.
    pub offset: usize,
    /// The number of its bytes.
    pub size: usize,
}

/// How a kernel's parameters differ from those that a launcher passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamProblem {
    /// Another number of parameters.
    #[error("it takes {has} parameters, and the program passes {passed}")]
    Count {
        /// The kernel's number of parameters.
        has: usize,
        /// The launcher's.
        passed: usize,
    },
    /// A parameter of another size, or in another place.
    #[error(
        "its parameter `{name}` has {} bytes at offset {}, and the program passes {} bytes at \
         offset {}",
        has.size, has.offset, passed.size, passed.offset
    )]
    Layout {
        /// The parameter's name in the source.
        name: &'static str,
        /// The kernel's parameter.
        has: Param,
        /// The launcher's.
        passed: Param,
    },
}

/// Why a launch is impossible. All sizes in threads, blocks or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchProblem {
    /// A grid or block dimension is 0.
    #[error("its {what} is {x} × {y} × {z}, and no dimension may be 0")]
    Empty {
        /// `grid` or `block`.
        what: &'static str,
        /// Size in x.
        x: u32,
        /// Size in y.
        y: u32,
        /// Size in z.
        z: u32,
    },
    /// A grid or block dimension exceeds the device's limit.
    #[error("its {what} has {has} in {axis}, and the device allows {limit}")]
    TooWide {
        /// `grid` or `block`.
        what: &'static str,
        /// `x`, `y` or `z`.
        axis: char,
        /// The size asked for.
        has: u32,
        /// The largest allowed.
        limit: u32,
    },
    /// More threads per block than the kernel's registers or the device allow.
    #[error("its block has {has} threads, and this kernel allows {limit} on this device")]
    TooManyThreads {
        /// Threads per block asked for.
        has: u64,
        /// The most allowed.
        limit: u32,
    },
    /// The kernel was compiled for another block size.
    #[error("its block is {has:?}, but it was compiled for {needs:?} threads (x, y, z)")]
    BlockSize {
        /// The block asked for.
        has: [u32; 3],
        /// The block in the kernel's launch bounds.
        needs: [u32; 3],
    },
    /// More dynamic shared memory than the device has for one block.
    #[error(
        "it asks for {requested} bytes of dynamic shared memory, and {limit} are left per block"
    )]
    SharedMemory {
        /// Bytes asked for.
        requested: u32,
        /// Bytes left beside the kernel's static shared memory.
        limit: u32,
    },
    /// The grid of a cooperative kernel has more blocks than the device holds at once.
    #[error(
        "its grid has {has} blocks, which must all be resident at once, and this device holds \
         {limit}"
    )]
    NotResident {
        /// Blocks in the grid.
        has: u64,
        /// Blocks that the device holds at once.
        limit: u32,
    },
    /// The number of arguments differs from the kernel's number of parameters.
    #[error("it takes {needs} arguments, and {has} were given")]
    Arguments {
        /// Arguments given.
        has: usize,
        /// Parameters declared.
        needs: usize,
    },
}
