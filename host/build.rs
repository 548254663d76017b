//! Lets the linker answer `cust`'s `-lcuda` from `cuda-stub/`, also in crates that depend on this one.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_CUDA").is_some() {
        let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
        println!("cargo:rustc-link-search=native={root}/cuda-stub/lib64");
        // The tests link all of `cust` that they reach into, unused functions too: a driver function that `cust` calls
        // and `src/cuda/driver_symbols.rs` lacks must not slip through.
        println!("cargo:rustc-link-arg-tests=-Wl,--no-gc-sections");
    }
}
