//! Text to tree and back.

use super::*;

#[test]
fn printed_text_has_the_brackets_that_it_needs() {
    for (text, expected) in [
        ("a=1 and b<2 or not c", "(a = 1 AND b < 2) OR (NOT c)"),
        ("a+b*c-d", "a + (b * c) - d"),
        ("(a+b)*c", "(a + b) * c"),
        ("-a * 2", "(-(a)) * 2"),
        ("- 1 - -2", "-1 - -2"),
        ("a is not null", "a IS NOT NULL"),
        ("a = b is null", "(a = b) IS NULL"),
        ("not a = b", "NOT (a = b)"),
        ("a between 1 and 2 and b", "(a BETWEEN 1 AND 2) AND b"),
        ("a not in (1,'x''y')", "a NOT IN (1, 'x''y')"),
        ("a like 'x' escape '\\'", "a LIKE 'x'"),
        ("`a b`.c['d.e']", "`a b`.c.`d.e`"),
        ("`and` = `x``y`", "`and` = `x``y`"),
        ("date '2020-01-01'", "CAST('2020-01-01' AS DATE)"),
        ("a::int unsigned", "CAST(a AS INT UNSIGNED)"),
        ("x'00ff'", "X'00FF'"),
        ("\"a\"\"b\"", "\"a\"\"b\""),
        ("case a when 1 then b else c+1 end", "CASE a WHEN 1 THEN b ELSE (c + 1) END"),
        ("LENGTH(a) -- more\n = /* no */ 1;", "length(a) = 1"),
        ("extract(year from a)", "date_part('year', a)"),
        ("a || b || c", "a || b || c"),
        ("try_cast(a as decimal(5,2))", "TRY_CAST(a AS DECIMAL(5, 2))"),
        ("a is distinct from b", "a IS DISTINCT FROM b"),
    ] {
        let printed = Expr::parse(text).unwrap().to_string();
        assert_eq!(printed, expected, "{text}");
        assert_eq!(Expr::parse(&printed).unwrap().to_string(), printed, "{text}");
    }
}

#[test]
fn broken_text_is_told_by_its_place() {
    for (text, expected) in [
        ("", "expected a column, a literal or a bracket, at the end of the expression"),
        ("a = ", "expected a column, a literal or a bracket, at the end of the expression"),
        ("a = 1 garbage", "expected an operator or the end, at character 7 of the expression: garbage"),
        ("a = 1 AND", "at the end of the expression"),
        ("(a = 1", "closing bracket, at the end"),
        ("a = 1)", "expected an operator or the end, at character 6 of the expression: )"),
        ("a IN ()", "at character 7"),
        ("a IN 1", "expected a list in brackets, at character 6"),
        ("a BETWEEN 1", "expected AND"),
        ("a IS 1", "expected NULL, TRUE"),
        ("a.1 = 2", "at character 2"),
        ("a. = 2", "expected the name of a field, at character 4"),
        ("and = 1", "a column of this name is written `and`"),
        ("a = ?", "parameters are not supported"),
        ("a = :x", "parameters are not supported"),
        ("x'0' = a", "two hexadecimal digits"),
        ("a ~ 'b'", "expected an operator"),
        ("a LIKE 'b' ESCAPE '!'", "the only escape"),
        ("CASE END", "at character 6"),
        ("CASE a END", "expected WHEN"),
        ("CAST(a AS)", "at character 10"),
        ("a = 'b", "Unterminated string literal, at character 5"),
        ("a = 1 AND\n  b == == 2", "at line 2, character 8"),
        ("SELECT 1", "expected an operator or the end, at character 8"),
        ("a = [1]", "lists cannot be written"),
    ] {
        let error = Expr::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
