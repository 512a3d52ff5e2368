//! Tables with columns of blobs: what they look like from outside. Without rows, so that nobody has to write blobs.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use demilance::row::Format;
use demilance::{Dataset, ErrorKind, RowOptions};
use demilance_tests::manifest::edit;
use demilance_tests::ours;
use lance_io::Store;
use lance_table::{Table, WriteOptions};

/// A table whose field `blob` has this type, and says that it is a blob.
async fn table(kind: DataType, nested: bool, key: &str, value: &str) -> Dataset {
    let blob = Field::new("blob", kind, true);
    let blob = match nested {
        true => Field::new("pair", DataType::Struct(vec![blob].into()), true),
        false => blob,
    };
    let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, false), blob]));
    let store = Store::memory();
    let empty = RecordBatch::new_empty(schema);
    Table::write(store.clone(), empty.into(), WriteOptions::default()).await.unwrap();
    edit(&store, 1, |manifest| {
        let blob = manifest.fields.iter_mut().find(|field| field.name == "blob").unwrap();
        blob.metadata.insert(key.into(), value.as_bytes().to_vec().into());
    })
    .await;
    Table::open(store, None).await.unwrap().into()
}

fn names(kind: &DataType) -> Vec<&str> {
    match kind {
        DataType::Struct(members) => members.iter().map(|member| member.name().as_str()).collect(),
        _ => vec![],
    }
}

#[test]
fn all_that_is_read_says_where_blobs_are() {
    let members = [("data", DataType::LargeBinary), ("uri", DataType::Utf8)];
    let members = members.map(|(name, kind)| Field::new(name, kind, true)).to_vec();
    let kinds = [
        (DataType::LargeBinary, "lance-encoding:blob", "true", vec!["position", "size"]),
        (
            DataType::Struct(members.into()),
            "ARROW:extension:name",
            "lance.blob.v2",
            vec!["kind", "position", "size", "blob_id", "blob_uri"],
        ),
    ];
    ours::run(async {
        for ((kind, key, value, described), nested) in
            kinds.iter().flat_map(|kind| [false, true].map(|nested| (kind, nested)))
        {
            let table = table(kind.clone(), nested, key, value).await;
            let inner = |schema: &Schema| match schema.field(1).data_type() {
                DataType::Struct(members) if nested => members[0].data_type().clone(),
                other => other.clone(),
            };
            assert_eq!(&inner(&table.schema()), kind);
            let batches = table.table().batch_schema();
            assert_eq!(&names(&inner(&batches)), described);
            assert_eq!(table.take(&[]).await.unwrap().schema(), batches);
            let path = if nested { "pair.blob" } else { "blob" };
            for format in [Format::Standard, Format::Compact] {
                // Numbers without a sign, for which rows have no type; a layout says the same as a take.
                let options = |columns| RowOptions { format, columns };
                let taken = table.take_rows(&[], options(None)).await.unwrap_err();
                let layout = table.row_layout(format).unwrap_err();
                assert_eq!((layout.kind(), layout.to_string()), (taken.kind(), taken.to_string()));
                assert_eq!(layout.kind(), ErrorKind::Unsupported);
                assert!(layout.to_string().contains(&format!("field {path}.position: ")), "{layout}");
                // Other columns are read and written; the blobs of these rows are null.
                let columns = Some(vec!["id".to_string()]);
                let taken = table.take_rows(&[], options(columns)).await.unwrap();
                let layout = taken.layout();
                let mut row = vec![];
                layout.write_row(&mut row, |row| row.set("id", 7i64)).unwrap();
                let longer = table.append_rows(layout, [row.as_slice()]).await.unwrap();
                assert_eq!(longer.take(&[0]).await.unwrap().column(1).null_count(), 1);
            }
        }
    });
}
