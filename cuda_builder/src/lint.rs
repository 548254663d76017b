//! What the builder refuses.

use crate::ir::{CallGraph, KernelRecord, Recursion};
use crate::ptx::Module;
use crate::ptxas::Resources;

/// A rule that a kernel breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lint {
    /// The kernel can reach a panic: a bounds check, an overflow check, an `unwrap`.
    Panics {
        /// The kernel.
        kernel: String,
        /// The functions that it reaches, of which one panics.
        through: Vec<String>,
    },
    /// The kernel calls a function that has no body on the device.
    Undefined {
        /// The kernel.
        kernel: String,
        /// The function.
        callee: String,
    },
    /// The kernel has another number of barriers than its source asks for.
    Barriers {
        /// The kernel.
        kernel: String,
        /// What the source asks for.
        expected: u32,
        /// What is in the PTX.
        found: u32,
    },
    /// Functions of the kernel call each other in a circle.
    Recursion {
        /// The kernel.
        kernel: String,
        /// A function of the circle.
        function: String,
    },
    /// The kernel uses double precision without saying so.
    F64 {
        /// The kernel.
        kernel: String,
    },
    /// The kernel has a stack in local memory.
    Stack {
        /// The kernel.
        kernel: String,
        /// Its size per thread.
        bytes: u32,
    },
    /// The kernel's registers don't suffice on a GPU.
    Spills {
        /// The kernel.
        kernel: String,
        /// The GPU, such as `sm_90`.
        target: String,
        /// Bytes spilled per thread, loads and stores together.
        bytes: u32,
    },
}

impl std::fmt::Display for Lint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Panics { kernel, through } => write!(
                f,
                "`{kernel}` can panic, through {}: use the views' accessors, wrapping arithmetic, \
                 and no `unwrap`",
                through.join(", ")
            ),
            Self::Undefined { kernel, callee } => {
                write!(
                    f,
                    "`{kernel}` calls `{callee}`, which has no body on the device"
                )
            }
            Self::Barriers {
                kernel,
                expected,
                found,
            } => write!(
                f,
                "`{kernel}` asks for {expected} barriers and its PTX has {found}; if a loop around \
                 a barrier is meant to be unrolled, say `barriers = {found}` in `#[kernel]`"
            ),
            Self::Recursion { kernel, function } => {
                write!(
                    f,
                    "`{kernel}` calls `{function}`, which calls itself: recursion needs a stack"
                )
            }
            Self::F64 { kernel } => write!(
                f,
                "`{kernel}` computes in double precision, which is slow on most GPUs; if it means \
                 to, say `f64` in `#[kernel]`"
            ),
            Self::Stack { kernel, bytes } => write!(
                f,
                "`{kernel}` keeps {bytes} bytes per thread in local memory: an array is indexed by \
                 a value unknown at compile time, or is passed to a function that isn't inlined"
            ),
            Self::Spills {
                kernel,
                target,
                bytes,
            } => {
                write!(
                    f,
                    "`{kernel}` spills {bytes} bytes of registers per thread on {target}"
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
        let kernel = record.name.clone();
        let (bodies, undefined) = ptx.reached(&kernel);
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
            lints.push(Lint::Panics {
                kernel: kernel.clone(),
                through,
            });
        }
        for callee in undefined {
            lints.push(Lint::Undefined {
                kernel: kernel.clone(),
                callee: callee.to_owned(),
            });
        }
        let asked = record.barriers.map_or_else(|| graph.barriers(&kernel), Ok);
        let found = ptx.barriers(&kernel);
        match asked {
            Ok(expected) if expected != found => {
                lints.push(Lint::Barriers {
                    kernel: kernel.clone(),
                    expected,
                    found,
                });
            }
            Ok(_) => {}
            Err(Recursion(function)) => lints.push(Lint::Recursion {
                kernel: kernel.clone(),
                function,
            }),
        }
        if !record.f64 && bodies.iter().any(|function| function.uses_f64) {
            lints.push(Lint::F64 {
                kernel: kernel.clone(),
            });
        }
        let bytes = bodies.iter().map(|function| function.stack).sum();
        if bytes > 0 && panics.is_empty() {
            lints.push(Lint::Stack { kernel, bytes });
        }
    }
    lints
}

/// Checks the assembler's report on a kernel.
pub(crate) fn check_resources(kernel: &str, resources: &Resources) -> Option<Lint> {
    let bytes = resources.spill_loads + resources.spill_stores;
    (bytes > 0).then(|| Lint::Spills {
        kernel: kernel.to_owned(),
        target: resources.target.clone(),
        bytes,
    })
}
