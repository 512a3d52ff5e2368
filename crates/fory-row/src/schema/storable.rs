use super::{DataType, Field, Schema};
use crate::Format;

impl Schema {
    /// The schema as rows of `format` can have it: in the standard format fixed_binary becomes binary.
    ///
    /// ```
    /// use fory_row::{DataType, Field, Format, Layout, Schema};
    /// let schema = Schema::new(vec![Field::new("hash", DataType::FixedBinary(32), false)])?;
    /// assert!(Layout::new(schema.clone(), Format::Standard).is_err());
    /// let layout = Layout::new(schema.storable(Format::Standard), Format::Standard)?;
    /// assert_eq!(layout.schema().fields(), [Field::new("hash", DataType::Binary, false)]);
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn storable(mut self, format: Format) -> Self {
        if format == Format::Standard {
            self.fields.iter_mut().for_each(without_fixed_binary);
        }
        self
    }
}

fn without_fixed_binary(field: &mut Field) {
    match &mut field.data_type {
        DataType::FixedBinary(_) => field.data_type = DataType::Binary,
        DataType::List(element) => without_fixed_binary(element),
        DataType::Map(key, value) => {
            without_fixed_binary(key);
            without_fixed_binary(value);
        }
        DataType::Struct(fields) => fields.iter_mut().for_each(without_fixed_binary),
        _ => {}
    }
}
