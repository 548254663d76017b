//! Devices, memory, streams, modules, launches. Without a GPU, each test reports that it was
//! skipped.

mod gpu;
mod uploads;

use std::ffi::c_void;
use std::time::Instant;

use cuda_std::launch::KernelSpec;
use cust::device::{Device, DeviceInfo};
use cust::error::CudaError;
use cust::init;
use cust::launch::{LaunchConfig, LaunchProblem, Launcher, ModuleQueue};
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use gpu::gpu;
use gpu::kernels::{PTX, SCALE, SIXTY_FOUR, SPIN, SUM_SHARED, dim, shape};
use trazar_test_seeds::skipped;

fn queue(device: &Device) -> Result<ModuleQueue, CudaError> {
    ModuleQueue::new(&device.stream()?, &Module::from_ptx(device, PTX)?)
}

fn address<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}

fn scale(
    queue: &ModuleQueue,
    values: &mut DeviceBuffer<u32>,
    factor: u32,
) -> Result<(), CudaError> {
    let (pointer, n) = (values.as_mut_ptr(), values.len() as u32);
    let args = [address(&pointer), address(&n), address(&factor)];
    // SAFETY: these are the types and order of `scale`'s parameters; it stays within `n` elements.
    unsafe { queue.launch(&SCALE, shape(n.div_ceil(256), 256), &args) }
}

fn spin(queue: &ModuleQueue, cycles: u64) -> Result<(), CudaError> {
    // SAFETY: `spin` takes one `u64`, and touches no memory.
    unsafe { queue.launch(&SPIN, shape(1, 1), &[address(&cycles)]) }
}

fn launch_without_args(
    queue: &ModuleQueue,
    spec: &'static KernelSpec,
    config: LaunchConfig,
) -> Result<(), CudaError> {
    // SAFETY: only kernels without parameters get past the check of the argument count.
    unsafe { queue.launch(spec, config, &[]) }
}

#[test]
fn without_a_gpu_every_way_in_says_why() {
    match init() {
        Ok(driver) => {
            println!("driver: CUDA {driver}");
            let all = DeviceInfo::all().unwrap();
            assert_eq!(all.len() as u32, Device::count().unwrap());
            assert!(!all.is_empty());
        }
        Err(why) => {
            skipped("without_a_gpu_every_way_in_says_why", &why.to_string());
            assert!(
                matches!(
                    why,
                    CudaError::NoDriver { .. }
                        | CudaError::NoDevice { .. }
                        | CudaError::NoPermission { .. }
                        | CudaError::DriverMismatch { .. }
                        | CudaError::DriverTooOld { .. }
                        | CudaError::DriverStart { .. }
                ),
                "{why:?}"
            );
            assert_eq!(Device::open(0).unwrap_err(), why);
            assert_eq!(Device::count().unwrap_err(), why);
            assert_eq!(DeviceInfo::all().unwrap_err(), why);
            if let CudaError::NoDriver { tried, .. } = &why {
                assert!(
                    tried.contains("libcuda.so.1") && why.to_string().contains(tried),
                    "{why}"
                );
            }
        }
    }
}

#[test]
fn properties_are_plausible() -> Result<(), CudaError> {
    let Some(device) = gpu("properties") else {
        return Ok(());
    };
    let info = device.info();
    println!("{info:#?}");
    assert!(!info.name.is_empty());
    assert!(info.compute_capability.major >= 5);
    assert!(info.multiprocessors >= 1);
    assert!(info.l2_bytes >= 128 << 10);
    assert_eq!(info.max_block[0], 1024);
    assert!(info.shared_per_block >= 48 << 10);
    assert_eq!(info, &DeviceInfo::all()?[0]);

    let memory = device.memory()?;
    println!("{memory:?}");
    assert!(memory.free <= memory.total && memory.total <= info.total_memory);
    Ok(())
}

#[test]
fn a_wrong_device_index_is_named() -> Result<(), CudaError> {
    let Some(_device) = gpu("wrong index") else {
        return Ok(());
    };
    let count = Device::count()?;
    assert_eq!(
        Device::open(count).unwrap_err(),
        CudaError::NoSuchDevice {
            index: count,
            count
        }
    );
    Ok(())
}

