//! The library with a driver that fails: a stand-in for the driver, so that no GPU is needed. It
//! runs in a process of its own, because a process has one driver.

mod stand_in;
mod uploads;

use cuda_std::launch::{Dim3, KernelSpec, LaunchConfig, Launcher};
use stand_in::{Entry, stand_in};
use trazar::cuda::{CudaError, Device, DeviceBuffer, Event, Kernels, Module, Queue, Stream};
use trazar::gpu::{Gpu, Scanner};
use trazar::{
    BinaryImage, Connectivity, DeviceBytes, DeviceImage, DeviceLabeler, DeviceTracer, Error,
    LabelAlgorithm, LabelOptions, TraceOptions,
};

/// The stream's handle, as in the log.
fn handle_of(stream: &Stream) -> usize {
    stream.as_raw().addr()
}

static NOTHING: KernelSpec = KernelSpec {
    name: "nothing",
    block: Dim3 { x: 32, y: 1, z: 1 },
    params: &[],
    zero_at_exit: &[],
    entry: None,
};

fn launch(queue: &Queue) -> Result<(), CudaError> {
    let config = LaunchConfig {
        grid: 1.into(),
        block: NOTHING.block,
        dynamic_shared: 0,
    };
    // SAFETY: it has no parameters, and no device runs it.
    unsafe { queue.launch(&NOTHING, config, &[]) }
}

/// Safe code that must not reach device memory.
mod safe_code {
    #![forbid(unsafe_code)]

    use std::panic::{AssertUnwindSafe, catch_unwind};

    use trazar::cuda::{CudaError, Stream};

    pub(super) fn follow_addresses(stream: &Stream) -> Result<usize, CudaError> {
        let mut buffer = stream.upload(&[1u32, 2, 3])?;
        let read = catch_unwind(AssertUnwindSafe(|| buffer.view().ld(0u32)));
        let view = buffer.view_mut();
        let write = catch_unwind(AssertUnwindSafe(|| view.st(0u32, 7)));
        assert_eq!(buffer.to_vec()?, [1, 2, 3]);
        let messages = [read.map(drop), write].into_iter().filter_map(Result::err);
        Ok(messages
            .filter_map(|message| message.downcast::<&str>().ok())
            .filter(|message| message.contains("only inside a running kernel"))
            .count())
    }
}

#[test]
fn the_host_follows_no_device_address() -> Result<(), CudaError> {
    let _alone = stand_in();
    let stream = Device::open(0)?.stream()?;
    assert_eq!(safe_code::follow_addresses(&stream)?, 2);
    Ok(())
}

/// Every call that a program makes returns a code that no list here knows: each code is passed on
/// unchanged.
#[test]
fn unknown_codes_are_numbers() -> Result<(), CudaError> {
    type Call<'a> = (&'static str, Box<dyn Fn() -> Result<(), CudaError> + 'a>);

    let driver = stand_in();
    let device = Device::open(0)?;
    let (stream, other) = (device.stream()?, device.stream()?);
    let kernels = Kernels::load(&device)?;
    let queue = Queue::new(&stream, &kernels)?;
    let (start, event) = (stream.record()?, stream.record()?);
    let buffer = stream.upload(&[1u8; 10])?;
    let calls: Vec<Call<'_>> = vec![
        ("cuDeviceGetCount", Box::new(|| Device::count().map(drop))),
        (
            "cuDeviceGetAttribute",
            Box::new(|| Device::open(0).map(drop)),
        ),
        (
            "cuDevicePrimaryCtxRetain",
            Box::new(|| Device::open(0).map(drop)),
        ),
        ("cuCtxSetCurrent", Box::new(|| device.bind())),
        ("cuCtxSynchronize", Box::new(|| device.synchronize())),
        ("cuMemGetInfo_v2", Box::new(|| device.memory().map(drop))),
        (
            "cuStreamCreateWithPriority",
            Box::new(|| device.stream().map(drop)),
        ),
        ("cuStreamSynchronize", Box::new(|| stream.synchronize())),
        ("cuStreamQuery", Box::new(|| stream.is_done().map(drop))),
        ("cuStreamWaitEvent", Box::new(|| stream.wait_for(&other))),
        ("cuEventCreate", Box::new(|| Event::new(&device).map(drop))),
        ("cuEventRecord", Box::new(|| stream.record_into(&event))),
        ("cuEventQuery", Box::new(|| event.is_reached().map(drop))),
        ("cuEventSynchronize", Box::new(|| event.synchronize())),
        (
            "cuEventElapsedTime",
            Box::new(|| event.elapsed_ms_since(&start).map(drop)),
        ),
        (
            "cuMemAllocAsync",
            Box::new(|| stream.alloc::<u8>(3).map(drop)),
        ),
        (
            "cuMemAllocHost_v2",
            Box::new(|| device.pinned::<u8>(3).map(drop)),
        ),
        (
            "cuMemcpyHtoDAsync_v2",
            Box::new(|| stream.upload(&[1u8]).map(drop)),
        ),
        (
            "cuMemcpyDtoHAsync_v2",
            Box::new(|| buffer.to_vec().map(drop)),
        ),
        (
            "cuMemsetD8Async",
            Box::new(|| stream.alloc_zeroed::<u8>(3).map(drop)),
        ),
        (
            "cuModuleGetFunction",
            Box::new(|| kernels.module().kernel_info("new").map(drop)),
        ),
        (
            "cuFuncGetAttribute",
            Box::new(|| kernels.module().kernel_info("newer").map(drop)),
        ),
        ("cuLaunchKernel", Box::new(|| launch(&queue))),
    ];
    for (name, call) in &calls {
        call()?;
        driver.fail(name, 0, 987);
        // The call before has looked up its functions by now.
        if name.contains("Func") {
            driver.recover();
            continue;
        }
        let error = call().unwrap_err();
        driver.recover();
        let text = error.to_string();
        assert!(text.contains("CUDA error 987"), "{name}: {text}");
        let (CudaError::Driver { status, .. } | CudaError::Launch { status, .. }) = error else {
            panic!("{name}: {error:?}");
        };
        assert_eq!(status.code(), 987, "{name}");
    }
    // Functions that were not looked up before.
    for name in ["cuModuleGetFunction", "cuFuncGetAttribute"] {
        driver.fail(name, 0, 987);
        let error = kernels.module().kernel_info(name).unwrap_err();
        driver.recover();
        assert!(error.to_string().contains("CUDA error 987"), "{error}");
    }
    // If the driver has words for its code, they are shown.
    driver.fail("cuStreamSynchronize", 0, 913);
    let text = stream.synchronize().unwrap_err().to_string();
    driver.recover();
    assert!(
        text.contains("CUDA_ERROR_OF_A_NEWER_DRIVER (913), something new"),
        "{text}"
    );
    // Codes after which nothing works are recognised by their numbers.
    driver.fail("cuStreamSynchronize", 0, 719);
    assert!(matches!(
        stream.synchronize(),
        Err(CudaError::Execution { .. })
    ));
    Ok(())
}

