//! The one test command.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::command::{cargo_has, succeed};
use crate::oracle;

/// Names the Python that has the reference implementation. The tests skip what needs it where it is unset.
const ORACLE: &str = "DEMILANCE_ORACLE";
/// Names the directory of the recordings.
const DATA: &str = "DEMILANCE_DATA";
/// What fails.
const WHAT: &str = "tests";

/// Runs the tests of the workspace and the examples in its documentation; `args` go to the runner of the
/// former.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let oracle = oracle_python(root)?;
    if let Some(python) = &oracle {
        say_what_is_missing(python);
    }
    if env::var_os(DATA).is_none() {
        println!("skipping the tests with real recordings: {DATA} is not set");
    }
    let cargo = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(root).args(args);
        if let Some(python) = &oracle {
            command.env(ORACLE, python);
        }
        command
    };

    // Documentation first: the last line on the screen is then the summary of the larger part.
    succeed(&mut cargo(&["test", "--workspace", "--doc", "--locked"]), WHAT)?;
    let mut tests = if cargo_has("nextest") {
        cargo(&["nextest", "run", "--workspace", "--locked", "--no-fail-fast"])
    } else {
        println!("cargo-nextest is not installed: running cargo test");
        cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--locked", "--no-fail-fast"])
    };
    tests.args(args);
    succeed(&mut tests, WHAT)
}

fn oracle_python(root: &Path) -> Result<Option<OsString>> {
    if let Some(python) = env::var_os(ORACLE) {
        if !Path::new(&python).is_file() {
            bail!("{ORACLE}={} is no file", python.display());
        }
        return Ok(Some(python));
    }
    Ok(match oracle::ensure(root) {
        Ok(python) => Some(python.into()),
        Err(error) => {
            println!("skipping the tests against the reference implementation: {error:#}");
            None
        }
    })
}

/// The runner hides what tests that pass say, and so that they skip something.
fn say_what_is_missing(python: &OsStr) {
    let modules = [("lance", "against the reference implementation"), ("moto", "with an object store")];
    for (module, which) in modules {
        let mut import = Command::new(python);
        import.args(["-c", &format!("import {module}")]).stdin(Stdio::null());
        let output = import.stdout(Stdio::null()).stderr(Stdio::piped()).output();
        let why = match output {
            Ok(output) if output.status.success() => continue,
            Ok(output) => String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("").to_string(),
            Err(error) => error.to_string(),
        };
        println!("skipping the tests {which}: {} cannot import {module}: {why}", python.display());
    }
}
