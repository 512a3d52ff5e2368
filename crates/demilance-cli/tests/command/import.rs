use std::process::Stdio;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StructArray};
use arrow_schema::{DataType, Field};

use crate::run::{
    Place, assert_same, json, read_arrow, rows, write_arrow, write_arrow_stream, write_parquet,
};

#[test]
fn binary_sources_come_back_the_same() {
    let place = Place::new();
    let batch = rows(0, 300);
    write_parquet(&place.path("a.parquet"), &batch);
    write_arrow(&place.path("a.arrow"), &batch);
    write_arrow(&place.path("a.feather"), &batch);
    write_arrow_stream(&place.path("b.arrow"), &batch);
    for (source, table) in [("a.parquet", "p"), ("a.arrow", "a"), ("a.feather", "f"), ("b.arrow", "s")] {
        for version in ["2.0", "2.1", "2.2"] {
            let table = format!("{table}{version}.lance");
            let line = place.ok(&format!("import {source} {table} --file-version {version}"));
            assert!(line.starts_with(&format!("{table}: 300 rows in 1 fragment, 1 file, ")), "{line}");
            assert!(line.ends_with("version 1\n"), "{line}");
            place.ok(&format!("cat {table} -o {table}.arrow"));
            assert_same(&read_arrow(&place.path(&format!("{table}.arrow"))), &batch);
        }
    }
}

#[test]
fn maps_come_back_the_same() {
    let place = Place::new();
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..300 {
        for entry in 0..row % 4 {
            maps.keys().append_value(format!("key {entry}"));
            maps.values().append_option((entry != 1).then_some(row));
        }
        maps.append(row % 7 != 3).unwrap();
    }
    let maps: ArrayRef = Arc::new(maps.finish());
    let batch = RecordBatch::try_from_iter_with_nullable([("m", maps, true)]).unwrap();
    write_parquet(&place.path("a.parquet"), &batch);
    write_arrow(&place.path("a.arrow"), &batch);
    for source in ["a.parquet", "a.arrow"] {
        place.ok(&format!("import {source} {source}.lance"));
        place.ok(&format!("cat {source}.lance -o {source}.back.arrow"));
        let back = read_arrow(&place.path(&format!("{source}.back.arrow")));
        let texts = place.ok(&format!("cat {source}.lance --format csv --rows 2,3,4"));
        assert_eq!(texts, "m\n\"{\"\"key 0\"\":2,\"\"key 1\"\":null}\"\n\"\"\n{}\n");
        assert_eq!(back.iter().map(RecordBatch::num_rows).sum::<usize>(), 300);
        place.ok(&format!("cat {source}.lance -o {source}.back.parquet"));
        place.ok(&format!("import {source}.back.parquet {source}.lance --mode append"));
        let all = place.ok(&format!("cat {source}.lance --format json"));
        let (first, second) = all.split_at(all.len() / 2);
        assert_eq!(first, second);
    }
    // Files before version 2.2 have no maps.
    let refused = place.call(["import", "a.parquet", "old.lance", "--file-version", "2.1"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("maps need file version 2.2"), "{}", refused.stderr);
}

#[test]
fn text_sources_get_types() {
    let place = Place::new();
    place.write("a.csv", "id,x,name,day\n1,0.5,one,2024-01-31\n2,,\"two, or so\",\n");
    place.ok("import a.csv csv.lance");
    assert_eq!(
        place.ok("cat csv.lance --format json"),
        "{\"id\":1,\"x\":0.5,\"name\":\"one\",\"day\":\"2024-01-31\"}\n\
         {\"id\":2,\"x\":null,\"name\":\"two, or so\",\"day\":null}\n"
    );
    let lines = "{\"id\":1,\"tags\":[\"a\",\"b\"],\"at\":{\"x\":1.5}}\n{\"id\":2,\"tags\":[],\"at\":null}\n";
    place.write("a.jsonl", lines);
    place.ok("import a.jsonl json.lance");
    assert_eq!(place.ok("cat json.lance --format json --columns id,tags,at"), lines);
}

#[test]
fn a_column_without_values_is_text() {
    let place = Place::new();
    place.write("a.csv", "id,nothing\n1,\n2,\n");
    place.write("a.jsonl", "{\"id\":1,\"nothing\":null}\n");
    for source in ["a.csv", "a.jsonl"] {
        place.ok(&format!("import {source} {source}.lance"));
        let text = place.ok(&format!("cat {source}.lance --format json --limit 1"));
        assert_eq!(text, "{\"id\":1,\"nothing\":null}\n");
    }
}

#[test]
fn several_files_and_directories_make_one_table() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("data/chunk-000")).unwrap();
    for (name, first) in [("data/chunk-000/b.parquet", 10), ("data/chunk-000/a.parquet", 0)] {
        write_parquet(&place.path(name), &rows(first, 10));
    }
    write_arrow(&place.path("last.arrow"), &rows(20, 5));
    place.ok("import data last.arrow t.lance --max-rows-per-fragment 10");
    let text = place.ok("cat t.lance --format json");
    assert_eq!(text, json(&rows(0, 25)));
    let info: serde_json::Value = serde_json::from_str(&place.ok("info t.lance --json")).unwrap();
    assert_eq!(info["rows"], 25);
    assert_eq!(info["fragments"], 3);
}

