//! Random nested schemas, both ways. `DEMILANCE_SEED` gives another run (`random`: any), `DEMILANCE_SCHEMAS` sets
//! how many there are.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use demilance_tests::draw::{Draw, Nulls, Texture};
use demilance_tests::legacy::fit;
use demilance_tests::oracle::Oracle;
use demilance_tests::ours::Shape;
use demilance_tests::types::files_of;
use demilance_tests::{nested, ours, same, seed, stream, verified};
use lance_file::{Alignment, Version};
use lance_io::Store;
use serde_json::json;

const DEPTH: usize = 3;

/// What one file holds, and how it is written.
struct Case {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    version: Version,
    pages: bool,
    lance: PathBuf,
    arrow: PathBuf,
}

impl Case {
    fn draw(draw: &mut Draw, place: &std::path::Path, index: usize) -> Self {
        let version = Version::ALL[draw.below(Version::ALL.len())];
        let hints = draw.chance(50);
        let schema = nested::schema(draw, version, DEPTH, hints);
        let mut batches = vec![];
        for _ in 0..1 + draw.below(4) {
            let rows = [0, 1, 7, 300, 1024, 1500][draw.below(6)];
            let nulls = [Nulls::None, Nulls::Some, Nulls::Some, Nulls::All, Nulls::Ends][draw.below(5)];
            let textures = [Texture::Random, Texture::Narrow, Texture::Runs, Texture::Constant, Texture::Few];
            let texture = textures[draw.below(textures.len())];
            // Cut out of a larger one, so that nothing begins at 0.
            let (before, after) = (draw.below(4), draw.below(4));
            let whole = draw.batch(&schema, before + rows + after, nulls, texture);
            batches.push(fit(whole, version).slice(before, rows));
        }
        let file = |ending: &str| place.join(format!("{index}.{ending}"));
        Self { schema, batches, version, pages: draw.chance(50), lance: file("lance"), arrow: file("arrow") }
    }

    /// The same at other places, with `index` in their names.
    fn at(self, place: &std::path::Path, index: usize) -> Self {
        let file = |ending: &str| place.join(format!("{index}.{ending}"));
        Self { lance: file("lance"), arrow: file("arrow"), ..self }
    }

    /// Cases of the same columns, each of which can be one file of ours.
    fn storable(self) -> impl Iterator<Item = Self> {
        files_of(&self.schema).into_iter().map(move |places| Self {
            schema: Arc::new(self.schema.project(&places).unwrap()),
            batches: self.batches.iter().map(|batch| batch.project(&places).unwrap()).collect(),
            version: self.version,
            pages: self.pages,
            lance: self.lance.clone(),
            arrow: self.arrow.clone(),
        })
    }

    fn expected(&self) -> RecordBatch {
        same::whole(&self.schema, &self.batches).unwrap()
    }

    fn describe(&self, index: usize) -> String {
        let fields: Vec<_> = self
            .schema
            .fields()
            .iter()
            .map(|field| format!("{}: {} {:?}", field.name(), field.data_type(), field.metadata()))
            .collect();
        format!("schema {index}, {}, {}", self.version, fields.join("; "))
    }
}

