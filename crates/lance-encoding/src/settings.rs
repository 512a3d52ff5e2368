//! How the values of a leaf are to be encoded: what the metadata of its field says, and for the rest what the
//! writer does by default.
//!
//! The keys and their meaning are those of `docs/format/encoding.md`, section 12. A value that means nothing is
//! refused: whoever set it wanted something else than the default.

use std::fmt::{self, Display};
use std::str::FromStr;

use arrow_schema::Field;
use lance_footer::{FormatError, Result};

use crate::rules::Rules;

const COMPRESSION: &str = "lance-encoding:compression";
const LEVEL: &str = "lance-encoding:compression-level";
const RLE_THRESHOLD: &str = "lance-encoding:rle-threshold";
const BYTE_STREAM_SPLIT: &str = "lance-encoding:bss";
const CHUNK_BYTES: &str = "lance-encoding:minichunk-size";
const DICTIONARY_DIVISOR: &str = "lance-encoding:dict-divisor";
const DICTIONARY_RATIO: &str = "lance-encoding:dict-size-ratio";
const DICTIONARY_BYTES: &str = "lance-encoding:dict-max-size";
const DICTIONARY_COMPRESSION: &str = "lance-encoding:dict-values-compression";
const DICTIONARY_LEVEL: &str = "lance-encoding:dict-values-compression-level";
const LAYOUT: &str = "lance-encoding:structural-encoding";

/// The level of zstd where none is said. From here on it finds what offsets of strings hide at lower levels.
pub(crate) const ZSTD_LEVEL: i32 = 6;

/// How values are compressed on top of what fits their type.
///
/// Where nothing is said, values take what is smallest of what is quick to read: bit packing, runs, dictionaries, tables of
/// symbols for strings, and zstd for strings of more than 32 KiB that get smaller by it. In files of version 2.0, only
/// strings are compressed at all, and only if that is said.
///
/// ```
/// use lance_encoding::Compression;
///
/// let compression: Compression = "zstd:7".parse()?;
/// assert_eq!(compression, Compression::Zstd { level: Some(7) });
/// assert_eq!(compression.to_string(), "zstd:7");
/// assert!("zip".parse::<Compression>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Values as they are, without bit packing and runs too. What repeats is still stored once, in a dictionary.
    None,
    /// Strings by a table of frequent pieces, also where that saves little; other values as if nothing were said.
    Fsst,
    /// LZ4 around what would be written otherwise, where it saves something: quick, and not the smallest. Strings that are
    /// compressed one by one, the long ones, get zstd of level 3 instead, since the reference cannot read LZ4 there.
    Lz4,
    /// Zstandard in the same places: smaller, and slower to read.
    Zstd {
        /// From large negative numbers, the fastest, to 22, the smallest; none for 6.
        level: Option<i32>,
    },
}

impl fmt::Display for Compression {
    /// What [`FromStr`] takes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Fsst => f.write_str("fsst"),
            Self::Lz4 => f.write_str("lz4"),
            Self::Zstd { level: None } => f.write_str("zstd"),
            Self::Zstd { level: Some(level) } => write!(f, "zstd:{level}"),
        }
    }
}

impl FromStr for Compression {
    type Err = String;

    /// `none`, `fsst`, `lz4`, `zstd` or `zstd:LEVEL`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None => match text {
                "none" => Ok(Self::None),
                "fsst" => Ok(Self::Fsst),
                "lz4" => Ok(Self::Lz4),
                "zstd" => Ok(Self::Zstd { level: None }),
                _ => Err(format!("{text:?} is none of none, fsst, lz4 and zstd")),
            },
            Some(("zstd", level)) => Ok(Self::Zstd { level: Some(parse_level(level)?) }),
            Some((scheme, _)) => Err(format!("{scheme:?} has no levels, only zstd has")),
        }
    }
}

/// A layout that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forced {
    MiniBlock,
    FullZip,
}

/// How the values of a leaf are to be encoded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// None for what is smallest of what is quick.
    pub(crate) compression: Option<Compression>,
    /// Run lengths only if there are fewer runs than this share of the values.
    pub(crate) rle_threshold: Option<f64>,
    /// Whether byte streams are split before they are compressed; none if that is smaller.
    pub(crate) byte_stream_split: Option<bool>,
    /// Bytes that a chunk of strings should have. As the reference has it, as many as a chunk can have at most, or more, mean nothing.
    pub(crate) chunk_bytes: Option<usize>,
    pub(crate) dictionary: DictionarySettings,
    pub(crate) layout: Option<Forced>,
}

