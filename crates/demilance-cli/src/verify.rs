//! `demilance verify`: reads everything and says all that is wrong.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use demilance::DecodeBudget;
use demilance::file::verify::{Finding, Place as Spot, Problem, Verified, VerifyOptions as FileOptions};
use demilance::table::verify::VerifyOptions as TableOptions;
use serde_json::{Value, json};

use crate::place::Place;
use crate::source::Progress;
use crate::which::WhichVersion;
use crate::{budget, quantity};

const AFTER_HELP: &str = "\
Everything is read and decoded: the structure of files, offsets and what overlaps, row counts, levels, UTF-8;
of a table the manifest against its files, deletion files and row ids. A wrong value that decodes is found only
in files that have checksums (import --checksums): every byte of these is compared with them.

Each problem is a line with its place, and the search goes on after it:
  PATH: field a.b, column 3, page 2, rows 0..100, bytes 64..128: what contradicts what
What this version does not read, or what takes more memory than --decode-budget, is a problem too, since it was
not checked. A line that starts with note: is about what is unusual, such as files that no version refers to.
The last line counts what was looked at. The exit code is 0 if there is no problem, and 1 otherwise.

Examples:
  demilance verify robot.lance
  demilance verify robot.lance --version 2
  demilance verify robot.lance/data/0f3a.lance
  demilance verify robot.lance --decode-budget 4GB
  demilance verify robot.lance --json | jq -r '.problems[].path' | sort -u";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Table, or one .lance file
    path: String,
    #[command(flatten)]
    which: WhichVersion,
    /// Memory that decoding may take at once beside what rows and stored bytes account for, such as 2GB, or unlimited
    /// [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = budget::parse)]
    decode_budget: Option<DecodeBudget>,
    /// Print problems, notes and counts as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command; whether no problem was found.
pub(crate) async fn run(arguments: Arguments) -> Result<bool> {
    let path = &arguments.path;
    let budget = arguments.decode_budget.unwrap_or_default();
    let start = Instant::now();
    let mut listener = Listener::new(arguments.json);
    let verified = match Place::find(path).await? {
        Place::Table(store) => {
            let mut hear = |finding| listener.hear(finding);
            let verified = async {
                let (root, version) = arguments.which.reference().resolve(&store).await?;
                let options = TableOptions { version, budget };
                demilance::table::verify::verify(&root, options, &mut hear).await
            };
            verified.await.with_context(|| path.clone())?
        }
        Place::File(_) if arguments.which.is_given() => bail!("{path}: is a file, which has no versions"),
        Place::File(source) => {
            let options = FileOptions { budget, ..FileOptions::default() };
            demilance::file::verify::verify(source, options, &mut |finding| listener.hear(finding)).await
        }
    };
    let Listener { progress, problems, notes, noted, printed, .. } = listener;
    progress.clear();
    printed?;
    if arguments.json {
        let value = json!({
            "path": path,
            "problems": problems,
            "notes": notes,
            "files": verified.files,
            "bytes": verified.bytes,
            "rows": verified.rows,
            "columns": verified.columns,
            "pages": verified.pages,
            "checksummed": verified.checksummed,
        });
        crate::print_json(value)?;
    } else {
        let time = quantity::time(start.elapsed());
        crate::print(&format!(
            "{path}: {}; {} in {time}\n",
            found(verified.problems, noted),
            read(&verified)
        ))?;
    }
    Ok(verified.problems == 0)
}

/// Prints problems as they come, or keeps them for JSON.
struct Listener {
    json: bool,
    progress: Progress,
    problems: Vec<Value>,
    notes: Vec<Value>,
    noted: u64,
    /// What became of the lines that were printed; after an error there are no more.
    printed: Result<()>,
}

impl Listener {
    fn new(json: bool) -> Self {
        let progress = Progress::over(0);
        Self { json, progress, problems: vec![], notes: vec![], noted: 0, printed: Ok(()) }
    }

    fn hear(&mut self, finding: Finding) {
        match finding {
            Finding::Total(bytes) => self.progress.set_total(bytes),
            Finding::Read(bytes) => self.progress.add(bytes),
            Finding::Problem(problem) if self.json => self.problems.push(json_of(&problem)),
            Finding::Problem(problem) => self.line(&format!("{problem}\n")),
            Finding::Note(note) => {
                self.noted += 1;
                if self.json {
                    self.notes.push(json_of(&note));
                } else {
                    self.line(&format!("note: {note}\n"));
                }
            }
            _ => {}
        }
    }

    fn line(&mut self, line: &str) {
        if self.printed.is_ok() {
            self.printed = self.progress.aside(|| crate::print(line));
        }
    }
}

fn found(problems: u64, notes: u64) -> String {
    let problems = match problems {
        0 => "no problems".to_string(),
        problems => quantity::of(problems, "problem"),
    };
    match notes {
        0 => problems,
        notes => format!("{problems}, {}", quantity::of(notes, "note")),
    }
}

fn read(verified: &Verified) -> String {
    let checksums = match (verified.checksummed, verified.files) {
        (0, _) => String::new(),
        (all, files) if all == files => ", all with checksums".to_string(),
        (some, _) => format!(", {some} with checksums"),
    };
    format!(
        "{} of {} in {}{checksums}, {}, {}",
        quantity::of(verified.rows, "row"),
        quantity::of(verified.columns, "column"),
        quantity::of(verified.files, "file"),
        quantity::of(verified.pages, "page"),
        quantity::bytes(verified.bytes),
    )
}

fn json_of(problem: &Problem) -> Value {
    let Spot { field, column, page, rows, bytes } = &problem.place;
    json!({
        "path": problem.path,
        "kind": problem.kind.name(),
        "field": field,
        "column": column,
        "page": page,
        "rows": rows.as_ref().map(|rows| [rows.start, rows.end]),
        "bytes": bytes.map(|bytes| [bytes.offset(), bytes.end()]),
        "reason": problem.reason,
    })
}
