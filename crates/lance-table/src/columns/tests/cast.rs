use arrow_array::types::Int8Type;
use arrow_array::{FixedSizeListArray, Float64Array, ListArray};

use super::*;

async fn cast(table: &Table, path: &str, to: DataType, misfits: Misfits) -> crate::Result<Table> {
    table.cast_column(path, &to, misfits, &ColumnOptions::default()).await
}

#[tokio::test]
async fn only_the_column_is_written() {
    for version in Version::ALL {
        let table = holey(version).await;
        let done = cast(&table, "n", DataType::Int8, Misfits::Refuse).await.unwrap();
        assert_eq!(done.schema().names(), ["n", "s"]);
        assert_eq!(done.schema().fields[0].id, 3);
        assert_eq!(file_fields(&done)[0].last().unwrap(), &[3]);
        let n = column(&done, "n").await;
        assert_eq!(n.as_primitive::<Int8Type>().values(), &[1, 3, 4, 5, 6, 8, 9]);
        assert_eq!(numbers(&done, "s.a").await[6], Some(109));

        let done = cast(&done, "s.a", DataType::Utf8, Misfits::Refuse).await.unwrap();
        let s = column(&done, "s").await;
        assert_eq!(s.as_struct().column(0).as_string::<i32>().value(6), "109");
        assert_eq!(s.is_null(1), version > Version::V2_0);
        // And back.
        let done = cast(&done, "s.a", DataType::Int32, Misfits::Refuse).await.unwrap();
        assert_eq!(numbers(&done, "s.a").await[6], Some(109));
        let written = done.fragments().iter().map(|fragment| fragment.files().len()).collect::<Vec<_>>();
        // What has no field of the schema any more is left out.
        assert_eq!(written, [2; 3], "{version}");
    }
}

#[tokio::test]
async fn what_does_not_fit_is_refused_or_null() {
    let table = holey(Version::V2_2).await;
    let before = data_files(&table).await;
    for (path, to, text) in [
        ("s.a", DataType::Int8, None),
        ("n", DataType::Int32, Some("column \"n\" is of type Int32 already")),
        ("q", DataType::Int8, Some("no field \"q\"")),
        ("n", DataType::Struct(vec![Field::new("x", DataType::Int8, true)].into()), Some("cannot be cast")),
    ] {
        let outcome = cast(&table, path, to, Misfits::Refuse).await;
        match text {
            None => drop(outcome.unwrap()),
            Some(text) => {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains(text), "{error}");
            }
        }
    }
    let table = table.latest().await.unwrap();
    assert!(data_files(&table).await.len() > before.len());
    let before = data_files(&table).await;
    let floats = Float64Array::from(vec![
        Some(1.0),
        None,
        Some(1e300),
        Some(2.5),
        Some(-3.0),
        Some(f64::NAN),
        Some(9.0),
    ]);
    let floats = RecordBatch::try_from_iter([("f", Arc::new(floats) as ArrayRef)]).unwrap();
    let table = table.add_columns(NewColumns::aligned(floats), &ColumnOptions::default()).await.unwrap();
    let with_floats = data_files(&table).await;
    assert!(with_floats.len() > before.len());
    for (to, text) in [
        (DataType::Int32, "column \"f\", row 2: 1e300 does not fit Int32"),
        (DataType::Float32, "column \"f\", row 2: 1e300 does not fit Float32"),
    ] {
        let error = cast(&table, "f", to, Misfits::Refuse).await.unwrap_err();
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(data_files(&table).await, with_floats);
    let table = cast(&table, "f", DataType::Int32, Misfits::Null).await.unwrap();
    assert_eq!(numbers(&table, "f").await, [Some(1), None, None, None, Some(-3), None, Some(9)]);
}

#[test]
fn rows_of_misfits_are_found_in_lists() {
    let numbers = |values: Vec<Option<Vec<Option<i32>>>>| -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(values))
    };
    let item = |data_type| Arc::new(Field::new("item", data_type, true));
    let to = DataType::List(item(DataType::Int8));
    let lists = numbers(vec![None, Some(vec![Some(1), None]), Some(vec![]), Some(vec![Some(5), Some(300)])]);
    let convert =
        |array: &ArrayRef, to: &DataType, misfits| super::super::convert::convert(array, to, misfits);
    let row = |array: &ArrayRef, to: &DataType| match convert(array, to, Misfits::Refuse) {
        Err(super::super::convert::Refused::Value { row, value, .. }) => Some((row, value)),
        _ => None,
    };
    assert_eq!(row(&lists, &to), Some((3, "300".into())));
    assert_eq!(row(&lists.slice(2, 2), &to), Some((1, "300".into())));
    assert_eq!(row(&lists.slice(0, 3), &to), None);
    let nulls = convert(&lists, &to, Misfits::Null).unwrap();
    assert_eq!(nulls.as_list::<i32>().values().null_count(), 2);
    assert_eq!(nulls.nulls(), lists.nulls());

    let values: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 300, 300, 5, 400]));
    let vectors = |nulls| -> ArrayRef {
        Arc::new(FixedSizeListArray::new(item(DataType::Int32), 2, values.clone(), nulls))
    };
    let to = DataType::FixedSizeList(item(DataType::Int8), 2);
    assert_eq!(row(&vectors(None), &to), Some((1, "300".into())));
    // What is behind null does not count.
    let behind = vectors(Some(NullBuffer::from(vec![true, false, true])));
    assert_eq!(row(&behind, &to), Some((2, "400".into())));
    assert_eq!(row(&behind.slice(1, 1), &to), None);
}
