//! The conformance kernels and the prefix sum through the driver. Without a GPU, each test reports
//! that it was skipped.

mod gpu;

use std::cell::RefCell;
use std::ffi::c_void;
use std::time::Instant;

use cuda_std::Pod;
use cuda_std::launch::{KernelSpec, LaunchConfig, Launcher};
use cust::error::CudaError;
use cust::launch::{LaunchProblem, ModuleQueue};
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use gpu::gpu;
use trazar_conformance::check::{self, Device, exchanged};
use trazar_conformance::grids::{self, THREADS};
use trazar_kernels::primitives::grid::GridBarrier;
use trazar_kernels::primitives::scan::{self, ScanState, TILE};
use trazar_test_seeds::skipped;

/// A GPU for the checks. The kernels of the checks are in one module, the library's primitives in
/// another.
struct Checked {
    conformance: ModuleQueue,
    product: ModuleQueue,
    memory: RefCell<Vec<DeviceBuffer<u8>>>,
}

/// The library's kernels on `stream`.
fn library_on(stream: &Stream) -> Result<ModuleQueue, CudaError> {
    let module = Module::from_ptx(stream.device(), trazar_kernels::PTX)?;
    ModuleQueue::new(stream, &module)
}

impl Checked {
    fn new(stream: &Stream) -> Result<Self, CudaError> {
        let conformance = Module::from_ptx(stream.device(), trazar_conformance::PTX)?;
        Ok(Self {
            conformance: ModuleQueue::new(stream, &conformance)?,
            product: library_on(stream)?,
            memory: RefCell::default(),
        })
    }
}

impl Launcher for Checked {
    type Error = CudaError;

    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        config: LaunchConfig,
        args: &[*const c_void],
    ) -> Result<(), CudaError> {
        // The library's scan is the only kernel that the checks take from another module. To
        // `compute-sanitizer`, asking a module for a kernel that it lacks is an error.
        let queue = if spec.name.starts_with("scan_") {
            &self.product
        } else {
            &self.conformance
        };
        // SAFETY: the caller's promise, passed on.
        unsafe { queue.launch(spec, config, args) }
    }
}

