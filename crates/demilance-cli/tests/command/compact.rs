use serde_json::Value;

use crate::run::Place;

/// A table of three versions with fragments of 400, 400 and 200 rows each.
fn table() -> Place {
    let place = Place::new();
    for (part, mode) in ["create", "append", "append"].into_iter().enumerate() {
        let lines = (0..1000).map(|i| format!("{},row {i}\n", part * 1000 + i)).collect::<String>();
        place.write("a.csv", &format!("id,name\n{lines}"));
        place.ok(&format!("import a.csv t.lance --mode {mode} --max-rows-per-fragment 400"));
    }
    place
}

fn files(place: &Place) -> usize {
    std::fs::read_dir(place.path("t.lance/data")).unwrap().count()
}

#[test]
fn a_dry_run_says_what_would_be_done() {
    let place = table();
    let said = place.ok("compact t.lance --dry-run --target-rows 1000 --plan-out plan.json");
    let lines = said.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "t.lance: would compact 9 of 9 fragments into 3, from version 3");
    assert!(lines[1].starts_with("  fragments 0 to 2: 3 files, "), "{said}");
    assert!(lines[1].ends_with(", 1,000 rows: 1 fragment of 1,000 rows"), "{said}");
    assert_eq!(lines[4], "left untouched nothing");
    let plan: Value = serde_json::from_slice(&std::fs::read(place.path("plan.json")).unwrap()).unwrap();
    assert_eq!((plan["version"].as_u64(), plan["tasks"].as_array().unwrap().len()), (Some(3), 3));
    assert_eq!((files(&place), place.ok("count t.lance").as_str()), (9, "3000\n"));
}

#[test]
fn what_is_compacted_is_said_and_cleaned_up() {
    let place = table();
    let said = place.ok("compact t.lance --target-rows 500 --checksums --message tidy");
    let lines = said.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "t.lance: compacted 9 fragments into 5 fragments of 3,000 rows in all, version 5");
    assert!(lines[1].starts_with("wrote 5 data files ("), "{said}");
    assert!(lines[1].contains("; does without 9 data files ("), "{said}");
    assert!(place.ok("verify t.lance --version 5").contains("no problems"));
    assert_eq!(place.ok("cat t.lance --limit 3 --format csv"), "id,name\n0,row 0\n1,row 1\n2,row 2\n");
    let again = place.ok("compact t.lance --target-rows 500");
    assert_eq!(again, "t.lance: nothing to compact in 5 fragments, version 5\n");

    place.ok("tag create t.lance first --version 1");
    let refused = place.error("cleanup t.lance --keep 1");
    let advice = "old versions have tags: version 1 (first); say --keep-tagged to keep these and remove the others, or delete \
                  the tags first";
    assert_eq!(refused, format!("error: t.lance: nothing was removed, since {advice}"));
    let warned = place.ok("cleanup t.lance --keep 1 --dry-run");
    assert!(warned.starts_with("t.lance: would remove 3 versions and 9 files ("), "{warned}");
    assert!(
        warned.ends_with(&format!("without --dry-run nothing would be removed, since {advice}\n")),
        "{warned}"
    );
    let said = place.ok("cleanup t.lance --keep 1 --keep-tagged --dry-run");
    assert!(said.starts_with("t.lance: would remove 3 versions and 9 files ("), "{said}");
    assert!(warned.starts_with(&said), "{warned}{said}");
    assert_eq!(said.matches("version 4 is the last that needs it").count(), 7, "{said}");
    assert!(said.contains("version 1 stays because of tag first\n"), "{said}");
    assert_eq!(files(&place), 14);
    let said = place.ok("cleanup t.lance --keep 1 --keep-tagged");
    assert!(said.starts_with("t.lance: removed 3 versions and 9 files ("), "{said}");
    assert!(said.contains("\n  data         6 files ("), "{said}");
    assert_eq!((files(&place), place.ok("count t.lance --tag first").as_str()), (8, "1000\n"));
    let said = place.ok("cleanup t.lance --older-than 0s --keep-tagged");
    assert!(said.starts_with("t.lance: removed nothing\nversion 1 stays"), "{said}");
}

