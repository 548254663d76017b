//! Asks NVIDIA's assembler, where it is installed, what a kernel needs on each GPU.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::run_both;
use crate::{Arch, Error};

/// The GPUs that kernels are assembled for: Turing, Ampere, Hopper, Blackwell.
pub const TARGETS: [Arch; 4] = [Arch(75), Arch(80), Arch(90), Arch(120)];

/// What a kernel needs on one GPU, per thread unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// The GPU, such as `sm_90`.
    pub target: String,
    /// Registers of 32 bits.
    pub registers: u32,
    /// Bytes of registers written to local memory.
    pub spill_stores: u32,
    /// Bytes of registers read back from local memory.
    pub spill_loads: u32,
    /// Bytes of stack in local memory.
    pub stack: u32,
    /// Bytes of static shared memory, per block.
    pub shared: u32,
}

/// The assembler: the program that the variable `TRAZAR_PTXAS` names, or `ptxas` in `PATH`.
///
/// `pip install nvidia-cuda-nvcc` has it too, in `nvidia/cu13/bin`.
#[must_use]
pub fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("TRAZAR_PTXAS") {
        return Some(named.into());
    }
    let name = format!("ptxas{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(&name))
        .find(|program| program.is_file())
}

/// Assembles `ptx` for `target` and returns each kernel's needs.
pub(crate) fn resources(
    ptxas: &Path,
    ptx: &Path,
    target: Arch,
) -> Result<BTreeMap<String, Resources>, Error> {
    let output = ptx.with_extension(format!("{target}.cubin"));
    let mut command = Command::new(ptxas);
    command
        .arg("-v")
        .arg(format!("-arch={target}"))
        .arg(ptx)
        .arg("-o")
        .arg(&output);
    let (_, report) = run_both(&mut command)?;
    Ok(parse(&report))
}

/// Reads `ptxas -v`'s report.
fn parse(report: &str) -> BTreeMap<String, Resources> {
    let mut kernels = BTreeMap::new();
    let mut current: Option<&mut Resources> = None;
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let mut parts = rest.split('\'');
            let (name, target) = (
                parts.next().unwrap_or_default(),
                parts.nth(1).unwrap_or_default(),
            );
            let resources = kernels
                .entry(name.to_owned())
                .or_insert_with(Resources::default);
            target.clone_into(&mut resources.target);
            current = Some(resources);
        } else if let Some(resources) = current.as_deref_mut() {
            let amount = |unit: &str| {
                let (before, _) = line.split_once(unit)?;
                before
                    .rsplit(|c: char| !c.is_ascii_digit())
                    .find(|digits| !digits.is_empty())?
                    .parse()
                    .ok()
            };
            if let (Some(stack), Some(stores), Some(loads)) = (
                amount(" bytes stack frame"),
                amount(" bytes spill stores"),
                amount(" bytes spill loads"),
            ) {
                (
                    resources.stack,
                    resources.spill_stores,
                    resources.spill_loads,
                ) = (stack, stores, loads);
            }
            if let Some(registers) = amount(" registers") {
                resources.registers = registers;
                resources.shared = amount(" bytes smem").unwrap_or(0);
            }
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let report = "\
ptxas info    : Compiling entry function 'scan' for 'sm_90'
ptxas info    : Function properties for scan
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 34 registers, used 1 barriers, 1056 bytes smem, 400 bytes cmem[0]
";
        let expected = Resources {
            target: "sm_90".into(),
            registers: 34,
            spill_stores: 8,
            spill_loads: 12,
            stack: 16,
            shared: 1056,
        };
        assert_eq!(parse(report)["scan"], expected);
    }
}
