//! What a workspace's `Cargo.toml` files say about its kernel crates, as `cargo metadata` tells it.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::Arch;
use serde_json::Value;

/// The packages that make the device library. Their version has to fit this program's: the builder
/// links parts of it.
const DEVICE_LIBRARY: &str = "trazar-cuda-std";

/// The GPUs that `--report` reports on, unless a crate says otherwise: Turing, whose
/// multiprocessors have the fewest threads and the least shared memory, and Hopper.
const REPORT: [Arch; 2] = [Arch(75), Arch(90)];

/// The kernel crates of a workspace.
pub(crate) struct Workspace {
    root: PathBuf,
    pub(crate) target_dir: PathBuf,
    /// At least one.
    pub(crate) products: Vec<Product>,
}

/// A kernel crate and the PTX that it becomes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) package: String,
    pub(crate) crate_dir: PathBuf,
    pub(crate) ptx: PathBuf,
    pub(crate) arch: Arch,
    pub(crate) features: Vec<String>,
    /// The GPUs that `--report` reports on.
    pub(crate) report: Vec<Arch>,
}

impl Workspace {
    /// Reads the workspace of the current folder; of its kernel crates all, or `only` that one.
    pub(crate) fn read(only: Option<&str>) -> Result<Self, Box<dyn Error>> {
        let metadata = cargo_metadata(&["--no-deps"])?;
        let path = |field: &str| metadata[field].as_str().unwrap_or_default().into();
        let mut products = Vec::new();
        for package in elements(&metadata["packages"]) {
            products.extend(Product::of(package)?);
        }
        if let Some(only) = only {
            products.retain(|product| product.package == only);
        }
        if products.is_empty() {
            let whose = only.unwrap_or("a package of this workspace");
            return Err(format!(
                "no kernel crate here\nsay in the Cargo.toml of {whose} where its PTX goes:\n\
                 [package.metadata.cuda-builder]\nptx = \"ptx/kernels.ptx\""
            )
            .into());
        }
        Ok(Self {
            root: path("workspace_root"),
            target_dir: path("target_directory"),
            products,
        })
    }

    /// A path as seen from the workspace's folder.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

impl Product {
    /// The kernel crate that a package is, if its `[package.metadata.cuda-builder]` says so.
    fn of(package: &Value) -> Result<Option<Self>, Box<dyn Error>> {
        let Some(table) = package["metadata"]["cuda-builder"].as_object() else {
            return Ok(None);
        };
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let crate_dir = manifest.parent().unwrap_or(Path::new(""));
        let wrong = |key: &str, wanted: &str| {
            format!(
                "{}: `{key}` in [package.metadata.cuda-builder] is not {wanted}",
                manifest.display()
            )
        };
        if let Some(key) = table
            .keys()
            .find(|key| !["ptx", "arch", "features", "report"].contains(&key.as_str()))
        {
            return Err(wrong(key, "one of ptx, arch, features, report").into());
        }
        let ptx = table.get("ptx").and_then(Value::as_str);
        let ptx = ptx.ok_or_else(|| wrong("ptx", "a path"))?;
        let arch = match table.get("arch") {
            None => Arch(75),
            Some(arch) => {
                let arch = arch.as_str().and_then(|arch| arch.parse().ok());
                arch.ok_or_else(|| wrong("arch", "a GPU architecture such as \"sm_75\""))?
            }
        };
        let features = match table.get("features") {
            None => Vec::new(),
            Some(features) => {
                let names = features.as_array().and_then(|names| {
                    let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                    names.collect()
                });
                names.ok_or_else(|| wrong("features", "a list of names"))?
            }
        };
        let report = match table.get("report") {
            None => REPORT.into_iter().filter(|&gpu| gpu >= arch).collect(),
            Some(archs) => {
                let archs: Option<Vec<Arch>> = archs.as_array().and_then(|archs| {
                    let archs = archs.iter().map(|arch| arch.as_str()?.parse().ok());
                    archs.collect()
                });
                let archs = archs.filter(|archs| archs.iter().all(|&gpu| gpu >= arch));
                archs.ok_or_else(|| {
                    let wanted = format!("a list of GPU architectures, none older than {arch}");
                    wrong("report", &wanted)
                })?
            }
        };
        Ok(Some(Self {
            package: name.to_owned(),
            crate_dir: crate_dir.to_owned(),
            ptx: normal(&crate_dir.join(ptx)),
            arch,
            features,
            report,
        }))
    }

