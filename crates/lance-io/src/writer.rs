//! The streaming writer of one file.

mod local;
#[cfg(feature = "object-store")]
mod object;

use bytes::Bytes;
use lance_footer::Extent;

use crate::error::Result;
use crate::store::{Durability, Files, hit};
use crate::{Alignment, Counts, IoError};
use local::LocalSink;
#[cfg(feature = "object-store")]
use object::ObjectSink;

static ZEROS: [u8; 4096] = [0; 4096];

/// Writes a file from its start to its end, with buffers at multiples of 64 or 4096 and zeros between.
///
/// The file appears when [`Self::finish`] succeeds. A writer that is dropped before, or that failed, leaves
/// nothing at its place.
#[derive(Debug)]
pub struct AlignedWriter {
    path: String,
    alignment: Alignment,
    position: u64,
    sink: Sink,
    /// Where written bytes are counted, if they are.
    counts: Option<Counts>,
    #[cfg(feature = "failpoints")]
    failpoints: Option<crate::FailPoints>,
}

/// Where the bytes go.
#[derive(Debug)]
pub(crate) enum Sink {
    Local(LocalSink),
    Memory(MemorySink),
    #[cfg(feature = "object-store")]
    Object(ObjectSink),
    /// A write failed or was not awaited to its end.
    Failed,
}

#[derive(Debug)]
pub(crate) struct MemorySink {
    files: Files,
    key: String,
    bytes: Vec<u8>,
}

impl Sink {
    pub(crate) async fn local(target: std::path::PathBuf, durability: Durability) -> Result<Self> {
        Ok(Self::Local(LocalSink::create(target, durability).await?))
    }

    pub(crate) fn memory(files: Files, key: String) -> Self {
        Self::Memory(MemorySink { files, key, bytes: vec![] })
    }

    #[cfg(feature = "object-store")]
    pub(crate) fn object(
        store: std::sync::Arc<dyn object_store::ObjectStore>,
        key: object_store::path::Path,
        name: String,
    ) -> Self {
        Self::Object(ObjectSink::new(store, key, name))
    }

    async fn write(&mut self, bytes: Bytes) -> Result<()> {
        match self {
            Self::Local(sink) => sink.write(bytes).await,
            Self::Memory(sink) => {
                sink.bytes.extend_from_slice(&bytes);
                Ok(())
            }
            #[cfg(feature = "object-store")]
            Self::Object(sink) => sink.write(bytes).await,
            // The writer does not come here.
            Self::Failed => Ok(()),
        }
    }
}

impl AlignedWriter {
    pub(crate) const fn new(path: String, alignment: Alignment, sink: Sink) -> Self {
        Self {
            path,
            alignment,
            position: 0,
            sink,
            counts: None,
            #[cfg(feature = "failpoints")]
            failpoints: None,
        }
    }

    pub(crate) fn with_counts(self, counts: Option<Counts>) -> Self {
        Self { counts, ..self }
    }

    #[cfg(feature = "failpoints")]
    pub(crate) fn with_failpoints(self, failpoints: Option<crate::FailPoints>) -> Self {
        Self { failpoints, ..self }
    }

    /// How many bytes were written.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// To what buffers are aligned.
    pub const fn alignment(&self) -> Alignment {
        self.alignment
    }

    /// The file that is written, for errors.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Writes `parts` as one buffer that starts at the next multiple of the alignment. An empty buffer takes
    /// no space, but its offset is aligned too.
    pub async fn buffer(&mut self, parts: Vec<Bytes>) -> Result<Extent, IoError> {
        let padding = usize::try_from(self.alignment.padding(self.position)).unwrap_or_default();
        if let Some(zeros) = ZEROS.get(..padding).filter(|zeros| !zeros.is_empty()) {
            self.raw(Bytes::from_static(zeros)).await?;
        }
        let start = self.position;
        for part in parts {
            self.raw(part).await?;
        }
        Extent::between(start, self.position).map_err(|error| IoError::format(&self.path, error))
    }

    /// Writes `bytes` right after what was written before.
    pub async fn raw(&mut self, bytes: Bytes) -> Result<(), IoError> {
        let len = bytes.len() as u64;
        // An error, or a future that is dropped half way, drops the sink and with it what it wrote: bytes may
        // be missing from here on.
        let mut sink = match std::mem::replace(&mut self.sink, Sink::Failed) {
            Sink::Failed => return Err(failed_before(self.path.clone())),
            sink => sink,
        };
        if let Some(counts) = &self.counts {
            counts.record_written(len);
        }
        sink.write(bytes).await?;
        self.sink = sink;
        self.position += len;
        Ok(())
    }

    /// Publishes the file and returns its size.
    pub async fn finish(self) -> Result<u64, IoError> {
        hit!(self, Finish, false, &self.path);
        match self.sink {
            Sink::Local(sink) => sink.finish().await?,
            Sink::Memory(MemorySink { files, key, bytes }) => files.insert(key, bytes.into()),
            #[cfg(feature = "object-store")]
            Sink::Object(sink) => sink.finish().await?,
            Sink::Failed => return Err(failed_before(self.path)),
        }
        hit!(self, Finish, true, &self.path);
        Ok(self.position)
    }
}

fn failed_before(path: String) -> IoError {
    let source = std::io::Error::other("an earlier write to this file failed or was cancelled");
    IoError::Io { path, source }
}
