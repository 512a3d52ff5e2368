//! Where structs and lists are null or end is stored with their members only. If none of the members that are wanted
//! is stored, because they were added without values, another one has to be read for it.

use arrow_schema::DataType;
use lance_file::{Field, LogicalType, Schema};
use lance_footer::Version;

/// `projection` of `schema` and, below each struct and list of which it names nothing that `has` says is stored, the
/// cheapest that is.
pub(super) fn with_levels(projection: &Schema, schema: &Schema, has: &impl Fn(i32) -> bool) -> Schema {
    let mut projection = projection.clone();
    for field in &mut projection.fields {
        if let Some(whole) = same(&schema.fields, field) {
            add(field, whole, has);
        }
    }
    projection
}

/// Whether something of `field` is stored or, where that is possible, is now asked for beside it.
fn add(field: &mut Field, whole: &Field, has: &impl Fn(i32) -> bool) -> bool {
    let (LogicalType::Struct | LogicalType::List | LogicalType::LargeList | LogicalType::FixedSizeList(_)) =
        field.logical_type
    else {
        return has(field.id);
    };
    if field.is_packed() || field.is_blob() {
        return has(field.id);
    }
    let mut stored = false;
    for child in &mut field.children {
        stored |= same(&whole.children, child).is_some_and(|whole| add(child, whole, has));
    }
    if !stored && let Some(other) = cheapest(whole, has) {
        field.children.push(other);
        stored = true;
    }
    stored
}

fn same<'a>(fields: &'a [Field], as_this: &Field) -> Option<&'a Field> {
    fields.iter().find(|field| field.id == as_this.id)
}

/// The child of `field` that has the leaf that costs the least, with that leaf only.
fn cheapest(field: &Field, has: &impl Fn(i32) -> bool) -> Option<Field> {
    let leaves = Schema { fields: field.children.clone(), ..Default::default() };
    let leaf = cheapest_leaf(field, has)?;
    let is_around = |field: &&Field| field.logical_type == LogicalType::Map && contains(field, leaf.id);
    // Maps are read whole.
    let kept = leaves.pre_order().into_iter().find(is_around).unwrap_or(leaf);
    let only = leaves.project_ids(|id| contains(kept, id)).with_blob_descriptions();
    only.fields.into_iter().next()
}

/// The leaf of `field` that costs the least to read, of those that `has` says are stored.
pub(crate) fn cheapest_leaf<'a>(field: &'a Field, has: &impl Fn(i32) -> bool) -> Option<&'a Field> {
    let leaves = field.column_owners(Version::V2_1).into_iter();
    leaves.filter(|leaf| has(leaf.id)).min_by_key(|leaf| cost(leaf))
}

fn contains(field: &Field, id: i32) -> bool {
    field.id == id || field.children.iter().any(|child| contains(child, id))
}

/// About how many bytes a value has.
fn cost(field: &Field) -> usize {
    match &field.logical_type {
        _ if field.is_blob() => 32,
        LogicalType::Leaf(DataType::Null | DataType::Boolean) => 1,
        LogicalType::Leaf(data_type) => match data_type {
            DataType::FixedSizeList(_, size) => {
                usize::try_from(*size).unwrap_or(usize::MAX).saturating_mul(8)
            }
            DataType::FixedSizeBinary(size) => usize::try_from(*size).unwrap_or(usize::MAX),
            DataType::Utf8 | DataType::LargeUtf8 => 1 << 8,
            DataType::Binary | DataType::LargeBinary => 1 << 20,
            _ => data_type.primitive_width().unwrap_or(16),
        },
        _ => 1 << 16,
    }
}
