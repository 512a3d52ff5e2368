//! What the demo writes: the simulated arm, or recordings of a real robot.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::RecordBatch;

use super::arm::Episodes;
use crate::quantity;
use crate::source::{Progress, Sources, Stream, expand, nest};

/// What becomes one table, in two parts where it can be divided.
pub(super) struct Recording {
    pub(super) title: String,
    pub(super) parts: Vec<Part>,
    /// What is added to the name of the table.
    suffix: Option<&'static str>,
}

/// What is written in one go. It starts to be made when it is asked for.
pub(super) struct Part {
    pub(super) what: String,
    pub(super) start: Box<dyn FnOnce() -> Result<Stream>>,
}

impl Part {
    fn new(what: impl Into<String>, start: impl FnOnce() -> Result<Stream> + 'static) -> Self {
        Self { what: what.into(), start: Box::new(start) }
    }
}

impl Recording {
    /// Episodes of the simulated arm.
    pub(super) fn simulated(seed: u64, frames: u64, episodes: u64) -> Self {
        let first = first_part(episodes);
        let part = |from: u64, to: u64| {
            let what = format!("{}, drawn as they are written", quantity::of(to - from, "simulated episode"));
            Part::new(what, move || drawn(seed, frames, from, to))
        };
        Self {
            title: "A simulated arm with two joints reaches for goals".to_string(),
            parts: vec![part(0, first), part(first, episodes)],
            suffix: None,
        }
    }

    /// The table that this goes to, if the first recording goes to `table`.
    pub(super) fn table(&self, table: &str) -> String {
        match self.suffix {
            None => table.to_string(),
            Some(suffix) => {
                let stem = table.trim_end_matches('/').trim_end_matches(".lance");
                format!("{stem}-{suffix}.lance")
            }
        }
    }

    fn of_files(title: String, paths: &[PathBuf], suffix: Option<&'static str>) -> Result<Self> {
        let parts = match paths {
            [path] => by_rows(path)?,
            _ => by_files(paths)?,
        };
        Ok(Self { title, parts, suffix })
    }
}

/// The recordings in `from`: a LeRobot data set, a directory of files, or one file.
pub(super) fn of_directory(from: &Path) -> Result<Vec<Recording>> {
    let text = from.display().to_string();
    let info = from.join("meta").join("info.json");
    if !info.is_file() {
        let paths = expand(std::slice::from_ref(&text))?;
        return Ok(vec![Recording::of_files(format!("Recordings in {text}"), &paths, None)?]);
    }
    let name = info.display().to_string();
    let json = std::fs::read_to_string(&info).with_context(|| name.clone())?;
    let info: serde_json::Value = serde_json::from_str(&json).with_context(|| name.clone())?;
    let field = |key: &str| match info.get(key) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "?".to_string(),
    };
    let robot = field("robot_type");
    let paths = expand(&[from.join("data").display().to_string()])?;
    let title = format!(
        "Robot {robot}: {}, {} frames at {} Hz (LeRobot {})",
        quantity::of(paths.len() as u64, "episode"),
        field("total_frames"),
        field("fps"),
        field("codebase_version")
    );
    let mut recordings = vec![Recording::of_files(title, &paths, None)?];
    let frames = from.join("frames.parquet");
    if frames.is_file() {
        let title = format!("Robot {robot}: frames with the image of the camera");
        recordings.push(Recording::of_files(title, &[frames], Some("frames"))?);
    }
    Ok(recordings)
}

fn drawn(seed: u64, frames: u64, from: u64, to: u64) -> Result<Stream> {
    let nested = Arc::new(nest::schema(&Episodes::schema())?);
    let schema = Arc::clone(&nested);
    let episodes = Episodes::new(seed, frames, from, to).map(move |batch| Ok(nest::batch(&batch?, &nested)?));
    Ok(Stream::start(schema, episodes))
}

/// Four fifths of `all`, at least one; the rest is appended.
fn first_part(all: u64) -> u64 {
    (all - all / 5).min(all.saturating_sub(1)).max(1)
}

