//! The table of docs/format/table.md §11.

use super::*;
use crate::proto::transaction::data_replacement::DataReplacementGroup;
use crate::proto::transaction::rewrite::RewriteGroup;

/// Each kind of operation that others may have committed, by a name of its own.
fn theirs() -> Vec<(&'static str, Option<Stored>)> {
    let one = |id| DataFragment { id, ..fragment(3) };
    let delete = |id| op::Delete { updated_fragments: vec![one(id)], ..Default::default() };
    let gone = |id| op::Delete { deleted_fragment_ids: vec![id], ..Default::default() };
    let update = |id| op::Update { updated_fragments: vec![one(id)], ..Default::default() };
    let merge = |preserves_nullability| op::Merge { preserves_nullability, ..Default::default() };
    let project = |preserves_nullability| op::Project { preserves_nullability, ..Default::default() };
    let rewrite = |id| op::Rewrite {
        groups: vec![RewriteGroup { old_fragments: vec![one(id)], ..Default::default() }],
        ..Default::default()
    };
    let index = |id: u32| {
        let mut bitmap = vec![];
        [id].into_iter().collect::<roaring::RoaringBitmap>().serialize_into(&mut bitmap).unwrap();
        let index = IndexMetadata { fragment_bitmap: bitmap.into(), ..Default::default() };
        op::CreateIndex { new_indices: vec![index], ..Default::default() }
    };
    let config = |key: &str| op::UpdateConfig {
        config_updates: Some(pairs(&[(key, Some("v"))], false)),
        ..Default::default()
    };
    let metadata = |key: &str| op::UpdateConfig {
        schema_metadata_updates: Some(pairs(&[(key, Some("v"))], false)),
        ..Default::default()
    };
    let replaced = |fragment_id| op::DataReplacement {
        replacements: vec![DataReplacementGroup { fragment_id, new_file: None }],
    };
    vec![
        ("append", Some(Stored::Append(Default::default()))),
        ("delete other", Some(Stored::Delete(delete(9)))),
        ("delete same", Some(Stored::Delete(delete(1)))),
        ("delete whole", Some(Stored::Delete(gone(1)))),
        ("update other", Some(Stored::Update(update(9)))),
        ("update same", Some(Stored::Update(update(1)))),
        ("merge", Some(Stored::Merge(merge(true)))),
        ("merge, nulls", Some(Stored::Merge(merge(false)))),
        ("project", Some(Stored::Project(project(true)))),
        ("project, nulls", Some(Stored::Project(project(false)))),
        ("rewrite other", Some(Stored::Rewrite(rewrite(9)))),
        ("rewrite same", Some(Stored::Rewrite(rewrite(1)))),
        ("overwrite", Some(Stored::Overwrite(Default::default()))),
        ("restore", Some(Stored::Restore(Default::default()))),
        ("index other", Some(Stored::CreateIndex(index(9)))),
        ("index same", Some(Stored::CreateIndex(index(1)))),
        ("reserve", Some(Stored::ReserveFragments(Default::default()))),
        ("config other", Some(Stored::UpdateConfig(config("other")))),
        ("config same", Some(Stored::UpdateConfig(config("same")))),
        ("metadata", Some(Stored::UpdateConfig(metadata("same")))),
        ("replace other", Some(Stored::DataReplacement(replaced(9)))),
        ("replace same", Some(Stored::DataReplacement(replaced(1)))),
        ("bases", Some(Stored::UpdateBases(Default::default()))),
        ("clone", Some(Stored::Clone(Default::default()))),
        ("wal", Some(Stored::UpdateMemWalState(Default::default()))),
        ("overlay", Some(Stored::DataOverlay(Default::default()))),
        ("unknown", None),
    ]
}

