//! Properties of any file that we write: it gives back what went in, and any rows of it are the same rows of a scan.

use std::sync::Arc;

use arrow_array::RecordBatch;
use demilance_tests::draw::{Draw, Nulls, Texture};
use demilance_tests::legacy::fit;
use demilance_tests::ours::Shape;
use demilance_tests::types::files_of;
use demilance_tests::{nested, ours, same};
use futures::TryStreamExt;
use lance_file::{Alignment, Rows, ScanOptions, Version};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Arbitrary nested arrays, by way of a seed: what shrinks is how much there is.
    #[test]
    fn what_is_written_is_read_back(
        seed: u64,
        depth in 0_usize..4,
        sizes in prop::collection::vec(0_usize..1200, 0..4),
        page_bytes in prop::sample::select(vec![1_u64, 3000, 8 << 20]),
        version in prop::sample::select(Version::ALL.to_vec()),
        wide: bool,
    ) {
        let mut draw = Draw::new(seed);
        let schema = nested::schema(&mut draw, version, depth, false);
        let schema = Arc::new(schema.project(&files_of(&schema)[0]).unwrap());
        let batches: Vec<RecordBatch> = sizes.iter().map(|rows| {
            let nulls = [Nulls::None, Nulls::Some, Nulls::All, Nulls::Ends][draw.below(4)];
            let texture = [Texture::Random, Texture::Narrow, Texture::Few, Texture::Long][draw.below(4)];
            fit(draw.batch(&schema, *rows, nulls, texture), version)
        }).collect();
        let alignment = if wide { Alignment::Bytes4096 } else { Alignment::Bytes64 };
        let shape = Shape { alignment, page_bytes, ..Shape::of(version) };
        let wrong = ours::run(async {
            let bytes = ours::written(&schema, &batches, shape).await?;
            let file = ours::open_bytes(bytes).await?;
            let rows = draw.rows(file.rows(), 64);
            Ok::<_, String>(ours::compare(&file, &schema, &batches, &rows).await)
        });
        prop_assert_eq!(wrong, Ok(vec![]));
    }

    /// Ranges of rows, and single rows in any order, are the same rows of a scan.
    #[test]
    fn any_rows_are_those_of_a_scan(
        seed: u64,
        mut cuts in prop::collection::vec(0_u64..3000, 0..12),
        picks in prop::collection::vec(0_u64..3000, 0..40),
        batch_rows in 1_u32..2000,
        version in prop::sample::select(Version::ALL.to_vec()),
    ) {
        let mut draw = Draw::new(seed);
        let schema = nested::schema(&mut draw, version, 2, false);
        let schema = Arc::new(schema.project(&files_of(&schema)[0]).unwrap());
        let batch = |_| fit(draw.batch(&schema, 1000, Nulls::Some, Texture::Random), version);
        let batches: Vec<_> = (0..3).map(batch).collect();
        let expected = same::whole(&schema, &batches).unwrap();
        cuts.sort_unstable();
        let ranges = cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]);
        let rows = Rows::from_ranges(ranges.clone()).unwrap();
        let indices: Vec<u64> = ranges.flatten().collect();
        let outcome = ours::run(async {
            let shape = Shape { page_bytes: 40_000, ..Shape::of(version) };
            let file = ours::open_bytes(ours::written(&schema, &batches, shape).await?).await?;
            let options = ScanOptions { rows: Some(rows), batch_rows, ..Default::default() };
            let stream = file.scan(options).map_err(|error| error.to_string())?;
            let scanned: Vec<_> = stream.try_collect().await.map_err(|error| error.to_string())?;
            same::check(&same::whole(&schema, &scanned)?, &same::rows_at(&expected, &indices))?;
            let taken = ours::take(&file, &picks, file.schema()).await?;
            same::check(&taken, &same::rows_at(&expected, &picks))
        });
        prop_assert_eq!(outcome, Ok(()));
    }
}
