//! Compaction of tables that have an index: whatever becomes of what it covers, the reference finds each row once, by the
//! index where it covers it and without it where it does not.

use std::path::{Path, PathBuf};

use demilance_tests::oracle::Oracle;
use demilance_tests::ours;
use lance_io::Store;
use lance_table::{Compaction, CompactionOptions, IndexCoverage, Table};
use serde_json::{Value, json};

const KINDS: [(&str, &str); 12] = [
    ("id", "BTREE"),
    ("label", "BTREE"),
    ("label", "BITMAP"),
    ("tags", "LABEL_LIST"),
    ("text", "INVERTED"),
    ("text", "NGRAM"),
    ("id", "ZONEMAP"),
    ("id", "BLOOMFILTER"),
    ("vector", "IVF_FLAT"),
    ("vector", "IVF_PQ"),
    ("vector", "IVF_SQ"),
    ("vector", "IVF_HNSW_SQ"),
];

/// A table with an index of a kind.
struct Indexed {
    path: PathBuf,
    column: &'static str,
    kind: &'static str,
    stable: bool,
    indices: IndexCoverage,
}

impl Indexed {
    /// Whether rows that move stay covered.
    fn follows(&self) -> bool {
        let kind = self.kind;
        // Indices of ranges and words have addresses, and so has a BTREE since it is of version 1.
        self.stable && (kind == "BITMAP" || kind.starts_with("IVF"))
    }

    fn about(&self) -> String {
        format!("{} of {}, stable row ids: {}, {:?}", self.kind, self.column, self.stable, self.indices)
    }

    fn compact(&self, target_rows: u64) -> Compaction {
        ours::run(async {
            let table = Table::open(Store::local(&self.path), None).await.unwrap();
            let options = CompactionOptions { target_rows, indices: self.indices, ..Default::default() };
            table.compact(&options).await.unwrap_or_else(|error| panic!("{}: {error}", self.about()))
        })
    }
}

fn tables(directory: &Path) -> Vec<Indexed> {
    let mut tables = vec![];
    for (column, kind) in KINDS {
        for stable in [false, true] {
            for indices in [IndexCoverage::Shrink, IndexCoverage::Keep] {
                let path = directory.join(tables.len().to_string());
                let table = Indexed { path, column, kind, stable, indices };
                // It is all the same where rows stay covered.
                if indices == IndexCoverage::Shrink || !table.follows() {
                    tables.push(table);
                }
            }
        }
    }
    tables
}

/// Does `jobs` for each table, and wants no wrong answers.
fn check(oracle: &Oracle, tables: &[Indexed], jobs: impl Fn(&Indexed) -> Vec<Value>) {
    let jobs = tables.iter().map(jobs).collect::<Vec<_>>();
    let mut results = oracle.run(&jobs.concat()).into_iter();
    for (table, jobs) in tables.iter().zip(jobs) {
        for job in jobs {
            let result = results.next().unwrap();
            let result = result.unwrap_or_else(|error| panic!("{}: {job}: {error}", table.about()));
            if job["do"] == "wrong_answers" {
                assert_eq!(result, json!([]), "{}", table.about());
            }
        }
    }
}

#[test]
fn every_row_is_found_once() {
    let Some(oracle) = Oracle::find("compaction of tables with indices") else { return };
    let directory = tempfile::tempdir().unwrap();
    let tables = tables(directory.path());
    let wrong = |table: &Indexed| json!({"do": "wrong_answers", "path": table.path, "column": table.column, "kind": table.kind});
    check(&oracle, &tables, |table| {
        vec![json!({"do": "make_indexed", "path": table.path, "column": table.column, "kind": table.kind,
                    "stable": table.stable})]
    });
    for (at, table) in tables.iter().enumerate() {
        // All that is small, or only what has many deleted rows.
        let all = at % 3 != 0;
        let done = table.compact(if all { 100_000 } else { 250 });
        let uncovered = done.uncovered.iter().map(|one| (one.index.as_str(), one.rows)).collect::<Vec<_>>();
        let moves = table.indices == IndexCoverage::Shrink;
        let expected = match table.follows() || !moves {
            true => vec![],
            false => vec![("the_index", if all { 1750 } else { 500 })],
        };
        assert_eq!(uncovered, expected, "{}", table.about());
        assert_eq!(done.groups.is_empty(), !table.follows() && !moves, "{}", table.about());
    }
    check(&oracle, &tables, |table| vec![wrong(table)]);

    // The reference goes on: it deletes, updates, brings the index up to date, compacts; and so do we.
    check(&oracle, &tables, |table| {
        let path = &table.path;
        vec![
            json!({"do": "delete", "path": path, "predicate": "id % 10 = 1"}),
            json!({"do": "update", "path": path, "updates": {"label": "concat(label, 'x')"}, "where": "id % 10 = 2"}),
            json!({"do": "optimize_index", "path": path}),
            wrong(table),
        ]
    });
    for table in &tables {
        table.compact(1000);
    }
    check(&oracle, &tables, |table| {
        let path = &table.path;
        vec![
            json!({"do": "compact", "path": path}),
            json!({"do": "optimize_index", "path": path}),
            wrong(table),
        ]
    });
}
