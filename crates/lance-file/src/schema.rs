//! The schema of a file: fields with ids, to and from Arrow and the stored messages.

mod arrow;
mod blob;
mod field;
mod logical_type;
mod project;
mod storable;
mod wire;

use std::collections::BTreeMap;

pub use field::Field;
pub use logical_type::LogicalType;

use crate::Version;

/// The key of the field metadata that names an Arrow extension type.
pub(crate) const EXTENSION_NAME: &str = "ARROW:extension:name";
/// The key of the field metadata that parametrises an Arrow extension type.
pub(crate) const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

/// The fields of a file or table, with ids, and the metadata of the whole.
///
/// ```
/// use arrow_schema::{DataType, Field};
/// use lance_file::Schema;
///
/// let pose = DataType::Struct(vec![Field::new("x", DataType::Float32, true),
///                                  Field::new("y", DataType::Float32, true)].into());
/// let arrow = arrow_schema::Schema::new(vec![Field::new("id", DataType::Int64, false),
///                                            Field::new("pose", pose, true)]);
/// let schema = Schema::from_arrow(&arrow).unwrap();
/// assert_eq!(schema.max_id(), Some(3));
/// assert_eq!(schema.to_arrow(), arrow);
///
/// let projection = schema.project(&["pose.y", "id"])?;
/// let leaves: Vec<_> = projection.leaves().iter().map(|field| (field.id, field.name.as_str())).collect();
/// assert_eq!(leaves, [(3, "y"), (0, "id")]);
/// # Ok::<(), lance_file::FileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    /// The top-level fields.
    pub fields: Vec<Field>,
    /// Key-value pairs of the whole schema.
    pub metadata: BTreeMap<String, String>,
}

impl Schema {
    /// All fields, parents before their children, each subtree left to right.
    pub fn pre_order(&self) -> Vec<&Field> {
        let mut all = vec![];
        for field in &self.fields {
            field.collect(&mut all, &|_| true);
        }
        all
    }

    /// The field with this id: the first in pre-order if there are several.
    pub fn field(&self, id: i32) -> Option<&Field> {
        self.pre_order().into_iter().find(|field| field.id == id)
    }

    /// The fields that own a column in versions 2.1 and later, depth first.
    pub fn leaves(&self) -> Vec<&Field> {
        self.column_owners(Version::V2_1)
    }

    /// The fields that own a column in files of `version`, in the order of the columns.
    ///
    /// In 2.0 that is every field, but for what is below a packed struct or a blob; later, leaves only.
    pub fn column_owners(&self, version: Version) -> Vec<&Field> {
        self.fields.iter().flat_map(|field| field.column_owners(version)).collect()
    }

    /// The largest id; none if there is no field.
    pub fn max_id(&self) -> Option<i32> {
        self.pre_order().iter().map(|field| field.id).max()
    }

    /// The names of the top-level fields.
    pub fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.name.as_str()).collect()
    }

    /// The dotted path of the field with this id.
    pub fn path(&self, id: i32) -> Option<String> {
        self.fields.iter().find_map(|field| field.path_of(id))
    }
}
