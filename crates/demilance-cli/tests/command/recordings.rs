//! Real recordings, found through `DEMILANCE_DATA`.

use std::path::PathBuf;

use crate::run::{Place, assert_same, nested, read_arrow, read_parquet};

/// The directory of the robot's recordings, or a word that it is not there.
fn recordings(test: &str) -> Option<PathBuf> {
    let found = std::env::var_os("DEMILANCE_DATA").map(|data| PathBuf::from(data).join("g1"));
    let found = found.filter(|path| path.is_dir());
    if found.is_none() {
        eprintln!("skipped: {test} needs the recordings, DEMILANCE_DATA is not set to where g1/ is");
    }
    found
}

#[test]
fn episodes_come_back_the_same() {
    let Some(data) = recordings("episodes_come_back_the_same") else { return };
    let place = Place::new();
    let line = place.ok(&format!("import {} g1.lance", data.join("data").display()));
    assert!(line.starts_with("g1.lance: 35,965 rows in 1 fragment, 1 file, "), "{line}");
    place.ok("cat g1.lance -o all.arrow");
    let mut files: Vec<_> = std::fs::read_dir(data.join("data/chunk-000")).unwrap().collect();
    files.sort_by_key(|file| file.as_ref().unwrap().path());
    let expected: Vec<_> = files.into_iter().flat_map(|file| read_parquet(&file.unwrap().path())).collect();
    let expected = arrow_select::concat::concat_batches(&expected[0].schema(), &expected).unwrap();
    assert_same(&read_arrow(&place.path("all.arrow")), &nested(&expected, "observation"));
    let text = place.ok("cat g1.lance --rows 35964,0 --columns index --format csv");
    assert_eq!(text, "index\n35964\n0\n");
    let text = place.ok("cat g1.lance --rows 0 --columns observation.state");
    assert!(text.contains("… 26]"), "{text}");
}

#[test]
fn frames_come_back_the_same() {
    let Some(data) = recordings("frames_come_back_the_same") else { return };
    let frames = data.join("frames.parquet");
    let expected = read_parquet(&frames);
    let expected = arrow_select::concat::concat_batches(&expected[0].schema(), &expected).unwrap();
    let place = Place::new();
    for align in ["64", "4096"] {
        place.ok(&format!("import {} f{align}.lance --align {align}", frames.display()));
        place.ok(&format!("cat f{align}.lance -o f.arrow"));
        assert_same(&read_arrow(&place.path("f.arrow")), &nested(&expected, "observation"));
    }
}

#[test]
fn the_demo_takes_the_recordings() {
    let Some(data) = recordings("the_demo_takes_the_recordings") else { return };
    let place = Place::new();
    let text = place.ok(&format!("demo --from {} g1.lance", data.display()));
    assert!(text.contains("35,965 rows") && text.contains("256 images"), "{text}");
}
