//! Compiles GPU kernels written in Rust to PTX, with the compiler's own `nvptx64-nvidia-cuda`
//! target and LLVM's tools. No CUDA toolkit is needed.
//!
//! ```no_run
//! # fn main() -> Result<(), cuda_builder::Error> {
//! use cuda_builder::{Arch, CudaBuilder};
//!
//! let built = CudaBuilder::new("../kernels-gpu").arch(Arch(75)).copy_to("kernels.ptx").build()?;
//! for kernel in &built.kernels {
//!     println!("{}: {:?}", kernel.name, kernel.block);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The kernel crate needs no attributes: it is compiled without `std`, and `#[kernel]` of
//! `cuda_std` enables the calling convention. The crate's README explains each step from source to
//! PTX, and the command `cargo kernels`; [`doctor`] tells what compiling needs and what of it is
//! missing.

mod cargo;
pub mod doctor;
mod driver;
mod error;
mod fixup;
mod hash;
mod header;
mod ir;
mod lint;
mod occupancy;
mod process;
mod ptx;
pub mod ptxas;
mod toolchain;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use error::Context as _;
pub use error::Error;
pub use header::Header;
use ir::KernelRecord;
pub use lint::{Lint, Rule, SourcePlace};
pub use occupancy::{Limit, Occupancy};
pub use ptxas::Resources;
pub use toolchain::{Search, Toolchain};

/// Parts of `cuda_std` in LLVM IR, linked into every kernel crate.
const DEVICE_LL: &str = include_str!("device.ll");

/// The passes of LLVM's optimizer. Address spaces are inferred last: earlier, the pass would move
/// local arrays into the local address space, and LLVM would no longer turn them into registers.
const PASSES: &str = "internalize,globaldce,always-inline,default<O3>,\
                      function(infer-address-spaces,instcombine<no-verify-fixpoint>),globaldce";

// The code in the crate's front page is compiled as its tests are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// A GPU architecture by its compute capability: `Arch(75)` is 7.5, written `sm_75`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch(
    /// Ten times the compute capability.
    pub u32,
);

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number = text
            .strip_prefix("sm_")
            .and_then(|number| number.parse().ok());
        number.map(Self).ok_or_else(|| {
            Error::Unexpected(format!(
                "`{text}` is not a GPU architecture such as `sm_75`"
            ))
        })
    }
}

/// Compiles a kernel crate to PTX. See the [crate's](crate) page.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    crate_dir: PathBuf,
    arch: Arch,
    features: Vec<String>,
    copy_to: Option<PathBuf>,
    hashed: Vec<PathBuf>,
    target_dir: Option<PathBuf>,
    toolchain: Option<Toolchain>,
    ptxas: Option<PathBuf>,
    assemble_for: Vec<Arch>,
    work_dir: Option<PathBuf>,
}

/// A kernel of a built PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Threads per block.
    pub block: [u32; 3],
    /// Its parameters as the PTX declares them, such as `.param .u32 scan_param_5`.
    pub params: Vec<String>,
    /// Barriers in its PTX.
    pub barriers: u32,
    /// Whether it uses dynamic shared memory, of which each launch gives the size.
    pub uses_dynamic_shared: bool,
    /// Its resources on each GPU that it was assembled for; empty without NVIDIA's assembler.
    pub resources: Vec<Resources>,
}

/// A built PTX.
#[derive(Clone, Debug)]
pub struct Built {
    /// The text, header included.
    pub ptx: String,
    /// What the header says.
    pub header: Header,
    /// The kernels, sorted by name.
    pub kernels: Vec<Kernel>,
    /// The source files that determine the PTX.
    pub sources: Vec<PathBuf>,
}

impl CudaBuilder {
    /// A builder for the kernel crate in the folder `crate_dir`, for compute capability 7.5.
    pub fn new(crate_dir: impl Into<PathBuf>) -> Self {
        Self {
            crate_dir: crate_dir.into(),
            arch: Arch(75),
            features: Vec::new(),
            copy_to: None,
            hashed: Vec::new(),
            target_dir: None,
            toolchain: None,
            ptxas: ptxas::find(),
            assemble_for: ptxas::TARGETS.into(),
            work_dir: std::env::var_os("TRAZAR_DEVICE_WORK_DIR").map(PathBuf::from),
        }
    }

    /// The oldest GPU architecture that can run the PTX. Newer ones run it too.
    #[must_use]
    pub fn arch(mut self, arch: Arch) -> Self {
        self.arch = arch;
        self
    }

    /// Features of the kernel crate to turn on.
    #[must_use]
    pub fn features<S: Into<String>>(mut self, features: impl IntoIterator<Item = S>) -> Self {
        self.features.extend(features.into_iter().map(Into::into));
        self
    }

