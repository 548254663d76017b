//! Compiles small kernels and reads their PTX.
//!
//! Where the device toolchain is missing, each test says so and passes; with
//! `TRAZAR_REQUIRE_DEVICE_TOOLCHAIN=1` it fails instead.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cuda_builder::{Built, CudaBuilder, Error, Limit, Lint, Rule, Search, SourcePlace, ptxas};
use trazar_test_seeds::skipped;

/// One build at a time: they share cargo's folder, so that the compiler's library is built once.
static BUILDING: Mutex<()> = Mutex::new(());

/// A kernel crate with `body` as its source, in a folder called `name`.
fn kernel_crate(name: &str, body: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace");
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(dir.join("src")).expect("a folder");
    // Its own workspace, with this one's lock file: nothing needs to be looked up.
    let manifest = format!(
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\n\
         cuda_std = {{ path = {:?}, package = \"trazar-cuda-std\" }}\n",
        root.join("cuda/std")
    );
    fs::write(dir.join("Cargo.toml"), manifest).expect("written");
    fs::copy(root.join("Cargo.lock"), dir.join("Cargo.lock")).expect("copied");
    let source = format!("use cuda_std::prelude::*;\n{body}\n");
    fs::write(dir.join("src/lib.rs"), source).expect("written");
    dir
}

/// Builds the kernels in `body`; `None` if there is no device toolchain.
fn build(name: &str, body: &str) -> Option<Result<Built, Error>> {
    build_written(|| kernel_crate(name, body))
}

/// Builds the kernel crate in the folder that `write` returns; `None` if there is no device
/// toolchain.
///
/// The crates have one name, so that cargo takes one for the other unless each is written after
/// the one before was built.
fn build_written(write: impl FnOnce() -> PathBuf) -> Option<Result<Built, Error>> {
    let _one_at_a_time = BUILDING
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("device");
    match Search::default().find() {
        Ok(toolchain) => {
            let builder = CudaBuilder::new(write())
                .toolchain(toolchain)
                .target_dir(target_dir);
            Some(builder.build())
        }
        Err(error) => {
            let required = std::env::var_os("TRAZAR_REQUIRE_DEVICE_TOOLCHAIN")
                .is_some_and(|value| value == "1");
            assert!(!required, "{error}");
            let test = std::thread::current();
            let why = error.to_string();
            skipped(
                test.name().unwrap_or_default(),
                why.lines().next().unwrap_or_default(),
            );
            None
        }
    }
}

/// The rules that `lints` are about.
fn rules(lints: Vec<Lint>) -> Vec<Rule> {
    lints.into_iter().map(|lint| lint.rule).collect()
}

/// A place in the source of [`kernel_crate`].
fn place(line: u32, column: u32) -> SourcePlace {
    SourcePlace {
        file: "src/lib.rs".into(),
        line,
        column,
    }
}

/// The lints that refuse `body`.
fn refused(name: &str, body: &str) -> Option<Vec<Lint>> {
    build(name, body).map(|result| match result {
        Err(Error::Lints(lints)) => lints,
        other => panic!("not refused by a lint: {other:?}"),
    })
}

#[test]
fn shared_memory_is_accessed_directly() {
    let body = "#[kernel(block = 64)]
        pub unsafe fn reverse(data: ViewMut<'_, u32>) {
            let cells = shared_array![u32; 64];
            let t = thread::thread_idx_x();
            cells.st(t, data.ld(t));
            thread::sync_threads();
            data.st(t, cells.ld(63 - t));
        }";
    let Some(built) = build("shared", body) else {
        return;
    };
    let ptx = built.expect("it compiles").ptx;
    for instruction in [
        "st.shared.b32",
        "ld.shared.b32",
        "ld.global.b32",
        "st.global.b32",
    ] {
        assert!(ptx.contains(instruction), "no {instruction} in\n{ptx}");
    }
    assert!(
        ptx.contains("[256];"),
        "64 words of shared memory in\n{ptx}"
    );
    assert!(
        !ptx.contains("ld.b32") && !ptx.contains("st.b32"),
        "a generic access in\n{ptx}"
    );
}

/// What the assembler says of each GPU, where it is there.
#[test]
fn resources_are_reported_with_the_occupancy() {
    let body = "#[kernel(block = 64)]
        pub unsafe fn reverse(data: ViewMut<'_, u32>) {
            let cells = shared_array![u32; 2048];
            let t = thread::thread_idx_x();
            cells.st(t, data.ld(t));
            thread::sync_threads();
            data.st(t, cells.ld(63 - t));
        }";
    let Some(built) = build("resources", body) else {
        return;
    };
    let [kernel] = &built.expect("it compiles").kernels[..] else {
        panic!("one kernel")
    };
    assert!(!kernel.uses_dynamic_shared);
    if ptxas::find().is_none() {
        assert_eq!(kernel.resources, []);
        return;
    }
    let targets: Vec<_> = kernel.resources.iter().map(|on| &on.target[..]).collect();
    assert_eq!(targets, ["sm_75", "sm_80", "sm_90", "sm_120"]);
    for (on, blocks) in kernel.resources.iter().zip([8, 18, 25, 11]) {
        assert_eq!((on.shared, on.stack, on.spill_stores), (8192, 0, 0));
        assert!((4..32).contains(&on.registers), "{on:?}");
        let occupancy = on.occupancy(64, 0).expect("a known GPU");
        assert_eq!(occupancy.blocks, blocks, "{on:?}");
        assert_eq!(occupancy.limits, [Limit::Shared], "{on:?}");
    }
}

#[test]
fn dynamic_shared_memory_is_external() {
    let body = "#[kernel(block = 64)]
        pub unsafe fn reverse(data: ViewMut<'_, u32>) {
            let cells = unsafe { shared::dynamic_shared_mem::<u32>(0, 64) };
            let t = thread::thread_idx_x();
            cells.st(t, data.ld(t));
            thread::sync_threads();
            data.st(t, cells.ld(63 - t));
        }";
    let Some(built) = build("dynamic", body) else {
        return;
    };
    let built = built.expect("it compiles");
    assert!(built.kernels[0].uses_dynamic_shared);
    let ptx = built.ptx;
    assert!(
        ptx.contains(".extern .shared .align 16 .b8 dynamic_shared[];"),
        "{ptx}"
    );
    assert!(
        ptx.contains("st.shared.b32") && ptx.contains("ld.shared.b32"),
        "{ptx}"
    );
}

#[test]
fn launch_bounds_are_there() {
    let body = "#[kernel(block = (32, 8), min_blocks = 3)]
        pub unsafe fn bounded(data: ViewMut<'_, u32>) {
            data.st(thread::thread_idx_x(), 1);
        }";
    let Some(built) = build("bounds", body) else {
        return;
    };
    let built = built.expect("it compiles");
    assert!(built.ptx.contains(".reqntid 32, 8, 1"), "{}", built.ptx);
    assert!(built.ptx.contains(".minnctapersm 3"), "{}", built.ptx);
    assert_eq!(built.kernels[0].block, [32, 8, 1]);
    assert_eq!(
        built.interface(),
        ["bounded(.param .align 8 .b8 bounded_param_0[16])"]
    );
}

#[test]
fn a_barrier_between_two_ifs_on_one_condition_is_emitted_once() {
    let body = "#[kernel(block = 64)]
        pub unsafe fn twice(data: ViewMut<'_, u32>) {
            let cell = shared_array![u32; 1];
            let t = thread::thread_idx_x();
            if t == 0 { cell.st(0, data.ld(0)); }
            thread::sync_threads();
            if t == 0 { cell.st(0, cell.ld(0) + 1); }
            thread::sync_threads();
            data.st(t, cell.ld(0));
        }";
    let Some(built) = build("barrier", body) else {
        return;
    };
    let ptx = built.expect("it compiles").ptx;
    assert_eq!(ptx.matches("bar.sync").count(), 2, "{ptx}");
}

#[test]
fn a_kernel_that_unrolls_its_barriers_is_refused_until_it_says_so() {
    let kernel = |options: &str| {
        format!(
            "#[kernel(block = 64{options})]
            pub unsafe fn steps(data: ViewMut<'_, u32>) {{
                let cells = shared_array![u32; 64];
                let t = thread::thread_idx_x();
                cells.st(t, data.ld(t));
                let mut step = 32;
                while step > 0 {{
                    thread::sync_threads();
                    if t < step {{ cells.st(t, cells.ld(t) + cells.ld(t + step)); }}
                    step /= 2;
                }}
                if t == 0 {{ data.st(0, cells.ld(0)); }}
            }}"
        )
    };
    let Some(lints) = refused("unrolled", &kernel("")) else {
        return;
    };
    assert_eq!(
        rules(lints),
        [Rule::Barriers {
            expected: 1,
            found: 6
        }]
    );
    let built = build("unrolled", &kernel(", barriers = 6")).expect("the toolchain is there");
    assert_eq!(built.expect("it says so").kernels[0].barriers, 6);
}

#[test]
fn a_panicking_kernel_is_refused() {
    let body = "#[kernel(block = 64)]
        pub unsafe fn picks(data: ViewMut<'_, u32>, i: u32) {
            let table = [3u32, 1, 4, 1, 5];
            data.st(0, table[i as usize]);
        }";
    let Some(lints) = refused("panics", body) else {
        return;
    };
    let [lint] = &lints[..] else {
        panic!("{lints:?}")
    };
    let Rule::Panics { at, through } = &lint.rule else {
        panic!("{lint:?}")
    };
    assert_eq!((&*lint.kernel, &lint.place), ("picks", &Some(place(3, 23))));
    assert_eq!(*at, [place(5, 24)]);
    let message = lint.to_string();
    assert!(
        message.starts_with("src/lib.rs:3:23: `picks` can panic at src/lib.rs:5:24, through `"),
        "{message}"
    );
    assert!(
        through
            .iter()
            .any(|function| function.contains("panic_bounds_check")),
        "{through:?}"
    );
}

#[test]
fn double_precision_is_refused_unless_asked_for() {
    let kernel = |options: &str| {
        format!(
            "#[kernel(block = 64{options})]
            pub unsafe fn halves(data: ViewMut<'_, u32>) {{
                let t = thread::thread_idx_x();
                data.st(t, (f64::from(data.ld(t)) * 0.3) as u32);
            }}"
        )
    };
    let Some(lints) = refused("double", &kernel("")) else {
        return;
    };
    assert_eq!(rules(lints), [Rule::F64]);
    build("double", &kernel(", f64"))
        .expect("the toolchain is there")
        .expect("it asks for it");
}

