//! Which version may come after which.

use std::fmt;

use cargo_metadata::semver::Version;

/// How far a version lies from the last one, as cargo reads versions: below 1.0 the number after the zeros counts as
/// the major one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Major,
    Minor,
    Patch,
}

impl Step {
    /// The step from `last` to `next`, the larger one.
    pub(crate) fn between(last: &Version, next: &Version) -> Self {
        if next.major != last.major {
            Self::Major
        } else if next.minor != last.minor {
            if next.major == 0 { Self::Major } else { Self::Minor }
        } else {
            match (next.major, next.minor) {
                (0, 0) => Self::Major,
                (0, _) => Self::Minor,
                _ => Self::Patch,
            }
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Major => "major",
            Self::Minor => "minor",
            Self::Patch => "patch",
        })
    }
}

/// The releases that git knows.
#[derive(Default)]
pub(crate) struct Tags {
    /// All of them.
    pub(crate) all: Vec<Version>,
    /// Those that the current commit comes after.
    pub(crate) behind: Vec<Version>,
}

impl Tags {
    /// The release that the public API is compared with: the last one that is not a preview.
    pub(crate) fn last(&self) -> Option<&Version> {
        self.behind.iter().filter(|version| version.pre.is_empty()).max()
    }
}

/// The versions in lines of tags `vX.Y.Z`; other tags are none of ours.
pub(crate) fn parse_tags(lines: &str) -> Vec<Version> {
    lines.lines().filter_map(|line| Version::parse(line.trim().strip_prefix('v')?).ok()).collect()
}

/// Why `next` cannot follow `current`, the version in the manifest.
pub(crate) fn check(next: &Version, current: &Version, tags: &Tags) -> Vec<String> {
    let mut problems = vec![];
    if !next.build.is_empty() {
        problems.push(format!("{next}: leave out +{}, registries do not tell builds apart", next.build));
    }
    if next < current {
        problems.push(format!("{next} is not greater than {current}, the version in Cargo.toml"));
    }
    if tags.all.contains(next) {
        problems.push(format!("{next} is out already: there is a tag v{next}"));
    } else if let Some(last) = tags.behind.iter().max().filter(|last| next < *last) {
        problems.push(format!("{next} is not greater than {last}, the last release"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    fn tags(text: &str) -> Tags {
        Tags { all: parse_tags(text), behind: parse_tags(text) }
    }

    #[test]
    fn steps_are_those_of_cargo() {
        let cases = [
            ("1.2.3", "2.0.0", Step::Major),
            ("0.2.3", "1.0.0", Step::Major),
            ("0.2.3", "0.3.0", Step::Major),
            ("0.0.3", "0.0.4", Step::Major),
            ("0.2.3", "0.2.4", Step::Minor),
            ("1.2.3", "1.3.0", Step::Minor),
            ("1.2.3", "1.2.4", Step::Patch),
            ("0.2.3", "0.3.0-rc.1", Step::Major),
        ];
        for (last, next, step) in cases {
            assert_eq!(Step::between(&version(last), &version(next)), step, "{last} to {next}");
        }
    }

    #[test]
    fn a_version_comes_after_the_one_in_the_manifest_and_after_all_tags() {
        let cases = [
            // The next version, that in the manifest, the tags, and how many problems there are.
            ("0.1.0", "0.1.0", "", 0),
            ("0.2.0", "0.1.0", "", 0),
            ("0.2.0", "0.1.0", "v0.1.0", 0),
            ("0.2.0", "0.2.0-rc.1", "v0.2.0-rc.1", 0),
            ("0.1.0", "0.1.0", "v0.1.0", 1),
            ("0.0.9", "0.1.0", "", 1),
            ("0.2.0", "0.1.0", "v0.1.0\nv0.2.1", 1),
            ("0.2.0-rc.1", "0.2.0", "", 1),
            ("0.2.0+linux", "0.1.0", "", 1),
        ];
        for (next, current, known, count) in cases {
            let problems = check(&version(next), &version(current), &tags(known));
            assert_eq!(problems.len(), count, "{next} after {current} with {known:?}: {problems:?}");
        }
    }

    #[test]
    fn a_tag_elsewhere_takes_the_version_too() {
        let elsewhere = Tags { all: parse_tags("v0.2.0\nv0.3.0"), behind: parse_tags("v0.2.0") };
        assert_eq!(check(&version("0.3.0"), &version("0.2.0"), &elsewhere).len(), 1);
        assert_eq!(check(&version("0.2.1"), &version("0.2.0"), &elsewhere), Vec::<String>::new());
    }

    #[test]
    fn comparisons_are_with_the_last_full_release() {
        assert_eq!(tags("v0.9.0\nv0.10.0\nnightly\nvx\nv0.11.0-rc.1").last(), Some(&version("0.10.0")));
        assert_eq!(tags("0.1.0").last(), None);
    }
}
