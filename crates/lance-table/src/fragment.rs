//! Fragments: what a manifest says about a slice of rows, checked.

use std::sync::Arc;

use lance_footer::{FormatError, Result, Version};

use crate::proto;

/// A horizontal slice of a table: some data files, aligned by row, less what a deletion file lists. Clones are cheap.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    id: u32,
    files: Arc<[DataFile]>,
    pub(crate) message: Arc<proto::DataFragment>,
}

/// A data file of a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Its name, below the `data` directory of the place that it lies in.
    pub path: String,
    /// Its version.
    pub version: Version,
    /// Bytes, if known.
    pub size: Option<u64>,
    /// Which physical column each field is stored in, as (field id, column index).
    pub columns: Vec<(i32, u32)>,
    /// The base path that it lies below; the table's own root if there is none.
    pub base: Option<u32>,
}

impl Fragment {
    /// Checks what a manifest says.
    pub(crate) fn new(message: proto::DataFragment) -> Result<Self> {
        let corrupt = |reason: String| FormatError::corrupt(format!("fragment {}", message.id), reason);
        // The highest number is set aside.
        let id = match u32::try_from(message.id) {
            Ok(id) if id < u32::MAX => id,
            _ => return Err(corrupt("its id does not fit 32 bits".into())),
        };
        if !message.overlays.is_empty() {
            return Err(FormatError::unsupported(format!("data overlay files (of fragment {id})")));
        }
        if message.physical_rows > u64::from(u32::MAX) {
            return Err(corrupt(format!("{} rows do not fit row addresses", message.physical_rows)));
        }
        let deleted = message.deletion_file.as_ref().map_or(0, |file| file.num_deleted_rows);
        // Zero rows stand for a count that is not known.
        if deleted > message.physical_rows && message.physical_rows != 0 {
            return Err(corrupt(format!("{deleted} of its {} rows are deleted", message.physical_rows)));
        }
        let files = message.files.iter().map(DataFile::new).collect::<Result<Vec<_>>>()?;
        let fields = files.iter().flat_map(|file| &file.columns).map(|(field, _)| *field);
        if let Some(field) = twice(fields) {
            return Err(corrupt(format!("field {field} is in two of its columns")));
        }
        Ok(Self { id, files: files.into(), message: Arc::new(message) })
    }

    /// As manifests have it.
    pub(crate) fn to_proto(&self) -> proto::DataFragment {
        proto::DataFragment::clone(&self.message)
    }

    /// Its id, which is never used again.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Its data files.
    pub fn files(&self) -> &[DataFile] {
        &self.files
    }

    /// Rows with the deleted ones.
    pub fn physical_rows(&self) -> u64 {
        self.message.physical_rows
    }

    /// Deleted rows.
    pub fn deleted_rows(&self) -> u64 {
        self.message.deletion_file.as_ref().map_or(0, |file| file.num_deleted_rows)
    }

    /// Rows without the deleted ones.
    pub fn rows(&self) -> u64 {
        self.physical_rows().saturating_sub(self.deleted_rows())
    }
}

impl DataFile {
    fn new(message: &proto::DataFile) -> Result<Self> {
        let path = message.path.clone();
        let version = Version::from_manifest(message.file_major_version, message.file_minor_version);
        let version = version.map_err(|error| match error {
            FormatError::Unsupported { what } => {
                FormatError::unsupported(format!("data file {path}: {what}"))
            }
            other => other,
        })?;
        let (fields, columns) = (&message.fields, &message.column_indices);
        // Other software lets a file without a mapping pass, as one without columns.
        if !columns.is_empty() && columns.len() != fields.len() {
            return Err(FormatError::corrupt(
                format!("entry of data file {path}"),
                format!("{} fields, but {} columns", fields.len(), columns.len()),
            ));
        }
        // Negative fields are reserved or replaced, negative columns stand for none.
        let stored = fields.iter().zip(columns).filter(|(field, _)| **field >= 0);
        let columns = stored.filter_map(|(field, column)| Some((*field, u32::try_from(*column).ok()?)));
        Ok(Self {
            version,
            size: Some(message.file_size_bytes).filter(|size| *size != 0),
            columns: columns.collect(),
            base: message.base_id,
            path,
        })
    }

    /// Whether the field has a column of its own here.
    pub(crate) fn has(&self, field: i32) -> bool {
        self.columns.iter().any(|(stored, _)| *stored == field)
    }
}

/// A field that is there more than once. They are sorted as a rule.
fn twice(fields: impl Iterator<Item = i32>) -> Option<i32> {
    let mut fields = fields.collect::<Vec<_>>();
    fields.sort_unstable();
    fields.iter().zip(fields.iter().skip(1)).find(|(one, next)| one == next).map(|(field, _)| *field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(fields: &[i32], columns: &[i32]) -> proto::DataFile {
        proto::DataFile {
            path: "a.lance".into(),
            fields: fields.to_vec(),
            column_indices: columns.to_vec(),
            file_major_version: 2,
            file_minor_version: 1,
            ..Default::default()
        }
    }

    fn fragment(files: Vec<proto::DataFile>) -> proto::DataFragment {
        proto::DataFragment { id: 1, files, physical_rows: 10, ..Default::default() }
    }

    #[test]
    fn reserved_fields_and_missing_columns_are_left_out() {
        let files = vec![file(&[0, -2, 3, 4, -3], &[0, 1, -1, 2, 3]), file(&[1], &[]), file(&[], &[])];
        let fragment = Fragment::new(fragment(files)).unwrap();
        assert_eq!(fragment.files()[0].columns, [(0, 0), (4, 2)]);
        assert_eq!((fragment.files()[0].size, fragment.files()[0].version), (None, Version::V2_1));
        assert!(fragment.files()[1].columns.is_empty());
    }

    #[test]
    fn contradictions_are_errors() {
        assert!(Fragment::new(fragment(vec![file(&[0, 1], &[0])])).is_err());
        assert!(Fragment::new(fragment(vec![file(&[0], &[0]), file(&[1, 0], &[0, 1])])).is_err());
        assert!(Fragment::new(proto::DataFragment { id: 1 << 32, ..Default::default() }).is_err());
        assert!(Fragment::new(proto::DataFragment { id: (1 << 32) - 1, ..Default::default() }).is_err());
        assert!(Fragment::new(proto::DataFragment { physical_rows: 1 << 40, ..Default::default() }).is_err());
        let mut deleted = fragment(vec![]);
        deleted.deletion_file = Some(proto::DeletionFile { num_deleted_rows: 11, ..Default::default() });
        assert!(Fragment::new(deleted.clone()).is_err());
        deleted.physical_rows = 11;
        let all = Fragment::new(deleted).unwrap();
        assert_eq!((all.physical_rows(), all.deleted_rows(), all.rows()), (11, 11, 0));
    }

    #[test]
    fn other_files_are_refused_by_name() {
        for (major, minor, text) in [(0, 2, "legacy"), (0, 0, "legacy"), (2, 3, "unstable"), (9, 1, "9.1")] {
            let mut other = file(&[0], &[0]);
            (other.file_major_version, other.file_minor_version) = (major, minor);
            let error = Fragment::new(fragment(vec![other])).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("a.lance"), "{error}");
        }
        let overlaid = proto::DataFragment { overlays: vec![vec![].into()], ..Default::default() };
        assert!(matches!(Fragment::new(overlaid), Err(FormatError::Unsupported { .. })));
    }
}
