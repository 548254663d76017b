//! Source to bitcode: one run of cargo for the device target.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Context as _;
use crate::ptx::LIBRARY;
use crate::{Arch, Error, Toolchain};

/// The compiler's target for NVIDIA GPUs.
pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// What to compile.
pub(crate) struct Job<'a> {
    /// The kernel crate's folder.
    pub(crate) crate_dir: &'a Path,
    /// The crate's features to turn on.
    pub(crate) features: &'a [String],
    /// The GPU to compile for.
    pub(crate) arch: Arch,
    /// Where cargo keeps its build.
    pub(crate) target_dir: &'a Path,
}

/// The bitcode files of a compiled crate, in linking order.
pub(crate) struct Bitcode {
    /// The kernel crate's own.
    pub(crate) own: Vec<PathBuf>,
    /// Those of its dependencies, including `core`.
    pub(crate) others: Vec<PathBuf>,
}

/// Compiles the crate and its dependencies, and unpacks the bitcode into `out`.
///
/// The crate is built as a library and never linked by rustc: only the bitcode in the libraries is
/// used. `-C no-prepopulate-passes` keeps it as rustc wrote it, so that the fix-ups and
/// the barrier count see the program before LLVM's optimizer does.
pub(crate) fn compile(toolchain: &Toolchain, job: &Job<'_>, out: &Path) -> Result<Bitcode, Error> {
    let mut artifacts = artifacts(toolchain, job)?;
    // The order of completion differs from one build to the next.
    artifacts.sort();
    let own_manifest = job.crate_dir.join("Cargo.toml");
    let own_manifest = own_manifest.canonicalize().at(&own_manifest)?;
    let mut bitcode = Bitcode {
        own: Vec::new(),
        others: Vec::new(),
    };
    for artifact in artifacts {
        let list = if artifact.manifest == own_manifest {
            &mut bitcode.own
        } else {
            &mut bitcode.others
        };
        unpack(&artifact, out, list)?;
    }
    Ok(bitcode)
}

/// One compiled library.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Artifact {
    name: String,
    manifest: PathBuf,
    rlib: PathBuf,
}

/// Runs cargo and collects the libraries that it built for the device.
fn artifacts(toolchain: &Toolchain, job: &Job<'_>) -> Result<Vec<Artifact>, Error> {
    let mut cargo = cargo(toolchain, job);
    let messages = crate::process::run(&mut cargo).map_err(|error| match error {
        Error::Tool { stderr, .. } => Error::Compile {
            crate_dir: job.crate_dir.to_owned(),
            hint: crate::error::hint(&stderr),
            stderr,
        },
        other => other,
    })?;
    let device_dir = job.target_dir.join(TARGET);
    let mut artifacts = Vec::new();
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else {
            continue;
        };
        if message["reason"] != "compiler-artifact" {
            continue;
        }
        let (Some(name), Some(manifest), Some(files)) = (
            message["target"]["name"].as_str(),
            message["manifest_path"].as_str(),
            message["filenames"].as_array(),
        ) else {
            return Err(Error::Unexpected(format!("cargo's message {line}")));
        };
        let files = files
            .iter()
            .filter_map(serde_json::Value::as_str)
            .map(PathBuf::from);
        let is_device_rlib = |file: &PathBuf| {
            file.extension()
                .is_some_and(|extension| extension == "rlib")
                && file.starts_with(&device_dir)
        };
        for rlib in files.filter(is_device_rlib) {
            let manifest = PathBuf::from(manifest);
            let manifest = manifest.canonicalize().at(manifest)?;
            artifacts.push(Artifact {
                name: name.to_owned(),
                manifest,
                rlib,
            });
        }
    }
    Ok(artifacts)
}

/// The cargo command that builds the crate for the device.
fn cargo(toolchain: &Toolchain, job: &Job<'_>) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(&program);
    cargo.current_dir(job.crate_dir);
    without_outer_settings(&mut cargo);
    let source = toolchain.sysroot.join("lib/rustlib/src/rust");
    let flags = [
        "-C".to_owned(),
        format!("target-cpu={}", job.arch),
        "-C".to_owned(),
        "no-prepopulate-passes".to_owned(),
        // MIR jump threading copies barriers into both arms of a branch.
        "-Zmir-enable-passes=-JumpThreading".to_owned(),
        // Here, since a profile's settings for one package win over those for all.
        "-Coverflow-checks=off".to_owned(),
        // There is no `std` for the device, so that no crate has to say that it needs none.
        "-Zcrate-attr=no_std".to_owned(),
        // Those that say so nevertheless are right.
        "-Aunused_attributes".to_owned(),
        format!("--remap-path-prefix={}={LIBRARY}", source.display()),
    ];
    cargo
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "false")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .args([
            "build",
            "--quiet",
            "--release",
            "--lib",
            "-Zbuild-std=core",
            "--target",
            TARGET,
        ])
        .arg("--message-format=json-render-diagnostics")
        .arg("--target-dir")
        .arg(job.target_dir)
        .stdin(Stdio::null());
    if !job.features.is_empty() {
        cargo.arg("--features").arg(job.features.join(","));
    }
    cargo
}

/// Removes the settings of an outer cargo, none of which may reach the kernel crate's build.
fn without_outer_settings(cargo: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let kept = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR"];
        let outer =
            text.starts_with("CARGO_") && !kept.iter().any(|prefix| text.starts_with(prefix));
        if outer
            || text.starts_with("RUSTC")
            || text.starts_with("RUSTFLAGS")
            || text == "RUSTUP_TOOLCHAIN"
        {
            cargo.env_remove(&name);
        }
    }
}

/// Copies a library's bitcode files to `out` and appends their paths to `list`.
fn unpack(artifact: &Artifact, out: &Path, list: &mut Vec<PathBuf>) -> Result<(), Error> {
    let mut archive = ar::Archive::new(File::open(&artifact.rlib).at(&artifact.rlib)?);
    let mut number = 0;
    while let Some(member) = archive.next_entry() {
        let mut member = member.at(&artifact.rlib)?;
        // The rest are the library's metadata.
        if !member.header().identifier().ends_with(b".o") {
            continue;
        }
        let path = out.join(format!("{}-{number}.bc", artifact.name));
        let mut file = File::create(&path).at(&path)?;
        std::io::copy(&mut member, &mut file).at(&path)?;
        list.push(path);
        number += 1;
    }
    Ok(())
}
