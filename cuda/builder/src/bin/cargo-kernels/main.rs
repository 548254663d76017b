//! `cargo kernels`: writes a new kernel crate, builds the PTX of a workspace's kernel crates,
//! checks it, and says what is missing on this machine.

mod metadata;
mod new;
mod report;
mod verdict;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cuda_builder::doctor::{self, Finding, State};
use cuda_builder::{Arch, Built, CudaBuilder, Search, Toolchain, ptxas};
use metadata::{Product, Workspace};
use verdict::Verdict;

const USAGE: &str = "\
Builds the PTX of GPU kernels written in Rust.

Usage: cargo kernels [build] [--report] [-p PACKAGE]
       cargo kernels --check [--report] [-p PACKAGE]
       cargo kernels --doctor
       cargo kernels new NAME [--path CHECKOUT]

  build      build each kernel crate of this workspace and write its PTX; the default
  --check    write nothing; fail if the PTX differs from what the sources give, or was built with
             another toolchain than the one that is here
  --doctor   say what building and running kernels needs, what is missing here, and what to do;
             fail if kernels can't be built
  new NAME   write a kernel crate with a kernel, its tests and a program to the folder NAME

  --report               print what each kernel takes of a GPU: registers, spills, shared memory,
                         stack, and the blocks and warps that a multiprocessor holds; needs NVIDIA's
                         assembler, which --doctor looks for
  -p, --package PACKAGE  only this package of the workspace
  --path CHECKOUT        take `cuda_std` and `cust` from this checkout of Trazar

A kernel crate says in its Cargo.toml where its PTX goes, relative to its folder, and for which GPUs
(`sm_75` where nothing is said: Turing and newer). It may also say on which GPUs --report reports:

    [package.metadata.cuda-builder]
    ptx = \"ptx/kernels.ptx\"
    arch = \"sm_75\"
    features = []
    report = [\"sm_75\", \"sm_90\"]
";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    Build(Build),
    Doctor,
    New {
        name: String,
        checkout: Option<PathBuf>,
    },
    Help,
}

/// How kernel crates are built.
#[derive(Debug, Default, PartialEq, Eq)]
struct Build {
    /// Whether the PTX is compared, not written.
    check: bool,
    /// Whether each kernel's needs are printed.
    report: bool,
    /// The package; none: all of the workspace.
    package: Option<String>,
}