/// Ours, and a letter for each of [`theirs`]: k keeps, r is done again, x makes no sense any more. What touches the same
/// fragment is k where the commit catches up with rows that were deleted.
#[test]
fn as_the_table_says() {
    let merge = || Merge {
        fragments: vec![],
        written: Default::default(),
        fields: vec![],
        schema_metadata: BTreeMap::new(),
        preserves_nullability: true,
    };
    let project =
        |preserves_nullability| Operation::Project(Project { fields: vec![], preserves_nullability });
    let group = Group { old: vec![DataFragment { id: 1, ..fragment(3) }], new: vec![] };
    let same = || pairs(&[("same", Some("v"))], false);
    let ours = [
        (append(vec![fragment(1)]), "kkk kkk krkr kk xx kk kkkk kk kk xx x"),
        (
            Operation::Delete(Delete { rows: deleted(1, &[0]), predicate: String::new() }),
            "kkk kkk rrkk kr xx kk kkkk kr kk xx x",
        ),
        (
            Operation::Update(Update { rows: deleted(1, &[0]), fragments: vec![], inserts: false }),
            "kkk kkk rrkr kr xx kk kkkk kr kk xx x",
        ),
        (Operation::Merge(merge()), "rrr rrr rrxx rr xx kk kkkr rr kk xx x"),
        (project(true), "kkk kkk rrrr kk xx kk kkkr kk kk xx x"),
        (project(false), "rkk krr rrrr kk xx kk kkkr rr kk xx x"),
        (Operation::Rewrite(Rewrite { groups: vec![group] }), "kkr rkr rrkk kr xx kr kkkk kr kk xx x"),
        (overwrite(vec![]), "kkk kkk kkkk kk rk kk kkkk kk kk xx x"),
        (Operation::Restore(Restore { manifest: Box::default() }), "kkk kkk kkkk kk kk kk kkkx kk kk xx x"),
        (Operation::Reserve(Reserve { fragments: 1 }), "kkk kkk kkkk kk xx kk kkkk kk kk xx x"),
        (
            Operation::Config(Config { config: same(), ..Config::default() }),
            "kkk kkk kkkk kk kk kk kkxk kk kk xx x",
        ),
        (
            Operation::Config(Config { schema: same(), ..Config::default() }),
            "kkk kkk rrrr kk xx kk kkkx kk kk xx x",
        ),
        (
            Operation::Config(Config { fields: [(0, same())].into(), ..Config::default() }),
            "kkk kkk rrrr kk xx kk kkkk kk kk xx x",
        ),
        (
            Operation::Config(Config { table: same(), ..Config::default() }),
            "kkk kkk kkkk kk kk kk kkkk kk kk xx x",
        ),
    ];
    for (ours, letters) in ours {
        let letters = letters.chars().filter(|letter| *letter != ' ').collect::<Vec<_>>();
        let theirs = theirs();
        assert_eq!(letters.len(), theirs.len());
        for ((theirs, stored), letter) in theirs.into_iter().zip(letters) {
            let found = match ours.check(stored.as_ref()) {
                Verdict::Keep => 'k',
                Verdict::Retry(_) => 'r',
                Verdict::Conflict(_) => 'x',
            };
            assert_eq!(found, letter, "{} after {theirs}", name(Some(&ours.to_proto())));
        }
    }
}

#[test]
fn keys_that_two_change() {
    let config = |map: &proto::UpdateMap| Config { config: map.clone(), ..Config::default() };
    let cases = [
        (pairs(&[("a", Some("1"))], false), pairs(&[("b", Some("1"))], false), false),
        (pairs(&[("a", Some("1"))], false), pairs(&[("a", Some("1"))], false), true),
        (pairs(&[("a", Some("1"))], false), pairs(&[("a", None)], false), true),
        (pairs(&[("a", None)], false), pairs(&[("a", None)], false), false),
        (pairs(&[("a", None)], true), pairs(&[("b", None)], false), true),
        (pairs(&[("a", None)], true), pairs(&[], false), false),
    ];
    for (ours, theirs, clash) in cases {
        for (ours, theirs) in [(&ours, &theirs), (&theirs, &ours)] {
            let verdict = config(ours).check(&Stored::UpdateConfig(config(theirs).to_proto()));
            assert_eq!(matches!(verdict, Verdict::Conflict(_)), clash, "{ours:?} after {theirs:?}");
        }
    }
    // The older form of the same.
    let old = op::UpdateConfig { delete_keys: vec!["a".into()], ..Default::default() };
    let verdict = config(&pairs(&[("a", Some("1"))], false)).check(&Stored::UpdateConfig(old));
    assert!(matches!(verdict, Verdict::Conflict(_)));
}
