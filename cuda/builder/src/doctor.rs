//! The requirements for building and running kernels, and whether this machine meets them.

use std::fmt;
use std::path::Path;

use crate::driver;
use crate::process::run;
use crate::toolchain::{RUSTC_VERSION, Search};

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is, such as `LLVM's tools`.
    pub what: String,
    /// Whether building kernels requires it.
    pub needed: bool,
    /// Whether it was found.
    pub state: State,
}

/// Whether a requirement is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Found: its version and path.
    Present(String),
    /// Not found, or unusable.
    Missing {
        /// What was found instead.
        why: String,
        /// What to do: a command, or a sentence where no command helps.
        mend: String,
    },
}

/// Looks for everything: the compiler for device code, its library's source, LLVM's tools (these
/// three are needed to build kernels), NVIDIA's assembler `ptxas`, and what running on a GPU needs.
#[must_use]
pub fn examine(search: &Search, ptxas: Option<&Path>) -> Vec<Finding> {
    let mut findings = Vec::from(toolchain(search));
    findings.push(assembler(ptxas));
    findings.extend(gpus());
    findings
}

/// Whether kernels can be built: every requirement for that is met.
#[must_use]
pub fn can_build(findings: &[Finding]) -> bool {
    findings
        .iter()
        .all(|finding| !finding.needed || matches!(finding.state, State::Present(_)))
}

impl Finding {
    fn new(
        what: impl Into<String>,
        needed: bool,
        found: Result<String, String>,
        mend: &str,
    ) -> Self {
        let state = match found {
            Ok(found) => State::Present(found),
            Err(why) => State::Missing {
                why,
                mend: mend.to_owned(),
            },
        };
        Self {
            what: what.into(),
            needed,
            state,
        }
    }
}

/// `ok`, or `missing` and a second line with the remedy.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = &self.what;
        match &self.state {
            State::Present(found) => write!(f, "{what:<16} ok       {found}"),
            State::Missing { why, mend } => {
                let optional = if self.needed { "" } else { " (optional)" };
                write!(f, "{what:<16} missing  {why}{optional}\n{:<25} {mend}", "")
            }
        }
    }
}

/// The three parts of the device toolchain: those of the compiler that would be used, or else of
/// the one that comes closest.
fn toolchain(search: &Search) -> [Finding; 3] {
    let mut candidates: Vec<_> = search.candidates().collect();
    let most = candidates.iter().map(|candidate| candidate.parts()).max();
    let best = candidates
        .iter()
        .position(|candidate| Some(candidate.parts()) == most)
        .unwrap_or_default();
    let places: Vec<_> = candidates
        .iter()
        .map(|candidate| match &candidate.compiler {
            Ok(_) => candidate.name.clone(),
            Err(why) => format!("{}: {why}", candidate.name),
        })
        .collect();
    let best = candidates.swap_remove(best);
    let compiler = best.compiler.map(|compiler| {
        let rustc = compiler.rustc.display();
        format!("rustc {} at {rustc}", compiler.release)
    });
    let source = best.source.map(|folder| folder.display().to_string());
    let llvm = best
        .llvm
        .map(|(folder, version)| format!("{version} in {}", folder.display()));
    let mend = match &search.rustc {
        Some(_) => format!(
            "name a rustc {RUSTC_VERSION} or newer with its library's source in \
             TRAZAR_DEVICE_RUSTC, and LLVM's tools for it in TRAZAR_DEVICE_LLVM_BIN, or unset both"
        ),
        None => search.install().to_owned(),
    };
    [
        Finding::new(
            "device compiler",
            true,
            compiler.map_err(|_| places.join("; ")),
            &mend,
        ),
        Finding::new("library source", true, source, &mend),
        Finding::new("LLVM's tools", true, llvm, &mend),
    ]
}

/// NVIDIA's assembler, which reports the registers of each kernel.
fn assembler(ptxas: Option<&Path>) -> Finding {
    let mend = "pip install nvidia-cuda-nvcc, and name its ptxas in TRAZAR_PTXAS";
    let found = match ptxas {
        None => Err("without it, registers and spills are not checked".to_owned()),
        Some(ptxas) => match run(std::process::Command::new(ptxas).arg("--version")) {
            Ok(text) => {
                let version = text
                    .lines()
                    .find_map(|line| line.split_once("release "))
                    .and_then(|(_, rest)| rest.split(',').next())
                    .unwrap_or("of an unknown version");
                Ok(format!("{version} at {}", ptxas.display()))
            }
            Err(error) => Err(error.to_string().trim_end().to_owned()),
        },
    };
    Finding::new("ptxas", false, found, mend)
}

