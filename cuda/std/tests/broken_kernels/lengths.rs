//! Launches with views that are shorter or less aligned than the kernel's structures state.

use cuda_std::emulator::{Emulator, EmulatorError, Fault};
use cuda_std::grid::GridBarrier;
use cuda_std::lengths::{AllocError, ViewProblem};
use cuda_std::prelude::*;

/// What the lengths follow from.
#[derive(Clone, Copy)]
struct Sizes {
    rows: u32,
    columns: u64,
}

impl Sizes {
    /// A function of the sizes, in a stated length.
    fn last_row(self) -> u32 {
        self.rows - 1
    }
}

/// The columns' sums.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(u64, buffers = SumBuffers)]
struct Sums<'a, T: Pod> {
    /// One per column.
    #[len(*sizes, align = 8)]
    sums: ViewMut<'a, T>,
    #[len(())]
    barrier: GridBarrier<'a>,
}

/// A matrix.
#[repr(C)]
#[derive(Clone, Copy, KernelParam)]
#[lengths(Sizes, buffers = MatrixBuffers)]
struct Matrix<'a> {
    rows: u32,
    /// Row by row.
    #[len(sizes.rows * sizes.columns, align = 16, zeroed)]
    elements: View<'a, u32>,
    /// Per row but the last, and one.
    #[len(sizes.last_row() + 1)]
    marks: ViewMut<'a, u8>,
    /// Somebody else's.
    other: View<'a, u16>,
    #[len(sizes.columns)]
    columns: Sums<'a, u32>,
}

/// Adds up the columns; one thread per column.
///
/// # Safety
/// Nothing else uses the sums meanwhile.
#[kernel(block = 4, len(
    matrix = Sizes { rows: matrix.rows, columns: (grid.x * SPEC.block.x).into() },
    factors = 2 * matrix.rows,
))]
unsafe fn sum_columns(matrix: Matrix<'_>, factors: View<'_, u32>) {
    let (column, columns) = (
        thread::index_1d(),
        thread::block_dim_x() * thread::grid_dim_x(),
    );
    let of_row = |row| factors.ld(2 * row) * matrix.elements.ld(row * columns + column);
    let sum = (0..matrix.rows).map(of_row).sum();
    matrix.columns.sums.st(column, sum);
}

/// Buffers for `rows` rows of 8 columns.
fn buffers(gpu: &Emulator, rows: u32) -> MatrixBuffers<Emulator> {
    MatrixBuffers::alloc(gpu, &Sizes { rows, columns: 8 }).expect("there is memory")
}

/// Launches the kernel for 3 rows of 8 columns with what `change` makes of views that suit.
fn launch(
    change: impl FnOnce(&mut Matrix<'_>, &mut View<'_, u32>),
) -> Result<Vec<u32>, EmulatorError> {
    let gpu = Emulator::new(0);
    let (other, factors) = (gpu.alloc(0)?, gpu.upload(&[1u32; 6])?);
    let mut buffers = buffers(&gpu, 3);
    let mut factors = factors.view();
    let mut matrix = buffers.views(3, other.view());
    change(&mut matrix, &mut factors);
    // SAFETY: nothing else uses the memory; the emulator checks all accesses.
    unsafe { sum_columns::launch(&gpu, 2, matrix, factors) }?;
    buffers.columns.sums.to_vec()
}

/// A part of a view, which lives as long as that.
fn part<'a, T: Pod>(view: View<'a, T>, start: usize, len: usize) -> View<'a, T> {
    assert!(start + len <= view.len());
    // SAFETY: elements of the view.
    unsafe { View::from_raw_parts(view.as_ptr().wrapping_add(start), len) }
}

#[track_caller]
fn refused(
    problem: &ViewProblem,
    message: &str,
    change: impl FnOnce(&mut Matrix<'_>, &mut View<'_, u32>),
) {
    let error = launch(change).expect_err("the launch is refused");
    assert_eq!(error.fault(), Some(&Fault::BadView(problem.clone())));
    let text = error.to_string();
    assert!(text.starts_with(message), "{text}");
}

fn short(view: &str, len: usize, needs: usize) -> ViewProblem {
    let view = view.into();
    ViewProblem::TooShort { view, len, needs }
}

