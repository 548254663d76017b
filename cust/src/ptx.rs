//! The header of a PTX text: which driver and which GPU it needs.

use crate::version::{ComputeCapability, PtxVersion};

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
}
