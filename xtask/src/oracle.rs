//! The Python environment that holds the reference implementation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Where it lives, below the root of the repository.
const DIRECTORY: &str = ".oracle";
const REQUIREMENTS: &str = "xtask/oracle-requirements.txt";
/// A copy of the requirements that are installed. Written last, so a broken installation is made anew.
const STAMP: &str = "installed-requirements.txt";

/// Makes it, or says that it is there.
pub(crate) fn run(root: &Path) -> Result<()> {
    let python = ensure(root)?;
    println!("the reference implementation is ready: {}", python.display());
    Ok(())
}

/// The Python of the environment, which is made where it is missing or has other versions.
pub(crate) fn ensure(root: &Path) -> Result<PathBuf> {
    let directory = root.join(DIRECTORY);
    let python = directory.join("bin/python");
    let required = fs::read_to_string(root.join(REQUIREMENTS)).context(REQUIREMENTS)?;
    let installed = fs::read_to_string(directory.join(STAMP)).unwrap_or_default();
    if python.exists() && installed == required {
        return Ok(python);
    }

    if directory.exists() {
        fs::remove_dir_all(&directory).with_context(|| format!("removing {}", directory.display()))?;
    }
    eprintln!("making the Python environment {DIRECTORY} with {}", words(&required).join(" "));
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&directory);
    succeed(&mut venv).context(
        "python3 cannot make a virtual environment; on Debian: apt-get install python3 python3-venv",
    )?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
    pip.arg("--requirement").arg(root.join(REQUIREMENTS));
    succeed(&mut pip).with_context(|| format!("pip cannot install what {REQUIREMENTS} asks for"))?;
    fs::write(directory.join(STAMP), required)?;
    Ok(python)
}

/// The requirements in `text`, without comments.
fn words(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

fn succeed(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("starting {name}"))?;
    if !status.success() {
        bail!("{name} failed: {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_requirements() {
        assert_eq!(words("# why\na==1\n\n  b==2\n"), ["a==1", "b==2"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = succeed(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(error.to_string().contains("no-such-program-here"));
    }
}
