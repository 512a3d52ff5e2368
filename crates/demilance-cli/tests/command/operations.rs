//! Every command that changes tables, as it is called: what it says, and what is there afterwards.

use std::path::Path;

use crate::run::Place;

/// A table of six rows in two versions, and files of rows.
fn table() -> Place {
    let place = Place::new();
    place.write("a.csv", "id,label,x\n0,a,0.5\n1,b,1.5\n2,c,2.5\n");
    place.write("b.csv", "id,label,x\n3,d,3.5\n4,e,4.5\n5,f,5.5\n");
    place.write("scores.csv", "score\n10\n11\n12\n13\n14\n15\n");
    place.write("keyed.csv", "id,note\n5,five\n1,one\n");
    place.write("new.csv", "id,label,x\n1,B,11\n9,z,9\n");
    place.ok("import a.csv t.lance");
    place.ok("import b.csv t.lance --mode append");
    place
}

/// All that is below `from`.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap().path();
        let to = to.join(entry.file_name().unwrap());
        match entry.is_dir() {
            true => copy(&entry, &to),
            false => drop(std::fs::copy(entry, to).unwrap()),
        }
    }
}

/// Words in which `~` stands for a space.
fn call(place: &Place, words: &str) -> String {
    let outcome = place.call(words.split_whitespace().map(|word| word.replace('~', " ")));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{words}");
    outcome.text()
}

