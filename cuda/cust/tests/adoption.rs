//! Things made elsewhere, and buffers given away, with a stand-in for the driver. What "elsewhere"
//! makes, the tests make by calling the stand-in's functions directly.

mod stand_in;

use std::ffi::c_void;
use std::mem::size_of_val;
use std::ptr::{self, NonNull};
use std::thread;

use cust::Owner;
use cust::array_interface::CudaArray;
use cust::context::Context;
use cust::device::Device;
use cust::dlpack::{
    self, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion,
    TensorError,
};
use cust::error::{CudaError, CudaResult};
use cust::event::Event;
use cust::memory::{DeviceBuffer, RawBuffer, Release};
use cust::raw::CUstream;
use cust::stream::Stream;
use stand_in::{Entry, StandIn, note, stand_in};

/// An owner: its drop is in the log.
struct Noted(&'static str);

impl Drop for Noted {
    fn drop(&mut self) {
        note(self.0);
    }
}

fn noted(text: &'static str) -> Owner {
    Owner::new(Noted(text))
}

/// A stream of the context with this address, made elsewhere.
fn stream_elsewhere(context: usize) -> CUstream {
    let mut stream: *mut c_void = ptr::null_mut();
    // SAFETY: the stand-in's functions take any number for a context.
    unsafe {
        stand_in::cuCtxSetCurrent(ptr::without_provenance_mut(context));
        stand_in::cuStreamCreateWithPriority(&mut stream, 0, 0);
    }
    stream.cast()
}

/// Memory of the context with this address, made elsewhere, with `values` in it.
fn memory_elsewhere<T: Copy>(context: usize, values: &[T]) -> u64 {
    let mut address = 0;
    // SAFETY: the stand-in's memory is the host's, and as large as is asked for.
    unsafe {
        stand_in::cuCtxSetCurrent(ptr::without_provenance_mut(context));
        stand_in::cuMemAllocAsync(&mut address, size_of_val(values), ptr::null_mut());
        ptr::with_exposed_provenance_mut::<T>(address as usize)
            .copy_from_nonoverlapping(values.as_ptr(), values.len());
    }
    address
}

/// The primary context of device 0, and another one of it, as the stand-in numbers them.
const PRIMARY: usize = 1000;
const OTHER: usize = 2000;

fn position(driver: &StandIn, entry: &Entry) -> Option<usize> {
    driver.log().iter().rposition(|logged| logged == entry)
}

fn raw(address: u64, len: usize, stream: &Stream, release: Release) -> RawBuffer {
    RawBuffer {
        address,
        len,
        stream: stream.clone(),
        release,
    }
}

fn adopt(raw: RawBuffer) -> CudaResult<DeviceBuffer<u32>> {
    // SAFETY: the memory is the test's, which keeps it.
    unsafe { DeviceBuffer::from_raw(raw) }
}

#[test]
fn adopted_streams_are_used_and_left_alone() -> CudaResult<()> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let handle = stream_elsewhere(PRIMARY);
    // SAFETY: the stand-in never ends a stream.
    let stream = unsafe { Stream::from_raw(&device, handle, noted("stream")) }?;
    assert_eq!(stream.as_raw(), handle);
    let buffer = stream.upload(&[1u32, 2, 3])?;
    assert_eq!(buffer.to_vec()?, [1, 2, 3]);
    let own = device.stream()?;
    own.wait_for(&stream)?;
    drop(stream);
    assert_eq!(position(&driver, &Entry::Note("stream")), None);
    drop(buffer);
    let stream = handle.addr();
    let freed = position(&driver, &Entry::Free { stream });
    assert!(freed.is_some() && freed < position(&driver, &Entry::Note("stream")));
    assert_eq!(position(&driver, &Entry::DestroyStream { stream }), None);
    let own_handle = own.as_raw().addr();
    drop(own);
    let destroyed = Entry::DestroyStream { stream: own_handle };
    assert!(position(&driver, &destroyed).is_some());
    Ok(())
}

