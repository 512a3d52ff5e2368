//! The tokens of an expression, from the lexer of `sqlparser`.
//!
//! Its parser is not used: it makes a chain of operators as deep as it is long and frees it by recursion, so that a
//! filter of some ten thousand terms would overflow the stack.

use sqlparser::dialect::Dialect;
use sqlparser::tokenizer::{Location, Token as Lexed, TokenWithSpan, Tokenizer};

use super::problem::problem;
use crate::{Result, TableError};

/// A text has at most so many bytes.
const MAX_TEXT: usize = 4 << 20;

/// A token, and where it begins: bytes into the text.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Lexed,
    pub(super) at: usize,
}

/// Names in backticks, texts in single or double quotes, as the reference has it.
#[derive(Debug)]
struct Filters;

impl Dialect for Filters {
    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || ch == '_'
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '`' || ch == '"'
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }
}

/// The tokens of `text`, without blanks and comments.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>> {
    if text.len() > MAX_TEXT {
        let reason = format!("an expression has at most {MAX_TEXT} bytes, this one has {}", text.len());
        return Err(TableError::invalid(reason));
    }
    let mut places = Places { text, at: 0, line: 1, column: 1 };
    let lexed = Tokenizer::new(&Filters, text).tokenize_with_location();
    let lexed = lexed.map_err(|error| problem(text, places.find(error.location), error.message))?;
    let words = lexed.into_iter().filter(|token| !matches!(token.token, Lexed::Whitespace(_)));
    let tokens =
        words.map(|TokenWithSpan { token, span }| Token { kind: token, at: places.find(span.start) });
    Ok(tokens.collect())
}

/// Turns lines and columns, which must ascend, into bytes.
struct Places<'t> {
    text: &'t str,
    at: usize,
    line: u64,
    column: u64,
}

impl Places<'_> {
    fn find(&mut self, place: Location) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        for ch in rest.chars() {
            if (self.line, self.column) >= (place.line, place.column) {
                break;
            }
            self.at += ch.len_utf8();
            (self.line, self.column) =
                if ch == '\n' { (self.line + 1, 1) } else { (self.line, self.column + 1) };
        }
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bytes_of_the_text() {
        let text = "ä = 'ö\n'\n  AND -- no\n`b c` >= 1e5";
        let found = tokens(text).unwrap();
        let starts = found.iter().map(|token| &text[token.at..]).collect::<Vec<_>>();
        let expected = ["ä =", "= 'ö", "'ö", "AND", "`b c`", ">=", "1e5"];
        assert_eq!(starts.len(), expected.len());
        for (start, expected) in starts.iter().zip(expected) {
            assert!(start.starts_with(expected), "{start} {expected}");
        }
    }

    #[test]
    fn what_does_not_end_is_told_by_its_place() {
        for text in ["a = 'b", "a = `b", "a = \"b"] {
            let error = tokens(text).unwrap_err().to_string();
            assert!(error.contains("character"), "{error}");
        }
        assert!(tokens("a /* b").unwrap_err().to_string().contains("comment, at the end"));
        let long = " ".repeat(MAX_TEXT + 1);
        assert!(tokens(&long).unwrap_err().to_string().contains("at most"));
    }
}
