//! Arrays of other libraries in a GPU's memory, to write labels to.

use pyo3::intern;
use pyo3::prelude::*;
use trazar::cuda::DeviceBuffer;

use super::input::{Layout, adopted, device_index, interface, is_on_gpu, torch_layout};
use super::place::{Library, OpenStream, place};
use crate::errors;

/// The memory of `output` as a buffer of 32-bit labels, which the array keeps. `None` if its
/// elements are of another type or not in C's order: then its own library is to copy labels to it.
///
/// The stream of `of_image` waits for the work on the array so far. `library` is that of the image.
pub(super) fn buffer(
    output: &Bound<'_, PyAny>,
    of_image: &OpenStream,
    library: Library,
    shape: [usize; 2],
) -> PyResult<Option<DeviceBuffer<u32>>> {
    let py = output.py();
    let stream = &of_image.stream;
    let index = stream.device().info().index;
    if !is_on_gpu(output)? {
        return Err(errors::input(format!(
            "output is in the host's memory, and the image on cuda:{index}: give an array there"
        )));
    }
    let own = Library::of(output)?;
    // If the array does not name its device, the driver checks the address below.
    let given = match own == Library::Torch || output.hasattr(intern!(py, "__dlpack_device__"))? {
        true => device_index(output, own)?,
        false => index,
    };
    if given != index {
        return Err(errors::input(format!(
            "output is on cuda:{given}, and the image on cuda:{index}: give an array there"
        )));
    }
    if own != library {
        let other = place(py, own, index)?;
        let waits = stream.wait_for(&other.stream);
        waits.map_err(|error| errors::from_library(error.into()))?;
    }
    let (is_integer, layout) = if own == Library::Torch {
        let dtype = output.getattr(intern!(py, "dtype"))?.str()?;
        let is_integer = matches!(dtype.to_str()?, "torch.int32" | "torch.uint32");
        (is_integer, torch_layout(output, 4)?)
    } else {
        if !output.hasattr(intern!(py, "__cuda_array_interface__"))? {
            return Err(errors::input(
                "output has no __cuda_array_interface__, by which labels are written to arrays of \
                 other libraries than PyTorch",
            ));
        }
        let found = interface(output, stream)?;
        if found.is_read_only {
            return Err(errors::input("output is a read-only array"));
        }
        let is_integer = matches!(found.typestr.as_str(), "<i4" | "<u4");
        (is_integer, found.layout)
    };
    if layout.shape != shape {
        return Err(errors::input(format!(
            "output of shape {}: the image's is {}",
            tuple(&layout.shape),
            tuple(&shape)
        )));
    }
    if !is_integer || !is_dense(&layout) {
        return match own {
            Library::Torch | Library::Cupy => Ok(None),
            Library::Other => Err(errors::input(
                "output of another library than PyTorch and CuPy must be of int32 or uint32, in \
                 C's order",
            )),
        };
    }
    // SAFETY: the array declares this memory, writable and of this type, and the caller of Python's
    // function keeps it and leaves it alone during the call, which waits for the work; the driver
    // confirms that it is memory of the stream's device.
    let buffer = unsafe { adopted(layout.address, shape[0] * shape[1], stream) };
    Ok(Some(
        buffer.map_err(|error| errors::from_library(error.into()))?,
    ))
}

/// Whether the 32-bit elements are contiguous, in C's order. Strides of axes with one element do
/// not matter.
fn is_dense(layout: &Layout) -> bool {
    let Some(strides) = &layout.strides else {
        return true;
    };
    let mut step = 4;
    for (&len, &stride) in layout.shape.iter().zip(strides).rev() {
        if len > 1 && stride != step {
            return false;
        }
        step *= len as isize;
    }
    true
}

/// A shape as Python writes it.
fn tuple(shape: &[usize]) -> String {
    let sides: Vec<_> = shape.iter().map(usize::to_string).collect();
    match &sides[..] {
        [one] => format!("({one},)"),
        _ => format!("({})", sides.join(", ")),
    }
}
