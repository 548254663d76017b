//! Files for tests.

use std::io::Write;

use tempfile::NamedTempFile;

/// A file that holds `bytes`.
pub(super) fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}
