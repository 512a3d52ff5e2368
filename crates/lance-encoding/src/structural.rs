//! Structural encodings: versions 2.1 and later.

pub(crate) mod read;
pub(crate) mod write;
