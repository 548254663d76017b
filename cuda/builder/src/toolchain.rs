//! Finds a compiler that can build device code, with LLVM's tools of the same version.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::process::run;

/// The version that kernels are built with.
pub(crate) const RUSTC_VERSION: &str = "1.96.0";
/// Installs the device toolchain where rustup is.
const INSTALL_RUSTUP: &str =
    "rustup toolchain install 1.96.0 --profile minimal --component rust-src,llvm-tools";
/// Installs it on Debian 12, where rustup isn't.
const INSTALL_DEBIAN: &str =
    "apt-get install -y --no-install-recommends rustc-web rust-web-src llvm-22";

/// A compiler for device code and LLVM's tools.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// `rustc`, whose library source is in its sysroot.
    pub rustc: PathBuf,
    /// The folder with `opt`, `llc` and `llvm-link`.
    pub llvm_bin: PathBuf,
    /// The compiler's sysroot.
    pub sysroot: PathBuf,
    /// The compiler's version, such as `1.96.0`.
    pub rustc_version: String,
    /// The version of LLVM's tools, such as `22.1.8`.
    pub llvm_version: String,
}

/// Where to look for the toolchain. [`Search::default`] is this machine.
#[derive(Clone, Debug)]
pub struct Search {
    /// A compiler named by the user; nothing else is then looked for.
    pub rustc: Option<OsString>,
    /// The folder of LLVM's tools for that compiler; otherwise found from the compiler.
    pub llvm_bin: Option<OsString>,
    /// The program `rustup`.
    pub rustup: OsString,
    /// The distribution's compiler.
    pub system_rustc: PathBuf,
    /// The folder with the distribution's `llvm-22/bin` and the like.
    pub system_llvm: PathBuf,
}

impl Default for Search {
    /// The environment variables `TRAZAR_DEVICE_RUSTC` and `TRAZAR_DEVICE_LLVM_BIN`, rustup, and
    /// Debian's packages.
    fn default() -> Self {
        Self {
            rustc: env::var_os("TRAZAR_DEVICE_RUSTC"),
            llvm_bin: env::var_os("TRAZAR_DEVICE_LLVM_BIN"),
            rustup: "rustup".into(),
            system_rustc: "/usr/bin/rustc".into(),
            system_llvm: "/usr/lib".into(),
        }
    }
}

impl Toolchain {
    /// Finds the device toolchain of this machine.
    ///
    /// # Errors
    ///
    /// [`Error::ToolchainMissing`], with the command that installs it.
    pub fn find() -> Result<Self, Error> {
        Search::default().find()
    }

    /// One of LLVM's tools.
    pub(crate) fn tool(&self, name: &str) -> Command {
        Command::new(self.llvm_bin.join(name))
    }
}

impl Search {
    /// Finds the device toolchain: the compiler that the user names, or else rustup's, or else the
    /// distribution's.
    ///
    /// # Errors
    ///
    /// [`Error::ToolchainMissing`], with the command that installs it.
    pub fn find(&self) -> Result<Toolchain, Error> {
        let mut looked = String::new();
        for candidate in self.candidates() {
            match candidate.toolchain() {
                Ok(toolchain) => return Ok(toolchain),
                // Writing to a string can't fail.
                Err(why) => {
                    let _ = writeln!(looked, "- {}: {why}", candidate.name);
                }
            }
        }
        Err(Error::ToolchainMissing {
            install: self.install(),
            looked: looked.trim_end().to_owned(),
        })
    }