/// When plain values become a dictionary and indices.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DictionarySettings {
    /// At most one item for as many values.
    pub(crate) divisor: usize,
    /// At most this share of the bytes of the values, with 4 bytes for each index; none for what is smaller in the end.
    pub(crate) ratio: Option<f64>,
    /// At most so many bytes of strings in it.
    pub(crate) max_bytes: usize,
    /// What its bytes are compressed with, where the version allows it.
    pub(crate) compression: Compression,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            compression: None,
            rle_threshold: None,
            byte_stream_split: None,
            chunk_bytes: None,
            dictionary: DictionarySettings {
                divisor: 2,
                ratio: None,
                max_bytes: 8 << 20,
                compression: Compression::Lz4,
            },
            layout: None,
        }
    }
}

impl Settings {
    /// What the values of the leaf `field` are compressed with, or `default` if it does not say: all that version 2.0
    /// looks at.
    pub(crate) fn compression(field: &Field, default: Option<Compression>) -> Result<Option<Compression>> {
        let level = value(field, LEVEL, parse_level)?;
        let mut compression = value(field, COMPRESSION, parse_scheme)?.or(default);
        if let (Some(Compression::Zstd { level: own }), Some(level)) = (&mut compression, level) {
            *own = Some(level);
        }
        Ok(compression)
    }

    /// Those of the leaf `field` below the top-level field `top`; `default` is what values are compressed with if
    /// the field does not say. Keys of other fields than leaves mean nothing, but for the layout at the top.
    pub(crate) fn of(
        field: &Field,
        top: &Field,
        default: Option<Compression>,
        rules: &Rules,
    ) -> Result<Self> {
        let compression = Self::compression(field, default)?;
        let mut settings = Self { compression, ..Self::default() };
        settings.rle_threshold = value(field, RLE_THRESHOLD, |text| {
            let threshold = text.parse().ok().filter(|threshold: &f64| *threshold >= 0.0);
            threshold.ok_or_else(|| "it is no number from 0 on".into())
        })?;
        settings.byte_stream_split = value(field, BYTE_STREAM_SPLIT, |text| match text {
            "off" => Ok(Some(false)),
            "on" => Ok(Some(true)),
            "auto" => Ok(None),
            _ => Err("it is none of off, on and auto".into()),
        })?
        .flatten();
        let fits = |bytes: &usize| *bytes < rules.max_chunk_bytes;
        settings.chunk_bytes = value(field, CHUNK_BYTES, |text| number(text, 1))?.filter(fits);
        settings.layout = value(top, LAYOUT, |text| match text.to_ascii_lowercase().as_str() {
            "miniblock" => Ok(Forced::MiniBlock),
            "fullzip" => Ok(Forced::FullZip),
            _ => Err("it is neither miniblock nor fullzip".into()),
        })?;
        settings.dictionary.read(field)?;
        Ok(settings)
    }
}

impl DictionarySettings {
    fn read(&mut self, field: &Field) -> Result<()> {
        if let Some(divisor) = value(field, DICTIONARY_DIVISOR, |text| number(text, 1))? {
            self.divisor = divisor;
        }
        let share = |text: &str| {
            let share = text.parse().ok().filter(|share: &f64| *share > 0.0 && *share <= 1.0);
            share.ok_or_else(|| "it is no number above 0 and up to 1".into())
        };
        self.ratio = value(field, DICTIONARY_RATIO, share)?;
        if let Some(bytes) = value(field, DICTIONARY_BYTES, |text| number(text, 0))? {
            self.max_bytes = bytes;
        }
        let scheme = |text: &str| match parse_scheme(text)? {
            Compression::Fsst => Err("it is none of none, lz4 and zstd".into()),
            scheme => Ok(scheme),
        };
        if let Some(compression) = value(field, DICTIONARY_COMPRESSION, scheme)? {
            self.compression = compression;
        }
        let level = value(field, DICTIONARY_LEVEL, parse_level)?;
        if let (Compression::Zstd { level: own }, Some(level)) = (&mut self.compression, level) {
            *own = Some(level);
        }
        Ok(())
    }
}

