//! Values of one type as those of another, where each of them must fit.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait, StructArray, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_cast::display::array_value_to_string;
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields};
use arrow_select::take::take;

use super::Misfits;
use super::made::masked;

/// Why values were not converted.
#[derive(Debug)]
pub(crate) enum Refused {
    /// One does not fit.
    Value {
        row: usize,
        value: String,
        to: DataType,
    },
    Arrow(ArrowError),
}

impl From<ArrowError> for Refused {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// `array` as `to`. Structs keep their members by name, lists their lengths.
pub(crate) fn convert(array: &ArrayRef, to: &DataType, misfits: Misfits) -> Result<ArrayRef, Refused> {
    match (array.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (DataType::Struct(from), DataType::Struct(members)) if same_names(from, members) => {
            structs(array.as_struct(), members, misfits)
        }
        (DataType::List(_), DataType::List(item)) => lists::<i32>(array, item, misfits),
        (DataType::LargeList(_), DataType::LargeList(item)) => lists::<i64>(array, item, misfits),
        (DataType::FixedSizeList(_, has), DataType::FixedSizeList(item, size)) if has == size => {
            vectors(array.as_fixed_size_list(), item, *size, misfits)
        }
        _ => values(array, to, misfits),
    }
}

fn same_names(from: &Fields, to: &Fields) -> bool {
    from.len() == to.len() && to.iter().all(|field| from.find(field.name()).is_some())
}

fn structs(array: &StructArray, members: &Fields, misfits: Misfits) -> Result<ArrayRef, Refused> {
    let columns = members.iter().map(|member| {
        let column = array.column_by_name(member.name());
        let column =
            column.ok_or_else(|| ArrowError::SchemaError(format!("no member {:?}", member.name())))?;
        // What is below null is no value.
        convert(&masked(column, array.nulls())?, member.data_type(), misfits)
    });
    let columns = columns.collect::<Result<_, _>>()?;
    let nulls = array.nulls().cloned();
    Ok(Arc::new(StructArray::try_new_with_length(members.clone(), columns, nulls, array.len())?))
}

fn lists<O: OffsetSizeTrait>(
    array: &ArrayRef,
    item: &FieldRef,
    misfits: Misfits,
) -> Result<ArrayRef, Refused> {
    // Of items that no list has, which only lie behind null, nothing is to be said.
    let array = match array.null_count() {
        0 => Arc::clone(array),
        _ => take(array, &UInt64Array::from_iter_values(0..array.len() as u64), None)?,
    };
    let list = array.as_list::<O>();
    let ends = list.offsets();
    let (first, last) =
        (ends.first().map_or(0, |end| end.as_usize()), ends.last().map_or(0, |end| end.as_usize()));
    let items = list.values().slice(first, last.saturating_sub(first));
    let items = convert(&items, item.data_type(), misfits).map_err(|refused| {
        let list_of = |at: usize| ends.partition_point(|end| end.as_usize() <= first + at).saturating_sub(1);
        refused.in_row(list_of)
    })?;
    let offsets = arrow_buffer::OffsetBuffer::<O>::from_lengths(ends.lengths());
    let nulls = list.nulls().cloned();
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(item), offsets, items, nulls)?))
}

fn vectors(
    array: &FixedSizeListArray,
    item: &FieldRef,
    size: i32,
    misfits: Misfits,
) -> Result<ArrayRef, Refused> {
    let len = usize::try_from(size).unwrap_or(0);
    let nulls = array.nulls().map(|nulls| nulls.expand(len));
    let items = masked(array.values(), nulls.as_ref())?;
    let items = convert(&items, item.data_type(), misfits)
        .map_err(|refused| refused.in_row(|at| at.checked_div(len).unwrap_or(0)))?;
    Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), size, items, array.nulls().cloned())?))
}

fn values(array: &ArrayRef, to: &DataType, misfits: Misfits) -> Result<ArrayRef, Refused> {
    let refused = |row| match array_value_to_string(array, row) {
        Ok(value) => Refused::Value { row, value, to: to.clone() },
        Err(error) => Refused::Arrow(error),
    };
    let options = CastOptions { safe: misfits == Misfits::Null, ..Default::default() };
    let converted = cast_with_options(array, to, &options).map_err(|error| {
        // Which value it was is found out only now.
        let mut rows = 0..array.len();
        match rows.find(|row| cast_with_options(&array.slice(*row, 1), to, &options).is_err()) {
            Some(row) => refused(row),
            None => Refused::Arrow(error),
        }
    })?;
    let Some(fit) = fit_floats(array, &converted)? else { return Ok(converted) };
    match (misfits, (0..array.len()).find(|row| !fit.value(*row))) {
        (_, None) => Ok(converted),
        (Misfits::Refuse, Some(row)) => Err(refused(row)),
        (Misfits::Null, Some(_)) => Ok(masked(&converted, Some(&NullBuffer::new(fit)))?),
    }
}

/// Which floats are whole where they became integers, and are in range where they became smaller floats: Arrow cuts the ones
/// and makes the others infinite. None if this is not about floats.
fn fit_floats(from: &ArrayRef, to: &ArrayRef) -> Result<Option<BooleanBuffer>, ArrowError> {
    let (old, new) = (from.data_type(), to.data_type());
    if !old.is_floating() || !(new.is_integer() || new.is_floating()) {
        return Ok(None);
    }
    let (old, new_values) = (cast(from, &DataType::Float64)?, cast(to, &DataType::Float64)?);
    let (old, new_values) = (old.as_primitive::<Float64Type>(), new_values.as_primitive::<Float64Type>());
    let fits = old.iter().zip(new_values.iter()).map(|pair| match pair {
        (Some(old), Some(_)) if new.is_integer() => old.fract() == 0.0,
        (Some(old), Some(new)) => !old.is_finite() || new.is_finite(),
        _ => true,
    });
    Ok(Some(fits.collect()))
}

impl Refused {
    /// The same of the row that a value is in.
    fn in_row(self, row_of: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Value { row, value, to } => Self::Value { row: row_of(row), value, to },
            error => error,
        }
    }
}
