//! Versioned Lance tables: fragments, manifests, deletion files, commit.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod proto;
