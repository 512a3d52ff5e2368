//! What the reference writes of types that come back as others, and what it writes and refuses to read itself.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int8Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Fields, Schema};
use demilance_tests::draw::{Draw, Nulls, Texture};
use demilance_tests::oracle::Oracle;
use demilance_tests::types::list;
use demilance_tests::{ours, stream};
use lance_file::Version;
use serde_json::json;

#[test]
fn views_come_back_as_strings() {
    let Some(oracle) = Oracle::find("views that the reference writes") else { return };
    let place = tempfile::tempdir().unwrap();
    let mut draw = Draw::new(61);
    let view = |kind: &DataType| match kind {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        other => other.clone(),
    };
    let kinds = [("text", DataType::Utf8), ("binary", DataType::Binary), ("texts", list(DataType::Utf8))];
    for version in [Version::V2_1, Version::V2_2] {
        for (index, (nulls, texture)) in
            [(Nulls::None, Texture::Random), (Nulls::Some, Texture::Few), (Nulls::Some, Texture::Long)]
                .into_iter()
                .enumerate()
        {
            let fields = kinds.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true));
            let plain = Arc::new(Schema::new(fields.collect::<Fields>()));
            let views = kinds.iter().map(|(name, kind)| {
                let kind = match kind {
                    DataType::List(item) => list(view(item.data_type())),
                    other => view(other),
                };
                Field::new(*name, kind, true)
            });
            let views = Arc::new(Schema::new(views.collect::<Fields>()));
            let batch = draw.batch(&plain, 1500, nulls, texture);
            let cast = batch.columns().iter().zip(views.fields());
            let cast = cast.map(|(array, field)| arrow_cast::cast(array, field.data_type()).unwrap());
            let seen = RecordBatch::try_new(Arc::clone(&views), cast.collect()).unwrap();
            let at = |ending: &str| place.path().join(format!("{version}-{index}.{ending}"));
            stream::write(&at("arrow"), &views, &[seen]);
            oracle.one(json!({"do": "write_file", "arrow": at("arrow"), "to": at("lance"), "version": version.to_string()}));
            ours::none_wrong(ours::run(async {
                let file = ours::open_path(&at("lance")).await.unwrap();
                ours::compare(&file, &plain, &[batch], &draw.rows(1500, 100)).await
            }));
        }
    }
}

#[test]
fn dictionaries_that_have_outgrown_their_keys_are_told() {
    let Some(oracle) = Oracle::find("dictionaries that the reference writes") else { return };
    let place = tempfile::tempdir().unwrap();
    let kind = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    let schema = Arc::new(Schema::new(vec![Field::new("x", kind, true)]));
    let batches: Vec<_> = (0..3)
        .map(|batch| {
            let items: ArrayRef =
                Arc::new(StringArray::from_iter_values((0..100).map(|i| format!("{batch} {i}"))));
            let keys = Int8Array::from_iter_values((0..100_i8).chain(0..100));
            let array = DictionaryArray::<Int8Type>::try_new(keys, items).unwrap();
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(array)]).unwrap()
        })
        .collect();
    for version in [Version::V2_1, Version::V2_2] {
        let at = |ending: &str| place.path().join(format!("{version}.{ending}"));
        stream::write(&at("arrow"), &schema, &batches);
        oracle.one(json!({"do": "write_file", "arrow": at("arrow"), "to": at("lance"), "version": version.to_string()}));
        let theirs = oracle
            .run(&[json!({"do": "read_file", "path": at("lance"), "to": at("scan"), "rows": [0, 250, 599]})]);
        assert!(theirs[0].is_err(), "the reference reads it by now: so should we");
        let error = ours::run(async {
            let file = ours::open_path(&at("lance")).await.unwrap();
            ours::scan(&file, file.schema(), 1000).await.unwrap_err()
        });
        assert!(error.contains("field x") && error.contains("does not fit the key type Int8"), "{error}");
    }
}