#[test]
fn numbers_of_several_text_files_widen() {
    let place = Place::new();
    place.write("a.csv", "x,y\n1,a\n");
    place.write("b.csv", "x,y\n2.5,b\n");
    place.ok("import a.csv b.csv t.lance");
    assert_eq!(place.ok("cat t.lance --format csv"), "x,y\n1.0,a\n2.5,b\n");
    // Text follows a table that says its types.
    place.write("c.csv", "y,x\nc,3\n");
    place.ok("import c.csv t.lance --mode append");
    assert_eq!(place.ok("cat t.lance --format csv --rows 2"), "x,y\n3.0,c\n");
}

#[test]
fn modes_append_overwrite_and_create() {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 10));
    write_parquet(&place.path("b.parquet"), &rows(10, 5));
    place.ok("import a.parquet t.lance");
    let error = place.error("import a.parquet t.lance");
    assert!(error.contains("t.lance"), "{error}");

    let line = place.ok("import b.parquet t.lance --mode append");
    assert!(
        line.contains("5 rows in 1 fragment") && line.contains("version 2\nwrote 1 data file ("),
        "{line}"
    );
    assert!(line.contains(", 5 rows); left untouched 1 file ("), "{line}");
    assert_eq!(place.ok("cat t.lance --format json"), json(&rows(0, 15)));

    place.write("c.csv", "other\n7\n");
    let line = place.ok("import c.csv t.lance --mode overwrite");
    assert!(line.contains("1 row in 1 fragment, 1 file") && line.contains("version 3\nwrote "), "{line}");
    assert!(line.contains("; does without 2 data files ("), "{line}");
    assert_eq!(place.ok("cat t.lance --format csv"), "other\n7\n");
    assert_eq!(place.ok("cat t.lance --format json --version 1"), json(&rows(0, 10)));
}

#[test]
fn a_table_keeps_the_version_of_its_files() {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 10));
    for version in ["2.0", "2.1"] {
        place.ok(&format!("import a.parquet {version}.lance --file-version {version}"));
        place.ok(&format!("import a.parquet {version}.lance --mode append"));
        let info = place.ok(&format!("info {version}.lance"));
        assert!(info.contains(&format!("format {version}")), "{info}");
        let files = std::fs::read_dir(place.path(&format!("{version}.lance/data"))).unwrap();
        let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 2);
        for file in files {
            let inspected = place.ok(&format!("inspect {}", file.display()));
            assert!(inspected.contains(&format!("format {version}")), "{inspected}");
        }
    }
    // What this version cannot hold is refused with the field, and the table stays.
    let member = Arc::new(Field::new("x", DataType::Int64, true));
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let nulls = Some(vec![true, false].into());
    let pair: ArrayRef = Arc::new(StructArray::new(vec![member].into(), vec![values], nulls));
    let batch = RecordBatch::try_from_iter_with_nullable([("pair", pair, true)]).unwrap();
    write_parquet(&place.path("b.parquet"), &batch);
    let error = place.error("import b.parquet 2.0.lance --mode overwrite --file-version 2.0");
    assert!(error.contains("field pair") && error.contains("a struct that is null"), "{error}");
    assert!(place.ok("info 2.0.lance").contains("version 2"));
}

#[test]
fn files_are_compressed_as_asked() {
    let place = Place::new();
    let lines = |rows: std::ops::Range<usize>| {
        let line = |row: usize| format!("{row},\"frame {} of episode {row}, as seen\"\n", row * 7919 % 1000);
        rows.map(line).collect::<String>()
    };
    let wanted = format!("id,text\n{}", lines(0..4000));
    place.write("a.csv", &wanted);
    place.write("b.csv", &format!("id,text\n{}", lines(4000..8000)));
    for version in ["2.0", "2.1", "2.2"] {
        let pages = |table: &str| {
            let files = std::fs::read_dir(place.path(&format!("{table}/data"))).unwrap();
            files
                .map(|file| place.ok(&format!("inspect {}", file.unwrap().path().display())))
                .collect::<Vec<_>>()
        };
        for (scheme, seen) in [
            ("none", None),
            ("fsst", Some("fsst")),
            ("lz4", Some("scheme lz4")),
            ("zstd", Some("scheme zstd")),
            ("zstd:-5", Some("scheme zstd")),
            ("zstd:15", Some("scheme zstd")),
        ] {
            let table = format!("{version}-{}.lance", scheme.replace(':', "-"));
            place.ok(&format!("import a.csv {table} --file-version {version} --compression {scheme}"));
            assert_eq!(place.ok(&format!("cat {table} --format csv")), wanted, "{table}");
            let all = pages(&table).concat();
            for scheme in ["fsst", "scheme lz4", "scheme zstd"] {
                assert_eq!(all.contains(scheme), seen == Some(scheme), "{table}: {all}");
            }
        }
        // It is for one import: the next has its own.
        let table = format!("{version}-zstd.lance");
        place.ok(&format!("import b.csv {table} --mode append --compression lz4"));
        let pages = pages(&table);
        let with = |scheme| pages.iter().filter(|page| page.contains(scheme)).count();
        assert_eq!((pages.len(), with("scheme zstd"), with("scheme lz4")), (2, 1, 1));
    }
    assert!(place.ok("import --help").contains("zstd:LEVEL"));
}