    /// Writes the PTX to `path`.
    #[must_use]
    pub fn copy_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.copy_to = Some(path.into());
        self
    }

    /// Adds the crate in the folder `dir` to the sources that are hashed, in the order given:
    /// `cuda_std`, for example.
    #[must_use]
    pub fn hash_also(mut self, dir: impl Into<PathBuf>) -> Self {
        self.hashed.push(dir.into());
        self
    }

    /// Where cargo keeps the device build. The default is a build script's `OUT_DIR`, or else the
    /// folder `target/device` of the kernel crate.
    #[must_use]
    pub fn target_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(dir.into());
        self
    }

    /// Uses this toolchain instead of looking for one.
    #[must_use]
    pub fn toolchain(mut self, toolchain: Toolchain) -> Self {
        self.toolchain = Some(toolchain);
        self
    }

    /// Uses this `ptxas`, or none, instead of looking for one.
    #[must_use]
    pub fn ptxas(mut self, ptxas: Option<PathBuf>) -> Self {
        self.ptxas = ptxas;
        self
    }

    /// The GPUs to assemble the kernels for, if NVIDIA's assembler is installed, instead of
    /// [`ptxas::TARGETS`]. Those older than the PTX's [architecture](Self::arch) are left out.
    #[must_use]
    pub fn assemble_for(mut self, archs: impl IntoIterator<Item = Arch>) -> Self {
        self.assemble_for = archs.into_iter().collect();
        self
    }

    /// Keeps the files between the stages (`fixed.ll`, `optimised.bc`, `out.ptx`) in the folder
    /// `dir`; the environment variable `TRAZAR_DEVICE_WORK_DIR` does the same.
    #[must_use]
    pub fn work_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.work_dir = Some(dir.into());
        self
    }

    /// Compiles the crate. The first build takes about 20 s, most of it for the compiler's own
    /// library; later ones take a second or two.
    ///
    /// # Errors
    ///
    /// [`Error::ToolchainMissing`] with the command that installs the toolchain; [`Error::Compile`]
    /// with the compiler's messages if the crate does not compile; [`Error::Lints`] if a kernel
    /// breaks a rule; the others as documented.
    pub fn build(&self) -> Result<Built, Error> {
        let toolchain = match &self.toolchain {
            Some(toolchain) => toolchain.clone(),
            None => Toolchain::find()?,
        };
        let crate_dir = self.crate_dir.canonicalize().at(&self.crate_dir)?;
        // The folder goes away when the build is done.
        let scratch = tempfile::tempdir().at(std::env::temp_dir())?;
        let work = self.work_dir.as_deref().unwrap_or(scratch.path());
        fs::create_dir_all(work).at(work)?;

        let target_dir = match (&self.target_dir, std::env::var_os("OUT_DIR")) {
            (Some(dir), _) => dir.clone(),
            (None, Some(out)) => Path::new(&out).join("device"),
            (None, None) => crate_dir.join("target/device"),
        };
        fs::create_dir_all(&target_dir).at(&target_dir)?;
        let target_dir = target_dir.canonicalize().at(&target_dir)?;
        let job = cargo::Job {
            crate_dir: &crate_dir,
            features: &self.features,
            arch: self.arch,
            target_dir: &target_dir,
        };
        let bitcode = cargo::compile(&toolchain, &job, work)?;

        let (kernels, ir) = self.link(&toolchain, &bitcode, work)?;
        let text = self.generate(&toolchain, &kernels, &ir, work)?;
        let module = ptx::Module::parse(&text);
        let mut lints = lint::check(&kernels, &ir, &module);

        let mut hashed = vec![crate_dir];
        hashed.extend(self.hashed.iter().cloned());
        let header = Header::new(&hashed, &toolchain, self.arch)?;
        let mut sources = Vec::new();
        for dir in &hashed {
            sources.extend(hash::sources(dir)?);
        }
        let ptx = format!("{header}{text}");

        let mut reports: Vec<Kernel> = kernels
            .iter()
            .map(|kernel| report(kernel, &module))
            .collect();
        if lints.is_empty()
            && let Some(ptxas) = &self.ptxas
        {
            let path = work.join("kernels.ptx");
            fs::write(&path, &ptx).at(&path)?;
            let targets = self.assemble_for.iter().copied();
            for target in targets.filter(|&target| target >= self.arch) {
                let assembled = ptxas::assemble(ptxas, &path, target)?;
                for (report, kernel) in reports.iter_mut().zip(&kernels) {
                    let (reached, _) = module.reached(&kernel.name);
                    let names = reached.iter().map(|function| function.name.as_str());
                    let resources = assembled.of(&kernel.name, names);
                    lints.extend(lint::check_resources(kernel, &resources));
                    report.resources.push(resources);
                }
            }
        }
        if !lints.is_empty() {
            return Err(Error::Lints(lints));
        }
        if let Some(path) = &self.copy_to {
            fs::write(path, &ptx).at(path)?;
        }
        Ok(Built {
            ptx,
            header,
            kernels: reports,
            sources,
        })
    }

    /// [`build`](Self::build) for a build script: an error goes to cargo, which shows it line by
    /// line, and ends the process.
    ///
    /// ```no_run
    /// // build.rs
    /// use cuda_builder::CudaBuilder;
    ///
    /// let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    /// let ptx = std::path::Path::new(&out).join("kernels.ptx");
    /// CudaBuilder::new("../kernels").copy_to(ptx).build_or_exit().emit_rerun_if_changed();
    /// ```
    #[must_use]
    pub fn build_or_exit(&self) -> Built {
        self.build().unwrap_or_else(|error| {
            print!("{}", error.cargo_directives());
            std::process::exit(1)
        })
    }

    /// Links everything, drops what no kernel uses, and applies the fix-ups. Returns the IR that
    /// LLVM is to optimise.
    fn link(
        &self,
        toolchain: &Toolchain,
        bitcode: &cargo::Bitcode,
        work: &Path,
    ) -> Result<(Vec<KernelRecord>, String), Error> {
        let own = run_to_text(
            toolchain.tool("llvm-link").args(&bitcode.own),
            &work.join("own.ll"),
        )?;
        let kernels = ir::kernel_records(&own)?;
        if kernels.is_empty() {
            return Err(Error::NoKernels(self.crate_dir.clone()));
        }
        let device = work.join("device.ll");
        fs::write(&device, DEVICE_LL).at(&device)?;
        let linked = work.join("linked.bc");
        let mut link = toolchain.tool("llvm-link");
        link.args(&bitcode.own)
            .args(&bitcode.others)
            .arg(&device)
            .arg("-o")
            .arg(&linked);
        process::run(&mut link)?;
        let mut reduce = toolchain.tool("opt");
        reduce
            .arg(&linked)
            .arg("-passes=internalize,globaldce")
            .arg(public(&kernels));
        let reduced = run_to_text(&mut reduce, &work.join("reduced.ll"))?;
        let fixed = fixup::apply(&reduced, &kernels)?;
        Ok((kernels, fixed))
    }

    /// Optimises the IR and writes it as PTX.
    fn generate(
        &self,
        toolchain: &Toolchain,
        kernels: &[KernelRecord],
        ir: &str,
        work: &Path,
    ) -> Result<String, Error> {
        let (fixed, optimised, ptx) = (
            work.join("fixed.ll"),
            work.join("optimised.bc"),
            work.join("out.ptx"),
        );
        fs::write(&fixed, ir).at(&fixed)?;
        let mut opt = toolchain.tool("opt");
        opt.arg(&fixed)
            .arg(format!("-mcpu={}", self.arch))
            .arg(format!("-passes={PASSES}"))
            .arg(public(kernels));
        process::run(opt.arg("-o").arg(&optimised))?;
        let mut llc = toolchain.tool("llc");
        llc.arg(&optimised)
            .args(["-O3", "--asm-verbose=false"])
            .arg(format!("-mcpu={}", self.arch))
            .arg("-o")
            .arg(&ptx);
        process::run(&mut llc)?;
        let text = fs::read_to_string(&ptx).at(&ptx)?;
        // LLVM's first comment lines are of no use.
        let start = text
            .find(".version")
            .ok_or_else(|| Error::Unexpected("llc wrote no PTX".into()))?;
        Ok(text[start..].to_owned())
    }
}

