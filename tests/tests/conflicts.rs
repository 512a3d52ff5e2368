//! Every pair of changes to a table by two who know the same version: the second is put together with the first, worked out
//! again or refused, as docs/format/table.md §11 says, and what the table then holds is what one after the other gives.

use std::sync::{Arc, Mutex};

use demilance_tests::conflicts::{self, Base, CHANGES, Change, Outcome, READ, Seen};
use demilance_tests::files::paths;
use demilance_tests::ours;
use lance_io::{FailPoints, Moment, Store, Write};
use lance_table::{Table, TableError};

/// When the other writer comes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Comes {
    /// After we opened the table, and before we do anything.
    First,
    /// After all that we write but for the manifest, which is the n-th that we write, counted from 0.
    Between(usize),
}

/// The table that both have before them.
struct Case {
    base: Base,
    stable_row_ids: bool,
}

impl Case {
    async fn new(stable_row_ids: bool) -> Self {
        Self { base: Base::new(stable_row_ids).await, stable_row_ids }
    }

    /// Does `ours` from a handle that does not know of `theirs`, which comes as `comes` says. Gives what is wrong.
    async fn check(
        &self,
        (ours, theirs): (usize, usize),
        comes: Comes,
        retries: u32,
        serial: &Result<Seen, String>,
    ) -> Result<(), String> {
        let mut letter = conflicts::letter(ours, theirs);
        let ((ours, _), (theirs, _)) = (CHANGES[ours], CHANGES[theirs]);
        let store = Store::memory();
        self.base.copy_to(&store).await;
        let (outcome, before) = match comes {
            Comes::First => {
                let table = conflicts::open(store.clone()).await;
                conflicts::run(theirs, &conflicts::open(store.clone()).await, 10).await.expect_done();
                let before = (conflicts::see(&store).await, paths(&store).await);
                // What is to be restored is put after all that there is.
                if ours.name == "restore" {
                    letter = 'k';
                }
                (conflicts::run(ours, &table, retries).await, before)
            }
            Comes::Between(number) => {
                let (watched, came) = interrupted(&store, theirs, number).await;
                let outcome = conflicts::run(ours, &conflicts::open(watched).await, retries).await;
                let Some(before) = came.lock().unwrap().take() else {
                    return Err(format!("the other never came: {outcome:?}"));
                };
                (outcome, before)
            }
        };
        let after = conflicts::see(&store).await;
        let is_again = retries > 0 && !matches!(ours.name, "append" | "overwrite");
        let done = |after: &Seen| match serial {
            Ok(serial) => after.check(serial),
            Err(error) => Err(format!("done, although one after the other is refused: {error}")),
        };
        let conflict = |error: TableError, again: bool| match error {
            TableError::Conflict { ours: one, theirs: other, retryable, version, .. } => {
                let reserve = ours.operation == "compaction" && one == "reserve fragments";
                match (one == ours.operation || reserve, other == theirs.operation, retryable == again) {
                    (true, true, true) if version > READ => Ok(()),
                    _ => Err(format!("a conflict of {one} with {other}, version {version}, {retryable}")),
                }
            }
            error => Err(format!("another error: {error}")),
        };
        match (letter, outcome) {
            ('k', Outcome::Done) => return done(&after),
            ('r', Outcome::Done) if is_again => return done(&after),
            ('r', Outcome::Left) if !is_again => {}
            ('r', Outcome::Refused(error)) if is_again && serial.is_err() => {
                if serial.as_ref().err() != Some(&error.to_string()) {
                    return Err(format!("{error} instead of {:?}", serial.as_ref().err()));
                }
            }
            ('r', Outcome::Refused(error)) if !is_again => conflict(error, true)?,
            ('x', Outcome::Refused(error)) => conflict(error, false)?,
            (letter, outcome) => return Err(format!("{letter} is expected: {outcome:?}")),
        }
        // Nothing of it is left.
        after.check(&before.0).map_err(|error| format!("it is refused, but changed {error}"))?;
        let mut files = paths(&store).await;
        if ours.operation == "compaction" {
            // Ids may have been set aside already, which is a version of its own.
            files.retain(|file| before.1.contains(file) || !(file.starts_with('_')));
        }
        match files == before.1 {
            true => Ok(()),
            false => Err(format!("files {files:?} instead of {:?}", before.1)),
        }
    }
}

type Came = Arc<Mutex<Option<(Seen, Vec<String>)>>>;

/// `store`, in which somebody else does `theirs` just before the manifest `number` that is written through it; and what is
/// there then.
async fn interrupted(store: &Store, theirs: Change, number: usize) -> (Store, Came) {
    let (came, known) = (Came::default(), paths(store).await);
    let (inner, tell, manifests) = (store.clone(), Arc::clone(&came), Mutex::new(0));
    let hook = move |moment: &Moment<'_>| {
        if moment.write != Write::PutIfAbsent || moment.done || !moment.path.starts_with("_versions/") {
            return Ok(());
        }
        let mut manifests = manifests.lock().unwrap();
        *manifests += 1;
        if *manifests == number + 1 {
            let (store, tell, known) = (inner.clone(), Arc::clone(&tell), known.clone());
            let other = std::thread::spawn(move || {
                ours::run(async {
                    let on_the_way = paths(&store).await;
                    let table = Table::open(store.clone(), None).await.unwrap();
                    conflicts::run(theirs, &table, 10).await.expect_done();
                    let mut files = paths(&store).await;
                    files.retain(|file| known.contains(file) || !on_the_way.contains(file));
                    *tell.lock().unwrap() = Some((conflicts::see(&store).await, files));
                });
            });
            other.join().unwrap();
        }
        Ok(())
    };
    (store.with_failpoints(FailPoints::new(hook)), came)
}

#[test]
fn every_pair() {
    let wrong = Mutex::new(vec![]);
    let tables = [false, true].map(|stable| ours::run(Case::new(stable)));
    let pairs = (0..CHANGES.len()).flat_map(|ours| (0..CHANGES.len()).map(move |theirs| (ours, theirs)));
    let pairs = pairs.collect::<Vec<_>>();
    std::thread::scope(|scope| {
        for part in pairs.chunks(pairs.len().div_ceil(2)) {
            let (tables, wrong) = (&tables, &wrong);
            scope.spawn(move || {
                for pair in part {
                    for case in tables {
                        let found = ours::run(check_pair(case, *pair));
                        wrong.lock().unwrap().extend(found);
                    }
                }
            });
        }
    });
    ours::none_wrong(wrong.into_inner().unwrap());
}

async fn check_pair(case: &Case, pair: (usize, usize)) -> Vec<String> {
    let (ours, theirs) = (CHANGES[pair.0].0, CHANGES[pair.1].0);
    let serial = case.base.one_after_the_other(ours, theirs).await;
    let mut ways = vec![(Comes::First, 10)];
    if !case.stable_row_ids {
        ways.extend([(Comes::First, 0), (Comes::Between(0), 10)]);
        // Others write one manifest.
        if ours.operation == "compaction" {
            ways.extend([(Comes::Between(1), 10), (Comes::Between(1), 0)]);
        }
    }
    let mut wrong = vec![];
    for (comes, retries) in ways {
        if let Err(error) = case.check(pair, comes, retries, &serial).await {
            let stable = case.stable_row_ids;
            wrong.push(format!(
                "{} after {}, {comes:?}, {retries} retries, stable row ids {stable}: {error}",
                ours.name, theirs.name
            ));
        }
    }
    wrong
}
