//! Names of tags and branches, and of their files.

use crate::expr::closest;
use crate::{Result, TableError};

/// What the table itself is called among its branches.
pub(super) const MAIN: &str = "main";

/// Names that the directories of a table have. Without the first it is no table.
pub(crate) const DIRECTORIES: [&str; 8] =
    ["_versions", "data", "_transactions", "_deletions", "_indices", "_refs", "_blobs", "_fri"];

/// An error if a new tag must not be called `name`. Others also take letters beyond ASCII, and then cannot read what they
/// wrote.
pub(super) fn check_tag(name: &str) -> Result<()> {
    let refused = |reason: &str| refused("tag", name, reason);
    match name {
        "" => refused("it is empty"),
        _ if !is_plain(name) => {
            refused("it has something other than ASCII letters, digits, '.', '-' and '_'")
        }
        _ if name.starts_with('.') || name.ends_with('.') => refused("it begins or ends with a dot"),
        _ if name.contains("..") => refused("it has two dots in a row"),
        _ if name.ends_with(".lock") => refused("it ends in .lock"),
        _ => Ok(()),
    }
}

/// An error if a new branch must not be called `name`.
pub(super) fn check_branch(name: &str) -> Result<()> {
    let refused = |reason: &str| refused("branch", name, reason);
    let mut parts = name.split('/');
    let below = name.split('/').skip(1);
    match name {
        "" => refused("it is empty"),
        MAIN => refused("that is what the table itself is called"),
        _ if name.split('/').any(str::is_empty) => {
            refused("it begins or ends with a slash, or has two in a row")
        }
        _ if !parts.all(is_plain) => {
            refused("it has something other than ASCII letters, digits, '.', '-', '_' and '/'")
        }
        _ if name.contains("..") || name.split('/').any(|part| part == ".") => {
            refused("it has two dots in a row, or a part that is a dot")
        }
        _ if name.ends_with(".lock") => refused("it ends in .lock"),
        // They would lie among the files of the branch above them.
        _ if below.into_iter().any(|part| DIRECTORIES.contains(&part)) => {
            refused("it has a part that directories of tables are called")
        }
        _ => Ok(()),
    }
}

fn refused(kind: &str, name: &str, reason: &str) -> Result<()> {
    Err(TableError::invalid(format!("{name:?} cannot be the name of a {kind}: {reason}")))
}

/// Whether `name` has nothing that is escaped.
pub(super) fn is_plain(name: &str) -> bool {
    name.bytes().all(is_plain_byte)
}

fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-_".contains(&byte)
}

/// The name of the file of the tag or branch `name`. What is not plain is escaped, so that it cannot lead elsewhere.
pub(super) fn to_file(name: &str) -> String {
    let mut file = String::with_capacity(name.len() + 5);
    for byte in name.bytes() {
        if is_plain_byte(byte) {
            file.push(char::from(byte));
        } else {
            file.push_str(&format!("%{byte:02X}"));
        }
    }
    file.push_str(".json");
    file
}

/// The tag or branch whose file is called `file`; none if it is not a file of one.
pub(super) fn of_file(file: &str) -> Option<String> {
    let escaped = file.strip_suffix(".json").filter(|name| !name.is_empty())?;
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// What there is instead of `name`, which there is not, as the end of a message.
pub(super) fn instead(name: &str, mut known: Vec<String>) -> String {
    const SHOWN: usize = 10;
    if let Some(meant) = closest(name, known.iter().map(String::as_str)) {
        return format!("; did you mean {meant}?");
    }
    known.sort();
    match known.len() {
        0 => "; there are none".into(),
        count if count <= SHOWN => format!("; there are: {}", known.join(", ")),
        count => {
            let (shown, _) = known.split_at(SHOWN);
            format!("; there are: {} and {} more", shown.join(", "), count - SHOWN)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_names_are_taken() {
        for (name, tag, branch) in [
            ("train-v1", true, true),
            ("a.b_C-9", true, true),
            ("_", true, true),
            ("HEAD", true, true),
            ("main", true, false),
            ("", false, false),
            ("a b", false, false),
            ("\u{e9}", false, false),
            (".a", false, true),
            ("a.", false, true),
            ("a..b", false, false),
            (".", false, false),
            ("a.lock", false, false),
            ("a/b", false, true),
            ("main/a", false, true),
            ("a//b", false, false),
            ("/a", false, false),
            ("a/", false, false),
            ("a/./b", false, false),
            ("a\\b", false, false),
            ("data", true, true),
            ("a/data", false, false),
            ("a/b/_versions", false, false),
        ] {
            assert_eq!(check_tag(name).is_ok(), tag, "tag {name:?}");
            assert_eq!(check_branch(name).is_ok(), branch, "branch {name:?}");
        }
    }

    #[test]
    fn names_of_files_come_back() {
        for (name, file) in [
            ("train-v1", "train-v1.json"),
            ("exp/a.1", "exp%2Fa.1.json"),
            ("\u{e9}", "%C3%A9.json"),
            ("..", "...json"),
        ] {
            assert_eq!(to_file(name), file);
            assert_eq!(of_file(file).as_deref(), Some(name));
        }
        for file in ["a.txt", ".json", "a%2.json", "a%zz.json", "%ff.json", ".tmp-1"] {
            assert_eq!(of_file(file), None, "{file}");
        }
        assert_eq!(of_file("x y.json").as_deref(), Some("x y"));
    }

    #[test]
    fn what_there_is_instead() {
        assert_eq!(instead("x", vec![]), "; there are none");
        assert_eq!(instead("xyz", vec!["b".into(), "a".into()]), "; there are: a, b");
        assert_eq!(instead("trian", vec!["b".into(), "train".into()]), "; did you mean train?");
        let many = (10..30).map(|number| number.to_string()).collect();
        assert!(instead("none", many).ends_with("18, 19 and 10 more"));
    }
}
