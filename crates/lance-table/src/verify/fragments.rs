//! The files of the fragments, and the ids of their rows.

use std::ops::Range;

use lance_file::Schema;
use lance_file::verify::{VerifyOptions, verify as verify_file};
use lance_footer::{FormatError, Version};
use lance_io::Store;

use super::{Finding, Report};
use crate::deletion::{self, LiveRows};
use crate::fragment::DataFile;
use crate::manifest::latest::Found;
use crate::place::Places;
use crate::proto;
use crate::row_ids::RowIds;
use crate::row_versions;
use crate::{DecodeBudget, Fragment, TableError};

/// Reads everything of all fragments.
pub(super) async fn check(store: &Store, found: &Found, budget: DecodeBudget, report: &mut Report<'_>) {
    let message = &found.manifest.message;
    let places = Places::new(store.clone(), message.base_paths.clone());
    let schema = Schema::from_proto(&message.fields, &message.schema_metadata).ok();
    let files = message.fragments.iter().flat_map(|fragment| &fragment.files);
    let total = files.fold(0, |sum: u64, file| sum.saturating_add(file.file_size_bytes));
    (report.out)(Finding::Total(total));
    let format = message.data_format.as_ref().and_then(|format| format.version.parse::<Version>().ok());

    let mut ids: Vec<Range<u64>> = vec![];
    for message in &message.fragments {
        let checked = Fragment::new(message.clone());
        if let Err(error) = &checked {
            report.format(&found.location, error);
        }
        let mut reader =
            Reader { found, places: &places, schema: schema.as_ref(), budget, fragment: message, report };
        let live = reader.deletions().await;
        for (index, file) in message.files.iter().enumerate() {
            let known = checked.as_ref().ok().and_then(|fragment| fragment.files().get(index));
            reader.file(file, known, format, &live).await;
        }
        reader.row_ids(&live, &mut ids);
        let rows = live.rows().len();
        report.verified.rows = report.verified.rows.saturating_add(rows);
    }
    check_unique(found, ids, report);
}

/// Reads one fragment.
struct Reader<'a, 'r> {
    found: &'a Found,
    places: &'a Places,
    schema: Option<&'a Schema>,
    budget: DecodeBudget,
    fragment: &'a proto::DataFragment,
    report: &'a mut Report<'r>,
}

impl Reader<'_, '_> {
    /// A data file: `known` is what the manifest says of it, if that makes sense.
    async fn file(
        &mut self,
        file: &proto::DataFile,
        known: Option<&DataFile>,
        format: Option<Version>,
        live: &LiveRows,
    ) {
        let (store, path) = match self.places.data_file(file.base_id, &file.path) {
            Ok(place) => place,
            Err(error) => return self.report.error(self.found.location.clone(), error),
        };
        let source = match store.open_file(&path, None).await {
            Ok(source) => source,
            Err(error) => return self.report.io(store.location(&path), error),
        };
        let (size, said) = (source.size(), file.file_size_bytes);
        if said != 0 && said != size {
            self.report.corrupt(store.location(&path), format!("{size} bytes, but the manifest says {said}"));
        }
        let mixed =
            crate::manifest::flags::MIXED_VERSIONS & self.found.manifest.message.reader_feature_flags != 0;
        if let (Some(known), Some(format)) = (known, format)
            && known.version != format
            && !mixed
        {
            let reason = format!("it has version {} in a table of version {format}", known.version);
            self.report.corrupt(store.location(&path), reason);
        }
        // A manifest that does not know the rows of a fragment has them as zero.
        let rows = Some(self.fragment.physical_rows).filter(|rows| *rows != 0);
        // A column may have become one that is never null after the rows were deleted in which it was. Which are left is known
        // only if it is known how many there were.
        let live = (self.fragment.deletion_file.is_some() && rows.is_some()).then(|| live.rows().clone());
        let options = match (known, self.schema) {
            (Some(known), Some(schema)) => VerifyOptions {
                schema: Some(schema.project_ids(|id| known.has(id))),
                columns: Some(known.columns.clone()),
                rows,
                live,
                version: Some(known.version),
                budget: self.budget,
            },
            _ => VerifyOptions { rows, budget: self.budget, ..VerifyOptions::default() },
        };
        let out = &mut *self.report.out;
        let mut forward = |finding| match finding {
            // The table has a total of its own.
            Finding::Total(_) => {}
            finding => out(finding),
        };
        let mut verified = verify_file(source, options, &mut forward).await;
        // Rows are counted by the fragment, less those that are deleted.
        verified.rows = 0;
        self.report.verified = self.report.verified.and(verified);
    }

    /// The rows that are not deleted; if that cannot be told, all.
    async fn deletions(&mut self) -> LiveRows {
        let rows = self.fragment.physical_rows;
        let all = || LiveRows::all(rows);
        let Some(file) = &self.fragment.deletion_file else { return all() };
        let place = deletion::path(self.fragment.id, file)
            .map_err(|error| TableError::format(&self.found.location, error))
            .and_then(|path| self.places.deletion_file(file.base_id, path));
        let (store, path) = match place {
            Ok(place) => place,
            Err(error) => {
                self.report.error(self.found.location.clone(), error);
                return all();
            }
        };
        let location = store.location(&path);
        let bytes = match store.read_all(&path).await {
            Ok(bytes) => bytes,
            Err(error) => {
                self.report.io(location, error);
                return all();
            }
        };
        self.report.verified.bytes = self.report.verified.bytes.saturating_add(bytes.len() as u64);
        let live = deletion::parse(&bytes, file, self.fragment)
            .and_then(|deleted| LiveRows::without(rows, &deleted));
        live.unwrap_or_else(|error| {
            self.report.format(location, &error);
            all()
        })
    }

    /// Adds the ids of the `live` rows to `ids`, if they are stable.
    fn row_ids(&mut self, live: &LiveRows, ids: &mut Vec<Range<u64>>) {
        let message = &self.found.manifest.message;
        let place = |error: FormatError| error.within(format_args!("fragment {}", self.fragment.id));
        match RowIds::of(self.fragment) {
            Ok(RowIds::Address { .. }) => {}
            Ok(stable) => {
                let own = stable.ranges(live.rows());
                let next = message.next_row_id;
                if let Some(range) = own.iter().find(|range| range.end > next) {
                    let reason = format!("row id {}, but the next one is said to be {next}", range.end - 1);
                    let error = FormatError::corrupt("row id sequence", reason);
                    self.report.format(&self.found.location, &place(error));
                }
                ids.extend(own);
            }
            Err(error) => self.report.format(&self.found.location, &place(error)),
        }
        if let Err(error) = row_versions::check(self.fragment, message.version) {
            self.report.format(&self.found.location, &place(error));
        }
    }
}

/// No two rows that are there have the same id.
fn check_unique(found: &Found, mut ids: Vec<Range<u64>>, report: &mut Report<'_>) {
    ids.sort_by_key(|range| range.start);
    let twice = ids.iter().zip(ids.iter().skip(1)).filter(|(range, next)| next.start < range.end);
    let twice = twice.map(|(_, next)| next.start).collect::<Vec<_>>();
    if let Some(first) = twice.first() {
        let more = match twice.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        report.corrupt(&found.location, format!("two rows have the row id {first}{more}"));
    }
}
