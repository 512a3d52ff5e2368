//! `--version`, `--tag`, `--branch` and `--as-of`: which version of a table is meant.

use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat, Utc};
use clap::Args;
use demilance::io::Store;
use demilance::table::{At, OpenOptions, Reference, Table};

use crate::place::{self, Place};

/// The options.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WhichVersion {
    /// Version of the table [default: the latest]
    #[arg(long, value_name = "N")]
    version: Option<u64>,
    /// Version that this tag names, which may be one of a branch
    #[arg(long, value_name = "NAME", conflicts_with_all = ["version", "branch", "as_of"])]
    tag: Option<String>,
    /// Branch of the table
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Newest version of that time or before: 2026-11-30 (all of that day), 2026-11-30T10:15, or with seconds and a zone;
    /// without a zone in UTC
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "version")]
    as_of: Option<SystemTime>,
}

impl WhichVersion {
    /// The latest version of `branch`; of the table itself if there is none.
    pub(crate) fn of_branch(branch: Option<String>) -> Self {
        Self { branch, ..Self::default() }
    }

    /// Whether anything was said.
    pub(crate) fn is_given(&self) -> bool {
        self.reference() != Reference::default()
    }

    /// Whether a version was said, and not just a branch.
    pub(crate) fn is_one_version(&self) -> bool {
        self.reference().at != At::Latest
    }

    /// The version that the options name.
    pub(crate) fn reference(&self) -> Reference {
        let at = match (self.version, &self.tag, self.as_of) {
            (Some(version), _, _) => At::Version(version),
            (_, Some(tag), _) => At::Tag(tag.clone()),
            (_, _, Some(time)) => At::Time(time),
            _ => At::Latest,
        };
        Reference { branch: self.branch.clone(), at }
    }

    /// Opens the table in `store`; `options` say how, but for the version.
    pub(crate) async fn open(&self, store: Store, options: OpenOptions) -> Result<Table> {
        Ok(Table::open_at(store, &self.reference(), options).await?)
    }

    /// Opens the table at `path`. Errors name it.
    pub(crate) async fn open_path(&self, path: &str) -> Result<Table> {
        let store = table_at(path).await?;
        self.open(store, OpenOptions::default()).await.with_context(|| path.to_string())
    }
}

/// The store of the table at `path`.
pub(crate) async fn table_at(path: &str) -> Result<Store> {
    let store = place::store(path)?;
    match place::is_table(&store).await? {
        true => Ok(store),
        false => match Place::find(path).await? {
            Place::Table(store) => Ok(store),
            Place::File(_) => bail!("{path}: is one file, only tables have versions"),
        },
    }
}

/// A time in UTC, `2026-11-30 10:15:00Z`.
pub(crate) fn time_text(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).format("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// A time as JSON has it, `2026-11-30T10:15:00.250Z`.
pub(crate) fn time_json(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

fn parse_time(text: &str) -> Result<SystemTime, String> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time.into());
    }
    let plain = text.replacen('T', " ", 1);
    let plain = plain.trim_end_matches('Z');
    for format in ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"] {
        if let Ok(time) = NaiveDateTime::parse_from_str(plain, format) {
            return Ok(time.and_utc().into());
        }
    }
    // The day counts whole.
    let day = NaiveDate::parse_from_str(plain, "%Y-%m-%d").ok();
    let end = day.and_then(|day| day.and_hms_nano_opt(23, 59, 59, 999_999_999));
    end.map(|end| end.and_utc().into()).ok_or_else(|| {
        "it is no time such as 2026-11-30, 2026-11-30T10:15 or 2026-11-30T10:15:00+01:00".to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_many_kinds() {
        for (text, expected) in [
            ("2026-11-30", "2026-11-30T23:59:59.999999999Z"),
            ("2026-11-30T10:15", "2026-11-30T10:15:00Z"),
            ("2026-11-30 10:15:02.25", "2026-11-30T10:15:02.250Z"),
            ("2026-11-30 10:15:02Z", "2026-11-30T10:15:02Z"),
            ("2026-11-30T10:15:02+01:00", "2026-11-30T09:15:02Z"),
        ] {
            assert_eq!(time_json(parse_time(text).unwrap()), expected, "{text}");
        }
        for text in ["", "yesterday", "2026-13-01", "12:00", "2026-11-30T25:00"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
