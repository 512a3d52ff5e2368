//! The same for rows of a struct, whose code is another one.

use std::collections::BTreeMap;

use fory_row::{
    Compact, Date, Decimal, DecodeOptions, Duration, ErrorKind, Float16, ForyRow, Layout, RowFormat, RowView,
    Standard, Timestamp, Value,
};

use super::check::{Measure, Outcome, decode_limit};

#[derive(Debug, Clone, PartialEq, ForyRow)]
pub(super) struct Everything {
    flag: bool,
    byte: i8,
    short: Option<i16>,
    int: i32,
    long: Option<i64>,
    half: Float16,
    float: Option<f32>,
    double: f64,
    day: Date,
    time: Option<Timestamp>,
    took: Duration,
    price: Option<Decimal>,
    name: String,
    note: Option<String>,
    image: Vec<u8>,
    numbers: Vec<i32>,
    gaps: Option<Vec<Option<f64>>>,
    flags: Vec<bool>,
    names: Vec<Option<String>>,
    matrix: Vec<Vec<i16>>,
    at: Point,
    seen: Option<Point>,
    points: Vec<Option<Point>>,
    tags: Vec<Tag>,
    counts: BTreeMap<String, i64>,
    found: BTreeMap<i8, Point>,
    tagged: BTreeMap<Date, Tag>,
}

#[derive(Debug, Clone, PartialEq, ForyRow)]
pub(super) struct Point {
    x: i32,
    y: Option<i8>,
}

#[derive(Debug, Clone, PartialEq, ForyRow)]
pub(super) struct Tag {
    name: Option<String>,
    weights: Vec<f32>,
    at: Point,
}

pub(super) fn check<F: Walk>(bytes: &[u8], measure: Measure) -> Outcome {
    let mut walked = Ok(());
    // Errors take some, getters nothing.
    let views = measure(&mut || walked = F::walk(bytes));
    assert!(views <= 4 << 10, "views took {views} bytes");
    let mut typed = Err(None);
    let peak = measure(&mut || typed = Everything::from_row::<F>(bytes).map_err(Some));
    let limit = decode_limit(bytes.len());
    assert!(peak <= limit, "{peak} bytes of memory for {}, at most {limit}", bytes.len());

    let layout = Layout::new(Everything::schema().unwrap(), F::FORMAT).unwrap();
    let by_schema = layout.decode(bytes);
    let limited = |kind: ErrorKind| kind == ErrorKind::Limit;
    let over_budget = matches!(&typed, Err(Some(error)) if limited(error.kind()))
        || by_schema.as_ref().is_err_and(|error| limited(error.kind()));
    match (&typed, &by_schema) {
        _ if over_budget => {}
        (Ok(row), Err(error)) => panic!("{row:?}, and by the schema: {error}"),
        // The schema of a map has no way to say that no value is null, and standard rows can have nulls anywhere.
        (Err(Some(error)), Ok(value)) => {
            assert!(error.reason().contains("null"), "{error}, and by the schema: {value:?}");
        }
        _ => {}
    }
    if let Ok(row) = &typed {
        assert!(walked.is_ok(), "{row:?}, and lazily: {walked:?}");
        again::<F>(&layout, row);
    } else if !over_budget {
        assert!(walked.is_err(), "read lazily, and decoded: {typed:?}");
    }
    Outcome { accepted: typed.is_ok(), over_budget, peak }
}

/// What was accepted can be written, and is the same then.
fn again<F: RowFormat>(layout: &Layout, row: &Everything) {
    let bytes = row.to_row::<F>().unwrap();
    assert_eq!(bytes.len(), row.encoded_len::<F>());
    let honest = DecodeOptions { expansion: 1, slack: 0 };
    let read = Everything::from_row_with::<F>(&bytes, honest).unwrap();
    assert_eq!(read.to_row::<F>().unwrap(), bytes);
    let mut by_schema = vec![];
    let value: Value = layout.decode(&bytes).unwrap();
    layout.encode(&value, &mut by_schema).unwrap();
    assert_eq!(by_schema, bytes);
}

/// A format in which all getters are called. The views of a format are types of their own.
pub(super) trait Walk: RowFormat {
    fn walk(bytes: &[u8]) -> fory_row::Result<()>;
}

macro_rules! walk {
    ($($format:ty),*) => {$(
        impl Walk for $format {
            fn walk(bytes: &[u8]) -> fory_row::Result<()> {
                let view = EverythingView::<$format>::open(bytes)?;
                let point = |point: PointView<'_, $format>| {
                    point.x()?;
                    point.y().map(drop)
                };
                let tag = |tag: TagView<'_, $format>| {
                    tag.name()?;
                    let _ = tag.weights()?.as_slice();
                    tag.weights()?.iter().try_for_each(|weight| weight.map(drop))?;
                    point(tag.at()?)
                };
                (view.flag()?, view.byte()?, view.short()?, view.int()?, view.long()?, view.half()?);
                (view.float()?, view.double()?, view.day()?, view.time()?, view.took()?, view.price()?);
                (view.name()?, view.note()?, view.image()?);
                let _ = view.numbers()?.as_slice();
                view.numbers()?.iter().try_for_each(|number| number.map(drop))?;
                if let Some(gaps) = view.gaps()? {
                    let _ = gaps.get(0);
                    gaps.iter().try_for_each(|gap| gap.map(drop))?;
                }
                view.flags()?.iter().try_for_each(|flag| flag.map(drop))?;
                view.names()?.iter().try_for_each(|name| name.map(drop))?;
                view.matrix()?.iter().try_for_each(|row| row?.iter().try_for_each(|cell| cell.map(drop)))?;
                point(view.at()?)?;
                view.seen()?.map_or(Ok(()), point)?;
                view.points()?.iter().try_for_each(|place| place?.map_or(Ok(()), point))?;
                view.tags()?.iter().try_for_each(|one| tag(one?))?;
                view.counts()?.iter().try_for_each(|entry| entry.map(drop))?;
                view.found()?.iter().try_for_each(|entry| point(entry?.1))?;
                view.tagged()?.iter().try_for_each(|entry| tag(entry?.1))
            }
        }
    )*};
}

walk!(Standard, Compact);
