//! Where the files of a table lie: below its root, or below base paths.

use lance_footer::FormatError;
use lance_io::Store;

use crate::proto::BasePath;
use crate::{Result, TableError};

/// The root of a table, and the places outside of it that its manifest names.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    root: Store,
    bases: Vec<BasePath>,
}

impl Places {
    pub(crate) const fn new(root: Store, bases: Vec<BasePath>) -> Self {
        Self { root, bases }
    }

    /// The table's own root.
    pub(crate) const fn root(&self) -> &Store {
        &self.root
    }

    /// Where the data file `name` lies: a store, and the path in it.
    pub(crate) fn data_file(&self, base: Option<u32>, name: &str) -> Result<(Store, String)> {
        match self.base(base)? {
            None => Ok((self.root.clone(), format!("data/{name}"))),
            Some((store, true)) => Ok((store, format!("data/{name}"))),
            Some((store, false)) => Ok((store, name.to_string())),
        }
    }

    /// Where the deletion file at `path`, which begins with its directory, lies.
    pub(crate) fn deletion_file(&self, base: Option<u32>, path: String) -> Result<(Store, String)> {
        match self.base(base)? {
            None => Ok((self.root.clone(), path)),
            Some((store, true)) => Ok((store, path)),
            Some((store, false)) => {
                let reason = format!("deletion file {path} lies in a base path that is no root of a table");
                Err(TableError::format(store.location(""), FormatError::corrupt("manifest", reason)))
            }
        }
    }

    fn base(&self, id: Option<u32>) -> Result<Option<(Store, bool)>> {
        let Some(id) = id else { return Ok(None) };
        let base = self.bases.iter().find(|base| base.id == id).ok_or_else(|| {
            let reason = format!("a file lies in base path {id}, which is not listed");
            TableError::format(self.root.location(""), FormatError::corrupt("manifest", reason))
        })?;
        if let Some(store) = self.root.within(&base.path) {
            return Ok(Some((store, base.is_dataset_root)));
        }
        // An absolute path or a URI; below what a relative one would be is not said anywhere.
        if !base.path.contains("://") && !std::path::Path::new(&base.path).is_absolute() {
            let reason = format!("base path {id} is {:?}, which is not absolute", base.path);
            return Err(TableError::format(self.root.location(""), FormatError::corrupt("manifest", reason)));
        }
        Ok(Some((Store::open(&base.path)?.with_open_files_of(&self.root), base.is_dataset_root)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_below_roots_and_bases() {
        let base = |id, is_dataset_root, path: &str| BasePath {
            id,
            is_dataset_root,
            path: path.into(),
            ..Default::default()
        };
        let bases =
            vec![base(0, true, "/other/table"), base(1, false, "file:///files"), base(2, true, "here")];
        let places = Places::new(Store::local("/table"), bases);
        let data = |base| {
            let (store, path) = places.data_file(base, "a.lance")?;
            Ok::<_, TableError>(store.location(&path))
        };
        assert_eq!(data(None).unwrap(), "/table/data/a.lance");
        assert_eq!(data(Some(0)).unwrap(), "/other/table/data/a.lance");
        assert_eq!(data(Some(1)).unwrap(), "/files/a.lance");
        assert!(data(Some(2)).is_err());
        assert!(data(Some(3)).is_err());
        let deletion = |base| places.deletion_file(base, "_deletions/1-2-3.bin".into());
        assert_eq!(deletion(Some(0)).unwrap().1, "_deletions/1-2-3.bin");
        assert!(deletion(Some(1)).is_err());
    }
}
