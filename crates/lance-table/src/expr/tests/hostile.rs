//! Long, deep and random texts.

use proptest::prelude::*;

use super::*;

/// In a thread with the stack that threads of a runtime have.
fn with_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn long_chains_work() {
    with_small_stack(|| {
        let batch = batch().slice(0, 4);
        let terms = |count: usize, operator: &str, term: &dyn Fn(usize) -> String| {
            (2..count + 2).map(term).collect::<Vec<_>>().join(operator)
        };
        let schema = batch.schema();
        let matches = |text: &str| {
            let expr = Expr::parse(text).unwrap();
            expr.bind(&schema).unwrap().matches(&batch).unwrap().true_count()
        };
        assert_eq!(matches(&terms(50_000, " OR ", &|number| format!("i32 = {number}"))), 1);
        assert_eq!(matches(&terms(10_000, " AND ", &|number| format!("i32 <> {number}"))), 3);
        assert_eq!(matches(&format!("{} = 10000", terms(10_000, " + ", &|_| "1".into()))), 4);
        assert_eq!(matches(&format!("i32 IN ({})", terms(10_000, ", ", &|number| number.to_string()))), 1);
        let long = terms(10_000, " OR ", &|_| "a = 1".into());
        let printed = Expr::parse(&long).unwrap().to_string();
        assert_eq!(printed, long);
        // An error in the end frees it all.
        assert!(Expr::parse(&format!("{long} OR )")).is_err());
    });
}

#[test]
fn deep_texts_are_refused() {
    with_small_stack(|| {
        let n = 10_000;
        for text in [
            "(".repeat(100_000),
            format!("{}1{} = 1", "(".repeat(n), ")".repeat(n)),
            "NOT ".repeat(n) + "true",
            "- ".repeat(n) + "1 = 1",
            "-+".repeat(n) + "1 = 1",
            "a".to_string() + &"::INT".repeat(n),
            "a".to_string() + &" = a".repeat(n),
            "a".to_string() + &" IS NULL".repeat(n),
            "a BETWEEN (".repeat(n),
            "a".to_string() + &" IN (a".repeat(n),
            "f(".repeat(n),
            "CASE ".repeat(n),
            "CASE WHEN ".repeat(n),
            "CAST(".repeat(n),
            "a LIKE ".repeat(n) + "a",
        ] {
            let error = Expr::parse(&text).unwrap_err().to_string();
            assert!(error.contains("nested more than"), "{error}");
        }
    });
}

/// What is allowed fits the stack all the way.
#[test]
fn deep_texts_that_are_allowed_work() {
    with_small_stack(|| {
        let brackets = format!("{}true{}", "(".repeat(128), ")".repeat(128));
        assert_eq!(passing(&brackets).unwrap().len(), 8);
        let n = 60;
        for (text, rows) in [
            ("NOT ".repeat(n) + "b", 3),
            ("b".to_string() + &" IS NULL".repeat(n), 0),
            ("b".to_string() + &" = b".repeat(n), 3),
            ("abs(".repeat(n) + "u8" + &")".repeat(n) + " = 5", 1),
            ("coalesce(".repeat(n) + "u8" + &")".repeat(n) + " = 5", 1),
            ("CASE WHEN b THEN ".repeat(n) + "1" + &" END".repeat(n) + " = 1", 3),
            ("CAST(".repeat(n) + "u8" + &" AS BIGINT)".repeat(n) + " = 5", 1),
            ("(u8 + ".repeat(n) + "0" + &")".repeat(n) + " = 0", 1),
            ("(b IN ".repeat(n) + "(b)" + &")".repeat(n), 3),
            ("b AND (b OR ".repeat(n / 2) + "b" + &")".repeat(n / 2), 3),
        ] {
            let Ok(expr) = Expr::parse(&text) else { panic!("{text}") };
            let bound = expr.bind(&batch().schema()).unwrap();
            assert_eq!(bound.matches(&batch()).unwrap().true_count(), rows, "{text}");
            let printed = expr.to_string();
            assert_eq!(Expr::parse(&printed).unwrap().to_string(), printed);
        }
    });
}

#[test]
fn big_texts_are_parsed_or_refused() {
    let size = 1 << 17;
    for piece in [
        "(", ")", "a", "1", "'", "\"", "`", ".", "-", "/*", "--", " ", "\n", "a.", "a,", "1 ", "$", "\\",
        "X'", "é", "{",
    ] {
        let text = piece.repeat(if piece == "(" { 1 << 20 } else { size / piece.len() });
        let _ =
            Expr::parse(&text).map(|expr| expr.bind(&batch().schema()).map(|bound| bound.matches(&batch())));
    }
}

