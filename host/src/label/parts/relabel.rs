//! A band on its own, on any device: its part, and its labels with the final numbers.

use rayon::prelude::*;

use super::table::Final;
use super::{BandNumbers, LabelNumber, LabelPart, LabelTable, is_wide};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::image::BinaryImage;
use crate::image::gpu::DeviceImage;
use crate::label::cpu::{self, Strip, background};
use crate::label::gpu::{HostLabels, fits_one_band};
use crate::label::{DeviceLabeler, DeviceLabels, LabelOptions};
use crate::memory::reserve;
use crate::progress::Progress;

/// Labels a band with its final numbers: [`Engine::label_band`].
pub(crate) fn label_band<T: LabelNumber>(
    engine: &Engine,
    band: &BinaryImage,
    numbers: &BandNumbers,
    options: &LabelOptions,
) -> Result<Vec<T>> {
    numbers.band.check_rows(band.height())?;
    let options = options.statistics(false);
    let algorithm = engine.label_algorithm(&options);
    algorithm.check_runs_on(engine.backend())?;
    if !is_wide::<T>() {
        let labels = engine.label_band_narrow(band, numbers, &options)?;
        return Ok(bytemuck::allocation::cast_vec(labels));
    }
    let own = engine.label(band, &options)?;
    numbers.band.check_count(own.count())?;
    let numbers: Vec<T> = numbers.numbers()?;
    let mut labels = Vec::new();
    reserve(&mut labels, own.as_slice().len(), "labels")?;
    let own = own.as_slice().par_iter().with_min_len(1 << 16);
    own.map(|&label| numbers[label as usize])
        .collect_into_vec(&mut labels);
    Ok(labels)
}

impl BandNumbers {
    /// The labels of the band, with its final numbers, on all cores.
    pub(crate) fn label_on_processor(
        &self,
        band: &BinaryImage,
        options: &LabelOptions,
        progress: &Progress<'_>,
    ) -> Result<Vec<u32>> {
        let numbers = |count| {
            self.band.check_count(count)?;
            self.numbers()
        };
        cpu::label_band(band, options.connectivity, numbers, progress)
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
    /// Refuses a band of another number of rows than in the first pass.
    pub(super) fn check_rows(&self, rows: u32) -> Result<()> {
        self.check("rows", self.rows.len() as u64, rows.into())
    }

    /// Refuses a band that has another number of components for itself than in the first pass.
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
    /// [`label_part`](super::label_part) by kernels, of a band in the host's memory.
    pub(crate) fn label_part_host(
        &self,
        band: &BinaryImage,
        first_row: u32,
        options: &LabelOptions,
    ) -> Result<LabelPart> {
        check_indexed(band.width(), band.height())?;
        let image = DeviceImage::upload(self.gpu(), band)?;
        let (_, part, _) = self.label_rows(&image, first_row, options, true)?;
        Ok(part)
    }

    /// Labels a band of an image with the numbers that components have in the image, as
    /// [`Engine::label_band`](crate::Engine::label_band) does. The result's
    /// [`count`](DeviceLabels::count) is that of the image; there are no statistics.
    ///
    /// # Errors
    /// Those of [`Engine::label_band`](crate::Engine::label_band).
    pub fn label_band(
        &self,
        band: &DeviceImage<G>,
        numbers: &BandNumbers,
        options: &LabelOptions,
    ) -> Result<DeviceLabels<G>> {
        check_indexed(band.width(), band.height())?;
        numbers.band.check_rows(band.height())?;
        let first_row = numbers.rows().start;
        let (own, part) = self.label_part(band, first_row, &options.statistics(false))?;
        numbers.band.check_count(part.count())?;
        self.finish_part(own, &numbers.table())
    }

    /// The same for a band in the host's memory, as its labels are.
    pub(crate) fn label_band_host(
        &self,
        band: &BinaryImage,
        numbers: &BandNumbers,
        options: &LabelOptions,
    ) -> Result<Vec<u32>> {
        let image = DeviceImage::upload(self.gpu(), band)?;
        let found = self.label_band(&image, numbers, options)?;
        let mut labels = background(band)?;
        let to = HostLabels {
            labels: &mut labels,
            is_zero: true,
        };
        self.read_labels(found.labels(), &image, &Strip::whole(band), to)?;
        Ok(labels)
    }
}

/// Refuses a band that kernels would divide: what is known of it is to be of one band.
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
