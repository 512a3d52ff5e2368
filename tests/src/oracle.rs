//! The reference implementation, as a Python process that does a list of jobs.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// A Python that has the reference implementation.
#[derive(Debug)]
pub struct Oracle {
    python: PathBuf,
}

impl Oracle {
    /// The Python that `DEMILANCE_ORACLE` names, or that `cargo xtask oracle` made. If there is none, says that
    /// `what` is skipped.
    pub fn find(what: &str) -> Option<Self> {
        let made = || crate::package().join("../.oracle/bin/python");
        let python = std::env::var_os("DEMILANCE_ORACLE").map_or_else(made, PathBuf::from);
        if python.is_file() {
            return Some(Self { python });
        }
        eprintln!("skipping {what}: no reference implementation, `cargo xtask oracle` makes one");
        None
    }

    /// Does `jobs`, as tests/oracle/driver.py describes them, in one process. Each gives a value or the text of
    /// an error. The process itself must not fail.
    pub fn run(&self, jobs: &[Value]) -> Vec<Result<Value, String>> {
        let place = tempfile::tempdir().unwrap();
        let (asked, answered) = (place.path().join("jobs.json"), place.path().join("results.json"));
        std::fs::write(&asked, serde_json::to_vec(jobs).unwrap()).unwrap();
        let output = Command::new(&self.python)
            .arg(crate::package().join("oracle/driver.py"))
            .args([&asked, &answered])
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the driver failed: {complaint}");
        let answers: Vec<Value> = serde_json::from_slice(&std::fs::read(&answered).unwrap()).unwrap();
        assert_eq!(answers.len(), jobs.len());
        answers
            .into_iter()
            .map(|mut answer| match answer.get("error") {
                Some(error) => Err(error.as_str().unwrap_or_default().to_string()),
                None => Ok(answer["ok"].take()),
            })
            .collect()
    }

    /// Does one job, which must not fail.
    pub fn one(&self, job: Value) -> Value {
        let result = self.run(std::slice::from_ref(&job)).remove(0);
        result.unwrap_or_else(|error| panic!("{job}: {error}"))
    }
}
