use std::collections::BTreeMap;

use arrow_schema::DataType;

use super::{EXTENSION_NAME, LogicalType};
use crate::Version;

/// A field of a [`Schema`](super::Schema), with its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Unique in the schema; -1 for the inner fields of some blobs.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Whether it may be null.
    pub nullable: bool,
    /// Key-value pairs; the Arrow extension type and the writer's hints are here.
    pub metadata: BTreeMap<String, String>,
    /// Its type, but for what the children say.
    pub logical_type: LogicalType,
    /// The members of a struct; the only child of a list, map or fixed-size list of structs.
    pub children: Vec<Field>,
}

impl Field {
    /// The type as it is stored, such as `timestamp:us:UTC` or `list.struct`.
    pub fn logical_type_string(&self) -> String {
        let child_is_struct =
            self.children.first().is_some_and(|child| child.logical_type == LogicalType::Struct);
        self.logical_type.to_string_with(child_is_struct)
    }

    /// Whether it is a struct whose members are stored together in one column.
    pub fn is_packed(&self) -> bool {
        self.logical_type == LogicalType::Struct
            && ["lance-encoding:packed", "packed"].iter().any(|key| self.is_set(key))
    }

    /// Whether its values are strings or binaries.
    pub(crate) fn is_text(&self) -> bool {
        use DataType::{Binary, LargeBinary, LargeUtf8, Utf8};
        match &self.logical_type {
            LogicalType::Leaf(data_type) => matches!(data_type, Utf8 | LargeUtf8 | Binary | LargeBinary),
            other => *other == LogicalType::Json,
        }
    }

    /// Whether it is stored as a blob: the values apart, and descriptions of them in the column.
    pub fn is_blob(&self) -> bool {
        self.metadata.contains_key("lance-encoding:blob") || self.is_blob_v2()
    }

    /// Whether it has the extension type `lance.blob.v2`.
    pub fn is_blob_v2(&self) -> bool {
        self.metadata.get(EXTENSION_NAME).is_some_and(|name| name == "lance.blob.v2")
    }

    /// The fields of its subtree that own a column in files of `version`, in the order of the columns.
    pub fn column_owners(&self, version: Version) -> Vec<&Field> {
        let mut owners = vec![];
        self.collect(&mut owners, &|field| !field.is_packed() && !field.is_blob());
        if version > Version::V2_0 {
            owners.retain(|field| field.children.is_empty() || field.is_packed() || field.is_blob());
        }
        owners
    }

    /// Itself and what is below, in pre-order; children only of fields that `enter` says yes to.
    pub(super) fn collect<'a>(&'a self, all: &mut Vec<&'a Self>, enter: &impl Fn(&Self) -> bool) {
        all.push(self);
        if enter(self) {
            self.children.iter().for_each(|child| child.collect(all, enter));
        }
    }

    pub(super) fn path_of(&self, id: i32) -> Option<String> {
        if self.id == id {
            return Some(self.name.clone());
        }
        let below = self.children.iter().find_map(|child| child.path_of(id))?;
        Some(format!("{}.{below}", self.name))
    }

    /// How many slots of the field with this id a row has: the product of the lengths of the fixed-size lists of
    /// structs around it. None if there is no such field below.
    pub(crate) fn slots_of(&self, id: i32) -> Option<u64> {
        if self.id == id {
            return Some(1);
        }
        let below = self.children.iter().find_map(|child| child.slots_of(id))?;
        match self.logical_type {
            LogicalType::FixedSizeList(len) => Some(below.saturating_mul(u64::try_from(len).unwrap_or(0))),
            _ => Some(below),
        }
    }

    /// Whether the metadata has a truthy value at `key`.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.metadata.get(key).is_some_and(|value| {
            matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "on" | "yes" | "y")
        })
    }
}
