//! How a job runs, and what it says.

use std::num::NonZeroU32;

use clap::ValueEnum;

use crate::failure::Failure;
use crate::stdout;

/// How to run, and what to say.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Where to run
    #[arg(long, value_name = "D", default_value = "auto")]
    pub(crate) device: Device,

    /// Seed of the order in which the emulator runs threads [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Run the work N times and report the fastest, for measuring
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) repeat: NonZeroU32,

    /// Print the summary as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing but errors (and the summary that --json asks for)
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Where to run.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Device {
    /// A GPU if there is one that has the algorithm and is faster for a job of this kind and size;
    /// otherwise the processor
    Auto,
    /// This machine's processor
    Cpu,
    /// The first NVIDIA GPU
    Cuda,
    /// The GPU's kernels on the processor, checked and slow: for small images
    Emulator,
}

impl RunArgs {
    /// Refuses options that do not go together.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.seed.is_some() && self.device != Device::Emulator {
            return Err(Failure::usage(
                "--seed is the emulator's: use it with --device emulator",
            ));
        }
        if self.json {
            // A standard output that is closed is an error before any work.
            stdout::open()?;
        }
        Ok(())
    }
}
