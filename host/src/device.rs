//! [`Device`]: where the work is done.

use crate::error::{Error, Result};

/// A place to run the work on. All give the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// This machine's processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// The GPU's kernels on this machine's processor, checked access by access: to see whether they are right where there is no
    /// GPU. Many thousand times slower than one.
    Emulator,
}

impl Device {
    /// The device's name, as the command takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Emulator => "emulator",
        }
    }

    /// Refuses to run the algorithm `name`, which is for `job`, unless this is one of its `devices`; `others` are those that
    /// this one runs.
    pub(crate) fn check_runs(
        self,
        job: &str,
        name: &str,
        devices: &[Self],
        others: &[&str],
    ) -> Result<()> {
        if devices.contains(&self) {
            return Ok(());
        }
        let devices: Vec<_> = devices.iter().map(|device| device.name()).collect();
        Err(Error::Unavailable(format!(
            "the {job} algorithm `{name}` runs on the device {}; {} has {}",
            devices.join(" or "),
            self.name(),
            others.join(" and ")
        )))
    }
}
