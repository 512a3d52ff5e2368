//! The tracked files: which there must be, and what none of them may name.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A text file of the repository. Files that are not UTF-8 are left out.
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    #[cfg(test)]
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}

/// Files that have to be there.
const REQUIRED: &[&str] = &["Cargo.lock", "LICENSE", "README.md", "ARCHITECTURE.md", ".ci/run"];

/// Where somebody's files lie: directories directly below the root, and the same on Windows.
const HOMES: &[&str] = &["home", "Users", "root"];
const WINDOWS_HOMES: &str = "C:\\Users";

/// Settings that send a build to a registry of somebody's own.
const REGISTRIES: &[&str] =
    &["replace-with", "[registries", "--index-url", "--extra-index-url", "PIP_INDEX_URL", "GOPROXY"];

/// How `cargo` writes that a package comes from a registry, and not from somebody's repository.
const FROM_REGISTRY: &str = "registry+https://";

/// This file has to name what it looks for.
const SELF: &str = "xtask/src/tidy/files.rs";

/// The text files that git tracks or would track.
pub(crate) fn tracked(root: &Path) -> Result<Vec<File>> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("running git ls-files")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let names = String::from_utf8(output.stdout).context("a file name that is not UTF-8")?;
    let mut files = vec![];
    for path in names.split('\0').filter(|name| !name.is_empty()) {
        // A file that was removed but not yet from the index cannot be read, and need not.
        let Ok(bytes) = fs::read(root.join(path)) else { continue };
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(File { path: path.into(), text });
        }
    }
    Ok(files)
}

/// Paths of the machine that this runs on, which no file may name: the repository itself and the home.
pub(crate) fn machine_paths(root: &Path) -> Vec<String> {
    let ordinary = ["", "tmp", "usr", "var", "opt", "etc", "src", "build", "home", "root", "Users"];
    let mut paths = vec![root.display().to_string()];
    // The first directory below `/`, unless many machines have it.
    let root = root.display().to_string();
    if let Some(first) = root.split('/').nth(1).filter(|first| !ordinary.contains(first)) {
        paths.push(format!("/{first}/"));
    }
    paths.extend(env::var("HOME").ok().filter(|home| home.len() > 1).map(|home| format!("{home}/")));
    paths
}

/// Problems of `files`; `machine_paths` are those of this machine.
pub(crate) fn check(files: &[File], machine_paths: &[String]) -> Vec<String> {
    let mut problems = vec![];
    for required in REQUIRED {
        if !files.iter().any(|file| file.path == *required) {
            problems.push(format!("{required} is missing or not in git"));
        }
    }
    let homes = HOMES.iter().map(|home| format!("/{home}/")).chain([WINDOWS_HOMES.to_string()]);
    let paths: Vec<String> = machine_paths.iter().cloned().chain(homes).collect();
    for file in files.iter().filter(|file| file.path != SELF) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let at = format!("{}:{number}", file.path);
            if let Some(path) = paths.iter().find(|path| names_path(line, path)) {
                problems.push(format!("{at}: names {path}, a path of one machine"));
            }
            if let Some(setting) = REGISTRIES.iter().find(|setting| line.contains(**setting)) {
                problems.push(format!("{at}: {setting} chooses a registry"));
            }
            let source = line.trim().strip_prefix("source = ").map(|source| source.trim_matches('"'));
            if file.path.ends_with("Cargo.lock")
                && source.is_some_and(|source| !source.starts_with(FROM_REGISTRY))
            {
                problems.push(format!("{at}: {line} is not a registry"));
            }
        }
    }
    problems
}

/// Whether `path` is in `line` as an absolute path, not as the end of a longer one such as an address.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|char| char.is_alphanumeric() || "._-/}".contains(char))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        let mut files: Vec<File> = REQUIRED.iter().map(|path| File::new(path, "")).collect();
        files.push(File::new(path, text));
        check(&files, &["/somewhere/repo".into()])
    }

    #[test]
    fn required_files_are_missed() {
        assert_eq!(check(&[], &[]).len(), REQUIRED.len());
        assert_eq!(problems("a.txt", "fine"), Vec::<String>::new());
    }

    #[test]
    fn machine_paths_are_found_and_addresses_are_not() {
        assert_eq!(
            problems("a.md", "see https://example.org/home/page and data/home/x"),
            Vec::<String>::new()
        );
        assert_eq!(problems("a.md", "one\nsee /home/me/x").len(), 1);
        assert_eq!(problems("a.md", "cd /somewhere/repo").len(), 1);
    }

    #[test]
    fn registries_are_found() {
        assert_eq!(problems(".cargo/config.toml", "[registries.mine]").len(), 1);
        assert_eq!(
            problems("Cargo.lock", &format!("source = \"{FROM_REGISTRY}index\"")),
            Vec::<String>::new()
        );
        assert_eq!(problems("Cargo.lock", "source = \"sparse+https://example.org/\"").len(), 1);
    }
}
