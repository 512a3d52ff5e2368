//! Writing another version into manifests and lock files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use toml_edit::{DocumentMut, Formatted, Item, TableLike, Value};

/// Tables whose entries are dependencies, wherever they stand.
const DEPENDENCIES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// A step from one version to another.
pub(crate) struct Bump<'a> {
    /// The packages that take part. Others keep their versions.
    pub(crate) packages: BTreeSet<&'a str>,
    pub(crate) from: &'a Version,
    pub(crate) to: &'a Version,
}

impl Bump<'_> {
    /// Rewrites those of `files` below `root` that name the version, and counts them.
    pub(crate) fn apply(&self, root: &Path, files: &[String]) -> Result<usize> {
        let mut written = 0;
        for file in files {
            let path = root.join(file);
            let old = fs::read_to_string(&path).with_context(|| format!("reading {file}"))?;
            let new = if file.ends_with(".lock") { self.lock(&old) } else { self.manifest(&old) };
            let new = new.with_context(|| format!("changing the version in {file}"))?;
            if new != old {
                fs::write(&path, new).with_context(|| format!("writing {file}"))?;
                written += 1;
            }
        }
        Ok(written)
    }

    /// A manifest with the new version: that of the workspace, that of the package, and those that dependencies in this
    /// repository are asked for in. Everything else stays as it was written.
    fn manifest(&self, text: &str) -> Result<String> {
        let mut document: DocumentMut = text.parse()?;
        let root = document.as_table_mut();
        if let Some(package) = find(root, &["workspace", "package"]) {
            self.own_version(package);
        }
        if let Some(package) = find(root, &["package"])
            && package.get("name").and_then(Item::as_str).is_some_and(|name| self.packages.contains(name))
        {
            self.own_version(package);
        }
        self.requirements(root);
        Ok(document.to_string())
    }

    fn own_version(&self, package: &mut dyn TableLike) {
        if let Some(version) = package.get_mut("version")
            && version.as_str() == Some(&self.from.to_string())
        {
            replace(version, self.to.to_string());
        }
    }

    fn requirements(&self, table: &mut dyn TableLike) {
        for (key, item) in table.iter_mut() {
            let is_dependencies = DEPENDENCIES.contains(&key.get());
            let Some(table) = item.as_table_like_mut() else { continue };
            if !is_dependencies {
                self.requirements(table);
                continue;
            }
            for (key, dependency) in table.iter_mut() {
                if let Some(dependency) = dependency.as_table_like_mut() {
                    self.requirement(key.get(), dependency);
                }
            }
        }
    }

    /// Sets the version of a dependency that has a path, too, and keeps an operator such as `=` before it.
    fn requirement(&self, key: &str, dependency: &mut dyn TableLike) {
        let package = dependency.get("package").and_then(Item::as_str).unwrap_or(key);
        if !self.packages.contains(package) || dependency.get("path").is_none() {
            return;
        }
        let Some(version) = dependency.get_mut("version") else { return };
        let Some(old) = version.as_str() else { return };
        if let Some(digits) = old.find(|char: char| char.is_ascii_digit()) {
            let (operator, _) = old.split_at(digits);
            let new = format!("{operator}{}", self.to);
            replace(version, new);
        }
    }

    /// A lock file with the new version: that of packages without a source, which are those of this repository. No
    /// resolution is needed for it, and nothing else changes.
    fn lock(&self, text: &str) -> Result<String> {
        let mut document: DocumentMut = text.parse()?;
        let packages = document.get_mut("package").and_then(Item::as_array_of_tables_mut);
        for package in packages.context("no packages")?.iter_mut() {
            let name = package.get("name").and_then(Item::as_str).unwrap_or_default();
            if self.packages.contains(name) && package.get("source").is_none() {
                self.own_version(package);
            }
        }
        Ok(document.to_string())
    }
}

/// The version of the workspace in its manifest.
pub(crate) fn current(manifest: &str) -> Result<Version> {
    let mut document: DocumentMut = manifest.parse().context("reading Cargo.toml")?;
    let package = find(document.as_table_mut(), &["workspace", "package"]);
    let version = package.and_then(|package| package.get("version")?.as_str());
    Ok(Version::parse(version.context("Cargo.toml has no version in [workspace.package]")?)?)
}

fn find<'a>(table: &'a mut dyn TableLike, path: &[&str]) -> Option<&'a mut dyn TableLike> {
    let Some((first, rest)) = path.split_first() else { return Some(table) };
    find(table.get_mut(first)?.as_table_like_mut()?, rest)
}

