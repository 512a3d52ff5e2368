use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lance_footer::FormatError;
use lance_io::Store;
use serde_json::{Value, json};
use uuid::Uuid;

use super::file::{Kind, Object};
use super::{name, root, tag, tree};
use crate::commit::{CommitOptions, commit};
use crate::manifest::latest::Found;
use crate::operation::{Operation, ShallowClone};
use crate::{Result, Table, TableError};

/// A line of versions of its own, that began at a version of the table or of another branch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Branch {
    /// The name.
    pub name: String,
    /// The branch that it began at; none for the table itself.
    pub parent: Option<String>,
    /// The version that it began at, which is its first one too.
    pub parent_version: u64,
    /// When it was made.
    pub created: SystemTime,
    /// Key-value pairs.
    pub metadata: BTreeMap<String, String>,
    /// The branches that it comes from, the oldest first and itself last: where each began, and its id.
    pub(crate) ancestors: Vec<(u64, String)>,
}

impl Table {
    /// All branches of the table, by name.
    pub async fn branches(&self) -> Result<Vec<Branch>> {
        list(&self.main_root()?).await
    }

    /// The branch `name`.
    pub async fn find_branch(&self, name: &str) -> Result<Branch> {
        read(&self.main_root()?, name).await
    }

    /// Begins a branch at this version, and gives its first version. No data are copied. What is written to either is not
    /// seen by the other.
    pub async fn create_branch(&self, name: &str, options: &CommitOptions) -> Result<Self> {
        name::check_branch(name)?;
        self.shared.found.check_writable()?;
        let main = self.main_root()?;
        match read(&main, name).await {
            Err(TableError::UnknownRef { .. }) => {}
            Ok(_) => return Err(Kind::Branch.exists(&main, name)),
            Err(error) => return Err(error),
        }
        let mut ancestors = match self.branch() {
            None => vec![],
            Some(parent) => read(&main, parent).await?.ancestors,
        };
        ancestors.push((self.version(), Uuid::new_v4().simple().to_string()));
        let branch = Branch {
            name: name.into(),
            parent: self.branch().map(Into::into),
            parent_version: self.version(),
            created: SystemTime::now(),
            metadata: BTreeMap::new(),
            ancestors,
        };
        let size = self.manifest_size().await?;
        let begun = self.clone_to(main.child(&tree(name)), Some(name), options).await;
        let begun = begun.map_err(|error| match error {
            TableError::AlreadyExists { .. } => TableError::InUse {
                location: main.location(""),
                kind: Kind::Branch.noun(),
                name: name.into(),
                reason: "its place is taken by one that was not finished or not wholly deleted; \
                         deleting with force removes that"
                    .into(),
            },
            error => error,
        })?;
        // From here on it is seen. Of two that began it at different versions, one takes back what it did.
        match Kind::Branch.create(&main, name, branch.to_json(size)).await {
            Err(error @ TableError::RefExists { .. }) => match read(&main, name).await {
                Ok(there) if there.ancestors == branch.ancestors => Ok(begun),
                Ok(_) => {
                    take_back(begun.store(), &begun.shared.found).await?;
                    Err(error)
                }
                // Removed since; whoever did that removed what was begun too, or will.
                Err(TableError::UnknownRef { .. }) => Err(error),
                // It may be this one.
                Err(unread) => Err(unread),
            },
            Err(error) => Err(error),
            Ok(()) => Ok(begun),
        }
    }

    /// Removes the branch `name` with all that was written to it, and gives what it was; none if only remains of it were
    /// there. Refused while tags are on it, or other branches began on it. Tables that were cloned from it elsewhere are not
    /// known, and lose their files.
    ///
    /// With `force` remains are removed too, of a branch that was not finished or not wholly deleted.
    pub async fn delete_branch(&self, name: &str, force: bool) -> Result<Option<Branch>> {
        let main = self.main_root()?;
        let branch = match read(&main, name).await {
            Ok(branch) => Some(branch),
            Err(TableError::UnknownRef { .. }) if force && is_left(&main, name).await? => None,
            Err(error) => return Err(error),
        };
        let id = branch.as_ref().and_then(|branch| branch.ancestors.last());
        let mut others = list(&main).await?;
        others.retain(|other| other.name != name);
        let descends = |other: &&Branch| {
            other.parent.as_deref() == Some(name) || id.is_some_and(|id| other.ancestors.contains(id))
        };
        let descending = others.iter().filter(descends).map(|other| format!("branch {}", other.name));
        let tags = tag::list(&main).await?.into_iter().filter(|tag| tag.branch.as_deref() == Some(name));
        let users = descending.chain(tags.map(|tag| format!("tag {}", tag.name))).collect::<Vec<_>>();
        if !users.is_empty() {
            return Err(TableError::InUse {
                location: main.location(""),
                kind: Kind::Branch.noun(),
                name: name.into(),
                reason: format!("it is needed by {}", users.join(", ")),
            });
        }
        // First the name, so that what is left of it if this is cut short is seen by nobody.
        Kind::Branch.remove(&main, name).await?;
        // Below its root there may be other branches, such as a/b below a. Without manifests it is no table any more.
        let own = main.child(&tree(name));
        for directory in name::DIRECTORIES {
            // Other software lets branches be called like directories.
            let below = format!("{name}/{directory}/");
            if !others.iter().any(|other| format!("{}/", other.name).starts_with(&below)) {
                own.delete_all(directory).await?;
            }
        }
        Ok(branch)
    }

