//! Every pair of changes to a table by us and the reference, who both know the same version: what tests/conflicts.rs
//! has of us alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use demilance_tests::conflicts::{self, Base, CHANGES, Outcome, READ, Seen};
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, same, stream};
use lance_io::Store;
use lance_table::{TableError, WriteMode, WriteOptions};
use serde_json::{Value, json};

/// A table that one of us changes and then the other. The changes are places in [`CHANGES`].
struct Case {
    first: usize,
    second: usize,
    path: PathBuf,
}

impl Case {
    fn what(&self) -> String {
        format!("{} after {}", name(self.second), name(self.first))
    }

    fn store(&self) -> Store {
        Store::local(&self.path).durable(false)
    }

    /// What the reference is asked to do from the version that both know.
    fn job(&self, change: usize, retries: u32) -> Value {
        let (path, name) = (&self.path, name(change));
        json!({"do": "change", "path": path, "name": name, "version": READ, "retries": retries})
    }

    /// Whether the second change deletes or replaces rows.
    fn is_about_rows(&self) -> bool {
        ["delete", "update"].contains(&CHANGES[self.second].0.operation)
    }

    /// What the reference does where we do more: it puts changes of columns together with those of the metadata of schema or
    /// fields, and does not look whether others have added the keys that it inserts, unless they are declared.
    fn letter_of_the_reference(&self) -> char {
        let (first, second) = (name(self.first), name(self.second));
        match second {
            "restore" => 'k',
            "upsert and insert" if ["append", "update elsewhere", "upsert"].contains(&first) => 'k',
            _ if COLUMNS.contains(&first) && METADATA.contains(&second) => 'k',
            _ if COLUMNS.contains(&second) && METADATA.contains(&first) => 'k',
            _ => conflicts::letter(self.second, self.first),
        }
    }

    /// Whether the reference loses what we did to metadata, since it sets the fields that it knows.
    fn loses_metadata(&self) -> bool {
        COLUMNS.contains(&name(self.second)) && METADATA.contains(&name(self.first))
    }
}

/// Changes of columns of which the reference thinks that they go together with changes of metadata.
const COLUMNS: [&str; 4] = ["drop column", "rename column", "allow nulls", "refuse nulls"];

const METADATA: [&str; 2] = ["schema metadata", "field metadata"];

const fn name(change: usize) -> &'static str {
    CHANGES[change].0.name
}

/// All pairs, each with a table of its own.
async fn cases(base: &Base, place: &Path) -> Vec<Case> {
    let mut cases = vec![];
    for (first, second) in
        (0..CHANGES.len()).flat_map(|one| (0..CHANGES.len()).map(move |other| (one, other)))
    {
        let case = Case { first, second, path: place.join(format!("{first}-{second}")) };
        base.copy_to(&case.store()).await;
        cases.push(case);
    }
    cases
}

/// What is there after each change, and after each pair of them, when the second knows of the first.
struct Serial {
    one: Vec<Seen>,
    both: BTreeMap<(usize, usize), Result<Seen, String>>,
}

impl Serial {
    async fn of(base: &Base, cases: &[Case]) -> Self {
        let mut serial = Self { one: vec![], both: BTreeMap::new() };
        for (change, _) in CHANGES {
            let store = Store::memory();
            base.copy_to(&store).await;
            conflicts::run(change, &conflicts::open(store.clone()).await, 0).await.expect_done();
            serial.one.push(conflicts::see(&store).await);
        }
        for case in cases {
            let (first, second) = (CHANGES[case.first].0, CHANGES[case.second].0);
            let both = base.one_after_the_other(second, first).await;
            serial.both.insert((case.first, case.second), both);
        }
        serial
    }

    /// What is to be there if the second change of `case` is `done` or not.
    fn expected(&self, case: &Case, done: bool) -> Result<&Seen, String> {
        match (done, &self.both[&(case.first, case.second)]) {
            (false, _) => Ok(&self.one[case.first]),
            (true, Ok(seen)) => Ok(seen),
            (true, Err(error)) => Err(format!("done, although one after the other is refused: {error}")),
        }
    }
}

