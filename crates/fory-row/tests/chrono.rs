//! Dates and times of the crate `chrono`, at their bounds.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use fory_row::{Compact, DataType, Date, Duration, ErrorKind, ForyRow, Standard, Timestamp};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[derive(Debug, Clone, PartialEq, ForyRow)]
struct Times {
    day: NaiveDate,
    at: DateTime<Utc>,
    local: Option<NaiveDateTime>,
    took: TimeDelta,
    days: Vec<Option<NaiveDate>>,
}

/// The same as it is stored.
#[derive(Debug, Clone, PartialEq, ForyRow)]
struct Stored {
    day: Date,
    at: Timestamp,
    local: Option<Timestamp>,
    took: Duration,
    days: Vec<Option<Date>>,
}

fn times(day: NaiveDate, at: DateTime<Utc>, took: TimeDelta) -> Times {
    Times { day, at, local: Some(at.naive_utc()), took, days: vec![None, Some(day)] }
}

fn stored(day: i32, at: i64, took: i64) -> Stored {
    let at = Timestamp(at);
    Stored { day: Date(day), at, local: Some(at), took: Duration(took), days: vec![None, Some(Date(day))] }
}

#[test]
fn rows_are_those_of_what_is_stored() -> Outcome {
    assert_eq!(Times::schema()?, Stored::schema()?);
    assert_eq!(Times::schema_hash::<Compact>(), Stored::schema_hash::<Compact>());
    let day = |text: &str| text.parse::<NaiveDate>().map_err(|error| format!("{text}: {error}"));
    let at = |text: &str| text.parse::<DateTime<Utc>>().map_err(|error| format!("{text}: {error}"));
    let nanos = TimeDelta::nanoseconds;
    // Floored to the microsecond where there is more: what is read back then differs.
    let cases = [
        ("1970-01-01", 0, "1970-01-01T00:00:00Z", 0, nanos(0), 0),
        ("1969-12-31", -1, "1969-12-31T23:59:59.999999Z", -1, nanos(-1000), -1),
        ("2024-02-29", 19_782, "2023-11-14T22:13:20.123456Z", 1_700_000_000_123_456, nanos(1000), 1),
        ("0000-01-01", -719_528, "1970-01-01T00:00:00.000000999Z", 0, nanos(999), 0),
        ("-0001-01-01", -719_893, "1969-12-31T23:59:59.999999999Z", -1, nanos(-1), -1),
        ("9999-12-31", 2_932_896, "1969-12-31T23:59:58.000000001Z", -2_000_000, nanos(-1001), -2),
        ("1970-01-02", 1, "1600-01-01T00:00:00.5Z", -11_676_095_999_500_000, nanos(-999_999_999), -1_000_000),
    ];
    for (date, days, time, micros, delta, length) in cases {
        let given = times(day(date)?, at(time)?, delta);
        let row = given.to_row::<Standard>()?;
        assert_eq!(row, stored(days, micros, length).to_row::<Standard>()?, "{date} {time} {delta}");
        let read = Times::from_row::<Standard>(&row)?;
        assert_eq!((read.day, read.took), (given.day, TimeDelta::microseconds(length)));
        assert_eq!(read.at.timestamp_micros(), micros);
        assert_eq!(read.local, Some(read.at.naive_utc()));
        assert_eq!(read.days, given.days);
        let compact = given.to_row::<Compact>()?;
        assert_eq!(Times::from_row::<Compact>(&compact)?, read);
        let view = Times::view_row::<Compact>(&compact)?;
        assert_eq!((view.day()?, view.at()?, view.took()?), (read.day, read.at, read.took));
    }
    Ok(())
}

