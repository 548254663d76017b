//! The conformance kernels through the driver. Without a GPU, each test reports that it was skipped.

mod gpu;

use std::cell::RefCell;
use std::ffi::c_void;

use cuda_std::Pod;
use cuda_std::grid::GridBarrier;
use cuda_std::launch::{KernelSpec, LaunchConfig, Launcher};
use cust::error::CudaError;
use cust::launch::{LaunchProblem, ModuleQueue};
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use gpu::gpu;
use trazar_conformance::check::{self, Device, exchanged};
use trazar_conformance::grids::{self, THREADS};

/// A GPU for the checks.
struct Checked {
    queue: ModuleQueue,
    memory: RefCell<Vec<DeviceBuffer<u8>>>,
}

impl Checked {
    fn new(stream: &Stream) -> Result<Self, CudaError> {
        let module = Module::from_ptx(stream.device(), trazar_conformance::PTX)?;
        Ok(Self {
            queue: ModuleQueue::new(stream, &module)?,
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
        // SAFETY: the caller's promise, passed on.
        unsafe { self.queue.launch(spec, config, args) }
    }
}

/// The bytes of `values`.
fn bytes<T: Pod>(values: &[T]) -> &[u8] {
    // SAFETY: plain data has no padding; the length in bytes is the slice's.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

impl Device for Checked {
    fn upload<T: Pod>(&self, data: &[T]) -> *mut T {
        let uploaded = self.queue.stream().upload(bytes(data));
        let mut buffer = uploaded.expect("device memory");
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
        let blocks = self.queue.resident_blocks(spec, 0);
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

/// Irregular values.
fn random(n: usize) -> impl Iterator<Item = u32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..n).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    })
}
