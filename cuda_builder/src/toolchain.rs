//! Finds a compiler that can build device code, with LLVM's tools of the same version.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::process::run;

/// The version that kernels are built with.
const RUSTC_VERSION: &str = "1.96.0";
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
        let mut missing = |what: &str, why: String| {
            // Writing to a string can't fail.
            let _ = writeln!(looked, "- {what}: {why}");
        };
        if let Some(rustc) = &self.rustc {
            match self.inspect(Path::new(rustc)) {
                Ok(toolchain) => return Ok(toolchain),
                Err(why) => missing("TRAZAR_DEVICE_RUSTC", why),
            }
        } else {
            match self.rustup_rustc().and_then(|rustc| self.inspect(&rustc)) {
                Ok(toolchain) => return Ok(toolchain),
                Err(why) => missing("rustup's toolchain 1.96.0", why),
            }
            match self.inspect(&self.system_rustc) {
                Ok(toolchain) => return Ok(toolchain),
                Err(why) => missing(&self.system_rustc.display().to_string(), why),
            }
        }
        let debian = Path::new("/usr/bin/apt-get").exists()
            && Command::new(&self.rustup).arg("-V").output().is_err();
        let install = if debian {
            INSTALL_DEBIAN
        } else {
            INSTALL_RUSTUP
        };
        Err(Error::ToolchainMissing {
            install,
            looked: looked.trim_end().to_owned(),
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

    /// Checks that `rustc` is new enough, has its library's source, and that LLVM's tools of its
    /// version are there.
    fn inspect(&self, rustc: &Path) -> Result<Toolchain, String> {
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
        let sysroot = PathBuf::from(sysroot.trim());
        let source = sysroot.join("lib/rustlib/src/rust/library/core/src/lib.rs");
        if !source.exists() {
            return Err(format!(
                "the library's source is missing: there is no {}",
                source.display()
            ));
        }
        let major = llvm.split('.').next().unwrap_or_default();
        let folders = match &self.llvm_bin {
            Some(folder) => vec![PathBuf::from(folder)],
            None => vec![
                sysroot.join("lib/rustlib").join(&host).join("bin"),
                self.system_llvm.join(format!("llvm-{major}/bin")),
            ],
        };
        let has_tools = |folder: &&PathBuf| {
            ["opt", "llc", "llvm-link"]
                .iter()
                .all(|tool| folder.join(tool).exists())
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
        let llvm_version = tool_version
            .lines()
            .find_map(|line| line.split_once("LLVM version "))
            .map(|(_, version)| version.trim().to_owned())
            .unwrap_or_default();
        if numbers(&llvm_version).first() < numbers(&llvm).first() {
            return Err(format!(
                "LLVM's tools are {llvm_version}, older than the compiler's LLVM {llvm}"
            ));
        }
        Ok(Toolchain {
            rustc: rustc.to_owned(),
            llvm_bin: llvm_bin.clone(),
            sysroot,
            rustc_version: release,
            llvm_version,
        })
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