/// The bytes of `values`.
fn bytes<T: Pod>(values: &[T]) -> &[u8] {
    // SAFETY: plain data has no padding; the length in bytes is the slice's.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

impl Device for Checked {
    fn upload<T: Pod>(&self, data: &[T]) -> *mut T {
        let mut buffer = self
            .product
            .stream()
            .upload(bytes(data))
            .expect("device memory");
        let address = buffer.as_mut_ptr();
        self.memory.borrow_mut().push(buffer);
        address.cast()
    }

    fn download<T: Pod>(&self, from: *const T, len: usize) -> Vec<T> {
        let memory = self.memory.borrow();
        let buffer = memory
            .iter()
            .find(|buffer| buffer.as_ptr() == from.cast())
            .expect("an upload's address");
        let raw = buffer.to_vec().expect("all kernels ran");
        assert_eq!(raw.len(), len * size_of::<T>());
        (0..len)
            // SAFETY: element `i` lies within the bytes, any bytes are a valid `Pod`, and they need
            // no alignment.
            .map(|i| unsafe { raw.as_ptr().cast::<T>().add(i).read_unaligned() })
            .collect()
    }

    fn resident_blocks(&self, spec: &'static KernelSpec) -> u32 {
        let blocks = self.conformance.resident_blocks(spec, 0);
        blocks.expect("a kernel of the module")
    }
}

#[test]
fn every_facility_of_cuda_std_works() -> Result<(), CudaError> {
    let Some(device) = gpu("conformance") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let mut failures = Vec::new();
    let checks = check::all::<Checked>();
    for (name, check) in &checks {
        if let Err(why) = check(&Checked::new(&stream)?) {
            failures.push(format!("{name}: {why}"));
        }
    }
    println!("{} of {} pass", checks.len() - failures.len(), checks.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// Arrays for [`grids::exchange`] on grids of at most `blocks` blocks.
struct Exchange<'a> {
    queue: &'a ModuleQueue,
    values: DeviceBuffer<u32>,
    other: DeviceBuffer<u32>,
    counter: DeviceBuffer<u32>,
}

impl<'a> Exchange<'a> {
    fn new(queue: &'a ModuleQueue, blocks: u32) -> Result<Self, CudaError> {
        let values: Vec<u32> = random((blocks * THREADS) as usize).collect();
        Ok(Self {
            values: queue.stream().upload(&values)?,
            other: queue.stream().alloc(values.len())?,
            counter: queue.stream().alloc_zeroed(1)?,
            queue,
        })
    }

    fn launch(&mut self, blocks: u32, rounds: u32) -> Result<(), CudaError> {
        assert!((blocks * THREADS) as usize <= self.values.len());
        let barrier = GridBarrier {
            counter: self.counter.view_mut(),
        };
        // SAFETY: enough elements, and the barrier is 0 or as a launch left it.
        unsafe {
            grids::exchange::launch(
                self.queue,
                blocks,
                self.values.view_mut(),
                self.other.view_mut(),
                barrier,
                rounds,
            )
        }
    }
}

#[test]
fn cooperative_grids_are_as_large_as_the_device() -> Result<(), CudaError> {
    let Some(device) = gpu("cooperative launches") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let module = Module::from_ptx(&device, trazar_conformance::PTX)?;
    let queue = ModuleQueue::new(&stream, &module)?;
    let spec = &grids::exchange::SPEC;
    let resident = queue.resident_blocks(spec, 0)?;
    let function = module.get_function(spec.name)?;
    let each = function.max_active_blocks_per_multiprocessor(THREADS, 0)?;
    assert_eq!(resident, each * device.info().multiprocessors);
    assert!(resident >= device.info().multiprocessors);

    let mut exchange = Exchange::new(&queue, resident + 1)?;
    exchange.launch(resident, 2)?;
    let too_large = CudaError::BadLaunch {
        kernel: spec.name.to_owned(),
        problem: LaunchProblem::NotResident {
            has: u64::from(resident) + 1,
            limit: resident,
        },
    };
    assert_eq!(exchange.launch(resident + 1, 2), Err(too_large.clone()));
    // A refused launch leaves everything as it was.
    exchange.launch(resident, 2)?;
    stream.synchronize()?;

    // Recorded work is launched in the same way.
    let start = exchange.values.to_vec()?;
    exchange.launch(resident, 4)?;
    exchange.launch(resident, 4)?;
    let expected = exchange.values.to_vec()?;
    exchange.values.write(&start)?;
    // SAFETY: the buffers outlive the graph.
    let recorded = unsafe { stream.record_graph(|| exchange.launch(resident, 4)) };
    let mut graph = recorded?;
    for _ in 0..2 {
        // SAFETY: as above.
        unsafe { graph.launch(&stream) }?;
    }
    assert_eq!(exchange.values.to_vec()?, expected);
    drop(graph);
    // SAFETY: as above.
    let recorded = unsafe { stream.record_graph(|| exchange.launch(resident + 1, 4)) };
    assert_eq!(recorded.map(drop), Err(too_large));
    Ok(())
}

/// Barriers hold in hundreds of rounds, on one block, on one or two per multiprocessor, and on as
/// many as there can be. Prints what a round takes.
#[test]
fn barriers_of_grids_in_many_rounds() -> Result<(), CudaError> {
    const ROUNDS: u32 = 200;

    let Some(device) = gpu("barriers of grids in many rounds") else {
        return Ok(());
    };
    let stream = device.stream()?;
    let module = Module::from_ptx(&device, trazar_conformance::PTX)?;
    let queue = ModuleQueue::new(&stream, &module)?;
    let resident = queue.resident_blocks(&grids::exchange::SPEC, 0)?;
    let mut exchange = Exchange::new(&queue, resident)?;
    let multiprocessors = device.info().multiprocessors;
    for blocks in [1, multiprocessors, 2 * multiprocessors, resident] {
        let blocks = blocks.min(resident);
        let threads = (blocks * THREADS) as usize;
        let mut expected = exchange.values.to_vec()?;
        expected.truncate(threads);
        // The first launch of a size is the slowest.
        exchange.launch(blocks, ROUNDS)?;
        let start = stream.record()?;
        exchange.launch(blocks, ROUNDS)?;
        let end = stream.record()?;
        end.synchronize()?;
        let round = 1000.0 * end.elapsed_ms_since(&start)? / ROUNDS as f32;
        println!("{blocks} blocks: {round:.2} µs per round with a barrier");
        for _ in 0..2 {
            expected = exchanged(expected, ROUNDS);
        }
        let found = exchange.values.to_vec()?;
        let at = (0..threads).find(|&i| found[i] != expected[i]);
        assert_eq!(at, None, "{blocks} blocks: not the CPU's value");
    }
    Ok(())
}

/// The result of one scan.
struct Scanned {
    sums: Vec<u32>,
    total: u32,
}

/// Scans `values` with `blocks` blocks, within one buffer if `in_place`.
fn scan_on(
    queue: &ModuleQueue,
    values: &[u32],
    blocks: u32,
    in_place: bool,
) -> Result<Scanned, CudaError> {
    let stream = queue.stream();
    let n = u32::try_from(values.len()).expect("fewer than 2^32");
    let mut input = stream.upload(values)?;
    let mut output = stream.alloc::<u32>(values.len())?;
    let mut total = stream.upload(&[0u32])?;
    let mut status = stream.alloc::<u64>(scan::status_len(n) as usize)?;
    let mut ticket = stream.alloc::<u32>(1)?;
    output.fill_bytes(0xff)?;
    status.fill_bytes(0xff)?;
    ticket.fill_bytes(0xff)?;
    if n > 0 {
        let (from, to) = if in_place {
            let both = input.view_mut();
            (both.as_view(), both)
        } else {
            (input.view(), output.view_mut())
        };
        // SAFETY: lengths, alignment and order are those that the kernels require.
        unsafe {
            let state = ScanState {
                status: status.view_mut(),
                ticket: ticket.view_mut(),
            };
            scan::scan_init::launch_threads(queue, scan::status_len(n), state)?;
            scan::scan_exclusive::launch(queue, blocks, from, to, total.view_mut(), state, n)?;
        }
    }
    let sums = if in_place { &input } else { &output };
    Ok(Scanned {
        sums: sums.to_vec()?,
        total: total.to_vec()?[0],
    })
}

/// Compares a scan with the running sum on the CPU, modulo 2³².
fn compare(what: &str, values: &[u32], found: &Scanned) {
    let mut sum = 0u32;
    assert_eq!(found.sums.len(), values.len(), "{what}");
    for (i, (&value, &found)) in values.iter().zip(&found.sums).enumerate() {
        assert_eq!(found, sum, "{what}: sum of the elements before {i}");
        sum = sum.wrapping_add(value);
    }
    assert_eq!(found.total, sum, "{what}: total");
}

/// Irregular values whose sum overflows `u32` within a few elements.
fn random(n: usize) -> impl Iterator<Item = u32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..n).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    })
}

