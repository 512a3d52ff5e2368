//! Names of columns and fields.

use super::*;

#[test]
fn names_go_by_letter_first() {
    check(&[
        ("Cap > 5", &[6, 7]),
        ("cap > 5", &[6, 7]),
        ("`CAP` > 5", &[6, 7]),
        ("lower > 5", &[6, 7]),
        ("LOWER > 5", &[0, 1, 2, 3, 4, 5, 6, 7]),
        ("Lower > 5", &[6, 7]),
        ("`with space` > 5", &[6, 7]),
        ("`q``uote` > 5", &[6, 7]),
        ("`do.t` > 5", &[6, 7]),
        ("`st`.`x` > 8", &[5, 6, 7]),
        ("ST.x > 8", &[5, 6, 7]),
        ("st['x'] > 8", &[5, 6, 7]),
        ("st.y['z'] = 'a'", &[5, 6, 7]),
        ("st['y']['z'] = 'a'", &[5, 6, 7]),
    ]);
}

#[test]
fn unknown_names_get_a_suggestion() {
    refused(&[
        ("i32 = 1 AND nope = 1", "no column nope; there are i8, u8,"),
        ("i32 = 1 AND nope = 1", "at character 13 of the expression: nope = 1"),
        ("i23 = 1", "did you mean i32?"),
        ("wiht_space = 1", "did you mean `with space`?"),
        ("do.t = 1", "did you mean `do.t`?"),
        ("`st.x` = 1", "no column `st.x`"),
        ("st.X = 1", "no field st.X; did you mean st.x?"),
        ("st.y.zz = 1", "no field st.y.zz; did you mean st.y.z?"),
        ("i32.x = 1", "i32 has no fields, it is of type Int32"),
        ("l.item = 1", "has no fields"),
        ("l[1] = 1", "elements of lists"),
    ]);
}

#[test]
fn double_quotes_make_texts() {
    // The reference has them all the same, and takes a name in double quotes for a text without a word. Where nothing
    // stands beside it that is a column, it must be a slip.
    check(&[(r#"s = "i32""#, &[]), (r#"s || "b" = 'ab'"#, &[0]), (r#"s LIKE "i32" OR s = 'a'"#, &[0])]);
    refused(&[
        (r#""Cap" > 5"#, "the column is written Cap"),
        (r#""with space" > 5"#, "double quotes make a text; the column is written `with space`"),
        (r#""Cap" = 'Cap'"#, "double quotes make a text"),
        (r#"'Cap' = "Cap""#, "double quotes make a text"),
        (r#""s" IN ('a')"#, "double quotes make a text"),
        (r#"'a' IN ("s")"#, "double quotes make a text"),
        (r#""s" IS NULL"#, "double quotes make a text"),
        (r#""s" LIKE 'a%'"#, "double quotes make a text"),
        (r#"lower("s") = 'a'"#, "double quotes make a text"),
        (r#"starts_with("s", 'a')"#, "double quotes make a text"),
        (r#""s" BETWEEN 'a' AND 'b'"#, "double quotes make a text"),
        (r#"i32 = "s""#, "double quotes make a text"),
    ]);
}

#[test]
fn columns_that_are_needed() {
    for (text, expected) in [
        ("i32 = 1 OR i32 = u8", &["i32", "u8"][..]),
        ("`do.t` = 1", &["do.t"]),
        ("cap = 1", &["Cap"]),
        ("true", &[]),
        // A column with a dot in its name makes paths ambiguous.
        ("st.x = 1 AND st.y.z = 'a'", &["st"]),
    ] {
        assert_eq!(bind(text).unwrap().columns(), expected, "{text}");
    }
    let narrow = batch().project(&[22]).unwrap();
    let bound = Expr::parse("st.x = 9 AND st.y.z = 'a' AND st.y IS NOT NULL")
        .unwrap()
        .bind(&narrow.schema())
        .unwrap();
    assert_eq!(bound.columns(), ["st.x", "st.y.z", "st.y"]);
    assert_eq!(bound.matches(&batch()).unwrap().true_count(), 3);
}

#[test]
fn batches_must_have_the_columns() {
    let bound = bind("i32 = 1").unwrap();
    let other = record_batch!(("i32", Int64, [1])).unwrap();
    let error = bound.matches(&other).unwrap_err().to_string();
    assert!(error.contains("column i32 is of type Int64, and was of Int32"), "{error}");
    let error = bound.matches(&record_batch!(("i", Int64, [1])).unwrap()).unwrap_err().to_string();
    assert!(error.contains("column i32 is not in it"), "{error}");
}
