//! Whether the public API changed as the version says.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::version::Step;
use crate::command::cargo_has;

/// What one types to have the tool.
pub(crate) const INSTALL: &str = "cargo install --locked cargo-semver-checks";

/// Whether the tool that compares APIs is there.
pub(crate) fn is_installed() -> bool {
    cargo_has("semver-checks")
}

/// Fails when the API of one of `packages` in the tree `new` differs from that in the tree `old` by more than `step`
/// allows.
pub(crate) fn compare(old: &Path, new: &Path, packages: &[&str], step: Step, target: &Path) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(new).env("CARGO_TARGET_DIR", target);
    command.args(["semver-checks", "check-release", "--release-type", &step.to_string()]);
    command.arg("--baseline-root").arg(old);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    if !command.status().context("starting cargo semver-checks")?.success() {
        bail!(
            "the public API changed by more than a {step} version may: choose another version or take the change back"
        );
    }
    Ok(())
}
