//! One Lance file: open, schema, scan, take, write.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod proto;
