//! Errors that say where in the text of an expression something is wrong.

use crate::TableError;

/// So much of the text is shown at most.
const SHOWN: usize = 30;

/// An error about what is `at` so many bytes into `text`.
pub(super) fn problem(text: &str, at: usize, what: impl std::fmt::Display) -> TableError {
    let before = text.get(..at).unwrap_or(text);
    let rest = text.get(at..).unwrap_or_default();
    let what = what.to_string();
    // A question has its end already.
    let (comma, end) = if what.ends_with('?') { (" (", ")") } else { (", ", "") };
    if rest.trim().is_empty() {
        return TableError::invalid(format!("{what}{comma}at the end of the expression{end}"));
    }
    let place = match before.matches('\n').count() {
        0 => format!("character {}", before.chars().count() + 1),
        lines => {
            let line = before.rsplit('\n').next().unwrap_or_default();
            format!("line {}, character {}", lines + 1, line.chars().count() + 1)
        }
    };
    let line = rest.lines().next().unwrap_or_default();
    let shown = line.chars().take(SHOWN).collect::<String>();
    let more = if shown.len() < line.len() { "…" } else { "" };
    TableError::invalid(format!("{what}{comma}at {place} of the expression: {shown}{more}{end}"))
}

/// The one of `names` that `name` is most likely a slip of, if any is near.
pub(crate) fn closest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let allowed = 1 + name.chars().count() / 4;
    let distances = names.map(|other| (distance(&name.to_lowercase(), &other.to_lowercase()), other));
    distances
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters have to be changed, added, left out or exchanged with the next to get from one to the other.
fn distance(one: &str, other: &str) -> usize {
    // Of longer names the beginnings are compared.
    let [one, other] = [one, other].map(|name| name.chars().take(64).collect::<Vec<_>>());
    let mut rows = [(0..=other.len()).collect::<Vec<_>>(), vec![], vec![]];
    for (row, letter) in one.iter().enumerate() {
        let [last, before, next] = &mut rows;
        next.clear();
        next.push(row + 1);
        for (column, against) in other.iter().enumerate() {
            let at = |costs: &[usize], index: usize| costs.get(index).copied().unwrap_or(usize::MAX - 1);
            let changed = at(last, column) + usize::from(letter != against);
            let mut cost = changed.min(at(last, column + 1) + 1).min(at(next, column) + 1);
            let exchanged = row > 0
                && column > 0
                && one.get(row - 1) == Some(against)
                && other.get(column - 1) == Some(letter);
            if exchanged {
                cost = cost.min(at(before, column - 1) + 1);
            }
            next.push(cost);
        }
        std::mem::swap(before, next);
        std::mem::swap(last, before);
    }
    let [last, ..] = rows;
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (one, other, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("", "abc", 3),
            ("lable", "label", 1),
            ("frame", "frames", 1),
            ("kitten", "sitting", 3),
            ("ab", "ba", 1),
            ("ünder", "under", 1),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["id", "label", "timestamp"];
        let closest = |name| closest(name, names.into_iter());
        assert_eq!(closest("lable"), Some("label"));
        assert_eq!(closest("time_stamp"), Some("timestamp"));
        assert_eq!(closest("ID"), Some("id"));
        assert_eq!(closest("nothing"), None);
    }

    #[test]
    fn places_are_counted_in_characters() {
        let said = |text, at| problem(text, at, "wrong").to_string();
        assert_eq!(said("ä = b", 5), "wrong, at character 5 of the expression: b");
        let asked = problem("a = b", 4, "did you mean c?").to_string();
        assert_eq!(asked, "did you mean c? (at character 5 of the expression: b)");
        assert_eq!(said("a =\n b c", 5), "wrong, at line 2, character 2 of the expression: b c");
        assert_eq!(said("a = ", 4), "wrong, at the end of the expression");
        let long = "x".repeat(50);
        assert!(said(&long, 0).ends_with(&format!(": {}…", "x".repeat(30))));
    }
}
