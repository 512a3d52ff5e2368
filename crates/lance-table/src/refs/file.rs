//! Files of tags and branches: JSON, of which other software has more than is looked at here.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::{StreamExt, stream};
use lance_footer::FormatError;
use lance_io::{IoError, Store};
use serde_json::{Map, Value};

use super::name;
use crate::table::CONCURRENT;
use crate::{Result, TableError};

/// The two kinds of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tag,
    Branch,
}

impl Kind {
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Branch => "branch",
        }
    }

    const fn directory(self) -> &'static str {
        match self {
            Self::Tag => "_refs/tags",
            Self::Branch => "_refs/branches",
        }
    }

    /// The files that there are in `store`, with the names that they stand for.
    async fn files(self, store: &Store) -> Result<Vec<(String, String)>> {
        let listed = store.list(self.directory()).await?;
        let files = listed.into_iter().filter(|listed| !listed.is_dir);
        Ok(files.filter_map(|listed| Some((name::of_file(&listed.name)?, listed.name))).collect())
    }

    /// All that there are in `store`, by name. A file that is not as it should be is an error that names it.
    pub(super) async fn list<T>(
        self,
        store: &Store,
        parse: impl Fn(&str, &Object) -> Result<T, FormatError>,
    ) -> Result<Vec<T>> {
        self.list_each(store, parse).await?.into_iter().map(|(_, read)| read).collect()
    }

    /// All files that there are in `store`, by name, each with its path and what came of reading it.
    pub(super) async fn list_each<T>(
        self,
        store: &Store,
        parse: impl Fn(&str, &Object) -> Result<T, FormatError>,
    ) -> Result<Vec<(String, Result<T>)>> {
        let mut files = self.files(store).await?;
        files.sort();
        let parse = &parse;
        let read = files.into_iter().map(|(name, file)| async move {
            let path = format!("{}/{file}", self.directory());
            let read = match store.read_all(&path).await {
                Ok(bytes) => self.parse(store, &path, &bytes, &name, parse),
                // Removed since it was listed.
                Err(IoError::NotFound { .. }) => return None,
                Err(error) => Err(error.into()),
            };
            Some((path, read))
        });
        let read: Vec<_> = stream::iter(read).buffered(CONCURRENT).collect().await;
        Ok(read.into_iter().flatten().collect())
    }

    /// The one called `name`.
    pub(super) async fn read<T>(
        self,
        store: &Store,
        name: &str,
        parse: impl Fn(&str, &Object) -> Result<T, FormatError>,
    ) -> Result<T> {
        let path = self.path(store, name).await?;
        match store.read_all(&path).await {
            Ok(bytes) => self.parse(store, &path, &bytes, name, parse),
            Err(IoError::NotFound { .. }) => {
                let names = self.files(store).await?.into_iter().map(|(name, _)| name).collect();
                let (location, instead) = (store.location(""), name::instead(name, names));
                Err(TableError::UnknownRef { location, kind: self.noun(), name: name.into(), instead })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The file of `name`. Others do not escape all that is escaped here.
    async fn path(self, store: &Store, name: &str) -> Result<String> {
        let own = name::to_file(name);
        let file = match name::is_plain(&name.replace('/', "")) {
            true => own,
            false => {
                let files = self.files(store).await?.into_iter();
                files.filter(|(known, _)| known == name).map(|(_, file)| file).next().unwrap_or(own)
            }
        };
        Ok(format!("{}/{file}", self.directory()))
    }

    fn parse<T>(
        self,
        store: &Store,
        path: &str,
        bytes: &[u8],
        name: &str,
        parse: impl Fn(&str, &Object) -> Result<T, FormatError>,
    ) -> Result<T> {
        let object = Object::parse(self, bytes);
        let parsed = object.and_then(|object| parse(name, &object));
        parsed.map_err(|error| TableError::format(store.location(path), error))
    }

    /// Writes one that must not exist.
    pub(super) async fn create(self, store: &Store, name: &str, object: Value) -> Result<()> {
        let path = self.path(store, name).await?;
        // Where the condition is ignored, names are at least not taken away by who comes much later.
        if !store.honours_conditions(self.directory()).await? && store.read_all(&path).await.is_ok() {
            return Err(self.exists(store, name));
        }
        let bytes = text(&object);
        let Err(error) = store.put_if_absent(&path, bytes.clone()).await else { return Ok(()) };
        // It stands there, and may be gone after a power failure.
        if matches!(error, IoError::NotDurable { .. }) {
            return Err(error.into());
        }
        // The answer to a write that took effect can get lost; when it is sent again, it finds itself there. What a file says
        // has a time or an id that no other has.
        match (store.read_all(&path).await, error) {
            (Ok(there), _) if there == bytes => Ok(()),
            (_, IoError::AlreadyExists { .. }) | (Ok(_), _) => Err(self.exists(store, name)),
            (_, error) => Err(error.into()),
        }
    }

    /// Writes one over what was there.
    pub(super) async fn replace(self, store: &Store, name: &str, object: Value) -> Result<()> {
        Ok(store.put(&self.path(store, name).await?, text(&object)).await?)
    }

    pub(super) async fn remove(self, store: &Store, name: &str) -> Result<()> {
        Ok(store.delete(&self.path(store, name).await?).await?)
    }

    pub(super) fn exists(self, store: &Store, name: &str) -> TableError {
        TableError::RefExists { location: store.location(""), kind: self.noun(), name: name.into() }
    }
}

fn text(object: &Value) -> Bytes {
    // With indentation, as others write it.
    format!("{object:#}").into()
}

/// The members of a file, which are looked at one by one.
pub(super) struct Object {
    kind: Kind,
    members: Map<String, Value>,
}

impl Object {
    fn parse(kind: Kind, bytes: &[u8]) -> Result<Self, FormatError> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(members)) => Ok(Self { kind, members }),
            Ok(_) => Err(FormatError::corrupt(kind.noun(), "it is no JSON object")),
            Err(error) => Err(FormatError::corrupt(kind.noun(), format!("it is no JSON: {error}"))),
        }
    }

    pub(super) fn corrupt(&self, reason: impl Into<String>) -> FormatError {
        FormatError::corrupt(self.kind.noun(), reason)
    }

    /// The member `key`; none if it is missing or null.
    pub(super) fn find(&self, key: &str) -> Option<&Value> {
        self.members.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn number(&self, key: &str) -> Result<u64, FormatError> {
        let value = self.find(key).ok_or_else(|| self.corrupt(format!("{key} is missing")))?;
        value.as_u64().ok_or_else(|| self.corrupt(format!("{key} is {value}, which is no number of one")))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, FormatError> {
        let Some(value) = self.find(key) else { return Ok(None) };
        let text =
            value.as_str().ok_or_else(|| self.corrupt(format!("{key} is {value}, which is no text")))?;
        Ok(Some(text))
    }

    /// Key-value pairs.
    pub(super) fn pairs(&self, key: &str) -> Result<BTreeMap<String, String>, FormatError> {
        let Some(value) = self.find(key) else { return Ok(BTreeMap::new()) };
        let wrong = || self.corrupt(format!("{key} is {value}, which are no pairs of texts"));
        let pairs = value.as_object().ok_or_else(wrong)?.iter();
        pairs.map(|(key, value)| Ok((key.clone(), value.as_str().ok_or_else(wrong)?.to_string()))).collect()
    }
}
