//! Comparisons with one value, and with a list of many.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_arith::boolean::and_kleene;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::cmp;
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};

use super::super::function::{both, many};
use super::super::syntax::Comparison;
use super::super::typed::{List, Right, Test, Value};
use super::super::types::cast;
use super::{Rows, Run, boolean, plain_zeros};
use crate::Result;

impl Run<'_> {
    /// Whether all `tests` of `value` are true.
    pub(super) fn tests(self, value: &Value, tests: &[Test], rows: &Rows, at: usize) -> Result<Value> {
        let mut all: Option<Value> = None;
        for test in tests {
            let next = self.test(value, test, rows, at)?;
            all = Some(match all {
                None => next,
                Some(before) => self.joined(&before, &next, rows, and_kleene)?,
            });
        }
        Ok(all.unwrap_or_else(|| Value::One(Arc::new(BooleanArray::from(vec![true])))))
    }

    /// Two conditions as one.
    pub(super) fn joined(
        self,
        one: &Value,
        other: &Value,
        rows: &Rows,
        kernel: impl Fn(&BooleanArray, &BooleanArray) -> Result<BooleanArray, arrow_schema::ArrowError>,
    ) -> Result<Value> {
        if one.is_one() && other.is_one() {
            return Ok(Value::One(Arc::new(kernel(boolean(one.array())?, boolean(other.array())?)?)));
        }
        let (one, other) = (many(one, rows.len)?, many(other, rows.len)?);
        Ok(Value::Many(Arc::new(kernel(boolean(&one)?, boolean(&other)?)?)))
    }

    pub(super) fn test(self, value: &Value, test: &Test, rows: &Rows, at: usize) -> Result<Value> {
        let right = match &test.right {
            Right::Value(right) => self.evaluate(right, rows)?,
            Right::Fixed { value: answer, null } => {
                return Ok(value.with(Arc::new(fixed(value.array(), *answer, *null))));
            }
        };
        let left = cast(value.array(), &test.left).map_err(|error| self.problem(at, &error))?;
        let right = right.with(plain_zeros(right.array()));
        // Beside any other number both zeros are the same.
        let left = if right.is_one() && !is_zero(right.array()) { left } else { plain_zeros(&left) };
        let left = value.with(left);
        let compared = both(&left, &right, rows.len, |left, right| match test.op {
            Comparison::Eq => cmp::eq(left, right),
            Comparison::NotEq => cmp::neq(left, right),
            Comparison::Less => cmp::lt(left, right),
            Comparison::LessEq => cmp::lt_eq(left, right),
            Comparison::Greater => cmp::gt(left, right),
            Comparison::GreaterEq => cmp::gt_eq(left, right),
            Comparison::Distinct => cmp::distinct(left, right),
            Comparison::NotDistinct => cmp::not_distinct(left, right),
        });
        compared.map_err(|error| self.problem(at, &error))
    }

    /// Whether `value` is one of `list`.
    pub(super) fn within(self, value: &Value, list: &List, rows: &Rows, at: usize) -> Result<Value> {
        let values = plain_zeros(value.array());
        let found = found(&values, &list.values, list.has_null);
        let mut any = value.with(Arc::new(found.map_err(|error| self.problem(at, &error))?));
        for test in &list.tests {
            let next = self.test(value, test, rows, at)?;
            any = self.joined(&any, &next, rows, arrow_arith::boolean::or_kleene)?;
        }
        Ok(any)
    }
}

/// Whether the one float that there is, is 0.
fn is_zero(array: &ArrayRef) -> bool {
    array.data_type().is_floating()
        && cast(array, &DataType::Float64).is_ok_and(|float| {
            float.as_primitive_opt::<Float64Type>().is_some_and(|float| float.values().contains(&0.0))
        })
}

/// Which of `values` are among `sorted`. Whether the others are is not known if there is a null among them.
fn found(
    values: &ArrayRef,
    sorted: &ArrayRef,
    has_null: bool,
) -> Result<BooleanArray, arrow_schema::ArrowError> {
    let compare = make_comparator(values, sorted, SortOptions::default())?;
    let nulls = values.logical_nulls();
    let is_there = |row: usize| {
        let (mut low, mut high) = (0, sorted.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match compare(row, middle) {
                Ordering::Less => high = middle,
                Ordering::Equal => return true,
                Ordering::Greater => low = middle + 1,
            }
        }
        false
    };
    let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let bits = BooleanBuffer::collect_bool(values.len(), |row| valid(row) && is_there(row));
    let nulls = if has_null { Some(NullBuffer::new(bits.clone())) } else { nulls };
    Ok(BooleanArray::new(bits, nulls))
}

/// One answer for all values, and for null.
fn fixed(array: &ArrayRef, value: bool, null: Option<bool>) -> BooleanArray {
    let nulls = array.logical_nulls();
    let all = if value { BooleanBuffer::new_set(array.len()) } else { BooleanBuffer::new_unset(array.len()) };
    match (nulls, null) {
        (Some(nulls), Some(null)) => {
            let bits =
                BooleanBuffer::collect_bool(array.len(), |row| if nulls.is_null(row) { null } else { value });
            BooleanArray::new(bits, None)
        }
        (nulls, None) => BooleanArray::new(all, nulls),
        (None, Some(_)) => BooleanArray::new(all, None),
    }
}
