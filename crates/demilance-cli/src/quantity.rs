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
