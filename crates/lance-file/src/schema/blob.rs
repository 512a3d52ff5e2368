//! What blob columns give where the values themselves are not wanted.

use arrow_schema::DataType;

use super::{EXTENSION_METADATA, EXTENSION_NAME, Field, LogicalType, Schema};

impl Schema {
    /// The same fields, where those of blobs say where each value is instead of having it.
    ///
    /// A large binary that is stored as a blob becomes a struct of `position` and `size`, where it is in its file; in
    /// files of version 2.0 a position of 1 and a size of 0 mean that there is none, in later ones such a row is null.
    /// A blob of the extension type `lance.blob.v2` becomes a struct of `kind`, `position`, `size`, `blob_id` and
    /// `blob_uri`. Made of the schema of a file or table, it is a projection like those of [`Schema::project`].
    ///
    /// ```
    /// use arrow_schema::{DataType, Field};
    /// use lance_file::Schema;
    ///
    /// let blob = [("lance-encoding:blob".to_string(), "true".to_string())];
    /// let image = Field::new("image", DataType::LargeBinary, true).with_metadata(blob.into());
    /// let schema = Schema::from_arrow(&arrow_schema::Schema::new(vec![image]))?;
    /// let described = schema.with_blob_descriptions().to_arrow();
    /// let DataType::Struct(members) = described.field(0).data_type() else { unreachable!() };
    /// let members: Vec<_> = members.iter().map(|member| member.name().as_str()).collect();
    /// assert_eq!(members, ["position", "size"]);
    /// # Ok::<(), lance_file::FormatError>(())
    /// ```
    #[must_use]
    pub fn with_blob_descriptions(&self) -> Self {
        self.map_fields(&|field| described_values(field).or_else(|| described_v2(field)))
    }

    /// The same fields as files have them: of blobs of the extension type `lance.blob.v2` that is where they are, the
    /// type that people see is one of tables only.
    #[must_use]
    pub fn as_stored(&self) -> Self {
        self.map_fields(&described_v2)
    }

    fn map_fields(&self, change: &impl Fn(&Field) -> Option<Field>) -> Self {
        let fields = self.fields.iter().map(|field| map(field, change)).collect();
        Self { fields, metadata: self.metadata.clone() }
    }
}

/// What `change` makes of `field` or, if that is nothing, of the fields below it.
fn map(field: &Field, change: &impl Fn(&Field) -> Option<Field>) -> Field {
    change(field).unwrap_or_else(|| {
        let children = field.children.iter().map(|child| map(child, change)).collect();
        Field { children, ..field.clone() }
    })
}

fn described_values(field: &Field) -> Option<Field> {
    let binary = matches!(field.logical_type, LogicalType::Blob | LogicalType::Leaf(DataType::LargeBinary));
    if !binary || !field.is_blob() {
        return None;
    }
    let children = ["position", "size"].map(|name| member(name, DataType::UInt64, true)).into();
    Some(Field { logical_type: LogicalType::Struct, children, ..field.clone() })
}

fn described_v2(field: &Field) -> Option<Field> {
    if !field.is_blob_v2() || field.is_packed() {
        return None;
    }
    let members = [
        ("kind", DataType::UInt8),
        ("position", DataType::UInt64),
        ("size", DataType::UInt64),
        ("blob_id", DataType::UInt32),
        ("blob_uri", DataType::Utf8),
    ];
    let mut metadata = field.metadata.clone();
    metadata.retain(|key, _| key != EXTENSION_NAME && key != EXTENSION_METADATA);
    for key in ["lance-encoding:blob", "lance-encoding:packed"] {
        metadata.insert(key.into(), "true".into());
    }
    let children = members.map(|(name, data_type)| member(name, data_type, false)).into();
    Some(Field { logical_type: LogicalType::Struct, children, metadata, ..field.clone() })
}

fn member(name: &str, data_type: DataType, nullable: bool) -> Field {
    let logical_type = LogicalType::Leaf(data_type);
    Field { id: -1, name: name.into(), nullable, metadata: [].into(), logical_type, children: vec![] }
}
