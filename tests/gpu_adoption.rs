//! Images in memory that other libraries have allocated, on their streams, are labelled and traced
//! in place, and the results are given to them: what is made elsewhere is made here by calls of the
//! driver. Without a GPU each test says that it was skipped; with `TRAZAR_REQUIRE_GPU=1` that is a
//! failure.
#![cfg(not(target_os = "macos"))]

use std::ptr;

use cudarc::driver::sys;
use trazar::cuda::{
    CudaError, Device, DeviceBuffer, Kernels, Owner, Queue, RawBuffer, Release, Stream,
};
use trazar::{
    BinaryImage, Connectivity, DeviceBytes, DeviceImage, DeviceLabeler, DeviceTracer, Engine,
    Error, LabelOptions, TraceOptions, generate,
};
use trazar_test_support::optional;

/// Panics if a call of the driver failed.
fn done(status: sys::CUresult) {
    assert_eq!(status, sys::CUresult::CUDA_SUCCESS);
}

/// A stream made by the driver, which ends with this.
struct TheirStream(sys::CUstream);

// SAFETY: the driver's objects may be used on any thread.
unsafe impl Send for TheirStream {}

impl Drop for TheirStream {
    fn drop(&mut self) {
        // SAFETY: made in `elsewhere`, and ended here only.
        unsafe { done(sys::cuStreamDestroy_v2(self.0)) };
    }
}

/// Memory made by the driver, which is freed with this.
struct TheirMemory(sys::CUdeviceptr);

impl Drop for TheirMemory {
    fn drop(&mut self) {
        // SAFETY: made in `elsewhere`, and freed here only.
        unsafe { done(sys::cuMemFree_v2(self.0)) };
    }
}

/// `bytes`, copied by the driver to memory and on a stream of its own.
fn elsewhere(bytes: &[u8]) -> (TheirStream, TheirMemory) {
    const NON_BLOCKING: u32 = 1;
    let (mut stream, mut memory) = (ptr::null_mut(), 0);
    // SAFETY: writes handles; the memory is as large as the bytes, which outlive the copy.
    unsafe {
        done(sys::cuStreamCreate(&mut stream, NON_BLOCKING));
        done(sys::cuMemAlloc_v2(&mut memory, bytes.len()));
        done(sys::cuMemcpyHtoDAsync_v2(
            memory,
            bytes.as_ptr().cast(),
            bytes.len(),
            stream,
        ));
        done(sys::cuStreamSynchronize(stream));
    }
    (TheirStream(stream), TheirMemory(memory))
}

/// That stream, which ends when nothing uses it any more: buffers are freed in its order.
fn adopted_stream(device: &Device, stream: TheirStream) -> Result<Stream, Error> {
    let raw = stream.0;
    // SAFETY: the owner keeps the stream until it is used no more.
    Ok(unsafe { Stream::from_raw(device, raw, Owner::new(stream)) }?)
}

/// Gives a buffer to "another library", which reads it with the driver and frees it.
fn take<T: trazar::gpu::Pod + Default>(buffer: DeviceBuffer<T>) -> Vec<T> {
    let raw = buffer.into_raw();
    let mut values = vec![T::default(); raw.len];
    let bytes = size_of_val(&*values);
    if bytes > 0 {
        // SAFETY: the vector is as large as the buffer. The memory is from the driver's pool, and
        // is not used again.
        unsafe {
            let to = values.as_mut_ptr().cast();
            let stream = raw.stream.as_raw();
            done(sys::cuMemcpyDtoHAsync_v2(to, raw.address, bytes, stream));
            done(sys::cuMemFreeAsync(raw.address, stream));
            done(sys::cuStreamSynchronize(stream));
        }
    }
    values
}

/// An image, as one byte per pixel in memory made elsewhere, and a queue on the stream made there.
struct Adopted {
    image: BinaryImage,
    bytes: DeviceBuffer<u8>,
    queue: Queue,
}

fn adopted(device: &Device, width: u32, height: u32) -> Result<Adopted, Error> {
    let image = generate::noise(width, height, 0.5, 7)?;
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let host: Vec<u8> = pixels.map(|(x, y)| u8::from(image.get(x, y))).collect();
    device.bind()?;
    let (stream, memory) = elsewhere(&host);
    let stream = adopted_stream(device, stream)?;
    let raw = RawBuffer {
        address: memory.0,
        len: host.len(),
        stream: stream.clone(),
        release: Release::AfterWork(Owner::new(memory)),
    };
    Ok(Adopted {
        image,
        // SAFETY: the owner keeps the memory, which no one else uses.
        bytes: unsafe { DeviceBuffer::from_raw(raw) }?,
        queue: Queue::new(&stream, &Kernels::load(device)?)?,
    })
}

fn device(test: &str) -> Option<Device> {
    optional::on_gpu(test, Device::open(0).map_err(Error::from))
}

