//! Filter text: `label = 'grasp' AND st.x BETWEEN 1 AND 2.5`.
//!
//! An [`Expr`] is parsed text. [`Expr::bind`] looks its names up in a schema and gives all parts a type; the [`Bound`]
//! expression is evaluated over batches by Arrow's kernels. There are three truth values: a comparison with null is
//! neither true nor false, and a filter passes only what is true.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Schema};

use crate::{Result, TableError};

mod bind;
mod evaluate;
mod function;
mod literal;
mod number;
mod parse;
mod print;
mod problem;
mod source;
mod syntax;
#[cfg(test)]
mod tests;
mod token;
mod typed;
mod types;

pub(crate) use problem::closest;

/// An expression: a filter, or a value that is computed from columns. Displays as text that parses to it.
///
/// What there is:
///
/// - Columns: `frame`, `` `with space` ``, fields of structs `pose.x` or `pose['x']`. A column is also found when only
///   the case of its name differs. Text in double quotes is text, as in the reference, and not a name.
/// - Literals: `1`, `-2.5e3`, `'text'`, `true`, `NULL`, `X'00FF'`, `DATE '2026-01-31'`,
///   `TIMESTAMP '2026-01-31 12:30:00'`, `TIME '12:30:00'`, `INTERVAL '1 day'`. A number is compared exactly with integers and decimals,
///   whatever their size, and with floats as the float next to it; a text is also compared with dates and times.
/// - `=`, `<>`, `!=`, `<`, `<=`, `>`, `>=`, `IS [NOT] DISTINCT FROM`, `[NOT] BETWEEN`, `[NOT] IN`, `[NOT] LIKE` and `ILIKE` with
///   `%`, `_` and `\`, `IS [NOT] NULL`, `TRUE`, `FALSE` or `UNKNOWN`, `NOT`, `AND`, `OR`, `CASE`.
/// - `+`, `-`, `*`, `/`, `%`, `||`, `CAST(a AS INT)`, `a::INT`, and `TRY_CAST`, which gives null instead of an error. Nothing
///   wraps around: overflow, and division of integers by zero, are errors, unless a condition before it in an AND, OR or
///   CASE rules the row out.
/// - `abs`, `length` (in characters), `octet_length`, `lower`, `upper`, `trim`, `ltrim`, `rtrim`, `starts_with`,
///   `ends_with`, `contains`, `concat`, `array_length`, `isnan`, `coalesce`, `nullif`, `date_part('year', a)`,
///   `EXTRACT(YEAR FROM a)`, `year(a)` and so on.
///
/// NaN is equal to itself and greater than all numbers, as in the reference. Text that both take means the same there, but
/// for this:
///
/// - Integers that do not fit the result of `+`, `-`, `*` are an error here, and wrap around there.
/// - 0.0 is equal to -0.0 here, and there only beside literals. Halves and integers are compared exactly here.
/// - A float literal beside a half or a float of 32 bits is rounded to it here, and there only to the right of it.
/// - A literal with a fraction of a second is not cut for a column of whole seconds.
/// - Integers of 64 bits without sign are divided like all others; the reference makes decimals of them.
/// - What comes behind an expression is an error, and is not looked at there.
/// - Kinds of values that have nothing in common, such as dates and numbers, are not compared. Times without a zone are
///   not compared with those of a named zone other than UTC, of which there is no table here.
///
/// ```
/// use arrow_array::{Array, BooleanArray, record_batch};
/// use lance_table::Expr;
///
/// let batch = record_batch!(("frame", Int32, [Some(1), Some(2), None]), ("label", Utf8, ["a", "b", "b"]))?;
/// let expr = Expr::parse("frame > 1 OR label <> 'b'")?;
/// let bound = expr.bind(&batch.schema())?;
/// assert_eq!(bound.columns(), ["frame", "label"]);
/// assert_eq!(bound.matches(&batch)?, BooleanArray::from(vec![true, true, false]));
///
/// let error = Expr::parse("lable = 'b'")?.bind(&batch.schema()).unwrap_err().to_string();
/// assert_eq!(error, "no column lable; did you mean label? (at character 1 of the expression: lable = 'b')");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Expr {
    /// The text that it was parsed from, which errors point into.
    text: Arc<str>,
    root: syntax::Node,
}

