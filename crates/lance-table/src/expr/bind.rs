//! Names to columns and types of all parts: syntax tree to typed tree.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, new_empty_array, new_null_array};
use arrow_cast::can_cast_types;
use arrow_schema::{DataType, Schema};

use super::evaluate::{Rows, Run, boolean};
use super::problem::problem;
use super::source::Source;
use super::syntax::{Arithmetic, Is, Kind as Syntax, Literal, Node};
use super::typed::{Kind, Step, Typed};
use super::types::is_text;
use crate::{Result, TableError};

mod arithmetic;
mod call;
mod columns;
mod compare;

/// Binds expressions of one text to a schema.
pub(super) struct Binder<'a> {
    text: &'a str,
    schema: &'a Schema,
    pub(super) sources: Vec<Source>,
}

/// A part that is bound, or a literal that takes its type from what it meets.
enum Operand {
    Typed(Typed),
    Literal { literal: Literal, at: usize },
}

impl<'a> Binder<'a> {
    pub(super) const fn new(text: &'a str, schema: &'a Schema) -> Self {
        Self { text, schema, sources: vec![] }
    }

    /// `node` with a type of its own.
    pub(super) fn bind(&mut self, node: &Node) -> Result<Typed> {
        let operand = self.operand(node)?;
        self.alone(operand)
    }

    fn operand(&mut self, node: &Node) -> Result<Operand> {
        let at = node.at;
        let typed = match &node.kind {
            Syntax::Literal(literal @ (Literal::Null | Literal::Number(_) | Literal::Text { .. })) => {
                return Ok(Operand::Literal { literal: literal.clone(), at });
            }
            Syntax::Literal(literal) => {
                Typed::constant(literal.alone().map_err(|error| self.problem(at, error))?, at)
            }
            Syntax::Column(names) => self.column(names, at)?,
            Syntax::Not(value) => {
                let value = Box::new(self.boolean(value, "NOT")?);
                Typed::new(Kind::Not(value), DataType::Boolean, at)
            }
            Syntax::Negate(value) => self.negate(value, at)?,
            Syntax::And(all) => joined(self.booleans(all, "AND")?, false, at),
            Syntax::Or(all) => joined(self.booleans(all, "OR")?, true, at),
            Syntax::Chain { first, rest } => self.chain(first, rest, at)?,
            Syntax::Compare { op, sides } => {
                let left = self.operand(&sides.0)?;
                let right = self.operand(&sides.1)?;
                self.compare(*op, left, right, at)?
            }
            Syntax::Between { value, bounds, negated } => {
                let between = self.between(value, bounds, at)?;
                negate_if(*negated, between)
            }
            Syntax::In { value, list, negated } => negate_if(*negated, self.within(value, list, at)?),
            Syntax::Like { sides, negated, any_case } => {
                let like = self.like(sides, *any_case, at)?;
                negate_if(*negated, like)
            }
            Syntax::Is { value, what, negated } => {
                let value = match what {
                    Is::Null => self.bind(value)?,
                    _ => self.boolean(value, "IS TRUE")?,
                };
                let is = Typed::new(Kind::Is { value: Box::new(value), what: *what }, DataType::Boolean, at);
                negate_if(*negated, is)
            }
            Syntax::Cast { value, to, or_null } => self.cast(value, to, *or_null, at)?,
            Syntax::Call { name, args } => self.call(name, args, at)?,
            Syntax::Case { operand, whens, otherwise } => {
                self.case(operand.as_deref(), whens, otherwise.as_deref(), at)?
            }
        };
        Ok(Operand::Typed(self.fold(typed)?))
    }

    /// `operand` with the type that it has by itself.
    fn alone(&self, operand: Operand) -> Result<Typed> {
        match operand {
            Operand::Typed(typed) => Ok(typed),
            Operand::Literal { literal, at } => {
                self.refuse_name(&literal, at)?;
                let value = literal.alone().map_err(|error| self.problem(at, error))?;
                Ok(Typed::constant(value, at))
            }
        }
    }

    /// Computes what is the same for all rows.
    fn fold(&self, typed: Typed) -> Result<Typed> {
        if !typed.is_constant() || typed.as_constant().is_some() {
            return Ok(typed);
        }
        let value = Run { text: self.text }.evaluate(&typed, &Rows { columns: vec![], len: 1 });
        match value {
            Ok(value) => Ok(Typed::constant(Arc::clone(value.array()), typed.at)),
            // A text that is no date will not become one; a division may never be reached.
            Err(error) if matches!(typed.kind, Kind::Cast { .. }) => Err(error),
            Err(_) => Ok(typed),
        }
    }

    fn boolean(&mut self, node: &Node, what: &str) -> Result<Typed> {
        let typed = self.bind(node)?;
        match typed.data_type {
            DataType::Boolean => Ok(typed),
            DataType::Null => self.cast_to(typed, &DataType::Boolean),
            ref other => {
                Err(self.problem(node.at, format!("{what} wants a condition, and this is of type {other}")))
            }
        }
    }

    fn booleans(&mut self, nodes: &[Node], what: &str) -> Result<Vec<Typed>> {
        nodes.iter().map(|node| self.boolean(node, what)).collect()
    }

    fn cast(&mut self, value: &Node, to: &DataType, or_null: bool, at: usize) -> Result<Typed> {
        let value = match self.operand(value)? {
            // Digits keep their value, and a text may be a time.
            Operand::Literal { literal: Literal::Number(digits), at } if to.is_decimal() => {
                let text = Literal::Text { value: digits, double_quoted: false };
                self.alone(Operand::Literal { literal: text, at })?
            }
            operand => self.alone(operand)?,
        };
        if !can_cast_types(&value.data_type, to) {
            return Err(self.problem(at, format!("{} cannot be cast to {to}", value.data_type)));
        }
        Ok(Typed::new(Kind::Cast { value: Box::new(value), or_null }, to.clone(), at))
    }