#[test]
fn contexts_are_kept_apart() -> CudaResult<()> {
    let driver = stand_in();
    let primary = Device::open(0)?;
    let handle = stream_elsewhere(OTHER);
    // SAFETY: the stand-in never ends a stream.
    let refused = unsafe { Stream::from_raw(&primary, handle, Owner::none()) }.unwrap_err();
    assert_eq!(
        refused,
        CudaError::WrongContext {
            what: "the stream",
            device: 0
        }
    );

    // SAFETY: the stand-in never ends a context.
    let context =
        unsafe { Context::from_raw(ptr::without_provenance_mut(OTHER), noted("context")) }?;
    let device = Device::in_context(&context)?;
    assert_eq!(device.info().index, 0);
    assert!(device.context() != primary.context() && device.context() == &context);
    drop(context);
    // SAFETY: as above.
    let stream = unsafe { Stream::from_raw(&device, handle, Owner::none()) }?;
    let source = stream.upload(&[1u32, 2])?;
    let mut copy = primary.stream()?.alloc::<u32>(2)?;
    assert_eq!(
        copy.copy_from(0, &source, 0..2).unwrap_err(),
        CudaError::WrongContext {
            what: "the source buffer",
            device: 0
        }
    );
    // Waits between contexts are allowed.
    copy.stream().wait_for(&stream)?;
    drop((stream, device));
    assert_eq!(position(&driver, &Entry::Note("context")), None);
    drop(source);
    assert!(position(&driver, &Entry::Note("context")).is_some());
    assert_eq!(position(&driver, &Entry::ReleaseContext), None);

    // Two clones of one device are the same context.
    let again = Device::open(0)?;
    assert_eq!(again.context(), primary.context());
    Ok(())
}

#[test]
fn default_streams_can_be_adopted() -> CudaResult<()> {
    let driver = stand_in();
    let device = Device::open(0)?;
    for handle in [ptr::null_mut(), Stream::LEGACY] {
        // SAFETY: these streams always exist.
        let stream = unsafe { Stream::from_raw(&device, handle, Owner::none()) }?;
        assert_eq!(stream.upload(&[7u32])?.to_vec()?, [7]);
        thread::scope(|scope| {
            scope
                .spawn(|| assert_eq!(stream.synchronize(), Ok(())))
                .join()
                .unwrap();
        });
    }

    // SAFETY: as above.
    let stream = unsafe { Stream::from_raw(&device, Stream::PER_THREAD, Owner::none()) }?;
    let (one, other) = (stream.upload(&[7u32])?, stream.upload(&[8u32])?);
    assert_eq!(one.to_vec()?, [7]);
    drop(one);
    assert_eq!(position(&driver, &Entry::SynchronizeContext), None);
    // On another thread, the handle is another stream.
    thread::scope(|scope| {
        let elsewhere = scope.spawn(|| {
            assert_eq!(stream.synchronize(), Err(CudaError::WrongThread));
            assert_eq!(stream.upload(&[1u8]).map(drop), Err(CudaError::WrongThread));
            assert_eq!(other.to_vec(), Err(CudaError::WrongThread));
            drop(other);
            // SAFETY: as above.
            let own = unsafe { Stream::from_raw(&device, Stream::PER_THREAD, Owner::none()) };
            let own = own.unwrap();
            assert!(own.is_same(&own) && !own.is_same(&stream));
            assert_eq!(own.wait_for(&stream), Err(CudaError::WrongThread));
        });
        elsewhere.join().unwrap();
    });
    let freed = Entry::Free {
        stream: Stream::PER_THREAD.addr(),
    };
    let waited = position(&driver, &Entry::SynchronizeContext);
    assert!(waited.is_some() && waited < position(&driver, &freed));
    Ok(())
}

