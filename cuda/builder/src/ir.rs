//! A partial reader of LLVM's intermediate representation (IR) as text, for the fix-ups and the
//! barrier count.
//!
//! The text form is enough because the fix-ups are few and local, and it needs no bindings to
//! LLVM's libraries, which would tie the builder to one LLVM. Names of globals and functions start
//! with `@`.

use std::collections::{BTreeMap, HashMap};

use crate::{Error, SourcePlace};

/// What `#[kernel]` recorded about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelRecord {
    pub(crate) name: String,
    pub(crate) place: Option<SourcePlace>,
    pub(crate) block: [u32; 3],
    pub(crate) min_blocks: Option<u32>,
    pub(crate) barriers: Option<u32>,
    pub(crate) f64: bool,
}

impl KernelRecord {
    /// Parses `name=scan;at=src/scan.rs:12:15;min_blocks=2;barriers=3;f64;block=0256,0001,0001`.
    fn parse(text: &str) -> Option<Self> {
        let mut record = Self {
            name: String::new(),
            place: None,
            block: [0; 3],
            min_blocks: None,
            barriers: None,
            f64: false,
        };
        for part in text.split(';') {
            match part.split_once('=') {
                Some(("name", name)) => record.name = name.to_owned(),
                Some(("at", place)) => record.place = Some(SourcePlace::parse(place)?),
                Some(("block", extents)) => {
                    let extents: Vec<u32> = extents
                        .split(',')
                        .map_while(|extent| extent.parse().ok())
                        .collect();
                    record.block = extents.try_into().ok()?;
                }
                Some(("min_blocks", count)) => record.min_blocks = Some(count.parse().ok()?),
                Some(("barriers", count)) => record.barriers = Some(count.parse().ok()?),
                None if part == "f64" => record.f64 = true,
                _ => return None,
            }
        }
        (!record.name.is_empty() && record.block[0] > 0).then_some(record)
    }
}

/// The section in which `#[kernel]` puts its records.
pub(crate) const RECORD_SECTION: &str = "section \".cuda_std.kernel\"";

/// The kernels of a module, sorted by name.
pub(crate) fn kernel_records(ir: &str) -> Result<Vec<KernelRecord>, Error> {
    let mut records = Vec::new();
    for line in ir
        .lines()
        .filter(|line| line.starts_with('@') && line.contains(RECORD_SECTION))
    {
        let text = line
            .split_once("c\"")
            .and_then(|(_, rest)| rest.split_once('"'))
            .map(|(text, _)| text);
        let record = text.and_then(|text| KernelRecord::parse(&unescaped(text)?));
        records
            .push(record.ok_or_else(|| Error::Unexpected(format!("a kernel's record: {line}")))?);
    }
    records.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(records)
}

/// The text of a string constant: `\5C` is a backslash.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let code = from.get(..2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        rest = &from[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

/// The name that starts at `text`, which begins just after an `@`, and its length in bytes with
/// quotes.
fn name_at(text: &str) -> (&str, usize) {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find('"').unwrap_or(quoted.len());
        return (&quoted[..end], end + 2);
    }
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-$._".contains(c)))
        .unwrap_or(text.len());
    (&text[..end], end)
}

/// Replaces every `@name` by what `rename` returns for it (with the `@`); `None` leaves it as it
/// is.
pub(crate) fn map_names(line: &str, mut rename: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut in_string = false;
    while let Some(next) = rest.find(['@', '"']) {
        let (before, from) = rest.split_at(next);
        out.push_str(before);
        if let Some(after) = from.strip_prefix('"') {
            in_string = !in_string;
            out.push('"');
            rest = after;
        } else if in_string {
            out.push('@');
            rest = &from[1..];
        } else {
            let (name, len) = name_at(&from[1..]);
            match rename(name) {
                Some(new) => out.push_str(&new),
                None => out.push_str(&from[..=len]),
            }
            rest = &from[1 + len..];
        }
    }
    out.push_str(rest);
    out
}

/// The name that a line defines or declares: a global's, or that of a function.
pub(crate) fn defined_name(line: &str) -> Option<&str> {
    let from = if line.starts_with('@') {
        0
    } else if line.starts_with("define ") || line.starts_with("declare ") {
        line.find('@')?
    } else {
        return None;
    };
    Some(name_at(&line[from + 1..]).0)
}

