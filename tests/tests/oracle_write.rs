//! Files that we write, read by the reference and by us: type × version × null pattern × size × alignment.

use std::path::Path;

use demilance_tests::draw::{Draw, Nulls};
use demilance_tests::legacy::fit;
use demilance_tests::oracle::Oracle;
use demilance_tests::ours::Shape;
use demilance_tests::theirs::{self, Written};
use demilance_tests::types::{Column, batch, columns_of, files_of, schema};
use demilance_tests::{each_version_and_nulls, ours, same};
use lance_file::{Alignment, Version};
use lance_io::Store;

/// Rows in each batch, and when a page is closed.
const SIZES: &[(&[usize], u64)] = &[
    (&[], 8 << 20),
    (&[1], 8 << 20),
    (&[1023], 8 << 20),
    (&[1024], 8 << 20),
    (&[1025], 8 << 20),
    (&[5000], 8 << 20),
    // Several batches a page, and several pages.
    (&[900, 1, 1100, 1024, 700, 1275], 6000),
];

each_version_and_nulls!(check: version_2_0 = V2_0, version_2_1 = V2_1, version_2_2 = V2_2);

/// Without the reference, files are still written and read back by us.
fn check(version: Version, nulls: Nulls) {
    let place = tempfile::tempdir().unwrap();
    let (cases, read_by_us) = ours::run(write(version, nulls, place.path()));
    let mut wrong = vec![];
    if let Some(oracle) = Oracle::find("reading our files with the reference") {
        wrong.extend(theirs::compare(&oracle, &cases, place.path()));
    }
    wrong.extend(read_by_us);
    ours::none_wrong(wrong);
}

async fn write(version: Version, nulls: Nulls, place: &Path) -> (Vec<Written>, Vec<String>) {
    let mut columns = columns_of(version);
    // What the reference writes and cannot read in every row, we do not write.
    columns.retain(|column| !column.name.starts_with("packed_large_list_text"));
    let (mut files, mut wrong) = (vec![], vec![]);
    for places in files_of(&schema(&columns)) {
        let columns: Vec<_> = places.into_iter().map(|place| columns[place].clone()).collect();
        let (written, found) = write_columns(version, nulls, &columns, files.len(), place).await;
        files.extend(written);
        wrong.extend(found);
    }
    (files, wrong)
}

/// Files of `columns` in every size, the first with the number `first`.
async fn write_columns(
    version: Version,
    nulls: Nulls,
    columns: &[Column],
    first: usize,
    place: &Path,
) -> (Vec<Written>, Vec<String>) {
    let schema = schema(columns);
    let store = Store::local(place);
    let mut draw = Draw::new(5);
    let (mut cases, mut wrong) = (vec![], vec![]);
    for (index, (sizes, page_bytes)) in SIZES.iter().enumerate() {
        let batches: Vec<_> =
            sizes.iter().map(|rows| fit(batch(&mut draw, columns, *rows, nulls), version)).collect();
        let expected = same::whole(&schema, &batches).unwrap();
        let mut rows = draw.rows(expected.num_rows() as u64, 200);
        for alignment in [Alignment::Bytes64, Alignment::Bytes4096] {
            let name = format!("{first}-{index}-{alignment:?}.lance");
            // Of neighbours one has checksums: the reference must not care.
            let checksums = (index % 2 == 0) == (alignment == Alignment::Bytes64);
            let shape = Shape { alignment, page_bytes: *page_bytes, checksums, ..Shape::of(version) };
            let with = if checksums { " with checksums" } else { "" };
            let what = format!("{version} {nulls:?} {sizes:?} {alignment:?}{with}");
            if let Err(error) = ours::write_file(&store, &name, &schema, &batches, shape).await {
                wrong.push(format!("{what}: writing: {error}"));
                continue;
            }
            let lance = place.join(&name);
            let found = match ours::open_path(&lance).await {
                Ok(file) => {
                    let bytes = std::fs::read(&lance).unwrap();
                    let mut found = ours::compare(&file, &schema, &batches, &rows).await;
                    found.extend(ours::check_layout(&bytes, file.container(), alignment).err());
                    found
                }
                Err(error) => vec![error],
            };
            wrong.extend(found.into_iter().map(|error| format!("{what}: read by us: {error}")));
            rows.sort_unstable();
            rows.dedup();
            cases.push(Written { what, lance, expected: expected.clone(), rows: rows.clone() });
        }
    }
    (cases, wrong)
}
