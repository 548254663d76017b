//! `trazar info`.

use std::fmt;
use std::io::{self, Write};

use serde_json::{Value, json};
use trazar::distance::DistanceAlgorithm;
use trazar::route::RouteAlgorithm;
use trazar::{Backend, LabelAlgorithm, TraceAlgorithm};

use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::stdout;

pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let info = Info::gather();
    let mut out = Vec::new();
    if args.json {
        writeln!(out, "{}", info.json())?;
    } else {
        info.write_text(&mut out)?;
    }
    Ok(stdout::write(out)?)
}

/// The first GPU with the driver's version, if there is one.
pub(crate) fn first_gpu() -> Option<String> {
    let gpus = gpu::gpus().ok()?;
    let gpu = gpus.first()?;
    Some(format!(
        "{}, CUDA {}",
        text(&gpu["gpu"]),
        text(&gpu["driver"])
    ))
}

/// What the command reports.
struct Info {
    version: &'static str,
    threads: usize,
    architecture: &'static str,
    /// All GPUs, or why there are none.
    gpus: Result<Vec<Value>, String>,
    /// Names of the devices among which `auto` chooses.
    auto: Vec<&'static str>,
}

impl Info {
    /// The report on this machine and build.
    fn gather() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let gpus = gpu::gpus();
        let auto = match &gpus {
            Ok(gpus) if !gpus.is_empty() => &[Backend::Cpu, Backend::Cuda][..],
            _ => &[Backend::Cpu],
        };
        let auto = auto.iter().map(|device| device.name()).collect();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            threads,
            architecture: std::env::consts::ARCH,
            gpus,
            auto,
        }
    }

    /// The report as one JSON object.
    fn json(&self) -> Value {
        json!({
            "version": self.version,
            "auto": self.auto,
            "devices": self.devices(),
            "no_gpu": self.gpus.as_ref().err(),
            "kernels": gpu::kernels(),
        })
    }

    /// The processor, each GPU and the emulator as JSON objects.
    fn devices(&self) -> Vec<Value> {
        let mut devices = vec![json!({
            "name": Backend::Cpu.name(),
            "threads": self.threads,
            "architecture": self.architecture,
            "algorithms": Algorithms::on(Backend::Cpu).json(),
        })];
        if let Ok(gpus) = &self.gpus {
            devices.extend(gpus.iter().map(|gpu| {
                let mut gpu = gpu.clone();
                gpu["algorithms"] = Algorithms::on(Backend::Cuda).json();
                gpu
            }));
        }
        devices.push(json!({
            "name": Backend::Emulator.name(),
            "algorithms": Algorithms::on(Backend::Emulator).json(),
        }));
        devices
    }

    /// Writes the report as lines of text.
    fn write_text(&self, out: &mut Vec<u8>) -> io::Result<()> {
        writeln!(out, "trazar {}", self.version)?;
        match self.auto.as_slice() {
            [only] => writeln!(out, "auto is {only}")?,
            auto => writeln!(out, "auto is {}, by job and size", auto.join(" or "))?,
        }
        writeln!(
            out,
            "cpu: {} threads, {}; {}",
            self.threads,
            self.architecture,
            Algorithms::on(Backend::Cpu)
        )?;
        self.write_gpus(out)?;
        writeln!(
            out,
            "emulator: the GPU's kernels on the processor, checked; {}",
            Algorithms::on(Backend::Emulator)
        )?;
        write_kernels(out)
    }

    /// Writes a line per GPU, or why there are none.
    fn write_gpus(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let gpus = match &self.gpus {
            Ok(gpus) => gpus,
            Err(reason) => return writeln!(out, "cuda: none: {reason}"),
        };
        for gpu in gpus {
            writeln!(
                out,
                "cuda {}: {}, compute capability {}, {:.1} GiB, CUDA {}; {}",
                gpu["index"],
                text(&gpu["gpu"]),
                text(&gpu["compute_capability"]),
                gpu["memory"].as_f64().unwrap_or(0.0) / f64::from(1 << 30),
                text(&gpu["driver"]),
                Algorithms::on(Backend::Cuda)
            )?;
        }
        Ok(())
    }
}