/// The years of chrono end at ±262 142; all of them fit.
#[test]
fn the_ends_of_time_are_written_and_read() -> Outcome {
    for (day, time) in [(NaiveDate::MIN, NaiveTime::MIN), (NaiveDate::MAX, NaiveTime::MIN)] {
        let given = times(day, day.and_time(time).and_utc(), TimeDelta::zero());
        assert_eq!(Times::from_row::<Standard>(&given.to_row::<Standard>()?)?, given);
    }
    for at in [DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC] {
        let given = times(NaiveDate::default(), at, TimeDelta::zero());
        let read = Times::from_row::<Compact>(&given.to_row::<Compact>()?)?;
        assert_eq!(read.at.timestamp_micros(), at.timestamp_micros());
    }
    Ok(())
}

#[test]
fn durations_that_do_not_fit_are_errors() -> Outcome {
    let given = |took| times(NaiveDate::default(), DateTime::UNIX_EPOCH, took);
    let least = TimeDelta::microseconds(i64::MIN);
    let most = TimeDelta::microseconds(i64::MAX);
    let nano = TimeDelta::nanoseconds(1);
    for (took, fits) in [
        (least, true),
        (least - nano, false),
        (most, true),
        (most + TimeDelta::nanoseconds(999), true),
        (most + TimeDelta::nanoseconds(1000), false),
        (TimeDelta::MIN, false),
        (TimeDelta::MAX, false),
    ] {
        let mut bytes = b"before".to_vec();
        let written = given(took).write_row::<Standard>(&mut bytes);
        assert_eq!(written.is_ok(), fits, "{took:?}");
        if let Err(error) = written {
            assert_eq!((error.kind(), error.path().as_str()), (ErrorKind::Value, "took"));
            assert_eq!(bytes, b"before");
        }
        assert_eq!(Duration::try_from(took).is_ok(), fits);
    }
    Ok(())
}

#[test]
fn what_chrono_cannot_hold_is_malformed() -> Outcome {
    let (first, last) = (NaiveDate::MIN.to_epoch_days(), NaiveDate::MAX.to_epoch_days());
    let (begin, end) =
        (DateTime::<Utc>::MIN_UTC.timestamp_micros(), DateTime::<Utc>::MAX_UTC.timestamp_micros());
    let cases = [
        (first, begin, None),
        (last, end, None),
        (first - 1, 0, Some("day")),
        (last + 1, 0, Some("day")),
        (i32::MIN, 0, Some("day")),
        (i32::MAX, 0, Some("day")),
        (0, begin - 1, Some("at")),
        (0, end + 1, Some("at")),
        (0, i64::MIN, Some("at")),
        (0, i64::MAX, Some("at")),
    ];
    for (day, at, wrong) in cases {
        let row = stored(day, at, i64::MIN).to_row::<Compact>()?;
        let view = Times::view_row::<Compact>(&row)?;
        assert_eq!(view.day().is_ok(), wrong != Some("day"), "{day}");
        assert_eq!(view.at().is_ok(), wrong != Some("at"), "{at}");
        assert_eq!(view.local().is_ok(), wrong != Some("at"), "{at}");
        assert_eq!(view.took()?, TimeDelta::microseconds(i64::MIN));
        let error = Times::from_row::<Compact>(&row).err();
        assert_eq!(error.as_ref().map(fory_row::Error::path).as_deref(), wrong, "{day} {at}");
        assert!(error.is_none_or(|error| error.kind() == ErrorKind::Malformed));
        assert_eq!(NaiveDate::try_from(Date(day)).is_ok(), wrong != Some("day"));
        assert_eq!(NaiveDateTime::try_from(Timestamp(at)).is_ok(), wrong != Some("at"));
    }
    Ok(())
}

#[test]
fn the_types_of_the_fields() -> Outcome {
    let schema = Times::schema()?;
    let types = schema.fields().iter().map(|field| field.data_type.clone()).collect::<Vec<_>>();
    let list = DataType::list(DataType::Date32, true);
    assert_eq!(types, [DataType::Date32, DataType::Timestamp, DataType::Timestamp, DataType::Duration, list]);
    Ok(())
}
