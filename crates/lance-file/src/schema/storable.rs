//! What each version's files can hold.

use arrow_schema::DataType;

use super::{Field, LogicalType, Schema};
use crate::{FormatError, Version};

impl Schema {
    /// An error that names the first field which files of `version` cannot hold, and why.
    pub fn check_storable(&self, version: Version) -> Result<(), FormatError> {
        self.fields.iter().try_for_each(|field| check(field, &field.name, version))?;
        if version > Version::V2_0 {
            let mut empty = None;
            self.fields.iter().try_for_each(|field| check_empty(field, &field.name, version, &mut empty))?;
        }
        self.check_slots()
    }

    /// An error if rows of the top-level fields have unlike numbers of slots, as fixed-size lists of structs beside other
    /// fields do. We would read such a file, but the reference reads nothing of it besides single columns: its own
    /// files are of no use to it, either.
    fn check_slots(&self) -> Result<(), FormatError> {
        let Some(first) = self.fields.first() else { return Ok(()) };
        let Some(other) = self.fields.iter().find(|field| slots(field) != slots(first)) else {
            return Ok(());
        };
        let vector = if slots(other) > slots(first) { other } else { first };
        Err(FormatError::unsupported(format!(
            "field {}: a fixed-size list of structs next to other fields, which the reference cannot read together",
            vector.name
        )))
    }
}

/// Values that each leaf of `field` has for a row, below fixed-size lists of structs; its members all have as many.
fn slots(field: &Field) -> u64 {
    let below = || field.children.first().map_or(1, slots);
    match &field.logical_type {
        LogicalType::FixedSizeList(size) => u64::from(size.unsigned_abs()).saturating_mul(below()),
        LogicalType::Struct => below(),
        // No such list is below lists and maps.
        _ => 1,
    }
}

/// An error if `field`, whose path is `path`, has values and a struct without members comes before: the reference takes the
/// column of that struct for the one after it. `empty` is the path of the last such struct.
fn check_empty(
    field: &Field,
    path: &str,
    version: Version,
    empty: &mut Option<String>,
) -> Result<(), FormatError> {
    match &field.logical_type {
        LogicalType::Struct if field.children.is_empty() => *empty = Some(path.into()),
        LogicalType::Leaf(DataType::Null) => {}
        _ if field.children.is_empty() => {
            if let Some(empty) = empty {
                return Err(FormatError::unsupported(format!(
                    "field {empty} in file version {version}: a struct without members before the values of {path}, \
                     which the reference then cannot read; put it last"
                )));
            }
        }
        _ => {}
    }
    let mut children = field.children.iter();
    children.try_for_each(|child| check_empty(child, &format!("{path}.{}", child.name), version, empty))
}

fn check(field: &Field, path: &str, version: Version) -> Result<(), FormatError> {
    let reason = match &field.logical_type {
        LogicalType::Map if version < Version::V2_2 => Some("maps need file version 2.2".into()),
        LogicalType::FixedSizeList(_) if version < Version::V2_2 => {
            Some("fixed-size lists of structs need file version 2.2".into())
        }
        LogicalType::FixedSizeList(0) => Some("fixed-size lists of length 0 cannot be stored".into()),
        LogicalType::Struct if field.is_blob_v2() && version < Version::V2_2 => {
            Some("blobs of this kind need file version 2.2".into())
        }
        LogicalType::Leaf(data_type) => check_leaf(data_type),
        _ => None,
    };
    if let Some(reason) = reason {
        return Err(FormatError::unsupported(format!("field {path} in file version {version}: {reason}")));
    }
    let mut children = field.children.iter();
    children.try_for_each(|child| check(child, &format!("{path}.{}", child.name), version))
}

fn check_leaf(data_type: &DataType) -> Option<String> {
    match data_type {
        DataType::FixedSizeList(item, size) => match item.data_type() {
            _ if *size == 0 => Some("fixed-size lists of length 0 cannot be stored".into()),
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::Null
            | DataType::Dictionary(..) => {
                Some(format!("fixed-size lists of {} cannot be stored", item.data_type()))
            }
            inner => check_leaf(inner),
        },
        _ => None,
    }
}
