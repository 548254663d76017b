//! Streams, contexts, events and memory made by calls of the driver, adopted, used by kernels, and
//! given back. Without a GPU, each test reports that it was skipped.

mod gpu;

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys;
use cust::Owner;
use cust::array_interface::CudaArray;
use cust::context::Context;
use cust::device::Device;
use cust::dlpack;
use cust::error::CudaError;
use cust::event::Event;
use cust::launch::{Launcher, ModuleQueue};
use cust::memory::{DeviceBuffer, RawBuffer, Release};
use cust::module::Module;
use cust::stream::Stream;
use gpu::gpu;
use gpu::kernels::{PTX, SCALE, SPIN, shape};

/// Panics if a call of the driver failed.
fn done(status: sys::CUresult) {
    assert_eq!(status, sys::CUresult::CUDA_SUCCESS);
}

/// A stream made by the driver, which ends with its owner.
struct RawStream(sys::CUstream);

// SAFETY: the driver's streams may be used on any thread.
unsafe impl Send for RawStream {}

impl Drop for RawStream {
    fn drop(&mut self) {
        // SAFETY: made below, and ended here only.
        done(unsafe { sys::cuStreamDestroy_v2(self.0) });
    }
}

fn raw_stream() -> RawStream {
    const NON_BLOCKING: u32 = 1;
    let mut stream = ptr::null_mut();
    // SAFETY: writes one handle.
    done(unsafe { sys::cuStreamCreate(&mut stream, NON_BLOCKING) });
    RawStream(stream)
}

/// Memory made by the driver, which ends with its owner.
struct RawMemory(sys::CUdeviceptr);

impl Drop for RawMemory {
    fn drop(&mut self) {
        // SAFETY: made below, and freed here only.
        done(unsafe { sys::cuMemFree_v2(self.0) });
    }
}

/// `values` in memory from `cuMemAlloc`, in the current context.
fn raw_memory(values: &[u32]) -> RawMemory {
    let mut address = 0;
    // SAFETY: the memory is as large as the values.
    unsafe {
        done(sys::cuMemAlloc_v2(&mut address, size_of_val(values)));
        done(sys::cuMemcpyHtoD_v2(
            address,
            values.as_ptr().cast(),
            size_of_val(values),
        ));
    }
    RawMemory(address)
}

/// The values at `address`, by a copy of the driver's.
fn read_raw(address: sys::CUdeviceptr, len: usize) -> Vec<u32> {
    let mut values = vec![0u32; len];
    let to = values.as_mut_ptr().cast();
    // SAFETY: the vector has room for the elements, which the test has allocated.
    done(unsafe { sys::cuMemcpyDtoH_v2(to, address, size_of_val(&*values)) });
    values
}

fn adopt(memory: RawMemory, len: usize, stream: &Stream) -> Result<DeviceBuffer<u32>, CudaError> {
    let raw = RawBuffer {
        address: memory.0,
        len,
        stream: stream.clone(),
        release: Release::AfterWork(Owner::new(memory)),
    };
    // SAFETY: the owner keeps the memory, which no one else uses.
    unsafe { DeviceBuffer::from_raw(raw) }
}

fn scale(queue: &ModuleQueue, values: &mut DeviceBuffer<u32>) -> Result<(), CudaError> {
    fn address<T>(value: &T) -> *const c_void {
        ptr::from_ref(value).cast()
    }
    let (pointer, n, factor) = (values.as_mut_ptr(), values.len() as u32, 3u32);
    let args = [address(&pointer), address(&n), address(&factor)];
    // SAFETY: these are the types and order of `scale`'s parameters; it stays within `n` elements.
    unsafe { queue.launch(&SCALE, shape(n.div_ceil(256), 256), &args) }
}

/// Keeps the stream busy for a while.
fn spin(queue: &ModuleQueue) -> Result<(), CudaError> {
    let cycles = 40_000_000u64;
    // SAFETY: `spin` takes one `u64`, and touches no memory.
    unsafe { queue.launch(&SPIN, shape(1, 1), &[(&raw const cycles).cast()]) }
}

