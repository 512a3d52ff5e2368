//! Packed structs that we write: in which layout, what is refused, and that the reference reads the rest.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Schema};
use demilance_tests::draw::{Draw, Nulls, Texture};
use demilance_tests::oracle::Oracle;
use demilance_tests::ours::Shape;
use demilance_tests::theirs::{self, Written};
use demilance_tests::types::{list, vector};
use demilance_tests::{ours, same};
use lance_file::Version;
use lance_io::Store;

fn packed(members: &[(&str, DataType)]) -> DataType {
    let member = |(name, kind): &(&str, DataType)| Field::new(*name, kind.clone(), false);
    DataType::Struct(members.iter().map(member).collect())
}

/// `kind`, where it or its items are packed, in the layout that is asked for.
fn field(kind: &DataType, layout: Option<&str>) -> Field {
    let key = |(key, value): (&str, &str)| (format!("lance-encoding:{key}"), value.to_string());
    let packed = key(("packed", "true"));
    let layout = layout.map(|layout| key(("structural-encoding", layout)));
    let (kind, own) = match kind {
        DataType::List(item) => {
            let item = Field::clone(item).with_metadata([packed].into());
            (DataType::List(Arc::new(item)), None)
        }
        other => (other.clone(), Some(packed)),
    };
    Field::new("x", kind, true).with_metadata(own.into_iter().chain(layout).collect())
}

fn pair() -> DataType {
    packed(&[("a", DataType::Int8), ("b", DataType::Float64)])
}

fn wide() -> DataType {
    packed(&[("a", DataType::FixedSizeBinary(300)), ("b", DataType::Decimal256(60, 3))])
}

fn text() -> DataType {
    packed(&[
        ("a", DataType::UInt16),
        ("b", DataType::LargeUtf8),
        ("c", vector(DataType::Int16, 3)),
        ("d", DataType::Binary),
    ])
}

#[test]
fn each_layout_is_read_by_the_reference() {
    let cases = [
        (pair(), None, ["mini-block(", "packed-struct("]),
        (pair(), Some("miniblock"), ["mini-block(", "packed-struct("]),
        (pair(), Some("fullzip"), ["full-zip(", "packed-struct("]),
        (wide(), None, ["full-zip(", "packed-struct("]),
        (wide(), Some("miniblock"), ["mini-block(", "packed-struct("]),
        (list(pair()), None, ["mini-block(", "packed-struct("]),
        (list(pair()), Some("fullzip"), ["full-zip(", "packed-struct("]),
        (text(), None, ["full-zip(", "variable-packed-struct("]),
        (text(), Some("fullzip"), ["full-zip(", "variable-packed-struct("]),
        (
            packed(&[("v", vector(vector(DataType::Int8, 2), 3))]),
            None,
            ["full-zip(", "variable-packed-struct("],
        ),
    ];
    let place = tempfile::tempdir().unwrap();
    let store = Store::local(place.path());
    let (mut draw, mut files, mut wrong) = (Draw::new(51), vec![], vec![]);
    for version in [Version::V2_1, Version::V2_2] {
        for nulls in [Nulls::None, Nulls::Some, Nulls::Ends, Nulls::All] {
            for (index, (kind, layout, words)) in cases.iter().enumerate() {
                if version == Version::V2_1 && words[1].starts_with("variable") {
                    continue;
                }
                let schema = Arc::new(Schema::new(vec![field(kind, *layout)]));
                let batches: Vec<_> =
                    [900, 1, 700].map(|rows| draw.batch(&schema, rows, nulls, Texture::Random)).into();
                let what = format!("{version} {nulls:?} {kind} {layout:?}");
                let name = format!("{version}-{nulls:?}-{index}.lance");
                let written = ours::write_file(&store, &name, &schema, &batches, Shape::of(version));
                if let Err(error) = ours::run(written) {
                    wrong.push(format!("{what}: {error}"));
                    continue;
                }
                let lance = place.path().join(name);
                let expected = same::whole(&schema, &batches).unwrap();
                let mut rows = draw.rows(1601, 100);
                wrong.extend(ours::run(async {
                    let file = ours::open_path(&lance).await.unwrap();
                    let mut found = ours::compare(&file, &schema, &batches, &rows).await;
                    let missing =
                        words.iter().filter(|words| nulls != Nulls::All && !ours::has(&file, words));
                    found.extend(missing.map(|words| format!("{what}: no page has {words}")));
                    found
                }));
                rows.sort_unstable();
                rows.dedup();
                files.push(Written { what, lance, expected, rows });
            }
        }
    }
    if let Some(oracle) = Oracle::find("packed structs of ours") {
        wrong.extend(theirs::compare(&oracle, &files, place.path()));
    }
    ours::none_wrong(wrong);
}

#[test]
fn what_cannot_be_packed_is_refused_with_the_reason() {
    let refused = |field: Field, version: Version| {
        ours::run(ours::written(&Schema::new(vec![field]), &[], Shape::of(version))).expect_err("is refused")
    };
    let member = |kind: DataType| packed(&[("a", DataType::Int8), ("m", kind)]);
    let word = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    for version in [Version::V2_1, Version::V2_2] {
        for (kind, reason) in [
            (member(DataType::Boolean), "whole bytes"),
            (member(DataType::Null), "numbers, strings and fixed-size lists"),
            (member(packed(&[("x", DataType::Int8)])), "numbers, strings and fixed-size lists"),
            (member(list(DataType::Int8)), "numbers, strings and fixed-size lists"),
            (member(word.clone()), "numbers, strings and fixed-size lists"),
        ] {
            let error = refused(field(&kind, None), version);
            assert!(error.contains("m: ") && error.contains(reason), "{version}: {error}");
        }
    }
    for kind in [member(DataType::Utf8), member(vector(DataType::Int8, 2))] {
        let error = refused(field(&kind, None), Version::V2_1);
        assert!(error.contains("m: ") && error.contains("needs file version 2.2"), "{error}");
    }
    let error = refused(field(&member(vector(DataType::Boolean, 8)), None), Version::V2_2);
    assert!(error.contains("whole bytes"), "{error}");
    let error = refused(field(&list(text()), None), Version::V2_2);
    assert!(error.contains("in lists, which the reference cannot read"), "{error}");
}

#[test]
fn members_are_null_below_null_structs_only() {
    let members = vec![Field::new("a", DataType::Int32, true)];
    let rows = |values: Vec<Option<i32>>, there: Vec<bool>| -> RecordBatch {
        let values: ArrayRef = Arc::new(Int32Array::from(values));
        let array = StructArray::new(members.clone().into(), vec![values], Some(there.into()));
        let schema = Schema::new(vec![field(array.data_type(), None)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(array)]).unwrap()
    };
    for version in [Version::V2_1, Version::V2_2] {
        let good = rows(vec![Some(1), None, Some(3)], vec![true, false, true]);
        ours::run(ours::written(&good.schema(), std::slice::from_ref(&good), Shape::of(version))).unwrap();
        let bad = rows(vec![Some(1), None, Some(3)], vec![true, true, false]);
        let error = ours::run(ours::written(&bad.schema(), std::slice::from_ref(&bad), Shape::of(version)))
            .unwrap_err();
        assert!(error.contains("a: ") && error.contains("a null in a packed struct"), "{error}");
    }
    let field = field(&text(), Some("miniblock"));
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = Draw::new(52).batch(&schema, 10, Nulls::None, Texture::Random);
    let error = ours::run(ours::written(&schema, &[batch], Shape::of(Version::V2_2))).unwrap_err();
    assert!(error.contains("in mini-block pages"), "{error}");
}
