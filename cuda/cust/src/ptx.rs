//! The header of a PTX text: which driver and which GPU it needs.

use std::collections::HashMap;

use crate::version::{ComputeCapability, PtxVersion};

/// The number of parameters of each kernel of a PTX text, by name.
pub(crate) fn param_counts(ptx: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let mut rest = ptx;
    while let Some(at) = rest.find(".entry") {
        rest = rest[at + ".entry".len()..].trim_start();
        let end = rest.find(|c: char| c == '(' || c == '{' || c.is_whitespace());
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        let params = after.trim_start().strip_prefix('(');
        let params = params.and_then(|list| list.split_once(')'));
        let count = params.map_or(0, |(list, _)| list.matches(".param").count());
        counts.entry(name.to_owned()).or_insert(count);
    }
    counts
}

/// The first lines of a PTX text: `.version 7.0` and `.target sm_75`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxHeader {
    /// The language version.
    pub version: PtxVersion,
    /// The lowest GPU that runs it.
    pub target: ComputeCapability,
}

impl PtxHeader {
    /// Reads the two directives; `None` if one is missing or malformed.
    pub fn parse(ptx: &str) -> Option<Self> {
        let mut version = None;
        let mut target = None;
        for line in ptx.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix(".version") {
                version = parse_version(rest);
            } else if let Some(rest) = line.strip_prefix(".target") {
                target = parse_target(rest);
            } else if line.starts_with('.') && version.is_some() && target.is_some() {
                break;
            }
        }
        Some(Self {
            version: version?,
            target: target?,
        })
    }
}

fn parse_version(rest: &str) -> Option<PtxVersion> {
    let (major, minor) = rest.split_whitespace().next()?.split_once('.')?;
    Some(PtxVersion {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

/// `sm_75`, `sm_90a`, `sm_120, debug`: all digits but the last are the major version.
fn parse_target(rest: &str) -> Option<ComputeCapability> {
    let name = rest.trim_start().strip_prefix("sm_")?;
    let end = name
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(name.len());
    let number: u32 = name.get(..end)?.parse().ok()?;
    Some(ComputeCapability {
        major: number / 10,
        minor: number % 10,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(ptx: &str) -> Option<(String, String)> {
        PtxHeader::parse(ptx).map(|h| (h.version.to_string(), h.target.to_string()))
    }

    fn pair(version: &str, target: &str) -> Option<(String, String)> {
        Some((version.to_owned(), target.to_owned()))
    }

    #[test]
    fn headers() {
        let ptx = "//\n// made by llc\n//\n\n.version 7.0\n.target sm_75\n.address_size 64\n";
        assert_eq!(header(ptx), pair("7.0", "7.5"));
        assert_eq!(
            header(".version 8.7\n.target sm_120a, debug"),
            pair("8.7", "12.0")
        );
        assert_eq!(header(".version 7.0\n.address_size 64"), None);
        assert_eq!(header(".version seven\n.target sm_75"), None);
        assert_eq!(header(""), None);
    }

    #[test]
    fn parameters_are_counted() {
        let counts = param_counts(
            ".version 7.0\n.visible .entry two(\n\t.param .u64 two_param_0,\n\t.param .align 8 \
             .b8 two_param_1[32]\n)\n.reqntid 256, 1, 1\n{ ld.param.u64 %rd1, [two_param_0]; }\n\
             .entry none()\n{}\n.visible .entry bare\n{\n}\n.func (.param .b32 r) f(.param .b32 \
             a) {}",
        );
        let mut counts: Vec<_> = counts.iter().map(|(name, &n)| (&**name, n)).collect();
        counts.sort_unstable();
        assert_eq!(counts, [("bare", 0), ("none", 0), ("two", 2)]);

        let ptx = trazar_conformance::PTX;
        let counts = param_counts(ptx);
        assert_eq!(counts.len(), ptx.matches("\n.visible .entry").count());
        assert_eq!(counts["exchange"], 4);
    }
}