#[test]
fn events_made_elsewhere_are_waited_for() -> CudaResult<()> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let stream = device.stream()?;
    let mut handle: *mut c_void = ptr::null_mut();
    // SAFETY: writes one handle.
    unsafe { stand_in::cuEventCreate(&mut handle, 0) };
    // SAFETY: the stand-in never ends an event.
    let event = unsafe { Event::from_raw(&device, handle.cast(), noted("event")) }?;
    stream.wait_event(&event)?;
    drop(event);
    let (stream, event) = (stream.as_raw().addr(), handle.addr());
    assert!(position(&driver, &Entry::Wait { stream, event }).is_some());
    assert!(position(&driver, &Entry::Note("event")).is_some());
    assert_eq!(position(&driver, &Entry::DestroyEvent { event }), None);
    assert_eq!(position(&driver, &Entry::Synchronize { stream }), None);
    Ok(())
}

#[test]
fn the_owner_goes_after_the_work() -> CudaResult<()> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let stream = device.stream()?;
    let values = [5u32, 6, 7, 8];
    let address = memory_elsewhere(PRIMARY, &values);
    let mut buffer = adopt(raw(
        address,
        4,
        &stream,
        Release::AfterWork(noted("waited")),
    ))?;
    assert_eq!(buffer.as_ptr().addr() as u64, address);
    assert_eq!(buffer.to_vec()?, values);
    buffer.fill(9)?;
    drop(buffer);
    let on = stream.as_raw().addr();
    let dropped = position(&driver, &Entry::Note("waited"));
    let waited = position(&driver, &Entry::Synchronize { stream: on });
    assert!(waited.is_some() && waited < dropped, "{:?}", driver.log());
    assert_eq!(position(&driver, &Entry::Free { stream: on }), None);

    let count = |driver: &StandIn| {
        let waits = driver.log().into_iter();
        waits
            .filter(|entry| *entry == Entry::Synchronize { stream: on })
            .count()
    };
    let before = count(&driver);
    let release = Release::InOrder(noted("at once"));
    drop(adopt(raw(address, 4, &stream, release))?);
    assert!(position(&driver, &Entry::Note("at once")).is_some());
    assert_eq!(count(&driver), before);

    // Without an owner: the driver's own memory.
    drop(adopt(raw(address, 4, &stream, Release::Free))?);
    assert!(position(&driver, &Entry::Free { stream: on }).is_some());
    Ok(())
}

#[test]
fn memory_is_checked_before_it_is_adopted() -> CudaResult<()> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let stream = device.stream()?;
    let values = [1u32; 10];
    let check = |address: u64, len: usize| {
        let release = Release::InOrder(Owner::none());
        adopt(raw(address, len, &stream, release)).map(drop)
    };
    let address = memory_elsewhere(PRIMARY, &values);
    assert_eq!(check(address, 10), Ok(()));
    assert_eq!(check(address + 8, 8), Ok(()));
    assert_eq!(
        check(address + 2, 1),
        Err(CudaError::Misaligned {
            address: address + 2,
            needs: 4
        })
    );
    assert_eq!(
        check(address + 8, 9),
        Err(CudaError::OutsideAllocation {
            address: address + 8,
            bytes: 36,
            allocated: 32
        })
    );
    assert_eq!(
        check(64, 1),
        Err(CudaError::NotDeviceMemory { address: 64 })
    );
    // Nothing is asked about no elements.
    assert_eq!(check(63, 0), Ok(()));
    let host = device.locked_buffer::<u32>(10)?;
    let host = host.as_ptr().addr() as u64;
    assert_eq!(
        check(host, 10),
        Err(CudaError::NotDeviceMemory { address: host })
    );
    let what = "the memory";
    assert_eq!(
        check(memory_elsewhere(PRIMARY + 1, &values), 10),
        Err(CudaError::WrongDevice {
            what,
            device: 0,
            other: 1
        })
    );
    assert_eq!(
        check(memory_elsewhere(OTHER, &values), 10),
        Err(CudaError::WrongContext { what, device: 0 })
    );
    // The range of a pool's memory may be an attribute only.
    driver.fail("cuMemGetAddressRange_v2", 0, 1);
    assert_eq!(check(address + 8, 8), Ok(()));
    assert!(matches!(
        check(address + 8, 9),
        Err(CudaError::OutsideAllocation { allocated: 32, .. })
    ));
    driver.recover();
    assert!(matches!(
        check(address, usize::MAX / 8),
        Err(CudaError::OutsideAllocation { .. })
    ));
    Ok(())
}