/// What `parse` makes of the value of `key`, if `field` has it.
fn value<T>(field: &Field, key: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>> {
    let Some(text) = field.metadata().get(key) else { return Ok(None) };
    let refuse =
        |reason: String| FormatError::unsupported(format!("the metadata {key} = {text:?}: {reason}"));
    parse(text).map(Some).map_err(refuse)
}

fn parse_scheme(text: &str) -> Result<Compression, String> {
    match text {
        "zstd" | "lz4" | "fsst" | "none" => text.parse(),
        _ => Err("it is none of none, fsst, lz4 and zstd".into()),
    }
}

fn parse_level(text: &str) -> Result<i32, String> {
    let levels = zstd::compression_level_range();
    let level = text.parse().ok().filter(|level| levels.contains(level));
    level.ok_or_else(|| format!("{text:?} is no level from {} to {}", levels.start(), levels.end()))
}

fn number<T: FromStr + PartialOrd + Display>(text: &str, least: T) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| format!("it is no whole number from {least} on"))
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;
    use lance_footer::Version;

    use super::*;

    fn settings(metadata: &[(&str, &str)]) -> Result<Settings> {
        let metadata =
            metadata.iter().map(|(key, value)| (format!("lance-encoding:{key}"), (*value).to_string()));
        let field = Field::new("x", DataType::Utf8, true).with_metadata(metadata.collect());
        Settings::of(&field, &field, Some(Compression::Lz4), &Rules::of(Version::V2_1).unwrap())
    }

    #[test]
    fn all_keys() {
        assert_eq!(
            settings(&[]).unwrap(),
            Settings { compression: Some(Compression::Lz4), ..Settings::default() }
        );
        let all = settings(&[
            ("compression", "zstd"),
            ("compression-level", "-5"),
            ("rle-threshold", "0.25"),
            ("bss", "on"),
            ("minichunk-size", "16384"),
            ("dict-divisor", "10"),
            ("dict-size-ratio", "0.5"),
            ("dict-max-size", "1000"),
            ("dict-values-compression", "zstd"),
            ("dict-values-compression-level", "19"),
            ("structural-encoding", "FullZip"),
        ]);
        let wanted = Settings {
            compression: Some(Compression::Zstd { level: Some(-5) }),
            rle_threshold: Some(0.25),
            byte_stream_split: Some(true),
            chunk_bytes: Some(16384),
            dictionary: DictionarySettings {
                divisor: 10,
                ratio: Some(0.5),
                max_bytes: 1000,
                compression: Compression::Zstd { level: Some(19) },
            },
            layout: Some(Forced::FullZip),
        };
        assert_eq!(all.unwrap(), wanted);
        // A level is for zstd, whatever it is that asks for zstd.
        assert_eq!(settings(&[("compression-level", "3")]).unwrap().compression, Some(Compression::Lz4));
    }

    #[test]
    fn large_chunks_are_for_versions_that_have_them() {
        assert_eq!(settings(&[("minichunk-size", "32767")]).unwrap().chunk_bytes, Some(32_767));
        assert_eq!(settings(&[("minichunk-size", "32768")]).unwrap().chunk_bytes, None);
        let key = ("lance-encoding:minichunk-size".to_string(), "32768".to_string());
        let field = Field::new("x", DataType::Utf8, true).with_metadata([key].into());
        let later = Settings::of(&field, &field, None, &Rules::of(Version::V2_2).unwrap());
        assert_eq!(later.unwrap().chunk_bytes, Some(32_768));
    }

    #[test]
    fn values_that_mean_nothing_are_refused() {
        let wrong = [
            ("compression", "zip"),
            ("compression", "zstd:3"),
            ("compression-level", "23"),
            ("compression-level", "high"),
            ("rle-threshold", "-1"),
            ("rle-threshold", "nan"),
            ("bss", "yes"),
            ("minichunk-size", "0"),
            ("minichunk-size", "4k"),
            ("dict-divisor", "0"),
            ("dict-size-ratio", "0"),
            ("dict-size-ratio", "1.5"),
            ("dict-max-size", "-1"),
            ("dict-values-compression", "fsst"),
            ("dict-values-compression-level", ""),
            ("structural-encoding", "sparse"),
        ];
        for (key, value) in wrong {
            let error = settings(&[(key, value)]).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains(value), "{key} = {value}: {error}");
        }
    }
}
