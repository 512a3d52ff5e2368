//! Which kind a file is: by its extension, and for Arrow IPC by its first bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, bail};

use super::named;

/// The extensions that are known, for messages.
pub(super) const EXTENSIONS: &str = ".parquet, .arrow, .feather, .ipc, .csv, .jsonl, .ndjson";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Parquet,
    /// With footer: begins and ends with `ARROW1`.
    IpcFile,
    /// Messages one after the other.
    IpcStream,
    Csv,
    Json,
}

impl Kind {
    /// The kind of `path`, or an error that says what would be known.
    pub(super) fn of(path: &Path) -> Result<Self> {
        match extension(path).as_deref() {
            Some("parquet") => Ok(Self::Parquet),
            Some("arrow" | "feather" | "ipc") => {
                let mut start = Vec::new();
                let file = File::open(path).map_err(|error| named(path, error))?;
                file.take(8).read_to_end(&mut start).map_err(|error| named(path, error))?;
                Self::of_ipc(&start).map_err(|error| named(path, error))
            }
            Some("csv") => Ok(Self::Csv),
            Some("jsonl" | "ndjson") => Ok(Self::Json),
            _ => bail!("{}: unknown kind of file, expected one of {EXTENSIONS}", path.display()),
        }
    }

    /// Whether a file of this name would be looked at, judged by its extension only.
    pub(super) fn knows(path: &Path) -> bool {
        matches!(
            extension(path).as_deref(),
            Some("parquet" | "arrow" | "feather" | "ipc" | "csv" | "jsonl" | "ndjson")
        )
    }

    fn of_ipc(start: &[u8]) -> Result<Self> {
        if start.starts_with(b"ARROW1") {
            Ok(Self::IpcFile)
        } else if start.starts_with(b"FEA1") {
            bail!("Feather version 1 is not read, write it as version 2 (Arrow IPC)")
        } else if start.starts_with(&[0xff; 4]) {
            Ok(Self::IpcStream)
        } else {
            bail!("neither an Arrow IPC file nor an Arrow IPC stream")
        }
    }
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_decide() {
        assert_eq!(Kind::of(Path::new("a/b.Parquet")).unwrap(), Kind::Parquet);
        assert_eq!(Kind::of(Path::new("b.csv")).unwrap(), Kind::Csv);
        assert_eq!(Kind::of(Path::new("b.ndjson")).unwrap(), Kind::Json);
        let error = Kind::of(Path::new("b.xlsx")).unwrap_err().to_string();
        assert!(error.starts_with("b.xlsx: ") && error.contains(".parquet"), "{error}");
        assert!(Kind::of(Path::new("plain")).is_err());
    }

    #[test]
    fn the_first_bytes_decide_between_file_and_stream() {
        assert_eq!(Kind::of_ipc(b"ARROW1\0\0").unwrap(), Kind::IpcFile);
        assert_eq!(Kind::of_ipc(&[0xff, 0xff, 0xff, 0xff, 8, 0, 0, 0]).unwrap(), Kind::IpcStream);
        assert!(Kind::of_ipc(b"FEA1").unwrap_err().to_string().contains("version 1"));
        assert!(Kind::of_ipc(b"").is_err());
    }
}
