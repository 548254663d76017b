//! Pipelines with a driver that fails: a stand-in for the driver, so that no GPU is needed. They
//! run in a process of their own, because a process has one driver.

#[path = "../../cuda/cust/tests/stand_in/mod.rs"]
mod stand_in;

use stand_in::{Entry, stand_in};
use trazar::cuda::{CudaError, Device, DeviceBuffer, Owner, RawBuffer, Release, Stream};
use trazar::gpu::{Gpu, Scanner};
use trazar::{
    BinaryImage, Connectivity, DeviceBytes, DeviceImage, DeviceLabeler, DeviceTracer, Engine,
    Error, LabelAlgorithm, LabelOptions, TraceOptions,
};

/// The stream's handle, as in the log.
fn handle_of(stream: &Stream) -> usize {
    stream.as_raw().addr()
}

/// Whether the last wait of `stream` in the log comes after all launches on `of`.
fn waits_for_all_launches(log: &[Entry], stream: &Stream, of: &Stream) -> bool {
    let (stream, of) = (handle_of(stream), handle_of(of));
    let last_launch = log
        .iter()
        .rposition(|entry| *entry == Entry::Launch { stream: of });
    let after = &log[last_launch.map_or(0, |at| at + 1)..];
    let synchronized = after.contains(&Entry::Synchronize { stream: of });
    let recorded = after.iter().filter_map(|entry| match entry {
        Entry::Record { event, stream } if *stream == of => Some(*event),
        _ => None,
    });
    let mut waits = recorded.map(|event| Entry::Wait { stream, event });
    synchronized || waits.any(|wait| after.contains(&wait))
}

/// Whichever launch or allocation fails, the image's stream waits for the launches before it.
#[test]
fn failures_release_their_inputs() -> trazar::Result<()> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let labeler = DeviceLabeler::new(&device)?;
    let tracer = DeviceTracer::on(labeler.gpu().clone());
    let inputs = labeler.gpu().on_stream(&device.stream()?)?;
    let image = DeviceImage::upload(&inputs, &BinaryImage::from_art("##.#")?)?;
    let bytes = inputs.upload(&[200u8; 16])?;
    // Two bands of rows.
    let tall = DeviceImage::upload(&inputs, &BinaryImage::new(3, 70)?)?;
    let in_bands = labeler.clone().with_band_pixels(64);
    let mut values = inputs.upload(&[1u32; 100])?;
    let mut scanner = Scanner::new(labeler.gpu(), 100)?;
    let mut failed = 0;
    for call in ["cuLaunchKernel", "cuMemAllocAsync"] {
        for successes in 0..12 {
            for job in 0..6 {
                driver.fail(call, successes, 987);
                let result = match job {
                    0 => labeler
                        .label(
                            &image,
                            &LabelOptions::default().algorithm(LabelAlgorithm::Tiles),
                        )
                        .map(drop),
                    1 => labeler
                        .label_bytes(
                            &DeviceBytes::new(16, 1, &bytes, 127).unwrap(),
                            &LabelOptions::default().connectivity(Connectivity::Four),
                        )
                        .map(drop),
                    2 => DeviceImage::pack(
                        labeler.gpu(),
                        &DeviceBytes::new(16, 1, &bytes, 127).unwrap(),
                    )
                    .map(drop),
                    3 => in_bands.label(&tall, &LabelOptions::default()).map(drop),
                    4 => tracer.trace(&image, &TraceOptions::default()).map(drop),
                    _ => scanner.scan_in_place(&mut values),
                };
                driver.recover();
                failed += usize::from(result.is_err());
                assert!(
                    waits_for_all_launches(&driver.log(), inputs.stream(), labeler.gpu().stream()),
                    "{call} after {successes}, job {job}"
                );
            }
        }
    }
    assert!(failed > 30, "{failed}");
    Ok(())
}

/// An image that 32 bits index pays nothing for those that they don't: five launches, no copy and
/// no wait.
#[test]
fn a_whole_image_takes_five_launches() -> trazar::Result<()> {
    let driver = stand_in();
    let labeler = DeviceLabeler::new(&Device::open(0)?)?;
    let image = DeviceImage::upload(labeler.gpu(), &BinaryImage::new(300, 200)?)?;
    let before = driver.log().len();
    let labels = labeler.label(&image, &LabelOptions::default())?;
    let log = driver.log();
    let stream = handle_of(labeler.gpu().stream());
    let launches = log[before..].iter();
    let launches = launches.filter(|&entry| *entry == Entry::Launch { stream });
    assert_eq!(launches.count(), 5);
    for other in [Entry::Synchronize { stream }, Entry::Copy { stream }] {
        assert!(!log[before..].contains(&other), "{other:?}");
    }
    drop(labels);
    Ok(())
}

/// The threads of all GPUs end with the first error, which is returned.
#[test]
fn failures_of_one_gpu_of_several_are_returned() -> trazar::Result<()> {
    let driver = stand_in();
    let engine = Engine::cuda_all()?;
    let image = BinaryImage::new(3, 1000)?;
    let options = LabelOptions::default();
    assert_eq!(engine.label(&image, &options)?.count(), 0);
    for call in [
        "cuLaunchKernel",
        "cuMemAllocAsync",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
    ] {
        for successes in [0, 3, 11] {
            driver.fail(call, successes, 987);
            let result = engine.label(&image, &options);
            driver.recover();
            let Err(Error::Cuda(_)) = result else {
                panic!("{call} after {successes}: {result:?}");
            };
        }
    }
    assert_eq!(engine.label(&image, &options)?.count(), 0);
    Ok(())
}

