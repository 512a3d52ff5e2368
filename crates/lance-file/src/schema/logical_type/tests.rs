use super::*;

fn list(item: DataType, size: i32) -> DataType {
    DataType::FixedSizeList(Arc::new(ArrowField::new("item", item, true)), size)
}

fn dict(index: DataType, value: DataType) -> DataType {
    DataType::Dictionary(Box::new(index), Box::new(value))
}

fn timestamp(unit: TimeUnit, zone: Option<&str>) -> DataType {
    DataType::Timestamp(unit, zone.map(Arc::from))
}

/// Types with parameters; the plain words are all in [`WORDS`].
fn with_parameters() -> Vec<(&'static str, DataType)> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    vec![
        ("timestamp:s:-", timestamp(Second, None)),
        ("timestamp:ms:-", timestamp(Millisecond, None)),
        ("timestamp:us:-", timestamp(Microsecond, None)),
        ("timestamp:ns:-", timestamp(Nanosecond, None)),
        ("timestamp:s:UTC", timestamp(Second, Some("UTC"))),
        ("timestamp:us:UTC", timestamp(Microsecond, Some("UTC"))),
        ("timestamp:ms:+08:00", timestamp(Millisecond, Some("+08:00"))),
        ("timestamp:ns:-03:30", timestamp(Nanosecond, Some("-03:30"))),
        ("timestamp:us:America/New_York", timestamp(Microsecond, Some("America/New_York"))),
        ("decimal:128:38:10", DataType::Decimal128(38, 10)),
        ("decimal:128:10:-3", DataType::Decimal128(10, -3)),
        ("decimal:128:1:0", DataType::Decimal128(1, 0)),
        ("decimal:256:76:0", DataType::Decimal256(76, 0)),
        ("decimal:256:40:-10", DataType::Decimal256(40, -10)),
        ("fixed_size_binary:0", DataType::FixedSizeBinary(0)),
        ("fixed_size_binary:16", DataType::FixedSizeBinary(16)),
        ("fixed_size_list:float:8", list(DataType::Float32, 8)),
        ("fixed_size_list:halffloat:3", list(DataType::Float16, 3)),
        ("fixed_size_list:bool:9", list(DataType::Boolean, 9)),
        ("fixed_size_list:fixed_size_list:int8:2:3", list(list(DataType::Int8, 2), 3)),
        ("fixed_size_list:timestamp:us:+08:00:2", list(timestamp(Microsecond, Some("+08:00")), 2)),
        ("fixed_size_list:decimal:128:5:2:2", list(DataType::Decimal128(5, 2), 2)),
        ("fixed_size_list:date32:day:2", list(DataType::Date32, 2)),
        ("fixed_size_list:string:2", list(DataType::Utf8, 2)),
        ("fixed_size_list:fixed_size_binary:4:2", list(DataType::FixedSizeBinary(4), 2)),
        ("fixed_size_list:dict:string:int8:false:2", list(dict(DataType::Int8, DataType::Utf8), 2)),
        ("fixed_size_list:lance.bfloat16:4", DataType::FixedSizeList(Arc::new(bfloat16_item()), 4)),
        ("dict:string:int16:false", dict(DataType::Int16, DataType::Utf8)),
        ("dict:large_string:uint32:false", dict(DataType::UInt32, DataType::LargeUtf8)),
        ("dict:binary:int8:false", dict(DataType::Int8, DataType::Binary)),
        ("dict:double:uint8:false", dict(DataType::UInt8, DataType::Float64)),
        ("dict:bool:int64:false", dict(DataType::Int64, DataType::Boolean)),
    ]
}

#[test]
fn leaves_come_back() {
    let words = WORDS.into_iter();
    for (text, data_type) in words.chain(with_parameters()) {
        assert_eq!(LogicalType::parse(text).unwrap(), LogicalType::Leaf(data_type.clone()), "{text}");
        let field = ArrowField::new("f", data_type.clone(), true);
        let logical_type = LogicalType::from_arrow(&field).unwrap();
        assert_eq!(logical_type, LogicalType::Leaf(data_type));
        assert_eq!(logical_type.to_string_with(false), text);
    }
}

#[test]
fn types_with_children() {
    let cases = [
        ("json", LogicalType::Json, false),
        ("blob", LogicalType::Blob, false),
        ("struct", LogicalType::Struct, false),
        ("list", LogicalType::List, false),
        ("list.struct", LogicalType::List, true),
        ("large_list", LogicalType::LargeList, false),
        ("large_list.struct", LogicalType::LargeList, true),
        ("fixed_size_list:struct:3", LogicalType::FixedSizeList(3), true),
        ("map", LogicalType::Map, true),
    ];
    for (text, logical_type, child_is_struct) in cases {
        assert_eq!(LogicalType::parse(text).unwrap(), logical_type);
        assert_eq!(logical_type.to_string_with(child_is_struct), text);
    }
}

#[test]
fn what_is_not_a_type_is_refused_by_name() {
    let cases = [
        "",
        ":",
        "int128",
        "Int32",
        "string:",
        "date32",
        "date32:ms",
        "time:us",
        "time32:us",
        "time64:s",
        "timestamp",
        "timestamp:us",
        "timestamp:h:-",
        "duration",
        "duration:d",
        "decimal:128:38",
        "decimal:64:5:2",
        "decimal:128:0:0",
        "decimal:128:39:0",
        "decimal:128:5:6",
        "decimal:128:5:300",
        "decimal:128:5:2:1",
        "fixed_size_binary",
        "fixed_size_binary:x",
        "fixed_size_binary:-1",
        "fixed_size_binary:3:4",
        "fixed_size_list:float",
        "fixed_size_list:float:-2",
        "fixed_size_list:float:3000000000",
        "fixed_size_list:list:2",
        "fixed_size_list:struct:x",
        "fixed_size_list:fixed_size_list:struct:2:3",
        "fixed_size_list:json:2",
        "dict:string:int16",
        "dict:string:float:false",
        "dict:date32:day:int8:false",
        "dict:struct:int8:false",
        "list.list",
    ];
    for text in cases {
        let error = LogicalType::parse(text).unwrap_err().to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
    assert!(
        LogicalType::parse(&format!("{}int8{}", "fixed_size_list:".repeat(5000), ":1".repeat(5000))).is_err()
    );
}

#[test]
fn arrow_types_without_a_stored_form_are_refused() {
    let item = || Arc::new(ArrowField::new("item", DataType::Int8, true));
    let ends = Arc::new(ArrowField::new("run_ends", DataType::Int32, false));
    let cases = [
        DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Decimal32(5, 2),
        DataType::Decimal64(5, 2),
        DataType::ListView(item()),
        DataType::LargeListView(item()),
        DataType::RunEndEncoded(ends, item()),
        DataType::Time32(TimeUnit::Nanosecond),
        dict(DataType::Int8, DataType::Date32),
        dict(DataType::Int8, list(DataType::Int8, 2)),
        list(DataType::List(item()), 2),
        list(list(DataType::Struct(vec![item()].into()), 2), 2),
    ];
    for data_type in cases {
        let field = ArrowField::new("f", data_type.clone(), true);
        assert!(LogicalType::from_arrow(&field).is_err(), "{data_type}");
    }
}
