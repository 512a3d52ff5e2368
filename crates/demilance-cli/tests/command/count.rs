use crate::run::{Place, rows, write_parquet};

/// 130 rows: `id` counts, `text` is `text N`.
fn table() -> Place {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 130));
    place.ok("import a.parquet t.lance --max-rows-per-fragment 40");
    place
}

fn filtered(place: &Place, command: &str, filter: &str, more: &[&str]) -> String {
    let outcome = place.call([command, "t.lance", "--where", filter].iter().chain(more));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{filter}");
    outcome.text()
}

#[test]
fn rows_are_counted() {
    let place = table();
    assert_eq!(place.ok("count t.lance"), "130\n");
    for (filter, count) in [
        ("true", 130),
        ("id >= 100", 30),
        ("id % 2 = 0 AND text LIKE 'text 1%'", 16),
        ("both.x = 6 OR array_length(list) = 0", 34),
        ("id > 1000", 0),
    ] {
        let counted: u64 = filtered(&place, "count", filter, &[]).trim().parse().unwrap();
        let shown = filtered(&place, "cat", filter, &["--columns", "id", "--format", "csv"]);
        assert_eq!(shown.lines().count() as u64, counted + 1, "{filter}");
        assert_eq!(counted, count, "{filter}");
    }
    let file = std::fs::read_dir(place.path("t.lance/data")).unwrap().next().unwrap().unwrap().path();
    assert!(["40\n", "10\n"].contains(&place.ok(&format!("count {}", file.display())).as_str()));
    let error = place.error(&format!("count {} --where true", file.display()));
    assert!(error.contains("only tables can be filtered"), "{error}");
}

#[test]
fn filtered_rows_are_shown() {
    let place = table();
    let csv = ["--columns", "text", "--format", "csv", "--offset", "1", "--limit", "2"];
    assert_eq!(filtered(&place, "cat", "id % 50 = 7", &csv), "text\ntext 57\ntext 107\n");
    let json = ["--columns", "id", "--with-row-id", "--format", "json"];
    let expected = format!("{{\"id\":40,\"_rowid\":{}}}\n", 1_u64 << 32);
    assert_eq!(filtered(&place, "cat", "_rowid = 4294967296", &json), expected);
    // What a terminal has no room for.
    let text = filtered(&place, "cat", "id >= 20", &["--columns", "id"]);
    assert!(text.ends_with("… more rows (--limit N shows more)\n"), "{text}");
    let text = filtered(&place, "cat", "id >= 30", &["--columns", "id"]);
    assert_eq!(text.lines().count(), 2 + 100);
}

#[test]
fn broken_filters_are_one_line() {
    let place = table();
    let outcome = place.call(["count", "t.lance", "--where", "id = "]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("at the end of the expression"), "{}", outcome.stderr);
    let outcome = place.call(["cat", "t.lance", "--where", "txet = 'a'"]);
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(1), 1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("t.lance: no column txet; did you mean text?"), "{}", outcome.stderr);
    let outcome = place.call(["cat", "t.lance", "--where", "true", "--rows", "1"]);
    assert_eq!(outcome.code, Some(2));
}
