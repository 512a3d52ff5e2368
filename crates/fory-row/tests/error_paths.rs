//! Errors name the place, in the same words whoever meets them.

use std::collections::BTreeMap;

use fory_row::{Compact, Format, ForyRow, Image, Layout, MapRef, Result};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

#[derive(Debug, ForyRow)]
struct Switches {
    list: Vec<bool>,
    map: BTreeMap<bool, bool>,
    lists: BTreeMap<i8, Vec<bool>>,
}

#[test]
fn elements_keys_and_values_are_told_apart() -> Outcome {
    let layout = Layout::new(Switches::schema()?, Format::Compact)?;
    let switches = Switches {
        list: vec![false, true],
        map: [(false, true), (true, true)].into(),
        lists: [(7, vec![]), (8, vec![true, true])].into(),
    };
    let bytes = switches.to_row::<Compact>()?;
    let mut paths = vec![];
    for at in layout.fixed_len()..bytes.len() {
        let mut bytes = bytes.clone();
        if let Some(byte) = bytes.get_mut(at) {
            *byte |= 4;
        }
        let wrong_bool = |error: fory_row::Error| {
            Some(error).filter(|error| error.reason().starts_with("a bool of")).map(|error| error.path())
        };
        let Some(path) = layout.decode(&bytes).err().and_then(wrong_bool) else { continue };
        let checked = layout.check(Image::Row, &bytes).err().and_then(wrong_bool);
        let typed = Switches::from_row::<Compact>(&bytes).err().and_then(wrong_bool);
        assert_eq!((checked.as_ref(), typed.as_ref()), (Some(&path), Some(&path)));
        paths.push(path);
    }
    assert_eq!(
        paths,
        [
            "list[0]",
            "list[1]",
            "map.key[0]",
            "map.key[1]",
            "map.value[0]",
            "map.value[1]",
            "lists.value[1][0]",
            "lists.value[1][1]",
        ]
    );
    Ok(())
}

#[test]
fn views_name_the_entry() -> Outcome {
    let layout = Layout::new(Switches::schema()?, Format::Compact)?;
    let map = [(false, true), (true, true)].into();
    let mut bytes = Switches { list: vec![], map, lists: BTreeMap::new() }.to_row::<Compact>()?;
    let last_key = layout.fixed_len() + 4 + 8 + 4 + 1;
    *bytes.get_mut(last_key).ok_or("short")? = 2;

    let map = layout.row(&bytes)?.get::<MapRef<'_>>("map")?.ok_or("null")?;
    let entries = map.iter::<bool, bool>().collect::<Result<Vec<_>>>();
    assert_eq!(entries.err().map(|error| error.path()).as_deref(), Some("key[1]"));
    let map = Switches::view_row::<Compact>(&bytes)?.map()?;
    let entries = map.iter().collect::<Result<Vec<_>>>();
    assert_eq!(entries.err().map(|error| error.path()).as_deref(), Some("key[1]"));
    Ok(())
}

#[test]
fn what_cannot_be_written_is_named_too() -> Outcome {
    let layout = Layout::new(Switches::schema()?, Format::Standard)?;
    let mut buffer = vec![];
    let null_key = layout.write_row(&mut buffer, |row| {
        row.map("map", 1, |keys| keys.push(None::<bool>), |values| values.push(true))
    });
    assert_eq!(null_key.err().map(|error| error.path()).as_deref(), Some("map.key[0]"));
    let wrong_value = layout
        .write_row(&mut buffer, |row| row.map("map", 1, |keys| keys.push(true), |values| values.push(1i8)));
    assert_eq!(wrong_value.err().map(|error| error.path()).as_deref(), Some("map.value[0]"));
    assert!(buffer.is_empty());
    Ok(())
}
