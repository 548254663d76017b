//! The comment at the head of a PTX file: what it was built from, and with what.

use std::path::PathBuf;

use crate::{Arch, Error, Toolchain};

/// What a PTX file says about its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Hash of everything that determines the PTX, see [`hash_of`](Self::hash_of).
    pub source_hash: String,
    /// The compiler's version.
    pub rustc: String,
    /// The version of LLVM's tools.
    pub llvm: String,
    /// The target, such as `nvptx64-nvidia-cuda sm_75`.
    pub target: String,
}

const FIELDS: [&str; 4] = ["// source-hash: ", "// rustc: ", "// llvm: ", "// target: "];

impl Header {
    /// The header of a PTX file built from these crates.
    pub(crate) fn new(
        crates: &[PathBuf],
        toolchain: &Toolchain,
        arch: Arch,
    ) -> Result<Self, Error> {
        let mut header = Self {
            source_hash: String::new(),
            rustc: toolchain.rustc_version.clone(),
            llvm: toolchain.llvm_version.clone(),
            target: format!("{} {arch}", crate::cargo::TARGET),
        };
        header.source_hash = header.hash_of(crates)?;
        Ok(header)
    }

    /// Reads the header of a PTX file.
    ///
    /// # Errors
    ///
    /// [`Error::Header`] if a line of it is missing.
    pub fn parse(ptx: &str) -> Result<Self, Error> {
        let field = |prefix: &str| {
            let line = ptx
                .lines()
                .take(FIELDS.len() + 1)
                .find_map(|line| line.strip_prefix(prefix));
            line.map(str::to_owned)
                .ok_or_else(|| Error::Header(format!("no line starts with `{}`", prefix.trim())))
        };
        let [source_hash, rustc, llvm, target] = FIELDS.map(field);
        Ok(Self {
            source_hash: source_hash?,
            rustc: rustc?,
            llvm: llvm?,
            target: target?,
        })
    }

    /// Whether two files were built with the same compiler for the same target, and so can be
    /// compared byte by byte.
    #[must_use]
    pub fn same_tools(&self, other: &Self) -> bool {
        (&self.rustc, &self.llvm, &self.target) == (&other.rustc, &other.llvm, &other.target)
    }
}

impl std::fmt::Display for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "// Built from Rust by cuda_builder; don't edit.")?;
        let values = [&self.source_hash, &self.rustc, &self.llvm, &self.target];
        for (prefix, value) in FIELDS.iter().zip(values) {
            writeln!(f, "{prefix}{value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_back() {
        let header = Header {
            source_hash: "12ab".into(),
            rustc: "1.96.0".into(),
            llvm: "22.1.8".into(),
            target: "nvptx64-nvidia-cuda sm_75".into(),
        };
        assert_eq!(
            Header::parse(&format!("{header}.version 6.3\n")).expect("well-formed"),
            header
        );
        assert!(Header::parse(".version 6.3\n").is_err());
    }
}