#[test]
fn buffers_of_another_device_are_refused() -> trazar::Result<()> {
    fn refused<T: std::fmt::Debug>(result: &trazar::Result<T>) -> bool {
        let Err(Error::Cuda(error)) = result else {
            panic!("{result:?}");
        };
        let text = error.to_string();
        assert!(
            text.contains("the buffer belongs to device 1, not to device 0"),
            "{text}"
        );
        matches!(
            error,
            CudaError::WrongDevice {
                device: 0,
                other: 1,
                ..
            }
        )
    }
    let _alone = stand_in();
    let labeler = DeviceLabeler::new(&Device::open(0)?)?;
    let elsewhere = DeviceLabeler::new(&Device::open(1)?)?;
    let gpu = elsewhere.gpu();
    let image = DeviceImage::upload(gpu, &BinaryImage::from_art("##.#")?)?;
    for algorithm in [LabelAlgorithm::Tiles, LabelAlgorithm::Direct] {
        assert!(refused(
            &labeler.label(
                &image,
                &LabelOptions::default()
                    .connectivity(Connectivity::Four)
                    .algorithm(algorithm)
            )
        ));
    }
    let tracer = DeviceTracer::on(labeler.gpu().clone());
    assert!(refused(&tracer.trace(&image, &TraceOptions::default())));
    let bytes = gpu.upload(&[1u8; 16])?;
    assert!(refused(&DeviceImage::pack(
        labeler.gpu(),
        &DeviceBytes::new(16, 1, &bytes, 127).unwrap()
    )));
    assert!(refused(&labeler.label_bytes(
        &DeviceBytes::new(16, 1, &bytes, 127).unwrap(),
        &LabelOptions::default().connectivity(Connectivity::Four)
    )));
    let mut values = gpu.upload(&[1u32; 10])?;
    let mut scanner = Scanner::new(labeler.gpu(), 10)?;
    assert!(refused(&scanner.scan_in_place(&mut values)));
    assert!(refused(&labeler.gpu().acquire(&values)));
    assert!(refused(&labeler.gpu().release(&values)));
    let mut near: DeviceBuffer<u32> = labeler.gpu().alloc(10)?;
    let copied = near.copy_from(0, &values, 0..10);
    assert!(matches!(
        copied,
        Err(CudaError::WrongDevice {
            device: 0,
            other: 1,
            ..
        })
    ));
    Ok(())
}

/// Pipelines use adopted memory in place, wait for its stream and let that wait for them, and
/// results are given away without being freed.
#[test]
fn adopted_images_are_used_in_place() -> trazar::Result<()> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let labeler = DeviceLabeler::new(&device)?;
    let producer = device.stream()?;
    let given = producer.upload(&[1u8; 4096])?.into_raw();
    let adopt = |skipped: u64, len| {
        let raw = RawBuffer {
            address: given.address + skipped,
            len,
            stream: producer.clone(),
            release: Release::AfterWork(Owner::none()),
        };
        // SAFETY: the memory lasts to the end of the test, and the stand-in's kernels do nothing.
        unsafe { DeviceBuffer::<u8>::from_raw(raw) }
    };
    let bytes = adopt(256, 256)?;
    let pixels = DeviceBytes::new(16, 16, &bytes, 0)?;
    let options = LabelOptions::default().connectivity(Connectivity::Four);
    let image = DeviceImage::pack(labeler.gpu(), &pixels)?;
    let labeled = labeler.label_bytes(&pixels, &options)?;
    assert!(waits_for_all_launches(
        &driver.log(),
        &producer,
        labeler.gpu().stream()
    ));
    drop(bytes);
    let frees = |driver: &stand_in::StandIn| {
        let log = driver.log().into_iter();
        log.filter(|entry| matches!(entry, Entry::Free { .. }))
            .count()
    };
    // Neither the adopted memory nor the buffers that are given away are freed.
    let labels = labeled.1.into_labels();
    let freed = frees(&driver);
    let (labels, words) = (labels.into_raw(), image.into_words().into_raw());
    assert_eq!(frees(&driver), freed);
    assert_eq!((labels.len, words.len), (256, 16));
    // SAFETY: what was given away.
    unsafe {
        drop(DeviceBuffer::<u32>::from_raw(labels)?);
        drop(DeviceBuffer::<u64>::from_raw(words)?);
    }
    assert_eq!(frees(&driver), freed + 2);

    let misaligned = adopt(16, 256)?;
    let pixels = DeviceBytes::new(16, 16, &misaligned, 0)?;
    let refused = [
        DeviceImage::pack(labeler.gpu(), &pixels).map(drop),
        labeler.label_bytes(&pixels, &options).map(drop),
    ];
    for result in refused {
        assert!(
            matches!(
                result,
                Err(Error::Cuda(CudaError::Misaligned { needs: 256, .. }))
            ),
            "{result:?}"
        );
    }
    // SAFETY: what was given away.
    drop(unsafe { DeviceBuffer::<u8>::from_raw(given) }?);
    Ok(())
}