/// Writes the line about the kernels of this build, if it has any.
fn write_kernels(out: &mut Vec<u8>) -> io::Result<()> {
    if let Value::Object(kernels) = gpu::kernels() {
        writeln!(
            out,
            "kernels: {}, PTX {}, rustc {}, LLVM {}, sources {}",
            text(&kernels["target"]),
            text(&kernels["ptx"]),
            text(&kernels["rustc"]),
            text(&kernels["llvm"]),
            text(&kernels["source_hash"])
        )?;
    }
    Ok(())
}

/// Names of the algorithms that a device runs, per job.
struct Algorithms {
    trace: Vec<&'static str>,
    label: Vec<&'static str>,
    route: Vec<&'static str>,
    distance: Vec<&'static str>,
}

impl Algorithms {
    /// The algorithms of a device.
    fn on(device: Backend) -> Self {
        Self {
            trace: names(TraceAlgorithm::on(device), TraceAlgorithm::name),
            label: names(LabelAlgorithm::on(device), LabelAlgorithm::name),
            route: names(RouteAlgorithm::on(device), RouteAlgorithm::name),
            distance: names(DistanceAlgorithm::on(device), DistanceAlgorithm::name),
        }
    }

    /// The names as a JSON object of lists.
    fn json(&self) -> Value {
        json!({
            "trace": self.trace,
            "label": self.label,
            "route": self.route,
            "distance": self.distance,
        })
    }
}

impl fmt::Display for Algorithms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "trace: {}; label: {}; route: {}",
            self.trace.join(", "),
            self.label.join(", "),
            self.route.join(", ")
        )?;
        match self.distance.is_empty() {
            true => Ok(()),
            false => write!(f, "; distance: {}", self.distance.join(", ")),
        }
    }
}

/// The names of algorithms.
fn names<A: Copy>(algorithms: &[A], name: fn(A) -> &'static str) -> Vec<&'static str> {
    algorithms
        .iter()
        .map(|&algorithm| name(algorithm))
        .collect()
}

/// A JSON string without its quotes.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}

/// GPUs and kernels, on systems that have a driver.
#[cfg(not(target_os = "macos"))]
mod gpu {
    use serde_json::{Value, json};
    use trazar::cuda::{DeviceInfo, PtxHeader, kernels};

    /// All GPUs, or why there are none.
    pub(super) fn gpus() -> Result<Vec<Value>, String> {
        let gpus = DeviceInfo::all().map_err(|error| error.to_string())?;
        let describe = |gpu: &DeviceInfo| {
            json!({
                "name": "cuda",
                "index": gpu.index,
                "gpu": gpu.name,
                "compute_capability": gpu.compute_capability.to_string(),
                "memory": gpu.total_memory,
                "multiprocessors": gpu.multiprocessors,
                "driver": gpu.driver.to_string(),
            })
        };
        Ok(gpus.iter().map(describe).collect())
    }

    /// The tools and sources that built the kernels.
    pub(super) fn kernels() -> Value {
        let origin = kernels::header();
        json!({
            "target": origin.target,
            "ptx": PtxHeader::parse(kernels::PTX).map(|ptx| ptx.version.to_string()),
            "rustc": origin.rustc,
            "llvm": origin.llvm,
            "source_hash": origin.source_hash,
        })
    }
}

/// This build does not use GPUs.
#[cfg(target_os = "macos")]
mod gpu {
    use serde_json::Value;

    pub(super) fn gpus() -> Result<Vec<Value>, String> {
        Err("this build does not use GPUs".into())
    }

    pub(super) fn kernels() -> Value {
        Value::Null
    }
}
