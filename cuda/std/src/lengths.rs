//! Lengths stated on a kernel's structures: buffers, views and the check of a launch are derived
//! from them. Host only.
//!
//! A struct with `#[derive(KernelParam)]` states the lengths of its views with `#[len(...)]`, in
//! terms of `sizes`, a value of the type that `#[lengths(...)]` names. A kernel with
//! `#[kernel(len(...))]` states the sizes of its parameters.
//!
//! ```
//! use cuda_std::emulator::{Emulator, EmulatorError, Fault};
//! use cuda_std::prelude::*;
//!
//! /// The size of a matrix.
//! pub struct Extents {
//!     pub rows: u32,
//!     pub columns: u32,
//! }
//!
//! /// A matrix, and the sums of its rows.
//! #[repr(C)]
//! #[derive(Clone, Copy, KernelParam)]
//! #[lengths(Extents, buffers = MatrixBuffers)]
//! pub struct Matrix<'a> {
//!     /// The elements, row by row.
//!     #[len(sizes.rows * sizes.columns, align = 16, zeroed)]
//!     pub elements: ViewMut<'a, u32>,
//!     /// One sum per row.
//!     #[len(sizes.rows)]
//!     pub sums: ViewMut<'a, u32>,
//!     pub rows: u32,
//!     pub columns: u32,
//! }
//!
//! /// Adds up each row; one thread per row.
//! ///
//! /// # Safety
//! /// Nothing else uses the sums meanwhile.
//! #[kernel(block = 64, len(matrix = Extents { rows: matrix.rows, columns: matrix.columns }))]
//! pub unsafe fn sum_rows(matrix: Matrix<'_>) {
//!     let row = thread::index_1d();
//!     if row < matrix.rows {
//!         let first = row * matrix.columns;
//!         let row_elements = first..first + matrix.columns;
//!         matrix.sums.st(row, row_elements.map(|i| matrix.elements.ld(i)).sum());
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gpu = Emulator::new(0);
//! let mut buffers = MatrixBuffers::alloc(&gpu, &Extents { rows: 3, columns: 4 })?;
//! // SAFETY: the memory is this launch's alone.
//! unsafe { sum_rows::launch(&gpu, 1, buffers.views(3, 4)) }?;
//! assert_eq!(buffers.sums.to_vec()?, [0; 3]);
//!
//! // The buffers have no fourth row.
//! // SAFETY: the launch is refused.
//! let refused = unsafe { sum_rows::launch(&gpu, 1, buffers.views(4, 4)) }.unwrap_err();
//! assert!(matches!(refused.fault(), Some(Fault::BadView(_))));
//! assert!(refused.to_string().contains(
//!     "`matrix.elements` has 12 elements, and 16 are needed"
//! ));
//! # Ok(())
//! # }
//! ```
//!
//! # The attributes
//!
//! On a struct, `#[lengths(Extents, buffers = MatrixBuffers)]`. The type of the sizes may be left
//! out if all lengths are constant: it is then `()`. Without `buffers`, lengths are only checked.
//!
//! On a view, `#[len(LENGTH, align = BYTES, zeroed)]`: at least how many elements it has; its
//! alignment in bytes, if that is more than the element's; and whether its buffer is zeroed when it
//! is allocated. A length consists of sums and products of literals and of values of type `u32`,
//! `u64` or `usize`; a struct without buffers may also use its own fields, as `self.rows`. It is
//! computed in `usize` and saturates instead of overflowing: an allocation of that length fails.
//!
//! On a field whose type states lengths itself, `#[len(SIZES)]`: its sizes, `()` if it takes none.
//!
//! On a kernel, `#[kernel(len(NAME = ...))]`: for a parameter that is a view, its length; for a
//! struct, its sizes. The expressions may use all parameters, and `grid`, a
//! [`Dim3`](crate::launch::Dim3).
//!
//! # What is derived
//!
//! All of it for the host alone. The device's code is the same with and without lengths.
//!
//! | derived | what it does |
//! |---|---|
//! | `MatrixBuffers<M>` | holds one buffer, in any [`Memory`], per view with a length |
//! | `MatrixBuffers::alloc` | allocates them; [`AllocError`] names a buffer without memory |
//! | `MatrixBuffers::views` | gives the `Matrix` of them; fields without a length are its arguments |
//! | `MatrixBuffers::bytes` | says how much memory they take |
//! | [`Lengths`] | compares the views with given sizes |
//! | `KernelSpec::check` | does so for a launch's arguments; launchers refuse what it refuses |

use core::fmt;

use crate::{Pod, View, ViewMut};

/// Device memory, from which the buffers of a struct are allocated.
///
/// Programs may implement it for allocators of their own.
pub trait Memory {
    /// Why an allocation failed.
    type Error;

    /// Elements in this memory.
    type Buffer<T: Pod>: fmt::Debug;

