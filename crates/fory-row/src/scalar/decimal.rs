use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The bytes of a stored decimal.
pub(crate) const DECIMAL_LEN: usize = 32;
/// The digits that a decimal has at most.
const MAX_DIGITS: u8 = 38;

/// A decimal number: `unscaled × 10^-scale`, of at most 38 digits.
///
/// Two are equal if number and scale are: `1.5` is not `1.50`.
///
/// ```
/// use fory_row::Decimal;
/// let price: Decimal = "-12.50".parse()?;
/// assert_eq!((price.unscaled(), price.scale()), (-1250, 2));
/// assert_eq!(price.rescale(4)?.to_string(), "-12.5000");
/// assert!(price.rescale(0).is_err(), "a digit would be lost");
/// # Ok::<(), fory_row::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    unscaled: i128,
    scale: u8,
}

impl Decimal {
    /// `unscaled × 10^-scale`.
    pub fn new(unscaled: i128, scale: u8) -> Result<Self> {
        if scale > MAX_DIGITS || unscaled.unsigned_abs() >= power(MAX_DIGITS) {
            return Err(Error::value(format!("{unscaled} with a scale of {scale} has more than 38 digits")));
        }
        Ok(Self { unscaled, scale })
    }

    /// The number without its point.
    pub const fn unscaled(self) -> i128 {
        self.unscaled
    }

    /// The digits behind the point.
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// The same number with another scale, if no digit is lost and 38 are enough.
    pub fn rescale(self, scale: u8) -> Result<Self> {
        let lost = || Error::value(format!("{self} does not fit a scale of {scale}"));
        if scale > MAX_DIGITS {
            return Err(lost());
        }
        let factor = |by: u8| i128::try_from(power(by)).map_err(|_| lost());
        let unscaled = if scale >= self.scale {
            self.unscaled.checked_mul(factor(scale - self.scale)?).ok_or_else(lost)?
        } else {
            let factor = factor(self.scale - scale)?;
            if self.unscaled % factor != 0 {
                return Err(lost());
            }
            self.unscaled / factor
        };
        Self::new(unscaled, scale).map_err(|_| lost())
    }

    /// The bytes that stand in a row whose field has `precision` and `scale`.
    pub(crate) fn to_stored(self, precision: u8, scale: u8) -> Result<[u8; DECIMAL_LEN]> {
        let scaled = self.rescale(scale)?;
        if scaled.unscaled.unsigned_abs() >= power(precision) {
            return Err(Error::value(format!("{self} does not fit decimal({precision}, {scale})")));
        }
        let mut bytes = [if scaled.unscaled < 0 { 0xff } else { 0 }; DECIMAL_LEN];
        if let Some(low) = bytes.first_chunk_mut() {
            *low = scaled.unscaled.to_le_bytes();
        }
        Ok(bytes)
    }

    pub(crate) fn from_stored(bytes: &[u8], precision: u8, scale: u8) -> Result<Self> {
        let Some((low, high)) = bytes.split_first_chunk().filter(|_| bytes.len() == DECIMAL_LEN) else {
            return Err(Error::malformed(format!("a decimal of {} bytes instead of 32", bytes.len())));
        };
        let unscaled = i128::from_le_bytes(*low);
        let sign = if unscaled < 0 { 0xff } else { 0 };
        if high.iter().any(|byte| *byte != sign) || unscaled.unsigned_abs() >= power(precision) {
            return Err(Error::malformed(format!("a decimal of more than {precision} digits")));
        }
        Ok(Self { unscaled, scale })
    }
}

/// 10 to the `exponent`, which is at most 38.
fn power(exponent: u8) -> u128 {
    10_u128.saturating_pow(exponent.into())
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.unscaled.unsigned_abs();
        let one = power(self.scale);
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let (whole, part) = (digits / one, digits % one);
        match self.scale {
            0 => write!(f, "{sign}{whole}"),
            scale => write!(f, "{sign}{whole}.{part:0width$}", width = scale.into()),
        }
    }
}

impl FromStr for Decimal {
    type Err = Error;

    /// Digits with an optional sign and point; the digits behind the point make the scale.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::value(format!("{text:?} is not a decimal number of at most 38 digits"));
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let all = || whole.bytes().chain(part.bytes());
        if all().next().is_none() || !all().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let unscaled = all()
            .try_fold(0_i128, |sum, byte| sum.checked_mul(10)?.checked_add((byte - b'0').into()))
            .ok_or_else(wrong)?;
        let scale = u8::try_from(part.len()).map_err(|_| wrong())?;
        Self::new(if negative { -unscaled } else { unscaled }, scale).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_there_and_back() -> Result<()> {
        for text in ["0", "-1", "0.00", "-0.05", "12345678901234567890.123456789012345678", "9.9"] {
            assert_eq!(text.parse::<Decimal>()?.to_string(), text);
        }
        assert_eq!("+1.".parse::<Decimal>()?.to_string(), "1");
        for text in
            ["", "-", ".", "1e3", "1.2.3", "--1", "1 ", &"9".repeat(39), &format!("0.{}", "0".repeat(39))]
        {
            assert!(text.parse::<Decimal>().is_err(), "{text}");
        }
        Ok(())
    }

    #[test]
    fn the_bounds_of_a_precision() -> Result<()> {
        for (text, fits) in
            [("99.99", true), ("-99.99", true), ("100", false), ("-100.0", false), ("1.001", false)]
        {
            assert_eq!(text.parse::<Decimal>()?.to_stored(4, 2).is_ok(), fits, "{text}");
        }
        let largest =
            Decimal::new(i128::try_from(power(38)).map_err(|_| Error::value("38 digits"))? - 1, 38)?;
        assert_eq!(Decimal::from_stored(&largest.to_stored(38, 38)?, 38, 38)?, largest);
        assert!(Decimal::new(i128::MIN, 0).is_err());
        Ok(())
    }

    #[test]
    fn wrong_signs_and_sizes_are_refused() -> Result<()> {
        let mut bytes = Decimal::new(-5, 0)?.to_stored(10, 0)?;
        assert!(Decimal::from_stored(&bytes, 10, 0).is_ok());
        if let Some(last) = bytes.last_mut() {
            *last = 0x7f;
        }
        assert!(Decimal::from_stored(&bytes, 10, 0).is_err());
        assert!(Decimal::from_stored(&[0; 16], 10, 0).is_err());
        Ok(())
    }
}