#[test]
fn buffers_are_given_away_and_come_back() -> CudaResult<()> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let stream = device.stream()?;
    let on = stream.as_raw().addr();
    let given = stream.upload(&[1u32, 2, 3])?.into_raw();
    assert!(matches!(given.release, Release::Free));
    assert_eq!(given.len, 3);
    assert!(given.stream.is_same(&stream));
    assert_eq!(position(&driver, &Entry::Free { stream: on }), None);
    let buffer = adopt(given)?;
    assert_eq!(buffer.to_vec()?, [1, 2, 3]);
    drop(buffer);
    assert!(position(&driver, &Entry::Free { stream: on }).is_some());

    // An adopted one takes its owner along.
    let address = memory_elsewhere(PRIMARY, &[1u32]);
    let release = Release::AfterWork(noted("owner"));
    let given = adopt(raw(address, 1, &stream, release))?.into_raw();
    assert_eq!(position(&driver, &Entry::Note("owner")), None);
    drop(given);
    let dropped = position(&driver, &Entry::Note("owner"));
    let waited = position(&driver, &Entry::Synchronize { stream: on });
    assert!(dropped.is_some() && waited.is_some() && waited < dropped);
    assert!(waited > position(&driver, &Entry::Free { stream: on }));
    Ok(())
}

#[test]
fn dlpack_tensors_go_out_and_come_back() -> Result<(), TensorError> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let (stream, consumer) = (device.stream()?, device.stream()?);
    let buffer = stream.upload(&[1u32, 2, 3, 4, 5, 6])?;
    let address = buffer.as_ptr();
    let exported = dlpack::export(buffer, &[2, 3], Some(&consumer))?;
    let tensor = exported.tensor();
    assert_eq!(tensor.data.cast_const().cast(), address);
    assert_eq!(
        tensor.device,
        DLDevice {
            device_type: 2,
            device_id: 0
        }
    );
    assert_eq!(
        tensor.dtype,
        DLDataType {
            code: 1,
            bits: 32,
            lanes: 1
        }
    );
    // SAFETY: two numbers each.
    let (shape, strides) = unsafe {
        (
            std::slice::from_raw_parts(tensor.shape, 2),
            std::slice::from_raw_parts(tensor.strides, 2),
        )
    };
    assert_eq!((shape, strides), (&[2, 3][..], &[3, 1][..]));
    let (of, on) = (stream.as_raw().addr(), consumer.as_raw().addr());
    let waits = |driver: &StandIn, waiting: usize| {
        let log = driver.log().into_iter();
        log.filter(|entry| matches!(entry, Entry::Wait { stream, .. } if *stream == waiting))
            .count()
    };
    assert_eq!((waits(&driver, on), waits(&driver, of)), (1, 0));

    let pointer = exported.into_raw();
    // SAFETY: the pointer is that of an export, and the consumer's stream has waited.
    let imported = unsafe { dlpack::import::<u32, _>(pointer, &consumer) }?;
    assert_eq!(imported.shape(), [2, 3]);
    // The host has not waited so far, but for the upload.
    assert_eq!(position(&driver, &Entry::Synchronize { stream: on }), None);
    assert_eq!(imported.buffer().to_vec()?, [1, 2, 3, 4, 5, 6]);
    assert_eq!(position(&driver, &Entry::Free { stream: of }), None);
    drop(imported);
    // Freed in the producer's order, after the consumer's work.
    assert_eq!(waits(&driver, of), 1);
    let freed = position(&driver, &Entry::Free { stream: of });
    assert!(freed > position(&driver, &Entry::Synchronize { stream: on }));

    // The struct without a version, and an export that no one takes.
    let buffer = stream.upload(&[1.5f32])?;
    let pointer = dlpack::export_unversioned(buffer, &[1, 1], None)?.into_raw();
    // SAFETY: as above.
    let buffer = unsafe { dlpack::import::<f32, _>(pointer, &stream) }?.into_buffer()?;
    assert_eq!(buffer.to_vec()?, [1.5]);
    let before = driver.log().len();
    drop(dlpack::export(buffer, &[], None)?);
    assert!(driver.log()[before..].contains(&Entry::Free { stream: of }));

    let shape = dlpack::export(stream.upload(&[1u8; 5])?, &[2, 3], None).map(drop);
    assert!(matches!(shape, Err(TensorError::Shape { len: 5, .. })));
    Ok(())
}