fn cases(draw: &mut Draw, place: &std::path::Path) -> Vec<Case> {
    let count = std::env::var("DEMILANCE_SCHEMAS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    (0..count).map(|index| Case::draw(draw, place, index)).collect()
}

#[test]
fn written_by_the_reference() {
    let Some(oracle) = Oracle::find("random schemas that the reference writes") else { return };
    let place = tempfile::tempdir().unwrap();
    let mut draw = Draw::new(seed());
    let cases = cases(&mut draw, place.path());
    let jobs: Vec<_> = cases
        .iter()
        .map(|case| {
            stream::write(&case.arrow, &case.schema, &case.batches);
            let cache = case.pages.then_some(1);
            let version = case.version.to_string();
            json!({"do": "write_file", "arrow": case.arrow, "to": case.lance, "version": version, "data_cache_bytes": cache})
        })
        .collect();
    let results = oracle.run(&jobs);
    let wrong = ours::run(async {
        let mut wrong = vec![];
        for (index, (case, result)) in cases.iter().zip(results).enumerate() {
            // The reference is known to fail on a few schemas that it should write.
            if let Err(error) = result {
                println!("{}: not written by the reference: {error}", case.describe(index));
                continue;
            }
            wrong.extend(read_by_us(&mut draw, index, case).await);
        }
        wrong
    });
    ours::none_wrong(wrong);
}

/// What is wrong with the file of a case when we read it.
async fn read_by_us(draw: &mut Draw, index: usize, case: &Case) -> Vec<String> {
    let rows = draw.rows(case.expected().num_rows() as u64, 100);
    let mut found = match ours::open_path(&case.lance).await {
        Ok(file) => ours::compare(&file, &case.schema, &case.batches, &rows).await,
        Err(error) => vec![error],
    };
    let (verified, problems) = verified::path(&case.lance).await;
    found.extend(problems.into_iter().map(|problem| format!("verifying: {problem}")));
    if verified.rows != case.expected().num_rows() as u64 {
        found.push(format!("verifying: {} rows", verified.rows));
    }
    found.into_iter().map(|error| format!("{}: {error}", case.describe(index))).collect()
}

#[test]
fn written_by_us() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::local(place.path());
    let mut draw = Draw::new(seed());
    let cases: Vec<_> =
        cases(&mut draw, place.path()).into_iter().flat_map(Case::storable).enumerate().collect();
    let at = |(index, case): (usize, Case)| case.at(place.path(), index);
    let cases: Vec<_> = cases.into_iter().map(at).collect();
    let mut wrong = ours::run(async {
        let mut wrong = vec![];
        for (index, case) in cases.iter().enumerate() {
            let alignment = if index % 2 == 0 { Alignment::Bytes64 } else { Alignment::Bytes4096 };
            let page_bytes = if case.pages { [1, 200, 2000][index % 3] } else { 8 << 20 };
            let shape = Shape { alignment, page_bytes, ..Shape::of(case.version) };
            let name = format!("{index}.lance");
            if let Err(error) = ours::write_file(&store, &name, &case.schema, &case.batches, shape).await {
                wrong.push(format!("{}: writing: {error}", case.describe(index)));
                continue;
            }
            wrong.extend(read_by_us(&mut draw, index, case).await);
        }
        wrong
    });

    if let Some(oracle) = Oracle::find("reading our random schemas with the reference") {
        wrong.splice(..0, read_by_them(&mut draw, &oracle, &cases));
    }
    ours::none_wrong(wrong);
}

/// The reference loses count where a struct above or between lists has nulls in one page and none in the next, and
/// a batch takes rows of both; of its own files too. Row by row it reads them.
const LOST_COUNT: &str = "Incorrect number of nulls for StructArray";

fn read_by_them(draw: &mut Draw, oracle: &Oracle, cases: &[Case]) -> Vec<String> {
    let mut reads = vec![];
    for (index, case) in cases.iter().enumerate() {
        let all = case.expected();
        // It takes rows that ascend.
        let mut rows = draw.rows(all.num_rows() as u64, 40);
        rows.sort_unstable();
        rows.dedup();
        let some = same::rows_at(&all, &rows);
        let to = |how: &str| case.arrow.with_extension(format!("{how}.arrow"));
        let job = json!({"do": "read_file", "path": case.lance, "to": to("scan")});
        let mut take = job.clone();
        (take["to"], take["rows"]) = (json!(to("take")), json!(rows));
        reads.push((index, case, to("scan"), job, all));
        reads.push((index, case, to("take"), take, some));
    }
    let jobs: Vec<_> = reads.iter().map(|(.., job, _)| job.clone()).collect();
    let mut wrong = vec![];
    for ((index, case, to, job, expected), mut result) in reads.iter().zip(oracle.run(&jobs)) {
        if result.as_ref().is_err_and(|error| error.contains(LOST_COUNT)) {
            println!("{}: read row by row", case.describe(*index));
            let mut job = job.clone();
            job["batch_size"] = json!(1);
            result = oracle.run(&[job]).remove(0);
        }
        let outcome = result.and_then(|_| {
            let (schema, batches) = stream::try_read(to)?;
            same::check(&same::whole(&schema, &batches)?, expected)
        });
        wrong.extend(
            outcome
                .err()
                .map(|error| format!("{}: by the reference: {error} ({job})", case.describe(*index))),
        );
    }
    wrong
}