/// Compares what both read of each table with what is to be there. Gives what is wrong.
async fn compare(oracle: &Oracle, cases: &[Case], done: &[bool], serial: &Serial) -> Vec<String> {
    let to = |case: &Case| case.path.with_extension("arrow");
    let job = |case: &Case| json!({"do": "read_table", "path": case.path, "to": to(case)});
    let jobs = cases.iter().map(job).collect::<Vec<_>>();
    let mut wrong = vec![];
    for ((case, done), read) in cases.iter().zip(done).zip(oracle.run(&jobs)) {
        let seen = conflicts::see(&case.store()).await;
        let compared = read.and_then(|_| {
            let expected = serial.expected(case, *done)?;
            let (schema, batches) = stream::try_read(&to(case))?;
            same::check_schema(&schema, &expected.rows.schema())?;
            let theirs = conflicts::by_id(&same::whole(&schema, &batches)?);
            same::check(&theirs, &expected.rows)
                .map_err(|error| format!("read by the reference: {error}"))?;
            match seen.check(expected) {
                Err(error) if !case.loses_metadata() => Err(error),
                _ => Ok(()),
            }
        });
        wrong.extend(compared.err().map(|error| format!("{}: {error}", case.what())));
    }
    wrong
}

#[test]
fn after_the_reference() {
    let Some(oracle) = Oracle::find("conflicts with changes by the reference") else { return };
    ours::run(async {
        we_come_second(&oracle, false).await;
        we_come_second(&oracle, true).await;
    });
}

async fn we_come_second(oracle: &Oracle, stable_row_ids: bool) {
    let place = tempfile::tempdir().unwrap();
    let base = Base::new(stable_row_ids).await;
    let mut cases = cases(&base, place.path()).await;
    // What is not about rows has nothing to do with their ids.
    cases.retain(|case| !stable_row_ids || case.is_about_rows());
    let serial = Serial::of(&base, &cases).await;
    let jobs = cases.iter().map(|case| case.job(case.first, 0)).collect::<Vec<_>>();
    let (mut wrong, mut done) = (vec![], vec![]);
    for (case, first) in cases.iter().zip(oracle.run(&jobs)) {
        first.unwrap_or_else(|error| panic!("{}: {error}", name(case.first)));
        let (change, theirs) = (CHANGES[case.second].0, CHANGES[case.first].0);
        let outcome = conflicts::run(change, &conflicts::open(case.store()).await, 10).await;
        let letter = match change.name {
            // What is to be restored is put after all that there is.
            "restore" => 'k',
            // A cast by the reference says that appended values go together with it. They do, since there are none of that
            // column; see `appended_values_are_not_lost`.
            "append" if theirs.name == "cast column" => 'k',
            _ => conflicts::letter(case.second, case.first),
        };
        let again = !matches!(change.name, "append" | "overwrite");
        let right = match (&outcome, letter) {
            (Outcome::Done, 'k') => true,
            (Outcome::Done, 'r') => again,
            (Outcome::Refused(TableError::Conflict { theirs: other, retryable, .. }), letter) => {
                *other == theirs.operation && *retryable == (letter == 'r') && !(letter == 'r' && again)
            }
            // What it is worked out from is not there any more, or what it makes is there already.
            (Outcome::Refused(error), 'r') => {
                again && serial.both[&(case.first, case.second)].as_ref().err() == Some(&error.to_string())
            }
            _ => false,
        };
        if !right {
            wrong.push(format!("{}: {letter} is expected: {outcome:?}", case.what()));
        }
        done.push(matches!(outcome, Outcome::Done));
    }
    wrong.extend(compare(oracle, &cases, &done, &serial).await);
    ours::none_wrong(wrong);
}

#[test]
fn before_the_reference() {
    let Some(oracle) = Oracle::find("conflicts of the reference with our changes") else { return };
    ours::run(async {
        the_reference_comes_second(&oracle, 10, false).await;
        the_reference_comes_second(&oracle, 0, false).await;
        the_reference_comes_second(&oracle, 10, true).await;
    });
}

