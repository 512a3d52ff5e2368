use crate::run::{Place, rows, write_parquet};

#[test]
fn the_simulated_arm_is_written_and_read() {
    let place = Place::new();
    let text = place.ok("demo arm.lance --episodes 5 --frames 4 --batch 16");
    let steps = [
        ("1 import: 4 simulated episodes", &["wrote 1 data file ("][..], &["1 data 1"][..]),
        (
            "2 import --mode append: 1 simulated episode",
            &["wrote 1 data file (", "left untouched 1 file ("],
            &["1 data 1", "2 data 1-2"],
        ),
        (
            "3 add-column --name early --expr \"frame_index < 30\"",
            &["no image is read", "wrote 2 data files (", "left untouched 2 files ("],
            &["1 data 1", "2 data 1-2", "3 data 1-2 column 1-2"],
        ),
        (
            "4 delete --where \"episode_index = 2\"",
            &["4 rows gone", "wrote 1 deletion file (", "left untouched 4 files ("],
            &["1 data 1", "2 data 1-2", "3 data 1-2 column 1-2", "4 data 1-2 column 1-2 deletions 1"],
        ),
        (
            "5 tag create train-v1",
            &["version 4 is what is trained on"],
            &[
                "1 data 1",
                "2 data 1-2",
                "3 data 1-2 column 1-2",
                "4 = train-v1 data 1-2 column 1-2 deletions 1",
            ],
        ),
        (
            "6 compact --threshold 0",
            &[
                "2 fragments became 1 fragment",
                "wrote 1 data file (",
                "does without 4 data files (",
                // Two of them are a column of the rows of the others.
                " 20 rows), 1 deletion file (",
                "still has its 16 rows: 16 random rows",
            ],
            &[
                "1 data 1",
                "2 data 1-2",
                "3 data 1-2 column 1-2",
                "4 = train-v1 data 1-2 column 1-2 deletions 1",
                "5 data 1-2 column 1-2 deletions 1",
                "6 data 3",
            ],
        ),
        (
            "7 cleanup --keep 1 --keep-tagged",
            &["removed 4 versions and 4 files (", "version 4 and its files stay because of tag train-v1"],
            &["4 = train-v1 data 1-2 column 1-2 deletions 1", "6 data 3"],
        ),
        ("8 tag delete train-v1", &["removed 1 version and 6 files ("], &["6 data 3"]),
        (
            "9 training batches",
            &[
                "open",
                "version 6, 16 rows",
                "16 random rows, 8 columns with 16 images",
                "no images",
                "request",
            ],
            &[],
        ),
    ];
    let mut rest = text.as_str();
    for (number, (title, parts, versions)) in steps.iter().enumerate() {
        rest = &rest[rest.find(title).unwrap_or_else(|| panic!("{title:?} is not in {text}"))..];
        let end = rest.find(&format!("\n{} ", number + 2)).unwrap_or(rest.len());
        let step = &rest[..end];
        for part in *parts {
            assert!(step.contains(part), "{part:?} is not in {step}");
        }
        let found = step.lines().filter_map(|line| line.strip_prefix("    version "));
        let found = found.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(found.collect::<Vec<_>>(), *versions, "{step}");
    }
    assert!(text.lines().count() < 64, "{text}");
    assert_eq!(place.ok("cat arm.lance --columns index,early --format csv").lines().count(), 1 + 16);
    assert_eq!(place.ok("versions arm.lance").lines().count(), 1 + 1);
    place.ok("verify arm.lance");
    let again = place.error("demo arm.lance");
    assert!(again.contains("arm.lance") && again.contains("exists"), "{again}");
    let images = place.ok("cat arm.lance --columns observation.image --limit 1 --format json");
    assert!(images.starts_with("{\"observation\":{\"image\":\"89504e47"), "{images:.80}");
}

#[test]
fn a_temporary_table_is_removed() {
    let place = Place::new();
    let mut command = place.command();
    std::fs::create_dir(place.path("tmp")).unwrap();
    command.env("TMPDIR", place.path("tmp")).args([
        "demo",
        "--episodes",
        "2",
        "--frames",
        "2",
        "--batch",
        "3",
    ]);
    let outcome = command.output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    assert!(String::from_utf8_lossy(&outcome.stdout).contains("Removed"), "{outcome:?}");
    assert_eq!(std::fs::read_dir(place.path("tmp")).unwrap().count(), 0);
}

#[test]
fn recordings_are_written_and_read() {
    let place = Place::new();
    std::fs::create_dir(place.path("more")).unwrap();
    write_parquet(&place.path("one.parquet"), &rows(0, 30));
    write_parquet(&place.path("more/a.parquet"), &rows(0, 30));
    write_parquet(&place.path("more/b.parquet"), &rows(30, 30));
    let text = place.ok("demo --from one.parquet one.lance --batch 8");
    for part in
        ["24 rows", "6 rows", "--expr \"id IS NOT NULL\"", "delete --where \"id = 15\"", "8 random rows"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert_eq!(place.ok("cat one.lance --columns id,known --format csv").lines().count(), 1 + 29);
    let text = place.ok("demo --from more more.lance --batch 8");
    assert!(text.contains("8 random rows"), "{text}");
    assert_eq!(place.ok("cat more.lance --columns id --format csv").lines().count(), 1 + 59);
    // Nothing to append, nothing that tells rows apart, and names that are taken.
    place.write("same.csv", "known,`a.b\nx,1.5\n");
    let text = place.ok("demo --from same.csv same.lance --batch 8");
    assert!(!text.contains("append") && !text.contains("delete --where"), "{text}");
    assert!(text.contains("--name known_2") && text.contains("nothing to do"), "{text}");
}
