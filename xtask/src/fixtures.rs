//! Small files and tables by the reference implementation, for the tests that run without it.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::oracle;

/// Writes tests/fixtures anew. The bytes differ from run to run: the reference draws samples at random.
pub(crate) fn run(root: &Path) -> Result<()> {
    let python = match env::var_os("DEMILANCE_ORACLE") {
        Some(python) => python.into(),
        None => oracle::ensure(root)?,
    };
    let status = Command::new(&python)
        .arg(root.join("tests/oracle/fixtures.py"))
        .arg(root.join("tests/fixtures"))
        .status()
        .with_context(|| format!("starting {}", python.display()))?;
    if !status.success() {
        bail!("the fixtures were not written");
    }
    Ok(())
}
