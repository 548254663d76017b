//! Numbers that more than one job reads.

pub(super) fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("not a finite number".into()),
    }
}

pub(super) fn size(text: &str) -> Result<(u32, u32), String> {
    let (width, height) = text.split_once(['x', 'X']).unwrap_or((text, text));
    match (width.parse(), height.parse()) {
        (Ok(0), Ok(_)) | (Ok(_), Ok(0)) => Err("both sides must be at least 1".into()),
        (Ok(width), Ok(height)) => Ok((width, height)),
        _ => Err("not a size: give N or WIDTHxHEIGHT".into()),
    }
}

/// A number of bytes, as in `2GiB`, `512M`, `1.5G` or `4000000000`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let refused =
        || "not a size of memory: give bytes, or a number as in 512MiB or 2GiB".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let number: f64 = number.parse().map_err(|_| refused())?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let (thousands, base) = match unit.as_str() {
        "" | "b" => (0, 1024.0),
        "k" | "kib" => (1, 1024.0),
        "m" | "mib" => (2, 1024.0),
        "g" | "gib" => (3, 1024.0),
        "t" | "tib" => (4, 1024.0),
        "kb" => (1, 1000.0),
        "mb" => (2, 1000.0),
        "gb" => (3, 1000.0),
        "tb" => (4, 1000.0),
        _ => return Err(refused()),
    };
    let bytes = number * f64::powi(base, thousands);
    match bytes {
        1.0..=1e18 => Ok(bytes as u64),
        _ => Err("a size of memory is at least a byte and at most 10^18 bytes".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_of_memory() {
        for (text, expected) in [
            ("1", 1),
            ("4000000000", 4_000_000_000),
            ("2GiB", 2 << 30),
            ("2 gib", 2 << 30),
            ("512m", 512 << 20),
            ("1.5K", 1536),
            ("3TB", 3_000_000_000_000),
            ("7kB", 7000),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in [
            "", "GiB", "-1G", "2XB", "0", "1e3", "2GiBs", "1..5G", "inf", "9999999T",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
