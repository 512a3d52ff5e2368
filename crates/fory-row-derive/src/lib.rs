//! `#[derive(ForyRow)]` for [fory-row](https://docs.rs/fory-row), which re-exports it.

#![forbid(unsafe_code)]

mod expand;
mod input;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes the values of a struct rows: encoding, decoding, and a lazy view with a getter a field, in both formats.
///
/// For `struct Pose` it implements `ForyRow`, and makes `PoseView`, which is what `Pose::view_row` gives.
/// The struct has named fields, at least one, and lifetimes, but no type parameters.
///
/// Attributes of fields:
///
/// - `#[fory(rename = "name")]`: the name in the schema, where it is not that of the field.
/// - `#[fory(nullable)]`: nullable in the schema although the Rust type takes no null, as Java has it for all but
///   primitives. The layout of compact rows depends on it. A null that is read is an error.
///
/// Attributes of the struct:
///
/// - `#[fory(crate = path)]`: where the crate `fory_row` is found, if not at `::fory_row`.
#[proc_macro_derive(ForyRow, attributes(fory))]
pub fn derive_fory_row(tokens: TokenStream) -> TokenStream {
    let input = parse_macro_input!(tokens as DeriveInput);
    match input::Row::parse(&input) {
        Ok(row) => expand::expand(&row).into(),
        Err(error) => error.into_compile_error().into(),
    }
}