#[test]
fn kernels_run_on_adopted_streams_and_memory() -> Result<(), CudaError> {
    let Some(device) = gpu("adopted streams and memory") else {
        return Ok(());
    };
    device.bind()?;
    let raw = raw_stream();
    // SAFETY: the owner ends the stream.
    let stream = unsafe { Stream::from_raw(&device, raw.0, Owner::new(raw)) }?;
    let queue = ModuleQueue::new(&stream, &Module::from_ptx(&device, PTX)?)?;
    let values: Vec<u32> = (0..100_003).collect();
    let expected: Vec<u32> = values.iter().map(|v| v * 3 + 1).collect();
    let memory = raw_memory(&values);
    let address = memory.0;
    let mut buffer = adopt(memory, values.len(), &stream)?;
    spin(&queue)?;
    scale(&queue, &mut buffer)?;
    // Given away with its owner, and read by the driver once the stream is done.
    let given = buffer.into_raw();
    assert!(!stream.is_done()?, "nothing has waited");
    stream.synchronize()?;
    assert_eq!(read_raw(address, values.len()), expected);
    // SAFETY: what was given away.
    let mut buffer = unsafe { DeviceBuffer::<u32>::from_raw(given) }?;
    spin(&queue)?;
    scale(&queue, &mut buffer)?;
    // Waits for the kernel, and frees the memory after it.
    drop(buffer);
    assert!(stream.is_done()?);

    // A buffer of ours, freed by the driver's own call in stream order.
    let given = stream.upload(&values)?.into_raw();
    assert_eq!(read_raw(given.address, values.len()), values);
    // SAFETY: the buffer's memory is from the driver's pool.
    done(unsafe { sys::cuMemFreeAsync(given.address, stream.as_raw()) });
    // Memory from `cuMemAllocAsync` elsewhere, which a buffer frees.
    let mut address = 0;
    // SAFETY: writes one address.
    done(unsafe { sys::cuMemAllocAsync(&mut address, 4000, stream.as_raw()) });
    let raw = RawBuffer {
        address,
        len: 1000,
        stream: stream.clone(),
        release: Release::Free,
    };
    // SAFETY: no one else uses the memory.
    let mut buffer = unsafe { DeviceBuffer::<u32>::from_raw(raw) }?;
    buffer.fill(7)?;
    assert_eq!(buffer.to_vec()?, [7; 1000]);
    drop(buffer);
    stream.synchronize()
}

#[test]
fn adopted_memory_is_checked_by_the_driver() -> Result<(), CudaError> {
    let Some(device) = gpu("checks of adopted memory") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let memory = raw_memory(&[1; 1024]);
    let check = |address, len| {
        let raw = RawBuffer {
            address,
            len,
            stream: stream.clone(),
            release: Release::InOrder(Owner::none()),
        };
        // SAFETY: the memory outlives the buffer, which nothing uses.
        unsafe { DeviceBuffer::<u32>::from_raw(raw) }.map(drop)
    };
    assert_eq!(check(memory.0, 1024), Ok(()));
    assert_eq!(check(memory.0 + 4000, 24), Ok(()));
    assert!(matches!(
        check(memory.0, 1 << 30),
        Err(CudaError::OutsideAllocation { .. })
    ));
    assert!(matches!(
        check(memory.0 + 1, 1),
        Err(CudaError::Misaligned { needs: 4, .. })
    ));
    let host = [0u32; 4];
    let locked = device.locked_buffer::<u32>(4)?;
    for address in [host.as_ptr(), locked.as_ptr()] {
        let refused = check(address.addr() as u64, 4).unwrap_err();
        println!("{refused}");
        assert!(
            matches!(refused, CudaError::NotDeviceMemory { .. }),
            "{refused:?}"
        );
    }
    Ok(())
}

#[test]
fn contexts_made_elsewhere_are_kept_apart() -> Result<(), CudaError> {
    struct RawContext(sys::CUcontext);

    // SAFETY: the driver's contexts may be used on any thread.
    unsafe impl Send for RawContext {}

    impl Drop for RawContext {
        fn drop(&mut self) {
            // SAFETY: made below, and ended here only.
            done(unsafe { sys::cuCtxDestroy_v2(self.0) });
        }
    }

    let Some(primary) = gpu("contexts") else {
        return Ok(());
    };
    let mut raw = ptr::null_mut();
    // SAFETY: writes one handle.
    done(unsafe { sys::cuCtxCreate_v2(&mut raw, 0, 0) });
    // SAFETY: the owner ends the context.
    let context = unsafe { Context::from_raw(raw, Owner::new(RawContext(raw))) }?;
    let device = Device::in_context(&context)?;
    assert!(device.context() != primary.context());
    assert_eq!(device.info(), primary.info());
    let foreign = raw_stream();
    // SAFETY: ended after this.
    let refused = unsafe { Stream::from_raw(&primary, foreign.0, Owner::none()) }.unwrap_err();
    assert!(
        matches!(refused, CudaError::WrongContext { .. }),
        "{refused:?}"
    );
    // SAFETY: the owner ends the stream.
    let stream = unsafe { Stream::from_raw(&device, foreign.0, Owner::new(foreign)) }?;
    let queue = ModuleQueue::new(&stream, &Module::from_ptx(&device, PTX)?)?;
    let mut buffer = stream.upload(&[1u32, 2, 3])?;
    scale(&queue, &mut buffer)?;
    assert_eq!(buffer.to_vec()?, [4, 7, 10]);
    // A wait across contexts, on the device.
    let ours = primary.stream()?;
    ours.wait_for(&stream)?;
    ours.synchronize()
}

