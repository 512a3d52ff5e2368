//! Batches that are written by us, and read back by us and by the reference.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use lance_io::Store;

use crate::draw::Draw;
use crate::oracle::Oracle;
use crate::ours::{self, Shape};
use crate::same;
use crate::theirs::{self, Written};

/// Rows that are taken by position.
const TAKEN: usize = 30;

/// A file to write.
#[derive(Debug)]
pub struct Trial {
    /// How it came about.
    pub what: String,
    /// Its schema.
    pub schema: SchemaRef,
    /// Its rows.
    pub batches: Vec<RecordBatch>,
    /// How it is written.
    pub shape: Shape,
}

impl Trial {
    /// One nullable column in `batches`.
    pub fn of_column(what: String, batches: Vec<ArrayRef>, shape: Shape) -> Self {
        let field = Field::new("x", batches[0].data_type().clone(), true);
        Self::of_field(what, field, batches, shape)
    }

    /// The column of `field` in `batches`.
    pub fn of_field(what: String, field: Field, batches: Vec<ArrayRef>, shape: Shape) -> Self {
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = |array| RecordBatch::try_new(Arc::clone(&schema), vec![array]).unwrap();
        let batches = batches.into_iter().map(batch).collect();
        Self { what, schema, batches, shape }
    }
}

/// Writes each of `trials`, reads it by us and, if there is one, by the reference: all rows and some. Gives what is wrong.
pub fn wrong(trials: Vec<Trial>, draw: &mut Draw) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let store = Store::local(place.path());
    let (mut files, mut wrong) = (vec![], vec![]);
    for (index, Trial { what, schema, batches, shape }) in trials.into_iter().enumerate() {
        let name = format!("{index}.lance");
        let lance = place.path().join(&name);
        let expected = same::whole(&schema, &batches).unwrap();
        let mut rows = draw.rows(expected.num_rows() as u64, TAKEN);
        rows.extend(expected.num_rows().checked_sub(1).map(|last| last as u64));
        let found = ours::run(async {
            if let Err(error) = ours::write_file(&store, &name, &schema, &batches, shape).await {
                return vec![format!("writing: {error}")];
            }
            match ours::open_path(&lance).await {
                Ok(file) => ours::compare(&file, &schema, &batches, &rows).await,
                Err(error) => vec![error],
            }
        });
        wrong.extend(found.into_iter().map(|error| format!("{what}: {error}")));
        rows.sort_unstable();
        rows.dedup();
        if lance.exists() {
            files.push(Written { what, lance, expected, rows });
        }
    }
    if let Some(oracle) = Oracle::find("reading our files with the reference") {
        wrong.extend(theirs::compare(&oracle, &files, place.path()));
    }
    wrong
}
