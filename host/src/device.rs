//! [`Device`]: what runs the work.

use crate::error::{Error, Result};

/// What runs the work. Every device gives the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// This machine's processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// The GPU's kernels on this machine's processor, with every memory access checked. It tests
    /// kernels on machines without a GPU, and is many thousand times slower than one.
    Emulator,
}

impl Device {
    /// The device's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Emulator => "emulator",
        }
    }

    /// Refuses to run the algorithm `name`, which does the work `job`, unless this device is one of
    /// the `devices` that run it. `others` are the algorithms that this device runs.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
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
