//! The parts of Python's literals that headers of `.npy` files use.

type Result<T> = std::result::Result<T, &'static str>;

/// The rest of a text that is being parsed. No function recurses, so the stack does not limit how
/// deeply a file's text may be nested.
pub(super) struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Skips white space, and `token` if it comes next. Returns whether it did.
    pub(super) fn skip(&mut self, token: char) -> bool {
        self.rest = self.rest.trim_ascii_start();
        let after = self.rest.strip_prefix(token);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    pub(super) fn expect(&mut self, token: char) -> Result<()> {
        if self.skip(token) {
            return Ok(());
        }
        Err(match token {
            '{' => "its header is no dictionary",
            ':' => "a key of its header has no value",
            _ => "its header lacks a comma or a bracket",
        })
    }

    /// Checks that only white space is left.
    pub(super) fn end(&self) -> Result<()> {
        if self.rest.trim_ascii().is_empty() {
            Ok(())
        } else {
            Err("its header goes on behind the dictionary")
        }
    }

    /// A string without escapes, in either kind of quotes.
    pub(super) fn string(&mut self) -> Result<&'a str> {
        for quote in ['\'', '"'] {
            if self.skip(quote) {
                let (string, rest) = self
                    .rest
                    .split_once(quote)
                    .ok_or("a string of its header does not end")?;
                if string.contains(['\\', '\n']) {
                    return Err("a string of its header has escapes");
                }
                self.rest = rest;
                return Ok(string);
            }
        }
        Err("a string is missing in its header")
    }

    pub(super) fn boolean(&mut self) -> Result<bool> {
        self.rest = self.rest.trim_ascii_start();
        for (text, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(text) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err("its fortran_order is neither True nor False")
    }

    /// A tuple of whole numbers: `()`, `(5,)`, `(3, 4)`.
    pub(super) fn tuple(&mut self) -> Result<Vec<usize>> {
        const BAD: &str = "its shape is no tuple of sides";
        let mut sides = Vec::new();
        if !self.skip('(') {
            return Err(BAD);
        }
        loop {
            if self.skip(')') {
                return Ok(sides);
            }
            let other = |c: char| !c.is_ascii_digit();
            let digits = self.rest.find(other).unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at(digits);
            sides.push(number.parse().map_err(|_| BAD)?);
            self.rest = rest;
            if !self.skip(',') {
                // `(5)` is a number in brackets.
                return if self.skip(')') && sides.len() > 1 {
                    Ok(sides)
                } else {
                    Err(BAD)
                };
            }
        }
    }

    /// The type of the elements: a string, or the text of the list that describes a structured
    /// type.
    pub(super) fn descr(&mut self) -> Result<&'a str> {
        self.rest = self.rest.trim_ascii_start();
        if !self.rest.starts_with('[') {
            return self.string();
        }
        let whole = self.rest;
        let mut depth = 0_usize;
        loop {
            let next = self.rest.chars().next();
            match next.ok_or("a list of its header does not end")? {
                '\'' | '"' => {
                    self.string()?;
                    continue;
                }
                '[' | '(' | '{' => depth += 1,
                ']' | ')' | '}' => depth -= 1,
                _ => {}
            }
            let mut chars = self.rest.chars();
            chars.next();
            self.rest = chars.as_str();
            if depth == 0 {
                return Ok(&whole[..whole.len() - self.rest.len()]);
            }
        }
    }
}
