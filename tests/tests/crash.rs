//! Whatever write a process dies at or a store fails at, the table is as it was before or as it is after the operation,
//! and clean-up removes the rest.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use demilance::Dataset;
use demilance_tests::crash::Seen;
use demilance_tests::{crash, ours};
use lance_io::{FailPoints, IoError, Moment, Store, Write};

async fn open(at: &Path) -> Dataset {
    Dataset::builder("").store(Store::local(at).durable(false)).load().await.unwrap()
}

async fn see(at: &Path) -> Seen {
    crash::see(Store::local(at).durable(false)).await
}

/// A table before and after `operation`.
struct Case {
    operation: &'static str,
    place: tempfile::TempDir,
    before: Seen,
    after: Seen,
}

impl Case {
    fn new(operation: &'static str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let (before, after) = (place.path().join("before"), place.path().join("after"));
        ours::run(async {
            crash::make(Store::local(&before).durable(false)).await;
            copy(&before, &after);
            let (old, store) = (see(&before).await, Store::local(&after).durable(false));
            crash::run(operation, store).await.unwrap();
            let new = see(&after).await;
            assert_ne!(old, new, "{operation} changes nothing");
            Self { operation, place, before: old, after: new }
        })
    }

    /// A fresh copy of the table before.
    fn fresh(&self, name: &str) -> PathBuf {
        let to = self.place.path().join(name);
        copy(&self.place.path().join("before"), &to);
        to
    }

    /// Checks what is at `at` after something went wrong at moment `number`.
    async fn check(&self, at: &Path, number: usize) {
        let what = format!("{} at moment {number}", self.operation);
        let mut seen = see(at).await;
        let mut expected = [&self.before, &self.after].into_iter();
        let expected = expected.any(|expected| seen.is_on_the_way(self.operation, expected));
        assert!(expected, "{what}: {seen:#?}");
        check_tagged(at).await;

        // Whoever comes next can do it, as if nothing had been.
        if seen.rows == self.before.rows && seen.references == self.before.references {
            if self.operation == "branch" {
                // Remains of a branch are in the way of another, and are removed by who says so.
                let _ = open(at).await.table().delete_branch(crash::BRANCH, true).await;
            }
            let again = crash::run(self.operation, Store::local(at).durable(false)).await;
            again.unwrap_or_else(|error| panic!("{what}: {error}"));
            seen = see(at).await;
            assert_eq!(
                (&seen.rows, &seen.config, &seen.references, seen.fragments),
                (&self.after.rows, &self.after.config, &self.after.references, self.after.fragments),
                "{what}, done again"
            );
        }
        let options = crash::all_but_the_newest();
        let cleaned = open(at).await.clean_up(&options).await.unwrap();
        assert_eq!(cleaned.failed, [], "{what}");
        let left = open(at).await.table().plan_cleanup(&options).await.unwrap();
        assert_eq!((left.files.len(), left.versions.len(), left.young.files), (0, 0, 0), "{what}: {left:#?}");
        let temporary = walk(at)
            .into_iter()
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".tmp")));
        assert_eq!(temporary.collect::<Vec<_>>(), Vec::<PathBuf>::new(), "{what}");
        assert_eq!(see(at).await.rows, seen.rows, "{what}, cleaned up");
        check_tagged(at).await;
    }
}

/// Sees that the tagged version is whole.
async fn check_tagged(at: &Path) {
    let tagged = Dataset::builder("").store(Store::local(at)).tag(crash::TAG).load().await.unwrap();
    let batches = tagged.scan().collect().await.unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 30);
}

fn copy(from: &Path, to: &Path) {
    for path in walk(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(path, target).unwrap();
    }
}

/// All files below `at`.
fn walk(at: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(walk(&path)),
            false => files.push(path),
        }
    }
    files
}