/// Texts of the grammar, most of which have a meaning.
fn expressions() -> impl Strategy<Value = String> {
    let column = prop::sample::select(vec![
        "i8", "u8", "i32", "i64", "u64", "f16", "f32", "f64", "b", "s", "ls", "bin", "d32", "ts", "tss",
        "tsz", "tsp", "t32", "dur", "dec", "dict", "l", "st", "st.x", "st.y.z", "Cap", "nope",
    ]);
    let literal = prop::sample::select(vec![
        "0",
        "1",
        "-1",
        "2.5",
        "1e400",
        "-1e-400",
        "300",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "99999999999999999999999999999999999999999999999999999999999999999999999999999999",
        "'a'",
        "''",
        "'2020-01-01'",
        "'9999-12-31 23:59:59.999999999'",
        "'-262143-01-01'",
        "'2020-01-01T00:00:00+14:00'",
        "\"a\"",
        "true",
        "false",
        "NULL",
        "X'00FF'",
        "DATE '2020-01-01'",
        "DATE '5881580-07-11'",
        "TIMESTAMP '2020-01-01 01:02:03'",
        "INTERVAL '1 month -3 days'",
        "INTERVAL '178956970 years'",
        "'%'",
        "'\\'",
    ]);
    let leaf = prop_oneof![column.prop_map(String::from), literal.prop_map(String::from)];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let operator = prop::sample::select(vec![
            "=",
            "<>",
            "<",
            "<=",
            ">",
            ">=",
            "+",
            "-",
            "*",
            "/",
            "%",
            "||",
            "AND",
            "OR",
            "LIKE",
            "ILIKE",
            "IS DISTINCT FROM",
        ]);
        let behind = prop::sample::select(vec![
            "IS NULL",
            "IS NOT TRUE",
            "IS UNKNOWN",
            "::INT",
            "::DATE",
            "::TIMESTAMP(0)",
            "::TIMESTAMP(9)",
            "::DECIMAL(5, 2)",
            "::STRING",
            "::DOUBLE",
            "::TINYINT UNSIGNED",
            "::BOOLEAN",
            "::TIME",
            "::BINARY",
        ]);
        let function = prop::sample::select(Function::names().collect::<Vec<_>>());
        let list = prop::collection::vec(inner.clone(), 1..4).prop_map(|list| list.join(", "));
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (inner.clone(), behind).prop_map(|(a, behind)| format!("({a}) {behind}")),
            (inner.clone(), list.clone()).prop_map(|(a, list)| format!("({a}) IN ({list})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a}) BETWEEN ({b}) AND ({c})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("CASE WHEN {a} THEN {b} ELSE {c} END")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("CASE {a} WHEN {b} THEN {c} END")),
            inner.clone().prop_map(|a| format!("NOT ({a})")),
            inner.clone().prop_map(|a| format!("-({a})")),
            inner.clone().prop_map(|a| format!("TRY_CAST({a} AS BIGINT)")),
            inner.prop_map(|a| format!("EXTRACT(YEAR FROM {a})")),
            (function, list).prop_map(|(name, list)| format!("{name}({list})")),
        ]
    })
}

use super::super::function::Function;

/// Parses, prints, binds and evaluates; nothing may panic, and what has a type has it.
fn try_all(text: &str) {
    let Ok(expr) = Expr::parse(text) else { return };
    let printed = expr.to_string();
    let again =
        Expr::parse(&printed).unwrap_or_else(|error| panic!("{text} is printed as {printed}: {error}"));
    assert_eq!(again.to_string(), printed);
    let batch = batch();
    let (bound, other) = (expr.bind(&batch.schema()), again.bind(&batch.schema()));
    assert_eq!(bound.is_ok(), other.is_ok(), "{text} is printed as {printed}");
    let (Ok(bound), Ok(other)) = (bound, other) else { return };
    for batch in [batch.slice(0, 0), batch.slice(5, 1), batch] {
        let values = bound.evaluate(&batch);
        match (&values, other.evaluate(&batch)) {
            (Ok(values), Ok(other)) => {
                assert_eq!(values.data_type(), bound.data_type(), "{text}");
                assert_eq!(values.len(), batch.num_rows(), "{text}");
                assert_eq!(values.to_data(), other.to_data(), "{text} is printed as {printed}");
            }
            (one, other) => assert_eq!(one.is_ok(), other.is_ok(), "{text} is printed as {printed}"),
        }
        let _ = bound.matches(&batch);
        let _ = bound.evaluate_as(&batch, &DataType::Int8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn texts_of_the_grammar_never_panic(text in expressions()) {
        try_all(&text);
    }

    #[test]
    fn random_texts_never_panic(text in r#"([a-c0-9 '"`().,=<>!+*/%|:;\[\]\\x?$-]|AND |OR |NOT |i8|\PC){0,40}"#) {
        try_all(&text);
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        try_all(&String::from_utf8_lossy(&bytes));
    }
}
