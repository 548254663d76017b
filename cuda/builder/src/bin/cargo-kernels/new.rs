//! `cargo kernels new`: writes the template of a kernel crate to a new folder.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of the template, in `templates/kernel-crate`, and the path that it gets.
///
/// `Cargo.toml` has another name there: cargo leaves a folder with a `Cargo.toml` out of the
/// package around it.
macro_rules! template {
    ($($from:literal => $to:literal),* $(,)?) => {
        [$(($to, include_str!(concat!("../../../templates/kernel-crate/", $from)))),*]
    };
}

const TEMPLATE: [(&str, &str); 7] = template![
    "Cargo.toml.liquid" => "Cargo.toml",
    "README.md" => "README.md",
    ".gitignore" => ".gitignore",
    "examples/race.rs" => "examples/race.rs",
    "src/lib.rs" => "src/lib.rs",
    "src/main.rs" => "src/main.rs",
    "tests/emulator.rs" => "tests/emulator.rs",
];

/// The crates that a new crate depends on, and their folders in a checkout.
const CRATES: [(&str, &str); 2] = [
    ("trazar-cuda-std", "cuda/std"),
    ("trazar-cust", "cuda/cust"),
];

/// Writes a kernel crate to the folder `name`. Its dependencies come from the registry, or from a
/// checkout of Trazar.
pub(crate) fn write(name: &str, checkout: Option<&Path>) -> Result<(), Box<dyn Error>> {
    check(name)?;
    let mut files = files(name);
    if let Some(checkout) = checkout {
        files[0].1 += &patch(checkout)?;
    }
    let dir = Path::new(name);
    if dir.exists() {
        return Err(format!("{name} exists already").into());
    }
    for (path, text) in files {
        let path = dir.join(path);
        let folder = path.parent().unwrap_or(dir);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    println!(
        "wrote {name}; there, `cargo test` runs its kernel in the emulator, `cargo kernels` \
         compiles it,\nand `cargo run --example race` shows the report on a planted race"
    );
    Ok(())
}

/// Refuses what cargo would refuse later.
fn check(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(fits) {
        return Ok(());
    }
    Err(format!(
        "`{name}` is no name for a crate: a letter, then letters, digits, `-` and `_`"
    ))
}

/// The files of the crate `name`, `Cargo.toml` first.
fn files(name: &str) -> Vec<(&'static str, String)> {
    let fill = |text: &str| {
        text.replace("{{project-name}}", name)
            .replace("{{crate_name}}", &name.replace('-', "_"))
    };
    TEMPLATE.map(|(path, text)| (path, fill(text))).into()
}

/// The lines of `Cargo.toml` that take the crates from a checkout.
fn patch(checkout: &Path) -> Result<String, String> {
    let mut lines = "\n# Until these are on crates.io.\n[patch.crates-io]\n".to_owned();
    for (package, folder) in CRATES {
        let folder = checkout.join(folder);
        let found = folder.join("Cargo.toml").is_file();
        let folder = fs::canonicalize(&folder).ok().filter(|_| found);
        let folder: PathBuf = folder.ok_or_else(|| {
            format!(
                "{} is no checkout of Trazar: it has no {package}",
                checkout.display()
            )
        })?;
        // A literal string of TOML, in which a backslash is a backslash.
        lines += &format!("{package} = {{ path = '{}' }}\n", folder.display());
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_template_is_written() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/kernel-crate");
        let mut found = Vec::new();
        let mut folders = vec![dir.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("readable").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = fs::read_to_string(&path).expect("text");
                    let inside = path.strip_prefix(&dir).expect("inside").to_owned();
                    found.push((inside, text));
                }
            }
        }
        let has = |text: &str| TEMPLATE.iter().any(|(_, of_template)| *of_template == text);
        found.retain(|(_, text)| !has(text));
        let left: Vec<_> = found.into_iter().map(|(path, _)| path).collect();
        assert_eq!(left, [PathBuf::from("cargo-generate.toml")]);
    }

    #[test]
    fn names_are_filled_in() {
        let files = files("byte-count");
        assert!(
            files[0].1.contains("name = \"byte-count\""),
            "{}",
            files[0].1
        );
        for (path, text) in &files {
            assert!(!text.contains("{{") && !text.contains("{%"), "{path}");
        }
        let (_, test) = &files[6];
        assert!(test.contains("use byte_count::histogram;"), "{test}");
    }

    #[test]
    fn the_template_asks_for_this_version() {
        let mut numbers = env!("CARGO_PKG_VERSION").split('.');
        let wanted = [numbers.next(), numbers.next()].map(Option::unwrap_or_default);
        let wanted = format!("version = \"{}\" }}", wanted.join("."));
        let manifest = TEMPLATE[0].1;
        assert_eq!(
            manifest.matches(&wanted).count(),
            CRATES.len(),
            "{manifest}"
        );
        for (package, _) in CRATES {
            assert!(manifest.contains(&format!("package = \"{package}\"")));
        }
    }

    #[test]
    fn a_name_that_cargo_would_refuse_is_refused() {
        for name in ["", "1st", "a b", "../a", "-a"] {
            assert!(check(name).is_err(), "{name}");
        }
        assert_eq!(check("byte-count_2"), Ok(()));
    }

    #[test]
    fn a_folder_that_is_no_checkout_is_refused() {
        let error = patch(Path::new("/nonexistent")).expect_err("there is nothing");
        assert!(error.contains("no checkout of Trazar"), "{error}");
    }
}
