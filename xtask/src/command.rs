//! Programs that are started.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs `command`, whose output everybody sees; fails if it does, and calls it `what`.
pub(crate) fn succeed(command: &mut Command, what: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("{what}: {}", command.get_program().display()))?;
    if !status.success() {
        bail!("{what} failed");
    }
    Ok(())
}

/// Whether cargo has the command `name`, which is not one of its own.
pub(crate) fn cargo_has(name: &str) -> bool {
    let mut command = Command::new(env!("CARGO"));
    command.args([name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