unsafe extern "C" fn deleted(_: *mut DLManagedTensorVersioned) {
    note("deleted");
}

unsafe extern "C" fn deleted_unversioned(_: *mut DLManagedTensor) {
    note("deleted");
}

/// Every field of a tensor from elsewhere is looked at, and a refused tensor is not deleted.
#[test]
fn dlpack_tensors_are_checked() -> Result<(), TensorError> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let stream = device.stream()?;
    let address = memory_elsewhere(PRIMARY, &[0u32; 100]);
    let (mut shape, mut strides) = ([4i64, 5], [5i64, 1]);
    type Change<'a> = dyn Fn(&mut DLManagedTensorVersioned, &mut [i64; 2], &mut [i64; 2]) + 'a;
    let mut import = |change: &Change<'_>| {
        (shape, strides) = ([4, 5], [5, 1]);
        let mut managed = DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 9 },
            manager_ctx: ptr::null_mut(),
            deleter: Some(deleted),
            flags: 0,
            dl_tensor: dlpack::DLTensor {
                data: ptr::with_exposed_provenance_mut(address as usize),
                device: DLDevice {
                    device_type: 2,
                    device_id: 0,
                },
                ndim: 2,
                dtype: DLDataType {
                    code: 1,
                    bits: 32,
                    lanes: 1,
                },
                shape: ptr::null_mut(),
                strides: ptr::null_mut(),
                byte_offset: 80,
            },
        };
        change(&mut managed, &mut shape, &mut strides);
        managed.dl_tensor.shape = shape.as_mut_ptr();
        managed.dl_tensor.strides = strides.as_mut_ptr();
        let deleted = Entry::Note("deleted");
        let count = |driver: &StandIn| driver.log().iter().filter(|e| **e == deleted).count();
        let before = count(&driver);
        // SAFETY: the tensor is as the format says but for what is to be refused.
        let imported = unsafe { dlpack::import::<u32, _>(NonNull::from(&mut managed), &stream) };
        assert_eq!(count(&driver), before);
        let is_imported = imported.is_ok();
        let result = imported.map(|imported| {
            let start = imported.buffer().as_ptr().addr() as u64;
            (start, imported.buffer().len(), imported.is_read_only())
        });
        assert_eq!(count(&driver), before + usize::from(is_imported));
        result
    };
    assert_eq!(import(&|_, _, _| ())?, (address + 80, 20, false));
    assert_eq!(import(&|m, _, _| m.flags = 1)?, (address + 80, 20, true));
    assert_eq!(import(&|_, shape, _| shape[0] = 0)?.1, 0);
    assert_eq!(
        import(&|_, shape, strides| (shape[0], strides[0]) = (1, 77))?.1,
        5
    );
    assert!(matches!(
        import(&|m, _, _| m.version.major = 2),
        Err(TensorError::Version(DLPackVersion { major: 2, minor: 9 }))
    ));
    assert_eq!(
        import(&|m, _, _| m.dl_tensor.device.device_type = 1),
        Err(TensorError::Device { device_type: 1 })
    );
    assert!(matches!(
        import(&|m, _, _| m.dl_tensor.device.device_id = 1),
        Err(TensorError::Cuda(CudaError::WrongDevice { other: 1, .. }))
    ));
    for change in [
        |dtype: &mut DLDataType| dtype.code = 0,
        |dtype: &mut DLDataType| dtype.bits = 64,
        |dtype: &mut DLDataType| dtype.lanes = 2,
    ] {
        let refused = import(&|m, _, _| change(&mut m.dl_tensor.dtype));
        assert!(matches!(refused, Err(TensorError::Type { .. })));
    }
    assert!(matches!(
        import(&|_, _, strides| strides[0] = 8),
        Err(TensorError::Strides { .. })
    ));
    assert!(matches!(
        import(&|_, shape, _| shape[1] = -5),
        Err(TensorError::Shape { .. })
    ));
    assert!(matches!(
        import(&|m, _, _| m.dl_tensor.ndim = -1),
        Err(TensorError::Shape { .. })
    ));
    assert!(matches!(
        import(&|m, _, _| m.dl_tensor.byte_offset = 81),
        Err(TensorError::Cuda(CudaError::Misaligned { .. }))
    ));
    assert!(matches!(
        import(&|m, _, _| m.dl_tensor.byte_offset = 324),
        Err(TensorError::Cuda(CudaError::OutsideAllocation { .. }))
    ));

    // Without strides, and a mask of booleans, in the struct without a version.
    let mut shape = [10i64];
    let mut managed = DLManagedTensor {
        dl_tensor: dlpack::DLTensor {
            data: ptr::with_exposed_provenance_mut(address as usize),
            device: DLDevice {
                device_type: 2,
                device_id: 0,
            },
            ndim: 1,
            dtype: DLDataType {
                code: 6,
                bits: 8,
                lanes: 1,
            },
            shape: shape.as_mut_ptr(),
            strides: ptr::null_mut(),
            byte_offset: 3,
        },
        manager_ctx: ptr::null_mut(),
        deleter: Some(deleted_unversioned),
    };
    // SAFETY: the tensor is as the format says.
    let mask = unsafe { dlpack::import::<u8, _>(NonNull::from(&mut managed), &stream) }?;
    assert_eq!(mask.buffer().to_vec()?, [0; 10]);
    Ok(())
}

