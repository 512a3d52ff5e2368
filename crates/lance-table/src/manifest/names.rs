//! Names of files of a table.

use serde::{Deserialize, Serialize};

/// The directory of manifests.
pub(crate) const VERSIONS: &str = "_versions";

/// A hint which version is the latest; never trusted.
pub(crate) const HINT: &str = "_versions/latest_version_hint.json";

/// The bit that versions outside of the history have.
const DETACHED: u64 = 1 << 63;

/// How manifests of a table are named. A table uses one way only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Naming {
    /// The version as it is.
    V1,
    /// The version counted from the end, padded, so that a listing has the newest first.
    #[default]
    V2,
}

impl Naming {
    /// The path of the manifest of `version`.
    pub(crate) fn path(self, version: u64) -> String {
        match self {
            _ if version & DETACHED != 0 => format!("{VERSIONS}/d{version}.manifest"),
            Self::V1 => format!("{VERSIONS}/{version}.manifest"),
            Self::V2 => format!("{VERSIONS}/{:020}.manifest", u64::MAX - version),
        }
    }
}

/// Whether a file name in `_versions` is that of the manifest of a version outside of the history.
pub(crate) fn is_detached(name: &str) -> bool {
    let number = name.strip_prefix('d').and_then(|rest| rest.strip_suffix(".manifest"));
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}

/// The version and naming that a file name in `_versions` stands for; none for detached versions and for
/// names that are not of manifests.
pub(crate) fn parse(name: &str) -> Option<(u64, Naming)> {
    const V2_LEN: usize = 20 + ".manifest".len();
    if name.starts_with('d') || !name.ends_with("manifest") {
        return None;
    }
    let (number, _) = name.split_once('.')?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = number.parse::<u64>().ok()?;
    Some(if name.len() == V2_LEN { (u64::MAX - number, Naming::V2) } else { (number, Naming::V1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        assert_eq!(Naming::V2.path(1), "_versions/18446744073709551614.manifest");
        assert_eq!(Naming::V1.path(12), "_versions/12.manifest");
        assert_eq!(Naming::V2.path(DETACHED | 5), "_versions/d9223372036854775813.manifest");
        for (version, naming) in [(1, Naming::V2), (u64::MAX >> 1, Naming::V2), (7, Naming::V1)] {
            let path = naming.path(version);
            assert_eq!(parse(path.rsplit('/').next().unwrap()), Some((version, naming)));
        }
    }

    #[test]
    fn other_names_are_ignored() {
        for name in [
            "latest_version_hint.json",
            ".tmp_7.manifest_0b",
            "d9223372036854775813.manifest",
            "manifest",
            "x.manifest",
            "+5.manifest",
            "-5.manifest",
            "99999999999999999999.manifest",
            ".manifest",
        ] {
            assert_eq!(parse(name), None, "{name}");
            assert_eq!(is_detached(name), name.starts_with('d'), "{name}");
        }
    }
}