#[test]
fn scan_equals_the_cpu() -> Result<(), CudaError> {
    let Some(device) = gpu("scan") else {
        return Ok(());
    };
    let queue = library_on(&device.stream()?)?;
    let multiprocessors = device.info().multiprocessors;
    let tile = TILE as usize;
    // A wave: one tile per block of a full launch.
    let wave = scan::blocks(u32::MAX, multiprocessors) as usize * tile;
    let mut lengths = vec![0, 1, 2, 3, 4, 5, 31, 127, 128, 129];
    for around in [tile, 2 * tile, 287 * tile, 289 * tile, wave, 3 * wave] {
        lengths.extend([around - 1, around, around + 1]);
    }
    for n in lengths {
        let values: Vec<u32> = random(n).collect();
        let blocks = scan::blocks(n as u32, multiprocessors);
        compare(
            &format!("{n}"),
            &values,
            &scan_on(&queue, &values, blocks, false)?,
        );
        compare(
            &format!("{n} in place"),
            &values,
            &scan_on(&queue, &values, blocks, true)?,
        );
    }
    // With these values a sum that is added twice, left out, or carried into the neighbouring state
    // is seen.
    let n = 3 * wave + 77;
    type Value = fn(usize) -> u32;
    let patterns: [(&str, Value); 5] = [
        ("zeros", |_| 0),
        ("ones", |_| 1),
        ("largest", |_| u32::MAX),
        ("one in the first tile", |i| u32::from(i == 7)),
        ("2^31, alternating", |i| (i as u32 & 1) << 31),
    ];
    for (name, value) in patterns {
        let values: Vec<u32> = (0..n).map(value).collect();
        let blocks = scan::blocks(n as u32, multiprocessors);
        compare(name, &values, &scan_on(&queue, &values, blocks, false)?);
    }
    // Any number of blocks is allowed: one, fewer than fit, and one per tile, most of which start
    // when no tile is left.
    let values: Vec<u32> = random(300 * tile + 5).collect();
    for blocks in [1, 2, 7, multiprocessors, 301, 5000] {
        let what = format!("{blocks} blocks");
        compare(&what, &values, &scan_on(&queue, &values, blocks, false)?);
    }
    Ok(())
}

#[test]
fn scan_of_many_elements() -> Result<(), CudaError> {
    let Some(device) = gpu("large scan") else {
        return Ok(());
    };
    let n = (1 << 28) + 3;
    if device.memory()?.free < 3 * 4 * n {
        skipped("large scan", "less than 3 GiB of device memory are free");
        return Ok(());
    }
    let queue = library_on(&device.stream()?)?;
    let values: Vec<u32> = random(n).collect();
    let blocks = scan::blocks(n as u32, device.info().multiprocessors);
    let start = Instant::now();
    let found = scan_on(&queue, &values, blocks, false)?;
    println!("{:.1?} with both copies", start.elapsed());
    compare("2^28 + 3", &values, &found);
    Ok(())
}

/// The same input many times: the order of the blocks differs each time.
#[test]
fn scans_repeat() -> Result<(), CudaError> {
    let Some(device) = gpu("repeated scan") else {
        return Ok(());
    };
    let queue = library_on(&device.stream()?)?;
    let values: Vec<u32> = random(5_000_001).collect();
    let blocks = scan::blocks(5_000_001, device.info().multiprocessors);
    for round in 0..50 {
        let found = scan_on(&queue, &values, blocks + round % 5, round % 2 == 0)?;
        compare(&format!("round {round}"), &values, &found);
    }
    Ok(())
}