/// The call graph: one entry per call in the text.
#[derive(Debug, Default)]
pub(crate) struct CallGraph {
    calls: HashMap<String, Vec<String>>,
}

/// Recursion: functions that call each other in a circle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Recursion(pub(crate) String);

impl CallGraph {
    /// The calls of every function that `ir` defines.
    pub(crate) fn of(ir: &str) -> Self {
        let mut graph = Self::default();
        let mut current: Option<&mut Vec<String>> = None;
        for line in ir.lines() {
            if line.starts_with("define ") {
                let name = defined_name(line).unwrap_or_default().to_owned();
                current = Some(graph.calls.entry(name).or_default());
            } else if line == "}" {
                current = None;
            } else if let Some(calls) = current.as_deref_mut()
                && let Some(callee) = callee(line)
            {
                calls.push(callee.to_owned());
            }
        }
        graph
    }

    /// The number of block barriers in one run of `function` if each call in the text runs once.
    pub(crate) fn barriers(&self, function: &str) -> Result<u32, Recursion> {
        self.count(function, &mut BTreeMap::new())
    }

    fn count<'a>(
        &'a self,
        function: &'a str,
        known: &mut BTreeMap<&'a str, Option<u32>>,
    ) -> Result<u32, Recursion> {
        match known.get(function) {
            Some(Some(count)) => return Ok(*count),
            Some(None) => return Err(Recursion(function.to_owned())),
            None => {}
        }
        known.insert(function, None);
        let mut count = 0u32;
        for callee in self.calls.get(function).into_iter().flatten() {
            count = count.saturating_add(if is_barrier(callee) {
                1
            } else {
                self.count(callee, known)?
            });
        }
        known.insert(function, Some(count));
        Ok(count)
    }
}

/// The function that the instruction in `line` calls by name.
fn callee(line: &str) -> Option<&str> {
    let call = line.find("call ")?;
    let at = call + line[call..].find('@')?;
    let (name, len) = name_at(&line[at + 1..]);
    line[at + 1 + len..].starts_with('(').then_some(name)
}

/// Whether an intrinsic is a barrier of the block.
fn is_barrier(name: &str) -> bool {
    name.starts_with("llvm.nvvm.barrier.cta.") || name.starts_with("llvm.nvvm.barrier0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_record_is_read_back() {
        let ir = r#"@K = constant [72 x i8] c"name=scan;at=C:\5Cmy \C3\A9\5Cscan.rs:12:15;\
                  barriers=3;f64;block=0032,0008,0001", section ".cuda_std.kernel", align 1"#;
        let ir = ir.replace("\\\n                  ", "");
        let expected = KernelRecord {
            name: "scan".into(),
            place: Some(SourcePlace {
                file: "C:\\my é\\scan.rs".into(),
                line: 12,
                column: 15,
            }),
            block: [32, 8, 1],
            min_blocks: None,
            barriers: Some(3),
            f64: true,
        };
        assert_eq!(kernel_records(&ir).expect("well-formed"), [expected]);
        assert!(kernel_records(&ir.replace("0032,0008", "0032,x")).is_err());
    }

    #[test]
    fn names_are_replaced_outside_strings_only() {
        let line = r#"  call void @f(ptr @"a b", ptr @f.1) ; c"@f""#;
        let renamed = map_names(line, |name| match name {
            "f" => Some("@g".into()),
            "a b" => Some("@h".into()),
            _ => None,
        });
        assert_eq!(renamed, r#"  call void @g(ptr @h, ptr @f.1) ; c"@f""#);
    }

    #[test]
    fn barriers_count_once_per_call() {
        let ir = "define void @inner() {\n  \
                  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n  ret void\n}\n\
                  define void @outer(i1 %0) {\n  \
                  tail call void @inner()\n  call void @inner()\n  ret void\n}\n";
        assert_eq!(CallGraph::of(ir).barriers("outer"), Ok(2));
        let circle =
            "define void @a() {\n  call void @b()\n}\ndefine void @b() {\n  call void @a()\n}\n";
        assert!(CallGraph::of(circle).barriers("a").is_err());
    }
}