#[test]
fn buffers_hold_what_is_written() -> Result<(), CudaError> {
    let Some(device) = gpu("buffers") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let values: Vec<u32> = (0..1_000_003u32)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    let mut buffer = stream.upload(&values)?;
    assert_eq!(buffer.len(), values.len());
    assert_eq!(buffer.to_vec()?, values);

    buffer.write_at(7, &[1, 2, 3])?;
    let mut part = [0; 5];
    buffer.read_at(6, &mut part)?;
    assert_eq!(part, [values[6], 1, 2, 3, values[10]]);

    let zeros = stream.alloc_zeroed::<[u16; 3]>(1001)?;
    assert_eq!(zeros.to_vec()?, vec![[0; 3]; 1001]);

    let mut copy = stream.alloc_zeroed::<u32>(10)?;
    copy.copy_from(2, &buffer, 7..12)?;
    assert_eq!(
        copy.to_vec()?,
        [0, 0, 1, 2, 3, values[10], values[11], 0, 0, 0]
    );
    Ok(())
}

#[test]
fn fills_set_every_element() -> Result<(), CudaError> {
    let Some(device) = gpu("fills") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let mut bytes = stream.alloc::<u8>(1001)?;
    bytes.fill(0xa5)?;
    assert_eq!(bytes.to_vec()?, vec![0xa5; 1001]);
    let mut halves = stream.alloc::<i16>(1001)?;
    halves.fill(-2)?;
    assert_eq!(halves.to_vec()?, vec![-2; 1001]);
    let mut words = stream.alloc::<f32>(1001)?;
    words.fill(1.5)?;
    assert_eq!(words.to_vec()?, vec![1.5; 1001]);
    words.fill_bytes(0)?;
    assert_eq!(words.to_vec()?, vec![0.0; 1001]);
    Ok(())
}

#[test]
fn empty_buffers_are_fine() -> Result<(), CudaError> {
    let Some(device) = gpu("empty buffers") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let mut empty = stream.upload::<u64>(&[])?;
    assert!(empty.is_empty() && empty.as_ptr().is_null());
    empty.fill_bytes(1)?;
    assert!(empty.to_vec()?.is_empty());
    let pinned = empty.read_into(device.locked_buffer(0)?)?.wait()?;
    assert!(pinned.is_empty());
    Ok(())
}

#[test]
fn copies_outside_a_buffer_are_refused() -> Result<(), CudaError> {
    let Some(device) = gpu("ranges") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let mut buffer = stream.alloc_zeroed::<u32>(10)?;
    let outside = |start, end| CudaError::OutOfRange {
        start,
        end,
        len: 10,
    };
    assert_eq!(buffer.write(&[0; 9]).unwrap_err(), outside(0, 9));
    assert_eq!(buffer.read(&mut [0; 11]).unwrap_err(), outside(0, 11));
    assert_eq!(buffer.write_at(8, &[0; 3]).unwrap_err(), outside(8, 11));
    assert_eq!(
        buffer.read_at(usize::MAX, &mut [0; 3]).unwrap_err(),
        outside(usize::MAX, usize::MAX)
    );
    assert_eq!(
        buffer.write_from(device.locked_buffer(3)?).unwrap_err(),
        outside(0, 3)
    );
    assert_eq!(
        buffer.read_to(&mut device.locked_buffer(9)?).unwrap_err(),
        CudaError::OutOfRange {
            start: 0,
            end: 10,
            len: 9
        }
    );
    let other = stream.alloc_zeroed::<u32>(4)?;
    assert_eq!(
        buffer.copy_from(8, &other, 0..4).unwrap_err(),
        outside(8, 12)
    );
    assert_eq!(
        buffer.copy_from(0, &other, 2..5).unwrap_err(),
        CudaError::OutOfRange {
            start: 2,
            end: 5,
            len: 4
        }
    );
    Ok(())
}

