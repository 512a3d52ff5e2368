//! Rows of the Fory format out of tables and into tables.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use arrow_array::types::{Float32Type, Int16Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Int64Array, LargeBinaryArray,
    ListArray, RecordBatch, StringArray, StructArray, TimestampNanosecondArray, UInt8Array, UInt64Array,
    record_batch,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{Field, Schema};
use demilance::io::Store;
use demilance::row::{ArrayRef as List, Format, Frame, Layout, Row, RowStreamReader, Rows, Value};
use demilance::{Dataset, ErrorKind, RowOptions, WriteOptions};

const FORMATS: [Format; 2] = [Format::Standard, Format::Compact];

async fn table(batch: RecordBatch) -> Dataset {
    Dataset::write_to(Store::memory(), batch, WriteOptions::default()).await.unwrap()
}

fn options(format: Format) -> RowOptions {
    RowOptions { format, columns: None }
}

fn floats(size: i32, rows: &[Option<f32>]) -> FixedSizeListArray {
    let lists = rows.iter().map(|first| first.map(|first| (0..size).map(move |i| Some(first + i as f32))));
    FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(lists, size)
}

/// Frames of a robot: an observation of a state and an image, an embedding, what was done and when.
fn frames() -> RecordBatch {
    let images: [Option<&[u8]>; 4] = [Some(b"\x89PNG"), None, Some(b""), Some(&[0xff; 300])];
    let state: ArrayRef = Arc::new(floats(4, &[Some(0.0), Some(1.0), Some(2.0), Some(3.0)]));
    let image: ArrayRef = Arc::new(LargeBinaryArray::from_iter(images));
    let fields = vec![
        Field::new("state", state.data_type().clone(), false),
        Field::new("image", image.data_type().clone(), true),
    ];
    let observation = StructArray::new(fields.into(), vec![state, image], None);
    let grips = StructArray::try_from(vec![
        ("force", Arc::new(UInt8Array::from(vec![Some(7), None, Some(255)])) as ArrayRef),
        ("tool", Arc::new(StringArray::from(vec![Some("gripper"), Some("größe"), None])) as ArrayRef),
    ])
    .unwrap();
    let item = Arc::new(Field::new("item", grips.data_type().clone(), true));
    let nulls = NullBuffer::from(vec![true, false, true, true]);
    let grips = ListArray::new(item, OffsetBuffer::from_lengths([2, 0, 0, 1]), Arc::new(grips), Some(nulls));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("observation", Arc::new(observation)),
        ("embedding", Arc::new(floats(8, &[Some(0.5), None, Some(-1.0), None]))),
        ("grips", Arc::new(grips)),
        ("episode", Arc::new(Int64Array::from(vec![1, 1, 2, 2]))),
        ("done", Arc::new(BooleanArray::from(vec![Some(false), None, Some(true), Some(true)]))),
        ("at", Arc::new(TimestampNanosecondArray::from(vec![0, 1_000, -1_000, 5_000_000]))),
    ];
    let fields = columns.iter().map(|(name, array)| {
        Field::new(*name, array.data_type().clone(), !["observation", "episode"].contains(name))
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

fn open<'a>(layout: &'a Layout, rows: &'a Rows, index: usize) -> Row<'a> {
    layout.row(rows.get(index).unwrap()).unwrap()
}

#[tokio::test]
async fn rows_that_are_taken_can_be_appended() {
    for format in FORMATS {
        let dataset = table(frames()).await;
        let dataset = dataset.append(frames()).await.unwrap();
        let taken = dataset.take_rows(&[6, 1, 6], options(format)).await.unwrap();
        assert_eq!((taken.layout().format(), taken.rows().len()), (format, 3));
        assert_eq!(taken.layout().schema(), dataset.row_layout(format).unwrap().schema());
        let row = open(taken.layout(), taken.rows(), 0);
        let observation: Row<'_> = row.get("observation").unwrap().unwrap();
        let state: List<'_> = observation.get("state").unwrap().unwrap();
        assert_eq!(state.iter().map(|v| v.unwrap().unwrap()).collect::<Vec<f32>>(), [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(observation.get::<&[u8]>("image").unwrap(), Some(&b""[..]));

        let all = dataset.take_rows(&[0, 1, 2, 3, 4, 5, 6, 7], options(format)).await.unwrap();
        let dataset = dataset.append_rows(all.layout(), all.rows()).await.unwrap();
        assert_eq!((dataset.version(), dataset.count_rows()), (3, 16));
        assert_eq!(dataset.take(&[8, 9, 10, 11]).await.unwrap(), frames());
        assert_eq!(dataset.take(&[12, 13, 14, 15]).await.unwrap(), frames());
        // One by one, as they come from elsewhere.
        let rows = all.rows().iter().map(<[u8]>::to_vec).take(4).collect::<Vec<_>>();
        let dataset = dataset.append_rows(all.layout(), rows.iter().map(Vec::as_slice)).await.unwrap();
        assert_eq!(dataset.take(&[16, 17, 18, 19]).await.unwrap(), frames());
    }
}

#[tokio::test]
async fn columns_are_chosen_by_path() {
    let dataset = table(frames()).await;
    let columns = Some(["done", "observation.image"].map(String::from).to_vec());
    let taken = dataset.take_rows(&[3], RowOptions { columns, ..Default::default() }).await.unwrap();
    let names = taken.layout().schema().fields().iter().map(|field| field.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["done", "observation"]);
    let row = open(taken.layout(), taken.rows(), 0);
    let observation: Row<'_> = row.get("observation").unwrap().unwrap();
    assert_eq!((observation.len(), observation.get::<&[u8]>("image").unwrap()), (1, Some(&[0xff; 300][..])));

    let columns = Some(vec!["nothing".into()]);
    let error = dataset.take_rows(&[0], RowOptions { columns, ..Default::default() }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let error = dataset.take_rows(&[4], RowOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains("row 4 was asked for"), "{error}");
}

#[tokio::test]
async fn frames_are_what_a_stream_reads() {
    let dataset = table(frames()).await;
    for format in FORMATS {
        let taken = dataset.take_rows(&[0, 1, 2, 3], options(format)).await.unwrap();
        let framed = taken.framed(Frame::RowWithSizeAndHash).unwrap();
        let mut reader = RowStreamReader::new(taken.layout().clone(), framed.as_bytes());
        let mut episodes = vec![];
        while let Some(row) = reader.next_row().unwrap() {
            episodes.push(row.get::<i64>("episode").unwrap().unwrap());
        }
        assert_eq!(episodes, [1, 1, 2, 2]);
        let hashed = taken.framed(Frame::RowWithHash).unwrap();
        let body = Frame::RowWithHash.body(taken.layout().hash(), hashed.get(2).unwrap()).unwrap();
        assert_eq!(Some(body), taken.rows().get(2));
        assert_eq!(taken.framed(Frame::MapWithSize).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[tokio::test]
async fn dictionaries_are_taken_as_their_values() {
    let tasks: DictionaryArray<Int16Type> =
        [Some("pick"), None, Some("place"), Some("pick")].into_iter().collect();
    let batch = RecordBatch::try_from_iter([
        ("task", Arc::new(tasks) as ArrayRef),
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4])) as ArrayRef),
    ]);
    let dataset = table(batch.unwrap()).await;
    for format in FORMATS {
        let taken = dataset.take_rows(&[3, 1, 2], options(format)).await.unwrap();
        let tasks = (0..3).map(|row| open(taken.layout(), taken.rows(), row).get::<&str>("task").unwrap());
        assert_eq!(tasks.collect::<Vec<_>>(), [Some("pick"), None, Some("place")]);
        let error = dataset.append_rows(taken.layout(), taken.rows()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("field task"), "{error}");
    }
}

#[tokio::test]
async fn columns_that_rows_have_no_type_for() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![1]))),
        ("hash", Arc::new(UInt64Array::from(vec![u64::MAX]))),
    ];
    let dataset = table(RecordBatch::try_from_iter(columns).unwrap()).await;
    let error = dataset.take_rows(&[0], RowOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("field hash"), "{error}");
    assert_eq!(dataset.row_layout(Format::Compact).unwrap_err().kind(), ErrorKind::Unsupported);
    let columns = Some(vec!["id".into()]);
    assert!(dataset.take_rows(&[0], RowOptions { columns, ..Default::default() }).await.is_ok());
}

