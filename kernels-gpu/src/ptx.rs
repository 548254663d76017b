//! The checked-in PTX. Host only.

/// The kernels as PTX, for compute capability 7.5 and up.
pub const PTX: &str = include_str!("../ptx/trazar_sm_75.ptx");

/// The origin of a PTX file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxHeader {
    /// SHA-256 of the sources of the kernels and of the device library, in hexadecimal.
    pub source_hash: &'static str,
    /// The compiler's version, such as `1.96.0`.
    pub rustc: &'static str,
    /// The version of LLVM's tools, such as `22.1.8`.
    pub llvm: &'static str,
    /// The target, such as `nvptx64-nvidia-cuda sm_75`.
    pub target: &'static str,
}

/// The header of [`PTX`]. Fields that the file does not have are empty.
#[must_use]
pub fn header() -> PtxHeader {
    let field = |prefix: &str| {
        PTX.lines()
            .take(5)
            .find_map(|line| line.strip_prefix(prefix))
            .unwrap_or_default()
    };
    PtxHeader {
        source_hash: field("// source-hash: "),
        rustc: field("// rustc: "),
        llvm: field("// llvm: "),
        target: field("// target: "),
    }
}