    /// Makes a table in `to` that has the rows of this version without a copy of them: it refers to the files of this one,
    /// and breaks if these are removed. Its first version has the number of this one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use lance_io::Store;
    /// use lance_table::{CommitOptions, Table, WriteOptions};
    ///
    /// let root = Store::memory();
    /// let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
    /// let table = Table::write(root.child("a"), vec![batch].into(), WriteOptions::default()).await?;
    /// let clone = table.shallow_clone(root.child("b"), &CommitOptions::default()).await?;
    /// assert_eq!(clone.take(&[2], None, false).await?.num_rows(), 1);
    /// assert!(root.list("b/data").await?.is_empty());
    /// # Ok(()) }
    /// ```
    pub async fn shallow_clone(&self, to: Store, options: &CommitOptions) -> Result<Self> {
        self.shared.found.check_writable()?;
        self.clone_to(to, None, options).await
    }

    async fn clone_to(&self, to: Store, branch: Option<&str>, options: &CommitOptions) -> Result<Self> {
        let operation = Operation::Clone(ShallowClone {
            source: Box::new(self.manifest().clone()),
            path: self.store().absolute()?,
            branch: branch.map(Into::into),
        });
        let found = commit(&to, 0, operation, options, vec![]).await?;
        // A clean-up that is at work sees what was made, or has removed the manifest of this version before.
        if let Err(error) = self.still_there().await {
            take_back(&to, &found).await?;
            return Err(error);
        }
        Self::from_commit(to, found, self.shared.options).await
    }
}

/// Removes the only version of the table in `store`.
async fn take_back(store: &Store, made: &Found) -> Result<()> {
    store.delete(&made.naming.path(made.manifest.version())).await?;
    let transaction = &made.manifest.message.transaction_file;
    if !transaction.is_empty() {
        store.delete(&format!("_transactions/{transaction}")).await?;
    }
    Ok(())
}

/// The branches of the table in `main`, by name.
pub(crate) async fn list(main: &Store) -> Result<Vec<Branch>> {
    Kind::Branch.list(main, Branch::parse).await
}

/// The files of branches of the table in `main`, and what each says.
pub(super) async fn list_each(main: &Store) -> Result<Vec<(String, Result<Branch>)>> {
    Kind::Branch.list_each(main, Branch::parse).await
}

/// The branch `name` of the table in `main`.
pub(super) async fn read(main: &Store, name: &str) -> Result<Branch> {
    Kind::Branch.read(main, name, Branch::parse).await
}

/// Whether there is anything of a branch `name` without a file that says so.
async fn is_left(main: &Store, name: &str) -> Result<bool> {
    name::check_branch(name)?;
    let listed = root(main, Some(name)).list("").await?;
    Ok(listed.iter().any(|listed| name::DIRECTORIES.contains(&listed.name.as_str())))
}

impl Branch {
    fn parse(name: &str, object: &Object) -> Result<Self, FormatError> {
        let ancestors = match object.find("identifier") {
            None => vec![],
            Some(identifier) => {
                let wrong = || object.corrupt(format!("identifier is {identifier}"));
                let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
                    Some([version, id]) => Some((version.as_u64()?, id.as_str()?.to_string())),
                    _ => None,
                };
                let mapping =
                    identifier.get("version_mapping").and_then(Value::as_array).ok_or_else(wrong)?;
                mapping.iter().map(pair).collect::<Option<_>>().ok_or_else(wrong)?
            }
        };
        let created = Duration::from_secs(object.number("createAt")?);
        let created = UNIX_EPOCH.checked_add(created);
        object.number("manifestSize")?;
        Ok(Self {
            name: name.into(),
            parent: object.text("parentBranch")?.filter(|parent| *parent != name::MAIN).map(Into::into),
            parent_version: object.number("parentVersion")?,
            created: created.ok_or_else(|| object.corrupt("createAt is beyond all times"))?,
            metadata: object.pairs("metadata")?,
            ancestors,
        })
    }

    fn to_json(&self, manifest_size: u64) -> Value {
        let created = self.created.duration_since(UNIX_EPOCH).unwrap_or_default();
        json!({
            "parentBranch": self.parent,
            "identifier": { "version_mapping": self.ancestors },
            "parentVersion": self.parent_version,
            "createAt": created.as_secs(),
            "manifestSize": manifest_size,
            "metadata": self.metadata,
        })
    }
}
