//! Schemas and values as JSON.
//!
//! | type | in JSON |
//! |---|---|
//! | bool | `true`, `false` |
//! | int8 … int64 | a number, of the full range |
//! | float32, float64 | a number, exact; or `"NaN"`, `"Infinity"`, `"-Infinity"`, `"-0.0"`; other NaNs by their bits, `"f32:ffc00001"` |
//! | float16 | its bits, `"f16:3c00"` |
//! | date32 | days |
//! | timestamp, duration | microseconds |
//! | decimal | its text, `"12.50"` |
//! | utf8 | text |
//! | binary, fixed_binary | hex, `"00ff"` |
//! | list | an array |
//! | map | an array of `[key, value]` |
//! | struct | an object; members that are not there are null |

mod schema;
mod value;

use serde_json::Value as Json;

/// A JSON value in few words, for errors.
fn shown(json: &Json) -> String {
    const SHOWN: usize = 40;
    match json {
        Json::String(text) if text.chars().nth(SHOWN).is_some() => {
            format!("{:?}…", text.chars().take(SHOWN).collect::<String>())
        }
        Json::Array(elements) => format!("an array of {}", elements.len()),
        Json::Object(_) => "an object".into(),
        other => other.to_string(),
    }
}