    /// `typed` as `to`, which holds all its values or fails.
    fn cast_to(&self, typed: Typed, to: &DataType) -> Result<Typed> {
        if typed.data_type == *to {
            return Ok(typed);
        }
        let at = typed.at;
        self.known_zones(&typed.data_type, to, at)?;
        if !can_cast_types(&typed.data_type, to) {
            return Err(self.problem(at, format!("{} cannot be used as {to}", typed.data_type)));
        }
        self.fold(Typed::new(Kind::Cast { value: Box::new(typed), or_null: false }, to.clone(), at))
    }

    /// A time without a zone can be put only into a zone that is known.
    fn known_zones(&self, from: &DataType, to: &DataType, at: usize) -> Result<()> {
        match (from, to) {
            (DataType::Timestamp(_, Some(_)), _) => Ok(()),
            (_, DataType::Timestamp(_, Some(zone))) if !super::types::knows(zone) => Err(self.problem(
                at,
                format!("of the time zone {zone} no table is at hand; write the distance from UTC, as in '…+00:00'"),
            )),
            _ => Ok(()),
        }
    }

    fn like(&mut self, sides: &(Node, Node), any_case: bool, at: usize) -> Result<Typed> {
        let (text, pattern) = self.texts(&sides.0, &sides.1, if any_case { "ILIKE" } else { "LIKE" })?;
        if is_null(&text) || is_null(&pattern) {
            return Ok(unknown(at));
        }
        Ok(Typed::new(Kind::Like { sides: Box::new((text, pattern)), any_case }, DataType::Boolean, at))
    }

    /// Two texts of one type.
    fn texts(&mut self, one: &Node, other: &Node, what: &str) -> Result<(Typed, Typed)> {
        let (one, other) = (self.operand(one)?, self.operand(other)?);
        // Beside a column, a text in double quotes is one, whatever columns there are.
        let (one, other) = match (one, other) {
            (Operand::Typed(one), other) if one.as_constant().is_none() => (one, self.plain(other)?),
            (one, Operand::Typed(other)) if other.as_constant().is_none() => (self.plain(one)?, other),
            (one, other) => (self.alone(one)?, self.alone(other)?),
        };
        let (one, other) = (self.as_text(one, what)?, self.as_text(other, what)?);
        let long = [&one, &other].into_iter().any(|side| side.data_type == DataType::LargeUtf8);
        let data_type = if long { DataType::LargeUtf8 } else { DataType::Utf8 };
        Ok((self.cast_to(one, &data_type)?, self.cast_to(other, &data_type)?))
    }

    fn plain(&self, operand: Operand) -> Result<Typed> {
        match operand {
            Operand::Literal { literal: Literal::Text { value, .. }, at } => {
                self.alone(Operand::Literal { literal: Literal::Text { value, double_quoted: false }, at })
            }
            operand => self.alone(operand),
        }
    }

    fn text_of(&mut self, node: &Node, what: &str) -> Result<Typed> {
        let typed = self.bind(node)?;
        self.as_text(typed, what)
    }

    fn as_text(&self, typed: Typed, what: &str) -> Result<Typed> {
        match &typed.data_type {
            DataType::Null => self.cast_to(typed, &DataType::Utf8),
            text if is_text(text) => Ok(typed),
            other => {
                let problem =
                    format!("{what} wants texts, and this is of type {other}; CAST(… AS STRING) makes one");
                Err(self.problem(typed.at, problem))
            }
        }
    }

    /// A text in double quotes that is the name of a column, and does not stand beside one.
    fn refuse_name(&self, literal: &Literal, at: usize) -> Result<()> {
        match literal {
            Literal::Text { value, double_quoted: true } if self.schema.index_of(value).is_ok() => {
                let name = super::print::Name(value);
                Err(self.problem(
                    at,
                    format!("double quotes make a text; the column is written {name}, the text '{value}'"),
                ))
            }
            _ => Ok(()),
        }
    }

    fn problem(&self, at: usize, what: impl std::fmt::Display) -> TableError {
        problem(self.text, at, what)
    }
}

/// OR of `all` if `decisive` is true, AND if it is false. What the others are makes no difference if one of them always
/// is `decisive`.
fn joined(all: Vec<Typed>, decisive: bool, at: usize) -> Typed {
    let constant = |typed: &Typed| boolean(typed.as_constant()?).ok()?.iter().next()?;
    if all.iter().any(|typed| constant(typed) == Some(decisive)) {
        return Typed::constant(Arc::new(BooleanArray::from(vec![decisive])), at);
    }
    let kind = if decisive { Kind::Or(all) } else { Kind::And(all) };
    Typed::new(kind, DataType::Boolean, at)
}

/// Whether it is null for all rows.
fn is_null(typed: &Typed) -> bool {
    typed.as_constant().is_some_and(|value| value.logical_null_count() > 0)
}

/// A condition that is neither true nor false.
fn unknown(at: usize) -> Typed {
    Typed::constant(new_null_array(&DataType::Boolean, 1), at)
}

fn negate_if(negated: bool, typed: Typed) -> Typed {
    if !negated {
        return typed;
    }
    let at = typed.at;
    Typed::new(Kind::Not(Box::new(typed)), DataType::Boolean, at)
}

/// No values of a type, to see what a kernel makes of it.
fn none_of(data_type: &DataType) -> ArrayRef {
    new_empty_array(data_type)
}