#[test]
fn a_stack_in_local_memory_is_refused() {
    let body = "#[kernel(block = 64)]
        pub unsafe fn counts(data: ViewMut<'_, u32>) {
            let mut counts = [0u32; 64];
            let mut i = 0u32;
            while i < 1000 {
                counts[(data.ld(i) % 64) as usize] += 1;
                i += 1;
            }
            data.st(0, counts[(data.ld(1) % 64) as usize]);
        }";
    let Some(lints) = refused("stack", body) else {
        return;
    };
    assert_eq!(rules(lints), [Rule::Stack { bytes: 256 }]);
}

#[test]
fn two_builds_in_different_folders_are_identical() {
    let body = "#[kernel(block = 64)]
        pub unsafe fn sums(data: ViewMut<'_, u32>) {
            let cells = shared_array![u32; 64];
            let t = thread::thread_idx_x();
            cells.st(t, warp::warp_reduce_add(warp::FULL_MASK, data.ld(t)));
            thread::sync_threads();
            data.st(t, cells.ld(63 - t));
        }";
    let Some(first) = build("here", body) else {
        return;
    };
    let second = build("elsewhere/and/deeper", body).expect("the toolchain is there");
    let text = |built: Result<Built, Error>| {
        let ptx = built.expect("it compiles").ptx;
        // The header's hash is of the crate's folder name too.
        ptx.split_once(".version")
            .map(|(_, text)| text.to_owned())
            .expect("PTX")
    };
    assert_eq!(text(first), text(second));
}

