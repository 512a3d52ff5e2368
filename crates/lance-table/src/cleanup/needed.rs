//! Which versions go, and which files the others need.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use futures::{StreamExt, TryStreamExt, stream};
use lance_io::Store;

use super::{CleanupOptions, DEFAULT_AGE, HeldVersion};
use crate::manifest::files::Which;
use crate::manifest::latest;
use crate::owners::{detached, files, of_branch, other_roots, read};
use crate::table::CONCURRENT;
use crate::{Naming, Result, Table, TableError};

/// What the manifests say.
#[derive(Debug, Default)]
pub(super) struct Needed {
    /// The files that versions need that stay, and such as branches do.
    pub(super) living: BTreeSet<String>,
    /// The files that versions need that go, with the last of these.
    pub(super) old: BTreeMap<String, u64>,
    /// The versions that go, with the time of each, by the paths of their manifests.
    pub(super) versions: BTreeMap<String, (u64, SystemTime)>,
    pub(super) held: Vec<HeldVersion>,
    /// The newest version, its time, and how manifests are named.
    pub(super) latest: u64,
    pub(super) time: Option<SystemTime>,
    pub(super) naming: Naming,
}

impl Table {
    pub(super) async fn needed(&self, options: &CleanupOptions, now: SystemTime) -> Result<Needed> {
        let store = self.store();
        let holds = self.holds().await?;
        let (versions, naming) =
            latest::list(store).await?.ok_or_else(|| TableError::not_found(store, "table"))?;
        let newest = versions.last().copied().unwrap_or_default();
        let mut needed = Needed { latest: newest, naming, ..Default::default() };
        let count = versions.len() as u64;
        let ranked = versions.iter().zip((0..count).rev());
        let read = ranked.map(|(version, after)| async move {
            Ok::<_, TableError>((read(store, *version, naming).await?, after))
        });
        let mut read = stream::iter(read).buffered(CONCURRENT);
        while let Some((found, after)) = read.try_next().await? {
            // Another clean-up was here since the versions were listed.
            let Some(found) = found else { continue };
            let version = found.manifest.version();
            let timestamp = found.manifest.timestamp();
            if version == newest {
                needed.time = Some(timestamp);
            }
            let stays = version >= newest.min(self.version()) || !goes(options, timestamp, after, now);
            let by = holds.get(&version);
            if stays || by.is_some() {
                needed.living.extend(files(&found, Which::Own)?);
            } else {
                needed.old.extend(files(&found, Which::Own)?.into_iter().map(|file| (file, version)));
                needed.versions.insert(naming.path(version), (version, timestamp));
            }
            if let Some(by) = by.filter(|_| !stays) {
                needed.held.push(HeldVersion { version, by: by.clone() });
            }
        }
        if options.error_if_tagged_old_versions {
            self.refuse_tagged(&needed.held)?;
        }
        needed.living.extend(detached(store).await?);
        for root in self.other_roots().await? {
            needed.living.extend(of_branch(&root).await?.into_iter().flatten());
        }
        Ok(needed)
    }

    /// What holds versions of this table or branch, whatever their age.
    pub(super) async fn holds(&self) -> Result<BTreeMap<u64, Vec<String>>> {
        let mut holds = BTreeMap::<u64, Vec<String>>::new();
        for tag in self.tags().await?.into_iter().filter(|tag| tag.branch.as_deref() == self.branch()) {
            holds.entry(tag.version).or_default().push(format!("tag {}", tag.name));
        }
        let branches = self.branches().await?.into_iter();
        for branch in branches.filter(|branch| branch.parent.as_deref() == self.branch()) {
            holds.entry(branch.parent_version).or_default().push(format!("branch {}", branch.name));
        }
        Ok(holds)
    }

    fn refuse_tagged(&self, held: &[HeldVersion]) -> Result<()> {
        let tagged = held.iter().filter_map(|held| {
            let tags = held.by.iter().filter_map(|by| by.strip_prefix("tag ")).collect::<Vec<_>>();
            (!tags.is_empty()).then(|| format!("version {} ({})", held.version, tags.join(", ")))
        });
        let tagged = tagged.collect::<Vec<_>>();
        if tagged.is_empty() {
            return Ok(());
        }
        let (location, tagged) = (self.store().location(""), tagged.join(", "));
        Err(TableError::invalid(format!("{location}: old versions have tags, nothing was removed: {tagged}")))
    }

    /// The roots of all branches but this one.
    pub(super) async fn other_roots(&self) -> Result<Vec<Store>> {
        other_roots(&self.main_root()?, self.branch()).await
    }
}

/// Whether a version that `after` newer ones follow goes by itself.
fn goes(options: &CleanupOptions, timestamp: SystemTime, after: u64, now: SystemTime) -> bool {
    let age = match (options.older_than, options.keep) {
        (None, None) => Some(DEFAULT_AGE),
        (age, _) => age,
    };
    // What the clock has not reached yet is not old.
    let old = age.is_none_or(|age| now.duration_since(timestamp).is_ok_and(|since| since >= age));
    old && options.keep.is_none_or(|keep| after >= keep)
}
