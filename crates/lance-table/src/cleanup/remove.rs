//! Removes what a plan says, in an order in which nothing is lost wherever it ends.
//!
//! Versions go oldest first, some at a time: their manifests, and when these are gone the files that no later version
//! needs. So at any moment
//!
//! - a version whose manifest is there has all its files. A file goes only when the manifests of all versions that need it
//!   are gone; if one of these could not be removed, its files stay.
//! - who opens a version that goes gets all of it, or is told that there is no such version. Who has it open loses its
//!   files from then on, as with any order.
//! - what is left if the process ends is found again. Files are found by looking into directories and not by manifests, so
//!   those of which the manifest is gone are seen as files that no version needs. Nobody knows any more that they were
//!   committed, so they wait until they are 7 days old; old versions mostly are. That is why versions go few at a time and
//!   not all manifests first. The other way round, files first, would leave a version that can be opened but not read.
//!
//! A version that others commit meanwhile needs files of the latest one, which stay, and new ones, which are too young. If it
//! restores an old version, it needs files that were to go. Who restores a version, tags it or begins a branch at it looks
//! afterwards whether its manifest is still there; here it is the other way round: when manifests are gone, it is looked what
//! was restored, tagged or begun, and only then files go. So at least one of the two sees the other. A manifest that was
//! tagged just before it went is put back: who tagged it may have seen it there.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use lance_io::{IoError, Listed, Store};

use super::{Cleanup, CleanupPlan, CleanupReason, OldFile, OldVersion, TEMPORARY};
use crate::manifest::files::Which;
use crate::manifest::latest;
use crate::manifest::names::VERSIONS;
use crate::owners::{self, FILES, detached_among, files, of_branch};
use crate::table::CONCURRENT;
use crate::{Naming, Result, Table, TableError, Total};

/// What is known of a version of which the manifest goes.
struct Going {
    /// The file of the manifest.
    bytes: Bytes,
    /// The files that it needs.
    files: Vec<String>,
}

struct Removal<'a> {
    table: &'a Table,
    store: &'a Store,
    watch: &'a (dyn Fn(u64) + Send + Sync),
    done: Cleanup,
    /// Files that are needed after all.
    needed: BTreeSet<String>,
    /// The oldest version that is needed after all and of which it is not known what files it needs.
    unknown: Option<u64>,
    /// What tags and branches hold.
    holds: BTreeMap<u64, Vec<String>>,
    /// The newest version that was looked at.
    latest: u64,
    /// The branches that were looked at, by where they are.
    branches: BTreeSet<String>,
}

/// Does what `plan` says to `table`.
pub(super) async fn run(
    plan: &CleanupPlan,
    table: &Table,
    watch: &(dyn Fn(u64) + Send + Sync),
) -> Result<Cleanup> {
    let (store, latest) = (table.store(), plan.latest);
    check(plan, store).await?;
    let done = Cleanup { plan: plan.clone(), removed: Total::default(), kept: vec![], failed: vec![] };
    let (needed, unknown, branches) = (BTreeSet::new(), None, BTreeSet::new());
    let holds = table.holds().await?;
    let mut removal = Removal { table, store, watch, done, needed, unknown, holds, latest, branches };
    removal.run().await?;
    Ok(removal.done)
}

/// Sees that `plan` is one for the table in `store`, and not for another that was there before. It may have been stored.
async fn check(plan: &CleanupPlan, store: &Store) -> Result<()> {
    let refused = |reason: String| refused(store, &reason);
    let strange = plan
        .versions
        .iter()
        .find(|old| old.version >= plan.latest || old.path != plan.naming.path(old.version));
    let strange = strange.map(|old| &old.path);
    let strange =
        strange.or_else(|| plan.files.iter().find(|file| !is_plausible(file)).map(|file| &file.path));
    if let Some(path) = strange {
        return Err(refused(format!("no plan of a clean-up has {path:?}")));
    }
    if plan.versions.is_empty() && plan.files.is_empty() {
        return Ok(());
    }
    match owners::read(store, plan.latest, plan.naming).await? {
        Some(latest) if latest.manifest.timestamp() == plan.time => Ok(()),
        _ => {
            Err(refused(format!("version {} is not the one that the clean-up was planned for", plan.latest)))
        }
    }
}