    /// The command that installs the device toolchain on this machine.
    pub(crate) fn install(&self) -> &'static str {
        let debian = Path::new("/usr/bin/apt-get").exists()
            && Command::new(&self.rustup).arg("-V").output().is_err();
        if debian {
            INSTALL_DEBIAN
        } else {
            INSTALL_RUSTUP
        }
    }

    /// The compilers to look at, in the order of preference. The next one is looked at when it is
    /// asked for.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = Candidate> + '_ {
        type Locate = fn(&Search) -> (String, Result<PathBuf, String>);
        let named: Locate = |search| {
            let rustc = search.rustc.clone().unwrap_or_default();
            ("TRAZAR_DEVICE_RUSTC".into(), Ok(rustc.into()))
        };
        let rustup: Locate = |search| {
            let name = format!("rustup's toolchain {RUSTC_VERSION}");
            (name, search.rustup_rustc())
        };
        let system: Locate = |search| {
            let rustc = search.system_rustc.clone();
            (rustc.display().to_string(), Ok(rustc))
        };
        let locations = match self.rustc {
            Some(_) => vec![named],
            None => vec![rustup, system],
        };
        locations.into_iter().map(move |locate| {
            let (name, rustc) = locate(self);
            Candidate::inspect(name, rustc, self)
        })
    }

    /// The compiler of rustup's toolchain.
    fn rustup_rustc(&self) -> Result<PathBuf, String> {
        let mut which = Command::new(&self.rustup);
        // Asking for a toolchain that isn't there must not install it.
        which
            .args(["which", "--toolchain", RUSTC_VERSION, "rustc"])
            .env("RUSTUP_AUTO_INSTALL", "0");
        match run(&mut which) {
            Ok(path) => Ok(path.trim().into()),
            Err(Error::Spawn { .. }) => Err("rustup is not installed".into()),
            Err(_) => Err("not installed".into()),
        }
    }

    /// The folders that may have LLVM's tools for `compiler`.
    fn llvm_folders(&self, compiler: &Compiler) -> Vec<PathBuf> {
        if let Some(folder) = &self.llvm_bin {
            return vec![folder.into()];
        }
        let major = compiler.llvm.split('.').next().unwrap_or_default();
        vec![
            compiler
                .sysroot
                .join("lib/rustlib")
                .join(&compiler.host)
                .join("bin"),
            self.system_llvm.join(format!("llvm-{major}/bin")),
        ]
    }
}

/// A compiler, and the parts of a device toolchain found with it; for a missing part, the reason.
pub(crate) struct Candidate {
    /// Where it was looked for.
    pub(crate) name: String,
    /// The compiler, if it is new enough.
    pub(crate) compiler: Result<Compiler, String>,
    /// Its library's source.
    pub(crate) source: Result<PathBuf, String>,
    /// The folder of LLVM's tools, and their version.
    pub(crate) llvm: Result<(PathBuf, String), String>,
}

/// What a compiler says about itself.
#[derive(Clone)]
pub(crate) struct Compiler {
    pub(crate) rustc: PathBuf,
    pub(crate) release: String,
    host: String,
    /// The version of the LLVM in it.
    llvm: String,
    sysroot: PathBuf,
}

impl Candidate {
    fn inspect(name: String, rustc: Result<PathBuf, String>, search: &Search) -> Self {
        let compiler = rustc.and_then(|rustc| Compiler::ask(&rustc));
        let with = |compiler: &Result<Compiler, String>| {
            compiler.clone().map_err(|_| "there is no compiler".into())
        };
        Self {
            source: with(&compiler).and_then(|compiler| compiler.source()),
            llvm: with(&compiler).and_then(|compiler| compiler.tools(search)),
            name,
            compiler,
        }
    }

    /// The number of parts found.
    pub(crate) fn parts(&self) -> usize {
        usize::from(self.compiler.is_ok())
            + usize::from(self.source.is_ok())
            + usize::from(self.llvm.is_ok())
    }

    /// The toolchain, or why it is incomplete.
    fn toolchain(&self) -> Result<Toolchain, String> {
        let compiler = self.compiler.clone()?;
        self.source.clone()?;
        let (llvm_bin, llvm_version) = self.llvm.clone()?;
        Ok(Toolchain {
            rustc: compiler.rustc,
            llvm_bin,
            sysroot: compiler.sysroot,
            rustc_version: compiler.release,
            llvm_version,
        })
    }
}

