//! Streams of structs.

use fory_row::{
    Compact, DataType, ErrorKind, Field, Format, ForyRow, FromRowBytes, Layout, RowFormat, RowStreamReader,
    RowStreamWriter, Schema, Standard,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct Step {
    at: i64,
    note: Option<String>,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct Part {
    x: f32,
    y: f32,
}

#[derive(Debug, PartialEq, ForyRow)]
struct Borrowed<'a> {
    at: i64,
    note: Option<&'a str>,
    parts: Vec<Part>,
}

/// Of the same hash, and other bytes in compact rows.
#[derive(Debug, PartialEq, ForyRow)]
struct Nullable {
    at: i64,
    note: Option<String>,
    parts: Vec<Option<Part>>,
}

fn steps() -> Vec<Step> {
    let part = Part { x: 1.0, y: -1.0 };
    (0..5)
        .map(|at| Step {
            at: i64::from(at),
            note: (at % 2 == 0).then(|| "é".repeat(at as usize)),
            parts: vec![part.clone(); at as usize],
        })
        .collect()
}

fn there_and_back<F: RowFormat>() -> Outcome {
    let mut writer = RowStreamWriter::new(Step::layout::<F>()?, vec![]);
    steps().iter().try_for_each(|step| writer.write_struct(step))?;
    let bytes = writer.finish()?;

    let mut reader = RowStreamReader::new(Step::layout::<F>()?, &bytes[..]);
    for step in steps() {
        assert_eq!(reader.next_struct::<Step>()?, Some(step));
    }
    assert_eq!(reader.next_struct::<Step>()?, None);

    let mut reader = RowStreamReader::new(Borrowed::layout::<F>()?, &bytes[..]);
    for Step { at, note, parts } in steps() {
        assert_eq!(reader.next_struct()?, Some(Borrowed { at, note: note.as_deref(), parts }));
    }

    // Written in turns with what is no struct, it is one stream.
    let mut writer = RowStreamWriter::new(Step::layout::<F>()?, vec![]);
    let mut reader = RowStreamReader::new(Step::layout::<F>()?, &bytes[..]);
    for (index, step) in steps().iter().enumerate() {
        let value = reader.next_value()?.ok_or("no more")?;
        if index % 2 == 0 { writer.write(&value)? } else { writer.write_struct(step)? }
    }
    assert_eq!(writer.finish()?, bytes);
    Ok(())
}

#[test]
fn structs_there_and_back() -> Outcome {
    there_and_back::<Standard>()?;
    there_and_back::<Compact>()
}

fn refuses<T: ForyRow + for<'a> FromRowBytes<'a>>(layout: &Layout, row: &T, text: &str) -> Outcome {
    let mut writer = RowStreamWriter::new(layout.clone(), vec![]);
    // Not only the first time.
    for _ in 0..2 {
        let error = writer.write_struct(row).err().ok_or("it was written")?;
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Type, text));
    }
    assert!(writer.finish()?.is_empty());
    let mut reader = RowStreamReader::new(layout.clone(), &[0; 99][..]);
    let error = reader.next_struct::<T>().err().ok_or("it was read")?;
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Type, text));
    Ok(())
}

#[test]
fn structs_of_another_schema_are_refused() -> Outcome {
    let row = Nullable { at: 1, note: None, parts: vec![] };
    assert_eq!(Nullable::schema_hash::<Compact>(), Step::schema_hash::<Compact>());
    let text = "wrong type: field parts: the struct and the stream have different fields at this place";
    refuses(&Step::layout::<Compact>()?, &row, text)?;

    let one = Schema::new(vec![Field::new("at", DataType::Int64, false)])?;
    let text = "wrong type: a struct of 3 fields in a stream whose rows have 1";
    refuses(&Layout::new(one, Format::Standard)?, &row, text)?;

    // After one that is right, too.
    let mut writer = RowStreamWriter::new(Step::layout::<Compact>()?, vec![]);
    writer.write_struct(&Step { at: 1, note: None, parts: vec![] })?;
    assert!(writer.write_struct(&row).is_err());
    Ok(())
}
