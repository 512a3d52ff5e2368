//! Which version made each row, and which changed it last (docs/format/table.md §8.2). Only tables with stable row ids say
//! so; elsewhere all rows are of version 1.

use bytes::Bytes;
use lance_footer::{FormatError, Result};

use crate::proto::DataFragment;
use crate::proto::data_fragment::{CreatedAtVersionSequence, LastUpdatedAtVersionSequence};
use crate::row_ids;

/// A version for each row of a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowVersions {
    /// Where each run of rows of the same version ends, and the version.
    runs: Vec<(u64, u64)>,
}

impl RowVersions {
    /// The versions that made the rows of `fragment`.
    pub(crate) fn created(fragment: &DataFragment) -> Result<Self> {
        match &fragment.created_at_version_sequence {
            None => Ok(Self::first(fragment)),
            Some(CreatedAtVersionSequence::InlineCreatedAtVersions(bytes)) => {
                parse("created-at version sequence", bytes, fragment)
            }
            Some(CreatedAtVersionSequence::ColumnCreatedAtVersions(_)) => Err(hidden()),
        }
    }

    /// The versions that changed the rows of `fragment` last.
    pub(crate) fn updated(fragment: &DataFragment) -> Result<Self> {
        match &fragment.last_updated_at_version_sequence {
            None => Ok(Self::first(fragment)),
            Some(LastUpdatedAtVersionSequence::InlineLastUpdatedAtVersions(bytes)) => {
                parse("last-updated-at version sequence", bytes, fragment)
            }
            Some(LastUpdatedAtVersionSequence::ColumnLastUpdatedAtVersions(_)) => Err(hidden()),
        }
    }

    fn first(fragment: &DataFragment) -> Self {
        Self { runs: vec![(fragment.physical_rows, 1)] }
    }

    /// The runs of rows of the same version: where each ends, and the version.
    pub(crate) fn runs(&self) -> &[(u64, u64)] {
        &self.runs
    }

    /// The version of the row at the physical `offset`.
    pub(crate) fn at(&self, offset: u64) -> u64 {
        let run = self.runs.partition_point(|(end, _)| *end <= offset);
        self.runs.get(run).map_or(1, |(_, version)| *version)
    }
}

fn parse(name: &'static str, bytes: &Bytes, fragment: &DataFragment) -> Result<RowVersions> {
    let runs = row_ids::runs_of_versions(bytes, fragment.physical_rows)
        .map_err(|error| FormatError::corrupt(name, error.to_string()))?;
    // The lengths add up to the rows of the fragment.
    let ends = runs.into_iter().scan(0_u64, |end, (rows, version)| {
        *end = end.saturating_add(rows);
        Some((*end, version))
    });
    Ok(RowVersions { runs: ends.collect() })
}

fn hidden() -> FormatError {
    FormatError::unsupported("versions of rows that are stored as a hidden column")
}

/// Checks what `fragment`, of a table of `version`, says about the versions of its rows.
pub(crate) fn check(fragment: &DataFragment, version: u64) -> Result<()> {
    for (name, versions) in [
        ("created-at version sequence", RowVersions::created(fragment)),
        ("last-updated-at version sequence", RowVersions::updated(fragment)),
    ] {
        // What is stored as a column cannot be looked at here.
        let versions = match versions {
            Err(FormatError::Unsupported { .. }) => continue,
            versions => versions?,
        };
        if let Some((_, late)) = versions.runs.iter().find(|(_, of)| *of > version) {
            return Err(FormatError::corrupt(name, format!("rows of version {late} in version {version}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::proto::u64_segment::{Range, RangeWithBitmap, Segment};
    use crate::proto::{RowDatasetVersionRun, RowDatasetVersionSequence, U64Segment};

    #[test]
    fn versions_of_rows_must_fit() {
        let mut fragments = [DataFragment { physical_rows: 3, ..Default::default() }];
        row_ids::assign(&mut fragments, 10, 4).unwrap();
        let [mut fragment] = fragments;
        check(&fragment, 4).unwrap();
        let error = check(&fragment, 3).unwrap_err().to_string();
        assert!(error.contains("created-at") && error.contains("version 4 in version 3"), "{error}");
        fragment.physical_rows = 4;
        let error = check(&fragment, 4).unwrap_err().to_string();
        assert!(error.contains("3 versions for 4 rows"), "{error}");
        check(&DataFragment::default(), 1).unwrap();
    }

    #[test]
    fn only_the_lengths_of_spans_count() {
        let run = |segment, version| RowDatasetVersionRun {
            span: Some(U64Segment { segment: Some(segment) }),
            version,
        };
        let runs = vec![
            run(Segment::Range(Range { start: 7, end: 9 }), 5),
            run(Segment::Range(Range::default()), 8),
            run(Segment::RangeWithBitmap(RangeWithBitmap { start: 0, end: 5, bitmap: vec![0x19].into() }), 2),
        ];
        let bytes = RowDatasetVersionSequence { runs }.encode_to_vec().into();
        let fragment = DataFragment {
            physical_rows: 5,
            created_at_version_sequence: Some(CreatedAtVersionSequence::InlineCreatedAtVersions(bytes)),
            ..Default::default()
        };
        let created = RowVersions::created(&fragment).unwrap();
        assert_eq!([0, 1, 2, 3, 4].map(|offset| created.at(offset)), [5, 5, 2, 2, 2]);
        let updated = RowVersions::updated(&fragment).unwrap();
        assert_eq!([0, 4].map(|offset| updated.at(offset)), [1, 1]);
        check(&fragment, 8).unwrap();
        assert!(check(&fragment, 4).is_err());
    }
}
