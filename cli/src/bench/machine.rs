//! The machine that was measured.

use serde::{Deserialize, Serialize};

use super::devices::Devices;
use crate::info;

/// What the times depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Machine {
    /// The processor's name, or its architecture where the system does not tell.
    pub(super) processor: String,
    pub(super) cores: usize,
    pub(super) system: String,
    /// The first GPU with the driver's version, or `none`.
    pub(super) gpu: String,
}

impl Machine {
    /// This machine.
    pub(super) fn this(devices: &Devices) -> Self {
        Self {
            processor: processor().unwrap_or_else(|| std::env::consts::ARCH.into()),
            cores: devices.cores,
            system: std::env::consts::OS.into(),
            gpu: info::first_gpu().unwrap_or_else(|| "none".into()),
        }
    }

    /// A line about the processor, and one about the GPU.
    pub(super) fn lines(&self) -> Vec<String> {
        let cores = crate::facts::count(self.cores as u64, "core", "cores");
        vec![
            format!("{}, {cores}, {}", self.processor, self.system),
            format!("GPU: {}", self.gpu),
        ]
    }
}

/// The processor's name.
#[cfg(target_os = "linux")]
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(target_os = "macos")]
fn processor() -> Option<String> {
    let args = ["-n", "machdep.cpu.brand_string"];
    let said = std::process::Command::new("/usr/sbin/sysctl")
        .args(args)
        .output()
        .ok()?;
    let name = String::from_utf8(said.stdout).ok()?;
    (!name.trim().is_empty()).then(|| name.trim().to_owned())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn processor() -> Option<String> {
    std::env::var("PROCESSOR_IDENTIFIER").ok()
}

/// The time, in UTC.
pub(super) fn now() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}
