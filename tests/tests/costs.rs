//! Requests that steps on tables take: as many as the README says, and no more when a table has many versions or fragments.

use std::fmt::Write;

use demilance::{Dataset, WriteOptions};
use demilance_tests::costs::{self, Cost};
use demilance_tests::ours;
use lance_io::Store;

#[test]
fn the_readme_has_what_steps_cost() {
    let readme = std::fs::read_to_string(demilance_tests::package().join("../README.md")).unwrap();
    let mut wrong = String::new();
    ours::run(async {
        let [small, large] = costs::SHAPES;
        let (few, many) = (costs::make(small).await, costs::make(large).await);
        for step in costs::STEPS {
            let few = costs::measure(step, small, &few).await;
            let many = costs::measure(step, large, &many).await;
            let measured = costs::line(step, &few, &many);
            let found = readme.lines().find(|line| line.starts_with(&format!("| {step} |")));
            if !found.is_some_and(|found| same(found, &measured)) {
                writeln!(wrong, "{}\n  instead of\n{measured}", found.unwrap_or("nothing")).unwrap();
            }
        }
    });
    assert!(wrong.is_empty(), "the README has\n{wrong}");
}

/// Whether two lines have the same requests, and about as many bytes: ids are random, and numbers of as many bytes as they need.
fn same(one: &str, other: &str) -> bool {
    let cells = one.split('|').zip(other.split('|'));
    let same = |one: &str, other: &str| match (one.trim().parse::<f64>(), other.trim().parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= (other / 50.0).max(0.2),
        _ => one == other,
    };
    one.split('|').count() == other.split('|').count()
        && cells.into_iter().all(|(one, other)| same(one, other))
}

/// One row after another, each a version and a fragment more.
#[test]
fn opening_and_appending_do_not_grow_with_versions() {
    ours::run(async {
        let (counted, counts) = Store::memory().counted();
        let row = |number: i64| costs::rows(number, 1);
        let mut table = Dataset::write_to(counted.clone(), row(0), WriteOptions::default()).await.unwrap();
        let (mut appended, mut opened) = (vec![], vec![]);
        while table.version() < 1_000 {
            Cost::of(&counts);
            let version = table.version();
            table = table.append(row(version as i64)).await.unwrap();
            let cost = Cost::of(&counts);
            if [9, 99, 999].contains(&version) {
                appended.push(cost.requests());
                let latest = costs::open(&counted).await;
                assert_eq!((latest.version(), latest.count_rows()), (version + 1, version + 1));
                opened.push(Cost::of(&counts).requests());
            }
        }
        // A listing and a manifest; and the data file, the transaction and the next manifest.
        assert_eq!(opened, [[1, 1, 0, 0, 0]; 3]);
        assert_eq!(appended, [[1, 1, 0, 3, 0]; 3]);
    });
}
