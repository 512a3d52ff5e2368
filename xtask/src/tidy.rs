//! Checks of what the compiler does not check.

mod arrows;
mod files;
mod sources;

use std::path::Path;

use anyhow::{Result, bail};

use crate::codegen;

/// Runs all checks, prints every problem, and fails if there is one.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut problems = arrows::check(&arrows::load(root)?);
    let files = files::tracked(root)?;
    problems.extend(sources::check(&files));
    problems.extend(files::check(&files, &files::machine_paths(root)));
    if let Err(error) = codegen::run(root, true) {
        problems.push(format!("{error:#}"));
    }
    for problem in &problems {
        eprintln!("tidy: {problem}");
    }
    if !problems.is_empty() {
        bail!("{} problems", problems.len());
    }
    println!("tidy: {} files, nothing to complain about", files.len());
    Ok(())
}
