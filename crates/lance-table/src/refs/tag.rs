use std::collections::BTreeMap;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use lance_footer::FormatError;
use lance_io::Store;
use serde_json::{Value, json};

use super::file::{Kind, Object};
use super::name;
use crate::{Result, Table};

/// A name for a version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tag {
    /// The name.
    pub name: String,
    /// The branch of the version; none for the table itself.
    pub branch: Option<String>,
    /// The version.
    pub version: u64,
    /// When it was made, if it says so.
    pub created: Option<SystemTime>,
    /// When it was changed for the last time, if it says so.
    pub updated: Option<SystemTime>,
    /// Key-value pairs.
    pub metadata: BTreeMap<String, String>,
}

impl Table {
    /// All tags of the table, also of its other branches, by name.
    pub async fn tags(&self) -> Result<Vec<Tag>> {
        list(&self.main_root()?).await
    }

    /// The tag `name`.
    pub async fn tag(&self, name: &str) -> Result<Tag> {
        read(&self.main_root()?, name).await
    }

    /// Tags this version. An error if there is a tag of that name.
    ///
    /// While a tag names a version, cleaning up leaves what the version needs.
    pub async fn create_tag(&self, name: &str) -> Result<Tag> {
        name::check_tag(name)?;
        let now = Some(SystemTime::now());
        let tag = self.tagged(name, now, BTreeMap::new());
        let object = tag.to_json(self.manifest_size().await?);
        let root = self.main_root()?;
        Kind::Tag.create(&root, name, object).await?;
        // A clean-up that is at work sees the tag, or has removed the manifest of this version before.
        if let Err(error) = self.still_there().await {
            Kind::Tag.remove(&root, name).await?;
            return Err(error);
        }
        Ok(tag)
    }

    /// Makes the tag `name`, which must exist, one of this version.
    pub async fn update_tag(&self, name: &str) -> Result<Tag> {
        let root = self.main_root()?;
        let old = read(&root, name).await?;
        let tag = self.tagged(name, old.created, old.metadata.clone());
        let size = self.manifest_size().await?;
        Kind::Tag.replace(&root, name, tag.to_json(size)).await?;
        if let Err(error) = self.still_there().await {
            // Readers look at the size as at a hint.
            Kind::Tag.replace(&root, name, old.to_json(size)).await?;
            return Err(error);
        }
        Ok(tag)
    }

    /// Removes the tag `name`, and gives what it was. The version stays until a clean-up.
    pub async fn delete_tag(&self, name: &str) -> Result<Tag> {
        let root = self.main_root()?;
        let tag = read(&root, name).await?;
        Kind::Tag.remove(&root, name).await?;
        Ok(tag)
    }

    fn tagged(&self, name: &str, created: Option<SystemTime>, metadata: BTreeMap<String, String>) -> Tag {
        Tag {
            name: name.into(),
            branch: self.branch().map(Into::into),
            version: self.version(),
            created,
            updated: Some(SystemTime::now()),
            metadata,
        }
    }
}

/// The tags of the table in `root`, by name.
pub(crate) async fn list(root: &Store) -> Result<Vec<Tag>> {
    Kind::Tag.list(root, Tag::parse).await
}

/// The files of tags of the table in `root`, and what each says.
pub(super) async fn list_each(root: &Store) -> Result<Vec<(String, Result<Tag>)>> {
    Kind::Tag.list_each(root, Tag::parse).await
}

/// The tag `name` of the table in `root`.
pub(super) async fn read(root: &Store, name: &str) -> Result<Tag> {
    Kind::Tag.read(root, name, Tag::parse).await
}

impl Tag {
    fn parse(name: &str, object: &Object) -> Result<Self, FormatError> {
        // Others insist on it, and take any number.
        object.number("manifestSize")?;
        let time = |key: &str| -> Result<_, FormatError> {
            let Some(text) = object.text(key)? else { return Ok(None) };
            let time = DateTime::parse_from_rfc3339(text);
            let time = time.map_err(|error| object.corrupt(format!("{key} is {text:?}: {error}")))?;
            Ok(Some(SystemTime::from(time)))
        };
        Ok(Self {
            name: name.into(),
            branch: object.text("branch")?.filter(|branch| *branch != name::MAIN).map(Into::into),
            version: object.number("version")?,
            created: time("createdAt")?,
            updated: time("updatedAt")?,
            metadata: object.pairs("metadata")?,
        })
    }

    fn to_json(&self, manifest_size: u64) -> Value {
        let text = |time: SystemTime| DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Nanos, true);
        json!({
            "branch": self.branch,
            "version": self.version,
            "createdAt": self.created.map(text),
            "updatedAt": self.updated.map(text),
            "manifestSize": manifest_size,
            "metadata": self.metadata,
        })
    }
}
