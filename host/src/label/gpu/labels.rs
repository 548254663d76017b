//! Labels in a GPU's memory.

use std::sync::OnceLock;

use trazar_kernels::label::tiles::layout::TileLayout;

use super::number::Numbering;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::label::Labels;

/// Labels in a GPU's memory.
#[derive(Debug)]
pub struct DeviceLabels<G: Gpu> {
    width: u32,
    height: u32,
    labels: G::Buffer<u32>,
    total: G::Buffer<u32>,
    count: OnceLock<u32>,
}

impl<G: Gpu> DeviceLabels<G> {
    pub(super) fn new(layout: TileLayout, labels: G::Buffer<u32>, numbering: Numbering<G>) -> Self {
        Self {
            width: layout.width,
            height: layout.height,
            labels,
            total: numbering.total,
            count: OnceLock::new(),
        }
    }

    /// Width of the image that was labelled.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height of the image that was labelled.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The labels, row by row.
    pub fn labels(&self) -> &G::Buffer<u32> {
        &self.labels
    }

    /// The number of components. The first call waits for the work on the labels and fetches it.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`].
    pub fn count(&self) -> Result<u32> {
        if let Some(&count) = self.count.get() {
            return Ok(count);
        }
        let mut count = [0];
        self.total.read(&mut count)?;
        Ok(*self.count.get_or_init(|| count[0]))
    }

    /// Copies the labels to the host.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`].
    pub fn to_host(&self) -> Result<Labels> {
        Ok(Labels {
            width: self.width,
            height: self.height,
            labels: self.labels.to_vec()?,
            count: self.count()?,
            components: None,
        })
    }
}
