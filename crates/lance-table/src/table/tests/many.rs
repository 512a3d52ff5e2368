//! Tables of many fragments: what is not needed is neither read nor kept open.

use prost::Message;

use super::*;
use crate::proto::data_fragment::RowIdSequence as Stored;
use crate::proto::u64_segment::{Range, Segment};
use crate::proto::{RowIdSequence, U64Segment};

const FRAGMENTS: u64 = 10_000;
/// Physical rows of each.
const ROWS: u64 = 4;
/// The values of its live rows where row 1 is deleted.
const LIVE: [i32; 3] = [0, 2, 3];

/// A table of many fragments, of which only those of `there` have their files. With stable ids row `n` has the id `n`, counted
/// with deleted rows.
async fn many(store: &Store, stable: bool, deletions: bool, there: &[u64]) -> Table {
    let table =
        write(store, numbers(0..4), WriteOptions { stable_row_ids: stable, ..Default::default() }).await;
    let data = store.read_all(&format!("data/{}", table.fragments()[0].files()[0].path)).await.unwrap();
    let mut deleted = vec![];
    RoaringBitmap::from_iter([1]).serialize_into(&mut deleted).unwrap();
    for fragment in there {
        store.put(&format!("data/{fragment}.lance"), data.clone()).await.unwrap();
        store.put(&format!("_deletions/{fragment}-1-5.bin"), deleted.clone().into()).await.unwrap();
    }
    let file = DeletionFile {
        file_type: DeletionFileType::Bitmap.into(),
        read_version: 1,
        id: 5,
        num_deleted_rows: 1,
        base_id: None,
    };
    let fragment = |id: u64, first: &proto::DataFragment| {
        let mut fragment = first.clone();
        fragment.id = id;
        fragment.files[0].path = format!("{id}.lance");
        fragment.deletion_file = deletions.then_some(file);
        if stable {
            let range = Range { start: id * ROWS, end: (id + 1) * ROWS };
            let segments = vec![U64Segment { segment: Some(Segment::Range(range)) }];
            let bytes = RowIdSequence { segments }.encode_to_vec();
            fragment.row_id_sequence = Some(Stored::InlineRowIds(bytes.into()));
        }
        fragment
    };
    edit(&table, |message| {
        let first = message.fragments[0].clone();
        message.fragments = (0..FRAGMENTS).map(|id| fragment(id, &first)).collect();
        message.max_fragment_id = Some(9_999);
        message.next_row_id = if stable { FRAGMENTS * ROWS } else { 0 };
        if deletions {
            message.reader_feature_flags |= 1;
            message.writer_feature_flags |= 1;
        }
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_take_touches_the_fragments_of_its_rows_only() {
    let there = (0..FRAGMENTS).step_by(97).collect::<Vec<_>>();
    for (stable, deletions) in [(false, false), (false, true), (true, false), (true, true)] {
        let store = Store::memory();
        many(&store, stable, deletions, &there).await;
        let (counted, counts) = store.counted();
        let table = Table::open(counted, None).await.unwrap();
        assert_eq!((counts.requests(), counts.listings(), counts.heads()), (1, 1, 0));
        let live = if deletions { LIVE.len() as u64 } else { ROWS };
        assert_eq!((table.fragments().len(), table.rows()), (10_000, FRAGMENTS * live));

        // 256 rows of 104 fragments.
        let place = |n: u64| (there[(n * 7) as usize % there.len()], n % live);
        let value = |row: u64| if deletions { LIVE[row as usize] } else { row as i32 };
        let rows = (0..256).map(place).map(|(fragment, row)| fragment * live + row).collect::<Vec<_>>();
        let expected = (0..256).map(place).map(|(_, row)| value(row)).collect::<Vec<_>>();
        counts.reset();
        assert_eq!(ints(&table.take(&rows, None, false).await.unwrap(), "i"), expected);
        // Its metadata, its lookup tables and its values; and which rows are deleted.
        let each = if deletions { 4 } else { 3 };
        assert!(counts.requests() <= each * there.len() as u64, "{}", counts.requests());
        assert_eq!((counts.listings(), counts.heads()), (0, 0));

        // The same rows by their ids, from a handle that knows nothing yet.
        let table = table.latest().await.unwrap();
        let ids = (0..256).map(place).map(|(fragment, row)| match stable {
            true => fragment * ROWS + value(row) as u64,
            false => (fragment << 32) + value(row) as u64,
        });
        let ids = ids.collect::<Vec<_>>();
        counts.reset();
        let taken = table.take_ids(&ids, None, true).await.unwrap();
        assert_eq!((ints(&taken, "i"), row_ids(&taken)), (expected, ids));
        assert!(counts.requests() <= each * there.len() as u64, "{}", counts.requests());
        counts.reset();
        if stable && deletions {
            // The first is deleted, and the second never was.
            assert_eq!(table.take_ids(&[1, FRAGMENTS * ROWS], None, true).await.unwrap().num_rows(), 0);
            assert_eq!(counts.requests(), 0);
        }
    }
}

/// It reads the manifest, and none of their files.
#[tokio::test]
async fn an_append_leaves_fragments_alone() {
    for (stable, deletions) in [(false, false), (true, true)] {
        let store = Store::memory();
        many(&store, stable, deletions, &[]).await;
        let (counted, counts) = store.counted();
        let table = Table::open(counted, None).await.unwrap();
        let rows = table.rows();
        counts.reset();
        let table = table.write_after(vec![numbers(0..2)].into(), options(APPEND, 10)).await.unwrap();
        assert_eq!((table.rows(), table.fragments().len()), (rows + 2, 10_001));
        assert_eq!((counts.requests(), counts.listings(), counts.writes()), (1, 1, 3));
    }
}

/// Takes from everywhere, several at once, with files that are closed and opened again between them.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn takes_leave_few_files_open() {
    const COUNT: i32 = 2_000;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::local(dir.path()).durable(false);
    write(&store, numbers(0..2 * COUNT), options(WriteMode::Create, 2)).await;
    let open = || rows::open_below(dir.path());
    let limit = std::num::NonZeroUsize::new(50).unwrap();
    let options = OpenOptions { open_files: limit, ..Default::default() };
    let table = Table::open_with(store.clone(), options).await.unwrap();
    assert_eq!(table.fragments().len(), 2_000);
    for turn in 0..2 {
        let takes = (0..16).map(|part| {
            let table = table.clone();
            tokio::spawn(async move {
                let rows = (0..250).map(|row| (row * 1601 + part * 250 + turn) % 4_000).collect::<Vec<_>>();
                let taken = table.take(&rows, None, false).await.unwrap();
                assert_eq!(ints(&taken, "i"), rows.iter().map(|row| *row as i32).collect::<Vec<_>>());
            })
        });
        for take in takes.collect::<Vec<_>>() {
            take.await.unwrap();
        }
        assert!((1..=50).contains(&open()), "{} files are open", open());
    }
    // A later version shares the bound, and closes what it had open.
    let later = table.write_after(vec![numbers(0..1)].into(), super::options(APPEND, 10)).await.unwrap();
    later.take(&(0..4_001).step_by(20).collect::<Vec<_>>(), None, false).await.unwrap();
    assert!((1..=50).contains(&open()), "{} files are open", open());
    drop(table);
    assert!((1..=50).contains(&open()), "{} files are open", open());
    drop(later);
    assert_eq!(open(), 0);

    let table = Table::open(store, None).await.unwrap();
    table.take(&(0..4_001).collect::<Vec<_>>(), None, false).await.unwrap();
    assert!((1..=256).contains(&open()), "{} files are open", open());
}
