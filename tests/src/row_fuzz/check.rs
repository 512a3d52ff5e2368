//! What has to hold for any bytes.

use fory_row::{
    ArrayRef, DataType, DecodeOptions, ErrorKind, Field, Format, Frame, Image, Layout, MapRef, Result, Row,
    RowStreamReader, Schema, StreamOptions, Value, ValueRef,
};

use crate::any_row::same;

/// Runs something, and gives the most memory that it took at one time.
pub type Measure = fn(&mut dyn FnMut()) -> u64;

/// How a case came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the bytes were taken as sound.
    pub accepted: bool,
    /// Whether references overlapped so much that the budget ran out.
    pub over_budget: bool,
    /// The most memory that one step took.
    pub peak: u64,
}

impl Outcome {
    /// A case in which nothing was measured.
    pub const REFUSED: Self = Self { accepted: false, over_budget: false, peak: 0 };
}

/// What an error takes: its path and text.
const ERROR: u64 = 16 << 10;
/// Values that a lazy reader looks at before it gives up.
const STEPS: usize = 20_000;
/// No byte more than twice: what was encoded anew is honest.
const HONEST: DecodeOptions = DecodeOptions { expansion: 2, slack: 0 };
/// The most memory for a value, as a multiple of the bytes that a decode may visit.
const VALUE: u64 = 256;

/// The memory that a decode may take.
pub(super) fn decode_limit(len: usize) -> u64 {
    let DecodeOptions { expansion, slack } = DecodeOptions::default();
    (len * expansion + slack) as u64 * VALUE
}

/// How far a lazy reader came.
enum Walked {
    Whole,
    Failed,
    /// There was no end to it.
    Tired,
}

pub(super) fn image(layout: &Layout, frame: Frame, bytes: &[u8], measure: Measure) -> Outcome {
    let Ok(body) = frame.body(layout.hash(), bytes) else {
        assert!(layout.decode_framed(frame, bytes).is_err());
        assert!(layout.inspect(frame, bytes).is_err());
        return Outcome::REFUSED;
    };
    let image = frame.image();
    let mut walked = Walked::Failed;
    let views = measure(&mut || walked = walk(layout, image, body));
    assert!(views <= ERROR, "views took {views} bytes");

    let mut decoded = Ok(Value::Null);
    let peak = measure(&mut || decoded = layout.decode_image(image, body, DecodeOptions::default()));
    let limit = decode_limit(body.len());
    assert!(peak <= limit, "{peak} bytes of memory for {}, at most {limit}", body.len());

    let checked = layout.check(image, body);
    assert_eq!(checked.is_ok(), decoded.is_ok(), "{checked:?} {decoded:?}");
    let over_budget = decoded.as_ref().is_err_and(|error| error.kind() == ErrorKind::Limit);
    match (&walked, &decoded) {
        (Walked::Failed, Ok(value)) => panic!("decoded to {value:?}, and no lazy reader can read it"),
        (Walked::Whole, Err(error)) if !over_budget => panic!("read lazily, and decoded: {error}"),
        _ => {}
    }
    let tight = layout.decode_image(image, body, HONEST);
    let over_budget = over_budget || tight.as_ref().is_err_and(|error| error.kind() == ErrorKind::Limit);
    assert!(tight.is_ok() == decoded.is_ok() || over_budget, "{decoded:?}, and within less {tight:?}");
    if image == Image::Row {
        batch(layout, body, &decoded, measure);
    }
    match decoded {
        Ok(value) => {
            again(layout, image, &value);
            regions(layout, frame, bytes);
            Outcome { accepted: true, over_budget, peak }
        }
        Err(_) => {
            assert!(layout.inspect(frame, bytes).is_err());
            Outcome { accepted: false, over_budget, peak }
        }
    }
}

/// What was accepted can be written, and is the same then.
fn again(layout: &Layout, image: Image, value: &Value) {
    let mut bytes = vec![];
    match layout.encode_image(image, value, &mut bytes) {
        Ok(()) => {
            assert_eq!(bytes.len(), layout.image_len(image, value).unwrap());
            let read = layout.decode_image(image, &bytes, HONEST).unwrap();
            assert!(same(&read, value), "{read:?} instead of {value:?}");
        }
        // Standard rows can have nulls where the schema has none.
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Value, "{error}");
            assert!(has_forbidden_null(layout, image, value), "{error}: {value:?}");
        }
    }
    let json = layout.value_to_json(image, value).unwrap();
    let read = layout.value_from_json(image, &json).unwrap();
    assert!(same(&read, value), "{json}");
}

/// Arrow reads the same, and writes the same bytes.
fn batch(layout: &Layout, row: &[u8], decoded: &Result<Value>, measure: Measure) {
    let mut batch = Err(None);
    let peak = measure(&mut || batch = layout.decode_batch([row]).map_err(Some));
    // Null structs have columns, too.
    let limit = 2 * decode_limit(row.len());
    assert!(peak <= limit, "{peak} bytes of memory for the batch of {}, at most {limit}", row.len());
    let limited = |error: &fory_row::Error| error.kind() == ErrorKind::Limit;
    match (batch, decoded) {
        (Ok(batch), Ok(value)) => {
            let rows = layout.encode_batch(&batch).unwrap();
            let mut bytes = vec![];
            layout.encode(value, &mut bytes).unwrap();
            assert_eq!(rows.iter().collect::<Vec<_>>(), [&bytes], "{value:?}");
        }
        (Ok(batch), Err(error)) => assert!(limited(error), "a batch {batch:?}, and decoded: {error}"),
        (Err(Some(error)), Ok(value)) => {
            let forbidden = has_forbidden_null(layout, Image::Row, value);
            assert!(limited(&error) || forbidden, "{error}, and decoded: {value:?}");
        }
        _ => {}
    }
}