#[test]
fn adopted_images_are_labelled_and_the_labels_given_away() -> Result<(), Error> {
    let Some(device) = device("adopted_images_are_labelled_and_the_labels_given_away") else {
        return Ok(());
    };
    let cpu = Engine::cpu();
    for (width, height) in [(640, 480), (333, 77), (16, 1), (4096, 2048)] {
        let Adopted {
            image,
            bytes,
            queue,
        } = adopted(&device, width, height)?;
        let own = Queue::open(&device)?;
        // On the stream made elsewhere, and on one of ours, which waits for it.
        for queue in [queue, own] {
            let labeler = DeviceLabeler::on(queue);
            for connectivity in [Connectivity::Four, Connectivity::Eight] {
                let options = LabelOptions::default().connectivity(connectivity);
                let expected = cpu.label(&image, &options)?;
                let bytes = DeviceBytes::new(width, height, &bytes, 0)?;
                let (_, labels) = labeler.label_bytes(&bytes, &options)?;
                assert_eq!(labels.count()?, expected.count());
                assert_eq!(take(labels.into_labels()), expected.as_slice());
            }
        }
    }
    Ok(())
}

/// Labels in memory made elsewhere, on a stream of ours and on the one made there.
#[test]
fn labels_are_written_to_memory_made_elsewhere() -> Result<(), Error> {
    let Some(device) = device("labels_are_written_to_memory_made_elsewhere") else {
        return Ok(());
    };
    device.bind()?;
    let kernels = Kernels::load(&device)?;
    for (width, height) in [(640, 480), (333, 77), (16, 1), (4096, 2048)] {
        let image = generate::noise(width, height, 0.5, 8)?;
        let expected = Engine::cpu().label(&image, &LabelOptions::default())?;
        for is_own in [false, true] {
            let len = width as usize * height as usize;
            let (stream, memory) = elsewhere(&vec![9; 4 * len]);
            let stream = adopted_stream(&device, stream)?;
            let queue = match is_own {
                false => Queue::new(&stream, &kernels)?,
                true => Queue::open(&device)?,
            };
            let address = memory.0;
            let raw = RawBuffer {
                address,
                len,
                stream,
                release: Release::AfterWork(Owner::new(memory)),
            };
            // SAFETY: the owner keeps the memory, which no one else uses.
            let labels = unsafe { DeviceBuffer::from_raw(raw) }?;
            let image = DeviceImage::upload(&queue, &image)?;
            let labeler = DeviceLabeler::on(queue);
            let found = labeler.label_into(&image, &LabelOptions::default(), labels)?;
            assert_eq!(found.labels().as_ptr().addr() as u64, address);
            assert_eq!(found.count()?, expected.count());
            assert_eq!(found.to_host()?.as_slice(), expected.as_slice());
        }
    }
    Ok(())
}

#[test]
fn adopted_images_are_traced_and_the_contours_given_away() -> Result<(), Error> {
    let Some(device) = device("adopted_images_are_traced_and_the_contours_given_away") else {
        return Ok(());
    };
    let Adopted {
        image,
        bytes,
        queue,
    } = adopted(&device, 500, 300)?;
    let expected = Engine::cpu().trace(&image, &TraceOptions::default())?;
    let packed = DeviceImage::pack(&queue, &DeviceBytes::new(500, 300, &bytes, 0)?)?;
    let tracer = DeviceTracer::on(queue);
    let found = tracer.trace(&packed, &TraceOptions::default())?;
    assert_eq!(found.to_host()?, expected);
    let (count, points) = (found.len(), found.point_count());
    let buffers = found.into_buffers();
    assert_eq!(take(buffers.kinds).len(), count);
    assert_eq!(take(buffers.hierarchy).len(), 4 * count);
    let offsets = take(buffers.offsets);
    assert_eq!(offsets.last().copied(), Some(points as u32));
    let found = take(buffers.points);
    assert_eq!(found.len(), 2 * points);
    let expected = expected
        .points()
        .iter()
        .flat_map(|point| [point.x, point.y]);
    assert!(found.into_iter().eq(expected));
    assert_eq!(take(packed.into_words()), image.words());
    Ok(())
}

/// Kernels read whole words: memory that starts between them is refused, and copied by the caller.
#[test]
fn misaligned_memory_is_refused() -> Result<(), Error> {
    let Some(device) = device("misaligned_memory_is_refused") else {
        return Ok(());
    };
    let Adopted { bytes, queue, .. } = adopted(&device, 64, 65)?;
    let part = RawBuffer {
        address: bytes.as_ptr().addr() as u64 + 1,
        len: 64 * 64,
        stream: bytes.stream().clone(),
        release: Release::InOrder(Owner::none()),
    };
    // SAFETY: `bytes` keeps the memory, and nothing writes it.
    let part = unsafe { DeviceBuffer::<u8>::from_raw(part) }?;
    let refused = DeviceImage::pack(&queue, &DeviceBytes::new(64, 64, &part, 0)?).map(drop);
    assert!(
        matches!(
            refused,
            Err(Error::Cuda(CudaError::Misaligned { needs: 256, .. }))
        ),
        "{refused:?}"
    );
    let mut copy = queue.stream().alloc::<u8>(64 * 64)?;
    copy.copy_from(0, &part, 0..64 * 64)?;
    DeviceImage::pack(&queue, &DeviceBytes::new(64, 64, &copy, 0)?).map(drop)
}
