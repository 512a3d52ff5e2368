use std::future::ready;
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::CommitOptions;
use crate::{Result, Table, TableError};

/// Does `work` from `table`, and again from the latest version for as long as what others commit meanwhile makes that
/// needed and possible.
pub(crate) async fn again<'a, T>(
    table: &Table,
    options: &CommitOptions,
    work: impl FnMut(Table) -> BoxFuture<'a, Result<T>>,
) -> Result<T> {
    again_while(table, options, work, |_| ready(Ok(true)).boxed()).await
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
