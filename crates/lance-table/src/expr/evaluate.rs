//! A typed tree over the rows of a batch, by Arrow's kernels.

use std::sync::Arc;

use arrow_arith::boolean::{is_null, not};
use arrow_arith::numeric;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_schema::{ArrowError, DataType};
use arrow_select::filter::{filter, prep_null_mask_filter};
use arrow_string::concat_elements::concat_elements_dyn;
use arrow_string::like::{ilike, like};

use super::function::{both, many};
use super::problem::problem;
use super::syntax::{Arithmetic, Is};
use super::typed::{Kind, Step, Typed, Value};
use super::types::{cast, cast_or};
use crate::{Result, TableError};

mod branch;
mod compare;
mod logic;

/// The rows that an expression is evaluated over.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    /// The columns that it was bound to, in their order.
    pub(super) columns: Vec<ArrayRef>,
    pub(super) len: usize,
}

/// An evaluation, with the text that errors point into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'t> {
    pub(super) text: &'t str,
}

impl Rows {
    /// The rows that `keep` says true of.
    fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        let columns = self.columns.iter().map(|column| Ok(filter(column, keep)?)).collect::<Result<_>>()?;
        Ok(Self { columns, len: keep.true_count() })
    }
}

impl Run<'_> {
    pub(super) fn evaluate(self, typed: &Typed, rows: &Rows) -> Result<Value> {
        let at = typed.at;
        let fail = |error: ArrowError| self.problem(at, &error);
        Ok(match &typed.kind {
            Kind::Column(number) => match rows.columns.get(*number) {
                Some(column) => Value::Many(Arc::clone(column)),
                None => return Err(problem(self.text, at, "the column was not read")),
            },
            Kind::Constant(value) => Value::One(Arc::clone(value)),
            Kind::Not(value) => {
                let value = self.evaluate(value, rows)?;
                let result = not(boolean(value.array())?)?;
                value.with(Arc::new(result))
            }
            Kind::Negate(value) => {
                let value = self.evaluate(value, rows)?;
                match value.array().data_type() {
                    DataType::Null => value,
                    _ => value.with(numeric::neg(value.array()).map_err(fail)?),
                }
            }
            Kind::And(all) => self.all(all, rows, false)?,
            Kind::Or(all) => self.all(all, rows, true)?,
            Kind::Chain { first, steps } => {
                let first = self.evaluate(first, rows)?;
                steps.iter().try_fold(first, |left, step| self.step(&left, step, rows))?
            }
            Kind::Compare { value, tests } => {
                let value = self.evaluate(value, rows)?;
                self.tests(&value, tests, rows, at)?
            }
            Kind::In { value, list } => {
                let value = self.evaluate(value, rows)?;
                self.within(&value, list, rows, at)?
            }
            Kind::Like { sides, any_case } => {
                let (text, pattern) = (self.evaluate(&sides.0, rows)?, self.evaluate(&sides.1, rows)?);
                let kernel = if *any_case { ilike } else { like };
                both(&text, &pattern, rows.len, kernel).map_err(fail)?
            }
            Kind::Is { value, what } => {
                let value = self.evaluate(value, rows)?;
                let result = is(value.array(), *what)?;
                value.with(Arc::new(result))
            }
            Kind::Cast { value, or_null } => {
                let value = self.evaluate(value, rows)?;
                value.with(cast_or(value.array(), &typed.data_type, *or_null).map_err(fail)?)
            }
            Kind::Call { function, args } => {
                let args = args.iter().map(|arg| self.evaluate(arg, rows)).collect::<Result<Vec<_>>>()?;
                function.call(&args, rows.len).map_err(fail)?
            }
            Kind::Case { operand, whens, otherwise } => {
                self.case(operand.as_deref(), whens, otherwise, rows, at)?
            }
        })
    }

    fn step(self, left: &Value, step: &Step, rows: &Rows) -> Result<Value> {
        let fail = |error: ArrowError| self.problem(step.at, &error);
        let left = left.with(cast(left.array(), &step.left).map_err(fail)?);
        let right = self.evaluate(&step.right, rows)?;
        // Texts are joined by row only.
        let (left, right) = match (step.op, left.is_one() && right.is_one()) {
            (Arithmetic::Concat, false) => {
                let [left, right] = [left, right].map(|side| many(&side, rows.len).map(Value::Many));
                (left?, right?)
            }
            _ => (left, right),
        };
        both(&left, &right, rows.len, |left, right| arithmetic(step.op, left, right)).map_err(fail)
    }

    fn problem(self, at: usize, error: &ArrowError) -> TableError {
        problem(self.text, at, said(error))
    }
}

/// An array of booleans.
pub(super) fn boolean(array: &ArrayRef) -> Result<&BooleanArray> {
    array
        .as_boolean_opt()
        .ok_or_else(|| TableError::invalid(format!("values of type {} are no condition", array.data_type())))
}

/// False for null.
pub(super) fn only_true(values: &BooleanArray) -> BooleanArray {
    if values.null_count() > 0 { prep_null_mask_filter(values) } else { values.clone() }
}

/// One step of arithmetic on arrays, to see what comes of them.
pub(super) fn compute(op: Arithmetic, left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    arithmetic(op, left, right)
}

fn arithmetic(
    op: Arithmetic,
    left: &dyn arrow_array::Datum,
    right: &dyn arrow_array::Datum,
) -> Result<ArrayRef, ArrowError> {
    match op {
        Arithmetic::Add => numeric::add(left, right),
        Arithmetic::Subtract => numeric::sub(left, right),
        Arithmetic::Multiply => numeric::mul(left, right),
        Arithmetic::Divide => numeric::div(left, right),
        Arithmetic::Remainder => numeric::rem(left, right),
        Arithmetic::Concat => concat_elements_dyn(left.get().0, right.get().0),
    }
}

/// Floats with 0 for -0, which are equal to people and not to the kernels; others as they are.
pub(super) fn plain_zeros(array: &ArrayRef) -> ArrayRef {
    macro_rules! plain {
        ($type:ty, $zero:expr) => {
            if let Some(floats) = array.as_primitive_opt::<$type>() {
                let zero = $zero;
                let plain: PrimitiveArray<$type> =
                    floats.unary(|value| if value == zero { zero } else { value });
                return Arc::new(plain);
            }
        };
    }
    plain!(Float64Type, 0.0);
    plain!(Float32Type, 0.0);
    plain!(Float16Type, Default::default());
    Arc::clone(array)
}

fn is(array: &ArrayRef, what: Is) -> Result<BooleanArray> {
    if matches!(what, Is::Null | Is::Unknown) {
        return Ok(is_null(array)?);
    }
    let values = boolean(array)?;
    let bits = if what == Is::True { values.values().clone() } else { !values.values() };
    let bits = match values.nulls() {
        Some(nulls) => &bits & nulls.inner(),
        None => bits,
    };
    Ok(BooleanArray::new(bits, None))
}

/// What a kernel said, without its kind in front.
fn said(error: &ArrowError) -> String {
    match error {
        ArrowError::DivideByZero => "division by zero".into(),
        ArrowError::CastError(text)
        | ArrowError::ComputeError(text)
        | ArrowError::InvalidArgumentError(text) => text.clone(),
        ArrowError::ArithmeticOverflow(text) => format!("overflow: {text}"),
        other => other.to_string(),
    }
}
