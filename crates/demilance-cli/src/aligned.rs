//! Lines with cells that stand below each other.

use unicode_width::UnicodeWidthStr;

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// `rows` below the names of `columns`. Control characters in cells, which others may have written, are shown as spaces.
pub(crate) fn lines(columns: &[(&str, Side)], rows: &[Vec<String>]) -> String {
    let clean = |cell: &str| cell.replace(char::is_control, " ");
    let head = columns.iter().map(|(name, _)| (*name).to_string()).collect::<Vec<_>>();
    let rows =
        std::iter::once(head).chain(rows.iter().map(|row| row.iter().map(|cell| clean(cell)).collect()));
    let rows: Vec<Vec<String>> = rows.collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    let widths = (0..columns.len()).map(|column| width(column).unwrap_or(0)).collect::<Vec<_>>();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for ((cell, width), (_, side)) in row.iter().zip(&widths).zip(columns) {
            let room = " ".repeat(width.saturating_sub(cell.width()));
            match side {
                Side::Left => line.push_str(&format!("{cell}{room}  ")),
                Side::Right => line.push_str(&format!("{room}{cell}  ")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_below_each_other() {
        let rows = vec![vec!["9".into(), "a".into()], vec!["10".into(), "b\nc\u{1b}".into()]];
        let text = lines(&[("n", Side::Right), ("name", Side::Left)], &rows);
        assert_eq!(text, " n  name\n 9  a\n10  b c\n");
    }
}
