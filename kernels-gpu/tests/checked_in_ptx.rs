//! The checked-in PTX belongs to the sources beside it. Needs no device toolchain.

use std::path::Path;

use cuda_builder::{Header, interface};

#[test]
fn the_ptx_is_of_these_sources() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = [
        here.to_owned(),
        here.join("../cuda/std"),
        here.join("../cuda/macros"),
    ];
    let header = Header::parse(trazar_kernels::PTX).expect("a header");
    let expected = header.hash_of(&sources).expect("readable sources");
    assert_eq!(
        header.source_hash, expected,
        "the PTX is older than the kernels' sources, or than what builds it: run `cargo kernels`"
    );
}

#[test]
fn the_header_is_whole() {
    let header = trazar_kernels::header();
    let parsed = Header::parse(trazar_kernels::PTX).expect("a header");
    assert_eq!(
        (header.source_hash, header.rustc, header.llvm, header.target),
        (
            &*parsed.source_hash,
            &*parsed.rustc,
            &*parsed.llvm,
            &*parsed.target
        )
    );
    assert_eq!(header.target, "nvptx64-nvidia-cuda sm_75");
}

/// What the launcher passes is what the PTX takes.
#[test]
fn the_launcher_and_the_ptx_agree_on_the_parameters() {
    use trazar_kernels::primitives::scan::{scan_exclusive, scan_init};
    let in_ptx = interface(trazar_kernels::PTX);
    for spec in [&scan_exclusive::SPEC, &scan_init::SPEC] {
        let line = in_ptx
            .iter()
            .find(|line| line.starts_with(&format!("{}(", spec.name)))
            .expect("in the PTX");
        assert_eq!(line.matches(".param").count(), spec.params.len(), "{line}");
        for (param, declared) in spec.params.iter().zip(line.split(", ")) {
            let size = if declared.contains(".b8") {
                let (_, size) = declared.rsplit_once('[').expect("an array");
                size.trim_end_matches([']', ')']).parse().expect("a size")
            } else if declared.contains(".u32") {
                4
            } else {
                8
            };
            assert_eq!(param.size, size, "{}: {declared}", param.name);
        }
    }
}
