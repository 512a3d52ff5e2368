//! Which files each version of a table names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::Result;
use demilance::table::{FileKind, OpenOptions, Table, TableFile};

/// Short names for files, in the order in which they were first seen.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// By path.
    names: BTreeMap<String, (Kind, u64)>,
    counts: BTreeMap<Kind, u64>,
    fragments: BTreeSet<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The first file of a fragment.
    Data,
    /// One that was put beside it.
    Column,
    Deletions,
    Index,
}

impl Kind {
    const fn text(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Column => "column",
            Self::Deletions => "deletions",
            Self::Index => "index",
        }
    }
}

impl Ledger {
    /// A line for each version that there is, with its tags and its files.
    pub(super) async fn lines(&mut self, table: &Table) -> Result<String> {
        let tags = table.tags().await?;
        let mut lines = String::new();
        for info in table.versions().await? {
            let options = OpenOptions { version: Some(info.version), ..OpenOptions::default() };
            let version = Table::open_with(table.store().clone(), options).await?;
            let changes = version.changes_since(None).await?;
            let tags = tags.iter().filter(|tag| tag.version == info.version && tag.branch.is_none());
            let names =
                tags.fold(format!("version {}", info.version), |names, tag| names + " = " + &tag.name);
            writeln!(lines, "    {names:<24}{}", self.files(&changes.added))?;
        }
        Ok(lines)
    }

    /// `data 1-2   deletions 1`.
    fn files(&mut self, files: &[TableFile]) -> String {
        let mut numbers = BTreeMap::<Kind, BTreeSet<u64>>::new();
        for file in files {
            let (kind, number) = self.name(file);
            numbers.entry(kind).or_default().insert(number);
        }
        self.fragments.extend(files.iter().filter_map(|file| file.fragment));
        let parts = numbers.iter().map(|(kind, numbers)| format!("{} {}", kind.text(), ranges(numbers)));
        parts.collect::<Vec<_>>().join("   ")
    }

    fn name(&mut self, file: &TableFile) -> (Kind, u64) {
        if let Some(name) = self.names.get(&file.path) {
            return *name;
        }
        let kind = match file.kind {
            FileKind::Data if file.fragment.is_some_and(|fragment| self.fragments.contains(&fragment)) => {
                Kind::Column
            }
            FileKind::Data => Kind::Data,
            FileKind::Deletion => Kind::Deletions,
            _ => Kind::Index,
        };
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        self.names.insert(file.path.clone(), (kind, *count));
        (kind, *count)
    }
}

/// `1-3, 5`.
fn ranges(numbers: &BTreeSet<u64>) -> String {
    let mut runs: Vec<(u64, u64)> = vec![];
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let runs = runs.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers() {
        for (numbers, text) in [(&[1][..], "1"), (&[1, 2, 3], "1-3"), (&[1, 3, 4, 9], "1, 3-4, 9"), (&[], "")]
        {
            assert_eq!(ranges(&numbers.iter().copied().collect()), text);
        }
    }
}