impl Built {
    /// Tells cargo, from a build script, to run it again when a source file changes.
    pub fn emit_rerun_if_changed(&self) {
        for source in &self.sources {
            println!("cargo::rerun-if-changed={}", source.display());
        }
    }

    /// Names and parameters of the kernels, one line each: what a launch relies on.
    #[must_use]
    pub fn interface(&self) -> Vec<String> {
        self.kernels
            .iter()
            .map(|kernel| interface_line(&kernel.name, &kernel.params))
            .collect()
    }
}

/// Names and parameters of the kernels in a PTX text, one line each, as [`Built::interface`] has
/// them.
#[must_use]
pub fn interface(ptx: &str) -> Vec<String> {
    let module = ptx::Module::parse(ptx);
    module
        .entries()
        .into_iter()
        .map(|kernel| interface_line(&kernel.name, &kernel.params))
        .collect()
}

fn interface_line(name: &str, params: &[String]) -> String {
    format!("{name}({})", params.join(", "))
}

fn report(kernel: &KernelRecord, module: &ptx::Module) -> Kernel {
    let params = module
        .entries()
        .into_iter()
        .find(|entry| entry.name == kernel.name)
        .map(|entry| entry.params.clone());
    Kernel {
        name: kernel.name.clone(),
        block: kernel.block,
        params: params.unwrap_or_default(),
        barriers: module.barriers(&kernel.name),
        uses_dynamic_shared: module.uses_dynamic_shared(&module.reached(&kernel.name).0),
        resources: Vec::new(),
    }
}

/// The option that keeps the kernels, and nothing else, visible from outside the module.
fn public(kernels: &[KernelRecord]) -> String {
    let names: Vec<_> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    format!("--internalize-public-api-list={}", names.join(","))
}

/// Runs one of LLVM's tools with textual output to `path`, and returns the text.
fn run_to_text(tool: &mut Command, path: &Path) -> Result<String, Error> {
    process::run(tool.arg("-S").arg("-o").arg(path))?;
    fs::read_to_string(path).at(path)
}
