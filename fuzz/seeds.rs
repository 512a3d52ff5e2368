//! Makes the first inputs of the targets from the golden rows and the files of the reference: `cargo run --example seeds`
//! in this directory.

use std::error::Error;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use demilance_fuzz::files::types;
use fory_row::Schema;
use lance_footer::{Open, Version, run_on_slice};
use serde_json::Value as Json;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Larger pages and files are no good start.
const LARGEST: usize = 8 << 10;

fn main() -> Outcome<()> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    rows(package)?;
    files(package)
}

fn rows(package: &Path) -> Outcome<()> {
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

/// Files, and what they are made of.
fn files(package: &Path) -> Outcome<()> {
    let corpus = package.join("corpus");
    for target in ["footer", "column_metadata", "file_schema", "page"] {
        fs::create_dir_all(corpus.join(target))?;
    }
    let mut pages = 0;
    for entry in fs::read_dir(package.join("../tests/fixtures/files"))? {
        let path = entry?.path();
        let name =
            path.file_name().and_then(|name| name.to_str()).ok_or("a name that is no text")?.to_string();
        if !name.ends_with(".lance") {
            continue;
        }
        let file = Bytes::from(fs::read(&path)?);
        let container = run_on_slice(Open::new(file.len() as u64, Open::TAIL), &file)?;
        let version = match container.footer.version {
            Version::V2_0 => 0,
            Version::V2_1 => 1,
            Version::V2_2 => 2,
        };
        if file.len() <= LARGEST {
            fs::write(corpus.join("footer").join(&name), &file)?;
        }
        fs::write(corpus.join("file_schema").join(&name), &container.descriptor)?;
        for (number, (column, extent)) in container.columns.iter().zip(&container.column_metadata).enumerate()
        {
            let metadata = file.slice(usize::try_from(extent.offset())?..usize::try_from(extent.end())?);
            let mut input = vec![version];
            input.extend(u32::try_from(file.len())?.to_le_bytes());
            input.extend(metadata);
            if input.len() <= LARGEST {
                fs::write(corpus.join("column_metadata").join(format!("{name}-{number}")), input)?;
            }
            let Some(page) = column.pages.first() else { continue };
            let mut input = vec![version];
            input.extend(u32::try_from(page.length)?.to_le_bytes());
            let Ok(size) = u16::try_from(page.encoding.len()) else { continue };
            input.extend(size.to_le_bytes());
            input.extend(&page.encoding);
            for buffer in &page.buffers {
                let Ok(size) = u16::try_from(buffer.len()) else { continue };
                input.extend(size.to_le_bytes());
                input.extend(file.slice(usize::try_from(buffer.offset())?..usize::try_from(buffer.end())?));
            }
            if input.len() > LARGEST {
                continue;
            }
            // Whichever type fits.
            for data_type in 0..types().len() {
                let input = [&[u8::try_from(data_type)?], input.as_slice()].concat();
                fs::write(corpus.join("page").join(format!("{name}-{number}-{data_type}")), input)?;
                pages += 1;
            }
        }
    }
    println!("{pages} pages in {}", corpus.display());
    Ok(())
}
