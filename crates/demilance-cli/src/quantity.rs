//! Numbers as people read them: bytes, counts, times, rates.

use std::time::Duration;

/// `44.1 KB`, `1.2 GB`; exact below 1000 bytes. Decimal units, as disks are sold.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    if count < 1000 {
        return format!("{count} B");
    }
    let mut value = count as f64;
    let mut unit = "B";
    for next in UNITS {
        // What would round to 1000.0 belongs to the next unit.
        if value < 999.95 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

/// `512`, `44.1KB`, `1 GB`, `2GiB`, `2G`: a size as people write it. None if it is something else, or is more than a u64
/// has.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let unit = unit.trim().to_ascii_lowercase();
    let bytes = match unit.as_str() {
        "" | "b" => 1,
        "kb" | "k" => 1_000,
        "mb" | "m" => 1_000_000,
        "gb" | "g" => 1_000_000_000,
        "tb" | "t" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return None,
    };
    if let Ok(number) = number.parse::<u64>() {
        return number.checked_mul(bytes);
    }
    let size = number.parse::<f64>().ok()? * bytes as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was compared with what fits"
    )]
    (0.0..u64::MAX as f64).contains(&size).then_some(size as u64)
}

/// `35,965`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 file`, `35,965 rows`.
pub(crate) fn of(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// `3.2 ms`, `1.25 s`.
pub(crate) fn time(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds < 1e-3 {
        format!("{:.0} µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}

/// `312.0 MB/s`.
pub(crate) fn rate(count: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-9);
    format!("{:.1} MB/s", count as f64 / seconds / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pick_the_unit() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(44_100), "44.1 KB");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(bytes(u64::MAX), "18446.7 PB");
    }

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("7b", 7),
            ("44.1KB", 44_100),
            ("1 GB", 1_000_000_000),
            ("2GiB", 2 << 30),
            ("0.5mib", 1 << 19),
            ("3T", 3_000_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for text in
            ["", "GB", "-1", "1.2.3", ".", "12 parrots", "1e3", "18446744073709551616", "99999999TB", "1µB"]
        {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(7), "7");
        assert_eq!(count(123), "123");
        assert_eq!(count(35_965), "35,965");
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(of(1, "file"), "1 file");
        assert_eq!(of(0, "file"), "0 files");
    }

    #[test]
    fn times_pick_the_unit() {
        assert_eq!(time(Duration::from_micros(250)), "250 µs");
        assert_eq!(time(Duration::from_micros(3240)), "3.2 ms");
        assert_eq!(time(Duration::from_millis(1250)), "1.25 s");
        assert_eq!(rate(2_000_000, Duration::from_secs(2)), "1.0 MB/s");
    }
}
