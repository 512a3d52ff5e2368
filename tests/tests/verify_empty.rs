//! Verifying files without rows: what a reader would refuse is told, although there is no page to decode.

use arrow_array::RecordBatch;
use demilance_tests::edit::Parts;
use demilance_tests::ours::{self, Shape};
use demilance_tests::{types, verified};
use lance_file::Version;
use lance_footer::proto::column::{Blob, ColumnEncoding, column_encoding};
use lance_footer::proto::file2::encoding::Location;
use lance_footer::proto::file2::{Any, DirectEncoding, Encoding};
use prost::Message;

/// Says that a column is a legacy blob.
fn claim_blob(parts: &mut Parts, column: usize) {
    let blob = column_encoding::ColumnEncoding::Blob(Box::new(Blob { inner: None }));
    let encoding = ColumnEncoding { column_encoding: Some(blob) };
    let type_url = "/lance.encodings.ColumnEncoding".to_string();
    let any = Any { type_url, value: encoding.encode_to_vec().into() };
    let direct = DirectEncoding { encoding: any.encode_to_vec().into() };
    parts.columns[column].encoding = Some(Encoding { location: Some(Location::Direct(direct)) });
}

/// Gives a column a buffer of its own.
fn add_buffer(parts: &mut Parts, column: usize) {
    let offset = parts.append(&[7; 64]);
    parts.columns[column].buffer_offsets.push(offset);
    parts.columns[column].buffer_sizes.push(64);
}

/// Takes a column away.
fn remove(parts: &mut Parts, column: usize) {
    parts.columns.remove(column);
}

/// Says that every field is a blob whose values lie elsewhere.
fn claim_second_blob(parts: &mut Parts, _: usize) {
    let key = "ARROW:extension:name".to_string();
    for field in &mut parts.descriptor.schema.as_mut().unwrap().fields {
        field.metadata.insert(key.clone(), "lance.blob.v2".into());
    }
}

/// Says that every field has a type that there is not.
fn claim_type(parts: &mut Parts, _: usize) {
    for field in &mut parts.descriptor.schema.as_mut().unwrap().fields {
        field.logical_type = "fixed_size_list:nothing:3".into();
    }
}

#[test]
fn what_a_scan_refuses_is_told() {
    type Change = fn(&mut Parts, usize);
    let changes: [(&str, Change); 6] = [
        ("nothing", |_, _| {}),
        ("blob", claim_blob),
        ("buffer", add_buffer),
        ("removed", remove),
        ("second blob", claim_second_blob),
        ("type", claim_type),
    ];
    let (mut wrong, mut refused) = (vec![], 0);
    for version in Version::ALL {
        for column in types::columns_of(version) {
            let schema = types::schema(std::slice::from_ref(&column));
            let batch = RecordBatch::new_empty(schema.clone());
            let batches = [batch];
            let written = ours::written(&schema, &batches, Shape::of(version));
            let Ok(file) = ours::run(written) else { continue };
            let there = Parts::of(&file).columns.len();
            for (name, change) in changes {
                for index in 0..there {
                    let mut parts = Parts::of(&file);
                    change(&mut parts, index);
                    let file = parts.file();
                    let scanned = ours::run(async {
                        let file = ours::open_bytes(file.clone()).await?;
                        ours::scan(&file, file.schema(), 100).await
                    });
                    let (verified, lines) = ours::run(verified::bytes(file));
                    let case = format!("{version} {} column {index}, {name}", column.name);
                    assert_eq!(verified.problems, lines.len() as u64);
                    refused += usize::from(scanned.is_err());
                    if scanned.is_err() && lines.is_empty() || name == "nothing" && !lines.is_empty() {
                        wrong.push(format!("{case}: {lines:?}, and a scan gives {scanned:?}"));
                    }
                }
            }
        }
    }
    ours::none_wrong(wrong);
    assert!(refused > 100, "{refused}");
}
