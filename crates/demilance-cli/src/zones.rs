//! Times with a named zone, such as `Europe/Berlin`.
//!
//! Arrow stores them as instants in UTC with the name beside them. To write them as text in their zone takes
//! the tables of all zones, which this program does not carry; as text they are in UTC, which is the same
//! instant. Zones that are offsets, such as `+01:00`, are written as they are.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};

const UTC: &str = "+00:00";

/// `schema` with UTC in place of named zones.
pub(crate) fn schema_in_utc(schema: &Schema) -> Schema {
    Schema::new_with_metadata(fields(schema.fields()), schema.metadata().clone())
}

/// `batch` with the types of `target`, which [`schema_in_utc`] made for it.
pub(crate) fn batch_in_utc(batch: &RecordBatch, target: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(target.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() {
            Ok(Arc::clone(column))
        } else {
            cast(column, field.data_type())
        }
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(Arc::clone(target), columns)
}

fn fields(fields: &Fields) -> Fields {
    fields.iter().map(field).collect()
}

fn field(field: &FieldRef) -> FieldRef {
    let in_utc = data_type(field.data_type());
    if &in_utc == field.data_type() {
        Arc::clone(field)
    } else {
        Arc::new(field.as_ref().clone().with_data_type(in_utc))
    }
}

fn data_type(from: &DataType) -> DataType {
    match from {
        DataType::Timestamp(unit, Some(zone)) if !zone.starts_with(['+', '-']) => {
            DataType::Timestamp(*unit, Some(UTC.into()))
        }
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(field(item), *length),
        DataType::Struct(members) => DataType::Struct(fields(members)),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::TimestampSecondType;
    use arrow_array::{ArrayRef, StructArray, TimestampSecondArray};
    use arrow_schema::{Field, TimeUnit};

    #[test]
    fn instants_stay_the_same() {
        let times = |zone: &str| -> ArrayRef {
            Arc::new(TimestampSecondArray::from(vec![1_700_000_000]).with_timezone(zone))
        };
        let kind = DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into()));
        let inner = vec![(Arc::new(Field::new("t", kind, true)), times("Europe/Berlin"))];
        let batch = RecordBatch::try_from_iter([
            ("named", times("UTC")),
            ("offset", times("+05:30")),
            ("inside", Arc::new(StructArray::from(inner)) as ArrayRef),
        ])
        .unwrap();
        let target = Arc::new(schema_in_utc(&batch.schema()));
        let in_utc = batch_in_utc(&batch, &target).unwrap();
        let utc = DataType::Timestamp(TimeUnit::Second, Some(UTC.into()));
        assert_eq!(in_utc.column(0).data_type(), &utc);
        assert_eq!(in_utc.column(0).as_primitive::<TimestampSecondType>().value(0), 1_700_000_000);
        assert_eq!(in_utc.column(1), batch.column(1));
        let inside = in_utc.column(2).as_struct().column(0);
        assert_eq!(inside.as_primitive::<TimestampSecondType>().value(0), 1_700_000_000);
    }
}
