//! The entry of a version in the changelog.

use cargo_metadata::semver::Version;

pub(crate) const CHANGELOG: &str = "CHANGELOG.md";

/// Why `text` does not tell what is new in `version`.
pub(crate) fn check(text: &str, version: &Version) -> Vec<String> {
    let mut problems = vec![];
    let wanted = version.to_string();
    let mut lines = text.lines();
    let heading =
        lines.by_ref().find_map(|line| Heading::parse(line).filter(|heading| heading.name == wanted));
    let Some(heading) = heading else {
        problems.push(format!(
            "{CHANGELOG} has no entry for {version}: write the heading `## {version} - YYYY-MM-DD` below `## Unreleased` \
             and move the lines that stand there below it"
        ));
        return problems;
    };
    if heading.date.is_some_and(|date| !is_date(date)) {
        problems.push(format!("{CHANGELOG}: write the heading as `## {version} - YYYY-MM-DD`"));
    }
    let mut entry = lines.take_while(|line| Heading::parse(line).is_none());
    if !entry.any(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        problems.push(format!("{CHANGELOG}: nothing stands below `## {version}`: say what changed"));
    }
    problems
}

/// `## 1.2.3`, `## [1.2.3] - 2001-12-31`, `## Unreleased`.
struct Heading<'a> {
    name: &'a str,
    date: Option<&'a str>,
}

impl<'a> Heading<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let rest = line.strip_prefix("## ")?;
        let (name, date) = match rest.split_once(" - ") {
            Some((name, date)) => (name, Some(date.trim())),
            None => (rest, None),
        };
        Some(Self { name: name.trim().trim_start_matches('[').trim_end_matches(']'), date })
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    parts.iter().map(|part| part.len()).eq([4, 2, 2]) && parts.iter().all(|part| digits(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_heading_with_lines_below() {
        let cases = [
            ("# Changelog\n\n## Unreleased\n\n## 0.2.0\n\n- new\n\n## 0.1.0\n- old\n", 0),
            ("## 0.2.0 - 2001-12-31\n\n### Added\n- new\n", 0),
            ("## [0.2.0] - 2001-12-31\nnew\n", 0),
            ("## Unreleased\n- new\n\n## 0.1.0\n- old\n", 1),
            ("## 0.2.0-rc.1\n- new\n", 1),
            ("## 0.2.01\n- new\n", 1),
            ("### 0.2.0\n- new\n", 1),
            ("## 0.2.0\n\n### Added\n\n## 0.1.0\n- old\n", 1),
            ("## 0.2.0 - soon\n- new\n", 1),
            ("## 0.2.0 - soon\n", 2),
            ("", 1),
        ];
        for (text, count) in cases {
            let problems = check(text, &Version::new(0, 2, 0));
            assert_eq!(problems.len(), count, "{text:?}: {problems:?}");
        }
    }

    #[test]
    fn the_missing_heading_is_spelled_out() {
        let problems = check("## Unreleased\n", &Version::new(0, 2, 0));
        assert!(problems[0].contains("`## 0.2.0 - YYYY-MM-DD`"), "{problems:?}");
    }
}