/// Each is called on a table of its own, after those before the last `;`. What the last one says has the parts, and `cat` as
/// CSV of the table then gives the lines.
#[test]
fn each_does_what_it_says() {
    let all = "id,label,x 0,a,0.5 1,b,1.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5";
    let cases: &[(&str, &[&str], &str)] = &[
        (
            "import b.csv t.lance --mode append",
            &["3 rows in 1 fragment", "wrote 1 data file (", "left untouched 2 files ("],
            "id,label,x 0,a,0.5 1,b,1.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5 3,d,3.5 4,e,4.5 5,f,5.5",
        ),
        (
            "import b.csv t.lance --mode overwrite",
            &["wrote 1 data file (", "; does without 2 data files ("],
            "id,label,x 3,d,3.5 4,e,4.5 5,f,5.5",
        ),
        (
            "branch create t.lance b ; import b.csv t.lance --mode append --branch b ; count t.lance --branch b",
            &["9\n"],
            all,
        ),
        ("versions t.lance", &["version", "append"], all),
        ("tag create t.lance train-v1 --version 1", &["tag train-v1 is version 1"], all),
        ("tag create t.lance train-v1 --version 1 ; tags t.lance", &["train-v1"], all),
        (
            "tag create t.lance train-v1 --version 1 ; tag update t.lance train-v1 --version 2",
            &["is version 2, and was version 1"],
            all,
        ),
        (
            "tag create t.lance train-v1 --version 1 ; tag delete t.lance train-v1",
            &["is gone; it was version 1"],
            all,
        ),
        ("tag create t.lance train-v1 --version 1 ; count t.lance --tag train-v1", &["3\n"], all),
        (
            "tag create t.lance train-v1 --version 1 ; cat t.lance --tag train-v1 --where id>1 --format csv",
            &["2,c,2.5"],
            all,
        ),
        ("branch create t.lance b --version 1", &["begins at version 1; no data were copied"], all),
        ("branch create t.lance b --version 1 ; branches t.lance", &["version 1"], all),
        ("branch create t.lance b --version 1 ; cat t.lance --branch b --format csv", &["2,c,2.5"], all),
        (
            "branch create t.lance b --version 1 ; delete t.lance --where id=1 --branch b",
            &["deleted 1 row", "wrote 1 deletion file ("],
            all,
        ),
        (
            "branch create t.lance b --version 1 ; branch delete t.lance b",
            &["is gone; it began at version 1"],
            all,
        ),
        (
            "restore t.lance --version 1 --message back",
            &["version 3 is version 1 again", "wrote no data; does without 1 data file ("],
            "id,label,x 0,a,0.5 1,b,1.5 2,c,2.5",
        ),
        (
            "delete t.lance --where id>3",
            &["deleted 2 rows; version 3 has 4 rows", "wrote 1 deletion file (", "left untouched 2 files ("],
            "id,label,x 0,a,0.5 1,b,1.5 2,c,2.5 3,d,3.5",
        ),
        ("delete t.lance --where id>3 --dry-run", &["would delete 2 of 6 rows"], all),
        (
            "update t.lance --set x=x*10 --set label=upper(label) --where id=1",
            &["updated 1 row", "wrote 1 data file (", "1 deletion file (", "left untouched 2 files ("],
            "id,label,x 0,a,0.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5 1,B,15.0",
        ),
        ("update t.lance --set x=x*10 --where id=1 --dry-run", &["would update 1 of 6 rows"], all),
        (
            "update t.lance --set x=x*10 --where id=1 --checksums --compression zstd",
            &["updated 1 row"],
            "id,label,x 0,a,0.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5 1,b,15.0",
        ),
        (
            "upsert t.lance --on id new.csv",
            &["updated 1 row, added 1, deleted 0", "wrote 1 data file ("],
            "id,label,x 0,a,0.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5 1,B,11.0 9,z,9.0",
        ),
        (
            "upsert t.lance --on id new.csv --when-not-matched skip",
            &["updated 1 row, added 0, deleted 0"],
            "id,label,x 0,a,0.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5 1,B,11.0",
        ),
        (
            "upsert t.lance --on id new.csv --when-matched keep",
            &["updated 0 rows, added 1, deleted 0"],
            "id,label,x 0,a,0.5 1,b,1.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5 9,z,9.0",
        ),
        (
            "upsert t.lance --on id new.csv --update-if source.x<target.x",
            &["updated 0 rows, added 1, deleted 0"],
            "id,label,x 0,a,0.5 1,b,1.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5 9,z,9.0",
        ),
        (
            "upsert t.lance --on id new.csv --when-not-matched-by-source delete",
            &["updated 1 row, added 1, deleted 5"],
            "id,label,x 1,B,11.0 9,z,9.0",
        ),
        (
            "upsert t.lance --on id new.csv --when-not-matched-by-source delete --delete-if x>4 --compression lz4",
            &["updated 1 row, added 1, deleted 2"],
            "id,label,x 0,a,0.5 2,c,2.5 3,d,3.5 1,B,11.0 9,z,9.0",
        ),
        (
            "add-column t.lance --name big --expr x~>~3",
            &["version 3, 6 rows", "+ big bool", "wrote 2 data files (", "left untouched 2 files ("],
            "id,label,x,big 0,a,0.5,false 1,b,1.5,false 2,c,2.5,false 3,d,3.5,true 4,e,4.5,true 5,f,5.5,true",
        ),
        (
            "add-column t.lance --name score --from scores.csv --compression zstd:3 --checksums",
            &["+ score int64", "wrote 2 data files ("],
            "id,label,x,score 0,a,0.5,10 1,b,1.5,11 2,c,2.5,12 3,d,3.5,13 4,e,4.5,14 5,f,5.5,15",
        ),
        (
            "add-column t.lance --name note --from keyed.csv --on id",
            &["+ note string", "wrote 2 data files ("],
            "id,label,x,note 0,a,0.5, 1,b,1.5,one 2,c,2.5, 3,d,3.5, 4,e,4.5, 5,f,5.5,five",
        ),
        (
            "add-column t.lance --name none --null string",
            &["+ none string", "wrote no data; left untouched 2 files ("],
            "id,label,x,none 0,a,0.5, 1,b,1.5, 2,c,2.5, 3,d,3.5, 4,e,4.5, 5,f,5.5,",
        ),
        (
            "drop-column t.lance label",
            &["- label string", "wrote no data; left untouched 2 files ("],
            "id,x 0,0.5 1,1.5 2,2.5 3,3.5 4,4.5 5,5.5",
        ),
        (
            "rename-column t.lance label task",
            &["label string is task string", "wrote no data"],
            "id,task,x 0,a,0.5 1,b,1.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5",
        ),
        (
            "cast-column t.lance id int32 --compression none",
            &["- id int64", "+ id int32", "wrote 2 data files ("],
            all,
        ),
        (
            "alter-column t.lance label --not-null",
            &["label string is label string not null", "wrote no data; left untouched 2 files ("],
            all,
        ),
        (
            "alter-column t.lance id --not-null ; alter-column t.lance id --nullable",
            &["id int64 not null is id int64"],
            all,
        ),
        ("config t.lance --set a=b", &["wrote no data", "a=b"], all),
        ("config t.lance --unset nothere", &["t.lance: nothing to do, version 2 is like that\n"], all),
        (
            "config t.lance --set a=b ; config t.lance --set a=b --unset c",
            &["nothing to do, version 3 is"],
            all,
        ),
        (
            "config t.lance --set a=b ; config t.lance --unset a",
            &["t.lance: version 4; wrote no data\n"],
            all,
        ),
        ("compact t.lance --dry-run --target-rows 100", &["would compact 2 of 2 fragments into 1"], all),
        (
            "compact t.lance --target-rows 100 --indices keep",
            &[
                "compacted 2 fragments into 1 fragment of 6 rows",
                "wrote 1 data file (",
                "does without 2 data files (",
            ],
            all,
        ),
        ("cleanup t.lance --older-than 7d", &["removed nothing", "left untouched"], all),
        (
            "cleanup t.lance --keep 1 --delete-unverified --dry-run",
            &["would remove 1 version and 1 file ("],
            all,
        ),
        ("cleanup t.lance --keep 1", &["removed 1 version and 1 file (", "left untouched"], all),
        (
            "diff t.lance 1 2",
            &["rows      6, 3 more: +3 -0\n", "fragments 1 kept, 1 added, 0 gone", "+ data/"],
            all,
        ),
        ("count t.lance --where id>3", &["2\n"], all),
        ("clone t.lance c.lance --version 1 ; count c.lance", &["3\n"], all),
        ("migrate t.lance", &["nothing to do"], all),
        (
            "update t.lance --set x=x*10 --where id=1 --compression zstd --message Ten~times ; versions t.lance",
            &["Ten times"],
            "id,label,x 0,a,0.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5 1,b,15.0",
        ),
        ("compact t.lance --target-rows 100 --message Few~files ; versions t.lance", &["Few files"], all),
        (
            "delete t.lance --where id=0 --lock lock.file --message tidy ; versions t.lance",
            &["tidy"],
            "id,label,x 1,b,1.5 2,c,2.5 3,d,3.5 4,e,4.5 5,f,5.5",
        ),
    ];
    let made = table();
    for (words, parts, rows) in cases {
        let place = Place::new();
        copy(&made.path("."), &place.path("."));
        let said = words.split(" ; ").map(|words| call(&place, words)).last().unwrap();
        for part in *parts {
            assert!(said.contains(part), "{words}: {part:?} is not in {said}");
        }
        let text = place.ok("cat t.lance --format csv");
        let found = text.lines().collect::<Vec<_>>().join(" ");
        assert_eq!(found, *rows, "{words}: {said}");
        assert_eq!(place.path("lock.file").exists(), words.contains("--lock"), "{words}");
        place.ok("verify t.lance");
    }
}