async fn the_reference_comes_second(oracle: &Oracle, retries: u32, stable_row_ids: bool) {
    let place = tempfile::tempdir().unwrap();
    let base = Base::new(stable_row_ids).await;
    let mut cases = cases(&base, place.path()).await;
    // What is not about rows it works out once in any case, and it has nothing to do with their ids.
    cases.retain(|case| (retries > 0 && !stable_row_ids) || case.is_about_rows());
    let serial = Serial::of(&base, &cases).await;
    for case in &cases {
        let table = conflicts::open(case.store()).await;
        conflicts::run(CHANGES[case.first].0, &table, 10).await.expect_done();
    }
    let jobs = cases.iter().map(|case| case.job(case.second, retries)).collect::<Vec<_>>();
    let (mut wrong, mut done) = (vec![], vec![]);
    for (case, result) in cases.iter().zip(oracle.run(&jobs)) {
        let letter = case.letter_of_the_reference();
        let again = retries > 0 && case.is_about_rows();
        let right = match (&result, letter) {
            (Ok(_), 'k') => true,
            (Ok(_), 'r') => again,
            (Err(error), 'r') if retries == 0 => error.contains("Too many concurrent writers"),
            (Err(error), 'r') => error.contains("Retryable commit conflict") && !again,
            (Err(error), 'x') => error.contains("Incompatible transaction"),
            _ => false,
        };
        if !right {
            wrong.push(format!("{}, {retries} retries: {letter} is expected: {result:?}", case.what()));
        }
        done.push(result.is_ok());
    }
    wrong.extend(compare(oracle, &cases, &done, &serial).await);
    ours::none_wrong(wrong);
}

/// A cast gives a column another field, and the reference says of it that appended rows need not be looked at again; but
/// whoever appends from before it has values of the old one.
#[test]
fn appended_values_are_not_lost() {
    let Some(oracle) = Oracle::find("appending after a cast by the reference") else { return };
    let place = tempfile::tempdir().unwrap();
    let store = Store::local(place.path()).durable(false);
    let table = ours::run(async {
        Base::new(false).await.copy_to(&store).await;
        conflicts::open(store.clone()).await
    });
    oracle.one(json!({"do": "change", "path": place.path(), "name": "cast column"}));
    let options = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    let error = ours::run(table.write_after(conflicts::rows(100..105).into(), options)).unwrap_err();
    let is_conflict = matches!(error, TableError::Conflict { theirs: "add columns", retryable: true, .. });
    assert!(is_conflict, "{error}");
    assert_eq!(ours::run(conflicts::see(&store)).rows.num_rows(), 27);
}

/// An index that the reference makes meanwhile changes no row, and stays right: what it finds is what is there.
#[test]
fn after_an_index_of_the_reference() {
    let Some(oracle) = Oracle::find("changes after an index by the reference") else { return };
    let place = tempfile::tempdir().unwrap();
    let wrong = ours::run(async {
        let base = Base::new(false).await;
        let (mut paths, mut jobs, mut reads, mut wrong) = (vec![], vec![], vec![], vec![]);
        for number in 0..CHANGES.len() {
            let path = place.path().join(number.to_string());
            base.copy_to(&Store::local(&path).durable(false)).await;
            jobs.push(json!({"do": "create_index", "path": path, "column": "score"}));
            let to = path.with_extension("arrow");
            reads.push(json!({"do": "read_table", "path": path, "to": to, "where": "score >= 100"}));
            paths.push(path);
        }
        assert!(oracle.run(&jobs).iter().all(Result::is_ok));
        for ((change, _), path) in CHANGES.iter().zip(&paths) {
            let table = conflicts::open(Store::local(path).durable(false)).await;
            conflicts::run(*change, &table, 10).await.expect_done();
        }
        let serial = Serial::of(&base, &[]).await;
        let found = oracle.run(&reads);
        for ((((change, _), path), read), expected) in CHANGES.iter().zip(&paths).zip(found).zip(&serial.one)
        {
            let seen = conflicts::see(&Store::local(path).durable(false)).await;
            let compared = seen.check(expected).and(read).and_then(|_| {
                let (schema, batches) = stream::try_read(&path.with_extension("arrow"))?;
                let found = conflicts::by_id(&same::whole(&schema, &batches)?);
                let scores = expected.rows.column_by_name("score").unwrap().as_primitive::<Int64Type>();
                let passing = (0..scores.len() as u64).filter(|row| scores.value(*row as usize) >= 100);
                same::check(&found, &same::rows_at(&expected.rows, &passing.collect::<Vec<_>>()))
            });
            wrong.extend(compared.err().map(|error| format!("{} after an index: {error}", change.name)));
        }
        wrong
    });
    ours::none_wrong(wrong);
}
