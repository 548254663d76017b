//! Fix-ups of the IR before LLVM optimises it: properties of device code that rustc can't express.

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
    let mut structs = StructParams::default();
    let mut out = String::with_capacity(ir.len());
    for line in ir.lines() {
        let line = &structs.in_place(line);
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

/// Makes kernels read large structs directly from the parameter space.
///
/// rustc passes a struct of 8-byte alignment as an array of 64-bit integers, which the kernel
/// stores into a local array: `define ptx_kernel void @k([9 x i64] %0)`, `store [9 x i64] %0, ptr
/// %7`. Each 32-bit field then costs a 64-bit load and a shift. What clang writes for CUDA C++ is a
/// pointer to the parameter, `ptr byval([9 x i64]) align 8 %0`, and a `memcpy` from there. LLVM
/// divides that into one load per field that is used. Views alone, two integers, stay as they are.
#[derive(Default)]
struct StructParams {
    /// The struct parameters of the current function: name, and number of integers.
    params: Vec<(String, u64)>,
}

impl StructParams {
    fn in_place(&mut self, line: &str) -> String {
        if line.starts_with("define ") {
            self.params.clear();
            if line.starts_with("define ptx_kernel ") {
                return self.signature(line);
            }
        } else if let Some(copy) = self.copy(line) {
            return copy;
        }
        line.to_owned()
    }

    fn signature(&mut self, line: &str) -> String {
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = rest.find(" x i64] %") {
            let (before, after) = rest.split_at(at);
            let name_at = " x i64] ".len();
            let end = after[name_at..].find([',', ')']);
            let end = end.map_or(after.len(), |end| name_at + end);
            let name = &after[name_at..end];
            let count = before.rsplit_once('[');
            match count.and_then(|(before, count)| Some((before, count.parse().ok()?))) {
                Some((before, count)) if count > 2 => {
                    // Writing to a string can't fail.
                    let _ = write!(out, "{before}ptr byval([{count} x i64]) align 8 {name}");
                    self.params.push((name.to_owned(), count));
                }
                _ => {
                    out.push_str(before);
                    out.push_str(&after[..end]);
                }
            }
            rest = &after[end..];
        }
        out.push_str(rest);
        out
    }

    /// `  store [9 x i64] %0, ptr %7, align 8` of a parameter as a copy.
    fn copy(&self, line: &str) -> Option<String> {
        let store = line.strip_prefix("  store [")?;
        let (count, store) = store.split_once(" x i64] ")?;
        let (name, store) = store.split_once(", ptr ")?;
        let (to, align) = store.split_once(", align ")?;
        let (_, count) = self
            .params
            .iter()
            .find(|(param, n)| param == name && n.to_string() == count)?;
        let bytes = 8 * count;
        Some(format!(
            "  call void @llvm.memcpy.p0.p0.i64(ptr align {align} {to}, ptr align 8 {name}, \
             i64 {bytes}, i1 false)"
        ))
    }
}

/// The statics that are to lie in shared memory. They may have no initial value.
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

/// `@S = internal global [1024 x i8] undef, section ".shared"` becomes `@S = internal addrspace(3)
/// global ...`.
fn into_shared_space(line: &str) -> String {
    line.replacen(" global ", " addrspace(3) global ", 1)
        .replacen(", section \".shared\"", "", 1)
}

/// Writes each marked use of a shared static as a cast to a generic pointer. LLVM removes the casts
/// that it can follow, and then accesses shared memory directly (`ld.shared`, `st.shared`).
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
/// rustc marks the functions that it compiles. This marks the others too, at no cost: LLVM removes
/// the mark from functions that call nothing convergent.
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

/// Readable names for rustc's symbols, without the hash, which depends on the folder and on the
/// build of the compiler. The PTX is then the same wherever it is built.
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
            place: None,
            block: [32, 8, 1],
            min_blocks: Some(2),
            barriers: None,
            f64: false,
        }
    }

    #[test]
    fn shared_statics_change_their_address_space() {
        let ir = "@_RNvCs1_1x1S = internal global [4 x i8] undef, section \".shared\", align 4\n\
                  define void @k() #0 {\n  store i32 1, ptr @_RNvCs1_1x1S, align 4\n  \
                  ret void\n}\n";
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
        let ir = "@_RNvCs1_1x1S = internal global [4 x i8] zeroinitializer, section \".shared\", \
                  align 4\n";
        let error = apply(ir, &[])
            .expect_err("it has an initial value")
            .to_string();
        assert!(error.contains("`x::S`"), "{error}");
    }

    #[test]
    fn large_structs_are_read_in_the_parameter_space() {
        let ir = "define ptx_kernel void @k([2 x i64] %0, [9 x i64] %1, i32 %2, [3 x i64] %3) #4 \
                  {\n  \
                  store [2 x i64] %0, ptr %5, align 8\n  store [9 x i64] %1, ptr %6, align 8\n  \
                  store [3 x i64] %3, ptr %7, align 8\n  store i32 %2, ptr %8, align 4\n}\n\
                  define void @f([9 x i64] %1) {\n  store [9 x i64] %1, ptr %6, align 8\n}\n";
        let mut structs = StructParams::default();
        let fixed: Vec<_> = ir.lines().map(|line| structs.in_place(line)).collect();
        let expected = [
            "define ptx_kernel void @k([2 x i64] %0, ptr byval([9 x i64]) align 8 %1, i32 %2, \
             ptr byval([3 x i64]) align 8 %3) #4 {",
            "  store [2 x i64] %0, ptr %5, align 8",
            "  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %6, ptr align 8 %1, i64 72, i1 false)",
            "  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %7, ptr align 8 %3, i64 24, i1 false)",
            "  store i32 %2, ptr %8, align 4",
            "}",
            "define void @f([9 x i64] %1) {",
            "  store [9 x i64] %1, ptr %6, align 8",
            "}",
        ];
        assert_eq!(fixed, expected);
    }

    #[test]
    fn names_without_hashes_stay_apart() {
        let ir = "@alloc_12 = constant i8 0\n@alloc_34 = constant i8 1\n\
                  define void @_RNvCs1_1x1f() {\n}\n\
                  define void @_RNvCs2_1x1f() {\n}\n";
        let fixed = apply(ir, &[]).expect("well-formed");
        for name in ["@constant =", "@constant_2 =", "@x_f()", "@x_f_2()"] {
            assert!(fixed.contains(name), "{name} in {fixed}");
        }
    }
}
