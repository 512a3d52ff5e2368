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
//! restores an old version, it needs files that were to go: new versions are looked at after manifests are gone, when there
//! is nothing to restore any more, and before files go. With tags and branches it is the same: who makes one looks whether the
//! manifest is still there afterwards, and here they are looked at before manifests go, and branches again before files go.

use std::collections::BTreeSet;

use futures::{StreamExt, stream};
use lance_io::Store;

use super::{Cleanup, CleanupPlan, CleanupReason, OldFile, OldVersion, TEMPORARY};
use crate::manifest::files::Which;
use crate::manifest::latest;
use crate::manifest::names::VERSIONS;
use crate::owners::{self, FILES, detached, files, of_branch};
use crate::table::CONCURRENT;
use crate::{Result, Table, TableError, Total};

struct Removal<'a> {
    table: &'a Table,
    store: &'a Store,
    watch: &'a (dyn Fn(u64) + Send + Sync),
    done: Cleanup,
    /// Files that are needed after all.
    needed: BTreeSet<String>,
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
    let (needed, branches) = (BTreeSet::new(), BTreeSet::new());
    let mut removal = Removal { table, store, watch, done, needed, latest, branches };
    removal.run().await?;
    Ok(removal.done)
}

/// Sees that `plan` is one for the table in `store`, and not for another that was there before. It may have been stored.
async fn check(plan: &CleanupPlan, store: &Store) -> Result<()> {
    let refused = |reason: String| TableError::invalid(format!("{}: {reason}", store.location("")));
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
        for wave in versions.chunks(CONCURRENT) {
            let going = self.without_held(wave).await?;
            self.manifests(&going).await?;
            self.look_at_new_versions().await?;
            self.look_at_new_branches().await?;
            let last = wave.last().map_or(0, |old| old.version);
            let of_wave = |file: &OldFile| matches!(file.reason, CleanupReason::OldVersion(of) if of <= last);
            let ready = std::iter::from_fn(|| files.next_if(of_wave)).collect();
            self.files(ready).await;
        }
        self.look_at_new_versions().await?;
        self.look_at_new_branches().await?;
        self.files(files.collect()).await;
        Ok(())
    }

    /// Those of `wave` that no tag or branch holds that was made since the plan was; the files of the others stay.
    async fn without_held(&mut self, wave: &[OldVersion]) -> Result<Vec<OldVersion>> {
        let holds = self.table.holds().await?;
        let (held, going): (Vec<_>, Vec<_>) =
            wave.iter().cloned().partition(|old| holds.contains_key(&old.version));
        for old in held {
            // It may be held and gone: another clean-up was first.
            let Some(found) = owners::read(self.store, old.version, self.done.plan.naming).await? else {
                continue;
            };
            self.needed.extend(files(&found, Which::Own)?);
            self.done.kept.push(old.path);
        }
        Ok(going)
    }

    async fn manifests(&mut self, wave: &[OldVersion]) -> Result<()> {
        let paths = wave.iter().map(|old| (old.path.clone(), old.bytes)).collect();
        let failed = self.delete(paths).await;
        for old in wave.iter().filter(|old| failed.contains(&old.path)) {
            // It may be gone all the same. If not, its files must stay.
            if let Some(found) = owners::read(self.store, old.version, self.done.plan.naming).await? {
                self.needed.extend(files(&found, Which::Own)?);
            }
        }
        Ok(())
    }

    /// Finds out what versions need that others committed since.
    async fn look_at_new_versions(&mut self) -> Result<()> {
        let Some((versions, naming)) = latest::list(self.store).await? else { return Ok(()) };
        for version in versions.into_iter().filter(|version| *version > self.latest).collect::<Vec<_>>() {
            // Another clean-up may have removed it since it was listed.
            if let Some(found) = owners::read(self.store, version, naming).await? {
                self.needed.extend(files(&found, Which::Own)?);
            }
            self.latest = version;
        }
        self.needed.extend(detached(self.store).await?);
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
            files.into_iter().partition(|file| self.needed.contains(&file.owner));
        self.done.kept.extend(kept.into_iter().map(|file| file.path));
        self.delete(going.into_iter().map(|file| (file.path, file.bytes)).collect()).await;
    }

    /// Removes files, and gives the paths of those that could not be.
    async fn delete(&mut self, files: Vec<(String, u64)>) -> BTreeSet<String> {
        let store = self.store;
        let removed = files.into_iter().map(|(path, bytes)| async move {
            let result = store.delete(&path).await;
            (path, bytes, result)
        });
        let mut removed = stream::iter(removed).buffer_unordered(CONCURRENT);
        let mut failed = BTreeSet::new();
        while let Some((path, bytes, result)) = removed.next().await {
            match result {
                Ok(()) => self.done.removed.count(bytes),
                Err(error) => {
                    self.done.failed.push((path.clone(), error.to_string()));
                    failed.insert(path);
                }
            }
            (self.watch)(bytes);
        }
        failed
    }
}