#[test]
fn killed_at_any_write() {
    for operation in crash::OPERATIONS {
        let case = Case::new(operation);
        let mut moments = 0;
        loop {
            let at = case.fresh("victim");
            let mut victim = Command::new(env!("CARGO_BIN_EXE_victim"));
            victim.arg(&at).args([operation, &moments.to_string()]).stderr(Stdio::piped());
            let output = victim.output().unwrap();
            if output.status.success() {
                break;
            }
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code().is_none(), "{operation} at moment {moments}: {said}");
            ours::run(case.check(&at, moments));
            std::fs::remove_dir_all(&at).unwrap();
            moments += 1;
        }
        // At least a transaction and a manifest, or the file of a reference, before and after.
        assert!(moments >= 2, "{operation} has {moments} moments");
    }
}

/// Before a write the store fails; after it the answer is lost.
#[test]
fn failing_at_any_write() {
    for operation in crash::OPERATIONS {
        let case = Case::new(operation);
        for number in 0.. {
            let at = case.fresh("failing");
            let moments = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&moments);
            let failpoints = FailPoints::new(move |moment: &Moment<'_>| {
                if count.fetch_add(1, Ordering::SeqCst) == number {
                    let source = std::io::Error::other("failing");
                    return Err(IoError::Io { path: moment.path.into(), source });
                }
                Ok(())
            });
            let store = Store::local(&at).durable(false).with_failpoints(failpoints);
            let result = ours::run(crash::run(operation, store));
            if moments.load(Ordering::SeqCst) <= number {
                result.unwrap();
                break;
            }
            ours::run(async {
                let seen = see(&at).await;
                // Who was told that it is done can rely on it.
                if result.is_ok() {
                    assert_eq!(seen, case.after, "{operation} at moment {number}");
                }
                case.check(&at, number).await;
            });
            std::fs::remove_dir_all(&at).unwrap();
        }
    }
}

/// A power failure right after an operation loses nothing of it: each file is on the disk before it gets its name, and its
/// name is before anything is told; a manifest comes when all that it names is there.
#[test]
fn what_is_acknowledged_is_on_the_disk() {
    for operation in crash::OPERATIONS {
        let case = Case::new(operation);
        let moments = Arc::new(Mutex::new(vec![]));
        let told = Arc::clone(&moments);
        let failpoints = FailPoints::new(move |moment: &Moment<'_>| {
            told.lock().unwrap().push((moment.write, moment.done, moment.path.to_string()));
            Ok(())
        });
        let store = Store::local(case.fresh("durable")).with_failpoints(failpoints);
        ours::run(crash::run(operation, store)).unwrap();
        let moments = moments.lock().unwrap();
        let at = |write: Write, done: bool, path: &str| {
            let of = |moment: &(Write, bool, String)| {
                (moment.0, moment.1) == (write, done) && moment.2.ends_with(path)
            };
            moments.iter().position(of).unwrap_or_else(|| panic!("{operation}: {path}: no {write:?}, {done}"))
        };
        let mut named = 0;
        for (number, (write, done, path)) in moments.iter().enumerate() {
            let is_whole = matches!(write, Write::Finish | Write::Put | Write::PutIfAbsent);
            if is_whole && *done {
                let order = [
                    at(*write, false, path),
                    at(Write::SyncFile, false, path),
                    at(Write::SyncFile, true, path),
                    at(Write::SyncName, false, path),
                    at(Write::SyncName, true, path),
                    number,
                ];
                assert!(order.is_sorted(), "{operation}: {path}: {order:?}");
                named += 1;
            }
            if *write == Write::PutIfAbsent && !*done && path.contains("_versions/") {
                let count = |write: Write| {
                    moments[..number].iter().filter(|moment| moment.1 && moment.0 == write).count()
                };
                assert_eq!(count(Write::Create), count(Write::Finish), "{operation}: {path} comes too early");
            }
        }
        assert!(named > 0 || operation == "clean up", "{operation}");
    }
}
