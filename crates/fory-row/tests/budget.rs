//! What a decode may visit: all of any honest row, and not much more of a hostile one.

use fory_row::{Compact, DecodeOptions, ErrorKind, Format, ForyRow, Image, Layout, Standard, Value};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct A {
    x: i8,
}

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct B {
    a: A,
}

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct C {
    b: B,
}

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct D {
    c: C,
}

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct E {
    d: D,
}

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct Many {
    list: Vec<E>,
}

/// Structs of fixed width stand in place in compact rows: their bytes are there once, however deep they are nested.
#[test]
fn structs_in_place_are_counted_once() -> Outcome {
    let list = (0..50_000).map(|_| E { d: D { c: C { b: B { a: A { x: 7 } } } } }).collect::<Vec<_>>();
    let row = Many { list }.to_row::<Compact>()?;
    let options = DecodeOptions { expansion: 1, slack: 0 };
    assert_eq!(Many::from_row_with::<Compact>(&row, options)?.list.len(), 50_000);

    let layout = Layout::new(Many::schema()?, Format::Compact)?;
    layout.check_with(Image::Row, &row, options)?;
    let Value::Struct(fields) = layout.decode_with(&row, options)? else { return Err("no struct".into()) };
    assert!(matches!(fields.as_slice(), [Value::List(list)] if list.len() == 50_000));
    Ok(())
}

#[derive(Debug, PartialEq, ForyRow)]
struct Nested {
    x: Vec<Vec<Vec<i8>>>,
}

/// A list of lists of lists, of which only the first of each is not empty.
fn nested(format: Format, count: usize) -> Result<(Layout, Vec<u8>), fory_row::Error> {
    let layout = Layout::new(Nested::schema()?, format)?;
    let mut bytes = vec![];
    let len = |index| if index == 0 { count } else { 0 };
    layout.write_row(&mut bytes, |row| {
        row.list("x", count, |outer| {
            (0..count).try_for_each(|index| {
                outer.push_list(len(index), |inner| {
                    (0..len(index)).try_for_each(|index| {
                        let numbers = vec![1i8; len(index)];
                        inner.push_list(numbers.len(), |list| list.extend_from_slice(&numbers))
                    })
                })
            })
        })
    })?;
    Ok((layout, bytes))
}

/// Points every reference of the array at `array` at the target of the first.
fn alias(bytes: &mut [u8], array: usize, header: usize, count: usize) -> Option<usize> {
    let first = *bytes.get(array + header..)?.first_chunk::<8>()?;
    for slot in bytes.get_mut(array + header..)?.chunks_exact_mut(8).take(count) {
        slot.copy_from_slice(&first);
    }
    Some(array + usize::try_from(u64::from_le_bytes(first) >> 32).ok()?)
}

#[test]
fn references_that_overlap_run_out_of_budget() -> Outcome {
    const COUNT: usize = 64;
    for (format, header) in [(Format::Standard, 8 + COUNT.div_ceil(64) * 8), (Format::Compact, 4)] {
        let (layout, mut bytes) = nested(format, COUNT)?;
        let honest = layout.decode_with(&bytes, DecodeOptions { expansion: 1, slack: 0 });
        assert!(honest.is_ok(), "{honest:?}");

        let array = layout.fixed_len();
        let inner = alias(&mut bytes, array, header, COUNT).ok_or("no outer list")?;
        alias(&mut bytes, inner, header, COUNT).ok_or("no inner list")?;
        // 64 × 64 × 64 values.
        let error = layout.decode(&bytes).err().ok_or("hostile rows were decoded")?;
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        let error = match format {
            Format::Standard => Nested::from_row::<Standard>(&bytes),
            Format::Compact => Nested::from_row::<Compact>(&bytes),
        };
        assert_eq!(error.err().map(|error| error.kind()), Some(ErrorKind::Limit));
        let enough = DecodeOptions { expansion: 1000, slack: 0 };
        assert!(layout.decode_with(&bytes, enough).is_ok());
    }
    Ok(())
}

#[derive(Debug, ForyRow)]
struct Large {
    list: Vec<[Option<Vec<u8>>; 10_000]>,
}

/// A reference takes eight bytes, and the array that it refers to 240 kB in Rust: memory for all that the count tells of
/// would be 240 GB.
#[test]
fn memory_is_not_taken_for_what_is_only_announced() -> Outcome {
    const COUNT: usize = 1_000_000;
    let layout = Layout::new(Large::schema()?, Format::Standard)?;
    let mut bytes = vec![];
    layout.write_row(&mut bytes, |row| {
        row.list("list", COUNT, |list| (0..COUNT).try_for_each(|_| list.push_list(0, |_| Ok(()))))
    })?;
    let error = Large::from_row::<Standard>(&bytes).err().ok_or("empty lists became full arrays")?;
    assert_eq!(error.to_string(), "malformed row: field list[0]: a list of 0 elements instead of 10000");
    Ok(())
}