#[test]
fn a_crate_without_kernels_is_an_error() {
    let Some(built) = build("empty", "pub fn nothing() {}") else {
        return;
    };
    assert!(matches!(built, Err(Error::NoKernels(_))), "{built:?}");
}

/// No crate here has `#![no_std]` or `#![feature(...)]`; one that has them compiles, too.
#[test]
fn a_crate_may_have_the_attributes_that_it_does_not_need() {
    let body = "#[kernel(block = 64)]
        pub unsafe fn ones(data: ViewMut<'_, u32>) {
            data.st(thread::thread_idx_x(), 1);
        }";
    let with_attributes = || {
        let dir = kernel_crate("attributes", body);
        let path = dir.join("src/lib.rs");
        let source = fs::read_to_string(&path).expect("written before");
        let attributes = "#![cfg_attr(target_arch = \"nvptx64\", no_std, feature(abi_ptx))]\n\
                          #![deny(warnings)]\n";
        fs::write(path, format!("{attributes}{source}")).expect("written");
        dir
    };
    let Some(built) = build_written(with_attributes) else {
        return;
    };
    assert_eq!(built.expect("it compiles").kernels.len(), 1);
}

#[test]
fn a_crate_that_needs_std_is_told_what_to_do() {
    let body = "pub fn now() -> std::time::Instant { std::time::Instant::now() }";
    let Some(built) = build("std", body) else {
        return;
    };
    let error = built.expect_err("there is no `std`");
    assert!(
        matches!(error, Error::Compile { hint: Some(_), .. }),
        "{error}"
    );
    let message = error.to_string();
    assert!(message.contains("src/lib.rs:2:"), "{message}");
    assert!(
        message.contains("\nhint: the device has no `std`: put `#[cfg("),
        "{message}"
    );
}

