//! Rows of the same structs by the crate `fory` and by ours: the same bytes, and each reads those of the other.

use std::collections::BTreeMap;

use demilance_tests::any_row;
use fory::__private::row::RowValue;
use fory_row::{Compact, Format, ForyRow, FromRowBytes, Layout, RowFormat, Schema, Standard, Value};
use proptest::prelude::*;

/// A type of ours, with the one that has the same bytes in the other crate.
trait Twin: Sized {
    type Theirs: RowValue;

    fn to_theirs(&self) -> Self::Theirs;

    /// Reads a view of theirs.
    fn seen(view: <Self::Theirs as RowValue>::View<'_>) -> Result<Self, fory::Error>;
}

macro_rules! same_type {
    ($($type:ty),*) => {$(
        impl Twin for $type {
            type Theirs = Self;

            fn to_theirs(&self) -> Self {
                self.clone()
            }

            fn seen(view: <Self as RowValue>::View<'_>) -> Result<Self, fory::Error> {
                Ok(view.into())
            }
        }
    )*};
}

same_type!(bool, i8, i16, i32, i64, f32, f64, String, Vec<u8>);

macro_rules! converted {
    ($($ours:ty, $theirs:ty, $to:expr, $from:expr;)*) => {$(
        impl Twin for $ours {
            type Theirs = $theirs;

            fn to_theirs(&self) -> $theirs {
                $to(self.0)
            }

            fn seen(view: $theirs) -> Result<Self, fory::Error> {
                Ok(Self($from(view)))
            }
        }
    )*};
}

converted! {
    fory_row::Date, fory::Date, |days| fory::Date::from_epoch_days(i64::from(days)),
        |date: fory::Date| i32::try_from(date.epoch_days()).unwrap();
    fory_row::Timestamp, fory::Timestamp, fory::Timestamp::from_epoch_micros,
        |time: fory::Timestamp| time.to_epoch_micros().unwrap();
    fory_row::Duration, fory::Duration, fory::Duration::from_micros,
        |duration: fory::Duration| duration.to_micros().unwrap();
}

impl<T: Twin> Twin for Option<T> {
    type Theirs = Option<T::Theirs>;

    fn to_theirs(&self) -> Self::Theirs {
        self.as_ref().map(T::to_theirs)
    }

    fn seen(view: <Self::Theirs as RowValue>::View<'_>) -> Result<Self, fory::Error> {
        view.map(T::seen).transpose()
    }
}

/// Lists that are not bytes.
trait Element: Twin {}

impl<T: Element> Twin for Vec<T> {
    type Theirs = Vec<T::Theirs>;

    fn to_theirs(&self) -> Self::Theirs {
        self.iter().map(T::to_theirs).collect()
    }

    fn seen(view: fory::ArrayView<'_, T::Theirs>) -> Result<Self, fory::Error> {
        view.iter().map(|element| T::seen(element?)).collect()
    }
}

impl<T: Twin, const N: usize> Twin for [T; N] {
    type Theirs = [T::Theirs; N];

    fn to_theirs(&self) -> Self::Theirs {
        std::array::from_fn(|index| self[index].to_theirs())
    }

    fn seen(view: fory::ArrayView<'_, T::Theirs>) -> Result<Self, fory::Error> {
        let values = view.iter().map(|element| T::seen(element?)).collect::<Result<Vec<_>, _>>()?;
        Ok(values.try_into().unwrap_or_else(|_| panic!("another number of elements")))
    }
}

impl<K: Twin<Theirs: Ord> + Ord, V: Twin> Twin for BTreeMap<K, V> {
    type Theirs = BTreeMap<K::Theirs, V::Theirs>;

    fn to_theirs(&self) -> Self::Theirs {
        self.iter().map(|(key, value)| (key.to_theirs(), value.to_theirs())).collect()
    }

