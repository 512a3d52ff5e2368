//! How the fields of a schema map to physical columns, in versions 2.1 and later.

use arrow_schema::{DataType, Field};
use lance_footer::FormatError;

use crate::blob::are_descriptions;

/// Types within types, from the field down to the leaf; more are refused before they exhaust the stack.
pub(crate) const MAX_NESTING: usize = 100;

/// `error` with the dotted name of the member that it is about, if that is not the field itself. Whoever knows the
/// field names it.
pub(crate) fn at_member(error: FormatError, member: &str) -> FormatError {
    if member.is_empty() { error } else { error.within(member) }
}

/// The dotted name, below the field, of the member `child` of `parent`.
pub(crate) fn member_name(parent: &str, child: &Field) -> String {
    if parent.is_empty() { child.name().clone() } else { format!("{parent}.{}", child.name()) }
}

/// How many physical columns `field` has: one a leaf, and at least one.
///
/// Leaves are primitives, strings, dictionaries, fixed-size lists of primitives, packed structs, descriptions of blobs
/// and structs without members. Columns of a field are numbered in depth-first order.
pub fn leaf_count(field: &Field) -> usize {
    match field.data_type() {
        DataType::Struct(members) if !members.is_empty() && !is_packed(field) && !describes_blobs(field) => {
            members.iter().map(|member| leaf_count(member)).sum()
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => leaf_count(item),
        DataType::FixedSizeList(item, _) if matches!(item.data_type(), DataType::Struct(_)) => {
            leaf_count(item)
        }
        _ => 1,
    }
}

/// Whether `field` is a struct whose members are stored together in one column.
pub fn is_packed(field: &Field) -> bool {
    let truthy =
        |value: &String| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "on" | "yes" | "y");
    let metadata = field.metadata();
    matches!(field.data_type(), DataType::Struct(_))
        && ["lance-encoding:packed", "packed"].iter().any(|key| metadata.get(*key).is_some_and(truthy))
}

/// Whether `field` says where blobs are: a struct of `position` and `size`, marked as the blobs themselves are.
pub fn describes_blobs(field: &Field) -> bool {
    let members = matches!(field.data_type(), DataType::Struct(members) if are_descriptions(members));
    members && field.metadata().contains_key("lance-encoding:blob")
}

#[cfg(test)]
mod tests {
    use arrow_schema::Fields;

    use super::*;

    #[test]
    fn only_leaves_own_columns() {
        let number = |name: &str| Field::new(name, DataType::Int32, true);
        let pair = DataType::Struct(Fields::from(vec![number("q"), number("r")]));
        let list = DataType::List(Field::new("item", pair.clone(), true).into());
        let vector = DataType::FixedSizeList(Field::new("item", DataType::Float32, true).into(), 2);
        let members = vec![number("x"), Field::new("y", list, true), Field::new("z", vector, true)];
        assert_eq!(leaf_count(&number("a")), 1);
        assert_eq!(leaf_count(&Field::new("s", DataType::Struct(Fields::from(members)), true)), 4);
        assert_eq!(leaf_count(&Field::new("e", DataType::Struct(Fields::empty()), true)), 1);
        let packed = Field::new("p", pair, true);
        let packed = packed
            .with_metadata([("lance-encoding:packed".to_string(), "True".to_string())].into_iter().collect());
        assert_eq!(leaf_count(&packed), 1);
    }
}
