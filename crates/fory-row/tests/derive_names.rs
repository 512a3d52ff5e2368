//! Derived rows whose names and visibilities could get in the way of those of the derived code.

#![deny(missing_docs, dead_code, private_interfaces, private_bounds, unused, nonstandard_style)]
#![deny(unreachable_pub, clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use fory_row::{Compact, ErrorKind, ForyRow, RowView, Standard};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[derive(Debug, PartialEq, ForyRow)]
struct Taken {
    open: bool,
    as_bytes: Vec<u8>,
    bytes: i8,
    format: i16,
    clone: i32,
    fmt: i64,
    encoded_len: f32,
    schema: f64,
    write_row: String,
    from_row: Option<String>,
    slot: i8,
    row: i8,
    image: i8,
    budget: i8,
    hash: i8,
}

#[test]
fn fields_may_be_called_as_what_is_derived() -> Outcome {
    let taken = Taken {
        open: true,
        as_bytes: vec![1, 2],
        bytes: 3,
        format: 4,
        clone: 5,
        fmt: 6,
        encoded_len: 7.0,
        schema: 8.0,
        write_row: "9".into(),
        from_row: None,
        slot: 10,
        row: 11,
        image: 12,
        budget: 13,
        hash: 14,
    };
    let row = taken.to_row::<Compact>()?;
    let view = Taken::view_row::<Compact>(&row)?;
    assert!(view.open()?);
    assert_eq!(view.as_bytes()?, [1, 2]);
    assert_eq!(RowView::as_bytes(&view), row);
    assert_eq!((view.bytes()?, view.format()?, view.clone()?, view.fmt()?), (3, 4, 5, 6));
    assert_eq!((view.write_row()?, view.from_row()?, view.hash()?), ("9", None, 14));
    let again = <TakenView<'_, Compact> as RowView>::open(&row)?;
    assert_eq!(again.image()?, 12);
    assert_eq!(Taken::from_row::<Compact>(&row)?, taken);
    Ok(())
}

#[derive(Debug, PartialEq, ForyRow)]
struct Raw {
    r#type: i32,
    r#move: Option<String>,
}

