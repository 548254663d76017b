//! A stand-in for NVIDIA's driver: two devices that copy immediately and whose kernels do nothing.
//! It also answers for contexts, streams and memory made elsewhere, which tests make here. It logs
//! the calls that matter for the order of work, and any call can be made to fail.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use cust::load_stand_in;

/// A call of the driver. Streams, events and other handles are integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Launch {
        stream: usize,
    },
    LaunchCooperative {
        stream: usize,
    },
    /// A question how many blocks a multiprocessor holds.
    Occupancy,
    Record {
        event: usize,
        stream: usize,
    },
    Wait {
        stream: usize,
        event: usize,
    },
    Synchronize {
        stream: usize,
    },
    Copy {
        stream: usize,
    },
    Free {
        stream: usize,
    },
    UnloadModule {
        module: usize,
    },
    DestroyGraph,
    DestroyStream {
        stream: usize,
    },
    DestroyEvent {
        event: usize,
    },
    ReleaseContext,
    SynchronizeContext,
    /// What a test notes, such as the drop of an owner.
    Note(&'static str),
}

/// Writes `text` into the log.
#[allow(dead_code)]
pub(crate) fn note(text: &'static str) {
    state(|state| state.log.push(Entry::Note(text)));
}

/// Memory that the stand-in has allocated.
struct Memory {
    layout: Layout,
    /// The context that was current: its parity is the device's index.
    context: usize,
    /// `CU_MEMORYTYPE_HOST` or `CU_MEMORYTYPE_DEVICE`.
    kind: u32,
}

const HOST: u32 = 1;
const DEVICE: u32 = 2;
const INVALID_VALUE: u32 = 1;
const NOT_FOUND: u32 = 500;
const NOT_SUPPORTED: u32 = 801;

#[derive(Default)]
struct State {
    handles: usize,
    log: Vec<Entry>,
    memory: BTreeMap<usize, Memory>,
    /// The context of each stream.
    streams: HashMap<usize, usize>,
    /// Offset and size of each parameter of every kernel; `None` if the driver can't tell.
    params: Option<Vec<(usize, usize)>>,
    /// For each call that is to fail: how many calls succeed first, and the code of the failure.
    failures: HashMap<&'static str, (usize, u32)>,
}

impl State {
    /// The memory that holds the byte at `address`, and its start.
    fn find(&self, address: u64) -> Option<(usize, &Memory)> {
        let address = address as usize;
        let (&start, memory) = self.memory.range(..=address).next_back()?;
        (address < start + memory.layout.size()).then_some((start, memory))
    }
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
static ONE_TEST: Mutex<()> = Mutex::new(());

fn state<R>(work: impl FnOnce(&mut State) -> R) -> R {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    work(state.get_or_insert_default())
}

/// The stand-in, for one test alone.
pub(crate) struct StandIn(#[allow(dead_code)] MutexGuard<'static, ()>);

pub(crate) fn stand_in() -> StandIn {
    static ONCE: Once = Once::new();
    let alone = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the functions below have the driver's signatures, and do what the library relies on.
    ONCE.call_once(|| unsafe { load_stand_in(find) }.map(drop).unwrap());
    let stand_in = StandIn(alone);
    state(|state| {
        state.log.clear();
        state.failures.clear();
        state.params = None;
    });
    stand_in
}

// Each test binary uses a part of it.
#[allow(dead_code)]
impl StandIn {
    /// Lets `call` fail with `code`, after `successes` more that succeed.
    pub(crate) fn fail(&self, call: &'static str, successes: usize, code: u32) {
        state(|state| state.failures.insert(call, (successes, code)));
    }

    /// No call fails any more.
    pub(crate) fn recover(&self) {
        state(|state| state.failures.clear());
    }

    /// Lets all kernels that are looked up from now on have parameters at these offsets, of these
    /// sizes.
    pub(crate) fn set_params(&self, params: &[(usize, usize)]) {
        state(|state| state.params = Some(params.to_vec()));
    }

    pub(crate) fn log(&self) -> Vec<Entry> {
        state(|state| state.log.clone())
    }
}

/// Returns the code of a call that is to fail; does the work of any other call.
fn answer(call: &'static str, work: impl FnOnce(&mut State) -> u32) -> u32 {
    state(|state| {
        if let Some((successes, code)) = state.failures.get_mut(call) {
            if *successes == 0 {
                return *code;
            }
            *successes -= 1;
        }
        work(state)
    })
}

fn handle(state: &mut State) -> *mut c_void {
    state.handles += 1;
    // The smallest numbers are the default streams.
    std::ptr::without_provenance_mut(0x100 + state.handles)
}

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $t:ty),* $(,)?) |$state:ident| $work:block)*) => {
        $(
            #[allow(non_snake_case, unused_unsafe, unused_variables)]
            pub(crate) unsafe extern "C" fn $name($($arg: $t),*) -> u32 {
                answer(stringify!($name), |$state| {
                    // SAFETY: the library passes the pointers that the driver documents.
                    unsafe { $work };
                    #[allow(unreachable_code)]
                    0
                })
            }
        )*

        fn find(name: &str) -> Option<*mut c_void> {
            match name {
                $(stringify!($name) => Some($name as *mut c_void),)*
                _ => None,
            }
        }
    };
}

