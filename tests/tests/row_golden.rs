//! Rows that the implementations in Java, Python and Rust wrote, and images that have to be refused.

use demilance_tests::ours;
use demilance_tests::rows::{self, Golden};
use fory_row::{DecodeOptions, Format, Layout, Region, RegionKind, Value};

/// What is wrong with each of `cases`, by its id.
fn check(cases: &[Golden], check: impl Fn(&Golden) -> Result<(), String>) {
    let wrong = cases.iter().filter_map(|golden| {
        let error = check(golden).err()?;
        Some(format!("{}: {error}", golden.id))
    });
    ours::none_wrong(wrong.collect());
}

/// As text, since NaN is not equal to itself.
fn same(found: &Value, expected: &Value) -> Result<(), String> {
    let (found, expected) = (format!("{found:?}"), format!("{expected:?}"));
    if found == expected { Ok(()) } else { Err(format!("{found} instead of {expected}")) }
}

#[test]
fn there_are_as_many_as_there_were() {
    assert_eq!((rows::all().len(), rows::malformed().len()), (208, 15));
}

#[test]
fn every_image_is_decoded() {
    check(&rows::all(), |golden| {
        let value = golden.layout.decode_framed(golden.frame, &golden.bytes).map_err(|e| e.to_string())?;
        same(&value, &golden.read_value())?;
        golden.layout.check(golden.frame.image(), golden.body()).map_err(|e| e.to_string())
    });
}

#[test]
fn every_image_is_read_by_getters() {
    check(&rows::all(), |golden| {
        let (image, _) = golden.image();
        let value = rows::read_by_getters(&golden.layout, image, golden.body()).map_err(|e| e.to_string())?;
        same(&value, &golden.read_value())
    });
}

#[test]
fn images_are_read_anywhere_in_a_buffer_and_nothing_around_them_is() {
    check(&rows::all(), |golden| {
        let (image, _) = golden.image();
        for shift in [0, 1, 3, 4, 8, 9] {
            for around in [0x00, 0xff] {
                let mut buffer = vec![around; shift];
                buffer.extend_from_slice(golden.body());
                buffer.extend([around; 64]);
                let body = &buffer[shift..shift + golden.body().len()];
                let value = rows::read_by_getters(&golden.layout, image, body).map_err(|e| e.to_string())?;
                same(&value, &golden.read_value())?;
            }
        }
        Ok(())
    });
}

#[test]
fn every_value_is_encoded_to_the_same_bytes() {
    check(&rows::all(), |golden| {
        let mut bytes = b"before".to_vec();
        let value = golden.value();
        golden.layout.encode_framed(golden.frame, &value, &mut bytes).map_err(|e| e.to_string())?;
        let bytes = bytes.split_off(6);
        let len = golden.layout.image_len(golden.frame.image(), &value).map_err(|e| e.to_string())?;
        if bytes.len() != golden.frame.prefix_len() + len {
            return Err(format!("{} bytes instead of {len}", bytes.len()));
        }
        let Some(mut expected) = golden.canonical() else {
            // Only the value has to come back.
            let found = golden.layout.decode_framed(golden.frame, &bytes);
            return same(&found.map_err(|e| e.to_string())?, &value);
        };
        golden.mask(&mut expected);
        if bytes != expected {
            return Err(format!("{bytes:02x?} instead of {expected:02x?}"));
        }
        Ok(())
    });
}

#[test]
fn hashes_and_orders_are_those_of_the_producers() {
    check(&rows::all(), |golden| {
        let hash = golden.json["schema_hash"].as_i64();
        if hash.is_some_and(|hash| hash != golden.layout.hash()) {
            return Err(format!("a hash of {} instead of {hash:?}", golden.layout.hash()));
        }
        let schema = golden.layout.schema();
        let order: Vec<_> =
            golden.layout.stored_order().iter().map(|index| schema.fields()[*index].name.as_str()).collect();
        match golden.json["compact_order"].as_array() {
            Some(expected)
                if order != expected.iter().filter_map(|name| name.as_str()).collect::<Vec<_>>() =>
            {
                Err(format!("{order:?} instead of {expected:?}"))
            }
            _ => Ok(()),
        }
    });
}

#[test]
fn values_are_the_same_json_again() {
    check(&rows::all(), |golden| {
        let (image, _) = golden.image();
        let json = golden.layout.value_to_json(image, &golden.value()).map_err(|e| e.to_string())?;
        // But for decimals of another scale.
        if json != golden.json["value"] && golden.json.get("reader_value").is_none() {
            return Err(format!("{json} instead of {}", golden.json["value"]));
        }
        let value = golden.layout.value_from_json(image, &json).map_err(|e| e.to_string())?;
        same(&value, &golden.value())
    });
}

