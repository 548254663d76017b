//! The buffers of kernels' structures, on a [`Gpu`].

use cuda_std::lengths::{AllocError, Memory};
use cuda_std::{Pod, View, ViewMut};

use super::{Gpu, GpuBuffer};
use crate::error::{Error, Result};

/// A [`Gpu`] as the memory in which the buffers of kernels' structures are allocated.
#[derive(Clone, Debug)]
pub struct OnGpu<G>(pub G);

impl<G: Gpu> Memory for OnGpu<G> {
    type Error = Error;
    type Buffer<T: Pod> = G::Buffer<T>;

    fn alloc<T: Pod>(&self, len: usize, zeroed: bool) -> Result<G::Buffer<T>> {
        if zeroed {
            self.0.alloc_zeroed(len)
        } else {
            self.0.alloc(len)
        }
    }

    fn view<T: Pod>(buffer: &G::Buffer<T>) -> View<'_, T> {
        buffer.view()
    }

    fn view_mut<T: Pod>(buffer: &mut G::Buffer<T>) -> ViewMut<'_, T> {
        buffer.view_mut()
    }
}

/// Names the buffer only if memory ran out. Other errors, such as the failure of an earlier kernel,
/// are passed on as they are.
impl From<AllocError<Self>> for Error {
    fn from(error: AllocError<Self>) -> Self {
        if error.source.is_out_of_memory() {
            Self::Buffer(Box::new(error))
        } else {
            error.source
        }
    }
}
