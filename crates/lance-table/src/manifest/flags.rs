//! Feature flags: which tables may be read and written, and what a commit sets.

use std::collections::BTreeSet;

use lance_footer::{FormatError, Result};

use crate::proto;

pub(crate) const DELETION_FILES: u64 = 1 << 0;
pub(crate) const STABLE_ROW_IDS: u64 = 1 << 1;
pub(crate) const CONFIG: u64 = 1 << 3;
pub(crate) const BASE_PATHS: u64 = 1 << 4;
pub(crate) const INLINE_TRANSACTIONS: u64 = 1 << 5;
pub(crate) const COVERING_INDICES: u64 = 1 << 7;
pub(crate) const MIXED_VERSIONS: u64 = 1 << 8;
pub(crate) const KEPT_FIELD_IDS: u64 = 1 << 15;

/// What one bit stands for and what is done about it.
struct Feature {
    name: &'static str,
    read: bool,
    write: bool,
    /// Both words must have it or neither.
    paired: bool,
}

const fn feature(name: &'static str, read: bool, write: bool, paired: bool) -> Feature {
    Feature { name, read, write, paired }
}

/// By bit.
const FEATURES: [Feature; 18] = [
    feature("deletion files", true, true, false),
    feature("stable row ids", true, true, false),
    feature("the v2 data format", true, true, false),
    feature("table config", true, true, false),
    feature("base paths", true, true, false),
    feature("inline transactions only", true, true, false),
    feature("data overlay files", false, false, false),
    feature("covering index metadata", true, true, false),
    feature("data files of different versions", true, true, true),
    feature("a fragment reuse index with stable row ids", false, false, false),
    feature("a tagged fragment reuse index", true, false, true),
    feature("row lineage as hidden columns", true, false, false),
    feature("a fragment tree", false, false, false),
    feature("independent covering fields", false, false, false),
    feature("managed blobs", true, false, true),
    feature("field ids that are never reused", true, true, false),
    feature("zone write seeds", false, false, true),
    feature("object metadata", true, false, false),
];

/// The features of `manifest` that stand in the way of reading it; none if it may be read.
pub(crate) fn unreadable(manifest: &proto::Manifest) -> Option<String> {
    refused(manifest.reader_feature_flags, |feature| feature.read)
}

/// The features of `manifest` that stand in the way of a next version; none if it may be written.
pub(crate) fn unwritable(manifest: &proto::Manifest) -> Option<String> {
    refused(manifest.writer_feature_flags, |feature| feature.write)
}

fn refused(word: u64, supported: impl Fn(&Feature) -> bool) -> Option<String> {
    let bits = (0..64_usize).filter(|bit| word & (1 << bit) != 0);
    let names = bits.filter_map(|bit| match FEATURES.get(bit) {
        Some(feature) if supported(feature) => None,
        Some(feature) => Some(format!("{} (flag bit {bit})", feature.name)),
        None => Some(format!("an unknown feature (flag bit {bit})")),
    });
    let names = names.collect::<Vec<_>>();
    if names.is_empty() { None } else { Some(names.join(", ")) }
}

/// Checks what the two words and the rest of `manifest` say about each other.
pub(crate) fn check_consistent(manifest: &proto::Manifest) -> Result<()> {
    let (reader, writer) = (manifest.reader_feature_flags, manifest.writer_feature_flags);
    let fail = |reason: String| Err(FormatError::corrupt("manifest", reason));
    for (bit, feature) in FEATURES.iter().enumerate() {
        if feature.paired && (reader ^ writer) & (1 << bit) != 0 {
            return fail(format!("{} (flag bit {bit}) is set for readers or writers only", feature.name));
        }
    }
    if reader & KEPT_FIELD_IDS != 0 {
        return fail("flag bit 15 is set for readers".into());
    }
    if writer & KEPT_FIELD_IDS != 0 && manifest.max_allocated_field_id.is_none() {
        return fail("flag bit 15 is set, but the highest field id is missing".into());
    }
    let stable = (reader | writer) & STABLE_ROW_IDS != 0;
    let without = manifest.fragments.iter().find(|fragment| fragment.row_id_sequence.is_none());
    if let (true, Some(fragment)) = (stable, without) {
        return fail(format!("row ids are stable, but fragment {} has none", fragment.id));
    }
    Ok(())
}

