//! Properties of the forms in which schemas and rows of any kind come: JSON, frames, streams, serialised schemas, maps
//! of their bytes.

use demilance_tests::any_row::{self, same};
use demilance_tests::rows::read_by_getters;
use fory_row::{
    BatchRows, DataType, DecodeOptions, ErrorKind, Field, Format, Frame, Image, Layout, RegionKind,
    RowStreamReader, RowStreamWriter, Schema, Value,
};
use proptest::prelude::*;

const DEPTH: u32 = 4;

/// No byte more than twice: those of fixed binary are in the slot.
const TIGHT: DecodeOptions = DecodeOptions { expansion: 2, slack: 0 };

fn any_schema() -> impl Strategy<Value = Schema> {
    any_row::format().prop_flat_map(|format| any_row::schema(format, DEPTH))
}

fn any_rows(count: usize) -> impl Strategy<Value = (Layout, Vec<Value>)> {
    any_row::format().prop_flat_map(move |format| any_row::rows(format, DEPTH, count))
}

/// A layout whose first field is a list or a map, and a row of it.
fn any_collection() -> impl Strategy<Value = (Layout, Value)> {
    let part = |format| any_row::data_type(format, DEPTH - 1);
    let schema = any_row::format().prop_flat_map(move |format| {
        let list =
            (part(format), any::<bool>()).prop_map(|(element, nullable)| DataType::list(element, nullable));
        let map = (part(format), part(format)).prop_map(|(key, value)| DataType::map(key, value));
        (Just(format), prop_oneof![list, map])
    });
    schema.prop_flat_map(|(format, data_type)| {
        let schema = Schema::new(vec![Field::new("", data_type, false)]).unwrap();
        let row = any_row::row(&schema);
        (Just(Layout::new(schema, format).unwrap()), row)
    })
}

fn encoded(layout: &Layout, frame: Frame, value: &Value) -> Vec<u8> {
    let mut bytes = vec![];
    layout.encode_framed(frame, value, &mut bytes).unwrap();
    bytes
}

/// All that is said of a framed image that nobody touched.
fn check_image(layout: &Layout, frame: Frame, value: &Value) -> Result<(), TestCaseError> {
    let bytes = encoded(layout, frame, value);
    prop_assert_eq!(bytes.len(), frame.prefix_len() + layout.image_len(frame.image(), value)?);
    let decoded = layout.decode_framed_with(frame, &bytes, TIGHT)?;
    prop_assert!(same(&decoded, value), "{:?}", decoded);

    let body = frame.body(layout.hash(), &bytes)?;
    layout.check_with(frame.image(), body, TIGHT)?;
    let read = read_by_getters(layout, frame.image(), body)?;
    prop_assert!(same(&read, value), "{:?}", read);

    let mut end = 0;
    for region in layout.inspect(frame, &bytes)? {
        prop_assert_eq!(region.range.start, end, "{}", region);
        prop_assert!(region.range.end > end, "{}", region);
        prop_assert_ne!(region.kind, RegionKind::Unused, "{}", region);
        end = region.range.end;
    }
    prop_assert_eq!(end, bytes.len());

    if frame.has_size() {
        let mut twice = [&bytes[..], &bytes[..]].concat();
        let (first, rest) = frame.split_body(layout.hash(), &twice)?;
        prop_assert_eq!((first, rest), (body, &bytes[..]));
        prop_assert!(frame.body(layout.hash(), &twice).is_err());
        twice.truncate(bytes.len() - 1);
        prop_assert!(frame.body(layout.hash(), &twice).is_err());
    }
    if frame.has_hash() {
        let error = frame.body(layout.hash() ^ 1, &bytes).err();
        prop_assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::HashMismatch));
    }
    Ok(())
}

/// By way of a text: numbers survive that, too.
fn parsed(json: &serde_json::Value) -> serde_json::Value {
    serde_json::from_str(&json.to_string()).unwrap()
}

