//! Derived rows, against the same rows made from their schema.

use std::collections::{BTreeMap, HashMap};

use fory_row::{
    Compact, Date, Duration, Format, ForyRow, FromRowBytes, Layout, RowFormat, Standard, Timestamp, Value,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct Point {
    x: f32,
    y: f32,
    id: i8,
}

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct Tag {
    name: String,
    weight: Option<i16>,
}

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct Frame {
    index: i64,
    ok: bool,
    short: i16,
    #[fory(rename = "camera")]
    name: String,
    note: Option<String>,
    image: Vec<u8>,
    joints: Vec<f64>,
    gaps: Vec<Option<i32>>,
    pair: [i16; 2],
    at: Point,
    seen: Option<Point>,
    points: Vec<Point>,
    tags: Vec<Tag>,
    first: Tag,
    counts: BTreeMap<String, i32>,
    named: HashMap<i64, Option<Point>>,
    day: Date,
    time: Timestamp,
    took: Option<Duration>,
    #[fory(nullable)]
    boxed: i32,
}

fn frame(full: bool) -> Frame {
    let point = Point { x: 1.5, y: -2.0, id: -7 };
    let tag = |name: &str| Tag { name: name.into(), weight: full.then_some(3) };
    Frame {
        index: -1 << 40,
        ok: full,
        short: -300,
        name: "wrist".into(),
        note: full.then(|| "héllo".into()),
        image: if full { vec![1, 2, 3] } else { vec![] },
        joints: if full { vec![0.5, -0.0, f64::MAX] } else { vec![] },
        gaps: if full { vec![Some(1), None, Some(-3)] } else { vec![] },
        pair: [7, -8],
        at: point.clone(),
        seen: full.then(|| point.clone()),
        points: if full { vec![point.clone(), point.clone()] } else { vec![] },
        tags: if full { vec![tag("a"), tag("")] } else { vec![] },
        first: tag("first"),
        counts: if full { [("one".into(), 1), (String::new(), 3)].into() } else { BTreeMap::new() },
        named: if full { [(9, None), (-3, Some(point)), (4, None)].into() } else { HashMap::new() },
        day: Date(-1),
        time: Timestamp(1_700_000_000_123_456),
        took: full.then_some(Duration(-5)),
        boxed: 11,
    }
}

fn same_as_by_schema<F: RowFormat>() -> Outcome {
    let layout = Layout::new(Frame::schema()?, F::FORMAT)?;
    assert_eq!(Frame::schema_hash::<F>(), layout.hash());
    for full in [true, false] {
        let frame = frame(full);
        let mut bytes = b"before".to_vec();
        frame.write_row::<F>(&mut bytes)?;
        let row = bytes.strip_prefix(b"before").ok_or("what was there before is gone")?;
        assert_eq!(row.len(), frame.encoded_len::<F>());
        assert_eq!(Frame::from_row::<F>(row)?, frame);

        let value = layout.decode(row)?;
        let mut again = vec![];
        layout.encode(&value, &mut again)?;
        assert_eq!(again, row, "full: {full}");
        let Value::Struct(fields) = value else { return Err("not a struct".into()) };
        assert_eq!(fields.first(), Some(&Value::Int64(-1 << 40)));
        assert_eq!(fields.get(3), Some(&Value::Utf8("wrist".into())));
    }
    Ok(())
}

#[test]
fn standard_rows_are_those_of_the_schema() -> Outcome {
    same_as_by_schema::<Standard>()
}

#[test]
fn compact_rows_are_those_of_the_schema() -> Outcome {
    same_as_by_schema::<Compact>()
}

fn lazily<F: RowFormat>() -> Outcome {
    let frame = frame(true);
    let bytes = frame.to_row::<F>()?;
    let view = Frame::view_row::<F>(&bytes)?;
    assert_eq!(view.index()?, frame.index);
    assert_eq!(view.name()?, "wrist");
    assert_eq!(view.note()?, Some("héllo"));
    assert_eq!(view.image()?, [1, 2, 3]);
    assert_eq!(view.joints()?.iter().collect::<Result<Vec<_>, _>>()?, frame.joints);
    assert_eq!(view.gaps()?.get(1)?, None);
    assert_eq!(view.gaps()?.get(2)?, Some(-3));
    assert!(view.gaps()?.get(3).is_err());
    assert_eq!(view.at()?.id()?, -7);
    assert_eq!(view.seen()?.ok_or("null")?.x()?.to_bits(), 1.5f32.to_bits());
    assert_eq!(view.points()?.get(1)?.y()?.to_bits(), (-2.0f32).to_bits());
    assert_eq!(view.tags()?.get(0)?.name()?, "a");
    assert_eq!(view.first()?.weight()?, Some(3));
    let counts = view.counts()?.iter().collect::<Result<Vec<_>, _>>()?;
    assert_eq!(counts, [("", 3), ("one", 1)]);
    let named = view.named()?;
    assert_eq!(named.keys().iter().collect::<Result<Vec<_>, _>>()?, [-3, 4, 9]);
    assert!(named.values().get(1)?.is_none());
    assert_eq!(view.day()?, Date(-1));
    assert_eq!(view.took()?, Some(Duration(-5)));
    assert_eq!(view.boxed()?, 11);
    Ok(())
}

#[test]
fn fields_are_read_one_by_one() -> Outcome {
    lazily::<Standard>()?;
    lazily::<Compact>()
}

#[derive(Debug, PartialEq, ForyRow)]
struct Borrowed<'a, 'b> {
    name: &'a str,
    bytes: &'b [u8],
    words: Vec<&'a str>,
    maybe: Option<&'b [u8]>,
}

#[test]
fn text_and_bytes_are_borrowed_from_the_row() -> Outcome {
    let owned = Borrowed { name: "n", bytes: &[1], words: vec!["a", "bc"], maybe: None };
    let bytes = owned.to_row::<Compact>()?;
    let read = Borrowed::from_row::<Compact>(&bytes)?;
    assert_eq!(read, owned);
    assert!(bytes.as_ptr_range().contains(&read.name.as_ptr()));
    Ok(())
}

#[derive(Debug, PartialEq, ForyRow)]
struct Sizes {
    a: i8,
    s: Shape,
    b: i16,
}

#[derive(Debug, PartialEq, ForyRow)]
struct Shape {
    x: i64,
    y: i32,
}

#[test]
fn structs_of_fixed_width_stand_in_place() -> Outcome {
    let bytes = Sizes { a: 1, s: Shape { x: 2, y: 3 }, b: 4 }.to_row::<Compact>()?;
    // 12 bytes are no multiple of 8: behind the int16.
    assert_eq!(bytes, [4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1]);
    assert_eq!(Layout::new(Sizes::schema()?, Format::Compact)?.stored_order(), [2, 1, 0]);
    Ok(())
}

fn refuses<'a, T: ForyRow + FromRowBytes<'a>>(bytes: &'a [u8], text: &str) {
    let error = T::from_row::<Standard>(bytes).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some(text));
}

#[test]
fn errors_name_the_field() -> Outcome {
    let bytes = Tag { name: "n".into(), weight: None }.to_row::<Standard>()?;
    let mut null = bytes.clone();
    *null.first_mut().ok_or("empty")? |= 1;
    refuses::<Tag>(&null, "malformed row: field name: null where the Rust type takes none");
    refuses::<Tag>(&[0; 23], "malformed row: 23 bytes are shorter than the fixed region of 24");
    let cut = bytes.get(..24).ok_or("short")?;
    refuses::<Tag>(
        cut,
        "malformed row: field name: a reference to 1 bytes at offset 24 of a container of 24",
    );
    Ok(())
}
