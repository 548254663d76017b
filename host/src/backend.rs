//! [`Backend`]: the device that runs the work.

use crate::error::{Result, Unavailable};
use crate::options::names;

/// The device that runs the work. Every backend gives the same results.
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

names! { Backend, "device" {
    Cpu => "cpu",
    Cuda => "cuda",
    Emulator => "emulator",
} }

impl Backend {
    /// Refuses to run `algorithm`, which does the work `job`, unless this backend is in `runs_on`.
    /// `instead` are the algorithms that this backend runs.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable).
    pub(crate) fn check_runs(
        self,
        job: &'static str,
        algorithm: &'static str,
        runs_on: &'static [Self],
        instead: impl Iterator<Item = &'static str>,
    ) -> Result<()> {
        if runs_on.contains(&self) {
            return Ok(());
        }
        Err(Unavailable::Algorithm {
            job,
            algorithm,
            backend: self,
            runs_on,
            instead: instead.collect(),
        }
        .into())
    }
}
