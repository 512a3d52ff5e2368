use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use bytes::Bytes;
use tokio::task::JoinHandle;

use crate::IoError;
use crate::error::Result;
use crate::read::hop;
use crate::store::{Durability, Publish, Temporary};

/// How many bytes are worth a hop to the blocking pool.
const FLUSH: usize = 4 * 1024 * 1024;
/// Parts smaller than this are copied together before they are written.
const SMALL: usize = 256 * 1024;

/// Writes to a temporary file on the blocking pool, one batch of parts at a time, while the next batch is
/// collected.
#[derive(Debug)]
pub(crate) struct LocalSink {
    /// Removed on drop. Declared before the file: not every system removes what is open.
    temporary: Temporary,
    name: String,
    file: Writing,
    pending: Vec<Bytes>,
    pending_bytes: usize,
    durability: Durability,
}

#[derive(Debug)]
enum Writing {
    Idle(BufWriter<File>),
    Busy(JoinHandle<std::io::Result<BufWriter<File>>>),
    /// Between two states, or after an error.
    Lost,
}

impl LocalSink {
    pub(super) async fn create(target: PathBuf, durability: Durability) -> Result<Self> {
        let name = target.display().to_string();
        let durable = durability.wanted;
        let (temporary, file) = hop(&name, move || Temporary::create(target, durable)).await?;
        let file = Writing::Idle(BufWriter::with_capacity(SMALL, file));
        Ok(Self { temporary, name, file, pending: vec![], pending_bytes: 0, durability })
    }

    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.pending_bytes += bytes.len();
        self.pending.push(bytes);
        if self.pending_bytes < FLUSH {
            return Ok(());
        }
        let file = self.idle().await?;
        let parts = self.take_pending();
        self.file = match tokio::runtime::Handle::try_current() {
            Ok(runtime) => Writing::Busy(runtime.spawn_blocking(move || write_all(file, &parts))),
            Err(_) => Writing::Idle(write_all(file, &parts).map_err(|error| self.refused(error))?),
        };
        Ok(())
    }

    pub(super) async fn finish(mut self) -> Result<()> {
        let file = self.idle().await?;
        let parts = self.take_pending();
        let Self { temporary, name, durability, .. } = self;
        hop(&name.clone(), move || {
            let file = write_all(file, &parts).and_then(|file| file.into_inner().map_err(Into::into));
            let file = file.map_err(|error| IoError::from_io(name, error))?;
            temporary.publish(&file, Publish::Replace, &durability)
        })
        .await
    }

    /// The file, once the batch before is written.
    async fn idle(&mut self) -> Result<BufWriter<File>> {
        let written = match std::mem::replace(&mut self.file, Writing::Lost) {
            Writing::Idle(file) => Ok(file),
            Writing::Busy(task) => task.await.unwrap_or_else(|error| Err(std::io::Error::other(error))),
            Writing::Lost => Err(std::io::Error::other("an earlier write was not finished")),
        };
        written.map_err(|error| self.refused(error))
    }

    fn take_pending(&mut self) -> Vec<Bytes> {
        self.pending_bytes = 0;
        std::mem::take(&mut self.pending)
    }

    fn refused(&self, error: std::io::Error) -> IoError {
        IoError::from_io(&self.name, error)
    }
}

fn write_all(mut file: BufWriter<File>, parts: &[Bytes]) -> std::io::Result<BufWriter<File>> {
    for part in parts {
        file.write_all(part)?;
    }
    Ok(file)
}
