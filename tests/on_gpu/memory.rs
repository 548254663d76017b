//! Memory that runs out.

use trazar::{DeviceImage, DeviceTracer, TraceOptions, generate};

use crate::Alone;

/// When memory runs out, tracing returns an error, and the GPU stays usable.
#[test]
fn out_of_device_memory_is_an_error() {
    let Some(alone) = Alone::open("out_of_device_memory_is_an_error") else {
        return;
    };
    let tracer = DeviceTracer::on(alone.on_own_stream());
    let image = generate::noise(8192, 8192, 0.5, 1).unwrap();
    let on_device = DeviceImage::upload(tracer.gpu(), &image).unwrap();
    let stream = tracer.gpu().stream();
    let free = stream.device().memory().unwrap().free;
    let most = stream.alloc::<u8>(free.saturating_sub(600 << 20)).unwrap();
    let refused = tracer.trace(&on_device, &TraceOptions::default());
    assert!(
        matches!(&refused, Err(error) if error.is_out_of_memory()),
        "{refused:?}"
    );
    drop(most);
    assert!(tracer.trace(&on_device, &TraceOptions::default()).is_ok());
}