#[test]
fn a_calling_convention_written_by_hand_is_told_of_the_attribute() {
    let body = "pub extern \"ptx-kernel\" fn by_hand() {}";
    let Some(built) = build(
        "by_hand",
        &format!("#[cfg(target_arch = \"nvptx64\")] {body}"),
    ) else {
        return;
    };
    let message = built.expect_err("it is unstable").to_string();
    assert!(
        message.contains("mark kernels with `#[kernel]`"),
        "{message}"
    );
}

#[test]
fn a_slice_as_an_argument_is_a_compile_error_that_names_the_view() {
    let body = "#[kernel(block = 64)]
        pub unsafe fn takes(data: &[u32]) {}";
    let Some(built) = build("slice", body) else {
        return;
    };
    let message = built.expect_err("slices are refused").to_string();
    assert!(
        message.contains("a kernel can't take a slice: take a `View<'_, T>`"),
        "{message}"
    );
}

/// The code of a PTX: what comes after its entries' parameters.
fn code(ptx: &str) -> String {
    let bodies = ptx.split('{').skip(1);
    bodies.collect::<Vec<_>>().join("{")
}

#[test]
fn a_struct_of_views_is_read_where_it_is() {
    let body = "#[repr(C)]
        #[derive(Clone, Copy, Pod)]
        pub struct Extents { width: u32, height: u32, scale: [u16; 2] }

        #[repr(u32)]
        #[derive(Clone, Copy, PartialEq, Eq, KernelParam)]
        pub enum Order { Rows = 1, Columns = 2 }

        #[repr(C)]
        #[derive(Clone, Copy, KernelParam)]
        pub struct Output<'a, T: Pod> {
            values: ViewMut<'a, T>,
            count: ViewMut<'a, u32>,
            order: Order,
        }

        #[repr(C)]
        #[derive(Clone, Copy, KernelParam)]
        pub struct Problem<'a> {
            extents: Extents,
            order: Order,
            input: View<'a, u32>,
            output: Output<'a, u64>,
        }

        impl Problem<'_> {
            fn index(&self, x: u32, y: u32) -> u32 {
                let (line, place) = match self.order {
                    Order::Rows => (y, x),
                    Order::Columns => (x, y),
                };
                line * self.extents.width + place
            }
        }

        fn store(output: Output<'_, u64>, i: u32, value: u64) {
            output.values.st(i, value);
            output.count.atomic_add(0u32, if output.order == Order::Rows { 1 } else { 3 });
        }

        #[kernel(block = (32, 2))]
        pub unsafe fn reorders(problem: Problem<'_>, add: u32) {
            let (x, y) = (thread::thread_idx_x(), thread::block_idx_x());
            let i = problem.index(x, y);
            let value = problem.input.ld(i) + add + u32::from(problem.extents.scale[1]);
            store(problem.output, i, u64::from(value));
        }";
    let Some(built) = build("struct", body) else {
        return;
    };
    let built = built.expect("it compiles");
    assert_eq!(
        built.interface(),
        ["reorders(.param .align 8 .b8 reorders_param_0[72], .param .u32 reorders_param_1)"]
    );
    let code = code(&built.ptx);
    for instruction in ["ld.param", "ld.global.b32", "st.global.b64"] {
        assert!(code.contains(instruction), "no {instruction} in\n{code}");
    }
    for refused in [".local", "depot", "cvta", "ld.b", "st.b", "bra"] {
        assert!(!code.contains(refused), "{refused} in\n{code}");
    }
}

