//! The jobs of an [`Engine`](super::Engine) on GPUs, each with input and result in the host's
//! memory.

use crate::backend::Backend;
use crate::distance::gpu::{AnySurface, DeviceDistances, DeviceSurface, with_surface};
use crate::distance::{CostDistanceOptions, Parts, Sources};
use crate::error::Result;
use crate::geometry::Cell;
use crate::gpu::{Gpu, GpuBuffer};
use crate::image::BinaryImage;
use crate::image::gpu::AnyValues;
use crate::label::parts::{BandNumbers, LabelPart, Workers, workers_on};
use crate::label::{
    self, ComponentOptions, Connectivity, DeviceLabeler, HostLabels, LabelOptions, LabelSummary,
    Labels,
};
use crate::measure::{self, AnyIntensities, MeasureOptions, Measures};
use crate::progress::Progress;
use crate::regions::RegionOptions;
use crate::route::{
    self, DeviceRouter, Distances, EdgeCounts, Negotiated, NegotiationOptions, Net, Route,
    RouteAlgorithm, RoutingGrid,
};
use crate::trace::{
    Band, BandTracer, ContourOptions, ContourPart, Contours, DeviceTracer, Rings, StoredContours,
    TraceOptions, ValueContoursOf,
};

/// Returns the bands of an image, from top to bottom.
pub(super) type NextBand<'a> = dyn FnMut() -> Result<Option<BinaryImage>> + 'a;

/// The jobs on [`Gpus`], with input and result in the host's memory.
pub(super) trait DeviceJobs: Send + Sync {
    fn backend(&self) -> Backend;

    /// The number of GPUs.
    fn gpus(&self) -> u32;

    /// The bytes of memory that are kept for the next job.
    fn working_memory(&self) -> u64;

    /// Frees that memory, and returns its number of bytes.
    fn release_working_memory(&self) -> u64;

    fn label(&self, image: &BinaryImage, options: &LabelOptions) -> Result<Labels>;

    /// As [`label`](Self::label), with the labels written over those of an array.
    fn label_into(
        &self,
        image: &BinaryImage,
        options: &LabelOptions,
        labels: &mut [u32],
    ) -> Result<LabelSummary>;

