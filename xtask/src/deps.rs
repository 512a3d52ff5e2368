//! How many external crates a user of the libraries compiles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// What is counted: the package, and what `cargo tree` is told besides.
const COUNTED: &[(&str, &[&str])] = &[("demilance", &[]), ("demilance-file", &["--no-default-features"])];

const TARGET: &str = "x86_64-unknown-linux-gnu";
const CAPS: &str = "xtask/dependency-caps.txt";

/// Prints the counts and fails when one is above its cap.
pub(crate) fn run(root: &Path) -> Result<()> {
    let caps = fs::read_to_string(root.join(CAPS)).with_context(|| format!("reading {CAPS}"))?;
    let caps = parse_caps(&caps)?;
    let mut above = vec![];
    for (package, flags) in COUNTED {
        let count = external(&tree(root, package, flags)?).len();
        let cap = *caps.get(*package).with_context(|| format!("{CAPS} has no line for {package}"))?;
        let flags = if flags.is_empty() { "default features".to_string() } else { flags.join(" ") };
        println!("{package} ({flags}): {count} external crates, at most {cap}");
        if count > cap {
            above.push(*package);
        }
    }
    if !above.is_empty() {
        bail!("too many dependencies: {}", above.join(", "));
    }
    Ok(())
}

/// The normal dependency tree, a package a line: what a user compiles and links, without the development
/// and build dependencies. Procedural macros are normal dependencies and count.
fn tree(root: &Path, package: &str, flags: &[&str]) -> Result<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--target", TARGET])
        .args(["--package", package])
        .args(flags)
        .output()
        .context("running cargo tree")?;
    if !output.status.success() {
        bail!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Names and versions in the lines of `cargo tree` that are not packages of this repository.
fn external(tree: &str) -> BTreeSet<(&str, &str)> {
    tree.lines()
        // A package of this repository has its directory behind the version.
        .filter(|line| !line.contains(" (/") && !line.contains(":\\"))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .collect()
}

/// Lines of a package and a number; `#` starts a comment.
fn parse_caps(text: &str) -> Result<BTreeMap<&str, usize>> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (package, cap) =
                line.split_once(' ').with_context(|| format!("{CAPS}: no cap in {line:?}"))?;
            Ok((package, cap.trim().parse().with_context(|| format!("{CAPS}: {line:?}"))?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_external_version_counts_once() {
        let tree = "demilance v0.1.0 (/somewhere/crates/demilance)\nbytes v1.0.0\nserde_derive v1.0.0 (proc-macro)\n\
                    rand v0.9.0\nrand v0.10.0\nbytes v1.0.0 (*)\ndemilance-io v0.1.0 (/somewhere/crates/io) (*)\n\n";
        let found: Vec<_> = external(tree).into_iter().collect();
        let expected =
            [("bytes", "v1.0.0"), ("rand", "v0.10.0"), ("rand", "v0.9.0"), ("serde_derive", "v1.0.0")];
        assert_eq!(found, expected);
    }

    #[test]
    fn caps_are_lines_of_a_package_and_a_number() {
        let caps = parse_caps("# comment\na 12\n\nb-c   3 # why\n").unwrap();
        assert_eq!(caps.into_iter().collect::<Vec<_>>(), [("a", 12), ("b-c", 3)]);
        assert!(parse_caps("a\n").is_err());
        assert!(parse_caps("a many\n").is_err());
    }
}