type Handle = *mut c_void;

functions! {
    fn cuInit(flags: c_uint) |state| {}
    fn cuDriverGetVersion(version: *mut c_int) |state| { *version = 13_000; }
    fn cuGetErrorName(code: u32, name: *mut *const c_char) |state| {
        *name = match code {
            913 => c"CUDA_ERROR_OF_A_NEWER_DRIVER".as_ptr(),
            _ => std::ptr::null(),
        };
    }
    fn cuGetErrorString(code: u32, text: *mut *const c_char) |state| {
        *text = if code == 913 { c"something new".as_ptr() } else { std::ptr::null() };
    }
    fn cuDeviceGetCount(count: *mut c_int) |state| { *count = 2; }
    fn cuDeviceGet(device: *mut c_int, index: c_int) |state| { *device = index; }
    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) |state| {
        name.copy_from_nonoverlapping(c"stand-in".as_ptr(), 9);
    }
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) |state| { *bytes = 1 << 30; }
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) |state| {
        *value = match attribute {
            1..=3 => 1024,
            4 => 64,
            5 => 0x7fff_ffff,
            6 | 7 => 65535,
            16 => 132,
            39 => 2048,
            75 => 9,
            97 => 227 << 10,
            115 => 1,
            _ => 0,
        };
    }
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) |state| {
        *context = std::ptr::without_provenance_mut(1000 + device as usize);
    }
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) |state| {
        state.log.push(Entry::ReleaseContext);
    }
    fn cuCtxSetCurrent(context: Handle) |state| { CURRENT.set(context.addr()); }
    fn cuCtxGetDevice(device: *mut c_int) |state| {
        *device = c_int::from(!CURRENT.get().is_multiple_of(2));
    }
    fn cuCtxSynchronize() |state| { state.log.push(Entry::SynchronizeContext); }
    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: c_int) |state| {
        *pool = handle(state);
    }
    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: Handle) |state| {}
    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: *mut u64) |state| {
        *value = 0;
    }
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) |state| {
        *free = 1 << 29;
        *total = 1 << 30;
    }

    fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: Handle) |state| {
        *address = allocate(state, bytes, DEVICE).expose_provenance() as u64;
    }
    fn cuMemFreeAsync(address: u64, stream: Handle) |state| {
        state.log.push(Entry::Free { stream: stream.addr() });
        release(state, std::ptr::with_exposed_provenance_mut(address as usize));
    }
    fn cuMemAllocHost_v2(address: *mut Handle, bytes: usize) |state| {
        *address = allocate(state, bytes, HOST).cast();
    }
    fn cuMemFreeHost(address: Handle) |state| { release(state, address.cast()); }
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, bytes: usize, stream: Handle) |state| {
        state.log.push(Entry::Copy { stream: stream.addr() });
        std::ptr::with_exposed_provenance_mut::<u8>(to as usize).copy_from(from, bytes);
    }
    fn cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, bytes: usize, stream: Handle) |state| {
        state.log.push(Entry::Copy { stream: stream.addr() });
        to.copy_from(std::ptr::with_exposed_provenance(from as usize), bytes);
    }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) |state| {
        state.log.push(Entry::Copy { stream: stream.addr() });
        let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
        std::ptr::with_exposed_provenance_mut::<u8>(to as usize).copy_from(from, bytes);
    }
    fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Handle) |state| {
        std::ptr::with_exposed_provenance_mut::<u8>(to as usize).write_bytes(value, count);
    }
    fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: Handle) |state| {
        let to = std::ptr::with_exposed_provenance_mut::<u16>(to as usize);
        std::slice::from_raw_parts_mut(to, count).fill(value);
    }
    fn cuMemPoolTrimTo(pool: Handle, keep: usize) |state| {}
    fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Handle) |state| {
        let to = std::ptr::with_exposed_provenance_mut::<u32>(to as usize);
        std::slice::from_raw_parts_mut(to, count).fill(value);
    }

    fn cuPointerGetAttribute(value: Handle, attribute: c_uint, address: u64) |state| {
        let Some((start, memory)) = state.find(address) else {
            return INVALID_VALUE;
        };
        match attribute {
            // The context, the type, and the device's index.
            1 => value.cast::<usize>().write(memory.context),
            2 => value.cast::<u32>().write(memory.kind),
            9 => value.cast::<c_int>().write((memory.context % 2) as c_int),
            // The range.
            11 => value.cast::<usize>().write(start),
            12 => value.cast::<usize>().write(memory.layout.size()),
            _ => return INVALID_VALUE,
        }
    }
    fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, address: u64) |state| {
        let Some((start, memory)) = state.find(address) else {
            return NOT_FOUND;
        };
        *base = start as u64;
        *bytes = memory.layout.size();
    }

    fn cuModuleLoadDataEx(
        module: *mut Handle, image: Handle, options: c_uint, names: Handle, values: Handle,
    ) |state| { *module = handle(state); }
    fn cuModuleUnload(module: Handle) |state| {
        state.log.push(Entry::UnloadModule { module: module.addr() });
    }
    fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) |state| {
        *function = handle(state);
    }
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle) |state| {
        *value = if attribute == 0 { 1024 } else { 32 };
    }
    fn cuFuncGetParamInfo(
        function: Handle, index: usize, offset: *mut usize, size: *mut usize,
    ) |state| {
        let Some(params) = &state.params else {
            return NOT_SUPPORTED;
        };
        let Some(&(place, bytes)) = params.get(index) else {
            return INVALID_VALUE;
        };
        *offset = place;
        *size = bytes;
    }
    fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) |state| {}
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: Handle, threads: c_int, shared: usize,
    ) |state| {
        state.log.push(Entry::Occupancy);
        *blocks = 2;
    }
    fn cuLaunchKernel(
        function: Handle,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared: c_uint, stream: Handle, args: Handle, extra: Handle,
    ) |state| { state.log.push(Entry::Launch { stream: stream.addr() }); }
    fn cuLaunchCooperativeKernel(
        function: Handle,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared: c_uint, stream: Handle, args: Handle,
    ) |state| { state.log.push(Entry::LaunchCooperative { stream: stream.addr() }); }

    fn cuEventCreate(event: *mut Handle, flags: c_uint) |state| { *event = handle(state); }
    fn cuEventDestroy_v2(event: Handle) |state| {
        state.log.push(Entry::DestroyEvent { event: event.addr() });
    }
    fn cuEventRecord(event: Handle, stream: Handle) |state| {
        state.log.push(Entry::Record { event: event.addr(), stream: stream.addr() });
    }
    fn cuEventQuery(event: Handle) |state| {}
    fn cuEventSynchronize(event: Handle) |state| {}
    fn cuEventElapsedTime(ms: *mut f32, start: Handle, end: Handle) |state| { *ms = 1.5; }

    fn cuStreamCreateWithPriority(stream: *mut Handle, flags: c_uint, priority: c_int) |state| {
        *stream = handle(state);
        state.streams.insert((*stream).addr(), CURRENT.get());
    }
    fn cuStreamDestroy_v2(stream: Handle) |state| {
        state.log.push(Entry::DestroyStream { stream: stream.addr() });
    }
    fn cuStreamGetCtx(stream: Handle, context: *mut Handle) |state| {
        let made = state.streams.get(&stream.addr()).copied();
        *context = std::ptr::without_provenance_mut(made.unwrap_or(CURRENT.get()));
    }
    fn cuStreamSynchronize(stream: Handle) |state| {
        state.log.push(Entry::Synchronize { stream: stream.addr() });
    }
    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) |state| {
        state.log.push(Entry::Wait { stream: stream.addr(), event: event.addr() });
    }
    fn cuStreamQuery(stream: Handle) |state| {}

    fn cuStreamBeginCapture_v2(stream: Handle, mode: c_int) |state| {}
    fn cuStreamEndCapture(stream: Handle, graph: *mut Handle) |state| { *graph = handle(state); }
    fn cuGraphInstantiateWithFlags(
        executable: *mut Handle, graph: Handle, flags: c_ulonglong,
    ) |state| { *executable = handle(state); }
    fn cuGraphGetNodes(graph: Handle, nodes: Handle, count: *mut usize) |state| { *count = 1; }
    fn cuGraphLaunch(executable: Handle, stream: Handle) |state| {}
    fn cuGraphExecDestroy(executable: Handle) |state| { state.log.push(Entry::DestroyGraph); }
    fn cuGraphDestroy(graph: Handle) |state| {}
}

/// Host memory, aligned to 4096 bytes.
fn allocate(state: &mut State, bytes: usize, kind: u32) -> *mut u8 {
    let layout = Layout::from_size_align(bytes, 4096).unwrap();
    // SAFETY: the library asks for at least one byte.
    let memory = unsafe { alloc_zeroed(layout) };
    assert!(!memory.is_null());
    let context = CURRENT.get();
    let described = Memory {
        layout,
        context,
        kind,
    };
    state.memory.insert(memory.addr(), described);
    memory
}

fn release(state: &mut State, memory: *mut u8) {
    let described = state.memory.remove(&memory.addr()).expect("memory in use");
    // SAFETY: allocated with this layout, and not freed before.
    unsafe { dealloc(memory, described.layout) };
}
