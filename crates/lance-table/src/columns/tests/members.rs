//! Members of structs that have no values tell where the structs are null all the same.

use super::*;

/// Six rows in two fragments: `s` is null in row 1, its member `inner` in row 2.
async fn nested(version: Version) -> Table {
    let all_but = |null: usize| Some(NullBuffer::from_iter((0..6).map(|row| row != null)));
    let field = |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), true);
    let (a, b): (ArrayRef, ArrayRef) =
        (Arc::new(Int32Array::from_iter_values(0..6)), Arc::new(StringArray::from(vec!["b"; 6])));
    let inner: ArrayRef =
        Arc::new(StructArray::new(vec![field("a", a.data_type())].into(), vec![Arc::clone(&a)], all_but(2)));
    let members = vec![field("b", b.data_type()), field("inner", inner.data_type())];
    let s: ArrayRef = Arc::new(StructArray::new(members.into(), vec![b, inner], all_but(1)));
    let batch = RecordBatch::try_from_iter_with_nullable([("n", a, true), ("s", s, true)]).unwrap();
    let options = WriteOptions { max_rows_per_fragment: 4, version: Some(version), ..Default::default() };
    Table::write(Store::memory(), batch.into(), options).await.unwrap()
}

async fn with_null(table: &Table, path: &str) -> Table {
    let mut names = path.rsplit('.');
    let last = Field::new(names.next().unwrap(), DataType::Float32, true);
    let field = names.fold(last, |below, name| Field::new(name, DataType::Struct(vec![below].into()), true));
    let new = NewColumns::null(Schema::new(vec![field]));
    table.add_columns(new, &ColumnOptions::default()).await.unwrap()
}

/// Where the structs at the path are null: of each, in each row.
fn nulls(column: &ArrayRef, path: &[&str]) -> Vec<Vec<bool>> {
    let mut found = vec![(0..column.len()).map(|row| column.is_null(row)).collect()];
    let mut column = Arc::clone(column);
    for name in path {
        column = Arc::clone(column.as_struct().column_by_name(name).unwrap());
        found.push((0..column.len()).map(|row| column.is_null(row)).collect());
    }
    found
}

#[tokio::test]
async fn they_are_null_where_the_struct_is_and_where_it_is_not() {
    for version in [Version::V2_1, Version::V2_2] {
        for path in ["s.new", "s.inner.new"] {
            let before = nested(version).await;
            let levels: Vec<_> = path.split('.').skip(1).collect();
            let structs = &levels[..levels.len() - 1];
            let expected = nulls(&column(&before, "s").await, structs);
            assert!(expected.iter().all(|nulls| nulls.contains(&true)));

            let table = with_null(&before, path).await;
            let scanned = column(&table, path).await;
            let taken = table.take(&[0, 1, 2, 3, 4, 5], Some(&[path.to_string()]), false).await.unwrap();
            for (how, read) in [("scanned", &scanned), ("taken", taken.column(0))] {
                assert_eq!(nulls(read, structs), expected, "{version}, {path}, {how}");
                let all = nulls(read, &levels);
                assert!(all.last().unwrap().iter().all(|null| *null), "{version}, {path}, {how}");
                let mut only = Arc::clone(read);
                for name in &levels {
                    assert_eq!(only.as_struct().num_columns(), 1, "{version}, {path}, {how}");
                    only = Arc::clone(only.as_struct().column_by_name(name).unwrap());
                }
            }
            let of_both =
                table.take(&[2, 1], Some(&["n".to_string(), path.to_string()]), false).await.unwrap();
            assert_eq!(nulls(of_both.column(1), structs)[0], [expected[0][2], expected[0][1]]);
        }
    }
}
