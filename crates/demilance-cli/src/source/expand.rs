//! Directories become the files in them.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::kind::{EXTENSIONS, Kind};
use super::named;

/// The files that `sources` stand for. A directory stands for all files of a known kind below it, in
/// the order of their names; hidden ones are left out.
pub(crate) fn expand(sources: &[String]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for source in sources {
        let path = local(source)?;
        let metadata = std::fs::metadata(&path).map_err(|error| named(&path, error))?;
        if metadata.is_dir() {
            let before = files.len();
            walk(&path, &mut files)?;
            if files.len() == before {
                bail!("{}: no file with one of {EXTENSIONS} in this directory", path.display());
            }
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

/// The path that `file://` means. Other URLs are not read.
fn local(source: &str) -> Result<PathBuf> {
    match source.split_once("://") {
        Some(("file", rest)) => Ok(PathBuf::from(rest)),
        Some((scheme, _)) => {
            bail!("{source}: sources are local files; {scheme}:// is only understood for tables")
        }
        None => Ok(PathBuf::from(source)),
    }
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries = std::fs::read_dir(directory)
        .and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>())
        .map_err(|error| named(directory, error))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let path = entry.path();
        // Links to directories are not followed, so that a walk ends.
        let kind = entry.file_type().map_err(|error| named(&path, error))?;
        if kind.is_dir() {
            walk(&path, files)?;
        } else if Kind::knows(&path) {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_walked_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir(root.join("chunk-000")).unwrap();
        for name in ["chunk-000/b.csv", "chunk-000/a.csv", ".hidden.csv", "z.csv", "notes.txt"] {
            std::fs::write(root.join(name), "x\n1\n").unwrap();
        }
        let files = expand(&[root.display().to_string()]).unwrap();
        let names: Vec<_> =
            files.iter().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["chunk-000/a.csv", "chunk-000/b.csv", "z.csv"]);
        let url = format!("file://{}", root.join("z.csv").display());
        assert_eq!(expand(&[url]).unwrap(), [root.join("z.csv")]);
    }

    #[test]
    fn nothing_to_read_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let error = expand(&[directory.path().display().to_string()]).unwrap_err().to_string();
        assert!(error.contains("no file"), "{error}");
        assert!(expand(&["s3://bucket/a.csv".to_string()]).is_err());
        assert!(expand(&["/no/such/file.csv".to_string()]).is_err());
    }
}
