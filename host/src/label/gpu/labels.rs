//! Labels in a GPU's memory.

use std::sync::OnceLock;

use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer};
use crate::label::{Component, LabelSummary, Labels};

/// Labels in a GPU's memory: one per pixel, 0 for background, 1, 2, … for the components in raster
/// order of their first pixels, as in [`Labels`].
#[derive(Debug)]
pub struct DeviceLabels<G: Gpu> {
    width: u32,
    height: u32,
    labels: G::Buffer<u32>,
    total: G::Buffer<u32>,
    count: OnceLock<u32>,
    components: Option<Vec<Component>>,
}

impl<G: Gpu> DeviceLabels<G> {
    /// Labels that the queued work writes, with the one-element array for their number.
    pub(super) fn new(
        (width, height): (u32, u32),
        labels: G::Buffer<u32>,
        total: G::Buffer<u32>,
    ) -> Self {
        Self {
            width,
            height,
            labels,
            total,
            count: OnceLock::new(),
            components: None,
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

    /// The labels, row by row, without padding.
    pub fn labels(&self) -> &G::Buffer<u32> {
        &self.labels
    }

    /// Takes the labels out, for other GPU code: on an NVIDIA GPU a `DeviceBuffer`, which the crate
    /// `cust` hands to other libraries. They are written when the work queued so far on the
    /// buffer's stream is done.
    pub fn into_labels(self) -> G::Buffer<u32> {
        self.labels
    }

    /// Takes the labels and their number out, without waiting: as [`into_labels`], plus an array of
    /// one element, the number of components.
    ///
    /// [`into_labels`]: Self::into_labels
    pub fn into_labels_and_count(self) -> (G::Buffer<u32>, G::Buffer<u32>) {
        (self.labels, self.total)
    }

    /// The number of components. The first call waits for the labels and copies the number.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator).
    pub fn count(&self) -> Result<u32> {
        if let Some(&count) = self.count.get() {
            return Ok(count);
        }
        let mut count = [0];
        self.total.read(&mut count)?;
        Ok(*self.count.get_or_init(|| count[0]))
    }

    /// The measures of the components, in the host's memory: element `i` is label `i + 1`. `None`
    /// without the option [`statistics`](field@crate::label::ComponentOptions::statistics).
    pub fn components(&self) -> Option<&[Component]> {
        self.components.as_deref()
    }

    /// The number of components, and their measures. Waits for the labels.
    pub(super) fn into_summary(self) -> Result<LabelSummary> {
        Ok(LabelSummary {
            count: self.count()?,
            components: self.components,
        })
    }

    pub(super) fn set_components(&mut self, components: Vec<Component>) {
        self.components = Some(components);
    }

    /// Copies the labels to the host: 4 bytes per pixel. Waits for them. If the host has the image
    /// too, [`Engine::label`](crate::Engine::label) usually takes less time: it copies 4 bytes per
    /// run.
    ///
    /// # Errors
    /// `Error::Cuda`, [`Error::Emulator`](crate::Error::Emulator).
    pub fn to_host(&self) -> Result<Labels> {
        Ok(Labels {
            width: self.width,
            height: self.height,
            labels: self.labels.to_vec()?,
            count: self.count()?,
            components: self.components.clone(),
        })
    }
}
