//! Rows that were tampered with.

use fory_row::{DataType, DecodeOptions, ErrorKind, Field, Format, Layout, Schema};
use proptest::prelude::*;

use crate::arrays::{Random, batch};
use crate::encode::{FORMATS, layout, one_field};
use crate::{config, types};

/// One of the ways to spoil bytes.
fn spoil(row: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(row.len());
    match random.below(6) {
        0 => row[at] ^= 1 << random.below(8),
        1 => row[at] = random.next().to_le_bytes()[0],
        2 => row.truncate(at),
        3 => {
            let from = random.below(row.len());
            let len = random.below(17).min(row.len() - at.max(from));
            row.copy_within(from..from + len, at);
        }
        4 => row.extend_from_within(at..),
        _ => {
            let word = [0, 1, 7, 8, u32::MAX, i32::MAX as u32, 1 << 20][random.below(7)].to_le_bytes();
            let at = at / 4 * 4;
            row.iter_mut().skip(at).zip(word).for_each(|(byte, new)| *byte = new);
        }
    }
}

proptest! {
    #![proptest_config(config(600))]

    /// Spoilt rows are an error that says which row, or a batch; with nothing more than the budget has.
    #[test]
    fn spoilt_rows_are_read_or_refused(schema in types::schema(false), rows in 1_usize..12, seed: u64) {
        let random = &mut Random(seed);
        let batch = batch(&schema, rows, random);
        for format in FORMATS {
            let layout = layout(&schema, format);
            let encoded = layout.encode_batch(&batch).unwrap();
            for _ in 0..10 {
                let mut rows = encoded.iter().map(<[u8]>::to_vec).collect::<Vec<_>>();
                for _ in 0..=random.below(3) {
                    let which = random.below(rows.len());
                    if !rows[which].is_empty() {
                        spoil(&mut rows[which], random);
                    }
                }
                let len = rows.iter().map(Vec::len).sum::<usize>();
                let options = DecodeOptions { expansion: 3, slack: 1 << 10 };
                match layout.decode_batch_as(rows.iter().map(Vec::as_slice), &schema, options) {
                    Ok(read) => {
                        prop_assert_eq!(read.num_rows(), rows.len());
                        // What is in the arrays is at most what may be visited, and what each row has in any case.
                        let size = read.get_array_memory_size();
                        let fields = 64 * schema.flattened_fields().len();
                        let bound = 8 * (3 * len + (1 << 10)) + (rows.len() + 20) * fields * 64;
                        prop_assert!(size <= bound, "{} bytes of {}", size, len);
                    }
                    Err(error) => prop_assert!(error.row().is_some(), "{}", error),
                }
            }
        }
    }
}

/// References that point at one child again and again expand without end.
#[test]
fn lists_that_share_their_items_pass_the_budget() {
    for format in FORMATS {
        let nested = (0..5).fold(DataType::Utf8, |inner, _| DataType::list(inner, true));
        let layout = one_field(nested, true, format);
        let stride = 8;
        // Each level is an array of 100 references to the next.
        let mut image = b"text\0\0\0\0".to_vec();
        let mut size = 4;
        for _ in 0..5 {
            let header = match format {
                Format::Standard => [&100_u64.to_le_bytes()[..], &[0; 16]].concat(),
                Format::Compact => [&100_u32.to_le_bytes()[..], &[0; 13]].concat(),
            };
            let slots = header.len() + 100 * stride;
            let offset = if format == Format::Standard { slots } else { header.len() + 800 };
            let mut level = header;
            for _ in 0..100 {
                level.extend_from_slice(&(size as u32).to_le_bytes());
                level.extend_from_slice(&(offset as u32).to_le_bytes());
            }
            level.extend_from_slice(&image);
            size = level.len();
            image = level;
        }
        let fixed = layout.fixed_len();
        let mut row = vec![0; fixed];
        let slot = if format == Format::Standard { 8 } else { 0 };
        row[slot..slot + 4].copy_from_slice(&(size as u32).to_le_bytes());
        row[slot + 4..slot + 8].copy_from_slice(&(fixed as u32).to_le_bytes());
        row.extend_from_slice(&image);

        let error = layout.decode_batch([row.as_slice()]).unwrap_err();
        assert_eq!((error.kind(), error.row()), (ErrorKind::Limit, Some(0)), "{error}");
        assert!(error.path().starts_with("f["), "{error}");
    }
}

#[test]
fn counts_and_keys_are_checked() {
    let map = DataType::map(DataType::Int64, DataType::Int64);
    let layout =
        Layout::new(Schema::new(vec![Field::new("m", map, false)]).unwrap(), Format::Standard).unwrap();
    let mut good = vec![];
    layout
        .write_row(&mut good, |row| {
            row.map(
                "m",
                2,
                |keys| keys.extend_from_slice(&[1i64, 2]),
                |values| values.extend_from_slice(&[3i64, 4]),
            )
        })
        .unwrap();
    let refused = |at: usize, byte: u8| {
        let mut row = good.clone();
        row[at] = byte;
        let error = layout.decode_batch([good.as_slice(), row.as_slice()]).unwrap_err();
        assert_eq!(
            (error.kind(), error.row(), error.path()),
            (ErrorKind::Malformed, Some(1), "m".into()),
            "{error}"
        );
        error.to_string()
    };
    assert!(layout.decode_batch([good.as_slice()]).is_ok());
    // The count of the keys, another one, a null key, a size of keys beyond the map, an offset into the slots.
    for (at, byte) in [(24, 0xff), (24, 1), (32, 2), (16, 0xff), (12, 8)] {
        refused(at, byte);
    }
    assert!(refused(32, 1).contains("null among the keys"));
    let error = layout.decode_batch([&good[..8]]).unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Malformed, Some(0)));
}
