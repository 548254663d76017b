//! [`Backend`]: what runs the work.

use crate::error::{Error, Result};

/// What runs the work. Every backend gives the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// This machine's processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// The GPU's kernels on this machine's processor, with every memory access checked. It tests
    /// kernels on machines without a GPU, and is many thousand times slower than one.
    Emulator,
}

impl Backend {
    /// The name of the backend on the command line, where it is called the device.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Emulator => "emulator",
        }
    }

    /// Refuses to run the algorithm `name`, which does the work `job`, unless this backend is one
    /// of the `backends` that run it. `others` are the algorithms that this backend runs.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(crate) fn check_runs(
        self,
        job: &str,
        name: &str,
        backends: &[Self],
        others: &[&str],
    ) -> Result<()> {
        if backends.contains(&self) {
            return Ok(());
        }
        let names: Vec<_> = backends.iter().map(|backend| backend.name()).collect();
        Err(Error::Unavailable(format!(
            "the {job} algorithm `{name}` runs on the device {}; {} has {}",
            names.join(" or "),
            self.name(),
            others.join(" and ")
        )))
    }
}
