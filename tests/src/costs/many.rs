//! Times on tables of many fragments on the local disk, warm.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use demilance::table::{OpenOptions, Table};
use demilance::{Dataset, WriteOptions};
use lance_io::Store;
use serde_json::json;

use super::rows;
use crate::oracle::Oracle;

/// How many fragments of how many rows.
const FRAGMENTS: i64 = 10_000;
const ROWS: i64 = 10;

/// Prints a line for each kind of table: how long it takes to open it, to append to it, and to take 256 rows.
pub async fn print() {
    let oracle = Oracle::find("the time that the reference takes");
    println!(
        "{:34} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "ms, 10,000 fragments", "manifest", "open", "theirs", "append", "take 256", "again", "all open"
    );
    for stable_row_ids in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let store = Store::local(place.path()).durable(false);
        let options =
            WriteOptions { max_rows_per_fragment: ROWS as u64, stable_row_ids, ..Default::default() };
        let table = Dataset::write_to(store.clone(), rows(0, FRAGMENTS * ROWS), options).await.unwrap();
        let ids = if stable_row_ids { ", stable ids" } else { "" };
        line(&format!("as they were written{ids}"), place.path(), &oracle).await;
        let table: Dataset = table.delete(&format!("id % {ROWS} = 3")).await.unwrap().table.into();
        line(&format!("with deletion files{ids}"), place.path(), &oracle).await;
        let table = table.add_expression("half", "id / 2").await.unwrap();
        table.add_expression("twice", "id * 2").await.unwrap();
        line(&format!("and three files each{ids}"), place.path(), &oracle).await;
    }
}

async fn line(what: &str, place: &Path, oracle: &Option<Oracle>) {
    let store = Store::local(place).durable(false);
    let (mut opened, mut appended, mut first, mut again, mut unbounded) =
        (vec![], vec![], vec![], vec![], vec![]);
    let mut open = async |options: OpenOptions| {
        let start = Instant::now();
        let table = Table::open_with(store.clone(), options).await.unwrap();
        opened.push(start.elapsed());
        table
    };
    for _ in 0..9 {
        drop(open(OpenOptions::default()).await);
    }
    let names = store.list("_versions").await.unwrap();
    let newest = names.iter().find(|listed| listed.name.ends_with(".manifest")).unwrap();
    let bytes = newest.size;
    let theirs = oracle.as_ref().map(|oracle| {
        let answer = oracle.one(json!({"do": "time_open", "path": place, "times": 10}));
        Duration::from_secs_f64(answer.as_f64().unwrap())
    });
    // As many files as there are may stay open.
    let all = NonZeroUsize::new(1_000_000).unwrap();
    for (open_files, times) in [(OpenOptions::default().open_files, &mut again), (all, &mut unbounded)] {
        let table = open(OpenOptions { open_files, ..Default::default() }).await;
        for turn in 0..24 {
            // The same 2,048 rows three times.
            let rows = (0..256).map(|row| ((turn % 8) * 256 + row) * 7919 % table.rows()).collect::<Vec<_>>();
            let start = Instant::now();
            table.take(&rows, None, false).await.unwrap();
            match turn {
                0..8 => first.push(start.elapsed()),
                _ => times.push(start.elapsed()),
            }
        }
    }
    for turn in 0..5 {
        let table: Dataset = open(OpenOptions::default()).await.into();
        let start = Instant::now();
        table.append(rows((FRAGMENTS + turn) * ROWS, ROWS)).await.unwrap();
        appended.push(start.elapsed());
    }
    let ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
    println!(
        "{what:34} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        format!("{:.1} MB", bytes as f64 / 1e6),
        ms(median(opened)),
        theirs.map_or("-".into(), ms),
        ms(median(appended)),
        ms(median(first)),
        ms(median(again)),
        ms(median(unbounded))
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