#[test]
fn schemas_are_the_same_json_again() {
    check(&rows::all(), |golden| {
        let json = golden.layout.schema().to_json();
        let schema = fory_row::Schema::from_json(&json).map_err(|e| e.to_string())?;
        if schema != *golden.layout.schema() {
            return Err(format!("{schema:?}"));
        }
        // But for values of maps that are said not to be nullable.
        let told = golden.json["schema"].to_string();
        let same =
            json == golden.json["schema"] || told.contains(r#""value":{"name":"value","nullable":false"#);
        if same { Ok(()) } else { Err(format!("{json} instead of {told}")) }
    });
}

#[test]
fn malformed_images_are_refused() {
    check(&rows::malformed(), |golden| {
        let (image, _) = golden.image();
        if let Ok(value) = golden.layout.decode_image(image, golden.body(), DecodeOptions::default()) {
            return Err(format!("decoded to {value:?}"));
        }
        if golden.layout.check(image, golden.body()).is_ok() {
            return Err("found right".into());
        }
        match rows::read_by_getters(&golden.layout, image, golden.body()) {
            Ok(value) if !golden.is_expansion() => Err(format!("read as {value:?}")),
            _ => Ok(()),
        }
    });
}

/// Also with bytes behind the image that would make it right.
#[test]
fn cut_images_are_refused_or_read_within_what_is_left() {
    check(&rows::all(), |golden| {
        let (image, _) = golden.image();
        for len in 0..golden.body().len() {
            let cut = &golden.body()[..len];
            let eager = golden.layout.decode_image(image, cut, DecodeOptions::default());
            let lazy = rows::read_by_getters(&golden.layout, image, cut);
            let checked = golden.layout.check(image, cut);
            if eager.is_ok() != lazy.is_ok() || eager.is_ok() != checked.is_ok() {
                return Err(format!("at {len} bytes {eager:?} but {lazy:?} and {checked:?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn hashes_of_schemas_are_those_of_java() {
    let listing = rows::listing("schemas.json");
    let schemas = listing["schemas"].as_array().unwrap();
    assert_eq!(schemas.len(), 24);
    for case in schemas {
        let schema = fory_row::Schema::from_json(&case["schema"]).unwrap();
        assert_eq!(Some(schema.hash()), case["hash"].as_i64(), "{}", case["schema"]);
        assert_eq!(Layout::new(schema.clone(), Format::Standard).unwrap().hash(), schema.hash());
    }
}

#[test]
fn schemas_are_serialised_as_java_does_it() {
    let listing = rows::listing("schemas.json");
    for case in listing["schemas"].as_array().unwrap() {
        let schema = fory_row::Schema::from_json(&case["schema"]).unwrap();
        let bytes = schema.serialize().unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(Some(hex.as_str()), case["schema_bytes"].as_str(), "{}", case["schema"]);
        assert_eq!(fory_row::Schema::deserialize(&bytes).unwrap(), schema);
        for len in 0..bytes.len() {
            assert!(fory_row::Schema::deserialize(&bytes[..len]).is_err(), "cut at {len}");
        }
    }
}

/// The regions in order, each with its first byte where the one before ends.
fn tile(regions: &[Region], len: usize) -> Result<(), String> {
    let end = regions.iter().try_fold(0, |end, region| {
        let follows = region.range.start == end && region.range.end > end;
        if follows { Ok(region.range.end) } else { Err(format!("{region:?} at {end}")) }
    })?;
    if end == len { Ok(()) } else { Err(format!("{end} of {len} bytes")) }
}

#[test]
fn every_byte_is_known() {
    check(&rows::all(), |golden| {
        let regions = golden.layout.inspect(golden.frame, &golden.bytes).map_err(|e| e.to_string())?;
        tile(&regions, golden.bytes.len())?;
        let surplus = regions.iter().any(|region| region.kind == RegionKind::Unused);
        if surplus != golden.json.get("canonical_file").is_some() {
            return Err(format!("{surplus} that bytes are not referred to"));
        }
        // All that is not zero means something, but for what producers left in slots of nulls.
        let odd = regions
            .iter()
            .any(|region| region.text.contains("not all zero") || region.text.contains("not zero"));
        if odd != golden.json.get("undefined").is_some() {
            return Err(format!("{odd} that padding is not zero: {regions:#?}"));
        }
        Ok(())
    });
}

#[test]
fn malformed_images_are_not_mapped() {
    check(&rows::malformed(), |golden| match golden.layout.inspect(golden.frame, &golden.bytes) {
        Ok(regions) => Err(format!("{regions:?}")),
        Err(_) => Ok(()),
    });
}

/// Bytes that are flipped still tile, or are refused; and what is mapped is what is decoded.
#[test]
fn every_byte_is_known_of_changed_images() {
    check(&rows::all(), |golden| {
        for index in 0..golden.bytes.len().min(400) {
            for value in [0x00, 0x01, 0x18, 0xff] {
                let mut bytes = golden.bytes.clone();
                bytes[index] = value;
                if let Ok(regions) = golden.layout.inspect(golden.frame, &bytes) {
                    tile(&regions, bytes.len())?;
                    golden.layout.decode_framed(golden.frame, &bytes).map_err(|e| format!("{index}: {e}"))?;
                }
            }
        }
        Ok(())
    });
}
