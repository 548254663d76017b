//! `cargo kernels`: rebuilds the checked-in PTX. `cargo kernels --check`: builds it anew and compares.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cuda_builder::{Arch, Built, CudaBuilder, Error, Header, Toolchain, interface};

const USAGE: &str = "\
Rebuilds the checked-in PTX from the kernels' sources.

Usage: cargo kernels [--check]

  --check  write nothing; fail if the PTX differs from what the sources give
";

/// A kernel crate and the PTX that is checked in for it, relative to the workspace.
struct Product {
    crate_dir: &'static str,
    ptx: &'static str,
    arch: Arch,
}

const PRODUCTS: [Product; 2] = [
    Product {
        crate_dir: "kernels-gpu",
        ptx: "kernels-gpu/ptx/trazar_sm_75.ptx",
        arch: Arch(75),
    },
    Product {
        crate_dir: "kernels-gpu/conformance",
        ptx: "kernels-gpu/ptx/conformance_sm_75.ptx",
        arch: Arch(75),
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        ["--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(check) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds all products. Returns whether what was checked is up to date.
fn run(check: bool) -> Result<bool, Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let toolchain = Toolchain::find()?;
    println!(
        "rustc {} ({}), LLVM {}",
        toolchain.rustc_version,
        toolchain.rustc.display(),
        toolchain.llvm_version
    );
    let mut up_to_date = true;
    for product in &PRODUCTS {
        let path = root.join(product.ptx);
        let mut builder = CudaBuilder::new(root.join(product.crate_dir))
            .arch(product.arch)
            .hash_also(root.join("cuda_std"))
            .hash_also(root.join("cuda_std_macros"))
            .target_dir(root.join("target/device"))
            .toolchain(toolchain.clone());
        if !check {
            builder = builder.copy_to(&path);
        }
        let built = builder.build()?;
        println!("{}", product.ptx);
        print_report(&built);
        if check {
            up_to_date &= compare(&path, &built)?;
        }
    }
    Ok(up_to_date)
}

/// One line per kernel, and one per GPU where the assembler is there.
fn print_report(built: &Built) {
    for kernel in &built.kernels {
        let [x, y, z] = kernel.block;
        println!(
            "  {}: block {x} x {y} x {z}, barriers {}",
            kernel.name, kernel.barriers
        );
        for on in &kernel.resources {
            println!(
                "    {}: {} registers, {} + {} bytes spilled, {} bytes of stack, {} bytes of shared memory",
                on.target, on.registers, on.spill_stores, on.spill_loads, on.stack, on.shared
            );
        }
    }
    if built
        .kernels
        .iter()
        .all(|kernel| kernel.resources.is_empty())
    {
        println!("  (no ptxas found: registers and spills not checked)");
    }
}

/// Compares the checked-in file with what was built. Prints what differs.
fn compare(path: &PathBuf, built: &Built) -> Result<bool, Error> {
    let checked_in = fs::read_to_string(path).map_err(|source| Error::Io {
        path: path.clone(),
        source,
    })?;
    // git may check the file out with the platform's line endings.
    let checked_in = checked_in.replace("\r\n", "\n");
    let header = Header::parse(&checked_in)?;
    if header.source_hash != built.header.source_hash {
        println!("  STALE: the sources have changed since it was built; run `cargo kernels`");
        return Ok(false);
    }
    if header.same_tools(&built.header) {
        if checked_in == built.ptx {
            println!("  up to date, byte for byte");
            return Ok(true);
        }
        let same = checked_in
            .lines()
            .zip(built.ptx.lines())
            .take_while(|(a, b)| a == b)
            .count();
        let line = same + 1;
        println!(
            "  DIFFERENT from line {line} on, though built with the same tools; run `cargo kernels`"
        );
        return Ok(false);
    }
    println!(
        "  built with rustc {} and LLVM {}, checked with rustc {} and LLVM {}: comparing names, parameters and lints, \
         not bytes",
        header.rustc, header.llvm, built.header.rustc, built.header.llvm
    );
    let same = interface(&checked_in) == built.interface();
    println!(
        "  {}",
        if same {
            "same kernels and parameters, no lints"
        } else {
            "DIFFERENT kernels or parameters"
        }
    );
    Ok(same)
}
