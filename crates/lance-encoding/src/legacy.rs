//! Array encodings: version 2.0.

pub(crate) mod read;
pub(crate) mod write;