#[test]
fn new_files_are_written_as_they_are_asked_for() {
    let lines =
        (0..2000).map(|i| format!("{i},text {} of many,{i}.5\n", i * 7919 % 1009)).collect::<String>();
    for words in [
        "update t.lance --set x=x*10 --where true",
        "upsert t.lance --on id more.csv",
        "compact t.lance --target-rows 100000",
        "import more.csv t.lance --mode append",
        "cast-column t.lance label large_string",
        "add-column t.lance --name more --expr concat(label,label)",
    ] {
        let place = table();
        place.write("more.csv", &format!("id,label,x\n{lines}"));
        place.ok("import more.csv t.lance --mode append");
        let before = data_files(&place);
        for file in &before {
            assert!(!place.ok(&format!("verify t.lance/data/{file}")).contains("with checksums"));
        }
        place.ok(&format!("{words} --checksums --compression zstd:9"));
        let new = data_files(&place).into_iter().filter(|file| !before.contains(file)).collect::<Vec<_>>();
        assert!(!new.is_empty(), "{words}");
        let said =
            new.iter().map(|file| place.ok(&format!("inspect t.lance/data/{file}"))).collect::<String>();
        assert!(said.contains("zstd"), "{words}: {said}");
        for file in new {
            let said = place.ok(&format!("verify t.lance/data/{file}"));
            assert!(said.contains("with checksums"), "{words}: {said}");
        }
        place.ok("verify t.lance");
    }
}

