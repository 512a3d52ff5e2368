use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions};
use tokio::sync::OnceCell;

use crate::error::Result;
use crate::{IoError, Listed};

/// An object store, and what names its root in locations.
#[derive(Debug, Clone)]
pub(crate) struct Objects {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(super) base: String,
    /// Whether a write that must not replace anything is refused where something is, once that is known.
    conditions: Arc<OnceCell<bool>>,
}

impl Objects {
    pub(super) fn new(store: Arc<dyn ObjectStore>, base: String) -> Self {
        Self { store, base, conditions: Arc::default() }
    }

    /// Whether the store refuses to write over what is there when it is told to; found out once, with a file below `dir`
    /// that no reader takes for one of a table.
    pub(super) async fn honours_conditions(&self, dir: &str) -> Result<bool> {
        self.conditions.get_or_try_init(|| self.probe(dir)).await.copied()
    }

    async fn probe(&self, dir: &str) -> Result<bool> {
        let path = format!("{dir}/.tmp-probe-{}", uuid::Uuid::new_v4().simple());
        let first = self.put(&path, Bytes::from_static(b"1"), PutMode::Create).await;
        match first {
            Err(IoError::Store { source: object_store::Error::NotImplemented { .. }, .. }) => {
                return Ok(false);
            }
            // Nobody else has this name: it was sent twice, and the second found the first.
            Err(IoError::AlreadyExists { .. }) => return self.delete(&path).await.map(|()| true),
            first => first?,
        }
        let second = self.put(&path, Bytes::from_static(b"2"), PutMode::Create).await;
        let removed = self.delete(&path).await;
        match second {
            Err(IoError::AlreadyExists { .. }) => removed.map(|()| true),
            Ok(()) => removed.map(|()| false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn location(&self, path: &str) -> String {
        format!("{}/{path}", self.base)
    }

    /// `path` as a key. It is taken as it is: characters that have a meaning in URLs have none in keys.
    pub(super) fn key(&self, path: &str) -> Result<Path> {
        let invalid = |error: object_store::path::Error| IoError::InvalidUrl {
            url: self.location(path),
            reason: error.to_string(),
        };
        Path::parse(path).map_err(invalid)
    }

    pub(super) async fn read_all(&self, path: &str) -> Result<Bytes> {
        let refused = |error| IoError::from_store(self.location(path), error);
        self.store.get(&self.key(path)?).await.map_err(refused)?.bytes().await.map_err(refused)
    }

    pub(super) async fn put(&self, path: &str, bytes: Bytes, mode: PutMode) -> Result<()> {
        let put = self.store.put_opts(&self.key(path)?, bytes.into(), PutOptions::from(mode)).await;
        put.map(|_| ()).map_err(|error| IoError::from_store(self.location(path), error))
    }

    pub(super) async fn list(&self, dir: &str) -> Result<Vec<Listed>> {
        let prefix = self.key(dir)?;
        let found = match self.store.list_with_delimiter(Some(&prefix)).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(vec![]),
            Err(error) => return Err(IoError::from_store(self.location(dir), error)),
        };
        let named = |path: &Path| path.filename().unwrap_or_default().to_owned();
        let directories = found.common_prefixes.iter();
        let directory = |name| Listed { name, size: 0, is_dir: true, modified: None };
        let directories = directories.map(|path| directory(named(path)));
        let objects = found.objects.iter().map(|meta| file(named(&meta.location), meta));
        Ok(directories.chain(objects).collect())
    }

    /// Those of the first `count` objects below `dir` that lie directly in it, as the store lists them; and whether there
    /// are no more.
    pub(super) async fn first(&self, dir: &str, count: usize) -> Result<(Vec<Listed>, bool)> {
        let prefix = self.key(dir)?;
        let (mut listed, mut seen) = (vec![], 0);
        let mut found = self.store.list(Some(&prefix)).take(count);
        while let Some(meta) = found.next().await {
            seen += 1;
            let meta = match meta {
                Ok(meta) => meta,
                Err(object_store::Error::NotFound { .. }) => break,
                Err(error) => return Err(IoError::from_store(self.location(dir), error)),
            };
            // What lies further below comes along.
            let mut parts = meta.location.prefix_match(&prefix).into_iter().flatten();
            if let (Some(name), None) = (parts.next(), parts.next()) {
                listed.push(file(name.as_ref().into(), &meta));
            }
        }
        Ok((listed, seen < count))
    }

    /// Removes all objects below `dir`.
    pub(super) async fn delete_all(&self, dir: &str) -> Result<()> {
        let refused = |error| IoError::from_store(self.location(dir), error);
        let found = self.store.list(Some(&self.key(dir)?)).map_ok(|meta| meta.location).boxed();
        let mut removed = self.store.delete_stream(found);
        while let Some(result) = removed.next().await {
            match result {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Ok(())
    }

    pub(super) async fn delete(&self, path: &str) -> Result<()> {
        match self.store.delete(&self.key(path)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(IoError::from_store(self.location(path), error)),
        }
    }
}

fn file(name: String, meta: &ObjectMeta) -> Listed {
    Listed { name, size: meta.size, is_dir: false, modified: Some(meta.last_modified.into()) }
}
