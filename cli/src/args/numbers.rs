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