/// The driver, and the GPUs that it reports.
fn gpus() -> Vec<Finding> {
    let mend = "install NVIDIA's driver where kernels are to run on a GPU; the emulator needs none";
    let driver = match driver::examine() {
        Ok(driver) => driver,
        Err(why) => return vec![Finding::new("NVIDIA driver", false, Err(why), mend)],
    };
    let version = format!("for CUDA {}", driver.version);
    let mut findings = vec![Finding::new("NVIDIA driver", false, Ok(version), mend)];
    match driver.gpus {
        Ok(gpus) => {
            for (i, gpu) in gpus.into_iter().enumerate() {
                findings.push(Finding::new(format!("GPU {i}"), false, Ok(gpu), mend));
            }
        }
        Err(why) => findings.push(Finding::new(
            "GPU",
            false,
            Err(why),
            "see what `nvidia-smi` says",
        )),
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere() -> Search {
        Search {
            rustc: None,
            llvm_bin: None,
            rustup: "/nonexistent/rustup".into(),
            system_rustc: "/nonexistent/rustc".into(),
            system_llvm: "/nonexistent".into(),
        }
    }

    #[test]
    fn what_is_missing_is_said_with_what_mends_it() {
        let findings = examine(&nowhere(), None);
        assert!(!can_build(&findings));
        let text: Vec<_> = findings.iter().map(Finding::to_string).collect();
        let [compiler, source, llvm, ptxas, driver, ..] = &text[..] else {
            panic!("{text:?}")
        };
        assert!(
            compiler.starts_with(
                "device compiler  missing  rustup's toolchain 1.96.0: rustup is not installed; \
                 /nonexistent/rustc: there is no /nonexistent/rustc\n"
            ),
            "{compiler}"
        );
        for part in [compiler, source, llvm] {
            let (_, mend) = part.split_once('\n').expect("a second line");
            assert_eq!(mend.trim(), nowhere().install());
        }
        assert!(source.contains("there is no compiler"), "{source}");
        assert!(
            ptxas.contains("registers and spills are not checked (optional)"),
            "{ptxas}"
        );
        assert!(driver.starts_with("NVIDIA driver "), "{driver}");
    }

    /// The parts are reported one by one: here there is a compiler, and nothing that belongs to it.
    #[cfg(unix)]
    #[test]
    fn a_compiler_without_its_source_and_llvm_is_found() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let rustc = folder.path().join("rustc");
        let script = "#!/bin/sh\ncase $1 in\n--print) echo /nonexistent/sysroot;;\n\
                      *) printf 'release: 1.97.1\\nhost: h\\nLLVM version: 22.1.0\\n';;\nesac\n";
        std::fs::write(&rustc, script).expect("written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&rustc, mode).expect("executable");
        let search = Search {
            system_rustc: rustc.clone(),
            ..nowhere()
        };
        let findings = examine(&search, None);
        assert!(!can_build(&findings));
        let found = format!("rustc 1.97.1 at {}", rustc.display());
        assert_eq!(findings[0].state, State::Present(found));
        for (i, why) in [
            (1, "the library's source is missing"),
            (2, "opt, llc and llvm-link are missing from"),
        ] {
            let text = findings[i].to_string();
            assert!(text.contains(why), "{text}");
        }
    }

    #[test]
    fn a_named_compiler_is_mended_by_naming_another() {
        let search = Search {
            rustc: Some("/nonexistent/rustc".into()),
            ..nowhere()
        };
        let text = examine(&search, None)[0].to_string();
        assert!(text.contains("TRAZAR_DEVICE_RUSTC: there is no"), "{text}");
        assert!(text.contains("or unset both"), "{text}");
    }

    #[test]
    fn an_assembler_that_can_not_be_run_is_missing() {
        let text = assembler(Some(Path::new("/nonexistent/ptxas"))).to_string();
        assert!(
            text.contains("could not run `/nonexistent/ptxas`"),
            "{text}"
        );
    }
}
