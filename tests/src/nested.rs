//! Random nested schemas.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use lance_file::Version;

use crate::draw::Draw;
use crate::types::{dictionaries, large_list, list, map, primitives, vector, vectors};

/// A schema of one to five fields that go down to `depth`, for files of `version`. With `hints`, fields carry metadata
/// that steers how the reference encodes them.
pub fn schema(draw: &mut Draw, version: Version, depth: usize, hints: bool) -> SchemaRef {
    let fields: Fields = (0..1 + draw.below(5))
        .map(|index| {
            let kind = match version >= Version::V2_2 && draw.chance(10) {
                true => record_vector(draw, depth),
                false => kind(draw, version, depth),
            };
            let metadata = if hints { hint(draw, &kind) } else { HashMap::new() };
            field(draw, format!("f{index}"), kind, 10).with_metadata(metadata)
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// A random type with up to `depth` nestings.
pub fn kind(draw: &mut Draw, version: Version, depth: usize) -> DataType {
    if depth == 0 || draw.chance(30) {
        return leaf(draw);
    }
    if version >= Version::V2_2 && draw.chance(15) {
        return map(key(draw), kind(draw, version, depth - 1));
    }
    match draw.below(5) {
        0 | 1 => {
            let members = 1 + draw.below(3);
            DataType::Struct(
                (0..members)
                    .map(|index| {
                        let kind = kind(draw, version, depth - 1);
                        field(draw, format!("m{index}"), kind, 20)
                    })
                    .collect(),
            )
        }
        2 | 3 => list(kind(draw, version, depth - 1)),
        _ => large_list(kind(draw, version, depth - 1)),
    }
}

/// A field that is not nullable with `strict` in a hundred.
fn field(draw: &mut Draw, name: String, kind: DataType, strict: usize) -> Field {
    // Nothing but nulls must not be forbidden to be null.
    let nullable = kind == DataType::Null || !draw.chance(strict);
    Field::new(name, kind, nullable)
}

fn leaf(draw: &mut Draw) -> DataType {
    let pool = match draw.below(10) {
        0 => dictionaries(),
        1 | 2 => vectors(),
        _ => primitives(),
    };
    pool[draw.below(pool.len())].1.clone()
}

/// A fixed-size list of structs, in which there may be more of these but no other lists.
fn record_vector(draw: &mut Draw, depth: usize) -> DataType {
    let members = (0..1 + draw.below(3)).map(|index| {
        let kind = match depth > 1 && draw.chance(30) {
            true => record_vector(draw, depth - 1),
            false => leaf(draw),
        };
        field(draw, format!("m{index}"), kind, 20)
    });
    let members = DataType::Struct(members.collect());
    vector(members, 1 + draw.below(4) as i32)
}

/// Any leaf that has values.
fn key(draw: &mut Draw) -> DataType {
    loop {
        let kind = leaf(draw);
        if kind != DataType::Null {
            return kind;
        }
    }
}

fn hint(draw: &mut Draw, kind: &DataType) -> HashMap<String, String> {
    let (key, value) = match draw.below(8) {
        0 => ("structural-encoding", "miniblock"),
        // A vector of bits with nulls in it has no whole bytes, so it cannot be stored value by value.
        1 if !kind.to_string().contains("Boolean") => ("structural-encoding", "fullzip"),
        2 => ("compression", "zstd"),
        3 => ("compression", "lz4"),
        4 => ("compression", "none"),
        _ => return HashMap::new(),
    };
    HashMap::from([(format!("lance-encoding:{key}"), value.to_string())])
}
