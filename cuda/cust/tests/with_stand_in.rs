//! The crate with a driver that fails: a stand-in for the driver, so that no GPU is needed. It runs
//! in a process of its own, because a process has one driver.

mod stand_in;
mod uploads;

use cuda_std::launch::{Dim3, KernelSpec};
use cust::device::Device;
use cust::error::CudaError;
use cust::event::Event;
use cust::launch::{LaunchConfig, LaunchProblem, Launcher, ModuleQueue};
use cust::module::Module;
use cust::stream::Stream;
use stand_in::{Entry, stand_in};

const PTX: &str = include_str!("gpu/kernels.ptx");

/// The stream's handle, as in the log.
fn handle_of(stream: &Stream) -> usize {
    stream.as_raw().addr()
}

static NOTHING: KernelSpec = KernelSpec {
    name: "nothing",
    block: Dim3 { x: 32, y: 1, z: 1 },
    params: &[],
    cooperative: false,
    zero_at_exit: &[],
    entry: None,
    check_views: None,
};

fn launch(queue: &ModuleQueue) -> Result<(), CudaError> {
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

    use cust::error::CudaError;
    use cust::stream::Stream;

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
    let module = Module::from_ptx(&device, PTX)?;
    let queue = ModuleQueue::new(&stream, &module)?;
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
            Box::new(|| device.locked_buffer::<u8>(3).map(drop)),
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
            Box::new(|| module.get_function("new").map(drop)),
        ),
        (
            "cuFuncGetAttribute",
            Box::new(|| module.get_function("newer").map(drop)),
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
        let error = module.get_function(name).unwrap_err();
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

#[test]
fn large_copies_of_any_size() -> Result<(), CudaError> {
    let _alone = stand_in();
    uploads::check_sizes(&Device::open(0)?.stream()?)
}

#[test]
fn uploads_of_computed_bytes() -> Result<(), CudaError> {
    let _alone = stand_in();
    uploads::check_computed(&Device::open(0)?.stream()?)
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
fn graphs_keep_their_modules() -> Result<(), CudaError> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let stream = device.stream()?;
    let module = Module::from_ptx(&device, PTX)?;
    let handle = module.as_raw().addr();
    let queue = ModuleQueue::new(&stream, &module)?;
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
    let module = Module::from_ptx(&device, PTX)?;
    let unloaded = Entry::UnloadModule {
        module: module.as_raw().addr(),
    };
    launch(&ModuleQueue::new(&stream, &module)?)?;
    drop(module);
    assert!(driver.log().contains(&unloaded));
    Ok(())
}

/// A launcher of another source than the PTX is refused before the driver follows its arguments.
#[test]
fn stale_kernels_are_refused() -> Result<(), CudaError> {
    use cuda_std::launch::{ParamKind, ParamSpec};

    static PARAMS: [ParamSpec; 2] = [
        ParamSpec {
            name: "n",
            ty: "u32",
            size: 4,
            align: 4,
            kind: ParamKind::Value,
        },
        ParamSpec {
            name: "total",
            ty: "u64",
            size: 8,
            align: 8,
            kind: ParamKind::Value,
        },
    ];
    static SUM: KernelSpec = KernelSpec {
        params: &PARAMS,
        ..NOTHING_COPY
    };
    const NOTHING_COPY: KernelSpec = KernelSpec {
        name: "sum",
        block: Dim3 { x: 32, y: 1, z: 1 },
        params: &[],
        cooperative: false,
        zero_at_exit: &[],
        entry: None,
        check_views: None,
    };

    let driver = stand_in();
    let stream = Device::open(0)?.stream()?;
    let launch_with = |params: &[(usize, usize)]| {
        driver.set_params(params);
        let list = vec![".param .b32 p"; params.len()].join(", ");
        let ptx = format!(".version 7.0\n.target sm_75\n.visible .entry sum({list})\n{{ }}\n");
        let queue = ModuleQueue::new(&stream, &Module::from_ptx(stream.device(), &ptx)?)?;
        let config = LaunchConfig {
            grid: 1.into(),
            block: SUM.block,
            dynamic_shared: 0,
        };
        let (n, total) = (1u32, 2u64);
        let args = [(&raw const n).cast(), (&raw const total).cast()];
        // SAFETY: no device runs it.
        unsafe { queue.launch(&SUM, config, &args) }
    };
    launch_with(&[(0, 4), (8, 8)])?;
    let launched = driver.log().len();
    for (params, text) in [
        (
            &[(0, 4)][..],
            "takes 1 parameters, and the program passes 2",
        ),
        (&[(0, 4), (8, 16)], "`total` has 16 bytes at offset 8"),
        (&[(0, 4), (4, 8)], "`total` has 8 bytes at offset 4"),
    ] {
        let error = launch_with(params).unwrap_err();
        assert!(
            matches!(&error, CudaError::WrongParameters { kernel: "sum", .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(text), "{error}");
    }
    let log = driver.log();
    let later = log[launched..].iter();
    assert!(
        !later
            .clone()
            .any(|entry| matches!(entry, Entry::Launch { .. }))
    );
    Ok(())
}

#[test]
fn cooperative_kernels_are_launched_as_such() -> Result<(), CudaError> {
    static TOGETHER: KernelSpec = KernelSpec {
        name: "together",
        block: Dim3 { x: 32, y: 1, z: 1 },
        params: &[],
        cooperative: true,
        zero_at_exit: &[],
        entry: None,
        check_views: None,
    };
    const TOO_LARGE: u32 = 720;

    let driver = stand_in();
    let device = Device::open(0)?;
    let stream = device.stream()?;
    let ptx = ".version 7.0\n.target sm_75\n.visible .entry together()\n{ }\n";
    let queue = ModuleQueue::new(&stream, &Module::from_ptx(&device, ptx)?)?;
    let launch = |blocks: u32| {
        let config = LaunchConfig {
            grid: blocks.into(),
            block: TOGETHER.block,
            dynamic_shared: 0,
        };
        // SAFETY: it has no parameters, and no device runs it.
        unsafe { queue.launch(&TOGETHER, config, &[]) }
    };
    launch(1)?;
    let cooperative = Entry::LaunchCooperative {
        stream: handle_of(&stream),
    };
    assert_eq!(driver.log().last(), Some(&cooperative));

    // The driver's refusal says what would be right.
    let resident = 2 * device.info().multiprocessors;
    driver.fail("cuLaunchCooperativeKernel", 0, TOO_LARGE);
    let error = launch(resident + 1).unwrap_err();
    driver.recover();
    let problem = LaunchProblem::NotResident {
        has: u64::from(resident) + 1,
        limit: resident,
    };
    assert_eq!(
        error,
        CudaError::BadLaunch {
            kernel: "together".to_owned(),
            problem
        }
    );

    // The driver is asked again only for another amount of shared memory.
    let asked = || {
        let log = driver.log();
        log.iter()
            .filter(|&entry| *entry == Entry::Occupancy)
            .count()
    };
    assert_eq!(asked(), 1);
    for (dynamic_shared, questions) in [(0, 1), (0, 1), (1024, 2), (1024, 2)] {
        assert_eq!(queue.resident_blocks(&TOGETHER, dynamic_shared)?, resident);
        assert_eq!(asked(), questions, "{dynamic_shared} bytes");
    }
    Ok(())
}

#[test]
fn objects_go_from_thread_to_thread() {
    fn shared<T: Send + Sync>() {}
    shared::<cust::context::Context>();
    shared::<Device>();
    shared::<Stream>();
    shared::<Event>();
    shared::<Module>();
    shared::<ModuleQueue>();
    shared::<cust::function::Function>();
    shared::<cust::graph::Graph>();
    shared::<cust::memory::DeviceBuffer<u32>>();
    shared::<cust::memory::LockedBuffer<u32>>();
    shared::<cust::memory::InFlight<u32>>();
    shared::<cust::memory::RawBuffer>();
    shared::<cust::dlpack::Imported<u32>>();
    shared::<cust::Owner>();
    shared::<CudaError>();
}
