//! How an error reaches the person: one line that says where and what.

use std::io::ErrorKind;

/// The error with its causes on one line. A cause that its parent already spells out is not repeated, nor is
/// a parent with which its cause begins, such as a path.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let message = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        if message.is_empty() || text.contains(&message) {
            continue;
        }
        if message.starts_with(&text) {
            text = message;
        } else {
            text.push_str(": ");
            text.push_str(&message);
        }
    }
    text
}

/// Whether the reader of our output went away, as `head` does; that is no failure of ours.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

/// Makes a panic, which is always a bug, one line too.
pub(crate) fn report_panics_in_one_line() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let what = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_string())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "panic".to_string());
        let place = info.location().map(|place| format!(" at {place}")).unwrap_or_default();
        eprintln!("error: internal error, please report it: {}{place}", what.replace('\n', " "));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[test]
    fn causes_come_once_and_on_one_line() {
        let error = Err::<(), _>(anyhow!("no such\nfile")).context("a.parquet").unwrap_err();
        assert_eq!(one_line(&error), "a.parquet: no such file");
        let error = Err::<(), _>(anyhow!("no such file")).context("a: no such file").unwrap_err();
        assert_eq!(one_line(&error), "a: no such file");
        let error = Err::<(), _>(anyhow!("a/data/b: not found")).context("a").unwrap_err();
        assert_eq!(one_line(&error), "a/data/b: not found");
    }

    #[test]
    fn a_broken_pipe_is_found_below() {
        let error = Err::<(), _>(std::io::Error::from(ErrorKind::BrokenPipe)).context("output").unwrap_err();
        assert!(is_broken_pipe(&error));
        assert!(!is_broken_pipe(&anyhow!("other")));
    }
}
