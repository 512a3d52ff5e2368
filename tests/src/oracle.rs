//! The reference implementation, as a Python process that does a list of jobs, or one after another.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

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
        assert!(
            std::env::var_os("DEMILANCE_ORACLE").is_none(),
            "DEMILANCE_ORACLE={} is no file",
            python.display()
        );
        eprintln!("skipping {what}: no reference implementation, `cargo xtask oracle` makes one");
        None
    }

    /// Where the Python is.
    pub fn python(&self) -> &Path {
        &self.python
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
        answers.into_iter().map(answer).collect()
    }

    /// Starts a process that is asked one job after another. What it complains about goes to where ours does.
    pub fn session(&self) -> Session {
        let mut process = Command::new(&self.python)
            .arg(crate::package().join("oracle/driver.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Session { process, answers }
    }

    /// Does one job, which must not fail.
    pub fn one(&self, job: Value) -> Value {
        let result = self.run(std::slice::from_ref(&job)).remove(0);
        result.unwrap_or_else(|error| panic!("{job}: {error}"))
    }
}

/// A process of the reference that does jobs one after another.
#[derive(Debug)]
pub struct Session {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Session {
    /// Does one job, as [`Oracle::run`] does.
    pub fn ask(&mut self, job: &Value) -> Result<Value, String> {
        let mut asked = self.process.stdin.as_ref().unwrap();
        writeln!(asked, "{job}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the driver ended at {job}");
        answer(serde_json::from_str(&line).unwrap())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It ends when there are no more jobs.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn answer(mut answer: Value) -> Result<Value, String> {
    match answer.get("error") {
        Some(error) => Err(error.as_str().unwrap_or_default().to_string()),
        None => Ok(answer["ok"].take()),
    }
}