#[test]
fn pinned_copies_overlap_and_give_the_buffer_back() -> Result<(), CudaError> {
    let Some(device) = gpu("pinned") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let mut host = device.locked_buffer::<u32>(1 << 20)?;
    assert!(host.iter().all(|&v| v == 0));
    for (i, value) in host.iter_mut().enumerate() {
        *value = i as u32 ^ 0x5555;
    }
    let mut buffer = stream.alloc::<u32>(host.len())?;
    let host = buffer.write_from(host)?.wait()?;
    // The values that come back must be the device's, not those still in the host buffer.
    let back = buffer
        .read_into(device.locked_buffer(host.len())?)?
        .wait()?;
    assert_eq!(&back[..], &host[..]);

    let mut larger = device.locked_buffer(host.len() + 3)?;
    larger.fill(7);
    buffer.read_to(&mut larger)?;
    let (values, rest) = larger.split_at(host.len());
    assert_eq!(values, &host[..]);
    assert_eq!(rest, [7; 3]);

    // Dropping a copy in flight waits for it: the buffer below would otherwise be freed under it.
    drop(buffer.read_into(host)?);
    Ok(())
}

#[test]
fn streams_and_events_keep_order() -> Result<(), CudaError> {
    let Some(device) = gpu("streams and events") else {
        return Ok(());
    };
    let first = queue(&device)?;
    let second = device.stream()?;

    let start = first.stream().record()?;
    spin(&first, 40_000_000)?;
    let end = first.stream().record()?;
    assert!(
        !end.is_reached()? && !first.stream().is_done()?,
        "40 million cycles take longer than this"
    );
    let ms = end.elapsed_ms_since(&start)?;
    println!("40 million cycles took {ms} ms");
    assert!((4.0..4_000.0).contains(&ms), "{ms} ms");
    assert!(first.stream().is_done()? && end.is_reached()?);

    // The second stream reads values that the first writes late, and must wait for them.
    let mut slow = first.stream().alloc_zeroed::<u32>(1000)?;
    spin(&first, 40_000_000)?;
    slow.fill(7)?;
    let mut copy = second.alloc_zeroed::<u32>(1000)?;
    copy.copy_from(0, &slow, 0..1000)?;
    drop(slow);
    assert_eq!(copy.to_vec()?, vec![7; 1000]);

    device.synchronize()
}

