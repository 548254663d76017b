//! How a job runs, and what it says.

use std::ffi::OsStr;
use std::num::NonZeroU32;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Command, ValueEnum};

use crate::failure::Failure;
use crate::stdout;

/// How to run, and what to say.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Where to run
    #[arg(long, value_name = "D", default_value = "auto", value_parser = DeviceParser)]
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
    /// The first NVIDIA GPU; cuda:N is the one with the number N, from 0
    Cuda,
    /// All NVIDIA GPUs together, for labels, and for contours with --memory
    #[value(name = "cuda:all")]
    CudaAll,
    /// The NVIDIA GPU with that number.
    #[value(skip)]
    CudaNumber(u32),
    /// The GPU's kernels on the processor, checked and slow: for small images
    Emulator,
}

/// Reads a device: one of the listed values, or `cuda:N`.
#[derive(Clone)]
struct DeviceParser;

impl TypedValueParser for DeviceParser {
    type Value = Device;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Device, clap::Error> {
        let number = value.to_str().and_then(|text| text.strip_prefix("cuda:"));
        let digits = number.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        match digits.and_then(|digits| digits.parse().ok()) {
            Some(number) => Ok(Device::CudaNumber(number)),
            None => EnumValueParser::new().parse_ref(command, arg, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = Device::value_variants().iter();
        Some(Box::new(values.filter_map(Device::to_possible_value)))
    }
}

impl RunArgs {
    /// Refuses several GPUs, for a job that runs on one.
    pub(crate) fn check_one_gpu(&self, job: &str) -> Result<(), Failure> {
        if self.device == Device::CudaAll {
            return Err(Failure::usage(format!(
                "--device cuda:all is for label, and for trace with --memory: {job} runs on one \
                 GPU, cuda or cuda:N"
            )));
        }
        Ok(())
    }

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