#[test]
fn streams_wait_for_each_other_without_the_host() -> Result<(), CudaError> {
    let Some(device) = gpu("waits") else {
        return Ok(());
    };
    device.bind()?;
    let foreign = raw_stream();
    // SAFETY: the owner ends the stream.
    let foreign = unsafe { Stream::from_raw(&device, foreign.0, Owner::new(foreign)) }?;
    let queue = ModuleQueue::new(&foreign, &Module::from_ptx(&device, PTX)?)?;
    let ours = device.stream()?;
    let mut handle = ptr::null_mut();
    // SAFETY: writes one handle.
    done(unsafe { sys::cuEventCreate(&mut handle, 0) });
    // SAFETY: ended below, after the last use.
    let event = unsafe { Event::from_raw(&device, handle, Owner::none()) }?;
    for by_event in [true, false] {
        let mut slow = foreign.alloc_zeroed::<u32>(1000)?;
        spin(&queue)?;
        slow.fill(7)?;
        if by_event {
            // SAFETY: both handles are alive.
            done(unsafe { sys::cuEventRecord(handle, foreign.as_raw()) });
            ours.wait_event(&event)?;
        } else {
            ours.wait_for(&foreign)?;
        }
        assert!(!foreign.is_done()?, "the host has waited");
        let mut copy = ours.alloc::<u32>(1000)?;
        // SAFETY: the lengths are equal, and `ours` waits for the source's stream.
        done(unsafe {
            sys::cuMemcpyDtoDAsync_v2(
                copy.as_mut_ptr().addr() as u64,
                slow.as_ptr().addr() as u64,
                4000,
                ours.as_raw(),
            )
        });
        assert_eq!(copy.to_vec()?, [7; 1000]);
    }
    drop(event);
    // SAFETY: made above, and not used any more.
    done(unsafe { sys::cuEventDestroy_v2(handle) });

    // The default streams.
    for handle in [ptr::null_mut(), Stream::LEGACY, Stream::PER_THREAD] {
        // SAFETY: these streams always exist.
        let stream = unsafe { Stream::from_raw(&device, handle, Owner::none()) }?;
        let queue = ModuleQueue::new(&stream, queue.module())?;
        let mut buffer = stream.upload(&[1u32, 2])?;
        scale(&queue, &mut buffer)?;
        assert_eq!(buffer.to_vec()?, [4, 7]);
        // On another thread too.
        std::thread::spawn(move || drop(buffer)).join().unwrap();
        stream.synchronize()?;
    }
    Ok(())
}

#[test]
fn tensors_go_out_and_come_back() -> Result<(), dlpack::TensorError> {
    let Some(device) = gpu("tensors") else {
        return Ok(());
    };
    let (stream, consumer) = (device.stream()?, device.stream()?);
    let module = Module::from_ptx(&device, PTX)?;
    let (producing, consuming) = (
        ModuleQueue::new(&stream, &module)?,
        ModuleQueue::new(&consumer, &module)?,
    );
    let values: Vec<u32> = (0..6000).collect();
    let mut buffer = stream.upload(&values)?;
    spin(&producing)?;
    scale(&producing, &mut buffer)?;
    let tensor = dlpack::export(buffer, &[60, 100], Some(&consumer))?.into_raw();
    // SAFETY: the tensor is an export's, and the consumer's stream waits for the producer's.
    let imported = unsafe { dlpack::import::<u32, _>(tensor, &consumer) }?;
    assert_eq!(imported.shape(), [60, 100]);
    let mut buffer = imported.into_buffer()?;
    scale(&consuming, &mut buffer)?;
    let expected: Vec<u32> = values.iter().map(|v| (v * 3 + 1) * 3 + 1).collect();
    assert_eq!(buffer.to_vec()?, expected);

    let array = CudaArray::of(&buffer, &[6000])?;
    // SAFETY: `buffer` outlives the import.
    let imported = unsafe { array.import::<u32>(&stream, Owner::none()) }?;
    assert_eq!(imported.to_vec()?, expected);
    Ok(())
}