#[test]
fn raw_names_are_those_of_the_schema_without_their_mark() -> Outcome {
    let row = Raw { r#type: 1, r#move: Some("up".into()) }.to_row::<Standard>()?;
    let view = Raw::view_row::<Standard>(&row)?;
    assert_eq!((view.r#type()?, view.r#move()?), (1, Some("up")));
    let schema = Raw::schema()?;
    assert_eq!(schema.fields().iter().map(|field| field.name.as_str()).collect::<Vec<_>>(), ["type", "move"]);
    Ok(())
}

/// Types that are called as the parameters of derived code.
mod types {
    use fory_row::ForyRow;

    #[derive(Debug, Clone, PartialEq, ForyRow)]
    pub(super) struct F {
        pub(super) x: i32,
    }

    #[derive(Debug, Clone, PartialEq, ForyRow)]
    pub(super) struct Places {
        pub(super) f: F,
    }

    #[derive(Debug, Clone, PartialEq, ForyRow)]
    pub(super) struct Result {
        pub(super) places: Vec<Places>,
        pub(super) f: Option<F>,
    }
}

#[test]
fn types_may_be_called_as_what_is_derived() -> Outcome {
    use types::{F, Places, Result};
    let result = Result { places: vec![Places { f: F { x: 7 } }], f: None };
    let row = result.to_row::<Standard>()?;
    assert_eq!(Result::view_row::<Standard>(&row)?.places()?.get(0)?.f()?.x()?, 7);
    assert_eq!(Result::from_row::<Standard>(&row)?, result);
    Ok(())
}

/// Structs of a module whose getters are as visible as the fields.
pub mod parts {
    use fory_row::{ForyRow, Standard};

    #[derive(Debug, ForyRow)]
    struct Hidden {
        secret: i64,
    }

    /// Has a field whose type nobody else sees.
    #[derive(Debug, ForyRow)]
    pub struct Arm {
        /// Which.
        pub name: String,
        pub(crate) joints: [f32; 2],
        hidden: Hidden,
    }

    impl Arm {
        /// An arm.
        pub fn new(name: &str) -> Self {
            Self { name: name.into(), joints: [0.5, 1.5], hidden: Hidden { secret: 42 } }
        }

        /// What is in the hidden field of a row.
        pub fn secret(row: &[u8]) -> fory_row::Result<i64> {
            Self::view_row::<Standard>(row)?.hidden()?.secret()
        }
    }
}

#[test]
fn getters_are_as_visible_as_fields() -> Outcome {
    let arm = parts::Arm::new("left");
    let row = arm.to_row::<Standard>()?;
    let view = parts::Arm::view_row::<Standard>(&row)?;
    assert_eq!(view.name()?, arm.name);
    assert_eq!(view.joints()?.iter().collect::<Result<Vec<_>, _>>()?, arm.joints);
    assert_eq!(parts::Arm::secret(&row)?, 42);
    Ok(())
}

#[derive(Debug, PartialEq, ForyRow)]
#[fory(view = SeenRaw)]
struct Viewed {
    x: i8,
}

#[derive(Debug, PartialEq)]
struct ViewedView(i8);

#[test]
fn the_view_may_be_called_otherwise() -> Outcome {
    let row = Viewed { x: 3 }.to_row::<Standard>()?;
    let view: SeenRaw<'_> = Viewed::view_row::<Standard>(&row)?;
    assert_eq!(ViewedView(view.x()?), ViewedView(3));
    Ok(())
}

/// The crate under another name.
mod renamed {
    pub(super) use fory_row as rows;

    #[derive(Debug, PartialEq, rows::ForyRow)]
    #[fory(crate = rows)]
    pub(super) struct ByPath {
        pub(super) x: i8,
    }

    #[derive(Debug, PartialEq, rows::ForyRow)]
    #[fory(crate = "crate::renamed::rows")]
    pub(super) struct ByText {
        pub(super) x: i8,
        pub(super) inner: ByPath,
    }
}

#[test]
fn the_crate_may_be_elsewhere() -> Outcome {
    let row = renamed::ByText { x: 1, inner: renamed::ByPath { x: 2 } };
    assert_eq!(renamed::ByText::from_row::<Compact>(&row.to_row::<Compact>()?)?, row);
    Ok(())
}

#[derive(Debug, PartialEq, ForyRow)]
struct Inner<'s> {
    text: &'s str,
}

#[derive(Debug, PartialEq, ForyRow)]
struct Outer<'s, 'b: 's>
where
    's: 's,
{
    inner: Inner<'s>,
    more: Vec<Option<Inner<'s>>>,
    bytes: Option<&'b [u8]>,
}

#[test]
fn structs_that_borrow_are_nested() -> Outcome {
    let inner = || Inner { text: "in" };
    let outer = Outer { inner: inner(), more: vec![None, Some(inner())], bytes: Some(&[1, 2]) };
    let row = outer.to_row::<Compact>()?;
    assert_eq!(Outer::from_row::<Compact>(&row)?, outer);
    let view = Outer::view_row::<Compact>(&row)?;
    // What a getter gives lives as long as the row, not as long as the view.
    let text = { view.more()?.get(1)?.ok_or("null")?.text()? };
    assert_eq!(text, "in");
    Ok(())
}

#[derive(Debug, ForyRow)]
struct Deep {
    at: Option<Option<i32>>,
    list: Vec<Option<Option<String>>>,
}

#[test]
fn options_of_options_are_one_null() -> Outcome {
    let row = Deep { at: Some(None), list: vec![Some(None), None, Some(Some("x".into()))] };
    let row = Deep::from_row::<Standard>(&row.to_row::<Standard>()?)?;
    assert_eq!((row.at, row.list), (None, vec![None, None, Some(Some("x".into()))]));
    Ok(())
}

#[test]
fn null_where_a_value_must_be_is_no_value() -> Outcome {
    let mut row = renamed::ByPath { x: 1 }.to_row::<Standard>()?;
    *row.first_mut().ok_or("empty")? = 1;
    let error = renamed::ByPath::view_row::<Standard>(&row)?.x().err().ok_or("a value")?;
    assert_eq!((error.kind(), error.path()), (ErrorKind::Malformed, "x".into()));
    Ok(())
}
