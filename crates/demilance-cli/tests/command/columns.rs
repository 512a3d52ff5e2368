use crate::run::{Outcome, Place, rows, write_parquet};

/// 130 rows in fragments of 40: `id` counts, `text` is `text N` or null, `both` has the member `x`.
fn table() -> Place {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 130));
    place.ok("import a.parquet t.lance --max-rows-per-fragment 40");
    place
}

fn csv(place: &Place, columns: &str, rows: &str) -> String {
    place.ok(&format!("cat t.lance --columns {columns} --rows {rows} --format csv"))
}

fn failed(outcome: &Outcome, code: i32, text: &str) {
    assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
}

#[test]
fn columns_are_added() {
    let place = table();
    let outcome = place.call(["add-column", "t.lance", "--name", "twice", "--expr", "id * 2"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let text = outcome.text();
    assert!(text.starts_with("t.lance: version 2, 130 rows\n+ twice int64\nwrote 4 data files ("), "{text}");
    assert!(text.contains("left untouched 4 files"), "{text}");
    assert_eq!(csv(&place, "id,twice", "3,129"), "id,twice\n3,6\n129,258\n");

    let text = place.ok("add-column t.lance --name vector --null fixed_size_list<float>[4]");
    assert!(
        text.contains("+ vector fixed_size_list:float:4\nwrote no data; left untouched 8 files"),
        "{text}"
    );
    place.ok("add-column t.lance --name both.y --null int8");

    let scores = (0..130).map(|row| format!("{row},{}\n", row * row)).collect::<String>();
    place.write("scores.csv", &format!("number,square\n{scores}"));
    let text = place.ok("add-column t.lance --from scores.csv --name square");
    assert!(text.contains("version 5, 130 rows\n+ square int64\nwrote 4 data files"), "{text}");
    assert_eq!(csv(&place, "square", "11"), "square\n121\n");

    place.write("labels.csv", "id,label\n7,grasp\n129,lift\n5000,none\n");
    let text = place.ok("add-column t.lance --from labels.csv --on id");
    assert!(text.contains("+ label string"), "{text}");
    assert_eq!(csv(&place, "label", "7,8,129"), "label\ngrasp\n\"\"\nlift\n");
    assert_eq!(place.ok("count t.lance --where id>=0"), "130\n");
}

#[test]
fn columns_are_dropped_renamed_and_cast() {
    let place = table();
    let text = place.ok("rename-column t.lance both.x forward");
    assert!(text.contains("  both.x int64 is both.forward int64\nwrote no data"), "{text}");
    let text = place.ok("cast-column t.lance id int16");
    assert!(text.contains("- id int64 not null\n+ id int16 not null\nwrote 4 data files"), "{text}");
    assert_eq!(csv(&place, "id,both.forward", "128"), "id,both\n128,\"{\"\"forward\"\":128}\"\n");
    failed(
        &place.call(["cast-column", "t.lance", "id", "int8"]),
        1,
        "t.lance: column \"id\", row 128: 128 does not fit Int8",
    );
    failed(&place.call(["cast-column", "t.lance", "text", "int8"]), 1, "row 0: text 0 does not fit Int8");
    place.ok("cast-column t.lance text int8 --misfits null");
    assert_eq!(csv(&place, "text", "0"), "text\n\"\"\n");
    let text = place.ok("drop-column t.lance text image both.forward");
    assert!(text.contains("- text int8\n") && text.contains("- both struct\n"), "{text}");
    failed(&place.call(["drop-column", "t.lance", "id", "list", "state"]), 1, "all of them");
    assert_eq!(place.ok("cat t.lance --rows 1 --format csv").lines().next(), Some("id,list,state"));
}

#[test]
fn pairs_are_printed_and_changed() {
    let place = table();
    assert_eq!(place.ok("config t.lance"), "");
    let text = place.ok("config t.lance --set b=1 --set a=x=y");
    assert_eq!(text, "t.lance: version 2; wrote no data\na=x=y\nb=1\n");
    assert_eq!(place.ok("config t.lance --unset b"), "t.lance: version 3; wrote no data\na=x=y\n");
    place.ok("config t.lance --metadata --set owner=lab");
    place.ok("config t.lance --schema --set robot=g1");
    place.ok("config t.lance --field both.x --set unit=m");
    assert_eq!(place.ok("config t.lance"), "a=x=y\n");
    assert_eq!(place.ok("config t.lance --metadata"), "owner=lab\n");
    assert_eq!(place.ok("config t.lance --schema"), "robot=g1\n");
    assert_eq!(place.ok("config t.lance --field both.x"), "unit=m\n");
    failed(&place.call(["config", "t.lance", "--set", "a"]), 2, "it is no KEY=VALUE");
    let error = place.error("config t.lance --field nose --set a=b");
    assert!(error.contains("t.lance: column \"nose\": no field \"nose\"; there are: id, text"), "{error}");
}

#[test]
fn wrong_calls_are_told() {
    let place = table();
    place.write("short.csv", "a\n1\n2\n");
    place.write("twice.csv", "id,a\n1,1\n1,2\n");
    for (words, text) in [
        ("add-column t.lance --name id --expr 1", "t.lance: there is a column \"id\" already"),
        ("add-column t.lance --name q --expr di+1", "no column di; did you mean id?"),
        ("add-column t.lance --from short.csv", "t.lance: the new columns have 2 rows, fewer than the table"),
        ("add-column t.lance --from short.csv --name b", "short.csv has no column \"b\"; there are: a"),
        (
            "add-column t.lance --from short.csv --on id",
            "the key \"id\" is not among the columns to be added",
        ),
        ("add-column t.lance --from twice.csv --on id", "the same \"id\", 1"),
        ("add-column t.lance --from none.csv", "none.csv"),
        ("add-column none.lance --name a --null int8", "none.lance: no such table or file"),
        ("rename-column t.lance id text", "there is a column of that name"),
        ("cast-column t.lance id int64", "is of type Int64 already"),
    ] {
        let error = place.error(words);
        assert!(error.contains(text), "{words}: {error}");
    }
    for (words, text) in [
        ("add-column t.lance --name a", "--expr"),
        ("add-column t.lance --expr 1", "--name"),
        ("add-column t.lance --name a --expr 1 --null int8", "cannot be used with"),
        ("add-column t.lance --name a --null flaot", "no type \"flaot\""),
        ("cast-column t.lance id", "TYPE"),
        ("drop-column t.lance", "NAME"),
    ] {
        failed(&place.call(words.split_whitespace()), 2, text);
    }
    // The table is as it was.
    assert!(place.ok("info t.lance").contains("130"));
    assert_eq!(std::fs::read_dir(place.path("t.lance/data")).unwrap().count(), 4);
}
