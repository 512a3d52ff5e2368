//! `#[derive(ForyRow)]` for [fory-row](https://docs.rs/fory-row), which re-exports it.

#![forbid(unsafe_code)]

mod expand;
mod input;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes the values of a struct rows: encoding, decoding, and a lazy view with a getter a field, in both formats.
///
/// For `struct Pose` it implements `ForyRow`, and makes `PoseView`, which is what `Pose::view_row` gives.
///
/// What cannot be a row does not compile: structs without fields or without names for them, enums, type parameters
/// (offsets are worked out when the struct is compiled; lifetimes are fine), structs that hold themselves, types that
/// the format does not have, such as unsigned integers, keys of maps that could be null, two fields of one name.
///
/// The schema has the fields in the order of their declaration. Java and Python sort theirs by name, Java by that of the
/// member in camel case: to exchange rows with them, declare the fields in that order.
///
/// Rows of Java beans have a null bit for all but primitives, also for the elements of collections. In the compact
/// format it has to be there on both sides: `#[fory(nullable)]` makes one for a field, `Vec<Option<T>>` for elements.
/// A `byte[]` of Java is a `Vec<i8>` here.
///
/// Attributes of fields:
///
/// - `#[fory(rename = "name")]`: the name in the schema, where it is not that of the field.
/// - `#[fory(nullable)]`: nullable in the schema although the Rust type takes no null. The layout of compact rows
///   depends on it. A null that is read is an error.
///
/// Attributes of the struct:
///
/// - `#[fory(view = Name)]`: the name of the view, where `PoseView` is taken.
/// - `#[fory(crate = path)]`: where the crate `fory_row` is found, if not at `::fory_row`.
#[proc_macro_derive(ForyRow, attributes(fory))]
pub fn derive_fory_row(tokens: TokenStream) -> TokenStream {
    let input = parse_macro_input!(tokens as DeriveInput);
    match input::Row::parse(&input) {
        Ok(row) => expand::expand(&row).into(),
        Err(error) => error.into_compile_error().into(),
    }
}
