//! Maps as JSON: an object where the keys are texts, else a list of entries, since JSON has no other keys.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, MapArray};
use arrow_json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder, make_encoder};
use arrow_schema::{ArrowError, DataType, FieldRef};

/// Writes maps whose keys are no texts as `[{"key":1,"value":2},…]`.
#[derive(Debug)]
struct Entries;

/// What JSON writers are built with.
pub(super) fn entries() -> Arc<dyn EncoderFactory> {
    Arc::new(Entries)
}

impl EncoderFactory for Entries {
    fn make_default_encoder<'a>(
        &self,
        _: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let Some(map) = array.as_map_opt() else { return Ok(None) };
        let DataType::Map(field, _) = map.data_type() else { return Ok(None) };
        if map.key_type().is_string() {
            return Ok(None);
        }
        let entries = make_encoder(field, map.entries(), options)?;
        let encoder = Box::new(EntriesEncoder { map, entries });
        Ok(Some(NullableEncoder::new(encoder, map.nulls().cloned())))
    }
}

struct EntriesEncoder<'a> {
    map: &'a MapArray,
    entries: NullableEncoder<'a>,
}

impl Encoder for EntriesEncoder<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let at =
            |row: usize| self.map.offsets().get(row).and_then(|at| usize::try_from(*at).ok()).unwrap_or(0);
        let range = at(row)..at(row + 1);
        out.push(b'[');
        for entry in range.clone() {
            if entry > range.start {
                out.push(b',');
            }
            self.entries.encode(entry, out);
        }
        out.push(b']');
    }
}
