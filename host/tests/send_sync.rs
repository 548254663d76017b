//! Types that threads may share: checked when this file is compiled.

use std::error::Error as StdError;

use trazar::emulator::Emulator;
use trazar::error::{OptionError, OptionProblem, ReadProblem, Unavailable, WriteProblem};
use trazar::generate::{Pattern, RandomNets};
use trazar::gpu::{Gpu, Scanner};
use trazar::measure::MeasurePart;
use trazar::route::{DistanceOptions, Distances, RoutingCase};
use trazar::trace::{
    Band, BandTracer, ContourPart, RegionPart, RegionTracer, StoredContours, StoredRegions,
};
use trazar::{
    Backend, BinaryImage, Component, Contour, Contours, DeviceBytes, DeviceContourBatch,
    DeviceContours, DeviceGrid, DeviceImage, DeviceImageBatch, DeviceLabeler, DeviceLabels,
    DeviceRouter, DeviceTracer, Engine, Error, Job, LabelOptions, Labels, Net, Pin, Route,
    RouteOptions, RoutingGrid, Samples, TraceOptions,
};

const fn shared<T: Send + Sync>() {}
const fn owned<T: Send + Sync + 'static>() {}

const _: () = {
    owned::<Engine>();
    owned::<(Job, Backend)>();
    owned::<(BinaryImage, Labels, Component, Contours)>();
    owned::<(ContourPart, BandTracer, StoredContours)>();
    owned::<(RegionPart<u8>, RegionTracer<f32>, StoredRegions<i64>)>();
    owned::<MeasurePart>();
    owned::<(RoutingGrid, Net, Pin, RoutingCase, Route, Distances)>();
    owned::<(LabelOptions, TraceOptions, RouteOptions, DistanceOptions)>();
    owned::<(Pattern, RandomNets)>();
    shared::<(Contour<'_>, Samples<'_, f64>, Band<'_>)>();
};

const _: () = {
    const fn error<T: StdError + Send + Sync + 'static>() {}
    error::<Error>();
    error::<OptionError>();
    error::<Unavailable>();
    owned::<(OptionProblem, ReadProblem, WriteProblem)>();
};

#[cfg(feature = "formats")]
const _: () = {
    use trazar::formats::{GdsOptions, GreyImage, Note, Output, ReadImage, ReadOptions};
    owned::<(ReadOptions, GdsOptions)>();
    owned::<(ReadImage, GreyImage, Note, Output)>();
};

/// Whatever works on the device `G` is shared as the device itself is.
const fn device<G: Gpu<Buffer<u8>: Sync> + Send + Sync + 'static>()
where
    G::Buffer<u8>: Send,
    G::Buffer<u16>: Send + Sync,
    G::Buffer<u32>: Send + Sync,
    G::Buffer<i32>: Send + Sync,
    G::Buffer<u64>: Send + Sync,
{
    owned::<(DeviceLabeler<G>, DeviceTracer<G>, DeviceRouter<G>)>();
    owned::<(
        DeviceImage<G>,
        DeviceLabels<G>,
        DeviceContours<G>,
        DeviceContourBatch<G>,
        DeviceImageBatch<G>,
        DeviceGrid<G>,
    )>();
    owned::<Scanner<G>>();
    shared::<DeviceBytes<'_, G>>();
}

const _: () = device::<Emulator>();
#[cfg(feature = "cuda")]
const _: () = device::<trazar::cuda::Queue>();

/// One engine labels on several threads at once.
#[test]
fn threads_share_an_engine() {
    let engine = Engine::emulator(1);
    let image = BinaryImage::from_art("##.#").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let labels = engine.label(&image, &LabelOptions::default());
                assert_eq!(labels.unwrap().count(), 2);
            });
        }
    });
}
