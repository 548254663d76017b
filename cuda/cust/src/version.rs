//! Versions: of drivers, of the PTX language, and of GPUs.

use std::fmt;

/// The highest CUDA version that a driver supports, such as 12.4. It limits the PTX that the driver
/// can compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriverVersion {
    /// 12 in 12.4.
    pub major: u32,
    /// 4 in 12.4.
    pub minor: u32,
}

impl DriverVersion {
    /// From the driver's own form: 12040 is 12.4.
    pub(crate) fn from_raw(raw: i32) -> Self {
        let raw = raw.unsigned_abs();
        Self {
            major: raw / 1000,
            minor: raw % 1000 / 10,
        }
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A version of the PTX language, such as 8.7: a PTX text's `.version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PtxVersion {
    /// 8 in 8.7.
    pub major: u32,
    /// 7 in 8.7.
    pub minor: u32,
}

impl PtxVersion {
    /// The first CUDA version whose driver compiles this PTX, by the release notes of the PTX
    /// manual; `None` for a version that is not known here.
    pub fn first_driver(self) -> Option<DriverVersion> {
        let (major, minor) = match (self.major, self.minor) {
            (6, 3..=5) => (10, self.minor - 3),
            (7, 0..=8) => (11, self.minor),
            (8, 0..=5) => (12, self.minor),
            // CUDA 12.6 brought no new PTX of its own.
            (8, 6..=8) => (12, self.minor + 1),
            (9, minor) => (13, minor),
            _ => return None,
        };
        Some(DriverVersion { major, minor })
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A GPU's architecture version, such as 9.0. Code for one version runs on higher ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// 9 in 9.0.
    pub major: u32,
    /// 0 in 9.0.
    pub minor: u32,
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_as_nvidia_writes_them() {
        assert_eq!(DriverVersion::from_raw(12040).to_string(), "12.4");
        assert_eq!(DriverVersion::from_raw(13000).to_string(), "13.0");
        assert!(DriverVersion::from_raw(11080) < DriverVersion::from_raw(12000));
    }

    #[test]
    fn drivers() {
        let first = |major, minor| {
            PtxVersion { major, minor }
                .first_driver()
                .map(|d| d.to_string())
        };
        assert_eq!(first(6, 4).as_deref(), Some("10.1"));
        assert_eq!(first(7, 8).as_deref(), Some("11.8"));
        assert_eq!(first(8, 5).as_deref(), Some("12.5"));
        assert_eq!(first(8, 7).as_deref(), Some("12.8"));
        assert_eq!(first(9, 0).as_deref(), Some("13.0"));
        assert_eq!(first(42, 0), None);
    }
}