    fn seen(view: fory::MapView<'_, K::Theirs, V::Theirs>) -> Result<Self, fory::Error> {
        (0..view.len()).map(|index| Ok((K::seen(view.key(index)?)?, V::seen(view.value(index)?)?))).collect()
    }
}

macro_rules! elements {
    ($($type:ty),*) => { $(impl Element for $type {})* };
}

elements!(bool, i8, i16, i32, i64, f32, f64, String, Vec<u8>);
elements!(fory_row::Date, fory_row::Timestamp, fory_row::Duration, ours::Point, ours::Tag);
impl<T: Twin> Element for Option<T> {}
impl<T: Element> Element for Vec<T> {}
impl<K: Twin<Theirs: Ord> + Ord, V: Twin> Element for BTreeMap<K, V> {}

/// Structs that are derived by both macros.
macro_rules! twins {
    ($(struct $name:ident { $($field:ident: $type:ty,)* })*) => {
        mod ours {
            use std::collections::BTreeMap;

            use fory_row::{Date, Duration, ForyRow, Timestamp};

            $(
                #[derive(Debug, Clone, PartialEq, ForyRow)]
                pub(super) struct $name { $(pub(super) $field: $type,)* }
            )*
        }

        mod theirs {
            use std::collections::BTreeMap;

            use fory::{Date, Duration, ForyRow, Timestamp};

            $(
                #[derive(Debug, Clone, PartialEq, ForyRow)]
                pub(super) struct $name { $(pub(super) $field: $type,)* }
            )*
        }

        $(
            impl Twin for ours::$name {
                type Theirs = theirs::$name;

                fn to_theirs(&self) -> Self::Theirs {
                    theirs::$name { $($field: self.$field.to_theirs(),)* }
                }

                fn seen(view: <Self::Theirs as RowValue>::View<'_>) -> Result<Self, fory::Error> {
                    Ok(Self { $($field: Twin::seen(view.$field()?)?,)* })
                }
            }
        )*
    };
}

twins! {
    struct Point { x: f32, y: Option<f64>, id: i8, }

    struct Tag { name: String, weight: Option<i16>, at: Point, }

    struct Scalars {
        a: bool, b: i8, c: i16, d: i32, e: i64, f: f32, g: f64, h: String, i: Vec<u8>,
        day: Date, time: Timestamp, took: Duration,
    }

    struct Nullable {
        a: Option<bool>, b: Option<i8>, c: Option<i16>, d: Option<i32>, e: Option<i64>, f: Option<f32>,
        g: Option<f64>, h: Option<String>, i: Option<Vec<u8>>, day: Option<Date>, time: Option<Timestamp>,
        took: Option<Duration>, point: Option<Point>, list: Option<Vec<i64>>, map: Option<BTreeMap<String, i64>>,
    }

    struct Lists {
        bools: Vec<bool>, bytes: Vec<i8>, shorts: Vec<Option<i16>>, ints: Vec<i32>, longs: Vec<Option<i64>>,
        floats: Vec<f32>, doubles: Vec<f64>, texts: Vec<String>, blobs: Vec<Option<Vec<u8>>>, days: Vec<Date>,
        times: Vec<Timestamp>, durations: Vec<Duration>, points: Vec<Point>, tags: Vec<Option<Tag>>,
        nested: Vec<Vec<Vec<i32>>>, maps: Vec<BTreeMap<i8, bool>>,
    }

    struct Maps {
        texts: BTreeMap<String, i32>, points: BTreeMap<i32, Point>, days: BTreeMap<Date, Timestamp>,
        lists: BTreeMap<String, Vec<Vec<i16>>>, maps: BTreeMap<i16, BTreeMap<bool, f64>>,
    }

    struct NullableMaps {
        numbers: BTreeMap<i64, Option<String>>, tags: BTreeMap<Vec<u8>, Option<Tag>>,
        maps: BTreeMap<i8, Option<BTreeMap<Duration, Option<f32>>>>,
    }

    struct Deep { scalars: Scalars, lists: Lists, maps: Option<Maps>, }

    struct Arrays { ints: [i32; 3], texts: [Option<String>; 2], none: [i64; 0], points: [Point; 1], }

    struct Wide {
        f00: i32, f01: i32, f02: i32, f03: i32, f04: i32, f05: i32, f06: i32, f07: i32, f08: i32, f09: i32,
        f10: i32, f11: i32, f12: i32, f13: i32, f14: i32, f15: i32, f16: i32, f17: i32, f18: i32, f19: i32,
        f20: i32, f21: i32, f22: i32, f23: i32, f24: i32, f25: i32, f26: i32, f27: i32, f28: i32, f29: i32,
        f30: i32, f31: i32, f32: i32, f33: i32, f34: i32, f35: i32, f36: i32, f37: i32, f38: i32, f39: i32,
        f40: i32, f41: i32, f42: i32, f43: i32, f44: i32, f45: i32, f46: i32, f47: i32, f48: i32, f49: i32,
        f50: i32, f51: i32, f52: i32, f53: i32, f54: i32, f55: i32, f56: i32, f57: i32, f58: i32, f59: i32,
        f60: i32, f61: i32, f62: i32, f63: Option<i32>, f64: Option<String>, f65: Option<i8>,
    }
}

/// Any row of a struct of ours, made of its schema.
fn any<T: ForyRow + for<'a> FromRowBytes<'a> + std::fmt::Debug>() -> impl Strategy<Value = T> {
    any_of(any_row::row_of_full_maps)
}

fn any_of<T: ForyRow + for<'a> FromRowBytes<'a> + std::fmt::Debug>(
    rows: fn(&Schema) -> BoxedStrategy<Value>,
) -> impl Strategy<Value = T> {
    let schema = T::schema().unwrap();
    let layout = Layout::new(schema.clone(), Format::Standard).unwrap();
    rows(&schema).prop_map(move |row| {
        let mut bytes = vec![];
        layout.encode(&row, &mut bytes).unwrap();
        T::from_row::<Standard>(&bytes).unwrap()
    })
}

/// Compares rows as bytes, since what is no number is not equal to itself.
fn check<T>(ours: &T) -> Result<(), TestCaseError>
where
    T: Twin<Theirs: fory::Row> + ForyRow + for<'a> FromRowBytes<'a> + std::fmt::Debug,
{
    let bytes = ours.to_row::<Standard>()?;
    let theirs = fory::to_row(&ours.to_theirs())?;
    prop_assert_eq!(&bytes, &theirs, "{:?}", ours);
    let seen = T::seen(fory::from_row::<T::Theirs>(&bytes)?)?;
    prop_assert_eq!(seen.to_row::<Standard>()?, bytes);
    let read = T::from_row::<Standard>(&theirs)?;
    prop_assert_eq!(read.to_row::<Standard>()?, theirs);
    again::<T, Standard>(ours)?;
    again::<T, Compact>(ours)
}

/// What the other crate cannot do, against what is made of the schema.
fn again<T, F: RowFormat>(ours: &T) -> Result<(), TestCaseError>
where
    T: ForyRow + for<'a> FromRowBytes<'a> + std::fmt::Debug,
{
    let bytes = ours.to_row::<F>()?;
    prop_assert_eq!(bytes.len(), ours.encoded_len::<F>());
    prop_assert_eq!(T::from_row::<F>(&bytes)?.to_row::<F>()?, &bytes[..]);
    let layout = Layout::new(T::schema()?, F::FORMAT)?;
    prop_assert_eq!(T::schema_hash::<F>(), layout.hash());
    let mut by_schema = vec![];
    layout.encode(&layout.decode(&bytes)?, &mut by_schema)?;
    prop_assert_eq!(by_schema, bytes);
    Ok(())
}

proptest! {
    #![proptest_config(any_row::config(200))]

    #[test]
    fn scalars(ours in any::<ours::Scalars>()) {
        check(&ours)?;
    }

    #[test]
    fn nullable(ours in any::<ours::Nullable>()) {
        check(&ours)?;
    }

    #[test]
    fn lists(ours in any::<ours::Lists>()) {
        check(&ours)?;
    }

    #[test]
    fn maps(ours in any::<ours::Maps>()) {
        check(&ours)?;
    }

    #[test]
    fn maps_with_nulls(ours in any_of::<ours::NullableMaps>(any_row::row)) {
        check(&ours)?;
    }

    #[test]
    fn structs(ours in any::<ours::Deep>()) {
        check(&ours)?;
    }

    #[test]
    fn more_fields_than_a_word_of_null_bits(ours in any::<ours::Wide>()) {
        check(&ours)?;
    }

    #[test]
    fn arrays(ints: [i32; 3], first: Option<String>, second: Option<String>, point in any::<ours::Point>()) {
        check(&ours::Arrays { ints, texts: [first, second], none: [], points: [point] })?;
    }
}

mod borrowed {
    pub(super) mod ours {
        #[derive(Debug, fory_row::ForyRow)]
        pub(in crate::borrowed) struct Borrowed<'a> {
            pub(in crate::borrowed) text: &'a str,
            pub(in crate::borrowed) bytes: &'a [u8],
            pub(in crate::borrowed) words: Vec<Option<&'a str>>,
        }
    }

    pub(super) mod theirs {
        #[derive(fory::ForyRow)]
        pub(in crate::borrowed) struct Borrowed<'a> {
            pub(in crate::borrowed) text: &'a str,
            pub(in crate::borrowed) bytes: &'a [u8],
            pub(in crate::borrowed) words: Vec<Option<&'a str>>,
        }
    }

    use fory_row::{ForyRow, Standard};

    #[test]
    fn structs_that_borrow() {
        let words = vec![Some("a"), None, Some("")];
        let row = ours::Borrowed { text: "héllo", bytes: &[0, 255], words: words.clone() };
        let theirs = theirs::Borrowed { text: row.text, bytes: row.bytes, words: words.clone() };
        let bytes = row.to_row::<Standard>().unwrap();
        assert_eq!(bytes, fory::to_row(&theirs).unwrap());
        let read = ours::Borrowed::from_row::<Standard>(&bytes).unwrap();
        assert_eq!((read.text, read.bytes, read.words), ("héllo", &[0, 255][..], words));
    }
}