fn data_files(place: &Place) -> Vec<String> {
    let files = std::fs::read_dir(place.path("t.lance/data")).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_contradicts_itself_is_refused() {
    let place = table();
    for (words, part) in [
        ("alter-column t.lance label", "--nullable"),
        ("alter-column t.lance label --nullable --not-null", "cannot be used with"),
        ("import a.csv n.lance --branch b", "--mode append"),
        ("import a.csv n.lance --branch b", "Usage: demilance import "),
        ("import a.csv n.lance --manifest-names v3", "v3"),
        (
            "import b.csv t.lance --mode append --stable-row-ids",
            "--stable-row-ids is for new tables, and t.lance is none",
        ),
        ("import b.csv t.lance --mode append --manifest-names v1", "--manifest-names is for new tables"),
        ("import b.csv t.lance --mode overwrite --stable-row-ids", "--stable-row-ids is for new tables"),
        ("restore t.lance", "Usage: demilance restore "),
        (
            "upsert t.lance --on id new.csv --when-matched keep --when-not-matched skip",
            "Usage: demilance upsert ",
        ),
        ("add-column t.lance --name a", "--expr"),
        ("add-column t.lance --name a --null string --on id", "--on"),
    ] {
        let outcome = place.call(words.split_whitespace());
        assert_eq!(outcome.code, Some(2), "{words}: {outcome:?}");
        assert!(outcome.stderr.contains(part), "{words}: {}", outcome.stderr);
    }
    for (words, part) in [
        ("update t.lance --set y=1 --where true --dry-run", "there are: id, label, x"),
        ("update t.lance --set x=labels --where true --dry-run", "did you mean label?"),
        ("import b.csv t.lance --mode append --branch none", "none"),
        ("upsert t.lance --on id new.csv --update-if source.y=1", "y"),
        ("delete t.lance --where id=0 --lock missing/lock.file", "missing/lock.file"),
    ] {
        assert!(place.error(words).contains(part), "{words}: {}", place.error(words));
    }
    let slip = "no column labels; did you mean label? (at character 1 of the expression: labels)";
    assert!(place.error("update t.lance --set x=labels --where true").ends_with(slip));
    place.ok("import a.csv new.lance --mode overwrite --stable-row-ids --manifest-names v1");
    place.write("nulls.csv", "id,label,x\n7,,1\n");
    place.ok("import nulls.csv t.lance --mode append");
    assert!(place.error("alter-column t.lance label --not-null").contains("label"));
    place.ok("verify t.lance");
}

#[test]
fn manifests_have_old_names_where_that_is_asked_for() {
    let place = table();
    place.ok("import a.csv old.lance --manifest-names v1");
    place.ok("import b.csv old.lance --mode append");
    for version in [1, 2] {
        assert!(place.path(&format!("old.lance/_versions/{version}.manifest")).exists());
    }
    assert_eq!(place.ok("migrate old.lance"), "old.lance: renamed 2 manifests\n");
    assert_eq!(place.ok("count old.lance"), "6\n");
}