/// Reads the command line; `None` if it is not one.
fn parse(arguments: &[String]) -> Option<Task> {
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // `cargo kernels` runs `cargo-kernels kernels`.
    if words.first() == Some(&"kernels") {
        words.remove(0);
    }
    Some(match words[..] {
        ["--help" | "-h" | "help"] => Task::Help,
        ["--doctor" | "doctor"] => Task::Doctor,
        ["new", name] if !name.starts_with('-') => Task::New {
            name: name.into(),
            checkout: None,
        },
        ["new", name, "--path", checkout] if !name.starts_with('-') => Task::New {
            name: name.into(),
            checkout: Some(checkout.into()),
        },
        ["new", ..] => return None,
        ref options => {
            let mut build = Build::default();
            let mut options = options.iter();
            if words.first() == Some(&"build") {
                options.next();
            }
            while let Some(&option) = options.next() {
                match option {
                    "--check" => build.check = true,
                    "--report" => build.report = true,
                    "-p" | "--package" => build.package = Some((*options.next()?).to_owned()),
                    _ => return None,
                }
            }
            Task::Build(build)
        }
    })
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(task) = parse(&arguments) else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let done = match task {
        Task::Help => {
            print!("{USAGE}");
            Ok(true)
        }
        Task::Doctor => Ok(examine()),
        Task::New { name, checkout } => new::write(&name, checkout.as_deref()).map(|()| true),
        Task::Build(options) => build(&options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds all products. Returns whether what was checked is up to date.
fn build(options: &Build) -> Result<bool, Box<dyn Error>> {
    let workspace = Workspace::read(options.package.as_deref())?;
    let toolchain = Toolchain::find().map_err(|error| {
        format!("{error}\n`cargo kernels --doctor` says what is there and what is missing")
    })?;
    println!(
        "rustc {} ({}), LLVM {}",
        toolchain.rustc_version,
        toolchain.rustc.display(),
        toolchain.llvm_version
    );
    let mut up_to_date = true;
    for product in &workspace.products {
        println!("compiling {}", product.package);
        let built = builder(product, &workspace, &toolchain)?.build()?;
        println!("{}", workspace.relative(&product.ptx).display());
        println!("  {}", report::summary(&built.kernels, &product.report));
        if options.report {
            print!("{}", report::table(&built.kernels, &product.report));
        }
        if options.check {
            let verdict = compare(&product.ptx, &built)?;
            println!("  {verdict}");
            up_to_date &= verdict == Verdict::UpToDate;
        } else {
            write(&product.ptx, &built.ptx)?;
        }
    }
    Ok(up_to_date)
}

fn builder(
    product: &Product,
    workspace: &Workspace,
    toolchain: &Toolchain,
) -> Result<CudaBuilder, Box<dyn Error>> {
    let mut builder = CudaBuilder::new(&product.crate_dir)
        .arch(product.arch)
        .features(&product.features)
        .target_dir(workspace.target_dir.join("device"))
        .assemble_for(assembled_for(product))
        .toolchain(toolchain.clone());
    for dir in product.path_dependencies()? {
        builder = builder.hash_also(dir);
    }
    Ok(builder)
}

/// The GPUs that a product's kernels are assembled for: those on which spills are always refused,
/// and those that the crate wants a report on.
fn assembled_for(product: &Product) -> BTreeSet<Arch> {
    let report = product.report.iter().copied();
    ptxas::TARGETS.into_iter().chain(report).collect()
}

fn compare(path: &Path, built: &Built) -> Result<Verdict, Box<dyn Error>> {
    match fs::read_to_string(path) {
        Ok(checked_in) => Ok(verdict::compare(&checked_in, &built.ptx)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Verdict::Missing),
        Err(error) => Err(format!("{}: {error}", path.display()).into()),
    }
}

fn write(path: &Path, ptx: &str) -> Result<(), Box<dyn Error>> {
    let write = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, ptx)
    };
    write().map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Prints what is there and what is missing. Returns whether kernels can be built.
fn examine() -> bool {
    let mut findings = doctor::examine(&Search::default(), ptxas::find().as_deref());
    findings.extend(kernel_crates());
    for finding in &findings {
        println!("{finding}");
    }
    let can_build = doctor::can_build(&findings);
    let can = if can_build { "can" } else { "can't" };
    println!("kernels {can} be built here; their tests in the emulator need none of this");
    can_build
}

/// The kernel crates of the current folder's workspace, and whether their `cuda_std` fits.
fn kernel_crates() -> Vec<Finding> {
    let finding = |needed, state| Finding {
        what: "kernel crate".into(),
        needed,
        state,
    };
    let workspace = match Workspace::read(None) {
        Ok(workspace) => workspace,
        Err(error) => {
            let mend = "`cargo kernels new NAME` writes one".into();
            let why = error.to_string();
            let why = why.lines().next().unwrap_or_default().into();
            return vec![finding(false, State::Missing { why, mend })];
        }
    };
    let state = |product: &Product| match product.path_dependencies() {
        Ok(_) => State::Present(format!(
            "{}: {} for {}",
            product.package,
            workspace.relative(&product.ptx).display(),
            product.arch
        )),
        Err(error) => State::Missing {
            why: error.to_string(),
            mend: format!("see {}", product.crate_dir.join("Cargo.toml").display()),
        },
    };
    let products = workspace.products.iter();
    products
        .map(|product| finding(true, state(product)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(line: &str) -> Option<Task> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn command_lines_are_read_as_an_alias_and_as_a_subcommand() {
        let build = |check, report, package: Option<&str>| {
            let package = package.map(str::to_owned);
            Some(Task::Build(Build {
                check,
                report,
                package,
            }))
        };
        assert_eq!(task(""), build(false, false, None));
        assert_eq!(task("kernels"), build(false, false, None));
        assert_eq!(task("kernels build -p k"), build(false, false, Some("k")));
        assert_eq!(task("--check --package k"), build(true, false, Some("k")));
        assert_eq!(task("kernels --report"), build(false, true, None));
        assert_eq!(task("build --report --check"), build(true, true, None));
        assert_eq!(task("kernels --doctor"), Some(Task::Doctor));
        let new = |checkout: Option<&str>| {
            Some(Task::New {
                name: "tally".into(),
                checkout: checkout.map(PathBuf::from),
            })
        };
        assert_eq!(task("kernels new tally"), new(None));
        assert_eq!(task("new tally --path ../trazar"), new(Some("../trazar")));
        for wrong in ["new", "new --path x", "-p", "--chekc", "build new"] {
            assert_eq!(task(wrong), None, "{wrong}");
        }
    }
}
