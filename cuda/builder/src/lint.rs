//! The rules for kernels, and the check of them.

use std::fmt;

use crate::ir::{CallGraph, KernelRecord, Recursion};
use crate::ptx::Module;
use crate::ptxas::Resources;

/// A place in a source file, written `src/lib.rs:12:5`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The file as the compiler names it: relative to the workspace's folder, or absolute.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl SourcePlace {
    /// Parses what `Display` writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (rest, column) = text.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        Some(Self {
            file: file.to_owned(),
            line: line.parse().ok()?,
            column: column.parse().ok()?,
        })
    }
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A kernel that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lint {
    /// The kernel.
    pub kernel: String,
    /// Where it is defined. Absent if it was compiled with an older `cuda_std`.
    pub place: Option<SourcePlace>,
    /// The rule, and how the kernel breaks it.
    pub rule: Rule,
}

/// A rule for kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The kernel can reach a panic: a bounds check, an overflow check, an `unwrap`.
    Panics {
        /// Where in the source. Empty if the compiled code does not say.
        at: Vec<SourcePlace>,
        /// The functions that it reaches, one of which panics.
        through: Vec<String>,
    },
    /// The kernel calls a function that has no body on the device.
    Undefined {
        /// The function.
        callee: String,
    },
    /// The number of barriers in the kernel differs from that in its source.
    Barriers {
        /// Barriers in the source.
        expected: u32,
        /// Barriers in the PTX.
        found: u32,
    },
    /// Functions of the kernel call each other in a circle.
    Recursion {
        /// A function of the circle.
        function: String,
    },
    /// The kernel uses double precision without saying so.
    F64,
    /// The kernel has a stack in local memory.
    Stack {
        /// Its size per thread.
        bytes: u32,
    },
    /// The kernel spills registers on a GPU.
    Spills {
        /// The GPU, such as `sm_90`.
        target: String,
        /// Bytes spilled per thread, loads and stores together.
        bytes: u32,
    },
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "`{}` {}", self.kernel, self.rule)
    }
}

/// The part of the message that follows the kernel's name.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panics { at, through } => {
                write!(f, "can panic")?;
                for (i, place) in at.iter().enumerate() {
                    write!(f, "{} {place}", if i == 0 { " at" } else { "," })?;
                }
                let through = through.join(", ");
                write!(
                    f,
                    ", through {through}: use the views' accessors, wrapping arithmetic, and no \
                     `unwrap`"
                )
            }
            Self::Undefined { callee } => {
                write!(f, "calls `{callee}`, which has no body on the device")
            }
            Self::Barriers { expected, found } => write!(
                f,
                "asks for {expected} barriers and its PTX has {found}; if a loop around a barrier \
                 is meant to be unrolled, say `barriers = {found}` in `#[kernel]`"
            ),
            Self::Recursion { function } => write!(
                f,
                "calls `{function}`, which calls itself: recursion needs a stack"
            ),
            Self::F64 => write!(
                f,
                "computes in double precision, which is slow on most GPUs; if it means to, say \
                 `f64` in `#[kernel]`"
            ),
            Self::Stack { bytes } => write!(
                f,
                "keeps {bytes} bytes per thread in local memory: an array is indexed by a value \
                 unknown at compile time, or is passed to a function that isn't inlined"
            ),
            Self::Spills { target, bytes } => {
                write!(
                    f,
                    "spills {bytes} bytes of registers per thread on {target}"
                )
            }
        }
    }
}

/// Checks a module before and after LLVM's optimizer.
pub(crate) fn check(kernels: &[KernelRecord], unoptimised_ir: &str, ptx: &Module) -> Vec<Lint> {
    let graph = CallGraph::of(unoptimised_ir);
    let mut lints = Vec::new();
    for record in kernels {
        let rules = rules(record, &graph, ptx);
        lints.extend(rules.into_iter().map(|rule| record.breaks(rule)));
    }
    lints
}

/// The rules that one kernel breaks.
fn rules(record: &KernelRecord, graph: &CallGraph, ptx: &Module) -> Vec<Rule> {
    let mut rules = Vec::new();
    let (bodies, undefined) = ptx.reached(&record.name);
    // A panic ends in a function that only a program defines: on the device it has no body.
    let (panics, undefined): (Vec<_>, Vec<_>) = undefined
        .into_iter()
        .partition(|name| name.contains("rust_begin_unwind") || name.contains("panic"));
    if !panics.is_empty() {
        let through = bodies
            .iter()
            .skip(1)
            .map(|function| format!("`{}`", function.name))
            .collect();
        rules.push(Rule::Panics {
            at: ptx.panic_places(&bodies),
            through,
        });
    }
    for callee in undefined {
        rules.push(Rule::Undefined {
            callee: callee.to_owned(),
        });
    }
    let asked = record
        .barriers
        .map_or_else(|| graph.barriers(&record.name), Ok);
    let found = ptx.barriers(&record.name);
    match asked {
        Ok(expected) if expected != found => rules.push(Rule::Barriers { expected, found }),
        Ok(_) => {}
        Err(Recursion(function)) => rules.push(Rule::Recursion { function }),
    }
    if !record.f64 && bodies.iter().any(|function| function.uses_f64) {
        rules.push(Rule::F64);
    }
    let bytes = bodies.iter().map(|function| function.stack).sum();
    if bytes > 0 && panics.is_empty() {
        rules.push(Rule::Stack { bytes });
    }
    rules
}

/// Checks the assembler's report on a kernel.
pub(crate) fn check_resources(kernel: &KernelRecord, resources: &Resources) -> Option<Lint> {
    let bytes = resources.spill_loads + resources.spill_stores;
    (bytes > 0).then(|| {
        kernel.breaks(Rule::Spills {
            target: resources.target.clone(),
            bytes,
        })
    })
}

impl KernelRecord {
    fn breaks(&self, rule: Rule) -> Lint {
        Lint {
            kernel: self.name.clone(),
            place: self.place.clone(),
            rule,
        }
    }
}