#[test]
fn threads_share_a_device() -> Result<(), CudaError> {
    let Some(device) = gpu("threads") else {
        return Ok(());
    };
    let module = Module::from_ptx(&device, PTX)?;
    let sums: Vec<u64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8u32)
            .map(|id| {
                let (device, module) = (device.clone(), module.clone());
                scope.spawn(move || {
                    let queue = ModuleQueue::new(&device.stream()?, &module)?;
                    let mut buffer = queue.stream().upload(&vec![id; 10_000])?;
                    for _ in 0..50 {
                        scale(&queue, &mut buffer, 1)?;
                    }
                    Ok(buffer.to_vec()?.into_iter().map(u64::from).sum())
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect::<Result<_, CudaError>>()
    })?;
    assert_eq!(
        sums,
        (0..8).map(|id| (id + 50) * 10_000).collect::<Vec<u64>>()
    );

    // A buffer may be dropped on a thread that never used CUDA.
    let buffer = device.stream()?.alloc_zeroed::<u8>(1 << 20)?;
    std::thread::spawn(move || drop(buffer)).join().unwrap();
    device.synchronize()
}

#[test]
fn kernels_compute() -> Result<(), CudaError> {
    let Some(device) = gpu("kernels") else {
        return Ok(());
    };
    let queue = queue(&device)?;
    let values: Vec<u32> = (0..100_001).collect();
    let mut buffer = queue.stream().upload(&values)?;
    scale(&queue, &mut buffer, 3)?;
    scale(&queue, &mut buffer, 5)?;
    let expected: Vec<u32> = values.iter().map(|v| (v * 3 + 1) * 5 + 1).collect();
    assert_eq!(buffer.to_vec()?, expected);

    let info = queue.module().get_function("scale")?.info();
    println!("scale: {info:?}");
    assert!(info.registers > 0 && info.threads_per_block == 1024 && info.static_shared == 0);
    assert!(
        queue
            .module()
            .get_function("scale")?
            .max_active_blocks_per_multiprocessor(256, 0)?
            >= 2
    );
    Ok(())
}

#[test]
fn rust_kernels_run_through_their_typed_launchers() -> Result<(), CudaError> {
    use trazar_conformance::thread_indices::{VALUES, indices};
    let Some(device) = gpu("typed launchers") else {
        return Ok(());
    };
    let module = Module::from_ptx(&device, trazar_conformance::PTX)?;
    let queue = ModuleQueue::new(&device.stream()?, &module)?;
    let (grid, block) = ((3, 2, 2), (8, 4, 2));
    let threads = 12 * 64;
    let mut out = queue
        .stream()
        .alloc_zeroed::<u32>(threads * VALUES as usize)?;
    // SAFETY: `out` has a row for each thread of the grid.
    unsafe { indices::launch(&queue, grid, out.view_mut()) }?;
    for (row, values) in out.to_vec()?.chunks(VALUES as usize).enumerate() {
        let (b, t) = (row as u32 / 64, row as u32 % 64);
        let expected = [t % 8, t / 8 % 4, t / 32, b % 3, b / 3 % 2, b / 6];
        assert_eq!(values[..6], expected, "row {row}");
        assert_eq!(values[6..9], [block.0, block.1, block.2], "row {row}");
        assert_eq!(values[9..12], [grid.0, grid.1, grid.2], "row {row}");
    }
    Ok(())
}

#[test]
fn dynamic_shared_memory_beyond_48_kib() -> Result<(), CudaError> {
    let Some(device) = gpu("shared memory") else {
        return Ok(());
    };
    let queue = queue(&device)?;
    let mut sum = queue.stream().alloc_zeroed::<u32>(1)?;
    let most = device.info().shared_per_block;
    assert!(most > 48 << 10);
    let mut run = |bytes: u32| {
        sum.fill(0)?;
        let (pointer, words) = (sum.as_mut_ptr(), bytes / 4);
        let config = LaunchConfig {
            dynamic_shared: bytes,
            ..shape(1, 128)
        };
        // SAFETY: these are the types and order of `sum_shared`'s parameters; it uses the last 128
        // of `words` words.
        unsafe { queue.launch(&SUM_SHARED, config, &[address(&pointer), address(&words)]) }?;
        sum.to_vec()
    };
    for bytes in [1024, 48 << 10, most, 64 << 10] {
        assert_eq!(run(bytes)?, [127 * 128 / 2], "{bytes} bytes");
    }
    let requested = most + 4;
    let problem = LaunchProblem::SharedMemory {
        requested,
        limit: most,
    };
    assert_eq!(
        run(requested).unwrap_err(),
        CudaError::BadLaunch {
            kernel: "sum_shared".to_owned(),
            problem
        }
    );
    Ok(())
}

#[test]
fn impossible_launches_are_refused() -> Result<(), CudaError> {
    let Some(device) = gpu("launch checks") else {
        return Ok(());
    };
    let queue = queue(&device)?;
    let refused = |result: Result<(), CudaError>| match result {
        Err(CudaError::BadLaunch { kernel, problem }) => {
            assert_eq!(kernel, "sixty_four");
            problem
        }
        other => panic!("{other:?}"),
    };
    launch_without_args(&queue, &SIXTY_FOUR, shape(1, 64))?;
    let problem = refused(launch_without_args(&queue, &SIXTY_FOUR, shape(0, 64)));
    assert_eq!(
        problem,
        LaunchProblem::Empty {
            what: "grid",
            x: 0,
            y: 1,
            z: 1
        }
    );
    let problem = refused(launch_without_args(&queue, &SIXTY_FOUR, shape(1, 32)));
    assert_eq!(
        problem,
        LaunchProblem::BlockSize {
            has: [32, 1, 1],
            needs: [64, 1, 1]
        }
    );
    let tall = LaunchConfig {
        grid: dim(1, 70_000, 1),
        ..shape(1, 64)
    };
    let problem = refused(launch_without_args(&queue, &SIXTY_FOUR, tall));
    assert_eq!(
        problem,
        LaunchProblem::TooWide {
            what: "grid",
            axis: 'y',
            has: 70_000,
            limit: 65_535
        }
    );
    assert_eq!(
        launch_without_args(&queue, &SCALE, shape(1, 1)).unwrap_err(),
        CudaError::BadLaunch {
            kernel: "scale".to_owned(),
            problem: LaunchProblem::Arguments { has: 0, needs: 3 }
        }
    );

    static ABSENT: KernelSpec = KernelSpec {
        name: "absent",
        ..SIXTY_FOUR_COPY
    };
    const SIXTY_FOUR_COPY: KernelSpec = KernelSpec {
        name: "",
        block: dim(64, 1, 1),
        params: &[],
        cooperative: false,
        zero_at_exit: &[],
        entry: None,
        check_views: None,
    };
    assert_eq!(
        launch_without_args(&queue, &ABSENT, shape(1, 64)).unwrap_err(),
        CudaError::NoSuchKernel {
            kernel: "absent".to_owned()
        }
    );
    queue.stream().synchronize()
}

#[test]
fn out_of_memory_says_how_much_there_was() -> Result<(), CudaError> {
    let Some(device) = gpu("out of memory") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let requested = 10_usize << 40;
    match stream.alloc::<u8>(requested).unwrap_err() {
        CudaError::OutOfMemory {
            requested: asked,
            free,
            total,
        } => {
            assert_eq!(asked, requested);
            assert!(
                0 < free && free <= total && total < requested,
                "{free} of {total}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(
        stream.alloc::<u64>(usize::MAX / 4).unwrap_err(),
        CudaError::TooLarge {
            len: usize::MAX / 4,
            size: 8
        }
    );
    // The failure leaves no trace.
    assert_eq!(stream.upload(&[1u8, 2, 3])?.to_vec()?, [1, 2, 3]);
    stream.synchronize()
}

#[test]
fn freed_memory_is_counted_as_free_and_can_be_given_back() -> Result<(), CudaError> {
    const SIZE: usize = 1 << 30;
    let Some(device) = gpu("pool") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let buffer = stream.alloc_zeroed::<u8>(SIZE)?;
    stream.synchronize()?;
    let held = device.memory()?.free;
    drop(buffer);
    stream.synchronize()?;
    let freed = device.memory()?.free;
    // Other processes may allocate at the same time, but hardly half of it.
    assert!(freed > held + SIZE / 2, "{held} free, then {freed}");
    device.trim_memory(0)?;
    assert!(device.memory()?.free > held + SIZE / 2);
    Ok(())
}

#[test]
fn bad_ptx_comes_with_the_compilers_log() -> Result<(), CudaError> {
    let Some(device) = gpu("bad PTX") else {
        return Ok(());
    };
    let broken = PTX.replace("mad.lo.u32 %r6, %r6, %r1, 1;", "mad.nonsense %r6;");
    match Module::from_ptx(&device, &broken).unwrap_err() {
        CudaError::Jit { status, log } => {
            println!("{status}: {log}");
            assert_eq!(status.code(), 218);
            assert!(log.contains("line") && log.contains("mad"), "{log}");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        Module::from_ptx(&device, "no PTX at all"),
        Err(CudaError::Jit { .. })
    ));
    assert_eq!(
        Module::from_ptx(&device, "a\0b").unwrap_err(),
        CudaError::PtxNotText { at: 1 }
    );
    Ok(())
}

#[test]
fn ptx_from_the_future_is_named() -> Result<(), CudaError> {
    let Some(device) = gpu("future PTX") else {
        return Ok(());
    };
    let newer_gpu = PTX.replace(".target sm_75", ".target sm_990");
    match Module::from_ptx(&device, &newer_gpu).unwrap_err() {
        CudaError::ComputeCapability {
            device: name,
            has,
            needs,
        } => {
            assert_eq!(name, device.info().name);
            assert_eq!(has, device.info().compute_capability);
            assert_eq!(needs.to_string(), "99.0");
        }
        other => panic!("{other:?}"),
    }
    let newer_language = PTX.replace(".version 6.3", ".version 77.7");
    let error = Module::from_ptx(&device, &newer_language).unwrap_err();
    println!("{error}");
    match error {
        CudaError::PtxTooNew { driver, ptx } => {
            assert_eq!(driver, device.info().driver);
            assert_eq!(ptx.to_string(), "77.7");
        }
        other => panic!("{other:?}"),
    }
    Ok(())
}

#[test]
fn graphs_repeat_recorded_work() -> Result<(), CudaError> {
    let Some(device) = gpu("graphs") else {
        return Ok(());
    };
    let queue = queue(&device)?;
    let stream = queue.stream();
    let mut buffer = stream.alloc_zeroed::<u32>(5000)?;
    // SAFETY: the buffer outlives the graph's launches; the temporary is allocated and freed in the
    // recording.
    let mut graph = unsafe {
        stream.record_graph(|| {
            let mut temporary = stream.alloc::<u32>(5000)?;
            temporary.copy_from(0, &buffer, 0..5000)?;
            scale(&queue, &mut temporary, 2)?;
            buffer.copy_from(0, &temporary, 0..5000)
        })
    }?;
    assert_eq!(graph.len(), 5);
    assert_eq!(buffer.to_vec()?, vec![0; 5000], "recording does not run");
    for _ in 0..10 {
        // SAFETY: as above.
        unsafe { graph.launch(stream) }?;
    }
    assert_eq!(buffer.to_vec()?, vec![1023; 5000]);

    // An error while recording is reported, and the stream still works.
    // SAFETY: nothing is recorded.
    let failed = unsafe { stream.record_graph(|| stream.alloc::<u64>(usize::MAX).map(drop)) };
    assert!(
        matches!(failed, Err(CudaError::TooLarge { .. })),
        "{failed:?}"
    );
    assert_eq!(stream.upload(&[5u8])?.to_vec()?, [5]);
    Ok(())
}

/// Not a check: it measures the costs that the documentation gives. The first one needs a run of
/// this test alone, in a fresh process.
#[test]
fn costs() -> Result<(), CudaError> {
    let start = Instant::now();
    let Some(device) = gpu("costs") else {
        return Ok(());
    };
    let ms = |since: Instant| since.elapsed().as_secs_f64() * 1e3;
    println!("driver and context: {:.1} ms", ms(start));

    // A text that no cache holds, about as large as a real module.
    let unique = std::process::id();
    let entry = &PTX
        [PTX.find(".visible .entry sum_shared").unwrap()..PTX.find("// Runs for about").unwrap()];
    let mut large = PTX.to_owned();
    for i in 0..50 {
        large.push_str(&entry.replace("sum_shared", &format!("copy{i}_{unique}")));
    }
    for (what, ptx) in [
        ("55 kernels, new", &*large),
        ("55 kernels, again", &large),
        ("5 kernels", PTX),
    ] {
        let start = Instant::now();
        let module = Module::from_ptx(&device, ptx)?;
        let loaded = ms(start);
        let queue = ModuleQueue::new(&device.stream()?, &module)?;
        let mut buffer = queue.stream().alloc_zeroed::<u32>(1000)?;
        scale(&queue, &mut buffer, 1)?;
        assert_eq!(buffer.to_vec()?, vec![1; 1000]);
        println!(
            "{what}: loaded after {loaded:.2} ms, first result after {:.2} ms",
            ms(start)
        );
    }

    let queue = queue(&device)?;
    let stream: &Stream = queue.stream();
    let mut buffer = stream.alloc_zeroed::<u32>(1000)?;
    let time = |what: &str, count: u32, run: &mut dyn FnMut() -> Result<(), CudaError>| {
        run()?;
        stream.synchronize()?;
        let start = Instant::now();
        for _ in 0..count {
            run()?;
        }
        println!("{what}: {:.2} µs", ms(start) * 1e3 / f64::from(count));
        stream.synchronize()
    };
    time("launch", 1000, &mut || scale(&queue, &mut buffer, 1))?;
    time("bind", 10_000, &mut || device.bind())?;
    time("allocate and free 1 KiB", 1000, &mut || {
        stream.alloc::<u8>(1024).map(drop)
    })?;
    time("allocate and free 1 GiB", 1000, &mut || {
        stream.alloc::<u8>(1 << 30).map(drop)
    })?;
    time("launch and wait", 1000, &mut || {
        scale(&queue, &mut stream.alloc(1)?, 1).and(stream.synchronize())
    })?;

    const COPY: usize = 256 << 20;
    let bytes = vec![1u8; COPY];
    let mut on_device = stream.alloc::<u8>(COPY)?;
    let rate = |ms: f64| COPY as f64 / ms / 1e6;
    for what in ["first", "second"] {
        let start = Instant::now();
        on_device.write(&bytes)?;
        println!("{what} copy from a slice: {:.1} GB/s", rate(ms(start)));
    }
    let start = Instant::now();
    let pinned = device.locked_buffer::<u8>(COPY)?;
    println!("256 MiB of pinned memory: {:.1} ms", ms(start));
    let before = stream.record()?;
    let copy = on_device.write_from(pinned)?;
    let after = stream.record()?;
    println!(
        "pinned copy to the device: {:.1} GB/s",
        rate(f64::from(after.elapsed_ms_since(&before)?))
    );
    let pinned = copy.wait()?;
    let before = stream.record()?;
    let copy = on_device.read_into(pinned)?;
    let after = stream.record()?;
    println!(
        "pinned copy from the device: {:.1} GB/s",
        rate(f64::from(after.elapsed_ms_since(&before)?))
    );
    drop(copy);
    Ok(())
}

#[test]
fn large_uploads_from_within_rayon() -> Result<(), CudaError> {
    let Some(device) = gpu("large uploads from rayon") else {
        return Ok(());
    };
    uploads::check_within_rayon(device.stream()?)
}

#[test]
fn large_copies_of_any_size() -> Result<(), CudaError> {
    let Some(device) = gpu("large copies") else {
        return Ok(());
    };
    uploads::check_sizes(&device.stream()?)
}

#[test]
fn uploads_of_computed_bytes() -> Result<(), CudaError> {
    let Some(device) = gpu("uploads of computed bytes") else {
        return Ok(());
    };
    uploads::check_computed(&device.stream()?)
}

/// A graph launches kernels of a module that only the graph still holds.
#[test]
fn graphs_keep_their_modules() -> Result<(), CudaError> {
    let Some(device) = gpu("modules of graphs") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let mut values = stream.upload(&[3u32; 1000])?;
    let mut graph = {
        let queue = ModuleQueue::new(&stream, &Module::from_ptx(&device, PTX)?)?;
        // Looked up first, which a recording does not allow.
        queue.module().get_function(SCALE.name)?;
        // SAFETY: the values outlive the graph.
        unsafe { stream.record_graph(|| scale(&queue, &mut values, 2)) }?
    };
    for _ in 0..3 {
        // SAFETY: as above.
        unsafe { graph.launch(&stream) }?;
    }
    assert_eq!(values.to_vec()?, vec![31; 1000]);
    Ok(())
}

#[test]
fn buffers_of_another_device_are_refused() -> Result<(), CudaError> {
    let Some(device) = gpu("two devices") else {
        return Ok(());
    };
    if Device::count()? < 2 {
        skipped("two devices", "there is one");
        return Ok(());
    }
    let other = Device::open(1)?.stream()?.upload(&[1u32; 10])?;
    let mut near = device.stream()?.alloc::<u32>(10)?;
    let refused = near.copy_from(0, &other, 0..10).unwrap_err();
    assert!(
        matches!(
            refused,
            CudaError::WrongDevice {
                device: 0,
                other: 1,
                ..
            }
        ),
        "{refused}"
    );
    Ok(())
}

/// The driver says where each parameter is, for kernels in Rust too.
#[test]
fn parameters_are_compared_with_the_launchers() -> Result<(), CudaError> {
    let Some(device) = gpu("parameters") else {
        return Ok(());
    };
    let queue = queue(&device)?;
    let Some(params) = queue
        .module()
        .get_function("scale")?
        .params()
        .map(<[_]>::to_vec)
    else {
        skipped("parameters", "the driver is older than CUDA 12.4");
        return Ok(());
    };
    let places: Vec<_> = params.iter().map(|p| (p.offset, p.size)).collect();
    assert_eq!(places, [(0, 8), (8, 4), (12, 4)]);

    // The launcher of an older source: one parameter less, or another size.
    static FEWER: KernelSpec = KernelSpec {
        name: "scale",
        params: &[],
        ..SIXTY_FOUR_COPY
    };
    static OTHER: KernelSpec = KernelSpec {
        name: "spin",
        params: SUM_SHARED.params,
        ..SIXTY_FOUR_COPY
    };
    const SIXTY_FOUR_COPY: KernelSpec = KernelSpec {
        name: "",
        block: dim(0, 0, 0),
        params: &[],
        cooperative: false,
        zero_at_exit: &[],
        entry: None,
        check_views: None,
    };
    for (spec, args) in [(&FEWER, 0), (&OTHER, 2)] {
        let value = 0u64;
        let args = vec![address(&value); args];
        // SAFETY: refused, whatever the arguments are.
        let refused = unsafe { queue.launch(spec, shape(1, 64), &args) }.unwrap_err();
        println!("{refused}");
        assert!(
            matches!(refused, CudaError::WrongParameters { .. }),
            "{refused:?}"
        );
    }
    queue.stream().synchronize()
}