proptest! {
    #![proptest_config(any_row::config(200))]

    #[test]
    fn framed_rows((layout, rows) in any_rows(1)) {
        for frame in Frame::ALL.into_iter().filter(|frame| frame.image() == Image::Row) {
            check_image(&layout, frame, &rows[0])?;
        }
    }

    #[test]
    fn framed_arrays_and_maps((layout, row) in any_collection()) {
        let Value::Struct(values) = &row else { panic!("{row:?}") };
        let image = if matches!(values[0], Value::List(_)) { Image::Array } else { Image::Map };
        for frame in Frame::ALL {
            if frame.image() == image {
                check_image(&layout, frame, &values[0])?;
            } else if frame.image() != Image::Row {
                prop_assert!(layout.encode_framed(frame, &values[0], &mut vec![]).is_err());
            }
        }
    }

    #[test]
    fn streams_of_rows((layout, rows) in any_rows(5)) {
        let mut writer = RowStreamWriter::new(layout.clone(), vec![]);
        rows.iter().try_for_each(|row| writer.write(row))?;
        let bytes = writer.finish()?;
        let mut reader = RowStreamReader::new(layout.clone(), &bytes[..]);
        for row in &rows {
            let read = reader.next_value()?.ok_or_else(|| TestCaseError::fail("too few rows"))?;
            prop_assert!(same(&read, row), "{:?}", read);
        }
        prop_assert!(reader.next_row()?.is_none());
    }

    #[test]
    fn schemas_and_rows_as_json((layout, rows) in any_rows(2)) {
        let schema = Schema::from_json(&parsed(&layout.schema().to_json()))?;
        prop_assert_eq!(&schema, layout.schema());
        for row in &rows {
            let json = parsed(&layout.value_to_json(Image::Row, row)?);
            let read = layout.value_from_json(Image::Row, &json)?;
            prop_assert!(same(&read, row), "{} {:?}", json, read);
        }
    }

    #[test]
    fn rows_by_way_of_arrow((layout, rows) in any_rows(5)) {
        let rows = rows.iter().map(|row| encoded(&layout, Frame::Row, row)).collect::<Vec<_>>();
        let batch = layout.decode_batch(rows.iter().map(Vec::as_slice))?;
        let again = layout.encode_batch(&batch)?;
        prop_assert_eq!(again.iter().collect::<Vec<_>>(), rows.iter().collect::<Vec<_>>());
        let one_by_one = BatchRows::new(&batch, &layout)?;
        for (index, row) in rows.iter().enumerate() {
            let mut bytes = vec![];
            one_by_one.write_row(index, &mut bytes)?;
            prop_assert_eq!(&bytes, row);
            prop_assert_eq!(one_by_one.row_len(index)?, row.len());
        }
    }

    #[test]
    fn serialised_schemas(schema in any_schema()) {
        let fixed = schema.fields().iter().any(|field| has_fixed_binary(&field.data_type));
        match schema.serialize() {
            Ok(bytes) => {
                prop_assert!(!fixed);
                prop_assert_eq!(Schema::deserialize(&bytes)?, schema);
                for end in 0..bytes.len() {
                    prop_assert!(Schema::deserialize(&bytes[..end]).is_err(), "cut after {end}");
                }
            }
            Err(error) => prop_assert!(fixed && error.kind() == ErrorKind::Unsupported, "{}", error),
        }
    }

    /// The hash of a compact layout is that of the schema whose fields stand in its order, if no struct is in it.
    #[test]
    fn hashes_of_sorted_schemas(schema in any_row::schema(Format::Compact, 1)) {
        let layout = Layout::new(schema.clone(), Format::Compact)?;
        let sorted = layout.stored_order().iter().map(|index| schema.fields()[*index].clone()).collect();
        prop_assert_eq!(layout.hash(), Schema::new(sorted)?.hash());
        prop_assert!(layout.hash() > 0);
    }
}

fn has_fixed_binary(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedBinary(_) => true,
        DataType::List(element) => has_fixed_binary(&element.data_type),
        DataType::Map(key, value) => has_fixed_binary(&key.data_type) || has_fixed_binary(&value.data_type),
        DataType::Struct(fields) => fields.iter().any(|field| has_fixed_binary(&field.data_type)),
        _ => false,
    }
}
