//! Comparisons: `=`, `<`, BETWEEN, IN, and the cases of CASE.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_ord::sort::sort;
use arrow_schema::DataType;
use arrow_select::concat::concat;

use super::super::evaluate::plain_zeros;
use super::super::literal::Met;
use super::super::syntax::{Comparison, Literal, Node};
use super::super::typed::{Kind, List, Right, Test, Typed};
use super::super::types::{common, is_ordered};
use super::{Binder, Operand, is_null, none_of, unknown};
use crate::Result;

impl Binder<'_> {
    pub(super) fn compare(&self, op: Comparison, left: Operand, right: Operand, at: usize) -> Result<Typed> {
        let (op, left, right) = match (left, right) {
            (literal @ Operand::Literal { .. }, typed @ Operand::Typed(_)) => (op.flipped(), typed, literal),
            sides => (op, sides.0, sides.1),
        };
        let left = self.alone(left)?;
        if let (Some(_), Operand::Literal { literal, at }) = (left.as_constant(), &right) {
            self.refuse_name(literal, *at)?;
        }
        let test = self.test(op, &left, right, at)?;
        let plain = !matches!(op, Comparison::Distinct | Comparison::NotDistinct);
        if plain && (is_null(&left) || test.value().is_some_and(is_null)) {
            return Ok(unknown(at));
        }
        let tests = vec![test];
        Ok(Typed::new(Kind::Compare { value: Box::new(left), tests }, DataType::Boolean, at))
    }

    pub(super) fn between(&mut self, value: &Node, bounds: &(Node, Node), at: usize) -> Result<Typed> {
        let ops = [Comparison::GreaterEq, Comparison::LessEq];
        let bounds = [self.operand(&bounds.0)?, self.operand(&bounds.1)?];
        match self.operand(value)? {
            Operand::Typed(value) => {
                let tests = ops.into_iter().zip(bounds).map(|(op, bound)| self.test(op, &value, bound, at));
                let tests = tests.collect::<Result<_>>()?;
                Ok(Typed::new(Kind::Compare { value: Box::new(value), tests }, DataType::Boolean, at))
            }
            Operand::Literal { literal, at: place } => {
                let both = ops.into_iter().zip(bounds).map(|(op, bound)| {
                    self.compare(op, Operand::Literal { literal: literal.clone(), at: place }, bound, at)
                });
                Ok(Typed::new(Kind::And(both.collect::<Result<_>>()?), DataType::Boolean, at))
            }
        }
    }

    pub(super) fn within(&mut self, value: &Node, list: &[Node], at: usize) -> Result<Typed> {
        let value = match self.operand(value)? {
            Operand::Typed(value) => value,
            Operand::Literal { literal, at: place } => {
                let any = list.iter().map(|item| {
                    let literal = Operand::Literal { literal: literal.clone(), at: place };
                    let item = self.operand(item)?;
                    self.compare(Comparison::Eq, literal, item, at)
                });
                return Ok(Typed::new(Kind::Or(any.collect::<Result<_>>()?), DataType::Boolean, at));
            }
        };
        let (mut values, mut has_null, mut tests) = (vec![], false, vec![]);
        for item in list {
            let literal = match self.operand(item)? {
                Operand::Literal { literal, at } => (literal, at),
                item => {
                    tests.push(self.test(Comparison::Eq, &value, item, at)?);
                    continue;
                }
            };
            match self.meet(&literal.0, &value, literal.1)? {
                Met::At(found) if found.is_null(0) => has_null = true,
                Met::At(found) if *found.data_type() == value.data_type => values.push(found),
                Met::At(found) => {
                    let found = Operand::Typed(Typed::constant(found, literal.1));
                    tests.push(self.test(Comparison::Eq, &value, found, at)?);
                }
                // No value is equal to what lies between two values, or outside.
                Met::Above(_) | Met::Below | Met::Beyond => {}
            }
        }
        let list = List { values: self.sorted(&values, &value.data_type, at)?, has_null, tests };
        Ok(Typed::new(Kind::In { value: Box::new(value), list }, DataType::Boolean, at))
    }

    fn sorted(&self, values: &[ArrayRef], data_type: &DataType, at: usize) -> Result<ArrayRef> {
        if values.is_empty() {
            return Ok(none_of(data_type));
        }
        let values = values.iter().map(AsRef::as_ref).collect::<Vec<_>>();
        let sorted = concat(&values).and_then(|values| sort(&plain_zeros(&values), None));
        sorted.map_err(|error| self.problem(at, error))
    }

    /// The comparison of `left` with `right`.
    pub(super) fn test(&self, op: Comparison, left: &Typed, right: Operand, at: usize) -> Result<Test> {
        let right = match right {
            Operand::Typed(right) => right,
            Operand::Literal { literal, at: place } => {
                let met = self.meet(&literal, left, place)?;
                match fixed(op, &met) {
                    Some(value) => {
                        let null = match op {
                            Comparison::Distinct => Some(true),
                            Comparison::NotDistinct => Some(false),
                            _ => None,
                        };
                        return Ok(Test {
                            op,
                            left: left.data_type.clone(),
                            right: Right::Fixed { value, null },
                        });
                    }
                    None => {
                        let (op, value) = beside(op, met);
                        let Some(value) = value else { return Err(self.problem(place, "no such literal")) };
                        return self.test(op, left, Operand::Typed(Typed::constant(value, place)), at);
                    }
                }
            }
        };
        let both = common(&left.data_type, &right.data_type);
        let Some(both) = both else {
            let (one, other) = (&left.data_type, &right.data_type);
            return Err(
                self.problem(at, format!("{one} and {other} cannot be compared; CAST(… AS …) converts"))
            );
        };
        if !is_ordered(&both) {
            return Err(self.problem(at, format!("values of type {both} cannot be compared")));
        }
        self.known_zones(&left.data_type, &both, left.at)?;
        Ok(Test { op, right: Right::Value(Box::new(self.cast_to(right, &both)?)), left: both })
    }

    /// What `literal` is among the values of `beside`.
    fn meet(&self, literal: &Literal, beside: &Typed, at: usize) -> Result<Met> {
        let met = literal.meets(&beside.data_type);
        met.map_err(|error| match literal {
            Literal::Text { value, double_quoted: true } if self.schema.index_of(value).is_ok() => {
                self.refuse_name(literal, at).err().unwrap_or_else(|| self.problem(at, error))
            }
            _ => self.problem(at, error),
        })
    }
}

/// The answer of a comparison with something that no value is equal to, where it is the same for all values.
const fn fixed(op: Comparison, met: &Met) -> Option<bool> {
    use Comparison as C;
    match (op, met) {
        (_, Met::At(_)) => None,
        (C::Eq | C::NotDistinct, _) => Some(false),
        (C::NotEq | C::Distinct, _) => Some(true),
        (_, Met::Above(_)) => None,
        (C::Less | C::LessEq, Met::Beyond) | (C::Greater | C::GreaterEq, Met::Below) => Some(true),
        (C::Less | C::LessEq, Met::Below) | (C::Greater | C::GreaterEq, Met::Beyond) => Some(false),
    }
}

/// The comparison with a value that stands for the one with `met`.
fn beside(op: Comparison, met: Met) -> (Comparison, Option<ArrayRef>) {
    match met {
        Met::At(value) => (op, Some(Arc::clone(&value))),
        Met::Above(value) => match op {
            Comparison::Less => (Comparison::LessEq, Some(value)),
            Comparison::GreaterEq => (Comparison::Greater, Some(value)),
            op => (op, Some(value)),
        },
        Met::Below | Met::Beyond => (op, None),
    }
}
