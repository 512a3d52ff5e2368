//! What the metadata of a field say of how its strings are compressed.

use arrow_schema::Field;
use lance_footer::{FormatError, Result};

const SCHEME: &str = "lance-encoding:compression";
const LEVEL: &str = "lance-encoding:compression-level";

/// How the bytes of strings are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Zstd { level: Option<i32> },
    Lz4,
}

/// What is asked for; none if nothing is. A word that means nothing is refused: whoever set it wanted something.
pub(super) fn of(field: &Field) -> Result<Option<Compression>> {
    let refuse = |key, text: &str| {
        Err(FormatError::unsupported(format!("the metadata {key} = {text:?} in file version 2.0")))
    };
    let level = match field.metadata().get(LEVEL) {
        None => None,
        Some(text) => match text.parse::<i32>() {
            Ok(level) if zstd::compression_level_range().contains(&level) => Some(level),
            _ => return refuse(LEVEL, text),
        },
    };
    match field.metadata().get(SCHEME).map(String::as_str) {
        None | Some("none") => Ok(None),
        Some("zstd") => Ok(Some(Compression::Zstd { level })),
        Some("lz4") => Ok(Some(Compression::Lz4)),
        Some(other) => refuse(SCHEME, other),
    }
}