#[test]
fn views_as_stated() {
    assert_eq!(launch(|_, _| ()), Ok(vec![0; 8]));
    // More is no harm; an empty view that may be empty has no alignment.
    let longer = launch(|matrix, _| matrix.rows = 2);
    assert_eq!(longer, Ok(vec![0; 8]));
}

#[test]
fn short_views() {
    refused(
        &short("matrix.elements", 23, 24),
        "kernel `sum_columns`: view too short: `matrix.elements` has 23 elements, and 24 are \
         needed (emulator seed 0",
        |matrix, _| matrix.elements = part(matrix.elements, 0, 23),
    );
    refused(
        &short("factors", 5, 6),
        "kernel `sum_columns`: view too short: `factors` has 5 elements, and 6 are needed",
        |_, factors| *factors = part(*factors, 0, 5),
    );
    // In a struct in the struct, and after views that suit.
    let other = Emulator::new(1);
    let mut few = SumBuffers::<_, u32>::alloc(&other, &7).expect("there is memory");
    let few = few.views();
    let needs = "kernel `sum_columns`: view too short: `matrix.columns.sums` has 7 elements, and 8";
    refused(&short("matrix.columns.sums", 7, 8), needs, |matrix, _| {
        // SAFETY: never followed: the launch is refused.
        matrix.columns.sums = unsafe { ViewMut::from_raw_parts(few.sums.as_mut_ptr(), 7) };
    });
}

#[test]
fn misaligned_views() {
    let gpu = Emulator::new(0);
    let elements = gpu.upload(&[0u32; 28]).expect("there is memory");
    let elements = part(elements.view(), 2, 24);
    let problem = ViewProblem::Misaligned {
        view: "matrix.elements".into(),
        address: elements.as_ptr().addr(),
        alignment: 16,
    };
    let message = "kernel `sum_columns`: view misaligned: `matrix.elements` starts at address 0x";
    refused(&problem, message, |matrix, _| {
        // SAFETY: never followed: the launch is refused.
        matrix.elements = unsafe { View::from_raw_parts(elements.as_ptr(), 24) };
    });
}

#[test]
fn sizes_beyond_all_addresses() {
    // The product of the sizes overflows `u64`: the kernel can't be launched with less.
    refused(
        &short("factors", 6, 2 * 0xffff_ffff),
        "kernel `sum_columns`: view too short: `factors` has 6 elements, and 8589934590 are needed",
        |matrix, _| {
            matrix.rows = u32::MAX;
            // SAFETY: never followed: the launch is refused.
            matrix.elements = unsafe { View::from_raw_parts(matrix.elements.as_ptr(), usize::MAX) };
            let marks = matrix.marks.as_mut_ptr();
            // SAFETY: as above.
            matrix.marks = unsafe { ViewMut::from_raw_parts(marks, usize::MAX) };
        },
    );
    let sizes = Sizes {
        rows: u32::MAX,
        columns: u64::MAX,
    };
    let refused =
        MatrixBuffers::alloc(&Emulator::new(0), &sizes).expect_err("no memory is so large");
    let AllocError {
        buffer,
        len,
        source,
    } = &refused;
    assert_eq!((*buffer, *len), ("Matrix::elements", usize::MAX));
    assert!(matches!(source, EmulatorError::OutOfMemory { .. }));
    let text = refused.to_string();
    assert!(
        text.starts_with("buffer `Matrix::elements` of 18446744073709551615 elements: no memory")
    );
}

#[test]
fn buffers_are_as_long_as_stated() {
    let gpu = Emulator::new(0);
    let mut buffers = buffers(&gpu, 5);
    assert_eq!(buffers.elements.to_vec(), Ok(vec![0; 40]));
    assert_eq!(buffers.columns.barrier.counter.to_vec(), Ok(vec![0]));
    assert!(buffers.marks.to_vec().is_err(), "it is not zeroed");
    assert_eq!(buffers.bytes(), 4 * 40 + 5 + 4 * 8 + 4);
    let other = gpu.upload(&[7u16]).expect("there is memory");
    let Matrix {
        rows,
        elements,
        marks,
        other,
        columns,
    } = buffers.views(2, other.view());
    assert_eq!(
        (rows, elements.len(), marks.len(), other.len()),
        (2, 40, 5, 1)
    );
    assert_eq!((columns.sums.len(), columns.barrier.counter.len()), (8, 1));
    let text = format!("{buffers:?}");
    assert!(
        text.starts_with("MatrixBuffers { elements: Buffer {"),
        "{text}"
    );
}