    /// The folders of the packages that the kernels are compiled from besides their own, without
    /// those of a registry, whose version says what they are: sorted by the packages' names.
    ///
    /// Fails if the device library among the dependencies does not fit this program, or if there is
    /// none.
    pub(crate) fn path_dependencies(&self) -> Result<Vec<PathBuf>, Box<dyn Error>> {
        let manifest = self.crate_dir.join("Cargo.toml");
        let manifest = manifest.to_string_lossy();
        let mut options = vec![
            "--filter-platform",
            "nvptx64-nvidia-cuda",
            "--manifest-path",
            &manifest,
        ];
        let features = self.features.join(",");
        if !features.is_empty() {
            options.extend(["--features", &features]);
        }
        let metadata = cargo_metadata(&options)?;
        self.check_device_library(&metadata)?;
        Ok(path_dependencies(&metadata, &manifest))
    }

    fn check_device_library(&self, metadata: &Value) -> Result<(), Box<dyn Error>> {
        let versions: Vec<_> = elements(&metadata["packages"])
            .filter(|package| package["name"] == DEVICE_LIBRARY)
            .filter_map(|package| package["version"].as_str())
            .collect();
        let ours = env!("CARGO_PKG_VERSION");
        match versions[..] {
            [] => Err(format!(
                "{} does not depend on `{DEVICE_LIBRARY}`: `cargo add {DEVICE_LIBRARY} --rename \
                 cuda_std`",
                self.package
            )
            .into()),
            [theirs] if compatible(theirs) != compatible(ours) => Err(format!(
                "{} uses {DEVICE_LIBRARY} {theirs}, and this is cargo-kernels {ours}: `cargo \
                 install trazar-cuda-builder --version {}`",
                self.package,
                compatible(theirs)
            )
            .into()),
            [_] => Ok(()),
            _ => Err(format!(
                "{} uses several versions of {DEVICE_LIBRARY}: {}",
                self.package,
                versions.join(", ")
            )
            .into()),
        }
    }
}

/// The folders of the packages without a registry that the package of `manifest` uses, directly or
/// not, sorted by their names.
fn path_dependencies(metadata: &Value, manifest: &str) -> Vec<PathBuf> {
    let package = |id: &Value| elements(&metadata["packages"]).find(|package| package["id"] == *id);
    let node = |id: &Value| elements(&metadata["resolve"]["nodes"]).find(|node| node["id"] == *id);
    let own = elements(&metadata["packages"])
        .find(|package| package["manifest_path"] == manifest)
        .map(|package| &package["id"]);
    let mut next: Vec<&Value> = own.into_iter().collect();
    let mut seen = next.clone();
    let mut found = Vec::new();
    while let Some(id) = next.pop() {
        for dependency in node(id)
            .into_iter()
            .flat_map(|node| elements(&node["deps"]))
        {
            // `kind` is null, "dev" or "build".
            let compiled = elements(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
            let id = &dependency["pkg"];
            if !compiled || seen.contains(&id) {
                continue;
            }
            seen.push(id);
            next.push(id);
            let Some(package) = package(id).filter(|package| package["source"].is_null()) else {
                continue;
            };
            let name = package["name"].as_str().unwrap_or_default();
            let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
            found.push((name, manifest.parent().unwrap_or(manifest).to_owned()));
        }
    }
    found.sort();
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// The part of a version that compatible versions share: `0.1` of 0.1.2, `1` of 1.2.3.
fn compatible(version: &str) -> &str {
    let mut dots = version.match_indices('.').map(|(at, _)| at);
    let end = if version.starts_with("0.") {
        dots.nth(1)
    } else {
        dots.next()
    };
    end.map_or(version, |end| &version[..end])
}

fn elements(array: &Value) -> impl Iterator<Item = &Value> {
    array.as_array().into_iter().flatten()
}

/// The path without `.` and `..`, which need not exist.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                normal.pop();
            }
            std::path::Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

fn cargo_metadata(options: &[&str]) -> Result<Value, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .args(options)
        .output()
        .map_err(|error| format!("could not run cargo: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stderr = stderr.trim();
        return Err(stderr.strip_prefix("error: ").unwrap_or(stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(metadata: &Value) -> Value {
        let manifest = Path::new("/w/k/Cargo.toml");
        json!({ "name": "k", "manifest_path": manifest, "metadata": metadata })
    }

    #[test]
    fn a_package_says_where_its_ptx_goes() {
        let product = |table: Value| Product::of(&package(&json!({ "cuda-builder": table })));
        let found = product(json!({ "ptx": "../ptx/k.ptx" })).expect("well-formed");
        let expected = Product {
            package: "k".into(),
            crate_dir: "/w/k".into(),
            ptx: "/w/ptx/k.ptx".into(),
            arch: Arch(75),
            features: Vec::new(),
            report: vec![Arch(75), Arch(90)],
        };
        assert_eq!(found, Some(expected));
        let found = product(json!({ "ptx": "k.ptx", "arch": "sm_80", "features": ["a"] }));
        let found = found.expect("well-formed").expect("a product");
        assert_eq!(
            (found.arch, found.features, found.report),
            (Arch(80), vec!["a".to_owned()], vec![Arch(90)])
        );
        let found = product(json!({ "ptx": "k.ptx", "report": ["sm_86", "sm_120"] }));
        let found = found.expect("well-formed").expect("a product");
        assert_eq!(found.report, [Arch(86), Arch(120)]);
        assert_eq!(
            Product::of(&package(&Value::Null)).expect("well-formed"),
            None
        );
        for (table, message) in [
            (
                json!({}),
                "`ptx` in [package.metadata.cuda-builder] is not a path",
            ),
            (json!({ "ptx": "k", "arch": "75" }), "`arch` in "),
            (json!({ "ptx": "k", "features": "a" }), "`features` in "),
            (json!({ "ptx": "k", "archs": [] }), "`archs` in "),
            (json!({ "ptx": "k", "report": "sm_75" }), "`report` in "),
            (json!({ "ptx": "k", "report": ["75"] }), "`report` in "),
            (
                json!({ "ptx": "k", "arch": "sm_80", "report": ["sm_75"] }),
                "is not a list of GPU architectures, none older than sm_80",
            ),
        ] {
            let error = product(table).expect_err("wrong").to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn sources_are_those_of_packages_without_a_registry_that_are_compiled() {
        let dependency =
            |id: &str, kind: Value| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        let package = |name: &str, source: Value| {
            json!({ "id": name, "name": name, "version": "0.1.0", "source": source,
                    "manifest_path": format!("/w/{name}/Cargo.toml") })
        };
        let metadata = json!({
            "packages": [
                package("k", Value::Null), package("b", Value::Null), package("a", Value::Null),
                package("quote", json!("registry")), package("under", Value::Null),
                package("dev", Value::Null), package("build", Value::Null),
            ],
            "resolve": { "nodes": [
                { "id": "k", "deps": [
                    dependency("b", Value::Null), dependency("quote", Value::Null),
                    dependency("dev", json!("dev")), dependency("build", json!("build")) ] },
                { "id": "b", "deps": [dependency("a", Value::Null)] },
                { "id": "quote", "deps": [dependency("under", Value::Null)] },
                { "id": "a", "deps": [dependency("b", Value::Null)] },
            ] },
        });
        let folders = path_dependencies(&metadata, "/w/k/Cargo.toml");
        assert_eq!(folders, ["/w/a", "/w/b", "/w/under"].map(PathBuf::from));
    }

    #[test]
    fn the_device_library_has_to_fit() {
        let product = Product::of(&package(&json!({ "cuda-builder": { "ptx": "k.ptx" } })));
        let product = product.expect("well-formed").expect("a product");
        let with = |versions: &[&str]| {
            let packages = versions
                .iter()
                .map(|version| json!({ "name": DEVICE_LIBRARY, "version": version }));
            let metadata = json!({ "packages": packages.collect::<Vec<_>>() });
            let checked = product.check_device_library(&metadata);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(with(&[env!("CARGO_PKG_VERSION")]), Ok(()));
        for (versions, message) in [
            (&[][..], "does not depend on"),
            (&["0.0.9"], "--version 0.0`"),
            (&["77.1.0"], "--version 77`"),
            (
                &["0.1.0", "0.2.0"],
                "several versions of trazar-cuda-std: 0.1.0, 0.2.0",
            ),
        ] {
            let error = with(versions).expect_err("it does not fit");
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn versions_are_compatible_up_to_the_first_number_that_is_not_zero() {
        assert_eq!(compatible("0.1.2"), "0.1");
        assert_eq!(compatible("1.2.3"), "1");
    }
}