#[test]
fn arrays_of_the_cuda_array_interface() -> Result<(), TensorError> {
    let driver = stand_in();
    let device = Device::open(0)?;
    let stream = device.stream()?;
    let buffer = stream.upload(&[1u32, 2, 3, 4])?;
    let array = CudaArray::of(&buffer, &[2, 2])?;
    assert_eq!(array.typestr, "<u4");
    assert_eq!(array.stream, Some(stream.as_raw().addr()));
    assert!(matches!(
        CudaArray::of(&buffer, &[3]),
        Err(TensorError::Shape { len: 4, .. })
    ));

    let consumer = device.stream()?;
    // SAFETY: `buffer` outlives the import.
    let import = |array: &CudaArray| unsafe { array.import::<u32>(&consumer, noted("array")) };
    let imported = import(&array)?;
    assert_eq!(imported.to_vec()?, [1, 2, 3, 4]);
    let on = consumer.as_raw().addr();
    let waited = driver.log();
    assert!(
        waited
            .iter()
            .any(|entry| matches!(entry, Entry::Wait { stream, .. } if *stream == on))
    );
    drop(imported);
    let note = position(&driver, &Entry::Note("array"));
    assert!(note > position(&driver, &Entry::Synchronize { stream: on }));

    let changed = |change: &dyn Fn(&mut CudaArray)| {
        let mut array = array.clone();
        change(&mut array);
        import(&array).map(|buffer| buffer.len())
    };
    assert_eq!(changed(&|a| a.strides = Some(vec![8, 4]))?, 4);
    assert_eq!(changed(&|a| a.stream = Some(1))?, 4);
    assert!(matches!(
        changed(&|a| a.strides = Some(vec![16, 4])),
        Err(TensorError::Strides { .. })
    ));
    assert!(matches!(
        changed(&|a| a.typestr = "<i4".to_owned()),
        Err(TensorError::Type { .. })
    ));
    assert_eq!(changed(&|a| a.read_only = true), Err(TensorError::ReadOnly));
    // The default stream's name in the protocol.
    // SAFETY: this stream always exists.
    let legacy = unsafe { Stream::from_raw(&device, ptr::null_mut(), Owner::none()) }?;
    let array = CudaArray::of(&legacy.upload(&[1u8])?, &[1])?;
    assert_eq!((array.stream, &*array.typestr), (Some(1), "|u1"));
    Ok(())
}
