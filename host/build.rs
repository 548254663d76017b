//! Lets the linker find the library for `cust`'s `-lcuda` in `cuda-stub/`, also in crates that
//! depend on this one.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_CUDA").is_some() {
        let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
        println!("cargo:rustc-link-search=native={root}/cuda-stub/lib64");
        // Without this, the linker drops unused functions of `cust` from the tests, and with them
        // driver functions that they call and `src/cuda/driver_symbols.rs` lacks.
        println!("cargo:rustc-link-arg-tests=-Wl,--no-gc-sections");
    }
}
