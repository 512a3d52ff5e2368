use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, RecordBatch, StructArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field};

use crate::run::{Place, assert_same, json, read_arrow, read_parquet, rows, write_arrow, write_parquet};

fn table(count: i64) -> Place {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, count));
    place.ok("import a.parquet t.lance --max-rows-per-fragment 40");
    place
}

/// The ids that were printed as CSV.
fn ids(text: &str) -> Vec<i64> {
    text.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn rows_keep_order_and_duplicates() {
    let place = table(100);
    let text = place.ok("cat t.lance --columns id --rows 3,10-20,5,3,99 --format csv");
    let expected: Vec<i64> = [3].into_iter().chain(10..=20).chain([5, 3, 99]).collect();
    assert_eq!(ids(&text), expected);
    let text = place.ok("cat t.lance --columns id --rows 3,10-20,5,3,99 --format csv --offset 2 --limit 3");
    assert_eq!(ids(&text), [11, 12, 13]);
    let all = place.ok("cat t.lance --rows 0-99 --format json");
    assert_eq!(all, json(&rows(0, 100)));
}

#[test]
fn limit_and_offset_cut() {
    let place = table(100);
    let text = place.ok("cat t.lance --columns id --format csv --offset 38 --limit 5");
    assert_eq!(ids(&text), [38, 39, 40, 41, 42]);
    assert_eq!(ids(&place.ok("cat t.lance --columns id --format csv --offset 1000")), [0i64; 0]);
    assert_eq!(ids(&place.ok("cat t.lance --columns id --format csv --limit 0")), [0i64; 0]);
}

#[test]
fn formats_say_the_same() {
    let place = table(100);
    let expected = rows(0, 100);
    assert_eq!(place.ok("cat t.lance --format json"), json(&expected));
    for (format, name) in [("arrow", "a"), ("parquet", "p")] {
        let outcome = place.call(["cat", "t.lance", "--format", format]);
        assert_eq!(outcome.code, Some(0));
        std::fs::write(place.path(name), outcome.stdout).unwrap();
    }
    assert_same(&read_arrow(&place.path("a")), &expected);
    assert_same(&read_parquet(&place.path("p")), &expected);
    let csv = place.ok("cat t.lance --format csv --limit 2 --columns id,text,list,both");
    assert_eq!(csv, "id,text,list,both\n0,text 0,[],\"{\"\"x\"\":0}\"\n1,text 1,,\"{\"\"x\"\":null}\"\n");
}

#[test]
fn dictionaries_of_several_fragments_go_to_every_format() {
    let place = Place::new();
    let column = |texts: [&'static str; 2]| -> ArrayRef {
        Arc::new(texts.into_iter().map(Some).collect::<DictionaryArray<Int8Type>>())
    };
    for (texts, mode) in [(["a", "b"], "create"), (["c", "a"], "append")] {
        let item = Arc::new(Field::new("inner", column(texts).data_type().clone(), true));
        let inside = StructArray::from(vec![(item, column(texts))]);
        let columns = [("d", column(texts)), ("s", Arc::new(inside) as ArrayRef)];
        write_arrow(&place.path("d.arrow"), &RecordBatch::try_from_iter(columns).unwrap());
        place.ok(&format!("import d.arrow t.lance --mode {mode}"));
    }
    let expected = ["a", "b", "c", "a"];
    let csv: String =
        expected.iter().map(|text| format!("{text},\"{{\"\"inner\"\":\"\"{text}\"\"}}\"\n")).collect();
    assert_eq!(place.ok("cat t.lance --format csv"), format!("d,s\n{csv}"));
    place.ok("cat t.lance -o a.arrow");
    place.ok("cat t.lance -o p.parquet");
    for batches in [read_arrow(&place.path("a.arrow")), read_parquet(&place.path("p.parquet"))] {
        let texts = |column: &ArrayRef| cast(column, &DataType::Utf8).unwrap().as_string::<i32>().clone();
        let outside = batches.iter().map(|batch| texts(batch.column(0)));
        let inside = batches.iter().map(|batch| texts(batch.column(1).as_struct().column(0)));
        for found in [outside.collect::<Vec<_>>(), inside.collect()] {
            assert_eq!(found.iter().flatten().flatten().collect::<Vec<_>>(), expected);
        }
    }
    // What was written can be added again.
    place.ok("import a.arrow p.parquet t.lance --mode append");
    let again = place.ok("cat t.lance --columns d --format csv --offset 4");
    assert_eq!(again, format!("d\n{0}\n{0}\n", expected.join("\n")));
}

#[test]
fn a_terminal_shows_a_hundred_rows() {
    let place = table(130);
    let text = place.ok("cat t.lance");
    assert_eq!(text.lines().count(), 2 + 100 + 1);
    assert!(text.ends_with("… 30 more rows (--limit N shows more)\n"), "{text}");
    assert_eq!(place.ok("cat t.lance --limit 120").lines().count(), 2 + 120);
    assert_eq!(place.ok("cat t.lance --rows 0-119").lines().count(), 2 + 120);
    let line = place.ok("cat t.lance --rows 20 --columns image,state,text");
    assert!(line.contains("<43 B>") && line.contains("[20.0, 0.5]") && line.contains("text 20"), "{line}");
}

#[test]
fn columns_are_read_in_the_order_asked_and_from_inside_structs() {
    let place = table(5);
    let text = place.ok("cat t.lance --columns text,both.x,id --rows 2 --format json");
    assert_eq!(text, "{\"text\":\"text 2\",\"both\":{\"x\":2},\"id\":2}\n");
}

#[test]
fn row_ids_are_a_column() {
    let place = table(50);
    let text = place.ok("cat t.lance --columns id --with-row-id --rows 0,39,40 --format csv");
    // The second fragment starts at 40; ids are addresses.
    assert_eq!(text, format!("id,_rowid\n0,0\n39,39\n40,{}\n", 1u64 << 32));
    let text = place.ok("cat t.lance --columns id --with-row-id --offset 39 --limit 2 --format csv");
    assert_eq!(text, format!("id,_rowid\n39,39\n40,{}\n", 1u64 << 32));
}

#[test]
fn one_file_is_read_like_a_table() {
    let place = table(30);
    let file = std::fs::read_dir(place.path("t.lance/data")).unwrap().next().unwrap().unwrap().path();
    let file = file.display();
    assert_eq!(place.ok(&format!("cat {file} --format json")), json(&rows(0, 30)));
    assert_eq!(place.ok(&format!("cat file://{file} --format json")), json(&rows(0, 30)));
    let text = place.ok(&format!("cat {file} --columns id --rows 7,7,1-2 --format csv"));
    assert_eq!(ids(&text), [7, 7, 1, 2]);
    let error = place.error(&format!("cat {file} --version 1"));
    assert!(error.contains("only tables have versions"), "{error}");
}

#[test]
fn urls_name_tables() {
    let place = table(10);
    let url = format!("file://{}", place.path("t.lance").display());
    assert_eq!(place.ok(&format!("cat {url} --format json")), json(&rows(0, 10)));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = table(5000);
    for format in ["json", "csv", "table", "arrow"] {
        let mut command = place.command();
        command.args(["cat", "t.lance", "--limit", "5000", "--format", format]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = Vec::new();
        BufReader::new(child.stdout.take().unwrap()).read_until(b'\n', &mut first).unwrap();
        let outcome = child.wait_with_output().unwrap();
        assert!(outcome.status.success(), "{format}: {outcome:?}");
        assert!(outcome.stderr.is_empty(), "{format}: {outcome:?}");
    }
}