#[test]
fn a_block_may_be_a_constant() {
    let body = "pub mod sizes { pub const ROWS: u32 = 4; }
        use sizes::ROWS;
        pub const THREADS: u32 = 32 * ROWS;

        #[kernel(block = THREADS)]
        pub unsafe fn flat(data: ViewMut<'_, u32>) {
            data.st(thread::thread_idx_x(), 1);
        }

        #[kernel(block = (THREADS / ROWS, ROWS, 1 + 1), min_blocks = 2)]
        pub unsafe fn deep(data: ViewMut<'_, u32>) {
            data.st(thread::thread_idx_x(), 1);
        }";
    let Some(built) = build("constant", body) else {
        return;
    };
    let built = built.expect("it compiles");
    let blocks: Vec<_> = built
        .kernels
        .iter()
        .map(|kernel| (kernel.name.as_str(), kernel.block))
        .collect();
    assert_eq!(blocks, [("deep", [32, 4, 2]), ("flat", [128, 1, 1])]);
    for bounds in [".reqntid 32, 4, 2", ".reqntid 128, 1, 1", ".minnctapersm 2"] {
        assert!(built.ptx.contains(bounds), "no {bounds} in\n{}", built.ptx);
    }
}

/// The compiler's messages about `body`, which it refuses.
fn messages(name: &str, body: &str) -> Option<String> {
    build(name, body).map(|built| built.expect_err("it is refused").to_string())
}

#[test]
fn what_a_struct_may_not_hold_is_named() {
    let body = "pub struct Bare<'a> { data: View<'a, u32> }

        #[repr(C)]
        #[derive(Clone, Copy, KernelParam)]
        pub struct Problem<'a> { ok: View<'a, u32>, flag: bool }

        #[repr(C)]
        #[derive(Clone, Copy, KernelParam)]
        pub struct Generic<'a, T> { data: View<'a, T> }

        #[repr(u32)]
        #[derive(Clone, Copy, KernelParam)]
        pub enum Order { Rows, Columns }

        #[repr(C)]
        #[derive(Clone, Copy, Pod)]
        pub struct InMemory { order: Order }

        #[kernel(block = 64)]
        pub unsafe fn takes(bare: Bare<'_>) {}";
    let Some(messages) = messages("refused", body) else {
        return;
    };
    for message in [
        "`bool` can't be a kernel's parameter, nor a part of one",
        "a struct's type parameter needs a bound, such as `T: Pod` for a `View<'a, T>`",
        "`Order` is not plain data",
        "`Bare<'_>` can't be a kernel's parameter, nor a part of one",
    ] {
        assert!(messages.contains(message), "no {message} in\n{messages}");
    }
}

#[test]
fn a_block_that_can_not_be_is_refused() {
    let body = "const THREADS: u32 = 1025;
        #[kernel(block = THREADS)]
        pub unsafe fn wide(data: ViewMut<'_, u32>) {}";
    let Some(messages) = messages("too_wide", body) else {
        return;
    };
    let message = "a block has 1 to 1024 threads, and at most 64 along z";
    assert!(messages.contains(message), "{messages}");
}
