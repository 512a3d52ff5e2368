//! The files and tables that the reference implementation wrote once.

use std::path::PathBuf;

use serde_json::Value;

/// A single file, with what it holds.
#[derive(Debug, Clone)]
pub struct FileFixture {
    /// What it is for.
    pub name: String,
    /// The file version.
    pub version: String,
    /// The file.
    pub path: PathBuf,
    /// Its rows as an IPC stream.
    pub expected: PathBuf,
}

/// All files.
pub fn files() -> Vec<FileFixture> {
    let mut files = vec![];
    for case in listing("files.json") {
        let name = case["name"].as_str().unwrap();
        for version in case["versions"].as_array().unwrap() {
            let version = version.as_str().unwrap().to_string();
            let path = directory().join(format!("files/{name}-{version}.lance"));
            let expected = directory().join(format!("files/{name}.arrow"));
            files.push(FileFixture { name: name.into(), version, path, expected });
        }
    }
    files
}

/// A table.
#[derive(Debug, Clone)]
pub struct TableFixture {
    /// What it is for, and its file version.
    pub name: String,
    /// Its root.
    pub path: PathBuf,
    /// Its versions, oldest first.
    pub versions: Vec<VersionFixture>,
}

/// One version of a table.
#[derive(Debug, Clone)]
pub struct VersionFixture {
    /// Its number.
    pub version: u64,
    /// Live rows.
    pub rows: u64,
    /// Fragments in its manifest.
    pub fragments: usize,
    /// The row ids of its last rows.
    pub row_ids: Vec<u64>,
    /// Its live rows as an IPC stream.
    pub expected: PathBuf,
}

/// All tables.
pub fn tables() -> Vec<TableFixture> {
    let version = |value: &Value| VersionFixture {
        version: value["version"].as_u64().unwrap(),
        rows: value["rows"].as_u64().unwrap(),
        fragments: value["fragments"].as_u64().unwrap() as usize,
        row_ids: value["row_ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect(),
        expected: directory().join("tables").join(value["expected"].as_str().unwrap()),
    };
    let table = |value: Value| {
        let name = value["name"].as_str().unwrap().to_string();
        let path = directory().join("tables").join(&name);
        TableFixture {
            name,
            path,
            versions: value["versions"].as_array().unwrap().iter().map(version).collect(),
        }
    };
    listing("tables.json").into_iter().map(table).collect()
}

/// A file of a version that is not read.
pub fn refused(name: &str) -> PathBuf {
    directory().join("refused").join(format!("{name}.lance"))
}

fn directory() -> PathBuf {
    crate::package().join("fixtures")
}

fn listing(name: &str) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(directory().join(name)).unwrap()).unwrap()
}
