//! A kernel that crashes. The crash makes the GPU unusable for the process, so this test runs in a
//! process of its own.

mod gpu;

use cust::error::CudaError;
use cust::launch::{Launcher, ModuleQueue};
use cust::module::Module;
use gpu::gpu;
use gpu::kernels::{CRASH, PTX, SIXTY_FOUR, shape};

#[test]
fn a_crashed_kernel_is_named_by_every_later_call() -> Result<(), CudaError> {
    let Some(device) = gpu("crash") else {
        return Ok(());
    };
    let queue = ModuleQueue::new(&device.stream()?, &Module::from_ptx(&device, PTX)?)?;
    let buffer = queue.stream().alloc_zeroed::<u32>(10)?;
    let locked = device.locked_buffer::<u32>(10)?;
    queue.stream().synchronize()?;

    // SAFETY: neither kernel takes arguments. `crash` breaks the context, which is the subject of
    // the test, and touches no memory of others.
    unsafe { queue.launch(&CRASH, shape(1, 1), &[]) }?;
    let error = queue.stream().synchronize().unwrap_err();
    println!("{error}");
    match &error {
        CudaError::Execution {
            last_kernel,
            status,
        } => {
            assert_eq!(*last_kernel, Some("crash"));
            assert!([700, 719].contains(&status.code()), "{status}");
        }
        other => panic!("{other:?}"),
    }
    assert!(error.to_string().contains("CUDA_ERROR_"), "{error}");

    let is_fault = |error| {
        matches!(
            error,
            CudaError::Execution {
                last_kernel: Some("crash"),
                ..
            }
        )
    };
    assert!(is_fault(buffer.to_vec().unwrap_err()));
    assert!(is_fault(buffer.read_into(locked).unwrap_err()));
    assert!(is_fault(queue.stream().alloc::<u8>(1).unwrap_err()));
    // SAFETY: as above.
    let launched = unsafe { queue.launch(&SIXTY_FOUR, shape(1, 64), &[]) };
    assert!(is_fault(launched.unwrap_err()));
    assert!(matches!(
        device.synchronize(),
        Err(CudaError::Execution { .. })
    ));
    // Dropping all of it must neither hang nor panic.
    Ok(())
}
