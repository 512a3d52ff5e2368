//! What the targets do with the bytes that they are given.

#![forbid(unsafe_code)]

pub mod files;
pub mod rows;