fn refused(store: &Store, reason: &str) -> TableError {
    TableError::invalid(format!("{}: {reason}", store.location("")))
}

/// Whether `file` lies where files of tables do, and belongs to what it says: what is needed is told by owners.
fn is_plausible(file: &OldFile) -> bool {
    let parts = file.path.split('/').collect::<Vec<_>>();
    if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        return false;
    }
    match parts[..] {
        // Manifests are not among the files of a plan, but for what is left of one.
        [VERSIONS, name] => name.starts_with(TEMPORARY) && file.owner == file.path,
        ["_indices", index, _, ..] => file.owner == format!("_indices/{index}"),
        ["data", stem, _] => file.owner == format!("data/{stem}.lance"),
        [directory, _] => FILES.contains(&directory) && directory != "_indices" && file.owner == file.path,
        _ => false,
    }
}

impl Removal<'_> {
    async fn run(&mut self) -> Result<()> {
        let (versions, mut files) = (self.done.plan.versions.clone(), self.done.plan.files.clone());
        // In the order in which they may go.
        files.sort_by_key(|file| match file.reason {
            CleanupReason::OldVersion(version) => version,
            CleanupReason::Unreferenced | CleanupReason::Temporary => u64::MAX,
        });
        let mut files = files.into_iter().peekable();
        // What cannot be understood is to stop this before anything is removed.
        self.look_at_new_versions(&self.store.list(VERSIONS).await?).await?;
        for wave in versions.chunks(CONCURRENT) {
            self.versions(wave).await?;
            self.look_at_new_branches().await?;
            let last = wave.last().map_or(0, |old| old.version);
            let of_wave = |file: &OldFile| matches!(file.reason, CleanupReason::OldVersion(of) if of <= last);
            let ready = std::iter::from_fn(|| files.next_if(of_wave)).collect();
            self.files(ready).await;
        }
        self.look_at_new_versions(&self.store.list(VERSIONS).await?).await?;
        self.look_at_new_branches().await?;
        self.files(files.collect()).await;
        Ok(())
    }

    /// Removes the manifests of `wave` but for those that a tag or branch holds that was made since the plan was, and finds
    /// out which files are needed all the same.
    async fn versions(&mut self, wave: &[OldVersion]) -> Result<()> {
        let before = self.read(wave).await?;
        let (held, mut going): (Vec<_>, Vec<_>) =
            wave.iter().partition(|old| self.holds.contains_key(&old.version));
        for old in held {
            self.hold(old, &before);
        }
        // What is gone already, another clean-up has removed; it may put it back.
        let (gone, there): (Vec<_>, Vec<_>) =
            going.iter().copied().partition(|old| !before.contains_key(&old.version));
        for old in gone {
            self.done.removed.count(old.bytes);
            (self.watch)(old.bytes);
        }
        self.delete(there.into_iter().map(|old| (old.path.clone(), old.bytes)).collect()).await;

        let listed = self.store.list(VERSIONS).await?;
        let (left, naming) = latest::among(self.store, &listed)?.unwrap_or((vec![], self.done.plan.naming));
        self.holds = self.table.holds().await?;
        let held;
        (held, going) = going.into_iter().partition(|old| self.holds.contains_key(&old.version));
        for old in held {
            self.hold(old, &before);
            self.put_back(old, &before, naming).await?;
        }
        if naming != self.done.plan.naming {
            return Err(refused(self.store, "manifests were renamed since the clean-up was planned"));
        }
        // It could not be removed, or another clean-up has put it back.
        for old in going.into_iter().filter(|old| left.contains(&old.version)) {
            self.need(old.version, &before);
        }
        self.look_at_new_versions(&listed).await
    }

    /// The versions of `wave` that are there.
    async fn read(&self, wave: &[OldVersion]) -> Result<BTreeMap<u64, Going>> {
        let (store, naming) = (self.store, self.done.plan.naming);
        let read = wave.iter().map(|old| async move {
            let bytes = match store.read_all(&old.path).await {
                Ok(bytes) => bytes,
                Err(IoError::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(TableError::from(error)),
            };
            let found = latest::parse(store, old.version, naming, &bytes)?;
            found.check_writable()?;
            Ok(Some((old.version, Going { bytes, files: files(&found, Which::Own)? })))
        });
        let read: Vec<_> = stream::iter(read).buffer_unordered(CONCURRENT).try_collect().await?;
        Ok(read.into_iter().flatten().collect())
    }

    /// Keeps a version, as far as it is there.
    fn hold(&mut self, old: &OldVersion, before: &BTreeMap<u64, Going>) {
        self.need(old.version, before);
        if before.contains_key(&old.version) {
            self.done.kept.push(old.path.clone());
        }
    }

    /// Keeps the files of a version; if it was gone before it was looked at, all that may be.
    fn need(&mut self, version: u64, before: &BTreeMap<u64, Going>) {
        match before.get(&version) {
            Some(going) => self.needed.extend(going.files.iter().cloned()),
            None => self.unknown = Some(self.unknown.map_or(version, |unknown| unknown.min(version))),
        }
    }

    /// Writes the manifest of a version again that has been removed; `naming` is how others are named now.
    async fn put_back(
        &mut self,
        old: &OldVersion,
        before: &BTreeMap<u64, Going>,
        naming: Naming,
    ) -> Result<()> {
        let Some(going) = before.get(&old.version) else { return Ok(()) };
        match self.store.put_if_absent(&naming.path(old.version), going.bytes.clone()).await {
            Ok(()) => {
                let removed = &mut self.done.removed;
                removed.files = removed.files.saturating_sub(1);
                removed.bytes = removed.bytes.saturating_sub(old.bytes);
            }
            // It could not be removed.
            Err(IoError::AlreadyExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Finds out what versions need that others committed since, among all files of manifests.
    async fn look_at_new_versions(&mut self, listed: &[Listed]) -> Result<()> {
        let Some((versions, naming)) = latest::among(self.store, listed)? else { return Ok(()) };
        for version in versions.into_iter().filter(|version| *version > self.latest).collect::<Vec<_>>() {
            // Another clean-up may have removed it since it was listed.
            if let Some(found) = owners::read(self.store, version, naming).await? {
                self.needed.extend(files(&found, Which::Own)?);
            }
            self.latest = version;
        }
        self.needed.extend(detached_among(self.store, listed).await?);
        Ok(())
    }

    /// The same of branches that others began since.
    async fn look_at_new_branches(&mut self) -> Result<()> {
        for root in self.table.other_roots().await? {
            if self.branches.contains(&root.location("")) {
                continue;
            }
            // Of one that is only being made there may be no version yet; the next look sees it.
            if let Some(needed) = of_branch(&root).await? {
                self.branches.insert(root.location(""));
                self.needed.extend(needed);
            }
        }
        Ok(())
    }

    async fn files(&mut self, files: Vec<OldFile>) {
        let (kept, going): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| self.needed.contains(&file.owner) || self.may_need(file));
        self.done.kept.extend(kept.into_iter().map(|file| file.path));
        self.delete(going.into_iter().map(|file| (file.path, file.bytes)).collect()).await;
    }

    /// Whether a version needs `file` of which that is not known.
    fn may_need(&self, file: &OldFile) -> bool {
        let of_version = |last| self.unknown.is_some_and(|unknown| unknown <= last);
        matches!(file.reason, CleanupReason::OldVersion(last) if of_version(last))
    }

    /// Removes files, each with its bytes.
    async fn delete(&mut self, files: Vec<(String, u64)>) {
        let store = self.store;
        let removed = files.into_iter().map(|(path, bytes)| async move {
            let result = store.delete(&path).await;
            (path, bytes, result)
        });
        let mut removed = stream::iter(removed).buffer_unordered(CONCURRENT);
        while let Some((path, bytes, result)) = removed.next().await {
            match result {
                Ok(()) => self.done.removed.count(bytes),
                Err(error) => self.done.failed.push((path, error.to_string())),
            }
            (self.watch)(bytes);
        }
    }
}