#[test]
fn young_files_of_no_version_are_left() {
    let place = table();
    place.write("t.lance/data/gone.lance", "12345");
    let said = place.ok("cleanup t.lance");
    assert!(said.contains("; of these 1 file (5 B) are of no version, but younger than 7 days"), "{said}");
    let said = place.ok("cleanup t.lance --delete-unverified --dry-run");
    assert!(said.contains("- data/gone.lance  5 B  no version needs it\n"), "{said}");
    assert!(place.ok("cleanup t.lance --delete-unverified").contains("removed 0 versions and 1 file (5 B)"));
    assert!(!place.path("t.lance/data/gone.lance").exists());
}

#[test]
fn wrong_options_are_refused() {
    let place = table();
    assert!(place.error("compact missing.lance").contains("missing.lance"));
    assert!(place.error("cleanup a.csv").contains("a.csv"));
    for (words, part) in [
        ("compact t.lance --target-rows 0", "'0' for '--target-rows <N>': a fragment has a row or more"),
        ("compact t.lance --target-rows 4294967296", "'--target-rows <N>'"),
        ("compact t.lance --threshold=-1", "'-1' for '--threshold <F>': it is not from 0 to 1"),
        ("compact t.lance --threshold 1.5", "'1.5' for '--threshold <F>'"),
        ("compact t.lance --threshold nan", "'nan' for '--threshold <F>'"),
        ("compact t.lance --memory 0", "'0' for '--memory <SIZE>': it must be a byte or more"),
        ("compact t.lance --target-bytes 0", "'--target-bytes <SIZE>'"),
        ("compact t.lance --target-bytes much", "'--target-bytes <SIZE>'"),
        ("cleanup t.lance --keep 0", "'--keep <N>'"),
        ("cleanup t.lance --older-than 7", "'--older-than <AGE>'"),
    ] {
        let outcome = place.call(words.split_whitespace());
        assert_eq!(outcome.code, Some(2), "{words}");
        assert!(outcome.stderr.contains(part), "{words}: {}", outcome.stderr);
    }
    assert_eq!((files(&place), place.ok("count t.lance").as_str()), (9, "3000\n"));
}

/// A file of each of two tasks is cut short; the third task is done.
#[test]
fn fragments_that_cannot_be_rewritten_are_named_line_by_line() {
    let place = table();
    let info = place.ok("diff t.lance 1 3");
    let damaged = |fragment: &str| {
        let line = info.lines().find(|line| line.ends_with(&format!(", fragment {fragment}"))).unwrap();
        let path = line.split_whitespace().nth(1).unwrap();
        let path = place.path("t.lance").join(path);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    };
    damaged("4");
    damaged("7");
    let outcome = place.call(["compact", "t.lance", "--target-rows", "1000"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let lines = outcome.stderr.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, fragments) in lines.iter().zip(["3 to 5", "6 to 8"]) {
        assert!(line.starts_with(&format!("error: t.lance: fragments {fragments}: ")), "{line}");
        assert!(line.contains(".lance/data/"), "{line}");
    }
    let said = outcome.text();
    assert!(
        said.starts_with("t.lance: compacted 3 fragments into 1 fragment of 1,000 rows in all"),
        "{said}"
    );
    assert!(said.contains("\n6 fragments could not be compacted, and stay as they are\n"), "{said}");
    assert_eq!(place.ok("count t.lance"), "3000\n");

    let again = place.call(["compact", "t.lance", "--target-rows", "1000"]);
    assert_eq!((again.code, again.stderr.lines().count()), (Some(1), 2), "{again:?}");
    assert_eq!(again.text(), "t.lance: nothing was compacted\n");
}