/// Changes a text and keeps the blanks and comments around it.
fn replace(item: &mut Item, text: String) {
    if let Some(Value::String(old)) = item.as_value_mut() {
        let decor = old.decor().clone();
        *old = Formatted::new(text);
        *old.decor_mut() = decor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FROM: Version = Version::new(0, 1, 0);
    static TO: Version = Version::new(0, 2, 0);

    fn bump() -> Bump<'static> {
        Bump {
            packages: BTreeSet::from(["demilance-io", "fory-row", "fory-row-derive"]),
            from: &FROM,
            to: &TO,
        }
    }

    #[test]
    fn the_manifest_of_the_workspace_changes_in_nothing_else() {
        let old = r#"
[workspace]
members = ["crates/*"]   # all

[workspace.package]
version = "0.1.0" # of all
edition = "2024"

[workspace.dependencies]
lance-io = { package = "demilance-io", path = "crates/lance-io", version = "0.1.0", default-features = false }
fory-row = { version = "0.1.0", path = "crates/fory-row" }
elsewhere = { path = "elsewhere", version = "0.1.0" }
async-trait = "0.1"
bytes = { version = "0.1.0" }

[workspace.dependencies.fory-row-derive]
path = "crates/fory-row-derive"
version = "=0.1.0"
"#;
        let new = r#"
[workspace]
members = ["crates/*"]   # all

[workspace.package]
version = "0.2.0" # of all
edition = "2024"

[workspace.dependencies]
lance-io = { package = "demilance-io", path = "crates/lance-io", version = "0.2.0", default-features = false }
fory-row = { version = "0.2.0", path = "crates/fory-row" }
elsewhere = { path = "elsewhere", version = "0.1.0" }
async-trait = "0.1"
bytes = { version = "0.1.0" }

[workspace.dependencies.fory-row-derive]
path = "crates/fory-row-derive"
version = "=0.2.0"
"#;
        assert_eq!(bump().manifest(old).unwrap(), new);
        assert_eq!(current(old).unwrap(), *bump().from);
        assert_eq!(current(new).unwrap(), *bump().to);
    }

    #[test]
    fn dependencies_of_packages_change_wherever_they_stand() {
        let old = "[package]\nname = \"fory-row\"\nversion = \"0.1.0\"\n\n\
                   [dependencies]\nfory-row-derive = { path = \"../d\", version = \"0.1\" }\n\n\
                   [dev-dependencies]\ndemilance-io = { path = \"../io\" }\n\n\
                   [target.'cfg(unix)'.build-dependencies]\ndemilance-io = { path = \"../io\", version = \"^0.1.0\" }\n";
        let new = "[package]\nname = \"fory-row\"\nversion = \"0.2.0\"\n\n\
                   [dependencies]\nfory-row-derive = { path = \"../d\", version = \"0.2.0\" }\n\n\
                   [dev-dependencies]\ndemilance-io = { path = \"../io\" }\n\n\
                   [target.'cfg(unix)'.build-dependencies]\ndemilance-io = { path = \"../io\", version = \"^0.2.0\" }\n";
        assert_eq!(bump().manifest(old).unwrap(), new);
    }

    #[test]
    fn packages_that_take_no_part_keep_their_versions() {
        for text in [
            "[package]\nname = \"xtask\"\nversion = \"0.1.0\"\n",
            "[package]\nname = \"fory-row\"\nversion.workspace = true\n",
            "[package]\nname = \"fory-row\"\nversion = \"3.0.0\"\n",
        ] {
            assert_eq!(bump().manifest(text).unwrap(), text);
        }
    }

    #[test]
    fn of_a_lock_file_only_packages_of_this_repository_change() {
        let old = "version = 4\n\n[[package]]\nname = \"demilance-io\"\nversion = \"0.1.0\"\ndependencies = [\n \"bytes\",\n]\n\n\
                   [[package]]\nname = \"fory-row\"\nversion = \"0.1.0\"\nsource = \"registry+https://example.org\"\n\n\
                   [[package]]\nname = \"xtask\"\nversion = \"0.1.0\"\n";
        let new = old.replacen("\"0.1.0\"", "\"0.2.0\"", 1);
        assert_eq!(bump().lock(old).unwrap(), new);
        assert!(bump().lock("version = 4\n").is_err());
    }

    #[test]
    fn a_manifest_without_a_version_is_an_error() {
        assert!(current("[workspace]\n").is_err());
        assert!(current("[workspace.package]\nversion = \"one\"\n").is_err());
    }
}