impl Compiler {
    /// Asks `rustc` for its version, which must be new enough, and its sysroot.
    fn ask(rustc: &Path) -> Result<Self, String> {
        if !rustc.is_file() {
            return Err(format!("there is no {}", rustc.display()));
        }
        let version = run(Command::new(rustc).arg("-vV")).map_err(|error| error.to_string())?;
        let field = |name: &str| {
            version
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
                .unwrap_or_default()
                .to_owned()
        };
        let (release, host, llvm) = (field("release:"), field("host:"), field("LLVM version:"));
        if numbers(&release) < numbers(RUSTC_VERSION) {
            return Err(format!(
                "it is rustc {release}, and {RUSTC_VERSION} is needed"
            ));
        }
        let sysroot = run(Command::new(rustc).args(["--print", "sysroot"]))
            .map_err(|error| error.to_string())?;
        Ok(Self {
            rustc: rustc.to_owned(),
            release,
            host,
            llvm,
            sysroot: sysroot.trim().into(),
        })
    }

    /// The folder of its library's source.
    fn source(&self) -> Result<PathBuf, String> {
        let source = self.sysroot.join("lib/rustlib/src/rust");
        let core = source.join("library/core/src/lib.rs");
        if !core.exists() {
            return Err(format!(
                "the library's source is missing: there is no {}",
                core.display()
            ));
        }
        Ok(source)
    }

    /// The folder of LLVM's tools, which must not be older than the LLVM in the compiler, and
    /// their version.
    fn tools(&self, search: &Search) -> Result<(PathBuf, String), String> {
        let folders = search.llvm_folders(self);
        let has_tools = |folder: &&PathBuf| {
            ["opt", "llc", "llvm-link"].iter().all(|tool| {
                let tool = format!("{tool}{}", env::consts::EXE_SUFFIX);
                folder.join(tool).exists()
            })
        };
        let Some(llvm_bin) = folders.iter().find(has_tools) else {
            let folders: Vec<_> = folders
                .iter()
                .map(|folder| folder.display().to_string())
                .collect();
            return Err(format!(
                "opt, llc and llvm-link are missing from {}",
                folders.join(" and ")
            ));
        };
        let tool_version = run(Command::new(llvm_bin.join("opt")).arg("--version"))
            .map_err(|error| error.to_string())?;
        let version = tool_version
            .lines()
            .find_map(|line| line.split_once("LLVM version "))
            .map(|(_, version)| version.trim().to_owned())
            .unwrap_or_default();
        if numbers(&version).first() < numbers(&self.llvm).first() {
            return Err(format!(
                "LLVM's tools are {version}, older than the compiler's LLVM {}",
                self.llvm
            ));
        }
        Ok((llvm_bin.clone(), version))
    }
}

/// The numbers of a version: `1.96.0-nightly` is `[1, 96, 0]`.
fn numbers(version: &str) -> Vec<u32> {
    version
        .split('.')
        .map_while(|part| {
            let digits = part
                .find(|c: char| !c.is_ascii_digit())
                .map_or(part, |end| &part[..end]);
            digits.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert!(numbers("1.100.0") > numbers("1.96.0"));
        assert!(numbers("1.95.0") < numbers("1.96.0"));
        assert_eq!(numbers("22.1.8-rust-1.96.0-stable")[..3], [22, 1, 8]);
    }

    #[test]
    fn a_missing_toolchain_is_an_error_that_says_how_to_install_it() {
        let nowhere = Search {
            rustc: None,
            llvm_bin: None,
            rustup: "/nonexistent/rustup".into(),
            system_rustc: "/nonexistent/rustc".into(),
            system_llvm: "/nonexistent".into(),
        };
        let message = nowhere.find().expect_err("nothing is there").to_string();
        assert!(message.contains("install it with `"), "{message}");
        assert!(
            message.contains("rustc-web rust-web-src llvm-22")
                || message.contains("rustup toolchain install")
        );
        assert!(message.contains("rustup is not installed"), "{message}");
        assert!(
            message.contains("there is no /nonexistent/rustc"),
            "{message}"
        );
    }

    #[test]
    fn a_compiler_that_the_user_names_is_not_replaced_by_another() {
        let search = Search {
            rustc: Some("/nonexistent/rustc".into()),
            ..Search::default()
        };
        let message = search
            .find()
            .expect_err("the named compiler is missing")
            .to_string();
        assert!(
            message.contains("TRAZAR_DEVICE_RUSTC: there is no /nonexistent/rustc"),
            "{message}"
        );
    }
}
