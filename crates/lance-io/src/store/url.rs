use std::path::PathBuf;

use super::Store;
use crate::IoError;
use crate::error::Result;

impl Store {
    /// The place that `text` names: a path, or a URL with the scheme `file`, `memory` (a fresh one), or that
    /// of an object store whose feature is on: `s3` (aws), `gs` (gcp), `az` and `abfs` (azure), `http`.
    pub fn open(text: &str) -> Result<Self, IoError> {
        Self::open_with(text, [])
    }

    /// The same with options for the object store, such as `("aws_region", "eu-central-1")`: the keys that
    /// `object_store` knows. Nothing is read from the environment; a program that wants that passes its
    /// variables here, of which the store takes those that it knows.
    pub fn open_with(
        text: &str,
        options: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, IoError> {
        let Some((scheme, rest)) = text.split_once("://") else { return Ok(Self::local(text)) };
        match (scheme, feature_of(scheme)) {
            ("memory", _) => Ok(Self::memory().child(rest.trim_start_matches('/'))),
            ("file", _) => Ok(Self::local(file_path(text)?)),
            (_, Some((feature, false))) => Err(IoError::Unsupported {
                path: text.into(),
                what: format!("{scheme}:// needs the feature `{feature}`, which this build does not have"),
            }),
            (_, Some((_, true))) => cloud(text, options),
            (_, None) => {
                Err(IoError::InvalidUrl { url: text.into(), reason: format!("unknown scheme {scheme:?}") })
            }
        }
    }
}

/// The feature that a scheme needs, and whether it is on.
fn feature_of(scheme: &str) -> Option<(&'static str, bool)> {
    match scheme {
        "s3" | "s3a" => Some(("aws", cfg!(feature = "aws"))),
        "gs" => Some(("gcp", cfg!(feature = "gcp"))),
        "az" | "azure" | "adl" | "abfs" | "abfss" => Some(("azure", cfg!(feature = "azure"))),
        "http" | "https" => Some(("http", cfg!(feature = "http"))),
        _ => None,
    }
}

/// The path that a `file://` URL names: what follows an empty host, or `localhost`, with its `%` escapes undone and
/// without query and fragment.
fn file_path(text: &str) -> Result<PathBuf> {
    let invalid = |reason: &str| IoError::InvalidUrl { url: text.into(), reason: reason.into() };
    let rest = text.strip_prefix("file://").unwrap_or(text);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = match rest.find('/') {
        Some(start) => rest.split_at(start),
        None => (rest, ""),
    };
    if path.is_empty() || !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) {
        return Err(invalid("it names no absolute path on this machine"));
    }
    let path = unescaped(path).ok_or_else(|| invalid("a % without two hexadecimal digits after it"))?;
    if path.contains(&0) {
        return Err(invalid("it has a zero byte"));
    }
    native(path).ok_or_else(|| invalid("it names no absolute path on this machine"))
}

/// The bytes of a path in which `%20` stands for a space.
fn unescaped(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?].map(char::from).map(|digit| digit.to_digit(16));
                u8::try_from(digits[0]? * 16 + digits[1]?).ok()?
            }
            byte => byte,
        });
    }
    Some(bytes)
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere not every path can be")]
fn native(path: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(std::ffi::OsString::from_vec(path).into())
}

/// `/C:/table` without the slash in front.
#[cfg(not(unix))]
fn native(path: Vec<u8>) -> Option<PathBuf> {
    let path = String::from_utf8(path).ok()?;
    let path = PathBuf::from(path.strip_prefix('/')?);
    path.is_absolute().then_some(path)
}

#[cfg(feature = "object-store")]
fn cloud(text: &str, options: impl IntoIterator<Item = (String, String)>) -> Result<Store> {
    let invalid = |reason: String| IoError::InvalidUrl { url: text.into(), reason };
    let url = url::Url::parse(text).map_err(|error| invalid(error.to_string()))?;
    let (store, path) = object_store::parse_url_opts(&url, options)
        .map_err(|error| IoError::Store { path: text.into(), source: error })?;
    let end = text.trim_end_matches('/').len();
    let root = text.get(..end).and_then(|text| text.strip_suffix(path.as_ref())).unwrap_or(text);
    let mut opened = Store::object(store.into(), path.as_ref());
    if let super::Root::Object(objects) = &mut opened.root {
        objects.base = root.trim_end_matches('/').into();
    }
    Ok(opened)
}

#[cfg(not(feature = "object-store"))]
fn cloud(text: &str, _: impl IntoIterator<Item = (String, String)>) -> Result<Store> {
    let what = "object stores, which this build does not have (feature `object-store`)".into();
    Err(IoError::Unsupported { path: text.into(), what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_their_place() {
        assert_eq!(Store::open("some/table").unwrap().location("x"), "some/table/x");
        assert_eq!(Store::open("/some/table").unwrap().location(""), "/some/table");
        for url in ["memory://t", "memory:///t"] {
            assert_eq!(Store::open(url).unwrap().location("a/b"), "memory://t/a/b");
        }
        let error = Store::open("gopher://host/t").unwrap_err().to_string();
        assert!(error.contains("unknown scheme \"gopher\""), "{error}");
        assert!(Store::open("file://relative").is_err());
        for text in ["file://host/a", "file://", "file:///a%2", "file:///a%zz", "file:///a%00"] {
            assert!(Store::open(text).is_err(), "{text}");
        }
        if cfg!(unix) {
            let location = |text| Store::open(text).unwrap().location("x");
            assert_eq!(location("file:///a%20b/t"), "/a b/t/x");
            assert_eq!(location("file:///%c3%A9/t?q#f"), "/é/t/x");
            assert_eq!(location("file://localhost/t"), "/t/x");
        }
    }

    #[test]
    fn a_feature_that_is_off_is_named() {
        for (url, feature, on) in [
            ("s3://bucket/table", "aws", cfg!(feature = "aws")),
            ("gs://bucket/table", "gcp", cfg!(feature = "gcp")),
            ("az://container/table", "azure", cfg!(feature = "azure")),
            ("https://example.com/table", "http", cfg!(feature = "http")),
        ] {
            if !on {
                let error = Store::open(url).unwrap_err().to_string();
                assert!(error.contains(url) && error.contains(&format!("feature `{feature}`")), "{error}");
            }
        }
    }

    #[cfg(feature = "aws")]
    #[test]
    fn cloud_locations_are_urls() {
        let options = [("aws_region".to_owned(), "eu-central-1".to_owned())];
        let store = Store::open_with("s3://bucket/some/table/", options).unwrap();
        assert_eq!(store.location("data/x"), "s3://bucket/some/table/data/x");
        assert!(store.lists_in_order());
    }
}
