//! A band on its own, on any device: its part, and its labels with the final numbers.

use rayon::prelude::*;

use super::table::Final;
use super::{BandNumbers, LabelNumber, LabelPart, LabelTable};
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::image::BinaryImage;
use crate::image::gpu::DeviceImage;
use crate::label::cpu;
use crate::label::gpu::fits_one_band;
use crate::label::{
    ComponentOptions, Connectivity, DeviceLabeler, DeviceLabels, LabelOptions, Labels,
};
use crate::memory::zeroed_vec;
use crate::progress::Progress;

impl BandNumbers {
    /// Refuses a band whose number of rows differs from the first pass.
    pub(crate) fn check_rows(&self, rows: u32) -> Result<()> {
        self.band.check_rows(rows)
    }

    /// The final labels of the band, from its own labels.
    pub(crate) fn relabel<T: LabelNumber>(&self, own: &Labels) -> Result<Vec<T>> {
        self.band.check_count(own.count())?;
        let own = own.as_slice();
        let mut labels = zeroed_vec(own.len(), "labels")?;
        self.band.relabel(own, &mut labels)?;
        Ok(labels)
    }

    /// The labels of the band, with its final numbers, on all cores.
    pub(crate) fn label_on_processor(
        &self,
        band: &BinaryImage,
        connectivity: Connectivity,
        progress: &Progress<'_>,
    ) -> Result<Vec<u32>> {
        let numbers = |count| {
            self.band.check_count(count)?;
            self.numbers()
        };
        cpu::label_band(band, connectivity, numbers, progress)
    }

    /// A table of this band alone.
    fn table(&self) -> LabelTable {
        LabelTable {
            count: self.total,
            bands: vec![self.band.clone()],
            components: None,
        }
    }
}

impl Final {
    /// Writes the final numbers of pixels' components, given the band's own numbers.
    pub(super) fn relabel<T: LabelNumber>(&self, own: &[u32], labels: &mut [T]) -> Result<()> {
        let numbers: Vec<T> = self.numbers()?;
        let each = labels.par_iter_mut().zip(own);
        each.for_each(|(label, &own)| *label = numbers[own as usize]);
        Ok(())
    }

    /// Refuses a band whose number of rows differs from the first pass.
    pub(super) fn check_rows(&self, rows: u32) -> Result<()> {
        self.check("rows", self.rows.len() as u64, rows.into())
    }

    /// Refuses a band whose number of own components differs from the first pass.
    pub(super) fn check_count(&self, count: u32) -> Result<()> {
        self.check("components", self.count.into(), count.into())
    }

    fn check(&self, unit: &'static str, before: u64, now: u64) -> Result<()> {
        if before == now {
            return Ok(());
        }
        Err(Error::ImageChanged {
            first_row: self.rows.start,
            unit,
            before,
            now,
        })
    }
}

impl<G: Gpu> DeviceLabeler<G> {
    /// [`LabelPart::label`] by kernels, of a band in the host's memory.
    pub(crate) fn label_part_host(
        &self,
        band: &BinaryImage,
        first_row: u32,
        options: &ComponentOptions,
    ) -> Result<LabelPart> {
        check_indexed(band.width(), band.height())?;
        let image = DeviceImage::upload(self.gpu(), band)?;
        let (_, part, _) = self.label_rows(&image, first_row, &(*options).into(), true)?;
        Ok(part)
    }

    /// Labels a band of an image with the image's numbers of components, as
    /// [`Engine::label_band`](crate::Engine::label_band) does. The result's
    /// [`count`](DeviceLabels::count) is that of the image; there are no statistics. The
    /// connectivity must be that of the parts that `numbers` come from.
    ///
    /// # Errors
    /// Those of [`Engine::label_band`](crate::Engine::label_band).
    pub fn label_band(
        &self,
        band: &DeviceImage<G>,
        numbers: &BandNumbers,
        connectivity: Connectivity,
    ) -> Result<DeviceLabels<G>> {
        check_indexed(band.width(), band.height())?;
        numbers.band.check_rows(band.height())?;
        let first_row = numbers.rows().start;
        let options = LabelOptions::default().connectivity(connectivity);
        let (own, part) = self.label_part(band, first_row, &options)?;
        numbers.band.check_count(part.count())?;
        own.finish(&numbers.table())
    }

    /// As [`label_band`](Self::label_band), with the band and its labels in the host's memory.
    pub(crate) fn label_band_host(
        &self,
        band: &BinaryImage,
        numbers: &BandNumbers,
        connectivity: Connectivity,
    ) -> Result<Vec<u32>> {
        let image = DeviceImage::upload(self.gpu(), band)?;
        let found = self.label_band(&image, numbers, connectivity)?;
        // SAFETY: the band has been uploaded, and labelled.
        unsafe { self.labels_to_host(found.labels(), &image, band) }
    }
}

/// Refuses a band that kernels would divide: its part must have one band.
fn check_indexed(width: u32, height: u32) -> Result<()> {
    if fits_one_band(width, height) {
        return Ok(());
    }
    Err(Error::ImageTooLarge {
        width: width.into(),
        height: height.into(),
        limit: "on the GPU, 32 bits index the pixels of a band; give it fewer rows",
    })
}
