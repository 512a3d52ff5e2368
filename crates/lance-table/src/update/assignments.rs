use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use lance_file::LogicalType;
use lance_footer::FormatError;

use crate::columns::convert::{Refused, convert};
use crate::{Bound, Expr, Misfits, Result, Table, TableError};

/// New values of some columns.
#[derive(Debug)]
pub(super) struct Assignments(Vec<Assignment>);

#[derive(Debug)]
struct Assignment {
    path: String,
    /// From the outermost to the innermost field.
    names: Vec<String>,
    data_type: DataType,
    nullable: bool,
    value: Bound,
}

impl Assignments {
    /// Values of the columns at dotted paths of `table`, whose batches have `schema`.
    pub(super) fn plan(table: &Table, schema: &SchemaRef, set: &[(&str, &Expr)]) -> Result<Self> {
        if set.is_empty() {
            return Err(TableError::invalid("no column is named that is to be set"));
        }
        let mut assignments: Vec<Assignment> = vec![];
        for (path, expr) in set {
            let trace = table.schema().trace(path)?;
            let Some((field, above)) = trace.split_last() else { continue };
            if let Some(outer) = above.iter().find(|outer| outer.logical_type != LogicalType::Struct) {
                let what = format!("setting {path}, which is inside of {}, a list or map", outer.name);
                return Err(TableError::format(table.store().location(""), FormatError::unsupported(what)));
            }
            let names = trace.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
            let overlaps =
                |other: &&Assignment| names.starts_with(&other.names) || other.names.starts_with(&names);
            if let Some(other) = assignments.iter().find(overlaps) {
                let reason = match other.names == names {
                    true => format!("column {path:?} is set twice"),
                    false => {
                        format!("columns {:?} and {path:?} are both set, but one is in the other", other.path)
                    }
                };
                return Err(TableError::invalid(reason));
            }
            assignments.push(Assignment {
                path: (*path).to_string(),
                names,
                data_type: field.data_type(),
                nullable: field.nullable,
                value: expr.bind(schema)?,
            });
        }
        Ok(Self(assignments))
    }

    /// The rows of `batch` with their new values.
    pub(super) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = batch.columns().to_vec();
        for assignment in &self.0 {
            let value = assignment.value(batch)?;
            let Some((first, inner)) = assignment.names.split_first() else { continue };
            if let Some(column) = columns.get_mut(batch.schema().index_of(first)?) {
                *column = assignment.put(column, inner, &value, None)?;
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
    }
}

impl Assignment {
    fn value(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        fitting(&self.value.evaluate(batch)?, &self.data_type, &self.path)
    }

    /// `array` with `value` at `names` inside of it; `around` says where what it is in is null.
    fn put(
        &self,
        array: &ArrayRef,
        names: &[String],
        value: &ArrayRef,
        around: Option<&NullBuffer>,
    ) -> Result<ArrayRef> {
        let Some((name, inner)) = names.split_first() else {
            if !self.nullable {
                refuse_nulls(value, around, &self.path)?;
            }
            return Ok(Arc::clone(value));
        };
        let missing = || ArrowError::SchemaError(format!("column {:?} was not read", self.path));
        let own = array.as_struct_opt().ok_or_else(missing)?;
        let around = NullBuffer::union(around, own.nulls());
        let (index, _) = own.fields().find(name).ok_or_else(missing)?;
        let mut columns = own.columns().to_vec();
        if let Some(column) = columns.get_mut(index) {
            *column = self.put(column, inner, value, around.as_ref())?;
        }
        let (fields, nulls) = (own.fields().clone(), own.nulls().cloned());
        Ok(Arc::new(StructArray::try_new_with_length(fields, columns, nulls, own.len())?))
    }
}

/// `values` as `data_type`, that of the column at `path`. An error if one does not fit.
pub(crate) fn fitting(values: &ArrayRef, data_type: &DataType, path: &str) -> Result<ArrayRef> {
    if *values.data_type() == DataType::Null {
        return Ok(new_null_array(data_type, values.len()));
    }
    convert(values, data_type, Misfits::Refuse).map_err(|refused| match refused {
        Refused::Value { value, to, .. } => {
            TableError::invalid(format!("column {path:?}: {value} does not fit {to}"))
        }
        Refused::Arrow(error) => TableError::invalid(format!("column {path:?}: {error}")),
    })
}

/// An error if one of `values` is null where what is around it is not.
pub(crate) fn refuse_nulls(values: &ArrayRef, around: Option<&NullBuffer>, path: &str) -> Result<()> {
    let Some(nulls) = values.logical_nulls() else { return Ok(()) };
    let null = |row: usize| nulls.is_null(row) && around.is_none_or(|around| around.is_valid(row));
    match (0..values.len()).any(null) {
        true => Err(TableError::invalid(format!("column {path:?} must not be null, but a new value is"))),
        false => Ok(()),
    }
}