/// The first files, then the others.
fn by_files(paths: &[PathBuf]) -> Result<Vec<Part>> {
    let first = usize::try_from(first_part(paths.len() as u64))?;
    let (first, then) = paths.split_at_checked(first).unwrap_or((paths, &[]));
    let mut parts = Vec::new();
    // All must agree, before anything is written.
    let all = Sources::open(paths, None)?;
    for files in [first, then] {
        let sources = Sources::open(files, Some(("the first recordings", all.schema())))?;
        let what = quantity::of(files.len() as u64, "file");
        parts.push(Part::new(what, || Ok(sources.stream(Progress::hidden()))));
    }
    Ok(parts)
}

/// The first rows of a file, then the others, if the file says how many it has.
fn by_rows(path: &PathBuf) -> Result<Vec<Part>> {
    let sources = || Sources::open(std::slice::from_ref(path), None);
    let all = sources()?;
    let rows = all.rows().unwrap_or(0);
    if rows < 2 {
        return Ok(vec![Part::new("1 file", || Ok(all.stream(Progress::hidden())))]);
    }
    let first = first_part(rows);
    let part = |what: &str, sources: Sources, skip: u64, take: u64| {
        Part::new(what, move || {
            let schema = Arc::clone(sources.schema());
            let batches = sources.batches(Progress::hidden());
            Ok(Stream::start(schema, Window { batches, skip, take }))
        })
    };
    Ok(vec![
        part("the first rows of 1 file", all, 0, first),
        part("the other rows", sources()?, first, rows - first),
    ])
}

/// Some rows of batches.
struct Window<B> {
    batches: B,
    skip: u64,
    take: u64,
}

impl<B: Iterator<Item = Result<RecordBatch>>> Iterator for Window<B> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.take > 0 {
            let batch = match self.batches.next()? {
                Ok(batch) => batch,
                error => return Some(error),
            };
            // Both are at most the rows of the batch, a usize.
            let rows = batch.num_rows();
            let from = usize::try_from(self.skip).unwrap_or(rows).min(rows);
            let length = usize::try_from(self.take).unwrap_or(rows).min(rows - from);
            self.skip -= from as u64;
            self.take -= length as u64;
            if length > 0 {
                return Some(Ok(batch.slice(from, length)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array};

    #[test]
    fn windows_cut_batches() {
        let batch = |values: Vec<i64>| {
            Ok(RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(values)) as ArrayRef)]).unwrap())
        };
        let rows = |skip, take| {
            let batches = vec![batch(vec![0, 1, 2]), batch(vec![3, 4]), batch(vec![5, 6, 7])].into_iter();
            let window = Window { batches, skip, take };
            window.map(|batch| batch.unwrap().num_rows()).collect::<Vec<_>>()
        };
        assert_eq!(rows(0, 8), [3, 2, 3]);
        assert_eq!(rows(1, 5), [2, 2, 1]);
        assert_eq!(rows(3, 5), [2, 3]);
        assert_eq!(rows(8, 5), [0usize; 0]);
        assert_eq!(rows(0, 0), [0usize; 0]);
    }

    #[test]
    fn parts_are_never_empty() {
        assert_eq!([1, 2, 5, 10, 100].map(first_part), [1, 1, 4, 8, 80]);
    }

    #[test]
    fn a_data_set_is_known_by_its_info() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for below in ["meta", "data/chunk-000"] {
            std::fs::create_dir_all(root.join(below)).unwrap();
        }
        std::fs::write(root.join("meta/info.json"), r#"{"robot_type": "R2", "fps": 30}"#).unwrap();
        for episode in ["a.csv", "b.csv"] {
            std::fs::write(root.join("data/chunk-000").join(episode), "x\n1\n").unwrap();
        }
        let recordings = of_directory(root).unwrap();
        assert_eq!(recordings.len(), 1);
        assert!(recordings[0].title.contains("R2: 2 episodes"), "{}", recordings[0].title);
        assert_eq!(recordings[0].parts.len(), 2);
        assert_eq!(recordings[0].table("a/b.lance"), "a/b.lance");
    }
}
