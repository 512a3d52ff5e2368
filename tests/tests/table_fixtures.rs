//! Tables that the reference wrote once, read without it.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use demilance_tests::draw::Draw;
use demilance_tests::fixture::{self, TableFixture, VersionFixture};
use demilance_tests::{ours, same, stream};
use futures::TryStreamExt;
use lance_io::Store;
use lance_table::{ROW_ID, ScanOptions, Table, TableError};

#[test]
fn every_version_is_read_as_the_reference_reads_it() {
    let mut draw = Draw::new(4);
    let wrong = ours::run(async {
        let mut wrong = vec![];
        for table in fixture::tables() {
            for version in &table.versions {
                let found = check(&table, version, &mut draw).await;
                wrong.extend(
                    found.err().map(|error| format!("{} version {}: {error}", table.name, version.version)),
                );
            }
        }
        wrong
    });
    ours::none_wrong(wrong);
}

async fn check(fixture: &TableFixture, version: &VersionFixture, draw: &mut Draw) -> Result<(), String> {
    let text = |error: TableError| error.to_string();
    let table = Table::open(Store::local(&fixture.path), Some(version.version)).await.map_err(text)?;
    let (schema, batches) = stream::read(&version.expected);
    same::check_schema(&table.arrow_schema(), &schema)?;
    if table.fragments().len() != version.fragments {
        return Err(format!("{} fragments instead of {}", table.fragments().len(), version.fragments));
    }
    let rows = draw.rows(version.rows, 50);
    ours::compare_table(&table, &same::whole(&schema, &batches)?, &rows).await?;

    let options = ScanOptions { columns: Some(vec![]), with_row_id: true, ..Default::default() };
    let batches: Vec<_> = table.scan(options).map_err(text)?.try_collect().await.map_err(text)?;
    let ids: Vec<u64> = batches
        .iter()
        .filter_map(|batch| batch.column_by_name(ROW_ID))
        .flat_map(|column| column.as_primitive::<UInt64Type>().values().to_vec())
        .collect();
    if !ids.ends_with(&version.row_ids) || ids.len() as u64 != version.rows {
        return Err(format!("{} row ids that do not end with {:?}", ids.len(), version.row_ids));
    }
    Ok(())
}

#[test]
fn the_latest_version_is_opened_by_default() {
    ours::run(async {
        for fixture in fixture::tables() {
            let table = Table::open(Store::local(&fixture.path), None).await.unwrap();
            assert_eq!(table.version(), fixture.versions.last().unwrap().version, "{}", fixture.name);
            let listed: Vec<u64> = table.versions().await.unwrap().iter().map(|info| info.version).collect();
            let expected: Vec<u64> = fixture.versions.iter().map(|version| version.version).collect();
            assert_eq!(listed, expected, "{}", fixture.name);
        }
    });
}