#[test]
fn writers_at_the_same_time_count_their_own_rows() {
    let place = Place::new();
    place.write("a.csv", "a\n1\n2\n");
    place.ok("import a.csv t.lance");
    let writers = (0..8).map(|_| {
        let mut command = place.command();
        command
            .args(["import", "a.csv", "t.lance", "--mode", "append"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    for writer in writers.collect::<Vec<_>>() {
        let text = String::from_utf8(writer.wait_with_output().unwrap().stdout).unwrap();
        assert!(text.contains(": 2 rows in 1 fragment, 1 file"), "{text}");
    }
    assert!(place.ok("info t.lance").contains("18 rows in 9 fragments"));
}

#[test]
fn alignment_is_what_was_asked_for() {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 1000));
    place.ok("import a.parquet t.lance --align 4096");
    assert_same(
        &{
            place.ok("cat t.lance -o t.arrow");
            read_arrow(&place.path("t.arrow"))
        },
        &rows(0, 1000),
    );
    let file = std::fs::read_dir(place.path("t.lance/data")).unwrap().next().unwrap().unwrap();
    let map = place.ok(&format!("inspect {} --json", file.path().display()));
    let map: serde_json::Value = serde_json::from_str(&map).unwrap();
    let regions = map["regions"].as_array().unwrap();
    assert!(!regions.is_empty());
}

#[test]
fn no_rows_make_an_empty_table() {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 0));
    place.ok("import a.parquet t.lance");
    assert_eq!(place.ok("cat t.lance --format json"), "");
    assert!(place.ok("cat t.lance").starts_with("id  text  list"));
}

#[test]
fn names_with_dots_become_members() {
    let place = Place::new();
    place.write("a.csv", "o.x,y,o.z.t\n1,2,3\n");
    place.ok("import a.csv t.lance");
    assert_eq!(place.ok("cat t.lance --format json"), "{\"o\":{\"x\":1,\"z\":{\"t\":3}},\"y\":2}\n");
    assert_eq!(place.ok("cat t.lance --columns o.z.t --format json"), "{\"o\":{\"z\":{\"t\":3}}}\n");
    place.write("a.jsonl", "{\"y\":5,\"o.z.t\":6,\"o.x\":4}\n");
    place.ok("import a.jsonl t.lance --mode append");
    assert_eq!(place.ok("cat t.lance --rows 1 --format json"), "{\"o\":{\"x\":4,\"z\":{\"t\":6}},\"y\":5}\n");
    place.write("b.csv", "a,a.b\n1,2\n");
    let error = place.error("import b.csv x.lance");
    assert!(error.starts_with("error: b.csv: field \"a.b\""), "{error}");
}

#[test]
fn times_with_a_named_zone_keep_their_instant() {
    use arrow_array::{ArrayRef, RecordBatch, TimestampMillisecondArray};
    let place = Place::new();
    let times = TimestampMillisecondArray::from(vec![1_700_000_000_123]).with_timezone("Europe/Berlin");
    let batch = RecordBatch::try_from_iter([("at", std::sync::Arc::new(times) as ArrayRef)]).unwrap();
    write_parquet(&place.path("a.parquet"), &batch);
    place.ok("import a.parquet t.lance");
    let line = "{\"at\":\"2023-11-14T22:13:20.123Z\"}\n";
    assert_eq!(place.ok("cat t.lance --format json"), line);
    assert!(place.ok("cat t.lance").contains("2023-11-14T22:13:20.123Z"));
    place.write("b.jsonl", "{\"at\":\"2023-11-14T23:13:20.123+01:00\"}\n");
    place.write("c.csv", "at\n2023-11-14T22:13:20.123\n");
    place.ok("import b.jsonl c.csv t.lance --mode append");
    assert_eq!(place.ok("cat t.lance --format json"), line.repeat(3));
    place.ok("cat t.lance --limit 1 -o o.arrow");
    assert_eq!(read_arrow(&place.path("o.arrow"))[0].schema().field(0), batch.schema().field(0));
}

#[test]
fn what_is_appended_has_checksums_if_the_table_has() {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 20));
    for (options, files) in [
        ("--checksums", "1 file, all with checksums"),
        ("--mode append", "2 files, all with checksums"),
        ("--mode append --no-checksums", "3 files, 2 with checksums"),
        ("--mode append", "4 files, 3 with checksums"),
    ] {
        place.ok(&format!("import a.parquet t.lance {options}"));
        let line = place.ok("verify t.lance");
        assert!(line.contains(&format!(" in {files}, ")), "{options}: {line}");
    }
    assert_eq!(place.call(["import", "a.parquet", "u", "--checksums", "--no-checksums"]).code, Some(2));
}
