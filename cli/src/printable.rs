//! Text without control sequences for a terminal.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// `text` with control characters, and characters that change the direction of text, written as
/// escapes (`\n`, `\u{1b}`). File names and arguments may contain them.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return text.into();
    }
    let mut shown = String::new();
    for c in text.chars() {
        if acts(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

/// Writes `value` as one line of JSON, with such characters as JSON escapes.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write_json(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(out, Printable);
    Ok(value.serialize(&mut serializer)?)
}

/// JSON on one line, without characters that a terminal acts on.
struct Printable;

impl Formatter for Printable {
    fn write_string_fragment<W>(&mut self, out: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        let mut rest = fragment;
        while let Some((before, after)) = rest.split_once(acts) {
            out.write_all(before.as_bytes())?;
            for unit in rest[before.len()..rest.len() - after.len()].encode_utf16() {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = after;
        }
        out.write_all(rest.as_bytes())
    }
}

/// `value` in at most about 25 characters: very large and very small values get an exponent.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 | 1e-5..1e15 => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// Whether a terminal may act on `c` instead of showing it.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (127.0, "127"),
            (-0.25, "-0.25"),
            (1e-9, "1e-9"),
            (2147483647.0, "2147483647"),
            (1e300, "1e300"),
            (f64::MIN, "-1.7976931348623157e308"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    fn json(text: &str) -> String {
        let mut json = Vec::new();
        write_json(&mut json, &text).unwrap();
        String::from_utf8(json).unwrap()
    }

    #[test]
    fn what_acts_is_escaped_and_nothing_else() {
        for plain in [
            "mask.png",
            "Maske ä 图 e\u{301}.png",
            r"C:\new",
            "'\"",
            "\u{a0}",
        ] {
            assert_eq!(printable(plain), plain);
            assert_eq!(json(plain), serde_json::to_string(plain).unwrap());
        }
        let acting = "a\u{1b}[31m\n\t\0\u{7f}\u{9b}2J\u{202e}gnp";
        let shown = r"a\u{1b}[31m\n\t\u{0}\u{7f}\u{9b}2J\u{202e}gnp";
        assert_eq!(printable(acting), shown);
        let shown = json(acting);
        assert!(!shown.contains(acts), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), acting);
    }
}
