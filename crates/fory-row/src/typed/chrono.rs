//! The types of the crate `chrono` as fields: each is written and read as the newtype of what is stored.
//!
//! | chrono | stored as |
//! |---|---|
//! | `NaiveDate` | date32 |
//! | `DateTime<Utc>`, `NaiveDateTime` (taken as UTC) | timestamp |
//! | `TimeDelta` | duration |
//!
//! Stored are microseconds: what is finer is floored, before 1970 and below zero too.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};

use crate::geometry::Widths;
use crate::raw::Slot;
use crate::typed::{FromRow, Image, RowType};
use crate::value::Budget;
use crate::{DataType, Date, Duration, Error, Result, RowFormat, Timestamp};

impl From<NaiveDate> for Date {
    fn from(date: NaiveDate) -> Self {
        Self(date.to_epoch_days())
    }
}

impl TryFrom<Date> for NaiveDate {
    type Error = Error;

    fn try_from(date: Date) -> Result<Self> {
        Self::from_epoch_days(date.0)
            .ok_or_else(|| Error::value(format!("day {} is not within the years of chrono", date.0)))
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(time: DateTime<Utc>) -> Self {
        // All years of chrono fit.
        Self(time.timestamp_micros())
    }
}

impl TryFrom<Timestamp> for DateTime<Utc> {
    type Error = Error;

    fn try_from(time: Timestamp) -> Result<Self> {
        Self::from_timestamp_micros(time.0)
            .ok_or_else(|| Error::value(format!("microsecond {} is not within the years of chrono", time.0)))
    }
}

impl From<NaiveDateTime> for Timestamp {
    fn from(time: NaiveDateTime) -> Self {
        time.and_utc().into()
    }
}

impl TryFrom<Timestamp> for NaiveDateTime {
    type Error = Error;

    fn try_from(time: Timestamp) -> Result<Self> {
        DateTime::<Utc>::try_from(time).map(|time| time.naive_utc())
    }
}

impl TryFrom<TimeDelta> for Duration {
    type Error = Error;

    fn try_from(delta: TimeDelta) -> Result<Self> {
        // Both parts have the sign of the whole.
        let micros =
            i128::from(delta.num_seconds()) * 1_000_000 + i128::from(delta.subsec_nanos()).div_euclid(1000);
        match i64::try_from(micros) {
            Ok(micros) => Ok(Self(micros)),
            Err(_) => Err(Error::value(format!("{micros} microseconds do not fit a duration"))),
        }
    }
}

impl From<Duration> for TimeDelta {
    fn from(duration: Duration) -> Self {
        Self::microseconds(duration.0)
    }
}

/// Types that are stored as `$stored`; `$to` and `$from` convert, and may fail.
macro_rules! stored {
    ($($type:ty as $stored:ty, $to:expr, $from:expr;)*) => {$(
        impl RowType for $type {
            type View<'a, F: RowFormat> = Self;
            const WIDTHS: Widths = <$stored as RowType>::WIDTHS;

            fn data_type() -> DataType {
                <$stored>::data_type()
            }

            #[inline]
            fn variable_len<F: RowFormat>(&self) -> usize {
                0
            }

            #[inline]
            fn write<F: RowFormat>(&self, image: &mut Image<'_>, slot: usize) -> Result<()> {
                let stored: $stored = $to(*self)?;
                stored.write::<F>(image, slot)
            }

            #[inline]
            fn view<F: RowFormat>(slot: Slot<'_>) -> Result<Self> {
                // What does not fit is the fault of the row, not of the caller.
                $from(<$stored>::view::<F>(slot)?).map_err(|error: Error| Error::malformed(error.reason()))
            }
        }

        impl FromRow<'_> for $type {
            #[inline]
            fn from_slot<F: RowFormat>(slot: Slot<'_>, _: &mut Budget) -> Result<Self> {
                Self::view::<F>(slot)
            }
        }
    )*};
}

stored! {
    NaiveDate as Date, |date| Ok::<_, Error>(Date::from(date)), NaiveDate::try_from;
    DateTime<Utc> as Timestamp, |time| Ok::<_, Error>(Timestamp::from(time)), DateTime::<Utc>::try_from;
    NaiveDateTime as Timestamp, |time| Ok::<_, Error>(Timestamp::from(time)), NaiveDateTime::try_from;
    TimeDelta as Duration, Duration::try_from, |stored| Ok(TimeDelta::from(stored));
}
