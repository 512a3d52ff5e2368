//! Packages as a registry would get them, and builds from nothing but these.
//!
//! `cargo package` can build what it packages, too. It then takes the packages that depend on each other from a registry
//! of its own and believes, as of every registry, that a version never changes: the second time it builds against the
//! sources of the first. So it only packages here, and the packages are unpacked into a workspace and built there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::members::Member;
use crate::command::succeed;

/// Removes from `target` what earlier runs built of the packages in `order`, each from another copy of the tree at
/// `tree`. What they depend on stays.
pub(crate) fn clean(tree: &Path, order: &[&Member], target: &Path) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(tree).env("CARGO_TARGET_DIR", target);
    command.args(["clean", "--quiet", "--locked"]);
    command.args(order.iter().flat_map(|member| ["--package", &member.name]));
    succeed(&mut command, "removing what earlier runs built")
}

/// Packages all of `order` from the workspace at `tree` into `target`.
pub(crate) fn package(tree: &Path, order: &[&Member], target: &Path) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(tree).env("CARGO_TARGET_DIR", target);
    command.args(["package", "--locked", "--no-verify"]);
    command.args(order.iter().flat_map(|member| ["--package", &member.name]));
    succeed(&mut command, "packaging")
}

/// Unpacks the packages in `target` into a workspace of their own with the versions in `lock`; gives its directory.
pub(crate) fn unpack(order: &[&Member], lock: &Path, target: &Path) -> Result<PathBuf> {
    let directory = target.join("unpacked");
    if directory.exists() {
        fs::remove_dir_all(&directory).with_context(|| format!("removing {}", directory.display()))?;
    }
    fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
    for member in order {
        let archive = target.join("package").join(format!("{}.crate", stem(member)));
        let mut tar = Command::new("tar");
        // All files in a package are from the same day of 2006. With the time of now, cargo sees that they are new.
        tar.arg("-xzmf").arg(&archive).arg("-C").arg(&directory);
        succeed(&mut tar, &format!("unpacking {}", archive.display()))?;
    }
    fs::write(directory.join("Cargo.toml"), workspace(order))
        .context("writing the manifest of the packages")?;
    fs::copy(lock, directory.join("Cargo.lock")).context("copying the lock file")?;
    Ok(directory)
}

/// Builds `member` in the workspace that [`unpack`] made.
pub(crate) fn build(directory: &Path, member: &Member, target: &Path) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(directory).env("CARGO_TARGET_DIR", target);
    command.args(["build", "--package", &member.name]);
    succeed(&mut command, &format!("building {} from its package", member.name))
}

/// A workspace of the unpacked packages, in which each takes the others from there, as it later will from the registry.
fn workspace(order: &[&Member]) -> String {
    let members: String = order.iter().map(|member| format!("    \"{}\",\n", stem(member))).collect();
    let patches: String = order
        .iter()
        // cargo warns of those that nobody needs.
        .filter(|member| order.iter().any(|other| other.needs.contains(&member.name)))
        .map(|member| format!("{} = {{ path = \"{}\" }}\n", member.name, stem(member)))
        .collect();
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\n{members}]\n\n\
         [patch.crates-io]\n{patches}\n\
         [profile.dev]\ndebug = false\nincremental = false\n"
    )
}

/// The name of the package's file without its ending, and of the one directory in it.
fn stem(member: &Member) -> String {
    format!("{}-{}", member.name, member.version)
}

#[cfg(test)]
mod tests {
    use super::super::members::tests::package;
    use super::*;

    #[test]
    fn the_workspace_of_packages_takes_them_from_each_other() {
        let (footer, io) = (package("demilance-footer", &[]), package("demilance-io", &["demilance-footer"]));
        let expected = r#"[workspace]
resolver = "3"
members = [
    "demilance-footer-0.1.0",
    "demilance-io-0.1.0",
]

[patch.crates-io]
demilance-footer = { path = "demilance-footer-0.1.0" }

[profile.dev]
debug = false
incremental = false
"#;
        assert_eq!(workspace(&[&footer, &io]), expected);
    }
}