    /// Allocates `len` elements, at an address that is a multiple of 256; all their bytes are 0 if
    /// `zeroed`.
    ///
    /// # Errors Those of the implementation, among them one for insufficient memory.
    fn alloc<T: Pod>(&self, len: usize, zeroed: bool) -> Result<Self::Buffer<T>, Self::Error>;

    /// The elements, for a kernel to read.
    fn view<T: Pod>(buffer: &Self::Buffer<T>) -> View<'_, T>;

    /// The elements, for a kernel to write.
    fn view_mut<T: Pod>(buffer: &mut Self::Buffer<T>) -> ViewMut<'_, T>;

    /// The bytes of the elements.
    fn bytes<T: Pod>(buffer: &Self::Buffer<T>) -> u64 {
        (Self::view(buffer).len() as u64).saturating_mul(size_of::<T>() as u64)
    }
}

/// A buffer of a struct that could not be allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocError<E> {
    /// The struct and its field: `Matrix::elements`.
    pub buffer: &'static str,
    /// The elements asked for.
    pub len: usize,
    /// The memory's reason.
    pub source: E,
}

impl<E: fmt::Display> fmt::Display for AllocError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            buffer,
            len,
            source,
        } = self;
        write!(f, "buffer `{buffer}` of {len} elements: {source}")
    }
}

impl<E: std::error::Error + 'static> std::error::Error for AllocError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A struct of views whose lengths follow from sizes. `#[derive(KernelParam)]` implements it.
pub trait Lengths {
    /// What the lengths are computed from.
    type Sizes;

    /// Compares the views with the lengths and alignments that the struct states.
    ///
    /// # Errors
    /// The first view that is too short or misaligned.
    fn check_lengths(&self, sizes: &Self::Sizes) -> Result<(), ViewProblem>;
}

/// A struct of views with buffers of its own. `#[derive(KernelParam)]` implements it for
/// `#[lengths(buffers = ...)]`.
pub trait Buffered: Lengths {
    /// Its buffers.
    type Buffers<M: Memory>;
}

/// A view among a launch's arguments that is not what the kernel's structures state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewProblem {
    /// It has too few elements.
    TooShort {
        /// The view: `sums`, a parameter, or `matrix.sums`, a field of one.
        view: String,
        /// Its elements.
        len: usize,
        /// The elements that it must have at least.
        needs: usize,
    },
    /// It starts at an address that is not aligned as stated.
    Misaligned {
        /// The view.
        view: String,
        /// Its address.
        address: usize,
        /// What the address must be a multiple of.
        alignment: usize,
    },
}

impl ViewProblem {
    /// The view: a parameter, `sums`, or a field of one, `matrix.sums`.
    #[must_use]
    pub fn view(&self) -> &str {
        match self {
            Self::TooShort { view, .. } | Self::Misaligned { view, .. } => view,
        }
    }

    /// The same problem of a view in the field or parameter `name`.
    #[doc(hidden)]
    #[must_use]
    pub fn inside(mut self, name: &str) -> Self {
        match &mut self {
            Self::TooShort { view, .. } | Self::Misaligned { view, .. } => {
                *view = format!("{name}.{view}");
            }
        }
        self
    }
}

impl fmt::Display for ViewProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { view, len, needs } => {
                write!(f, "`{view}` has {len} elements, and {needs} are needed")
            }
            Self::Misaligned {
                view,
                address,
                alignment,
            } => write!(
                f,
                "`{view}` starts at address {address:#x}, which is not a multiple of {alignment}"
            ),
        }
    }
}

impl std::error::Error for ViewProblem {}

/// Compares a view with its stated length and alignment. An empty view has no alignment.
#[doc(hidden)]
pub fn check_view<T>(
    name: &str,
    start: *const T,
    len: usize,
    needs: usize,
    alignment: usize,
) -> Result<(), ViewProblem> {
    let view = || name.to_owned();
    if len < needs {
        return Err(ViewProblem::TooShort {
            view: view(),
            len,
            needs,
        });
    }
    let alignment = alignment.max(align_of::<T>());
    let address = start.addr();
    if len > 0 && !address.is_multiple_of(alignment) {
        return Err(ViewProblem::Misaligned {
            view: view(),
            address,
            alignment,
        });
    }
    Ok(())
}

/// A number of elements in a stated length.
#[doc(hidden)]
pub trait Count {
    /// The number. More than there are addresses is `usize::MAX`.
    fn count(self) -> usize;
}

impl Count for u32 {
    fn count(self) -> usize {
        self.try_into().unwrap_or(usize::MAX)
    }
}

impl Count for u64 {
    fn count(self) -> usize {
        self.try_into().unwrap_or(usize::MAX)
    }
}

impl Count for usize {
    fn count(self) -> usize {
        self
    }
}
