//! AND and OR of any number of conditions, with three values.

use std::sync::Arc;

use arrow_arith::boolean::{and_kleene, or_kleene};
use arrow_array::{Array, BooleanArray};

use super::super::function::many;
use super::super::typed::{Typed, Value};
use super::{Rows, Run, boolean};
use crate::Result;

impl Run<'_> {
    /// OR of `all` if `decisive` is true, AND if it is false: the value that decides for itself. What can fail is
    /// computed only for rows that are not decided yet, so that `a <> 0 AND b / a > 1` has an answer for each.
    pub(super) fn all(self, all: &[Typed], rows: &Rows, decisive: bool) -> Result<Value> {
        let mut result = Value::One(Arc::new(BooleanArray::from(vec![!decisive])));
        for condition in all {
            let known = boolean(result.array())?;
            let open = undecided(known, decisive);
            if open.true_count() == 0 {
                break;
            }
            let next = if condition.fallible && !result.is_one() && open.true_count() < open.len() {
                let some = self.evaluate(condition, &rows.filter(&open)?)?;
                let some = many(&some, open.true_count())?;
                Value::Many(Arc::new(spread(boolean(&some)?, &open, decisive)))
            } else {
                self.evaluate(condition, rows)?
            };
            let kernel = if decisive { or_kleene } else { and_kleene };
            result = if result.is_one() && next.is_one() {
                Value::One(Arc::new(kernel(known, boolean(next.array())?)?))
            } else {
                let (one, other) = (many(&result, rows.len)?, many(&next, rows.len)?);
                Value::Many(Arc::new(kernel(boolean(&one)?, boolean(&other)?)?))
            };
        }
        Ok(result)
    }
}

/// Where `known` is not `decisive`.
fn undecided(known: &BooleanArray, decisive: bool) -> BooleanArray {
    let bits = if decisive { !known.values() } else { known.values().clone() };
    let bits = match known.nulls() {
        Some(nulls) => &bits | &!nulls.inner(),
        None => bits,
    };
    BooleanArray::new(bits, None)
}

/// The values of `some` where `open` is true, in their order, and `other` elsewhere.
fn spread(some: &BooleanArray, open: &BooleanArray, other: bool) -> BooleanArray {
    let mut some = some.iter();
    open.values().iter().map(|open| if open { some.next().flatten() } else { Some(other) }).collect()
}
