//! CASE.

use arrow_arith::boolean::and_not;
use arrow_array::{Array, ArrayRef, BooleanArray, UInt64Array, new_null_array};
use arrow_select::take::take;
use arrow_select::zip::zip;

use super::super::function::many;
use super::super::typed::{Typed, Value, When};
use super::{Rows, Run, boolean, only_true};
use crate::Result;

impl Run<'_> {
    /// Of each row the result behind the first condition that is true; it is computed for these rows only.
    pub(super) fn case(
        self,
        operand: Option<&Typed>,
        whens: &[(When, Typed)],
        otherwise: &Typed,
        rows: &Rows,
        at: usize,
    ) -> Result<Value> {
        let operand = operand.map(|operand| self.evaluate(operand, rows)).transpose()?;
        let mut left = BooleanArray::from(vec![true; rows.len]);
        let mut result: Option<ArrayRef> = None;
        for (when, then) in whens {
            let (some, holds) = match (when, &operand) {
                (When::Is(test), Some(operand)) => (None, self.test(operand, test, rows, at)?),
                (When::Is(_), None) => continue,
                (When::Holds(condition), _) if condition.fallible => {
                    let some = rows.filter(&left)?;
                    let holds = self.evaluate(condition, &some)?;
                    (Some(some.len), holds)
                }
                (When::Holds(condition), _) => (None, self.evaluate(condition, rows)?),
            };
            let holds = many(&holds, some.unwrap_or(rows.len))?;
            let holds = match some {
                None => holds,
                Some(_) => spread(&holds, &left)?,
            };
            let holds = only_true(boolean(&holds)?);
            let chosen = arrow_arith::boolean::and(&holds, &left)?;
            let values = self.of_rows(then, rows, &chosen)?;
            result = Some(match result {
                None => values,
                Some(before) => zip(&chosen, &values, &before)?,
            });
            left = and_not(&left, &chosen)?;
        }
        let values = self.of_rows(otherwise, rows, &left)?;
        Ok(Value::Many(match result {
            None => values,
            Some(before) => zip(&left, &values, &before)?,
        }))
    }

    /// The values of `typed` where `chosen` is true; elsewhere anything.
    fn of_rows(self, typed: &Typed, rows: &Rows, chosen: &BooleanArray) -> Result<ArrayRef> {
        if !typed.fallible {
            return Ok(many(&self.evaluate(typed, rows)?, rows.len)?);
        }
        if chosen.true_count() == 0 {
            return Ok(new_null_array(&typed.data_type, rows.len));
        }
        let some = rows.filter(chosen)?;
        let values = many(&self.evaluate(typed, &some)?, some.len)?;
        spread(&values, chosen)
    }
}

/// The values of `some` where `chosen` is true, in their order, and null elsewhere.
fn spread(some: &ArrayRef, chosen: &BooleanArray) -> Result<ArrayRef> {
    let mut next = 0..some.len() as u64;
    let places = chosen.values().iter().map(|chosen| if chosen { next.next() } else { None });
    Ok(take(some, &places.collect::<UInt64Array>(), None)?)
}
