//! `cargo kernels --check`: how a checked-in file compares with what its sources give.

use std::fmt;

use cuda_builder::{Error, Header};

/// How a checked-in file compares with what its sources give.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The same, byte for byte.
    UpToDate,
    /// There is no such file yet.
    Missing,
    /// Its header says that other sources, or another builder, made it.
    Stale,
    /// Other tools made it: its bytes can't be compared, and no weaker comparison counts.
    OtherTools { theirs: String, ours: String },
    /// It differs from this line on, though sources and tools are the same.
    Different { line: usize },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpToDate => write!(f, "up to date, byte for byte"),
            Self::Missing => write!(f, "MISSING: run `cargo kernels`"),
            Self::Stale => write!(
                f,
                "STALE: the sources have changed since it was built; run `cargo kernels`"
            ),
            Self::OtherTools { theirs, ours } => write!(
                f,
                "NOT CHECKED: it was built with {theirs}, and here is {ours}; check with the \
                 former, or run `cargo kernels` with the latter"
            ),
            Self::Different { line } => write!(
                f,
                "DIFFERENT from line {line} on, though built with the same tools; run \
                 `cargo kernels`"
            ),
        }
    }
}

/// Compares a checked-in PTX file with the one that was built.
pub(crate) fn compare(checked_in: &str, built: &str) -> Result<Verdict, Error> {
    // git may check the file out with the platform's line endings.
    let checked_in = checked_in.replace("\r\n", "\n");
    let (theirs, ours) = (Header::parse(&checked_in)?, Header::parse(built)?);
    if !theirs.same_tools(&ours) {
        let tools = |header: &Header| {
            let Header {
                rustc,
                llvm,
                target,
                ..
            } = header;
            format!("rustc {rustc} and LLVM {llvm} for {target}")
        };
        return Ok(Verdict::OtherTools {
            theirs: tools(&theirs),
            ours: tools(&ours),
        });
    }
    if theirs.source_hash != ours.source_hash {
        return Ok(Verdict::Stale);
    }
    if checked_in == built {
        return Ok(Verdict::UpToDate);
    }
    let lines = checked_in.lines().zip(built.lines());
    let same = lines.take_while(|(a, b)| a == b).count();
    Ok(Verdict::Different { line: same + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ptx(hash: &str, rustc: &str, llvm: &str, code: &str) -> String {
        let header = Header {
            source_hash: hash.into(),
            rustc: rustc.into(),
            llvm: llvm.into(),
            target: "nvptx64-nvidia-cuda sm_75".into(),
        };
        format!("{header}.version 6.3\n{code}")
    }

    #[test]
    fn only_the_same_bytes_are_up_to_date() {
        let verdict = |checked_in: &str| {
            compare(checked_in, &ptx("12ab", "1.96.0", "22.1.8", "ret;\n")).expect("headers")
        };
        let same = ptx("12ab", "1.96.0", "22.1.8", "ret;\n");
        assert_eq!(verdict(&same), Verdict::UpToDate);
        assert_eq!(verdict(&same.replace('\n', "\r\n")), Verdict::UpToDate);
        assert_eq!(
            verdict(&ptx("34cd", "1.96.0", "22.1.8", "ret;\n")),
            Verdict::Stale
        );
        assert_eq!(
            verdict(&ptx("12ab", "1.96.0", "22.1.8", "exit;\n")),
            Verdict::Different { line: 7 }
        );
        assert_eq!(
            verdict(&format!("{same}ret;\n")),
            Verdict::Different { line: 8 }
        );
    }

    /// Even with the same names and parameters: only equal bytes show that the sources give this
    /// PTX.
    #[test]
    fn other_tools_are_no_check() {
        for (rustc, llvm) in [("1.97.0", "22.1.8"), ("1.96.0", "22.1.9")] {
            let checked_in = ptx("12ab", "1.96.0", "22.1.8", "ret;\n");
            let verdict = compare(&checked_in, &ptx("34cd", rustc, llvm, "ret;\n"));
            let verdict = verdict.expect("headers");
            assert!(matches!(verdict, Verdict::OtherTools { .. }));
            let message = verdict.to_string();
            assert!(
                message.starts_with("NOT CHECKED: it was built with rustc 1.96.0 and LLVM 22.1.8")
            );
            assert!(message.contains(&format!("here is rustc {rustc} and LLVM {llvm}")));
        }
    }
}