    /// Labels images of one size, which is one that a batch may have, each image's labels to its
    /// place.
    fn label_batch(
        &self,
        images: &[&BinaryImage],
        options: &LabelOptions,
        places: &mut [HostLabels<'_>],
    ) -> Result<Vec<LabelSummary>>;

    fn label_values(&self, image: AnyValues<'_, '_>, connectivity: Connectivity) -> Result<Labels>;

    fn label_part(
        &self,
        band: &BinaryImage,
        first_row: u32,
        options: &ComponentOptions,
    ) -> Result<LabelPart>;

    fn label_band(
        &self,
        band: &BinaryImage,
        numbers: &BandNumbers,
        connectivity: Connectivity,
    ) -> Result<Vec<u32>>;

    /// Workers that label bands for a [`BandLabels`](crate::label::parts::BandLabels).
    fn label_workers(&self, options: &ComponentOptions) -> Result<Workers>;

    fn trace(&self, image: &BinaryImage, options: &TraceOptions) -> Result<Contours>;

    fn trace_regions(&self, image: AnyValues<'_, '_>, options: &RegionOptions) -> Result<Rings>;

    fn trace_values(
        &self,
        image: AnyValues<'_, '_>,
        options: &ContourOptions,
    ) -> Result<ValueContoursOf>;

    fn measure(
        &self,
        labels: AnyValues<'_, '_>,
        intensities: Option<AnyIntensities<'_>>,
        options: &MeasureOptions,
    ) -> Result<Measures>;

    /// Traces images of one size; `options` must have the algorithm that takes several at once.
    fn trace_batch(
        &self,
        images: &[BinaryImage],
        options: &ContourOptions,
    ) -> Result<Vec<Contours>>;

    fn trace_bands(&self, tracer: BandTracer, next: &mut NextBand<'_>) -> Result<StoredContours>;

    fn trace_part(&self, band: Band<'_>, options: &ContourOptions) -> Result<ContourPart>;

    fn route(
        &self,
        grid: &RoutingGrid,
        nets: &[Net],
        algorithm: RouteAlgorithm,
        progress: &Progress<'_>,
    ) -> Result<Vec<Route>>;

    fn negotiate(
        &self,
        grid: &RoutingGrid,
        capacities: &EdgeCounts,
        nets: &[Net],
        options: &NegotiationOptions,
        progress: &Progress<'_>,
    ) -> Result<Negotiated>;

    fn distances(&self, grid: &RoutingGrid, sources: &[Cell]) -> Result<Distances>;

    /// The costs of a cost surface, and what the options ask for besides.
    fn cost_distance(
        &self,
        surface: AnySurface<'_, '_>,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<Parts>;
}

/// One or more GPUs: all of them label, and trace images in bands; the first one runs all other
/// jobs.
pub(super) struct Gpus<G: Gpu> {
    all: Vec<G>,
    /// On the first GPU, as are those below. It keeps its working memory for its next image.
    tracer: DeviceTracer<G>,
    /// The tracer's, with whose working memory it works.
    labeler: DeviceLabeler<G>,
    /// It keeps host memory for lists.
    router: DeviceRouter<G>,
    /// It keeps its working memory too.
    costs: DeviceDistances<G>,
}

impl<G: Gpu> Gpus<G> {
    pub(super) fn new(first: G, others: impl IntoIterator<Item = G>) -> Self {
        let tracer = DeviceTracer::on(first.clone());
        let labeler = tracer.labeler().clone();
        let router = DeviceRouter::on(first.clone());
        let costs = DeviceDistances::on(first.clone());
        let mut all = vec![first];
        all.extend(others);
        Self {
            all,
            tracer,
            labeler,
            router,
            costs,
        }
    }

    /// Gives back all working memory.
    fn release(&self) -> u64 {
        self.tracer.release_working_memory()
            + self.costs.release_working_memory()
            + self.router.release_working_memory()
    }

    /// Runs `work`, and again without working memory if there is too little memory.
    fn run<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        match work() {
            Err(error) if error.is_out_of_memory() && self.release() > 0 => work(),
            result => result,
        }
    }
}

impl<G: Gpu + Send + Sync + 'static> DeviceJobs for Gpus<G> {
    fn backend(&self) -> Backend {
        G::BACKEND
    }

    fn gpus(&self) -> u32 {
        self.all.len() as u32
    }

    fn working_memory(&self) -> u64 {
        self.tracer.working_memory() + self.costs.working_memory() + self.router.working_memory()
    }

    fn release_working_memory(&self) -> u64 {
        self.release()
    }

    fn label(&self, image: &BinaryImage, options: &LabelOptions) -> Result<Labels> {
        self.run(|| match &self.all[..] {
            [_] => self.labeler.label_host(image, options),
            all => label::label_host(all, image, options),
        })
    }

    fn label_into(
        &self,
        image: &BinaryImage,
        options: &LabelOptions,
        labels: &mut [u32],
    ) -> Result<LabelSummary> {
        self.run(|| {
            let to = HostLabels {
                labels: &mut *labels,
                is_zero: false,
            };
            match &self.all[..] {
                [_] => self.labeler.label_host_into(image, options, to),
                all => label::label_host_into(all, image, options, to),
            }
        })
    }

    fn label_batch(
        &self,
        images: &[&BinaryImage],
        options: &LabelOptions,
        places: &mut [HostLabels<'_>],
    ) -> Result<Vec<LabelSummary>> {
        let found = self.run(|| self.labeler.label_host_batch(images, options, places));
        match found {
            Err(error) if error.is_out_of_memory() && images.len() > 1 => {
                let half = images.len() / 2;
                let (first, second) = places.split_at_mut(half);
                let mut found = self.label_batch(&images[..half], options, first)?;
                found.extend(self.label_batch(&images[half..], options, second)?);
                Ok(found)
            }
            found => found,
        }
    }

    fn label_values(&self, image: AnyValues<'_, '_>, connectivity: Connectivity) -> Result<Labels> {
        self.run(|| self.labeler.label_values_host(image, connectivity))
    }

    fn label_part(
        &self,
        band: &BinaryImage,
        first_row: u32,
        options: &ComponentOptions,
    ) -> Result<LabelPart> {
        self.run(|| self.labeler.label_part_host(band, first_row, options))
    }

    fn label_band(
        &self,
        band: &BinaryImage,
        numbers: &BandNumbers,
        connectivity: Connectivity,
    ) -> Result<Vec<u32>> {
        self.run(|| self.labeler.label_band_host(band, numbers, connectivity))
    }

    fn label_workers(&self, options: &ComponentOptions) -> Result<Workers> {
        // Workers need memory later, when nothing frees it.
        self.release();
        workers_on(&self.all, options)
    }

    fn trace(&self, image: &BinaryImage, options: &TraceOptions) -> Result<Contours> {
        self.run(|| self.tracer.trace_host(image, options))
    }

    fn trace_regions(&self, image: AnyValues<'_, '_>, options: &RegionOptions) -> Result<Rings> {
        self.run(|| self.tracer.trace_regions_host(image, options))
    }

    fn trace_values(
        &self,
        image: AnyValues<'_, '_>,
        options: &ContourOptions,
    ) -> Result<ValueContoursOf> {
        self.run(|| self.tracer.trace_values_host(image, options))
    }

    fn measure(
        &self,
        labels: AnyValues<'_, '_>,
        intensities: Option<AnyIntensities<'_>>,
        options: &MeasureOptions,
    ) -> Result<Measures> {
        self.run(|| measure::measure_host(&self.all[0], labels, intensities, options))
    }

    fn trace_batch(
        &self,
        images: &[BinaryImage],
        options: &ContourOptions,
    ) -> Result<Vec<Contours>> {
        self.run(|| self.tracer.trace_host_batch(images, options))
    }

    fn trace_bands(&self, tracer: BandTracer, next: &mut NextBand<'_>) -> Result<StoredContours> {
        // Bands can be read only once, so this can't be repeated.
        self.release();
        tracer.trace_on(&self.all, next)
    }

    fn trace_part(&self, band: Band<'_>, options: &ContourOptions) -> Result<ContourPart> {
        self.run(|| self.tracer.trace_part(band, options))
    }

    fn route(
        &self,
        grid: &RoutingGrid,
        nets: &[Net],
        algorithm: RouteAlgorithm,
        progress: &Progress<'_>,
    ) -> Result<Vec<Route>> {
        self.run(|| self.router.route_host(grid, nets, algorithm, progress))
    }

    fn negotiate(
        &self,
        grid: &RoutingGrid,
        capacities: &EdgeCounts,
        nets: &[Net],
        options: &NegotiationOptions,
        progress: &Progress<'_>,
    ) -> Result<Negotiated> {
        let gpu = &self.all[0];
        self.run(|| route::negotiate::negotiate_on(gpu, grid, capacities, nets, options, progress))
    }

    fn distances(&self, grid: &RoutingGrid, sources: &[Cell]) -> Result<Distances> {
        self.run(|| self.router.distances_host(grid, sources))
    }

    fn cost_distance(
        &self,
        surface: AnySurface<'_, '_>,
        sources: &Sources,
        options: &CostDistanceOptions,
    ) -> Result<Parts> {
        self.run(|| {
            with_surface!(surface, surface => {
                let surface = DeviceSurface::upload(&self.all[0], surface)?;
                let costs = self.costs.cost_distance(&surface, sources, options)?;
                // Its memory is free before the host's is taken.
                drop(surface);
                let allocation = costs.allocation().map(GpuBuffer::to_vec).transpose()?;
                let direction = costs.direction().map(GpuBuffer::to_vec).transpose()?;
                Ok((costs.to_host()?, allocation, direction))
            })
        })
    }
}
