//! Calls the command and looks at what comes back.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeListArray, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow_schema::{Field, Fields};
use tempfile::TempDir;

/// A directory in which the command runs.
pub(crate) struct Place {
    directory: TempDir,
}

/// What a call gave.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_demilance"));
        command.current_dir(self.directory.path());
        command
    }

    pub(crate) fn call<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Outcome {
        let Output { status, stdout, stderr } = self.command().args(arguments).output().unwrap();
        Outcome { code: status.code(), stdout, stderr: String::from_utf8(stderr).unwrap() }
    }

    /// Calls the command with words, which must succeed and say nothing on stderr; what it printed.
    pub(crate) fn ok(&self, words: &str) -> String {
        let outcome = self.call(words.split_whitespace());
        assert_eq!(outcome.code, Some(0), "{words}: {}", outcome.stderr);
        assert_eq!(outcome.stderr, "", "{words}");
        outcome.text()
    }

    /// Calls the command with words, which must fail with one line; that line.
    pub(crate) fn error(&self, words: &str) -> String {
        let outcome = self.call(words.split_whitespace());
        assert_eq!(outcome.code, Some(1), "{words}: {}{}", outcome.text(), outcome.stderr);
        let line = outcome.stderr.strip_suffix('\n').unwrap();
        assert!(line.starts_with("error: ") && !line.contains('\n'), "{line}");
        assert!(!line.contains("internal error"), "{line}");
        line.to_string()
    }
}

impl Outcome {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }
}

/// Rows with most of the kinds of columns that recordings have.
pub(crate) fn rows(first: i64, count: i64) -> RecordBatch {
    let numbers = first..first + count;
    let texts = numbers.clone().map(|n| (n % 5 != 3).then(|| format!("text {n}")));
    let lists = numbers.clone().map(|n| (n % 4 != 1).then(|| (0..n % 4).map(|i| Some(i as f32 / 2.0))));
    let states = numbers.clone().map(|n| Some([n as f32, 0.5].map(Some)));
    let images = numbers.clone().map(|n| vec![n as u8; 3 + (n as usize * 7) % 100]).collect::<Vec<_>>();
    let members: Vec<(Arc<Field>, ArrayRef)> = vec![(
        Arc::new(Field::new("x", arrow_schema::DataType::Int64, true)),
        Arc::new(numbers.clone().map(|n| (n % 2 == 0).then_some(n)).collect::<Int64Array>()),
    )];
    let fields: Fields = members.iter().map(|(field, _)| Arc::clone(field)).collect();
    let arrays = members.into_iter().map(|(_, array)| array).collect();
    let columns: [(&str, ArrayRef, bool); 6] = [
        ("id", Arc::new(numbers.collect::<Int64Array>()), false),
        ("text", Arc::new(texts.collect::<StringArray>()), true),
        ("list", Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(lists)), true),
        ("state", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(states, 2)), true),
        ("image", Arc::new(BinaryArray::from_iter_values(images)), true),
        ("both", Arc::new(arrow_array::StructArray::new(fields, arrays, None)), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

pub(crate) fn write_parquet(path: &Path, batch: &RecordBatch) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

pub(crate) fn write_arrow(path: &Path, batch: &RecordBatch) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

pub(crate) fn write_arrow_stream(path: &Path, batch: &RecordBatch) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

pub(crate) fn read_arrow(path: &Path) -> Vec<RecordBatch> {
    let reader = arrow_ipc::reader::FileReader::try_new(std::fs::File::open(path).unwrap(), None).unwrap();
    reader.map(Result::unwrap).collect()
}

pub(crate) fn read_parquet(path: &Path) -> Vec<RecordBatch> {
    let file = std::fs::File::open(path).unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(file, 1024).unwrap();
    reader.map(Result::unwrap).collect()
}

/// The same rows in one batch with the same values; what may differ is how fields of list items are named
/// and whether nulls are allowed.
pub(crate) fn assert_same(found: &[RecordBatch], expected: &RecordBatch) {
    let found = arrow_select::concat::concat_batches(&found[0].schema(), found).unwrap();
    assert_eq!(found.num_rows(), expected.num_rows());
    assert_eq!(json(&found), json(expected));
    for (found, expected) in found.schema().fields().iter().zip(expected.schema().fields()) {
        assert_eq!(found.name(), expected.name());
    }
}

/// Rows as JSON lines.
pub(crate) fn json(batch: &RecordBatch) -> String {
    let writer = arrow_json::WriterBuilder::new().with_explicit_nulls(true);
    let mut writer = writer.build::<_, arrow_json::writer::LineDelimited>(Vec::new());
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    String::from_utf8(writer.into_inner()).unwrap()
}

/// `batch` with its columns `before.name` as members of a struct `before`, as `import` makes them.
pub(crate) fn nested(batch: &RecordBatch, before: &str) -> RecordBatch {
    let schema = batch.schema();
    let mut columns: Vec<(String, ArrayRef, bool)> = Vec::new();
    let mut members = Vec::new();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        match field.name().strip_prefix(&format!("{before}.")) {
            None => columns.push((field.name().clone(), Arc::clone(column), field.is_nullable())),
            Some(name) => {
                if members.is_empty() {
                    columns.push((before.to_string(), Arc::clone(column), false));
                }
                members.push((Arc::new(field.as_ref().clone().with_name(name)), Arc::clone(column)));
            }
        }
    }
    for (name, column, _) in &mut columns {
        if name == before {
            *column = Arc::new(arrow_array::StructArray::from(members.clone()));
        }
    }
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}
