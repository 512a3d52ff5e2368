//! What verifying finds, as text.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use lance_file::verify::{Finding, Problem, Verified, VerifyOptions, verify};
use lance_io::{MemoryFile, ReadAt, Store};

/// Verifies the file in memory. The lines do not name it.
pub async fn bytes(bytes: Bytes) -> (Verified, Vec<String>) {
    source(Arc::new(MemoryFile::new("a.lance", bytes))).await
}

/// Verifies a file on the local disk. The lines do not name it.
pub async fn path(path: &Path) -> (Verified, Vec<String>) {
    bytes(std::fs::read(path).unwrap().into()).await
}

/// Verifies a table, its latest version or another. Problems and notes; the lines do not name its root.
pub async fn table(store: &Store, version: Option<u64>) -> (Verified, Vec<String>, Vec<String>) {
    let (mut lines, mut notes) = (vec![], vec![]);
    let root = store.location("");
    let bare = |problem: Problem| {
        let line = problem.to_string();
        line.strip_prefix(&root).map_or(line.clone(), |line| line.trim_start_matches('/').to_string())
    };
    let mut report = |finding| match finding {
        Finding::Problem(problem) => lines.push(bare(problem)),
        Finding::Note(problem) => notes.push(bare(problem)),
        _ => {}
    };
    let options = lance_table::verify::VerifyOptions { version, ..Default::default() };
    let verified = lance_table::verify::verify(store, options, &mut report).await.unwrap();
    (verified, lines, notes)
}

async fn source(source: Arc<dyn ReadAt>) -> (Verified, Vec<String>) {
    let mut lines = vec![];
    let mut report = |finding| match finding {
        Finding::Problem(problem) | Finding::Note(problem) => {
            let line = problem.to_string();
            lines.push(line.strip_prefix("a.lance: ").unwrap_or(&line).to_string());
        }
        _ => {}
    };
    let verified = verify(source, VerifyOptions::default(), &mut report).await;
    (verified, lines)
}