/// The map of the bytes, if there is one, leaves nothing out.
fn regions(layout: &Layout, frame: Frame, bytes: &[u8]) {
    let Ok(regions) = layout.inspect(frame, bytes) else { return };
    let end = regions.iter().fold(0, |end, region| {
        assert_eq!(region.range.start, end, "{region}");
        region.range.end
    });
    assert_eq!(end, bytes.len());
}

fn walk(layout: &Layout, image: Image, bytes: &[u8]) -> Walked {
    let mut steps = STEPS;
    let value = match image {
        Image::Row => layout.row(bytes).map(ValueRef::Struct),
        Image::Array => layout.array(bytes).map(ValueRef::List),
        Image::Map => layout.map(bytes).map(ValueRef::Map),
    };
    match value.and_then(|value| visit(value, &mut steps)) {
        Ok(()) if steps > 0 => Walked::Whole,
        Ok(()) => Walked::Tired,
        Err(_) => Walked::Failed,
    }
}

/// Reads all values, as long as there are steps left.
fn visit(value: ValueRef<'_>, steps: &mut usize) -> Result<()> {
    *steps = steps.saturating_sub(1);
    match value {
        _ if *steps == 0 => Ok(()),
        ValueRef::List(list) => visit_list(list, steps),
        ValueRef::Map(map) => visit_map(map, steps),
        ValueRef::Struct(row) => visit_row(row, steps),
        _ => Ok(()),
    }
}

fn visit_row(row: Row<'_>, steps: &mut usize) -> Result<()> {
    row.values().try_for_each(|value| if *steps == 0 { Ok(()) } else { visit(value?, steps) })
}

fn visit_list(list: ArrayRef<'_>, steps: &mut usize) -> Result<()> {
    let _ = (list.as_slice::<i8>(), list.as_slice::<i16>(), list.as_slice::<i32>(), list.as_slice::<i64>());
    let _ = (list.as_slice::<f32>(), list.as_slice::<f64>(), list.has_nulls());
    for value in list.iter::<ValueRef<'_>>() {
        if *steps == 0 {
            break;
        }
        visit(value?.unwrap_or(ValueRef::Null), steps)?;
    }
    Ok(())
}

fn visit_map(map: MapRef<'_>, steps: &mut usize) -> Result<()> {
    for entry in map.iter::<ValueRef<'_>, ValueRef<'_>>() {
        if *steps == 0 {
            break;
        }
        let (key, value) = entry?;
        visit(key, steps)?;
        visit(value.unwrap_or(ValueRef::Null), steps)?;
    }
    Ok(())
}

fn has_forbidden_null(layout: &Layout, image: Image, value: &Value) -> bool {
    let fields = layout.schema().fields();
    match (image, value) {
        (Image::Row, value) => in_parts(&DataType::Struct(fields.to_vec()), value),
        (_, value) => in_parts(&fields[0].data_type, value),
    }
}

fn in_parts(data_type: &DataType, value: &Value) -> bool {
    let wrong = |field: &Field, value: &Value| match value {
        Value::Null => !field.nullable,
        value => in_parts(&field.data_type, value),
    };
    match (data_type, value) {
        (DataType::List(element), Value::List(values)) => values.iter().any(|value| wrong(element, value)),
        (DataType::Map(key, value), Value::Map(entries)) => {
            entries.iter().any(|entry| wrong(key, &entry.0) || wrong(value, &entry.1))
        }
        (DataType::Struct(fields), Value::Struct(values)) => {
            fields.iter().zip(values).any(|(field, value)| wrong(field, value))
        }
        _ => false,
    }
}

pub(super) fn stream(layout: &Layout, bytes: &[u8], measure: Measure) -> Outcome {
    const LARGEST: usize = 1 << 20;
    let mut rows = 0;
    let mut failures = 0;
    let peak = measure(&mut || {
        let options = StreamOptions { max_frame: LARGEST };
        let mut reader = RowStreamReader::with_options(layout.clone(), bytes, options);
        // A frame is of 12 bytes at least, and after a failure that loses the place there are only failures.
        while failures <= bytes.len() {
            match reader.next_value() {
                Ok(Some(_)) => rows += 1,
                Ok(None) => break,
                Err(_) => failures += 1,
            }
        }
    });
    assert!(rows * 12 <= bytes.len(), "{rows} rows in {} bytes", bytes.len());
    let limit = decode_limit(bytes.len());
    assert!(peak <= limit, "{peak} bytes of memory for {}, at most {limit}", bytes.len());
    Outcome { accepted: failures == 0, over_budget: false, peak }
}

pub(super) fn schema(bytes: &[u8], format: Format, row: &[u8], measure: Measure) -> Outcome {
    let mut read = Schema::deserialize(&[]);
    let peak = measure(&mut || read = Schema::deserialize(bytes));
    let limit = ERROR + 512 * bytes.len() as u64;
    assert!(peak <= limit, "{peak} bytes of memory for a schema of {}", bytes.len());
    let Ok(schema) = read else { return Outcome { peak, ..Outcome::REFUSED } };
    match schema.serialize() {
        Ok(bytes) => assert_eq!(Schema::deserialize(&bytes).unwrap(), schema),
        // A packed name may be one of no characters.
        Err(error) => assert!(schema.to_json().to_string().contains(r#""name":"""#), "{error}"),
    }
    assert_eq!(Schema::from_json(&schema.to_json()).unwrap(), schema);
    let layout = Layout::new(schema, format).unwrap();
    let outcome = image(&layout, Frame::Row, row, measure);
    Outcome { accepted: true, peak: peak.max(outcome.peak), ..outcome }
}