fn encode(layout: &Layout, rows: &[Value]) -> Rows {
    let encode = |row| {
        let mut bytes = vec![];
        layout.encode(row, &mut bytes).unwrap();
        bytes
    };
    rows.iter().map(encode).collect()
}

#[tokio::test]
async fn a_row_that_does_not_fit_keeps_all_from_being_written() {
    use demilance::row::{DataType as T, Field as F, Schema as S};

    let dataset = table(frames()).await;
    let list = |element, nullable| T::list(element, nullable);
    let layout = |fields: Vec<F>, format| Layout::new(S::new(fields).unwrap(), format).unwrap();
    let observation = |state: T, nullable| {
        F::new("observation", T::Struct(vec![F::new("state", state, nullable)]), nullable)
    };
    let episode = || F::new("episode", T::Int64, true);
    let state = |values: &[f32]| {
        Value::Struct(vec![Value::List(values.iter().map(|value| Value::Float32(*value)).collect())])
    };
    let row = |episode: i64, values: &[f32]| Value::Struct(vec![Value::Int64(episode), state(values)]);
    let good = || row(7, &[1.0, 2.0, 3.0, 4.0]);
    for format in FORMATS {
        let fields = || vec![episode(), observation(list(T::Float32, true), true)];
        let right = layout(fields(), format);
        let cases = [
            (row(7, &[1.0]), "row 2, field observation.state: a list of 1 instead of 4"),
            (Value::Struct(vec![Value::Null, state(&[0.0; 4])]), "row 2, field episode: null"),
            (Value::Struct(vec![Value::Int64(1), Value::Null]), "row 2, field observation: null"),
            (
                Value::Struct(vec![Value::Int64(1), Value::Struct(vec![Value::Null])]),
                "field observation.state: null",
            ),
        ];
        for (bad, text) in cases {
            let rows = encode(&right, &[good(), good(), bad, good()]);
            let error = dataset.append_rows(&right, &rows).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            assert!(error.to_string().contains(text), "{error}");
        }
        let rows = encode(&right, &[good(), good()]);
        let short = [rows.get(0).unwrap(), rows.get(1).unwrap().get(..9).unwrap()];
        let error = dataset.append_rows(&right, short).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("row 1"), "{error}");

        let other = |extra| {
            let fields = fields().into_iter().chain([extra]).collect();
            layout(fields, format)
        };
        let cases = [
            (layout(vec![observation(list(T::Float64, true), true), episode()], format), "observation.state"),
            (layout(vec![F::new("episode", T::Int64, false)], format), "observation"),
            (other(F::new("speed", T::Int8, true)), "\"speed\""),
            (
                other(F::new("grips", list(T::Struct(vec![F::new("hue", T::Int8, true)]), true), true)),
                "grips.item.hue",
            ),
        ];
        for (layout, text) in cases {
            let error = dataset.append_rows(&layout, &Rows::default()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            assert!(error.to_string().contains(text), "{error}");
        }

        let versions = dataset.versions().await.unwrap().len();
        assert_eq!(versions, if format == Format::Standard { 1 } else { 2 });
        // Nullable columns may be missing.
        let more = dataset.append_rows(&right, &rows).await.unwrap();
        let taken = more.take(&[more.count_rows() - 1]).await.unwrap();
        assert_eq!(taken.column_by_name("embedding").unwrap().null_count(), 1);
        assert_eq!(more.versions().await.unwrap().len(), versions + 1);
    }
}

#[tokio::test]
async fn no_rows_are_no_rows() {
    let dataset = table(record_batch!(("id", Int32, [1])).unwrap()).await;
    let taken = dataset.take_rows(&[], RowOptions::default()).await.unwrap();
    assert!(taken.rows().is_empty());
    assert_eq!(dataset.append_rows(taken.layout(), taken.rows()).await.unwrap().count_rows(), 1);
    let columns = Some(vec![]);
    let error = dataset.take_rows(&[0], RowOptions { columns, ..Default::default() }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(taken.into_parts().1.is_empty());
}
