//! The resources of kernels on each GPU, from NVIDIA's assembler where it is installed.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::run_both;
use crate::{Arch, Error, Occupancy};

/// The GPUs that kernels are assembled for, unless
/// [`CudaBuilder::assemble_for`](crate::CudaBuilder::assemble_for) says otherwise: Turing, Ampere,
/// Hopper, Blackwell.
pub const TARGETS: [Arch; 4] = [Arch(75), Arch(80), Arch(90), Arch(120)];

/// The resources of a kernel on one GPU, per thread unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// The GPU, such as `sm_90`.
    pub target: String,
    /// Registers of 32 bits.
    pub registers: u32,
    /// Bytes of registers written to local memory, also by the functions that the kernel calls.
    pub spill_stores: u32,
    /// Bytes of registers read back from local memory, also by the functions that it calls.
    pub spill_loads: u32,
    /// Bytes of stack in local memory, with the functions that it calls.
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

impl Resources {
    /// How much of a multiprocessor blocks of `threads` threads and `dynamic_shared` bytes of
    /// dynamic shared memory fill; `None` for a GPU whose limits are not known here.
    #[must_use]
    pub fn occupancy(&self, threads: u32, dynamic_shared: u32) -> Option<Occupancy> {
        let arch = self.target.parse().ok()?;
        let shared = self.shared.saturating_add(dynamic_shared);
        Occupancy::new(arch, threads, self.registers, shared)
    }
}

/// The assembler's report on the functions of a PTX, kernels and others, by name.
pub(crate) struct Report(BTreeMap<String, Resources>);

impl Report {
    /// The resources of a kernel that calls `functions`, directly or not; these may include the
    /// kernel itself.
    pub(crate) fn of<'a>(
        &self,
        kernel: &str,
        functions: impl Iterator<Item = &'a str>,
    ) -> Resources {
        let mut needs = self.0.get(kernel).cloned().unwrap_or_default();
        let called = functions.filter(|&name| name != kernel);
        for function in called.filter_map(|name| self.0.get(name)) {
            needs.spill_stores += function.spill_stores;
            needs.spill_loads += function.spill_loads;
        }
        needs
    }
}

/// Assembles `ptx` for `target` and returns the resources of its functions.
pub(crate) fn assemble(ptxas: &Path, ptx: &Path, target: Arch) -> Result<Report, Error> {
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
fn parse(report: &str) -> Report {
    let mut functions = BTreeMap::<String, Resources>::new();
    // The kernel that is compiled, for which GPU, and the function whose properties come next:
    // functions that are called have theirs after the kernel's.
    let mut kernel = "";
    let mut target = "";
    let mut function = "";
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let mut parts = rest.split('\'');
            kernel = parts.next().unwrap_or_default();
            target = parts.nth(1).unwrap_or_default();
            continue;
        }
        if let Some((_, name)) = line.split_once("Function properties for ") {
            function = name.trim();
            continue;
        }
        if let Some([stack, stores, loads]) = amounts(
            line,
            [
                " bytes stack frame",
                " bytes spill stores",
                " bytes spill loads",
            ],
        ) {
            let resources = functions.entry(function.to_owned()).or_default();
            (
                resources.stack,
                resources.spill_stores,
                resources.spill_loads,
            ) = (stack, stores, loads);
        }
        if let Some([registers]) = amounts(line, [" registers"]) {
            let resources = functions.entry(kernel.to_owned()).or_default();
            target.clone_into(&mut resources.target);
            resources.registers = registers;
            resources.shared = amounts(line, [" bytes smem"]).map_or(0, |[bytes]| bytes);
            if let Some([stack]) = amounts(line, [" bytes cumulative stack size"]) {
                resources.stack = stack;
            }
        }
    }
    Report(functions)
}

/// The numbers before `units` in a line that has all of them.
fn amounts<const N: usize>(line: &str, units: [&str; N]) -> Option<[u32; N]> {
    let mut amounts = [0; N];
    for (amount, unit) in amounts.iter_mut().zip(units) {
        let (before, _) = line.split_once(unit)?;
        let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        *amount = digits.parse().ok()?;
    }
    Some(amounts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(report: &Report, name: &str) -> Resources {
        report.of(name, [name].into_iter())
    }

    /// What ptxas of CUDA 13.5 wrote about two kernels, one of them with too few registers.
    #[test]
    fn a_report_is_read() {
        let report = parse(
            "\
ptxas info    : 0 bytes gmem, 80 bytes cmem[4]
ptxas info    : Compiling entry function 'scan_init' for 'sm_90'
ptxas info    : Function properties for scan_init
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 6 registers, used 0 barriers
ptxas info    : Compile time = 1.963 ms
ptxas info    : Compiling entry function 'scan_exclusive' for 'sm_90'
ptxas info    : Function properties for scan_exclusive
    424 bytes stack frame, 924 bytes spill stores, 632 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 424 bytes cumulative stack size, 64 bytes smem
ptxas info    : Compile time = 106.150 ms
",
        );
        let init = Resources {
            target: "sm_90".into(),
            registers: 6,
            ..Resources::default()
        };
        let exclusive = Resources {
            target: "sm_90".into(),
            registers: 32,
            spill_stores: 924,
            spill_loads: 632,
            stack: 424,
            shared: 64,
        };
        assert_eq!(kernel(&report, "scan_init"), init);
        assert_eq!(kernel(&report, "scan_exclusive"), exclusive);
        assert_eq!(kernel(&report, "scan"), Resources::default());
    }

    /// Before Hopper, constants are on the line too.
    #[test]
    fn a_report_for_turing_is_read() {
        let report = parse(
            "\
ptxas info    : Compiling entry function 'route_layers_u64' for 'sm_75'
ptxas info    : Function properties for route_layers_u64
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 225 registers, used 1 barriers, 41280 bytes smem, 672 bytes cmem[0], 64 bytes \
             cmem[2]
",
        );
        let expected = Resources {
            target: "sm_75".into(),
            registers: 225,
            shared: 41280,
            ..Resources::default()
        };
        let found = kernel(&report, "route_layers_u64");
        assert_eq!(found, expected);
        // 8 warps of 7424 registers fit, and 64 KiB hold the shared memory of one block.
        let occupancy = found.occupancy(128, 0).expect("a known GPU");
        assert_eq!((occupancy.blocks, occupancy.warps), (1, 4));
        let more = found.occupancy(128, 32 << 10).expect("a known GPU");
        assert_eq!(more.blocks, 0);
    }

    /// The properties of a function that is called come after those of the kernel, which they are
    /// not.
    #[test]
    fn functions_that_are_called_count_for_their_kernels() {
        let report = parse(
            "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'caller' for 'sm_90'
ptxas info    : Function properties for caller
    16 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 32 bytes cumulative stack size
ptxas info    : Compile time = 7.966 ms
ptxas info    : Function properties for helper
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
",
        );
        let expected = Resources {
            target: "sm_90".into(),
            registers: 10,
            spill_stores: 8,
            spill_loads: 16,
            stack: 32,
            shared: 0,
        };
        let functions = ["caller", "helper", "unknown"];
        assert_eq!(report.of("caller", functions.into_iter()), expected);
        assert_eq!(kernel(&report, "caller").spill_loads, 4);
    }
}
