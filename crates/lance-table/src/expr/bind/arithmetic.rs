//! Arithmetic and joined texts. Types are those of the reference, but nothing wraps around.

use arrow_array::Array;
use arrow_schema::DataType;

use super::super::evaluate::compute;
use super::super::syntax::Literal;
use super::super::types::{common, common_integer, decimal, is_binary, is_text, wider_float};
use super::{Arithmetic, Binder, Kind, Node, Operand, Step, Typed, none_of};
use crate::Result;

impl Binder<'_> {
    pub(super) fn negate(&mut self, value: &Node, at: usize) -> Result<Typed> {
        let value = self.bind(value)?;
        let data_type = value.data_type.clone();
        let negated = data_type.is_signed_integer()
            || data_type.is_floating()
            || data_type.is_decimal()
            || matches!(data_type, DataType::Interval(_) | DataType::Duration(_) | DataType::Null);
        if !negated {
            return Err(self.problem(at, format!("there is no negative of {data_type}")));
        }
        Ok(Typed::new(Kind::Negate(Box::new(value)), data_type, at))
    }

    pub(super) fn chain(&mut self, first: &Node, rest: &[(Arithmetic, Node)], at: usize) -> Result<Typed> {
        let mut first = self.operand(first)?;
        let mut steps: Vec<Step> = vec![];
        let mut data_type = match &first {
            Operand::Typed(typed) => Some(typed.data_type.clone()),
            Operand::Literal { .. } => None,
        };
        for (op, node) in rest {
            let right = self.operand(node)?;
            let (left, right) = match (data_type, right) {
                (Some(left), Operand::Typed(right)) => (left, right),
                (Some(left), Operand::Literal { literal, at }) => {
                    let right = self.beside(*op, &literal, &left, at)?;
                    (left, right)
                }
                (None, right) => {
                    let (left, right) = self.first_pair(*op, first, right)?;
                    let data_type = left.data_type.clone();
                    first = Operand::Typed(left);
                    (data_type, right)
                }
            };
            let (as_left, as_right) = operands(*op, &left, &right.data_type);
            let result = compute(*op, &none_of(&as_left), &none_of(&as_right));
            let result = result.map_err(|_| {
                let (sign, right) = (op.text(), &right.data_type);
                self.problem(node.at, format!("there is no {left} {sign} {right}; CAST(… AS …) converts"))
            })?;
            self.known_zones(&left, &as_left, at)?;
            steps.push(Step { op: *op, left: as_left, right: self.cast_to(right, &as_right)?, at: node.at });
            data_type = Some(result.data_type().clone());
        }
        let first = Box::new(self.alone(first)?);
        let data_type = data_type.unwrap_or(DataType::Null);
        Ok(Typed::new(Kind::Chain { first, steps }, data_type, at))
    }

    /// A literal in front, and what comes behind it.
    fn first_pair(&self, op: Arithmetic, first: Operand, right: Operand) -> Result<(Typed, Typed)> {
        match (first, right) {
            (Operand::Literal { literal, at }, Operand::Typed(right)) => {
                Ok((self.beside(op, &literal, &right.data_type, at)?, right))
            }
            (first, right) => Ok((self.alone(first)?, self.alone(right)?)),
        }
    }

    fn beside(&self, op: Arithmetic, literal: &Literal, other: &DataType, at: usize) -> Result<Typed> {
        if op == Arithmetic::Concat {
            let literal = literal.clone();
            return self.plain(Operand::Literal { literal, at });
        }
        // A difference may be negative, whatever the sides are.
        let other = match other {
            DataType::UInt64 if op == Arithmetic::Subtract => &DataType::Int64,
            other => other,
        };
        let value = literal.beside(other).map_err(|error| self.problem(at, error))?;
        Ok(Typed::constant(value, at))
    }
}

/// As what the two sides of an operator are taken.
fn operands(op: Arithmetic, left: &DataType, right: &DataType) -> (DataType, DataType) {
    use DataType as T;
    let same = |both: DataType| (both.clone(), both);
    if op == Arithmetic::Concat {
        return match (left, right) {
            _ if is_binary(left) && is_binary(right) => same(common(left, right).unwrap_or(T::Binary)),
            (T::LargeUtf8, _) | (_, T::LargeUtf8) => same(T::LargeUtf8),
            _ => same(T::Utf8),
        };
    }
    match (left, right) {
        (T::Null, T::Null) => same(T::Int64),
        (T::Null, other) | (other, T::Null) => same(other.clone()),
        _ if left.is_floating() || right.is_floating() => {
            if !left.is_numeric() || !right.is_numeric() {
                return (left.clone(), right.clone());
            }
            let float = match (left.is_floating(), right.is_floating()) {
                (true, true) => wider_float(left, right),
                _ if left.is_decimal() || right.is_decimal() => T::Float64,
                (true, false) => left.clone(),
                _ => right.clone(),
            };
            same(float)
        }
        _ if left.is_integer() && right.is_integer() => match common_integer(left, right) {
            Some(integer) => same(integer),
            None => same(T::Decimal128(20, 0)),
        },
        _ if left.is_numeric() && right.is_numeric() => {
            let long = [left, right].iter().any(|side| matches!(side, T::Decimal256(..)));
            let exact = |side: &DataType| match decimal(side) {
                Some((precision, scale)) if long => T::Decimal256(precision, scale),
                Some((precision, scale)) => T::Decimal128(precision, scale),
                None => side.clone(),
            };
            (exact(left), exact(right))
        }
        // Days from one date to another.
        (T::Date32, T::Date32) if op == Arithmetic::Subtract => same(T::Int64),
        _ if (is_text(left) || is_text(right)) || op != Arithmetic::Subtract => (left.clone(), right.clone()),
        (T::Timestamp(..), T::Timestamp(..) | T::Date32 | T::Date64)
        | (T::Date32 | T::Date64, T::Timestamp(..)) => {
            common(left, right).map_or_else(|| (left.clone(), right.clone()), same)
        }
        _ => (left.clone(), right.clone()),
    }
}
