//! Numbers as they were written, and where they lie among the values of a type: exactly, so that `small < 300` is true
//! of all bytes, and `id = 9007199254740993` of one row.

use arrow_buffer::i256;

/// No number of a column has so many digits.
const MAX_DIGITS: usize = 77;

/// A decimal number: `digits` · 10^`exponent`, without zeros at either end of the digits; zero has no digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    negative: bool,
    digits: String,
    exponent: i64,
    /// Whether it was written without a point and an exponent.
    whole: bool,
}

/// Where a number lies among whole ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// It is this one.
    At(i256),
    /// It lies between this one and the next.
    Above(i256),
    /// It is below, or above, all that fit.
    Below,
    Beyond,
}

impl Number {
    /// What `text` says, a literal of the lexer with perhaps a minus in front.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, power) = match text.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, Some(power)),
            None => (text, None),
        };
        let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [before, behind].concat();
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let power = match power {
            None => 0,
            Some(power) => power_of(power)?,
        };
        let trimmed = digits.trim_end_matches('0');
        let zeros = digits.len() - trimmed.len();
        let exponent =
            power.checked_add(i64::try_from(zeros).ok()?)?.checked_sub(i64::try_from(behind.len()).ok()?)?;
        let whole = !text.contains(['.', 'e', 'E']);
        Some(Self { negative, digits: trimmed.trim_start_matches('0').to_string(), exponent, whole })
    }

    /// Whether it was written without a point and an exponent.
    pub(super) const fn is_whole(&self) -> bool {
        self.whole
    }

    /// Its position among multiples of 10^-`scale`.
    pub(super) fn position(&self, scale: i8) -> Position {
        let beyond = if self.negative { Position::Below } else { Position::Beyond };
        let shift = self.exponent.saturating_add(i64::from(scale));
        let fraction = shift < 0 && !self.digits.is_empty();
        let kept = if shift >= 0 {
            let zeros = usize::try_from(shift).unwrap_or(usize::MAX);
            if self.digits.is_empty() {
                String::new()
            } else if self.digits.len().saturating_add(zeros) > MAX_DIGITS {
                return beyond;
            } else {
                self.digits.clone() + &"0".repeat(zeros)
            }
        } else {
            let cut = usize::try_from(shift.unsigned_abs()).unwrap_or(usize::MAX);
            let kept = self.digits.len().saturating_sub(cut);
            self.digits.get(..kept).unwrap_or_default().to_string()
        };
        let magnitude = match kept.as_str() {
            "" => Some(i256::ZERO),
            kept if kept.len() <= MAX_DIGITS => i256::from_string(kept),
            _ => None,
        };
        let (Some(magnitude), negative) = (magnitude, self.negative) else { return beyond };
        let whole = if negative { i256::ZERO.wrapping_sub(magnitude) } else { magnitude };
        match (fraction, negative) {
            (false, _) => Position::At(whole),
            (true, false) => Position::Above(whole),
            (true, true) => Position::Above(whole.wrapping_sub(i256::ONE)),
        }
    }

    /// The nearest number of 64 bits.
    pub(super) fn to_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        let digits = if self.digits.is_empty() { "0" } else { &self.digits };
        format!("{sign}{digits}e{}", self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// How many digits it has in all and behind the point, if it is written out.
    pub(super) fn digits(&self) -> Option<(u8, i8)> {
        let scale = i8::try_from(self.exponent.min(0).checked_neg()?).ok()?;
        let zeros = usize::try_from(self.exponent.max(0)).ok()?;
        let digits = self.digits.len().checked_add(zeros)?.max(usize::try_from(scale).ok()?).max(1);
        Some((u8::try_from(digits).ok()?, scale))
    }
}

/// An exponent as it was written; what is out of all bounds is cut, since it makes no difference.
fn power_of(text: &str) -> Option<i64> {
    const FAR: i64 = 1 << 40;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let power = digits.parse::<i64>().unwrap_or(FAR).min(FAR);
    Some(if text.starts_with('-') { -power } else { power })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(text: &str, scale: i8) -> Position {
        Number::parse(text).unwrap().position(scale)
    }

    #[test]
    fn positions() {
        let i = i256::from_i128;
        for (text, scale, expected) in [
            ("0", 0, Position::At(i(0))),
            ("-0.0", 0, Position::At(i(0))),
            ("007", 0, Position::At(i(7))),
            ("1e3", 0, Position::At(i(1000))),
            ("25e-1", 0, Position::Above(i(2))),
            ("-2.5", 0, Position::Above(i(-3))),
            ("-2.50", 1, Position::At(i(-25))),
            (".001", 2, Position::Above(i(0))),
            ("-.001", 2, Position::Above(i(-1))),
            ("1.", 2, Position::At(i(100))),
            ("1234", -2, Position::Above(i(12))),
            ("18446744073709551616", 0, Position::At(i(1 << 64))),
            ("1e76", 0, Position::At(i256::from_string(&("1".to_string() + &"0".repeat(76))).unwrap())),
            ("1e300", 0, Position::Beyond),
            ("-1e300", 0, Position::Below),
            ("1e99999999999999999999", 0, Position::Beyond),
            ("0e99999999999999999999", 0, Position::At(i(0))),
            ("1e-99999999999999999999", 0, Position::Above(i(0))),
            ("-1e-99999999999999999999", 0, Position::Above(i(-1))),
        ] {
            assert_eq!(position(text, scale), expected, "{text} {scale}");
        }
        let long = "9".repeat(100_000);
        assert_eq!(position(&long, 0), Position::Beyond);
        assert_eq!(position(&format!("0.{long}"), 1), Position::Above(i(9)));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", ".", "e5", "1e", "1e+", "1x", "0x10", "1.2.3", "--1", "1e1.5"] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
    }

    #[test]
    fn floats_are_the_nearest() {
        for text in ["0.1", "-2.5e-3", "9007199254740993", "1e400", "123456789.125", "0"] {
            assert_eq!(Number::parse(text).unwrap().to_f64(), text.parse::<f64>().unwrap(), "{text}");
        }
        assert_eq!(Number::parse("1e99999999999").unwrap().to_f64(), f64::INFINITY);
        assert_eq!(Number::parse("0e99999999999").unwrap().to_f64(), 0.0);
    }

    #[test]
    fn digits_of_decimals() {
        for (text, expected) in [
            ("0", Some((1, 0))),
            ("100", Some((3, 0))),
            ("1.50", Some((2, 1))),
            ("0.05", Some((2, 2))),
            ("1e300", None),
            ("1e-300", None),
        ] {
            assert_eq!(Number::parse(text).unwrap().digits(), expected, "{text}");
        }
    }
}
