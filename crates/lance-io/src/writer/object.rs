use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::IoError;
use crate::error::Result;

/// Bytes of a part. Stores want at least 5 MiB, and some want all parts but the last to be equal.
const PART: usize = 8 * 1024 * 1024;
/// Stores take at most 10,000 parts. Objects of more than this many parts get larger ones from there on.
const EQUAL_PARTS: u32 = 1000;
const LARGE_PART: usize = 64 * 1024 * 1024;
/// Parts that are sent at a time.
const PARALLEL: usize = 4;

/// Writes an object: small ones with one put, others in parts.
#[derive(Debug)]
pub(crate) struct ObjectSink {
    store: Arc<dyn ObjectStore>,
    key: Path,
    name: String,
    pending: Vec<Bytes>,
    pending_bytes: usize,
    upload: Option<Upload>,
}

/// An upload in parts. It is aborted on drop unless it was completed: parts that nobody completes cost
/// money and show up nowhere.
#[derive(Debug)]
struct Upload {
    multipart: Option<Box<dyn MultipartUpload>>,
    in_flight: JoinSet<object_store::Result<()>>,
    parts: u32,
}

impl ObjectSink {
    pub(super) const fn new(store: Arc<dyn ObjectStore>, key: Path, name: String) -> Self {
        Self { store, key, name, pending: vec![], pending_bytes: 0, upload: None }
    }

    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.pending_bytes += bytes.len();
        self.pending.push(bytes);
        while self.pending_bytes >= self.part_bytes() {
            let part = self.take_part(self.part_bytes());
            if let Err(error) = self.send(part).await {
                return self.fail(error).await;
            }
        }
        Ok(())
    }

    pub(super) async fn finish(mut self) -> Result<()> {
        let rest = self.take_part(self.pending_bytes);
        let done = match self.upload {
            None => self.store.put(&self.key, rest).await.map(|_| ()),
            Some(_) => match self.send(rest).await {
                Ok(()) => self.complete().await,
                Err(error) => Err(error),
            },
        };
        match done {
            Ok(()) => Ok(()),
            Err(error) => self.fail(error).await,
        }
    }

    fn part_bytes(&self) -> usize {
        match &self.upload {
            Some(upload) if upload.parts >= EQUAL_PARTS => LARGE_PART,
            _ => PART,
        }
    }

    /// The first `len` pending bytes.
    fn take_part(&mut self, len: usize) -> PutPayload {
        let mut part = vec![];
        let mut wanted = len;
        let mut pending = std::mem::take(&mut self.pending).into_iter();
        for mut bytes in pending.by_ref() {
            if bytes.len() > wanted {
                part.push(bytes.split_to(wanted));
                self.pending.push(bytes);
                break;
            }
            wanted -= bytes.len();
            part.push(bytes);
        }
        self.pending.extend(pending);
        self.pending_bytes -= len;
        part.into_iter().filter(|bytes| !bytes.is_empty()).collect()
    }

    async fn send(&mut self, part: PutPayload) -> object_store::Result<()> {
        if part.content_length() == 0 {
            return Ok(());
        }
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => {
                let multipart = self.store.put_multipart(&self.key).await?;
                none.insert(Upload { multipart: Some(multipart), in_flight: JoinSet::new(), parts: 0 })
            }
        };
        while upload.in_flight.len() >= PARALLEL {
            upload.wait().await?;
        }
        upload.parts += 1;
        let Some(multipart) = &mut upload.multipart else { return Ok(()) };
        let sent = multipart.put_part(part);
        match Handle::try_current() {
            Ok(runtime) => {
                upload.in_flight.spawn_on(sent, &runtime);
                Ok(())
            }
            Err(_) => sent.await,
        }
    }

    async fn complete(&mut self) -> object_store::Result<()> {
        let Some(upload) = &mut self.upload else { return Ok(()) };
        while !upload.in_flight.is_empty() {
            upload.wait().await?;
        }
        if let Some(multipart) = &mut upload.multipart {
            multipart.complete().await?;
        }
        upload.multipart = None;
        Ok(())
    }

    /// Takes back what was sent, and says what went wrong.
    async fn fail(&mut self, error: object_store::Error) -> Result<()> {
        if let Some(mut upload) = self.upload.take() {
            upload.in_flight.shutdown().await;
            if let Some(mut multipart) = upload.multipart.take() {
                // The first error is the one to tell.
                let _ = multipart.abort().await;
            }
        }
        Err(IoError::from_store(&self.name, error))
    }
}

impl Upload {
    async fn wait(&mut self) -> object_store::Result<()> {
        match self.in_flight.join_next().await {
            Some(Ok(result)) => result,
            Some(Err(source)) => Err(object_store::Error::JoinError { source }),
            None => Ok(()),
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.in_flight.abort_all();
        if let (Some(mut multipart), Ok(runtime)) = (self.multipart.take(), Handle::try_current()) {
            runtime.spawn(async move {
                // There is nobody to tell.
                let _ = multipart.abort().await;
            });
        }
    }
}
