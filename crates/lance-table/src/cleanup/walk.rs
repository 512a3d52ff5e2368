//! Which files are there, and which of them go.

use std::time::SystemTime;

use lance_io::Listed;

use super::needed::Needed;
use super::{CleanupOptions, CleanupPlan, CleanupReason, IN_PROGRESS, OldFile, OldVersion, TEMPORARY};
use crate::manifest::names::VERSIONS;
use crate::owners::{FILES, Stored, files_in};
use crate::{Result, Table, Total};

struct Walk<'a> {
    needed: Needed,
    options: &'a CleanupOptions,
    now: SystemTime,
    plan: CleanupPlan,
}

impl Table {
    pub(super) async fn walk(
        &self,
        needed: Needed,
        options: &CleanupOptions,
        now: SystemTime,
    ) -> Result<CleanupPlan> {
        let plan = CleanupPlan {
            versions: vec![],
            files: vec![],
            held: needed.held.clone(),
            young: Total::default(),
            left: Total::default(),
            latest: needed.latest,
            time: needed.time.unwrap_or(SystemTime::UNIX_EPOCH),
            naming: needed.naming,
        };
        let mut walk = Walk { needed, options, now, plan };
        let store = self.store();
        for listed in store.list(VERSIONS).await? {
            walk.manifest(&listed);
        }
        for directory in FILES {
            for stored in files_in(store, directory).await? {
                walk.file(stored);
            }
        }
        walk.plan.versions.sort_by_key(|old| old.version);
        Ok(walk.plan)
    }
}

impl Walk<'_> {
    /// A file in the directory of manifests.
    fn manifest(&mut self, listed: &Listed) {
        let path = format!("{VERSIONS}/{}", listed.name);
        match self.needed.versions.get(&path) {
            Some((version, timestamp)) => self.plan.versions.push(OldVersion {
                version: *version,
                timestamp: *timestamp,
                path,
                bytes: listed.size,
            }),
            None => self.file(Stored { listed: listed.clone(), owner: path.clone(), path, known: false }),
        }
    }

    fn file(&mut self, stored: Stored) {
        let Stored { listed, path, owner, known } = stored;
        if listed.is_dir {
            return;
        }
        let temporary = listed.name.starts_with(TEMPORARY);
        let last = self.needed.old.get(&owner);
        let reason = match last {
            _ if self.needed.living.contains(&owner) => None,
            _ if temporary => Some(CleanupReason::Temporary),
            _ if !known => None,
            Some(version) => Some(CleanupReason::OldVersion(*version)),
            None => Some(CleanupReason::Unreferenced),
        };
        let verified = matches!(reason, Some(CleanupReason::OldVersion(_)));
        // A time that is not known, or to come, says nothing of its age.
        let age = listed.modified.and_then(|modified| self.now.duration_since(modified).ok());
        let old = age.is_some_and(|age| age >= IN_PROGRESS);
        match reason {
            Some(reason) if verified || old || self.options.delete_unverified => {
                self.plan.files.push(OldFile { path, bytes: listed.size, reason, owner });
            }
            Some(_) => {
                self.plan.young.count(listed.size);
                self.plan.left.count(listed.size);
            }
            None => self.plan.left.count(listed.size),
        }
    }
}
