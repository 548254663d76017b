//! Plain data: types that may lie in GPU memory and be passed as kernel arguments.

/// Plain data that the host and the device lay out alike.
///
/// Integers, floats, arrays of plain data, and `#[repr(C)]` structs of plain data through
/// `#[derive(Pod)]`.
///
/// # Safety
///
/// The type is a number, or `#[repr(C)]` or `#[repr(transparent)]` over such types; every bit
/// pattern is a value of it; it holds no pointer and no reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    note = "GPU memory and kernel arguments hold numbers, arrays of them and `#[repr(C)]` structs \
            of them with `#[derive(Pod)]`"
)]
pub unsafe trait Pod: Copy + Send + Sync + 'static {}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        // SAFETY: a primitive number: same layout on both sides, any bit pattern is a value, no
        // pointer.
        unsafe impl Pod for $t {}
    )*};
}
numbers!(u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64);

// SAFETY: an array is its elements in order, with no padding between them.
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {}
