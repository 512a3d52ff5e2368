use serde_json::Value;

use crate::run::{Place, rows, write_parquet};

fn table() -> (Place, String) {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 2000));
    place.ok("import a.parquet t.lance");
    let file = std::fs::read_dir(place.path("t.lance/data")).unwrap().next().unwrap().unwrap().path();
    let file = file.display().to_string();
    (place, file)
}

#[test]
fn info_says_what_a_table_holds() {
    let (place, file) = table();
    place.ok("import a.parquet t.lance --mode append");
    let text = place.ok("info t.lance");
    for part in ["t.lance", "4,000", "version", "2 fragments", "id", "Int64", "image", "2.2"] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let info: Value = serde_json::from_str(&place.ok("info t.lance --json")).unwrap();
    assert_eq!(info["rows"], 4000);
    assert_eq!(info["version"], 2);
    assert_eq!(info["fragments"], 2);
    assert_eq!(info["files"], 2);
    let columns = info["columns"].as_array().unwrap();
    assert!(columns.iter().any(|column| column["name"] == "id"));
    assert!(columns.iter().all(|column| column["bytes"].as_u64().is_some()));
    assert!(columns.iter().all(|column| !column["encodings"].as_array().unwrap().is_empty()));
    let id = columns.iter().find(|column| column["name"] == "id").unwrap();
    assert_eq!(id["arrow_bytes"], 4000 * 8);
    assert!(id["ratio"].as_f64().unwrap() > 3.0, "{id}");
    let file: Value = serde_json::from_str(&place.ok(&format!("info {file} --json"))).unwrap();
    assert_eq!(file["rows"], 2000);
    // Texts, images and lists have a ratio too, from some of their rows.
    for columns in [&info["columns"], &file["columns"]] {
        for column in columns.as_array().unwrap() {
            let (name, ratio) = (column["name"].as_str().unwrap(), column["ratio"].as_f64());
            assert_eq!(column["estimated"], ["text", "list.item", "image"].contains(&name), "{column}");
            assert!(
                column["bytes"] == 0 || ratio.is_some_and(|ratio| (0.2..20.0).contains(&ratio)),
                "{column}"
            );
        }
    }
}

#[test]
fn info_of_an_empty_table_says_its_format() {
    let place = Place::new();
    place.write("a.csv", "a\n");
    place.ok("import a.csv t.lance --file-version 2.1");
    assert!(place.ok("info t.lance").contains("format 2.1"));
}

#[test]
fn inspect_maps_every_byte() {
    let (place, file) = table();
    let text = place.ok(&format!("inspect {file}"));
    for part in ["footer", "image", "page 0: rows 0..2000", "mini-block", "values: "] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let map: Value = serde_json::from_str(&place.ok(&format!("inspect {file} --json"))).unwrap();
    let size = std::fs::metadata(&file).unwrap().len();
    assert_eq!(map["size"], size);
    assert_eq!(map["columns"][0]["pages"][0]["encoding"]["name"], "mini-block");
    // Regions and the padding between them cover the file without gap or overlap.
    let mut position = 0;
    for region in map["regions"].as_array().unwrap() {
        assert_eq!(region["offset"], position, "{region}");
        position += region["size"].as_u64().unwrap() + region["padding"].as_u64().unwrap();
    }
    assert_eq!(position, size);
}
