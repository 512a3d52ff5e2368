//! The sound files that hostile ones are made of: small, each with a field or a few, of every version, type and
//! encoding.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use lance_file::proto::FileDescriptor;
use lance_file::{Compression, FileReader, Version};
use prost::Message;

use crate::draw::{Draw, Nulls, Texture};
use crate::edit::RawParts;
use crate::ours::{self, Shape};
use crate::{fixture, legacy, nested, types};

/// Rows of the files that are written here.
const ROWS: usize = 300;
/// Random schemas of a version.
const NESTED: usize = 60;
/// A page of them is closed at so many bytes, where they are to have more than one.
const PAGE_BYTES: u64 = 1500;
/// Larger ones take long and have nothing that the others do not have.
const LARGEST: usize = 48 << 10;

/// A sound file.
#[derive(Debug)]
pub struct Base {
    /// Where it is from, its version and its field.
    pub name: String,
    /// What it is made of.
    pub parts: RawParts,
}

/// All of them. Those that the reference wrote are cut into files of one field each.
pub fn bases() -> Vec<Base> {
    let mut bases = vec![];
    for file in fixture::files() {
        ours::run(cut(&format!("{} {}", file.name, file.version), &file.path, &mut bases));
    }
    let mut draw = Draw::new(1);
    for version in [Version::V2_0, Version::V2_1, Version::V2_2] {
        ours::run(written(version, &mut draw, &mut bases));
        ours::run(nested(version, &mut draw, &mut bases));
    }
    assert!(bases.len() > 500, "{} sound files", bases.len());
    bases
}

/// A file for each field of the file at `path`, and that file itself if it is small.
async fn cut(name: &str, path: &Path, bases: &mut Vec<Base>) {
    let bytes = Bytes::from(std::fs::read(path).unwrap());
    let file = ours::open_bytes(bytes.clone()).await.unwrap();
    let whole = RawParts::of(&bytes);
    let ends = first_columns(&file, whole.columns.len());
    if bytes.len() <= LARGEST / 2 {
        bases.push(Base { name: name.into(), parts: whole.clone() });
    }
    if ends.len() < 3 {
        return;
    }
    for (field, columns) in file.schema().fields.iter().zip(ends.windows(2)) {
        let parts = one_field(&whole, &field.name, &whole.columns[columns[0]..columns[1]]);
        if parts.data.len() <= LARGEST {
            bases.push(Base { name: format!("{name} {}", field.name), parts });
        }
    }
}

/// The first column of each top-level field, and one more than there are.
fn first_columns(file: &FileReader, columns: usize) -> Vec<usize> {
    let first = |field: &lance_file::Field| {
        let owners = field.column_owners(file.version()).into_iter();
        owners.filter_map(|owner| file.columns().get(&owner.id)).min().map_or(0, |column| *column as usize)
    };
    file.schema().fields.iter().map(first).chain([columns]).collect()
}

/// A file of the top-level field `name`, which is in `columns`, with the buffers of these alone.
fn one_field(whole: &RawParts, name: &str, columns: &[Vec<u8>]) -> RawParts {
    use lance_footer::proto::file2::ColumnMetadata;
    let mut descriptor = FileDescriptor::decode(&*whole.descriptor).unwrap();
    let schema = descriptor.schema.as_mut().unwrap();
    let mut ids = vec![];
    schema.fields.retain(|field| {
        let kept = if field.parent_id < 0 { field.name == name } else { ids.contains(&field.parent_id) };
        if kept {
            ids.push(field.id);
        }
        kept
    });
    let mut parts = RawParts {
        data: vec![],
        globals: vec![],
        descriptor: descriptor.encode_to_vec(),
        columns: vec![],
        version: whole.version,
    };
    for column in columns {
        let mut column = ColumnMetadata::decode(&**column).unwrap();
        let pages = column.pages.iter_mut().map(|page| (&mut page.buffer_offsets, &page.buffer_sizes));
        for (offsets, sizes) in pages.chain([(&mut column.buffer_offsets, &column.buffer_sizes)]) {
            for (offset, size) in offsets.iter_mut().zip(sizes) {
                let bytes = &whole.data[*offset as usize..(*offset + *size) as usize];
                *offset = parts.append(bytes);
            }
        }
        parts.columns.push(column.encode_to_vec());
    }
    parts
}

/// Files that we write: one for each type and texture.
async fn written(version: Version, draw: &mut Draw, bases: &mut Vec<Base>) {
    for (index, column) in types::columns_of(version).iter().enumerate() {
        let nulls = [Nulls::Some, Nulls::None, Nulls::All][index % 3];
        let batch = types::batch(draw, std::slice::from_ref(column), ROWS, nulls);
        let batch = legacy::fit(batch, version);
        let shape = Shape {
            page_bytes: if index % 4 == 0 { PAGE_BYTES } else { 8 << 20 },
            compression: match index % 6 {
                2 => Some(Compression::Lz4),
                3 => Some(Compression::Zstd { level: None }),
                5 => Some(Compression::Fsst),
                _ => None,
            },
            checksums: index % 6 == 1,
            ..Shape::of(version)
        };
        push(batch, shape, &format!("{} {nulls:?}", column.name), bases).await;
    }
}

/// Files of random schemas.
async fn nested(version: Version, draw: &mut Draw, bases: &mut Vec<Base>) {
    for index in 0..NESTED {
        let schema = nested::schema(draw, version, 3, true);
        // What may be in one file.
        let schema = Arc::new(schema.project(&types::files_of(&schema)[0]).unwrap());
        let texture = [Texture::Random, Texture::Narrow, Texture::Runs, Texture::Few][index % 4];
        let batch = draw.batch(&schema, ROWS / 3, Nulls::Some, texture);
        let shape = Shape { checksums: index % 6 == 0, ..Shape::of(version) };
        push(legacy::fit(batch, version), shape, &format!("nested {index}"), bases).await;
    }
}

/// The file that we write of `batch`, unless its version cannot hold it.
async fn push(batch: RecordBatch, shape: Shape, name: &str, bases: &mut Vec<Base>) {
    let Ok(bytes) = ours::written(&batch.schema(), &halves(&batch), shape).await else { return };
    if bytes.len() <= LARGEST {
        bases.push(Base { name: format!("ours {} {name}", shape.version), parts: RawParts::of(&bytes) });
    }
}

/// Pages end with batches only.
fn halves(batch: &RecordBatch) -> [RecordBatch; 2] {
    let half = batch.num_rows() / 2;
    [batch.slice(0, half), batch.slice(half, batch.num_rows() - half)]
}
