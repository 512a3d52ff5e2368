use crate::run::{Place, rows, write_parquet};

/// 130 rows in four fragments: `id` counts, `text` is `text N`.
fn table() -> Place {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 130));
    place.ok("import a.parquet t.lance --max-rows-per-fragment 40");
    place
}

fn ok(place: &Place, arguments: &[&str]) -> String {
    let outcome = place.call(arguments);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    outcome.text()
}

fn ids(place: &Place, filter: &str) -> String {
    let text = ok(place, &["cat", "t.lance", "--where", filter, "--columns", "id,text", "--format", "csv"]);
    text.lines().skip(1).collect::<Vec<_>>().join(" ")
}

#[test]
fn rows_are_deleted() {
    let place = table();
    let text = ok(&place, &["delete", "t.lance", "--where", "id < 45 OR id = 125", "--dry-run"]);
    assert_eq!(text, "t.lance: would delete 46 of 130 rows\n");
    let text = ok(&place, &["delete", "t.lance", "--where", "id < 45 OR id = 125"]);
    let lines = text.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "t.lance: deleted 46 rows; version 2 has 84 rows");
    assert!(lines[1].starts_with("wrote 2 deletion files ("), "{text}");
    assert!(
        lines[1].contains("; does without 1 data file (") && lines[1].contains("left untouched 3 files ("),
        "{text}"
    );
    assert_eq!(ids(&place, "id BETWEEN 43 AND 46"), "45,text 45 46,text 46");
    assert_eq!(place.ok("count t.lance --version 1"), "130\n");
    let text = ok(&place, &["delete", "t.lance", "--where", "id < 0"]);
    assert!(
        text.starts_with(
            "t.lance: deleted 0 rows; version 3 has 84 rows\nwrote no data; left untouched 5 files"
        ),
        "{text}"
    );
    assert_eq!(place.call(["delete", "t.lance"]).code, Some(2));
    assert!(place.error("delete t.lance --where ids=3").contains("did you mean id?"));
    place.ok("verify t.lance");
}

#[test]
fn rows_are_updated() {
    let place = table();
    let set = ["--set", "text = concat('new ', CAST(id AS STRING))", "--set", "both.x=id - 1"];
    let text = ok(&place, &[&["update", "t.lance", "--where", "id % 50 = 7"][..], &set].concat());
    let lines = text.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "t.lance: updated 3 rows; version 2 has 130 rows");
    assert!(
        lines[1].starts_with("wrote 1 data file (") && lines[1].contains(", 3 rows), 3 deletion files ("),
        "{text}"
    );
    assert!(lines[1].ends_with(')') && lines[1].contains("left untouched 4 files ("), "{text}");
    assert_eq!(ids(&place, "both.x % 50 = 6 AND id % 2 = 1"), "7,new 7 57,new 57 107,new 107");
    let outcome = place.call(["update", "t.lance", "--where", "true", "--set", "id=NULL"]);
    assert!(
        outcome.code == Some(1) && outcome.stderr.contains("\"id\" must not be null"),
        "{}",
        outcome.stderr
    );
    assert_eq!(place.call(["update", "t.lance", "--where", "true"]).code, Some(2));
    assert_eq!(place.call(["update", "t.lance", "--where", "true", "--set", "id"]).code, Some(2));
    assert_eq!(place.ok("versions t.lance").lines().count(), 3);
    place.ok("verify t.lance");
}

#[test]
fn rows_of_files_are_upserted() {
    let place = table();
    place.write("more.csv", "text,id\nnew 5,5\nnew 500,500\n,6\n");
    let text = place.ok("upsert t.lance --on id more.csv");
    let lines = text.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "t.lance: updated 2 rows, added 1, deleted 0; version 2 has 131 rows");
    assert!(lines[1].starts_with("wrote 1 data file (") && lines[1].contains("1 deletion file ("), "{text}");
    assert_eq!(ids(&place, "id IN (5, 6, 500)"), "5,new 5 6, 500,new 500");
    // Other columns are as they were, or null.
    assert_eq!(ids(&place, "id IN (6, 500) AND both.x = 6"), "6,");
    assert_eq!(ids(&place, "state IS NULL"), "500,new 500");

    place.write("few.jsonl", "{\"id\": 1}\n{\"id\": 900}\n");
    let text = place.ok("upsert t.lance --on id few.jsonl --when-not-matched skip --when-matched keep --when-not-matched-by-source delete");
    assert!(
        text.starts_with("t.lance: updated 0 rows, added 0, deleted 130; version 3 has 1 row\n"),
        "{text}"
    );
    assert_eq!(ids(&place, "true"), "1,text 1");
    let text = place.ok("upsert t.lance --on id more.csv --when-matched keep --when-not-matched skip --when-not-matched-by-source delete");
    assert!(
        text.starts_with("t.lance: updated 0 rows, added 0, deleted 1; version 4 has 0 rows\n"),
        "{text}"
    );

    place.write("twice.csv", "id\n1\n1\n");
    assert!(place.error("upsert t.lance --on id twice.csv").contains("same key: id = 1"));
    place.write("other.csv", "id,txet\n1,a\n");
    assert!(
        place
            .error("upsert t.lance --on id other.csv")
            .contains("\"txet\" is not in t.lance, which has: id, text")
    );
    assert!(place.error("upsert t.lance --on text few.jsonl").contains("\"text\" is not among the columns"));
    assert_eq!(place.call(["upsert", "t.lance", "few.jsonl"]).code, Some(2));
    for words in [
        "--when-matched keep --when-not-matched skip",
        "--when-matched keep --update-if true",
        "--delete-if true",
    ] {
        let words = format!("upsert t.lance --on id few.jsonl {words}");
        assert_eq!(place.call(words.split_whitespace()).code, Some(2), "{words}");
    }
    let nothing = place.call(["upsert", "t.lance", "--on", "id", "few.jsonl", "--when-matched", "skip"]);
    assert_eq!(nothing.code, Some(2));
    place.ok("verify t.lance");
}
