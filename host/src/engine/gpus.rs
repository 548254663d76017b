//! What an [`Engine`](super::Engine) runs on GPUs: each job with input and result in the host's
//! memory.

use crate::backend::Backend;
use crate::error::Result;
use crate::geometry::Cell;
use crate::gpu::Gpu;
use crate::image::BinaryImage;
use crate::label::parts::{BandNumbers, LabelPart, Workers};
use crate::label::{self, DeviceLabeler, LabelOptions, Labels};
use crate::progress::Progress;
use crate::route::{
    DeviceRouter, DistanceOptions, Distances, Net, Route, RouteAlgorithm, RoutingGrid,
};
use crate::trace::{
    Band, BandTracer, ContourPart, Contours, DeviceTracer, StoredContours, TraceOptions,
};

/// Gives the bands of an image, from top to bottom.
pub(super) type NextBand<'a> = dyn FnMut() -> Result<Option<BinaryImage>> + 'a;

/// The jobs on [`Gpus`], with input and result in the host's memory.
pub(super) trait DeviceJobs: Send + Sync {
    fn backend(&self) -> Backend;

    /// How many GPUs there are.
    fn gpus(&self) -> u32;

    fn label(&self, image: &BinaryImage, options: &LabelOptions) -> Result<Labels>;

    fn label_part(
        &self,
        band: &BinaryImage,
        first_row: u32,
        options: &LabelOptions,
    ) -> Result<LabelPart>;

    fn label_band(
        &self,
        band: &BinaryImage,
        numbers: &BandNumbers,
        options: &LabelOptions,
    ) -> Result<Vec<u32>>;

    /// What labels bands for a [`BandLabeller`](crate::label::parts::BandLabeller).
    fn label_workers(&self, options: &LabelOptions) -> Result<Workers>;

    fn trace(&self, image: &BinaryImage, options: &TraceOptions) -> Result<Contours>;

    /// Traces images of one size, if `options` have the algorithm that takes several at once.
    fn trace_batch(&self, images: &[BinaryImage], options: &TraceOptions) -> Result<Vec<Contours>>;

    fn trace_bands(&self, tracer: BandTracer, next: &mut NextBand<'_>) -> Result<StoredContours>;

    fn trace_part(&self, band: Band<'_>, options: &TraceOptions) -> Result<ContourPart>;

    fn route(
        &self,
        grid: &RoutingGrid,
        nets: &[Net],
        algorithm: RouteAlgorithm,
        progress: &Progress<'_>,
    ) -> Result<Vec<Route>>;

    fn distances(
        &self,
        grid: &RoutingGrid,
        sources: &[Cell],
        options: &DistanceOptions,
    ) -> Result<Distances>;
}

/// One or more GPUs: labels, and contours of an image in bands, on all of them; other jobs on the
/// first.
pub(super) struct Gpus<G> {
    first: G,
    all: Vec<G>,
}

impl<G: Gpu> Gpus<G> {
    pub(super) fn new(first: G, others: impl IntoIterator<Item = G>) -> Self {
        let mut all = vec![first.clone()];
        all.extend(others);
        Self { first, all }
    }
}

impl<G: Gpu + Send + Sync + 'static> DeviceJobs for Gpus<G> {
    fn backend(&self) -> Backend {
        G::BACKEND
    }

    fn gpus(&self) -> u32 {
        self.all.len() as u32
    }

    fn label(&self, image: &BinaryImage, options: &LabelOptions) -> Result<Labels> {
        match &self.all[..] {
            [only] => DeviceLabeler::on(only.clone()).label_host(image, options),
            all => label::label_host(all, image, options),
        }
    }

    fn label_part(
        &self,
        band: &BinaryImage,
        first_row: u32,
        options: &LabelOptions,
    ) -> Result<LabelPart> {
        DeviceLabeler::on(self.first.clone()).label_part_host(band, first_row, options)
    }

    fn label_band(
        &self,
        band: &BinaryImage,
        numbers: &BandNumbers,
        options: &LabelOptions,
    ) -> Result<Vec<u32>> {
        DeviceLabeler::on(self.first.clone()).label_band_host(band, numbers, options)
    }

    fn label_workers(&self, options: &LabelOptions) -> Result<Workers> {
        Workers::on(&self.all, options)
    }

    fn trace(&self, image: &BinaryImage, options: &TraceOptions) -> Result<Contours> {
        DeviceTracer::on(self.first.clone()).trace_host(image, options)
    }

    fn trace_batch(&self, images: &[BinaryImage], options: &TraceOptions) -> Result<Vec<Contours>> {
        DeviceTracer::on(self.first.clone()).trace_host_batch(images, options)
    }

    fn trace_bands(&self, tracer: BandTracer, next: &mut NextBand<'_>) -> Result<StoredContours> {
        tracer.trace_on(&self.all, next)
    }

    fn trace_part(&self, band: Band<'_>, options: &TraceOptions) -> Result<ContourPart> {
        ContourPart::trace_on(&DeviceTracer::on(self.first.clone()), band, options)
    }

    fn route(
        &self,
        grid: &RoutingGrid,
        nets: &[Net],
        algorithm: RouteAlgorithm,
        progress: &Progress<'_>,
    ) -> Result<Vec<Route>> {
        DeviceRouter::on(self.first.clone()).route_host(grid, nets, algorithm, progress)
    }

    fn distances(
        &self,
        grid: &RoutingGrid,
        sources: &[Cell],
        options: &DistanceOptions,
    ) -> Result<Distances> {
        DeviceRouter::on(self.first.clone()).distances_host(grid, sources, options)
    }
}
