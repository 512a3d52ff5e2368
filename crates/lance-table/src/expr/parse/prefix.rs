//! What an expression may begin with: literals, names, calls, brackets, and operators before a term.

use arrow_schema::{DataType, TimeUnit};
use sqlparser::tokenizer::{Token as Lexed, Word};

use super::super::syntax::{Kind, Literal, Node};
use super::{Parser, strength};
use crate::Result;

/// Words that cannot be the name of a column unless it is in backticks.
pub(in crate::expr) const RESERVED: &[&str] = &[
    "and", "between", "case", "cast", "else", "end", "escape", "false", "ilike", "in", "is", "like", "not",
    "null", "or", "then", "true", "try_cast", "when",
];

impl Parser<'_> {
    pub(super) fn prefix(&mut self) -> Result<Node> {
        match self.peek() {
            Some(Lexed::Word(_)) => self.begins_with_word(),
            Some(Lexed::LParen) => self.brackets(),
            Some(Lexed::Plus | Lexed::Minus) => self.signed(),
            _ => self.plain_literal(),
        }
    }

    fn brackets(&mut self) -> Result<Node> {
        self.skip(1);
        let inner = self.expression(0)?;
        self.expect(&Lexed::RParen, "an operator or a closing bracket")?;
        Ok(inner)
    }

    fn plain_literal(&mut self) -> Result<Node> {
        let at = self.at();
        let literal = match self.peek() {
            Some(Lexed::Number(digits, false)) => Literal::Number(digits.replace('_', "")),
            Some(Lexed::SingleQuotedString(value)) => {
                Literal::Text { value: value.clone(), double_quoted: false }
            }
            Some(Lexed::HexStringLiteral(digits)) => match bytes(digits) {
                Some(bytes) => Literal::Bytes(bytes),
                None => return Err(self.problem(at, "bytes have two hexadecimal digits each")),
            },
            Some(Lexed::Placeholder(_) | Lexed::Colon) => {
                return Err(self.problem(at, "parameters are not supported, write the value"));
            }
            Some(Lexed::LBracket) => return Err(self.problem(at, "lists cannot be written as literals")),
            _ => return Err(self.unexpected("a column, a literal or a bracket")),
        };
        self.skip(1);
        self.literal(literal, at)
    }

    /// A sign and what it stands before. Of a literal it is a part, so that the smallest integer can be written.
    fn signed(&mut self) -> Result<Node> {
        let at = self.at();
        let minus = matches!(self.peek(), Some(Lexed::Minus));
        self.skip(1);
        let value = self.expression(strength::MULTIPLY)?;
        match value.kind {
            _ if !minus => Ok(value),
            Kind::Literal(Literal::Number(digits)) => {
                let digits = match digits.strip_prefix('-') {
                    Some(positive) => positive.to_string(),
                    None => format!("-{digits}"),
                };
                self.literal(Literal::Number(digits), at)
            }
            _ => self.node(Kind::Negate(Box::new(value)), at),
        }
    }

    fn begins_with_word(&mut self) -> Result<Node> {
        let at = self.at();
        let Some(word) = self.word(0).map(str::to_ascii_lowercase) else { return self.quoted(at) };
        self.skip(1);
        match word.as_str() {
            "not" => self.not(at),
            "case" => self.case(at),
            "cast" | "try_cast" => self.cast(at, word == "try_cast"),
            "extract" if self.accept(&Lexed::LParen) => self.extract(at),
            _ if !RESERVED.contains(&word.as_str()) && self.accept(&Lexed::LParen) => self.function(word, at),
            _ => self.one_word(&word, at),
        }
    }

    fn not(&mut self, at: usize) -> Result<Node> {
        let value = self.expression(strength::NOT)?;
        self.node(Kind::Not(Box::new(value)), at)
    }

    fn function(&mut self, name: String, at: usize) -> Result<Node> {
        let args = if self.accept(&Lexed::RParen) { vec![] } else { self.list()? };
        self.node(Kind::Call { name, args }, at)
    }

    /// A name in backticks, or a text in double quotes.
    fn quoted(&mut self, at: usize) -> Result<Node> {
        let Some(Lexed::Word(Word { value, quote_style, .. })) = self.peek() else {
            return Err(self.unexpected("a name"));
        };
        let (value, quote_style) = (value.clone(), *quote_style);
        self.skip(1);
        match quote_style {
            Some('"') => self.literal(Literal::Text { value, double_quoted: true }, at),
            _ => self.column(value, at),
        }
    }

    /// A word that was passed: a literal, or the name of a column.
    fn one_word(&mut self, lower: &str, at: usize) -> Result<Node> {
        match lower {
            "null" => return self.literal(Literal::Null, at),
            "true" => return self.literal(Literal::Bool(true), at),
            "false" => return self.literal(Literal::Bool(false), at),
            "date" if self.at_text() => return self.typed(DataType::Date32, at),
            "time" if self.at_text() => return self.typed(DataType::Time64(TimeUnit::Microsecond), at),
            "timestamp" if self.at_text() => {
                return self.typed(DataType::Timestamp(TimeUnit::Microsecond, None), at);
            }
            "interval" if self.at_text() => {
                let Some(text) = self.text() else { return Err(self.unexpected("a text")) };
                return self.literal(Literal::Interval(text), at);
            }
            _ => {}
        }
        let word = self.text.get(at..).and_then(|rest| rest.get(..lower.len())).unwrap_or(lower).to_string();
        if RESERVED.contains(&lower) {
            let hint = format!("{word} is a word of the language; a column of this name is written `{word}`");
            return Err(self.problem(at, hint));
        }
        self.column(word, at)
    }

    /// A column that begins with `name`: `a.b`, `` a.`b` ``, `a['b']`.
    fn column(&mut self, name: String, at: usize) -> Result<Node> {
        let mut names = vec![name];
        loop {
            if self.accept(&Lexed::Period) {
                match self.tokens.get(self.next).map(|token| token.kind.clone()) {
                    Some(Lexed::Word(Word { value, .. })) => names.push(value),
                    _ => return Err(self.unexpected("the name of a field")),
                }
                self.skip(1);
            } else if self.accept(&Lexed::LBracket) {
                let Some(name) = self.text() else {
                    return Err(
                        self.problem(self.at(), "elements of lists cannot be picked, only fields by name")
                    );
                };
                names.push(name);
                self.expect(&Lexed::RBracket, "a closing bracket")?;
            } else {
                return self.node(Kind::Column(names), at);
            }
        }
    }

    fn case(&mut self, at: usize) -> Result<Node> {
        let operand = if self.is_word("when") { None } else { Some(Box::new(self.expression(0)?)) };
        let mut whens = vec![];
        while self.accept_word("when") {
            let when = self.expression(0)?;
            self.expect_word("then")?;
            whens.push((when, self.expression(0)?));
        }
        if whens.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = if self.accept_word("else") { Some(Box::new(self.expression(0)?)) } else { None };
        self.expect_word("end")?;
        self.node(Kind::Case { operand, whens, otherwise }, at)
    }

    fn cast(&mut self, at: usize, or_null: bool) -> Result<Node> {
        self.expect(&Lexed::LParen, "an opening bracket")?;
        let value = Box::new(self.expression(0)?);
        self.expect_word("as")?;
        let to = self.data_type()?;
        self.expect(&Lexed::RParen, "a closing bracket")?;
        self.node(Kind::Cast { value, to, or_null }, at)
    }

    /// `EXTRACT(part FROM value)`, which is the same as `date_part('part', value)`.
    fn extract(&mut self, at: usize) -> Result<Node> {
        let place = self.at();
        let Some(part) = self.word(0).map(str::to_ascii_lowercase) else {
            return Err(self.unexpected("a part of a date or time, such as YEAR"));
        };
        self.skip(1);
        self.expect_word("from")?;
        let part = self.literal(Literal::Text { value: part, double_quoted: false }, place)?;
        let args = vec![part, self.expression(0)?];
        self.expect(&Lexed::RParen, "a closing bracket")?;
        self.node(Kind::Call { name: "date_part".into(), args }, at)
    }

    /// A text that stands for a value of the type `to`.
    fn typed(&mut self, to: DataType, at: usize) -> Result<Node> {
        let place = self.at();
        let Some(value) = self.text() else { return Err(self.unexpected("a text")) };
        let value = Box::new(self.literal(Literal::Text { value, double_quoted: false }, place)?);
        self.node(Kind::Cast { value, to, or_null: false }, at)
    }

    fn at_text(&self) -> bool {
        matches!(self.peek(), Some(Lexed::SingleQuotedString(_)))
    }

    /// The text that comes next.
    fn text(&mut self) -> Option<String> {
        let Some(Lexed::SingleQuotedString(text)) = self.peek() else { return None };
        let text = text.clone();
        self.skip(1);
        Some(text)
    }
}

/// The bytes that hexadecimal `digits` stand for.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()));
    let digits = digits.collect::<Option<Vec<_>>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}
