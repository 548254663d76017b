//! `cargo kernels --report`: what each kernel takes of a GPU.

use std::fmt::Write as _;

use cuda_builder::{Arch, Kernel, Occupancy, Resources};

/// The columns of the table. Names are on the left, numbers on the right.
const COLUMNS: [&str; 11] = [
    "kernel",
    "block",
    "on",
    "registers",
    "spilled",
    "shared",
    "stack",
    "blocks",
    "warps",
    "occupancy",
    "limited by",
];

/// What the columns mean, below the table.
const NOTES: &str = "\
spilled: bytes stored + bytes loaded, per thread; stack: bytes per thread
shared: static bytes per block; where a `+` follows, a launch adds bytes that are not counted
blocks, warps, occupancy: what a multiprocessor holds at once
";

/// The columns that are numbers.
const NUMBERS: std::ops::Range<usize> = 3..10;

/// What of a kernel's needs is for `arch`.
fn on(kernel: &Kernel, arch: Arch) -> Option<&Resources> {
    let target = arch.to_string();
    kernel.resources.iter().find(|on| on.target == target)
}

/// How much of a multiprocessor blocks of `kernel` without dynamic shared memory fill.
fn occupancy(kernel: &Kernel, on: &Resources) -> Option<Occupancy> {
    on.occupancy(kernel.block.iter().product(), 0)
}

/// One line: how many kernels there are and, for each GPU, the most registers and the lowest
/// occupancy. (Kernels that spill are refused before. Launches decide the occupancy of those with
/// dynamic shared memory.)
pub(crate) fn summary(kernels: &[Kernel], archs: &[Arch]) -> String {
    let count = kernels.len();
    let mut text = format!("{count} kernel{}", if count == 1 { "" } else { "s" });
    if kernels.iter().all(|kernel| kernel.resources.is_empty()) {
        return text + "; no ptxas found: registers and spills not checked";
    }
    text += ", no spills";
    for &arch in archs {
        let found = kernels
            .iter()
            .filter_map(|kernel| Some((kernel, on(kernel, arch)?)));
        let registers = found.clone().map(|(_, on)| on.registers).max();
        let known = found.filter(|(kernel, _)| !kernel.uses_dynamic_shared);
        let percent = known.filter_map(|(kernel, on)| Some(occupancy(kernel, on)?.percent()));
        if let Some(registers) = registers {
            let _ = write!(text, "; {arch}: at most {registers} registers");
        }
        if let Some(percent) = percent.min() {
            let _ = write!(text, ", occupancy at least {percent} %");
        }
    }
    text
}

/// A table with one line per kernel and GPU; empty where there was no assembler.
pub(crate) fn table(kernels: &[Kernel], archs: &[Arch]) -> String {
    let mut rows = Vec::new();
    for kernel in kernels {
        for (first, &arch) in archs.iter().enumerate() {
            rows.extend(on(kernel, arch).map(|on| row(kernel, on, first == 0)));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    rows.insert(0, COLUMNS.map(str::to_owned));
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..COLUMNS.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, &width))| match NUMBERS.contains(&column) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text += line.trim_end();
        text.push('\n');
    }
    text + NOTES
}

/// The cells of `kernel` on one GPU. The first of a kernel's rows has its name and its block.
fn row(kernel: &Kernel, on: &Resources, is_first: bool) -> [String; COLUMNS.len()] {
    let named = |text: String| if is_first { text } else { String::new() };
    let [x, y, z] = kernel.block;
    let block = match (y, z) {
        (1, 1) => format!("{x}"),
        (_, 1) => format!("{x} x {y}"),
        _ => format!("{x} x {y} x {z}"),
    };
    let dynamic = if kernel.uses_dynamic_shared { "+" } else { "" };
    let [blocks, warps, percent, limits] = match occupancy(kernel, on) {
        Some(found) => {
            let limits: Vec<_> = found.limits.iter().map(ToString::to_string).collect();
            [
                found.blocks.to_string(),
                format!("{}/{}", found.warps, found.most_warps),
                format!("{} %", found.percent()),
                limits.join(", "),
            ]
        }
        None => ["?", "?", "?", ""].map(str::to_owned),
    };
    [
        named(kernel.name.clone()),
        named(block),
        on.target.clone(),
        on.registers.to_string(),
        format!("{} + {}", on.spill_stores, on.spill_loads),
        format!("{}{dynamic}", on.shared),
        on.stack.to_string(),
        blocks,
        warps,
        percent,
        limits,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(target: &str, registers: u32, shared: u32) -> Resources {
        Resources {
            target: target.into(),
            registers,
            shared,
            ..Resources::default()
        }
    }

    fn kernel(name: &str, block: [u32; 3], resources: Vec<Resources>) -> Kernel {
        Kernel {
            name: name.into(),
            block,
            params: Vec::new(),
            barriers: 1,
            uses_dynamic_shared: name == "grow",
            resources,
        }
    }

    fn kernels() -> [Kernel; 2] {
        let scan = vec![
            on("sm_75", 128, 64),
            on("sm_80", 128, 64),
            on("sm_90", 128, 64),
        ];
        let grow = vec![
            on("sm_75", 44, 36432),
            on("sm_80", 40, 36432),
            on("sm_90", 32, 36432),
        ];
        [
            kernel("scan_exclusive", [256, 1, 1], scan),
            kernel("grow", [32, 8, 1], grow),
        ]
    }

    #[test]
    fn a_table_has_a_line_per_kernel_and_gpu() {
        let expected = "\
kernel          block   on     registers  spilled  shared  stack  blocks  warps  occupancy  limited by
scan_exclusive  256     sm_75        128    0 + 0      64      0       2  16/32       50 %  registers
                        sm_90        128    0 + 0      64      0       2  16/64       25 %  registers
grow            32 x 8  sm_75         44    0 + 0  36432+      0       1   8/32       25 %  shared memory
                        sm_90         32    0 + 0  36432+      0       6  48/64       75 %  shared memory
";
        let table = table(&kernels(), &[Arch(75), Arch(90)]);
        assert_eq!(table.strip_suffix(NOTES), Some(expected), "\n{table}");
    }

    #[test]
    fn gpus_without_known_limits_have_no_occupancy() {
        let kernels = [kernel("k", [8, 4, 2], vec![on("sm_130", 20, 0)])];
        let table = table(&kernels, &[Arch(130)]);
        let line = table.lines().nth(1).expect("a line");
        let words: Vec<_> = line.split_whitespace().collect();
        let expected = [
            "k", "8", "x", "4", "x", "2", "sm_130", "20", "0", "+", "0", "0", "0", "?", "?", "?",
        ];
        assert_eq!(words, expected);
        assert_eq!(
            summary(&kernels, &[Arch(130)]),
            "1 kernel, no spills; sm_130: at most 20 registers"
        );
    }

    #[test]
    fn a_summary_is_one_line() {
        assert_eq!(
            summary(&kernels(), &[Arch(75), Arch(90)]),
            "2 kernels, no spills; sm_75: at most 128 registers, occupancy at least 50 %; sm_90: \
             at most 128 registers, occupancy at least 25 %"
        );
        let mut kernels = kernels();
        kernels
            .iter_mut()
            .for_each(|kernel| kernel.resources.clear());
        assert_eq!(
            summary(&kernels, &[Arch(75)]),
            "2 kernels; no ptxas found: registers and spills not checked"
        );
        assert_eq!(table(&kernels, &[Arch(75)]), "");
    }
}