#[test]
fn large_uploads_from_within_rayon() -> Result<(), CudaError> {
    let _alone = stand_in();
    uploads::check_within_rayon(Device::open(0)?.stream()?)
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
    let mut values = inputs.upload(&[1u32; 100])?;
    let mut scanner = Scanner::new(labeler.gpu(), 100)?;
    let mut failed = 0;
    for call in ["cuLaunchKernel", "cuMemAllocAsync"] {
        for successes in 0..12 {
            for job in 0..5 {
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
                    3 => tracer.trace(&image, &TraceOptions::default()).map(drop),
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

/// If the wait that protects the source can't be queued, the host waits.
#[test]
fn a_copy_between_streams_is_waited_for() -> Result<(), CudaError> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let (from, to) = (device.stream()?, device.stream()?);
    let source = from.upload(&[1u32, 2, 3])?;
    let mut copy = to.alloc::<u32>(3)?;
    driver.fail("cuStreamWaitEvent", 1, 987);
    copy.copy_from(0, &source, 0..3)?;
    driver.recover();
    drop(source);
    let log = driver.log();
    let at = |entry: Entry| log.iter().rposition(|logged| *logged == entry);
    let copied = at(Entry::Copy {
        stream: handle_of(&to),
    });
    let waited = at(Entry::Synchronize {
        stream: handle_of(&to),
    });
    let freed = at(Entry::Free {
        stream: handle_of(&from),
    });
    assert!(
        copied.is_some() && copied < waited && waited < freed,
        "{log:?}"
    );

    // The caller is told only if that fails too.
    let source = from.upload(&[1u32, 2, 3])?;
    driver.fail("cuStreamWaitEvent", 1, 987);
    driver.fail("cuStreamSynchronize", 0, 719);
    assert!(copy.copy_from(0, &source, 0..3).is_err());
    driver.recover();
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

#[test]
fn graphs_keep_their_modules() -> Result<(), CudaError> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let stream = device.stream()?;
    let module = Module::from_ptx(&device, trazar_kernels::PTX)?;
    let handle = module.as_raw().addr();
    // SAFETY: no pipeline gets it.
    let queue = unsafe { Queue::with_module(&stream, &module) }?;
    drop(module);
    // SAFETY: the kernel uses no memory.
    let mut graph = unsafe { stream.record_graph(|| launch(&queue)) }?;
    drop(queue);
    let unloaded = Entry::UnloadModule { module: handle };
    assert!(!driver.log().contains(&unloaded));
    // SAFETY: as above.
    unsafe { graph.launch(&stream) }?;
    drop(graph);
    let log = driver.log();
    let at = |entry| log.iter().position(|logged| *logged == entry);
    assert!(
        at(Entry::DestroyGraph).is_some() && at(Entry::DestroyGraph) < at(unloaded),
        "{log:?}"
    );

    // No graph keeps the module of a launch outside of recordings.
    let module = Module::from_ptx(&device, trazar_kernels::PTX)?;
    let unloaded = Entry::UnloadModule {
        module: module.as_raw().addr(),
    };
    // SAFETY: as above.
    launch(&unsafe { Queue::with_module(&stream, &module) }?)?;
    drop(module);
    assert!(driver.log().contains(&unloaded));
    Ok(())
}
