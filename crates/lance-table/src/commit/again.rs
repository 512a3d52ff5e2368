use std::future::ready;
use std::time::Instant;

use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};

use super::{CommitOptions, transactions};
use crate::filter::Filter;
use crate::operation;
use crate::proto::transaction::Operation as Stored;
use crate::{Expr, Result, Table, TableError};

/// Does `work` from `table`, and again from the latest version for as long as what others commit meanwhile makes that
/// needed and possible.
pub(crate) async fn again<'a, T>(
    table: &Table,
    options: &CommitOptions,
    work: impl FnMut(Table) -> BoxFuture<'a, Result<T>>,
) -> Result<T> {
    again_while(table, options, work, |_| ready(Ok(true)).boxed()).await
}

/// The same for work on the rows that pass `filter`. Where it names rows by where they lie, other rows may lie there by the
/// time of a second attempt, so that there is none.
pub(crate) async fn again_for<'a, T>(
    table: &Table,
    filter: Option<&Expr>,
    options: &CommitOptions,
    mut work: impl FnMut(Table) -> BoxFuture<'a, Result<T>>,
) -> Result<T> {
    let by_place = match filter {
        Some(filter) => Filter::new(&table.shared, filter)?.by_place(table.manifest()),
        None => None,
    };
    let Some(column) = by_place else { return again(table, options, work).await };
    work(table.clone()).await.map_err(|mut error| {
        if let TableError::Conflict { reason, retryable, .. } = &mut error {
            reason.push_str(&format!("; other rows may have the {} that the filter names", column.name()));
            *retryable = false;
        }
        error
    })
}

/// The same, if `goes_on` says of the latest version that the work can be done from there.
pub(crate) async fn again_while<'a, T>(
    table: &Table,
    options: &CommitOptions,
    mut work: impl FnMut(Table) -> BoxFuture<'a, Result<T>>,
    mut goes_on: impl FnMut(Table) -> BoxFuture<'a, Result<bool>>,
) -> Result<T> {
    let mut table = table.clone();
    let mut since = None;
    for _ in 0..options.retries {
        let refused = match work(table.clone()).await {
            Err(error @ TableError::Conflict { retryable: true, .. })
                if since.get_or_insert_with(Instant::now).elapsed() <= options.patience =>
            {
                error
            }
            done => return done,
        };
        table = table.latest().await?;
        if !goes_on(table.clone()).await? {
            return Err(refused);
        }
    }
    work(table).await
}

/// The error of `ours`, which was begun on version `since` and cannot be worked out again from `table`, since columns were
/// changed: `reason` says which.
pub(crate) async fn columns_changed(
    table: &Table,
    since: u64,
    ours: &'static str,
    reason: String,
) -> TableError {
    let changed = async {
        let (mut version, mut last) = (since, (table.version(), operation::name(None)));
        let mut others = transactions(table.store(), since, &table.shared.found);
        while let Some(other) = others.try_next().await? {
            version = version.saturating_add(1);
            if let Some(other @ (Stored::Merge(_) | Stored::Project(_))) =
                other.and_then(|other| other.operation)
            {
                last = (version, operation::name(Some(&other)));
            }
        }
        Ok(last)
    };
    match changed.await {
        Ok((version, theirs)) => {
            let location = table.store().location("");
            TableError::Conflict { location, version, ours, theirs, reason, retryable: true }
        }
        Err(error) => error,
    }
}
