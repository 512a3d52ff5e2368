//! Makes the first inputs of the targets from the golden rows: `cargo run --example seeds` in this directory.

use std::error::Error;
use std::fs;
use std::path::Path;

use fory_row::Schema;
use serde_json::Value as Json;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = package.join("../tests/data/row");
    let (rows, schemas) = (package.join("corpus/rows"), package.join("corpus/row_schema"));
    fs::create_dir_all(&rows)?;
    fs::create_dir_all(&schemas)?;
    let mut written = 0;
    for name in ["manifest.json", "malformed.json"] {
        let listing: Json = serde_json::from_slice(&fs::read(golden.join(name))?)?;
        for case in listing["cases"].as_array().ok_or("no cases")? {
            let text = |key: &str| case[key].as_str().ok_or_else(|| format!("{name}: a case without {key}"));
            // The width of fixed binary is in no serialised schema.
            let Ok(schema) = Schema::from_json(&case["schema"])?.serialize() else { continue };
            fs::write(schemas.join(text("id")?), &schema)?;
            if text("kind")? != "row" {
                continue;
            }
            let mut input = vec![u8::from(text("format")? == "compact")];
            input.extend(u16::try_from(schema.len())?.to_le_bytes());
            input.extend(schema);
            input.extend(fs::read(golden.join(text("file")?))?);
            fs::write(rows.join(text("id")?), input)?;
            written += 1;
        }
    }
    println!("{written} rows in {}", rows.display());
    Ok(())
}