/// The reader's and the writer's word for `next`, which follows a manifest with the words `previous`.
pub(crate) fn compute(
    next: &proto::Manifest,
    indices: &[proto::IndexMetadata],
    previous: (u64, u64),
) -> (u64, u64) {
    // Bits that a table keeps once it has them. Others that are sticky are refused for writing.
    let mut reader = previous.0 & (STABLE_ROW_IDS | MIXED_VERSIONS);
    let mut writer = previous.1 & (STABLE_ROW_IDS | MIXED_VERSIONS | INLINE_TRANSACTIONS | KEPT_FIELD_IDS);
    let mut both = 0;
    if next.fragments.iter().any(|fragment| fragment.deletion_file.is_some()) {
        both |= DELETION_FILES;
    }
    if next.fragments.iter().any(|fragment| fragment.row_id_sequence.is_some()) {
        both |= STABLE_ROW_IDS;
    }
    if !next.base_paths.is_empty() {
        both |= BASE_PATHS;
    }
    if indices.iter().any(|index| !index.covering_fields.is_empty()) {
        both |= COVERING_INDICES;
    }
    let default = next.data_format.as_ref().map_or("", |format| format.version.as_str());
    let files = next.fragments.iter().flat_map(|fragment| &fragment.files);
    let versions =
        files.map(|file| (file.file_major_version, file.file_minor_version)).collect::<BTreeSet<_>>();
    if versions.iter().any(|(major, minor)| format!("{major}.{minor}") != default) {
        both |= MIXED_VERSIONS;
    }
    if !next.config.is_empty() {
        writer |= CONFIG;
    }
    reader |= both;
    writer |= both;
    (reader, writer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_flags(reader: u64, writer: u64) -> proto::Manifest {
        proto::Manifest {
            reader_feature_flags: reader,
            writer_feature_flags: writer,
            max_allocated_field_id: Some(3),
            ..Default::default()
        }
    }

    #[test]
    fn bits_are_taken_or_refused_by_name() {
        let cases: [(u32, bool, bool, &str); 20] = [
            (0, true, true, ""),
            (1, true, true, ""),
            (2, true, true, ""),
            (3, true, true, ""),
            (4, true, true, ""),
            (5, true, true, ""),
            (6, false, false, "data overlay files (flag bit 6)"),
            (7, true, true, ""),
            (8, true, true, ""),
            (9, false, false, "a fragment reuse index with stable row ids (flag bit 9)"),
            (10, true, false, "a tagged fragment reuse index (flag bit 10)"),
            (11, true, false, "row lineage as hidden columns (flag bit 11)"),
            (12, false, false, "a fragment tree (flag bit 12)"),
            (13, false, false, "independent covering fields (flag bit 13)"),
            (14, true, false, "managed blobs (flag bit 14)"),
            (15, true, true, ""),
            (16, false, false, "zone write seeds (flag bit 16)"),
            (17, true, false, "object metadata (flag bit 17)"),
            (18, false, false, "an unknown feature (flag bit 18)"),
            (63, false, false, "an unknown feature (flag bit 63)"),
        ];
        for (bit, read, write, name) in cases {
            let manifest = with_flags(1 << bit, 1 << bit);
            let (unreadable, unwritable) = (unreadable(&manifest), unwritable(&manifest));
            assert_eq!(unreadable.is_none(), read, "bit {bit}");
            assert_eq!(unwritable.is_none(), write, "bit {bit}");
            for text in [unreadable, unwritable].into_iter().flatten() {
                assert_eq!(text, name);
            }
        }
    }

    #[test]
    fn words_must_agree() {
        for bit in [8, 10, 14, 16] {
            assert!(check_consistent(&with_flags(1 << bit, 0)).is_err(), "bit {bit}");
            assert!(check_consistent(&with_flags(0, 1 << bit)).is_err(), "bit {bit}");
            assert!(check_consistent(&with_flags(1 << bit, 1 << bit)).is_ok(), "bit {bit}");
        }
        assert!(check_consistent(&with_flags(0, 1 << 15)).is_ok());
        assert!(check_consistent(&with_flags(1 << 15, 1 << 15)).is_err());
        let mut manifest = with_flags(0, 1 << 15);
        manifest.max_allocated_field_id = None;
        assert!(check_consistent(&manifest).is_err());
        let mut manifest = with_flags(2, 2);
        assert!(check_consistent(&manifest).is_ok());
        manifest.fragments.push(proto::DataFragment::default());
        assert!(check_consistent(&manifest).is_err());
    }

    #[test]
    fn a_commit_sets_what_the_manifest_has() {
        let mut next = proto::Manifest {
            data_format: Some(proto::DataStorageFormat {
                file_format: "lance".into(),
                version: "2.2".into(),
            }),
            ..Default::default()
        };
        assert_eq!(compute(&next, &[], (0, 0)), (0, 0));
        // What can be seen is computed anew, what cannot is kept.
        assert_eq!(compute(&next, &[], (1 | 2 | 256, 1 | 2 | 8 | 32 | 256)), (2 | 256, 2 | 32 | 256));
        next.config.insert("a".into(), "b".into());
        assert_eq!(compute(&next, &[], (0, 0)), (0, 8));
        next.base_paths.push(proto::BasePath::default());
        assert_eq!(compute(&next, &[], (0, 0)), (16, 24));
        let file = proto::DataFile { file_major_version: 2, file_minor_version: 2, ..Default::default() };
        next.fragments.push(proto::DataFragment { files: vec![file], ..Default::default() });
        assert_eq!(compute(&next, &[], (0, 0)), (16, 24));
        next.fragments[0].files[0].file_minor_version = 1;
        assert_eq!(compute(&next, &[], (0, 0)), (16 | 256, 24 | 256));
        next.fragments[0].deletion_file = Some(proto::DeletionFile::default());
        assert_eq!(compute(&next, &[], (0, 0)), (16 | 256 | 1, 24 | 256 | 1));
        let index = proto::IndexMetadata { covering_fields: vec![1], ..Default::default() };
        assert_eq!(compute(&proto::Manifest::default(), &[index], (0, 0)), (128, 128));
    }
}
