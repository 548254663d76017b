//! The conformance kernels' PTX belongs to their sources, and their checks notice wrong results.

use std::cell::RefCell;
use std::convert::Infallible;
use std::ffi::c_void;
use std::path::Path;

use cuda_builder::Header;
use cuda_std::Pod;
use cuda_std::launch::{KernelSpec, LaunchConfig, Launcher};
use trazar_conformance::check::{self, Device};

#[test]
fn the_ptx_is_of_these_sources() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = [here.to_owned(), here.join("../std"), here.join("../macros")];
    let header = Header::parse(trazar_conformance::PTX).expect("a header");
    let expected = header.hash_of(&sources).expect("readable sources");
    assert_eq!(
        header.source_hash, expected,
        "the PTX is older than the kernels' sources, or than what builds it: run `cargo kernels`"
    );
}

/// A device whose kernels do nothing.
#[derive(Default)]
struct Idle {
    memory: RefCell<Vec<Vec<u128>>>,
}

impl Launcher for Idle {
    type Error = Infallible;

    unsafe fn launch(
        &self,
        spec: &'static KernelSpec,
        _: LaunchConfig,
        args: &[*const c_void],
    ) -> Result<(), Infallible> {
        assert_eq!(args.len(), spec.params.len());
        Ok(())
    }
}

impl Device for Idle {
    fn upload<T: Pod>(&self, data: &[T]) -> *mut T {
        let mut memory = vec![0u128; size_of_val(data).div_ceil(16)];
        let address = memory.as_mut_ptr().cast::<T>();
        // SAFETY: enough bytes, aligned to 16, of plain data.
        unsafe { address.copy_from_nonoverlapping(data.as_ptr(), data.len()) };
        self.memory.borrow_mut().push(memory);
        address
    }

    fn download<T: Pod>(&self, from: *const T, len: usize) -> Vec<T> {
        // SAFETY: an upload of `len` elements, which is still there.
        unsafe { std::slice::from_raw_parts(from, len) }.to_vec()
    }

    fn resident_blocks(&self, _: &'static KernelSpec) -> u32 {
        4
    }
}

#[test]
fn every_check_fails_on_a_device_that_does_nothing() {
    for (name, check) in check::all::<Idle>() {
        assert!(
            check(&Idle::default()).is_err(),
            "the check of {name} did not notice that nothing ran"
        );
    }
}
