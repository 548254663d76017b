//! Text for a terminal: nothing in it is taken for a command.

use std::borrow::Cow;

/// `text` with control characters, and those that turn the direction of what follows, written as
/// escapes (`\n`, `\u{1b}`). File names and arguments may hold them.
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

/// `json`, one line of JSON, with such characters written as JSON's own escapes: the same values.
pub(crate) fn printable_json(json: &str) -> String {
    let mut shown = String::new();
    for c in json.chars() {
        if acts(c) {
            shown += &format!("\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// `value` in at most some 25 characters: one of 300 digits with an exponent.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 | 1e-5..1e15 => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// Whether a terminal may do something on `c` rather than show it.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
            assert_eq!(printable_json(plain), plain);
        }
        let acting = "a\u{1b}[31m\n\t\0\u{7f}\u{9b}2J\u{202e}gnp";
        let shown = r"a\u{1b}[31m\n\t\u{0}\u{7f}\u{9b}2J\u{202e}gnp";
        assert_eq!(printable(acting), shown);
        let json = serde_json::to_string(acting).unwrap();
        let shown = printable_json(&json);
        assert!(!shown.contains(acts), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), acting);
    }
}
