//! What rustc can't say about device code, said in the IR before LLVM optimises it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use crate::Error;
use crate::ir::{KernelRecord, RECORD_SECTION, defined_name, map_names};

/// Applies all fix-ups to a linked module.
pub(crate) fn apply(ir: &str, kernels: &[KernelRecord]) -> Result<String, Error> {
    let names = canonical_names(ir, kernels);
    let shared = shared_statics(ir)?;
    let by_name: HashMap<&str, &KernelRecord> = kernels
        .iter()
        .map(|kernel| (kernel.name.as_str(), kernel))
        .collect();
    let mut out = String::with_capacity(ir.len());
    for line in ir.lines() {
        // The records have been read. `llvm.used` kept them alive, and nothing else.
        let bookkeeping = line.contains(RECORD_SECTION)
            || line.starts_with("@llvm.used")
            || line.starts_with("@llvm.compiler.used");
        if line.starts_with('@') && bookkeeping {
            continue;
        }
        let is_shared =
            line.starts_with('@') && defined_name(line).is_some_and(|name| shared.contains(name));
        let line = if is_shared {
            into_shared_space(line)
        } else if line.starts_with("define ") {
            with_attributes(
                line,
                defined_name(line).and_then(|name| by_name.get(name).copied()),
            )
        } else {
            line.to_owned()
        };
        let renamed = map_names(&line, |name| {
            let new = names.get(name).map_or(name, String::as_str);
            if shared.contains(name) && !is_shared {
                return Some(format!("\u{0}{new}\u{0}"));
            }
            Some(format!("@{new}"))
        });
        out.push_str(&with_casts(&renamed));
        out.push('\n');
    }
    Ok(out)
}

/// The statics that are to lie in shared memory. They come with no initial value.
fn shared_statics(ir: &str) -> Result<HashSet<&str>, Error> {
    let mut shared = HashSet::new();
    for line in ir
        .lines()
        .filter(|line| line.starts_with('@') && line.contains("section \".shared\""))
    {
        let name = defined_name(line).unwrap_or_default();
        if !line.contains(" undef,") && !line.contains(" poison,") {
            return Err(Error::SharedInitialised(format!(
                "{:#}",
                rustc_demangle::demangle(name)
            )));
        }
        shared.insert(name);
    }
    Ok(shared)
}

/// `@S = internal global [1024 x i8] undef, section ".shared"` becomes `@S = internal addrspace(3) global ...`.
fn into_shared_space(line: &str) -> String {
    line.replacen(" global ", " addrspace(3) global ", 1)
        .replacen(", section \".shared\"", "", 1)
}

/// Writes each use of a shared static, which has been marked, as a cast to a generic pointer. LLVM takes the casts
/// away again where it sees them, and then accesses shared memory directly (`ld.shared`, `st.shared`).
fn with_casts(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for (i, part) in line.split('\u{0}').enumerate() {
        if i % 2 == 0 {
            out.push_str(part);
        } else {
            // Writing to a string can't fail.
            let _ = write!(out, "addrspacecast (ptr addrspace(3) @{part} to ptr)");
        }
    }
    out
}

/// Marks a function as convergent, and gives a kernel its launch bounds.
///
/// rustc marks the functions it compiles; this covers the ones it doesn't, at no cost: LLVM takes the mark away
/// where nothing convergent is called.
fn with_attributes(line: &str, kernel: Option<&KernelRecord>) -> String {
    let Some(head) = line.strip_suffix('{') else {
        return line.to_owned();
    };
    let mut out = format!("{head}convergent ");
    if let Some(kernel) = kernel {
        let [x, y, z] = kernel.block;
        // Writing to a string can't fail.
        let _ = write!(out, "\"nvvm.reqntid\"=\"{x},{y},{z}\" ");
        if let Some(min_blocks) = kernel.min_blocks {
            let _ = write!(out, "\"nvvm.minctasm\"=\"{min_blocks}\" ");
        }
    }
    out.push('{');
    out
}

/// New names for what rustc named: readable, and without the hash that depends on where and by which build of the
/// compiler a crate was compiled. The PTX is then the same wherever it is built.
fn canonical_names(ir: &str, kernels: &[KernelRecord]) -> BTreeMap<String, String> {
    let fixed: HashSet<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let mut taken: HashSet<String> = fixed.iter().map(|&name| name.to_owned()).collect();
    let mut names = BTreeMap::new();
    for old in ir.lines().filter_map(defined_name) {
        if fixed.contains(old) || old.starts_with("llvm.") {
            continue;
        }
        let readable = if old.starts_with("alloc_") {
            "constant".to_owned()
        } else {
            readable(old)
        };
        let mut new = readable.clone();
        let mut number = 1;
        while !taken.insert(new.clone()) {
            number += 1;
            new = format!("{readable}_{number}");
        }
        names.insert(old.to_owned(), new);
    }
    names
}

/// `_RNvNvCs1234_7kernels4scan4TILE` becomes `kernels_scan_TILE`.
fn readable(symbol: &str) -> String {
    let demangled = format!("{:#}", rustc_demangle::demangle(symbol));
    let mut name = String::with_capacity(demangled.len());
    for c in demangled.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{name}")
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> KernelRecord {
        KernelRecord {
            name: "k".into(),
            block: [32, 8, 1],
            min_blocks: Some(2),
            barriers: None,
            f64: false,
        }
    }

    #[test]
    fn shared_statics_change_their_address_space() {
        let ir = "@_RNvCs1_1x1S = internal global [4 x i8] undef, section \".shared\", align 4\n\
                  define void @k() #0 {\n  store i32 1, ptr @_RNvCs1_1x1S, align 4\n  ret void\n}\n";
        let fixed = apply(ir, &[kernel()]).expect("well-formed");
        assert!(
            fixed.contains("@x_S = internal addrspace(3) global [4 x i8] undef, align 4"),
            "{fixed}"
        );
        assert!(
            fixed
                .contains("store i32 1, ptr addrspacecast (ptr addrspace(3) @x_S to ptr), align 4"),
            "{fixed}"
        );
        let bounds =
            "define void @k() #0 convergent \"nvvm.reqntid\"=\"32,8,1\" \"nvvm.minctasm\"=\"2\" {";
        assert!(fixed.contains(bounds), "{fixed}");
    }

    #[test]
    fn an_initialised_shared_static_is_refused() {
        let ir = "@_RNvCs1_1x1S = internal global [4 x i8] zeroinitializer, section \".shared\", align 4\n";
        let error = apply(ir, &[])
            .expect_err("it has an initial value")
            .to_string();
        assert!(error.contains("`x::S`"), "{error}");
    }

    #[test]
    fn names_without_hashes_stay_apart() {
        let ir = "@alloc_12 = constant i8 0\n@alloc_34 = constant i8 1\ndefine void @_RNvCs1_1x1f() {\n}\n\
                  define void @_RNvCs2_1x1f() {\n}\n";
        let fixed = apply(ir, &[]).expect("well-formed");
        for name in ["@constant =", "@constant_2 =", "@x_f()", "@x_f_2()"] {
            assert!(fixed.contains(name), "{name} in {fixed}");
        }
    }
}
