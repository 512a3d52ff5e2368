//! What is asked of git.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::version::{Tags, parse_tags};

/// Writes the tree of `revision` into the directory `to`, as a checkout would. Neither the working tree nor the index
/// of the repository at `root` takes part.
pub(crate) fn export(root: &Path, revision: &str, to: &Path) -> Result<()> {
    let index = to.with_extension("index");
    let git = || {
        let mut git = Command::new("git");
        git.current_dir(root).env("GIT_INDEX_FILE", &index);
        git
    };
    output(git().args(["read-tree", &format!("{revision}^{{tree}}")]))?;
    // The slash at the end makes it a directory.
    output(git().args(["checkout-index", "--all"]).arg(format!("--prefix={}/", to.display())))?;
    Ok(())
}

/// The tags of releases.
pub(crate) fn tags(root: &Path) -> Result<Tags> {
    let list = |more: &[&str]| {
        let tags = output(Command::new("git").current_dir(root).args(["tag", "--list", "v*"]).args(more))?;
        anyhow::Ok(parse_tags(&tags))
    };
    Ok(Tags { all: list(&[])?, behind: list(&["--merged", "HEAD"])? })
}

/// Whether the working tree has anything that is not committed, except what git ignores.
pub(crate) fn is_dirty(root: &Path) -> Result<bool> {
    Ok(!output(Command::new("git").current_dir(root).args(["status", "--porcelain"]))?.is_empty())
}

/// The committed manifests and lock files, also those of workspaces of their own.
pub(crate) fn manifests(root: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"]);
    let names = output(&mut git)?;
    let is_manifest = |path: &&str| matches!(path.rsplit('/').next(), Some("Cargo.toml" | "Cargo.lock"));
    Ok(names.split('\0').filter(is_manifest).map(String::from).collect())
}

fn output(git: &mut Command) -> Result<String> {
    let output = git.output().context("starting git")?;
    if !output.status.success() {
        let args: Vec<_> = git.get_args().map(|arg| arg.to_string_lossy()).collect();
        bail!("git {} failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("git gave a name that is not UTF-8")
}
