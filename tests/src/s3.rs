//! An S3-compatible server on this machine: moto, of the Python that has the reference implementation.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use lance_io::Store;
use serde_json::{Value, json};

use crate::oracle::Oracle;

const BUCKET: &str = "robots";

/// A server with an empty bucket. It keeps everything in memory, and ends when this is dropped.
#[derive(Debug)]
pub struct S3 {
    child: Child,
    port: u16,
}

impl S3 {
    /// Starts one on a free port of 127.0.0.1. If that is not possible, says that `what` is skipped.
    pub fn start(what: &str) -> Option<Self> {
        let oracle = Oracle::find(what)?;
        let mut child = Command::new(oracle.python())
            .arg(crate::package().join("oracle/s3.py"))
            .arg(BUCKET)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let line = line.trim();
        let port = line.parse().ok();
        // From here on it is stopped, whatever happens.
        let server = Self { child, port: port.unwrap_or(0) };
        assert!(port.is_some() || line.contains("No module named"), "the S3 server failed: {line}");
        if port.is_none() {
            eprintln!("skipping {what}: no S3 server, `cargo xtask oracle` installs moto");
        }
        port.map(|_| server)
    }

    /// What clients need to know of it, under the names that `object_store` and the reference have for that.
    pub fn options(&self) -> [(String, String); 5] {
        [
            ("aws_endpoint", format!("http://127.0.0.1:{}", self.port)),
            ("aws_allow_http", "true".into()),
            ("aws_region", "us-east-1".into()),
            ("aws_access_key_id", "any".into()),
            ("aws_secret_access_key", "any".into()),
        ]
        .map(|(key, value)| (key.to_string(), value))
    }

    /// The same as JSON, for the driver of the reference.
    pub fn storage_options(&self) -> Value {
        json!(self.options().into_iter().collect::<std::collections::BTreeMap<_, _>>())
    }

    /// The URL of `path` in the bucket.
    pub fn url(path: &str) -> String {
        format!("s3://{BUCKET}/{path}")
    }

    /// What lies below `path` in the bucket.
    pub fn store(&self, path: &str) -> Store {
        Store::open_with(&Self::url(path), self.options()).unwrap()
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
