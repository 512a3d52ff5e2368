//! Text to syntax tree, by strength of operators; the strengths are those of `sqlparser`.

use sqlparser::tokenizer::{Token as Lexed, Word};

use super::problem::problem;
use super::syntax::{Arithmetic, Comparison, Is, Kind, Literal, MAX_DEPTH, MAX_NESTING, Node};
use super::token::{Token, tokens};
use crate::{Result, TableError};

mod prefix;
mod types;

pub(super) use prefix::RESERVED;
pub(super) use types::name as type_name;

/// How strongly operators bind.
mod strength {
    pub(super) const OR: u8 = 5;
    pub(super) const AND: u8 = 10;
    pub(super) const NOT: u8 = 15;
    pub(super) const IS: u8 = 17;
    pub(super) const LIKE: u8 = 19;
    pub(super) const COMPARE: u8 = 20;
    pub(super) const ADD: u8 = 30;
    pub(super) const MULTIPLY: u8 = 40;
    pub(super) const CAST: u8 = 50;
}

/// The tree of `text`.
pub(super) fn parse(text: &str) -> Result<Node> {
    let mut parser = Parser { text, tokens: tokens(text)?, next: 0, depth: 0 };
    let node = parser.expression(0)?;
    parser.accept(&Lexed::SemiColon);
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

/// What may come after an operand.
enum Infix {
    Or,
    And,
    Is,
    Like { words: usize, negated: bool, any_case: bool },
    In { negated: bool },
    Between { negated: bool },
    Compare(Comparison),
    Arithmetic(Arithmetic),
    Cast,
}

impl Infix {
    const fn strength(&self) -> u8 {
        match self {
            Self::Or => strength::OR,
            Self::And => strength::AND,
            Self::Is => strength::IS,
            Self::Like { .. } => strength::LIKE,
            Self::In { .. } | Self::Between { .. } | Self::Compare(_) => strength::COMPARE,
            Self::Arithmetic(Arithmetic::Add | Arithmetic::Subtract) => strength::ADD,
            Self::Arithmetic(_) => strength::MULTIPLY,
            Self::Cast => strength::CAST,
        }
    }
}

impl Parser<'_> {
    /// An operand, and all operators behind it that bind more strongly than `above`.
    fn expression(&mut self, above: u8) -> Result<Node> {
        if self.depth >= MAX_NESTING {
            return Err(self.too_deep(self.at(), MAX_NESTING));
        }
        self.depth += 1;
        let mut left = self.prefix()?;
        while let Some(infix) = self.infix().filter(|infix| infix.strength() > above) {
            left = self.behind(left, infix)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The operator that comes next.
    fn infix(&self) -> Option<Infix> {
        let negated = self.word(0).is_some_and(|word| word.eq_ignore_ascii_case("not"));
        if let Some(word) = self.word(usize::from(negated)) {
            let words = 1 + usize::from(negated);
            let infix = match word.to_ascii_lowercase().as_str() {
                "in" => Infix::In { negated },
                "between" => Infix::Between { negated },
                "like" => Infix::Like { words, negated, any_case: false },
                "ilike" => Infix::Like { words, negated, any_case: true },
                "or" if !negated => Infix::Or,
                "and" if !negated => Infix::And,
                "is" if !negated => Infix::Is,
                _ => return None,
            };
            return Some(infix);
        }
        Some(match self.peek()? {
            Lexed::Eq | Lexed::DoubleEq => Infix::Compare(Comparison::Eq),
            Lexed::Neq => Infix::Compare(Comparison::NotEq),
            Lexed::Lt => Infix::Compare(Comparison::Less),
            Lexed::LtEq => Infix::Compare(Comparison::LessEq),
            Lexed::Gt => Infix::Compare(Comparison::Greater),
            Lexed::GtEq => Infix::Compare(Comparison::GreaterEq),
            Lexed::Plus => Infix::Arithmetic(Arithmetic::Add),
            Lexed::Minus => Infix::Arithmetic(Arithmetic::Subtract),
            Lexed::Mul => Infix::Arithmetic(Arithmetic::Multiply),
            Lexed::Div => Infix::Arithmetic(Arithmetic::Divide),
            Lexed::Mod => Infix::Arithmetic(Arithmetic::Remainder),
            Lexed::StringConcat => Infix::Arithmetic(Arithmetic::Concat),
            Lexed::DoubleColon => Infix::Cast,
            _ => return None,
        })
    }

    /// `left` with the operator `infix` that comes next, and what is to the right of it.
    ///
    /// Each kind has a function of its own, since a function takes the stack of all its branches.
    fn behind(&mut self, left: Node, infix: Infix) -> Result<Node> {
        let (at, strength) = (self.at(), infix.strength());
        let kind = match infix {
            Infix::Or => Kind::Or(self.all(left, "or", strength)?),
            Infix::And => Kind::And(self.all(left, "and", strength)?),
            Infix::Arithmetic(_) => self.chain(left, strength)?,
            Infix::Compare(op) => self.compare(left, op, strength)?,
            Infix::Is => self.is(left)?,
            Infix::Like { words, negated, any_case } => {
                self.skip(words);
                self.like(left, negated, any_case)?
            }
            Infix::In { negated } => self.within(left, negated)?,
            Infix::Between { negated } => self.between(left, negated)?,
            Infix::Cast => {
                self.skip(1);
                Kind::Cast { value: Box::new(left), to: self.data_type()?, or_null: false }
            }
        };
        self.node(kind, at)
    }

    fn chain(&mut self, left: Node, strength: u8) -> Result<Kind> {
        let first = Box::new(left);
        let mut rest = vec![];
        while let Some(Infix::Arithmetic(op)) = self.infix().filter(|next| next.strength() == strength) {
            self.skip(1);
            rest.push((op, self.expression(strength)?));
        }
        Ok(Kind::Chain { first, rest })
    }

    fn compare(&mut self, left: Node, op: Comparison, strength: u8) -> Result<Kind> {
        self.skip(1);
        Ok(Kind::Compare { op, sides: Box::new((left, self.expression(strength)?)) })
    }

    fn like(&mut self, left: Node, negated: bool, any_case: bool) -> Result<Kind> {
        let sides = Box::new((left, self.expression(strength::LIKE)?));
        if self.accept_word("escape") && !self.accept(&Lexed::SingleQuotedString("\\".into())) {
            return Err(self.unexpected(r"'\', the only escape that there is"));
        }
        Ok(Kind::Like { sides, negated, any_case })
    }

    fn within(&mut self, left: Node, negated: bool) -> Result<Kind> {
        self.skip(1 + usize::from(negated));
        self.expect(&Lexed::LParen, "a list in brackets")?;
        Ok(Kind::In { value: Box::new(left), list: self.list()?, negated })
    }

    fn between(&mut self, left: Node, negated: bool) -> Result<Kind> {
        self.skip(1 + usize::from(negated));
        let low = self.expression(strength::COMPARE)?;
        self.expect_word("and")?;
        let bounds = Box::new((low, self.expression(strength::COMPARE)?));
        Ok(Kind::Between { value: Box::new(left), bounds, negated })
    }

    /// What is joined by `word`.
    fn all(&mut self, first: Node, word: &str, strength: u8) -> Result<Vec<Node>> {
        let mut all = vec![first];
        while self.accept_word(word) {
            all.push(self.expression(strength)?);
        }
        Ok(all)
    }

    fn is(&mut self, left: Node) -> Result<Kind> {
        self.skip(1);
        let negated = self.accept_word("not");
        if self.accept_word("distinct") {
            self.expect_word("from")?;
            let op = if negated { Comparison::NotDistinct } else { Comparison::Distinct };
            return Ok(Kind::Compare { op, sides: Box::new((left, self.expression(strength::IS)?)) });
        }
        for what in [Is::Null, Is::True, Is::False, Is::Unknown] {
            if self.accept_word(what.text()) {
                return Ok(Kind::Is { value: Box::new(left), what, negated });
            }
        }
        Err(self.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM"))
    }

    /// At least one expression, up to the closing bracket.
    fn list(&mut self) -> Result<Vec<Node>> {
        let mut list = vec![self.expression(0)?];
        while self.accept(&Lexed::Comma) {
            list.push(self.expression(0)?);
        }
        self.expect(&Lexed::RParen, "a comma or a closing bracket")?;
        Ok(list)
    }

    fn node(&self, kind: Kind, at: usize) -> Result<Node> {
        Node::new(kind, at).ok_or_else(|| self.too_deep(at, MAX_DEPTH))
    }

    fn literal(&self, literal: Literal, at: usize) -> Result<Node> {
        self.node(Kind::Literal(literal), at)
    }

    fn peek(&self) -> Option<&Lexed> {
        self.tokens.get(self.next).map(|token| &token.kind)
    }

    /// The word that comes after `ahead` tokens, if it is one without quotes.
    fn word(&self, ahead: usize) -> Option<&str> {
        match &self.tokens.get(self.next.checked_add(ahead)?)?.kind {
            Lexed::Word(Word { value, quote_style: None, .. }) => Some(value),
            _ => None,
        }
    }

    fn is_word(&self, expected: &str) -> bool {
        self.word(0).is_some_and(|word| word.eq_ignore_ascii_case(expected))
    }

    /// Where the next token is.
    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |token| token.at)
    }

    const fn skip(&mut self, tokens: usize) {
        self.next = self.next.saturating_add(tokens);
    }

    fn accept(&mut self, expected: &Lexed) -> bool {
        let found = self.peek() == Some(expected);
        self.skip(usize::from(found));
        found
    }

    fn accept_word(&mut self, expected: &str) -> bool {
        let found = self.is_word(expected);
        self.skip(usize::from(found));
        found
    }

    fn expect(&mut self, expected: &Lexed, what: &str) -> Result<()> {
        if self.accept(expected) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    fn expect_word(&mut self, expected: &str) -> Result<()> {
        if self.accept_word(expected) { Ok(()) } else { Err(self.unexpected(&expected.to_uppercase())) }
    }

    fn unexpected(&self, expected: &str) -> TableError {
        self.problem(self.at(), format!("expected {expected}"))
    }

    fn too_deep(&self, at: usize, limit: usize) -> TableError {
        self.problem(at, format!("nested more than {limit} deep"))
    }

    fn problem(&self, at: usize, what: impl std::fmt::Display) -> TableError {
        problem(self.text, at, what)
    }
}
