//! `trazar info`.

use std::io::Write;

use serde_json::{Value, json};
use trazar::route::RouteAlgorithm;
use trazar::{Backend, LabelAlgorithm, TraceAlgorithm};

use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::stdout;

pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let architecture = std::env::consts::ARCH;
    let trace = |device| names(TraceAlgorithm::on(device), TraceAlgorithm::name);
    let label = |device| names(LabelAlgorithm::on(device), LabelAlgorithm::name);
    let route = |device| names(RouteAlgorithm::on(device), RouteAlgorithm::name);
    let algorithms =
        |device| json!({ "trace": trace(device), "label": label(device), "route": route(device) });
    let all = |device| {
        format!(
            "trace: {}; label: {}; route: {}",
            trace(device).join(", "),
            label(device).join(", "),
            route(device).join(", ")
        )
    };
    let gpus = gpu::gpus();
    let auto = match &gpus {
        Ok(gpus) if !gpus.is_empty() => &[Backend::Cpu, Backend::Cuda][..],
        _ => &[Backend::Cpu],
    };
    let auto: Vec<&str> = auto.iter().map(|device| device.name()).collect();
    let mut out = Vec::new();
    if args.json {
        let mut devices = vec![json!({
            "name": Backend::Cpu.name(),
            "threads": threads,
            "architecture": architecture,
            "algorithms": algorithms(Backend::Cpu),
        })];
        if let Ok(gpus) = &gpus {
            devices.extend(gpus.iter().map(|gpu| {
                let mut gpu = gpu.clone();
                gpu["algorithms"] = algorithms(Backend::Cuda);
                gpu
            }));
        }
        devices.push(json!({
            "name": Backend::Emulator.name(),
            "algorithms": algorithms(Backend::Emulator),
        }));
        let info = json!({
            "version": version,
            "auto": auto,
            "devices": devices,
            "no_gpu": gpus.err(),
            "kernels": gpu::kernels(),
        });
        writeln!(out, "{info}")?;
    } else {
        writeln!(out, "trazar {version}")?;
        match auto.as_slice() {
            [only] => writeln!(out, "auto is {only}")?,
            auto => writeln!(out, "auto is {}, by job and size", auto.join(" or "))?,
        }
        writeln!(
            out,
            "cpu: {threads} threads, {architecture}; {}",
            all(Backend::Cpu)
        )?;
        match gpus {
            Ok(gpus) => {
                for gpu in gpus {
                    writeln!(
                        out,
                        "cuda {}: {}, compute capability {}, {:.1} GiB, CUDA {}; {}",
                        gpu["index"],
                        text(&gpu["gpu"]),
                        text(&gpu["compute_capability"]),
                        gpu["memory"].as_f64().unwrap_or(0.0) / f64::from(1 << 30),
                        text(&gpu["driver"]),
                        all(Backend::Cuda)
                    )?;
                }
            }
            Err(reason) => writeln!(out, "cuda: none: {reason}")?,
        }
        writeln!(
            out,
            "emulator: the GPU's kernels on the processor, checked; {}",
            all(Backend::Emulator)
        )?;
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
    }
    Ok(stdout::write(out)?)
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
