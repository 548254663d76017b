//! Before the driver is loaded, every call of `cust` must link and return an error. These tests run
//! in a process of their own, because other tests load the driver.

use std::collections::BTreeSet;
use std::ffi::CStr;

use cust::context::legacy::{Context as LegacyContext, ContextFlags, ContextStack};
use cust::context::{Context, CurrentContext, ResourceLimit};
use cust::device::{Device, DeviceAttribute};
use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::external::ExternalMemory;
use cust::link::Linker;
use cust::memory::array::{ArrayFormat, ArrayObject};
use cust::memory::{
    CopyDestination, DeviceBox, DeviceBuffer, DeviceVariable, LockedBuffer, MemoryAdvise,
    UnifiedBuffer, mem_get_info,
};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::{CudaApiVersion, CudaFlags};

const NOT_INITIALIZED: u32 = 3;

#[test]
fn every_driver_function_says_not_initialized() {
    let mut count = 0;
    for (name, entry) in trazar::cuda::entry_points() {
        assert!(name.starts_with("cu"), "{name}");
        // SAFETY: no driver is loaded, so this jumps to a function without parameters that returns
        // a number.
        assert_eq!(unsafe { entry() }, NOT_INITIALIZED, "{name}");
        count += 1;
    }
    let names: BTreeSet<_> = trazar::cuda::entry_points().map(|(name, _)| name).collect();
    assert_eq!(names.len(), count, "a name is listed twice");
    assert!(count >= 105, "{count}");
}

/// Reaches into every part of `cust`, generic functions included: a driver function that is called
/// but not listed would fail to link.
#[test]
fn every_part_of_cust_links_and_fails_politely() {
    fn fails<T>(what: &str, result: CudaResult<T>) {
        assert_eq!(result.err(), Some(CudaError::NotInitialized), "{what}");
    }
    fails("init", cust::init(CudaFlags::empty()));
    fails("quick_init", cust::quick_init());
    fails("version", CudaApiVersion::get());
    fails("count", Device::num_devices());
    fails("device", Device::get_device(0));
    fails("mem_get_info", mem_get_info());
    fails("current device", CurrentContext::get_device());
    fails(
        "limit",
        CurrentContext::get_resource_limit(ResourceLimit::StackSize),
    );
    fails("cache", CurrentContext::get_cache_config());
    fails("synchronize", CurrentContext::synchronize());
    fails("pop", ContextStack::pop());
    fails("stream", Stream::new(StreamFlags::DEFAULT, None));
    fails("event", Event::new(EventFlags::DEFAULT));
    fails("module", Module::from_ptx("", &[]));
    fails("file", Module::from_file("kernels.ptx"));
    fails("linker", Linker::new());
    fails("buffer", DeviceBuffer::from_slice(&[1u32, 2, 3]));
    fails("zeroed", DeviceBuffer::<u32>::zeroed(3));
    fails("box", DeviceBox::new(&1u32));
    fails("variable", DeviceVariable::new(1u32));
    fails("unified", UnifiedBuffer::from_slice(&[1u8, 2]));
    fails("locked", LockedBuffer::new(&0u64, 7));
    fails("array", ArrayObject::new([8, 8, 0], ArrayFormat::U8, 1));

    // Never run, for want of a device, but compiled and therefore linked.
    std::hint::black_box(with_device as *const ());
    std::hint::black_box(with_stream as *const ());
    std::hint::black_box(with_module as *const ());
    std::hint::black_box(with_buffers as *const ());
    std::hint::black_box(with_other_memory as *const ());
}

fn with_device(device: Device) -> CudaResult<()> {
    device.get_attribute(DeviceAttribute::WarpSize)?;
    device.total_memory()?;
    device.name()?;
    let context = Context::new(device)?;
    context.get_api_version()?;
    CurrentContext::set_current(&context)?;
    let legacy = LegacyContext::create_and_push(ContextFlags::MAP_HOST, device)?;
    ContextStack::push(&legacy)
}

fn with_stream(stream: &Stream, event: &Event, other: Event) -> CudaResult<()> {
    stream.get_priority()?;
    stream.get_flags()?;
    stream.add_callback(Box::new(|| ()))?;
    event.record(stream)?;
    event.query()?;
    event.elapsed(event)?;
    stream.wait_event(other, cust::stream::StreamWaitEventFlags::DEFAULT)
}

fn with_module(module: &Module, stream: &Stream) -> CudaResult<()> {
    let function = module.get_function("k")?;
    function.available_dynamic_shared_memory_per_block(1u32.into(), 1u32.into())?;
    function.suggested_launch_configuration(0, 1u32.into())?;
    function.max_active_blocks_per_multiprocessor(1u32.into(), 0)?;
    let name: &CStr = c"global";
    let mut value = 0u32;
    module.get_global::<u32>(name)?.copy_to(&mut value)?;
    // SAFETY: never run.
    unsafe { cust::launch!(function<<<1, 1, 0, stream>>>(value)) }
}

fn with_buffers(mut buffer: DeviceBuffer<u32>, stream: &Stream) -> CudaResult<()> {
    use cust::memory::AsyncCopyDestination;
    let mut host = [0u32; 4];
    buffer.copy_to(&mut host)?;
    buffer.copy_from(&host)?;
    buffer.set_8(1)?;
    buffer.set_16(1)?;
    buffer.set_32(1)?;
    // SAFETY: never run.
    unsafe {
        buffer.async_copy_from(&host, stream)?;
        buffer.async_copy_to(&mut host, stream)?;
        buffer.set_8_async(1, stream)?;
        buffer.set_16_async(1, stream)?;
        buffer.set_32_async(1, stream)?;
        let other = DeviceBuffer::uninitialized_async(4, stream)?;
        buffer.async_copy_from(&other, stream)?;
    }
    let mut other = DeviceBuffer::<u32>::zeroed(4)?;
    other.copy_from(&buffer)?;
    buffer.drop_async(stream)
}

fn with_other_memory(
    array: &mut ArrayObject,
    unified: &UnifiedBuffer<u32>,
    external: &ExternalMemory,
    stream: &Stream,
) -> CudaResult<()> {
    let mut host = vec![0u32; 4];
    array.copy_from(&host)?;
    array.copy_to(&mut host)?;
    unified.prefetch_to_host(stream)?;
    unified.advise_read_mostly(true)?;
    external.mapped_buffer::<u32>(4, 0).map(drop)
}
