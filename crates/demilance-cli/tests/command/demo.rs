use crate::run::{Place, rows, write_parquet};

#[test]
fn the_simulated_arm_is_written_and_read() {
    let place = Place::new();
    let text = place.ok("demo arm.lance --episodes 5 --frames 4 --batch 16");
    for part in ["import", "append", "open", "batch", "states", "16 random rows", "16 images", "request"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert_eq!(place.ok("cat arm.lance --columns index --format csv").lines().count(), 1 + 20);
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
    assert!(text.contains("24 rows") && text.contains("6 rows") && text.contains("version 2"), "{text}");
    assert_eq!(place.ok("cat one.lance --columns id --format csv").lines().count(), 1 + 30);
    let text = place.ok("demo --from more more.lance --batch 8");
    assert!(text.contains("8 random rows"), "{text}");
    assert_eq!(place.ok("cat more.lance --columns id --format csv").lines().count(), 1 + 60);
}
