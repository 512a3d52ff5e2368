//! An object store of which one request goes wrong.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};

/// What goes wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It does not arrive.
    Fails,
    /// It takes effect, and the answer is lost.
    AnswerLost,
    /// It arrives twice, and the answer is that to the second.
    Twice,
    /// If it writes, it arrives once more when all is done: [`Faulty::deliver`].
    Late,
}

/// Whether a request changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// It reads or lists.
    Read,
    /// It writes or removes.
    Write,
    /// It sends a part of an object, or puts the parts together.
    Part,
}

/// The store, in memory.
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<InMemory>,
    asked: Arc<Asked>,
    late: Mutex<Vec<Late>>,
}

/// Requests so far, and which of them goes wrong.
#[derive(Debug)]
struct Asked {
    fault: Option<(usize, Fault)>,
    requests: Mutex<Vec<Request>>,
}

impl Asked {
    /// Counts a request. What goes wrong with it, if anything does.
    fn next(&self, request: Request) -> Option<Fault> {
        let mut requests = self.requests.lock().unwrap();
        requests.push(request);
        self.fault.filter(|(at, _)| *at + 1 == requests.len()).map(|(_, fault)| fault)
    }
}

/// An upload in parts. One that goes wrong fails, or its answer is lost.
#[derive(Debug)]
struct Parts {
    inner: Box<dyn MultipartUpload>,
    asked: Arc<Asked>,
}

#[async_trait]
impl MultipartUpload for Parts {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        match self.asked.next(Request::Part) {
            None => self.inner.put_part(data),
            Some(Fault::Fails) => Box::pin(async { Err(lost()) }),
            Some(_) => {
                let part = self.inner.put_part(data);
                Box::pin(async { part.await.and(Err(lost())) })
            }
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        match self.asked.next(Request::Part) {
            None => self.inner.complete().await,
            Some(Fault::Fails) => Err(lost()),
            Some(_) => self.inner.complete().await.and(Err(lost())),
        }
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

type Late = (Path, PutPayload, PutOptions);

impl Faulty {
    /// The objects in `inner`, where the request with this number, counted from 0, goes wrong in this way.
    pub fn new(inner: Arc<InMemory>, fault: Option<(usize, Fault)>) -> Self {
        let asked = Arc::new(Asked { fault, requests: Mutex::default() });
        Self { inner, asked, late: Mutex::default() }
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.asked.requests.lock().unwrap().clone()
    }

    /// Lets what is late arrive.
    pub async fn deliver(&self) {
        let late = std::mem::take(&mut *self.late.lock().unwrap());
        for (location, payload, options) in late {
            let _ = self.inner.put_opts(&location, payload, options).await;
        }
    }

    /// Counts a request that only reads.
    fn read(&self) -> Result<()> {
        match self.asked.next(Request::Read) {
            Some(Fault::Fails) => Err(lost()),
            _ => Ok(()),
        }
    }
}

fn lost() -> Error {
    Error::Generic { store: "faulty", source: "lost".into() }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let put = || self.inner.put_opts(location, payload.clone(), options.clone());
        match self.asked.next(Request::Write) {
            None => put().await,
            Some(Fault::Fails) => Err(lost()),
            Some(Fault::AnswerLost) => put().await.and_then(|_| Err(lost())),
            Some(Fault::Twice) => {
                put().await?;
                put().await
            }
            Some(Fault::Late) => {
                self.late.lock().unwrap().push((location.clone(), payload.clone(), options.clone()));
                put().await
            }
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.read()?;
        let inner = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(Parts { inner, asked: Arc::clone(&self.asked) }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.read()?;
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.read()?;
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let inner = Arc::clone(&self.inner);
        let fault = self.asked.next(Request::Write);
        match fault {
            Some(Fault::Fails) => stream::iter([Err(lost())]).boxed(),
            Some(Fault::AnswerLost) => {
                inner.delete_stream(locations).map(|deleted| deleted.and_then(|_| Err(lost()))).boxed()
            }
            Some(Fault::Twice) => {
                let again = move |deleted: Result<Path>| {
                    let inner = Arc::clone(&inner);
                    async move {
                        let path = deleted?;
                        inner.delete(&path).await?;
                        inner.delete(&path).await.map(|()| path)
                    }
                };
                locations.then(again).boxed()
            }
            Some(Fault::Late) | None => inner.delete_stream(locations),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.read() {
            Ok(()) => self.inner.list(prefix),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.read()?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.read()?;
        self.inner.copy_opts(from, to, options).await
    }
}
