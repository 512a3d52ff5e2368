use std::fmt;
use std::str::FromStr;

use crate::{FormatError, Result};

/// A version of the file format that is read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Version {
    /// 2.0: one encoding tree a column, array encodings. Stored as 0.3 in footers.
    V2_0,
    /// 2.1: structural encodings.
    V2_1,
    /// 2.2: structural encodings with large chunks and constant pages; the default.
    #[default]
    V2_2,
}

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Self; 3] = [Self::V2_0, Self::V2_1, Self::V2_2];

    /// The version that a footer's `(major, minor)` stands for.
    pub fn from_footer(major: u16, minor: u16) -> Result<Self> {
        match (major, minor) {
            (0, 3) | (2, 0) => Ok(Self::V2_0),
            (2, 1) => Ok(Self::V2_1),
            (2, 2) => Ok(Self::V2_2),
            (0, 0..=2) => Err(FormatError::unsupported(format!(
                "legacy v1 Lance file (footer {major}.{minor}); rewrite it as 2.0 or later with the software \
                 that wrote it"
            ))),
            (2, 3) => Err(FormatError::unsupported(
                "Lance file format 2.3, which is unstable (footer 2.3); rewrite the data as 2.2",
            )),
            _ => Err(FormatError::unsupported(format!("unknown Lance file version {major}.{minor}"))),
        }
    }

    /// The `(major, minor)` that a footer stores.
    pub const fn to_footer(self) -> (u16, u16) {
        match self {
            Self::V2_0 => (0, 3),
            Self::V2_1 => (2, 1),
            Self::V2_2 => (2, 2),
        }
    }

    /// The version that the `(major, minor)` of a manifest's data file entry stands for.
    pub fn from_manifest(major: u32, minor: u32) -> Result<Self> {
        match (u16::try_from(major), u16::try_from(minor)) {
            (Ok(major), Ok(minor)) => Self::from_footer(major, minor),
            _ => Err(FormatError::unsupported(format!("unknown Lance file version {major}.{minor}"))),
        }
    }

    /// The `(major, minor)` that a manifest's data file entry stores.
    pub const fn to_manifest(self) -> (u32, u32) {
        match self {
            Self::V2_0 => (2, 0),
            Self::V2_1 => (2, 1),
            Self::V2_2 => (2, 2),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.to_manifest();
        write!(f, "{major}.{minor}")
    }
}

impl FromStr for Version {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "2.0" => Ok(Self::V2_0),
            "2.1" => Ok(Self::V2_1),
            "2.2" => Ok(Self::V2_2),
            "0.1" => Self::from_footer(0, 2),
            "2.3" => Self::from_footer(2, 3),
            _ => Err(FormatError::unsupported(format!("unknown Lance file version {text:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_pairs_come_back() {
        for version in Version::ALL {
            let (major, minor) = version.to_footer();
            assert_eq!(Version::from_footer(major, minor).unwrap(), version);
            let (major, minor) = version.to_manifest();
            assert_eq!(Version::from_manifest(major, minor).unwrap(), version);
            assert_eq!(version.to_string().parse::<Version>().unwrap(), version);
        }
        assert_eq!(Version::V2_0.to_footer(), (0, 3));
        assert_eq!(Version::V2_0.to_manifest(), (2, 0));
    }

    #[test]
    fn other_pairs_are_refused_by_name() {
        for (pair, text) in [((0, 2), "legacy v1"), ((2, 3), "unstable"), ((0, 4), "0.4"), ((3, 0), "3.0")] {
            let error = Version::from_footer(pair.0, pair.1).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
        assert!(Version::from_manifest(65538, 1).is_err());
    }
}