/// An [`Expr`] whose names are columns of a schema, and whose parts have types. Made by [`Expr::bind`].
#[derive(Debug, Clone)]
pub struct Bound {
    text: Arc<str>,
    root: typed::Typed,
    sources: Vec<source::Source>,
}

impl Expr {
    /// Parses `text`. An error says where it goes wrong. Operations nest at most 64 deep, and a text has at most 4 MiB;
    /// there may be any number of terms beside each other.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { text: text.into(), root: parse::parse(text)? })
    }

    /// Looks up the names in `schema` and checks the types.
    pub fn bind(&self, schema: &Schema) -> Result<Bound> {
        let mut binder = bind::Binder::new(&self.text, schema);
        let root = binder.bind(&self.root)?;
        Ok(Bound { text: Arc::clone(&self.text), root, sources: binder.sources })
    }
}

impl FromStr for Expr {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({self})")
    }
}

impl Bound {
    /// The columns that it needs, as dotted paths.
    pub fn columns(&self) -> Vec<String> {
        once(self.sources.iter().map(|source| source.path.clone()))
    }

    /// The columns that it needs, with all that is in them.
    pub(crate) fn outer_columns(&self) -> Vec<String> {
        once(self.sources.iter().filter_map(|source| source.names.first().cloned()))
    }

    /// The type of its values.
    pub fn data_type(&self) -> &DataType {
        self.plain_column().map_or(&self.root.data_type, |source| &source.stored)
    }

    /// The one truth value that it has for all rows, if it is a condition without columns. Null is false.
    pub fn constant(&self) -> Option<bool> {
        let value = self.root.as_constant()?;
        match value.data_type() {
            DataType::Boolean => {
                evaluate::boolean(value).ok().map(|value| value.is_valid(0) && value.value(0))
            }
            DataType::Null => Some(false),
            _ => None,
        }
    }

    /// Its values, one for each row of `batch`, which has the columns that it needs; others are not looked at.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        if let Some(source) = self.plain_column() {
            return source.find(batch);
        }
        let columns = self.sources.iter().map(|source| source.load(batch)).collect::<Result<Vec<_>>>()?;
        let rows = evaluate::Rows { columns, len: batch.num_rows() };
        let value = evaluate::Run { text: &self.text }.evaluate(&self.root, &rows)?;
        Ok(function::many(&value, rows.len)?)
    }

    /// Its values as `data_type`. A value that does not fit is an error.
    pub fn evaluate_as(&self, batch: &RecordBatch, data_type: &DataType) -> Result<ArrayRef> {
        let values = self.evaluate(batch)?;
        types::cast(&values, data_type)
            .map_err(|error| problem::problem(&self.text, 0, format!("the value is no {data_type}: {error}")))
    }

    /// Which rows of `batch` it is true for; null is false. An error if it is no condition.
    pub fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        self.check_condition()?;
        let values = self.evaluate(batch)?;
        if *values.data_type() == DataType::Null {
            return Ok(BooleanArray::from(vec![false; values.len()]));
        }
        Ok(evaluate::only_true(evaluate::boolean(&values)?))
    }

    /// An error unless its values are truth values.
    pub fn check_condition(&self) -> Result<()> {
        match self.data_type() {
            DataType::Boolean | DataType::Null => Ok(()),
            other => Err(problem::problem(
                &self.text,
                0,
                format!("a condition is wanted, and this is of type {other}"),
            )),
        }
    }

    /// The column that it is, if it is nothing but one: its values stay as they are stored.
    fn plain_column(&self) -> Option<&source::Source> {
        match self.root.kind {
            typed::Kind::Column(number) => self.sources.get(number),
            _ => None,
        }
    }
}

fn once(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}
