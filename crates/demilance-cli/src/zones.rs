//! Times with a named zone, such as `Europe/Berlin`.
//!
//! Arrow stores them as instants in UTC with the name beside them. To write them as text in their zone takes
//! the tables of all zones, which this program does not carry; as text they are in UTC, which is the same
//! instant. Zones that are offsets, such as `+01:00`, are written as they are.

use arrow_schema::DataType;

const UTC: &str = "+00:00";

/// UTC in place of a named zone; the change of [`crate::retype`] for formats that are text.
pub(crate) fn in_utc(from: DataType) -> DataType {
    match from {
        DataType::Timestamp(unit, Some(zone)) if !zone.starts_with(['+', '-']) => {
            DataType::Timestamp(unit, Some(UTC.into()))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retype;
    use arrow_array::cast::AsArray;
    use arrow_array::types::TimestampSecondType;
    use arrow_array::{ArrayRef, RecordBatch, StructArray, TimestampSecondArray};
    use arrow_schema::{Field, TimeUnit};
    use std::sync::Arc;

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
        let target = Arc::new(retype::schema(&batch.schema(), in_utc));
        let in_utc = retype::batch(&batch, &target).unwrap();
        let utc = DataType::Timestamp(TimeUnit::Second, Some(UTC.into()));
        assert_eq!(in_utc.column(0).data_type(), &utc);
        assert_eq!(in_utc.column(0).as_primitive::<TimestampSecondType>().value(0), 1_700_000_000);
        assert_eq!(in_utc.column(1), batch.column(1));
        let inside = in_utc.column(2).as_struct().column(0);
        assert_eq!(inside.as_primitive::<TimestampSecondType>().value(0), 1_700_000_000);
    }
}
