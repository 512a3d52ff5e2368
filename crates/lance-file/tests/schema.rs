//! Schemas to and from Arrow and the stored messages.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    clippy::cast_possible_truncation
)]

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use bytes::Bytes;
use lance_file::{LogicalType, Schema, Version, proto};
use prost::Message;

fn arrow_struct(members: Vec<ArrowField>) -> DataType {
    DataType::Struct(members.into())
}

fn int(name: &str) -> ArrowField {
    ArrowField::new(name, DataType::Int64, true)
}

fn with(field: ArrowField, metadata: &[(&str, &str)]) -> ArrowField {
    field.with_metadata(metadata.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
}

/// The example of the format notes: `id, tags: list<string>, geo: struct<lat, lon, hist: list<struct<t>>>, vec`.
fn example() -> ArrowSchema {
    let item = |data_type| Arc::new(ArrowField::new("item", data_type, true));
    let hist = DataType::List(item(arrow_struct(vec![int("t")])));
    let geo = arrow_struct(vec![
        ArrowField::new("lat", DataType::Float64, false),
        ArrowField::new("lon", DataType::Float64, false),
        ArrowField::new("hist", hist, true),
    ]);
    ArrowSchema::new_with_metadata(
        vec![
            ArrowField::new("id", DataType::Int64, false),
            ArrowField::new("tags", DataType::List(item(DataType::Utf8)), true),
            ArrowField::new("geo", geo, true),
            ArrowField::new("vec", DataType::FixedSizeList(item(DataType::Float32), 8), true),
        ],
        HashMap::from([("made".to_string(), "by hand".to_string())]),
    )
}

fn through_proto(schema: &Schema) -> Schema {
    Schema::from_proto(&schema.to_proto(), &schema.metadata_to_proto()).unwrap()
}

#[test]
fn arrow_and_messages_come_back() {
    let schema = Schema::from_arrow(&example()).unwrap();
    assert_eq!(schema.to_arrow(), example());
    assert_eq!(through_proto(&schema), schema);
    let types: Vec<_> = schema.pre_order().iter().map(|field| field.logical_type_string()).collect();
    assert_eq!(
        types,
        [
            "int64",
            "list",
            "string",
            "struct",
            "double",
            "double",
            "list.struct",
            "struct",
            "int64",
            "fixed_size_list:float:8"
        ]
    );
    let ids: Vec<_> = schema.pre_order().iter().map(|field| field.id).collect();
    assert_eq!(ids, (0..10).collect::<Vec<_>>());
}

#[test]
fn columns_are_numbered_as_the_versions_have_it() {
    let schema = Schema::from_arrow(&example()).unwrap();
    let paths = |version| -> Vec<_> {
        schema.column_owners(version).iter().map(|field| schema.path(field.id).unwrap()).collect()
    };
    assert_eq!(paths(Version::V2_2), ["id", "tags.item", "geo.lat", "geo.lon", "geo.hist.item.t", "vec"]);
    assert_eq!(paths(Version::V2_0).len(), 10);
    let count = |field: &ArrowField| lance_encoding::leaf_count(field);
    let leaves: usize = example().fields().iter().map(|field| count(field)).sum();
    assert_eq!(leaves, schema.leaves().len());

    let packed =
        with(ArrowField::new("p", arrow_struct(vec![int("a"), int("b")]), true), &[("packed", "Yes")]);
    let schema = Schema::from_arrow(&ArrowSchema::new(vec![packed, int("q")])).unwrap();
    for version in Version::ALL {
        let ids: Vec<_> = schema.column_owners(version).iter().map(|field| field.id).collect();
        assert_eq!(ids, [0, 3]);
    }
}

#[test]
fn the_wire_has_its_traps() {
    let schema = Schema::from_arrow(&ArrowSchema::new(vec![int("a")])).unwrap();
    let bytes = schema.to_proto()[0].encode_to_vec();
    // Field 4, -1: a varint of ten bytes. The id 0 is not there.
    let parent = [0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    assert!(bytes.windows(11).any(|window| window == parent), "{bytes:02x?}");
    assert_eq!(proto::Field::decode(&bytes[..]).unwrap().parent_id, -1);

    // An absent parent is field 0, which a first field cannot have.
    let mut message = schema.to_proto();
    message[0].parent_id = 0;
    let error = Schema::from_proto(&message, &Default::default()).unwrap_err().to_string();
    assert!(error.contains("\"a\"") && error.contains("parent 0"), "{error}");
}

fn message(id: i32, parent_id: i32, name: &str, logical_type: &str) -> proto::Field {
    proto::Field {
        id,
        parent_id,
        name: name.into(),
        logical_type: logical_type.into(),
        nullable: true,
        ..Default::default()
    }
}

fn parse(fields: &[proto::Field]) -> Result<Schema, String> {
    Schema::from_proto(fields, &Default::default()).map_err(|error| error.to_string())
}

#[test]
fn trees_that_are_not_trees_are_refused() {
    let cases = [
        (vec![message(1, 5, "a", "int8")], "parent 5"),
        (vec![message(1, 1, "a", "struct")], "parent 1"),
        (vec![message(0, -1, "a", "list")], "0 children"),
        (vec![message(0, -1, "a", "int8"), message(1, 0, "b", "int8")], "1 children"),
        (vec![message(0, -1, "a", "map"), message(1, 0, "b", "int8")], "1 children"),
        (vec![message(0, -1, "a", "fixed_size_list:struct:2"), message(1, 0, "b", "int8")], "1 children"),
        (vec![message(0, -1, "a", "int7")], "field \"a\": logical type \"int7\""),
    ];
    for (fields, text) in cases {
        let error = parse(&fields).unwrap_err();
        assert!(error.contains(text), "{error}");
    }
    let chain: Vec<_> = (0..100_000).map(|id| message(id, id - 1, "s", "struct")).collect();
    assert!(parse(&chain).unwrap_err().contains("deep"));
}

#[test]
fn of_fields_with_one_id_the_first_wins() {
    let schema =
        parse(&[message(3, -1, "a", "struct"), message(3, -1, "b", "struct"), message(4, 3, "c", "int8")])
            .unwrap();
    assert_eq!(schema.field(3).unwrap().name, "a");
    assert_eq!(schema.path(4).unwrap(), "a.c");
}

#[test]
fn inner_fields_of_blobs_have_no_ids() {
    let mut blob = message(1, -1, "image", "struct");
    blob.metadata.insert("lance-encoding:blob".into(), "true".into());
    blob.metadata.insert("lance-encoding:packed".into(), "true".into());
    let inner = |name, logical_type| message(-1, -1, name, logical_type);
    let fields = [
        message(0, -1, "id", "int64"),
        blob,
        inner("kind", "uint8"),
        inner("position", "uint64"),
        inner("size", "uint64"),
        inner("blob_id", "uint32"),
        inner("blob_uri", "string"),
        message(2, -1, "after", "int8"),
    ];
    let schema = parse(&fields).unwrap();
    assert_eq!(schema.names(), ["id", "image", "after"]);
    assert_eq!(schema.fields[1].children.len(), 5);
    assert_eq!(schema.leaves().iter().map(|field| field.id).collect::<Vec<_>>(), [0, 1, 2]);
    let parents: Vec<_> = schema.to_proto().iter().map(|field| field.parent_id).collect();
    assert_eq!(parents, [-1; 8]);
}

#[test]
fn old_blobs_and_json_are_large_binary() {
    let schema = parse(&[message(0, -1, "b", "blob"), message(1, -1, "j", "json")]).unwrap();
    let arrow = schema.to_arrow();
    assert_eq!(arrow.field(0).data_type(), &DataType::LargeBinary);
    assert_eq!(arrow.field(0).metadata()["lance-encoding:blob"], "true");
    assert_eq!(arrow.field(1).data_type(), &DataType::LargeBinary);
    assert_eq!(arrow.field(1).extension_type_name(), Some("lance.json"));
    assert_eq!(schema.to_proto()[0].logical_type, "blob");

    let text = with(ArrowField::new("j", DataType::Utf8, true), &[("ARROW:extension:name", "arrow.json")]);
    let schema = Schema::from_arrow(&ArrowSchema::new(vec![text])).unwrap();
    assert_eq!(schema.fields[0].logical_type, LogicalType::Json);
    assert_eq!(schema.to_proto()[0].extension_name, "lance.json");
}

#[test]
fn extensions_and_keys_live_in_the_metadata() {
    let uuid = with(
        ArrowField::new("u", DataType::FixedSizeBinary(16), false),
        &[
            ("ARROW:extension:name", "arrow.uuid"),
            ("lance-schema:unenforced-primary-key:position", "2"),
            ("lance-schema:unenforced-clustering-key:position", "3"),
        ],
    );
    let key = with(int("k"), &[("lance-schema:unenforced-primary-key", "On")]);
    let arrow = ArrowSchema::new(vec![uuid, key]);
    let schema = Schema::from_arrow(&arrow).unwrap();
    let messages = schema.to_proto();
    assert_eq!(messages[0].logical_type, "fixed_size_binary:16");
    assert_eq!(messages[0].extension_name, "arrow.uuid");
    assert!(messages[0].unenforced_primary_key && messages[1].unenforced_primary_key);
    assert_eq!(messages[0].unenforced_primary_key_position, 2);
    assert_eq!(messages[0].unenforced_clustering_key_position, 3);
    assert_eq!(messages[0].metadata["ARROW:extension:name"], Bytes::from("arrow.uuid"));
    assert_eq!(through_proto(&schema).to_arrow(), arrow);

    let mut bare = messages;
    bare.iter_mut().for_each(|message| message.metadata.clear());
    let arrow = Schema::from_proto(&bare, &Default::default()).unwrap().to_arrow();
    assert_eq!(arrow.field(0).extension_type_name(), Some("arrow.uuid"));
    assert_eq!(arrow.field(1).metadata()["lance-schema:unenforced-primary-key"], "true");
}

#[test]
fn hints_are_what_the_reference_writes() {
    use proto::Encoding::{Dictionary, None, Plain, VarBinary};
    let cases = [
        ("null", None),
        ("bool", Plain),
        ("float", Plain),
        ("decimal:128:5:2", Plain),
        ("fixed_size_list:float:2", Plain),
        ("fixed_size_binary:2", Plain),
        ("string", VarBinary),
        ("large_binary", VarBinary),
        ("json", VarBinary),
        ("dict:string:int8:false", Dictionary),
        ("struct", None),
    ];
    for (logical_type, hint) in cases {
        let schema = parse(&[message(0, -1, "f", logical_type)]).unwrap();
        assert_eq!(schema.to_proto()[0].encoding, i32::from(hint), "{logical_type}");
        assert_eq!(schema.to_proto()[0].logical_type, logical_type);
    }
}

#[test]
fn ids_can_be_forced() {
    let forced = with(int("a"), &[("lance:field_id", "7"), ("kept", "yes")]);
    let schema = Schema::from_arrow(&ArrowSchema::new(vec![int("x"), forced, int("y")])).unwrap();
    assert_eq!(schema.pre_order().iter().map(|field| field.id).collect::<Vec<_>>(), [8, 7, 9]);
    assert_eq!(schema.fields[1].metadata.keys().collect::<Vec<_>>(), ["kept"]);
    let twice = |id: &str| with(int(id), &[("lance:field_id", "1")]);
    assert!(Schema::from_arrow(&ArrowSchema::new(vec![twice("a"), twice("b")])).is_err());
    let bad = with(int("a"), &[("lance:field_id", "-7")]);
    assert!(Schema::from_arrow(&ArrowSchema::new(vec![bad])).is_err());
    let last = with(int("a"), &[("lance:field_id", "2147483647")]);
    assert!(Schema::from_arrow(&ArrowSchema::new(vec![last, int("b")])).is_err());
}

#[test]
fn names_and_types_are_checked_with_their_path() {
    let refused = |fields| Schema::from_arrow(&ArrowSchema::new(fields)).unwrap_err().to_string();
    assert!(refused(vec![int("a.b")]).contains("a.b"));
    assert!(refused(vec![int("a"), int("a")]).contains("two top-level fields named \"a\""));
    let month = ArrowField::new("m", DataType::Interval(arrow_schema::IntervalUnit::YearMonth), true);
    let error = refused(vec![ArrowField::new("s", arrow_struct(vec![month]), true)]);
    assert!(error.contains("field s.m") && error.contains("interval"), "{error}");
    let entries = arrow_struct(vec![ArrowField::new("key", DataType::Utf8, false), int("value")]);
    let map = |sorted| DataType::Map(Arc::new(ArrowField::new("entries", entries.clone(), false)), sorted);
    assert!(refused(vec![ArrowField::new("m", map(true), true)]).contains("sorted"));

    let schema = Schema::from_arrow(&ArrowSchema::new(vec![ArrowField::new("m", map(false), true)])).unwrap();
    assert_eq!(through_proto(&schema), schema);
    schema.check_storable(Version::V2_2).unwrap();
    let error = schema.check_storable(Version::V2_1).unwrap_err().to_string();
    assert!(error.contains("field m in file version 2.1: maps need"), "{error}");
}

#[test]
fn what_no_version_holds() {
    for logical_type in
        ["fixed_size_list:string:2", "fixed_size_list:dict:string:int8:false:2", "fixed_size_list:int8:0"]
    {
        let schema = parse(&[message(0, -1, "s", "struct"), message(1, 0, "f", logical_type)]).unwrap();
        let error = schema.check_storable(Version::V2_2).unwrap_err().to_string();
        assert!(error.contains("field s.f"), "{error}");
    }
}

/// The reference reads such files column by column only.
#[test]
fn fixed_size_lists_of_structs_stand_alone() {
    let vector = |size: i32, item: DataType| {
        DataType::FixedSizeList(Arc::new(ArrowField::new("item", item, true)), size)
    };
    let pairs = |size| vector(size, arrow_struct(vec![int("x"), int("y")]));
    let field = |name: &str, kind| ArrowField::new(name, kind, true);
    let check = |fields| Schema::from_arrow(&ArrowSchema::new(fields)).unwrap().check_storable(Version::V2_2);
    check(vec![field("a", pairs(2))]).unwrap();
    check(vec![field("a", pairs(2)), field("b", pairs(2))]).unwrap();
    check(vec![int("n"), field("a", pairs(1)), field("v", vector(7, DataType::Int8))]).unwrap();
    let nested = || vector(2, arrow_struct(vec![field("inner", pairs(3)), int("x")]));
    let in_struct = || arrow_struct(vec![field("b", pairs(2))]);
    for fields in [
        vec![int("n"), field("a", pairs(2))],
        vec![field("a", pairs(2)), int("n")],
        vec![field("c", pairs(1)), field("a", pairs(2))],
        vec![int("n"), field("a", in_struct())],
        vec![field("c", pairs(2)), field("a", nested())],
    ] {
        let error = check(fields).unwrap_err().to_string();
        assert!(error.contains("field a: a fixed-size list of structs next to other fields"), "{error}");
    }
}

#[test]
fn views_become_what_they_are_stored_as() {
    let item = Arc::new(ArrowField::new("element", DataType::BinaryView, false));
    let fields = vec![
        ArrowField::new("s", DataType::Utf8View, true),
        ArrowField::new("l", DataType::List(item), true),
        ArrowField::new(
            "v",
            DataType::FixedSizeList(Arc::new(ArrowField::new("x", DataType::Int8, false)), 2),
            true,
        ),
    ];
    let arrow = Schema::from_arrow(&ArrowSchema::new(fields)).unwrap().to_arrow();
    let types: Vec<_> = arrow.fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(types[0], DataType::Utf8);
    assert_eq!(types[1], DataType::List(Arc::new(ArrowField::new("element", DataType::Binary, false))));
    assert_eq!(types[2], DataType::FixedSizeList(Arc::new(ArrowField::new("item", DataType::Int8, true)), 2));
}

#[test]
fn projections_follow_the_paths() {
    let schema = Schema::from_arrow(&example()).unwrap();
    let leaves = |paths: &[&str]| -> Vec<_> {
        let projection = schema.project(paths).unwrap();
        projection.leaves().iter().map(|field| projection.path(field.id).unwrap()).collect()
    };
    assert_eq!(leaves(&["vec", "id"]), ["vec", "id"]);
    assert_eq!(leaves(&["geo.lon", "id", "geo.lat"]), ["geo.lon", "geo.lat", "id"]);
    assert_eq!(leaves(&["geo.lon", "geo"]), ["geo.lat", "geo.lon", "geo.hist.item.t"]);
    assert_eq!(leaves(&["geo", "geo.lon"]), ["geo.lat", "geo.lon", "geo.hist.item.t"]);
    assert_eq!(leaves(&["geo.hist.item.t"]), ["geo.hist.item.t"]);
    assert_eq!(leaves(&["geo.hist.t"]), ["geo.hist.item.t"]);
    assert_eq!(leaves(&["tags.item"]), ["tags.item"]);
    assert_eq!(leaves(&[]), [""; 0]);
    assert_eq!(schema.project(&["id"]).unwrap().metadata, schema.metadata);

    let refused = |path: &str| schema.project(&[path]).unwrap_err().to_string();
    assert_eq!(refused("nope"), "column \"nope\": no field \"nope\"; there are: id, tags, geo, vec");
    assert!(refused("geo.nope.x").contains("there are: lat, lon, hist"));
    assert!(refused("id.x").contains("no fields below"));
    assert!(refused("").contains("no field"));
    assert!(schema.project(&["id", "id"]).unwrap_err().to_string().contains("twice"));
}

#[test]
fn projections_by_id_keep_what_is_above() {
    let schema = Schema::from_arrow(&example()).unwrap();
    let some = schema.project_ids(|id| id == 8 || id == 0);
    assert_eq!(some.pre_order().iter().map(|field| field.id).collect::<Vec<_>>(), [0, 3, 6, 7, 8]);
    assert!(schema.project_ids(|_| false).fields.is_empty());
}
