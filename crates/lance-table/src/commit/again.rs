use std::time::Instant;

use futures::future::BoxFuture;

use super::CommitOptions;
use crate::{Result, Table, TableError};

/// Does `work` from `table`, and again from the latest version for as long as what others commit meanwhile makes that
/// needed and possible.
pub(crate) async fn again<'a, T>(
    table: &Table,
    options: &CommitOptions,
    mut work: impl FnMut(Table) -> BoxFuture<'a, Result<T>>,
) -> Result<T> {
    let mut table = table.clone();
    let mut since = None;
    for _ in 0..options.retries {
        match work(table.clone()).await {
            Err(TableError::Conflict { retryable: true, .. })
                if since.get_or_insert_with(Instant::now).elapsed() <= options.patience => {}
            done => return done,
        }
        table = table.latest().await?;
    }
    work(table).await
}
