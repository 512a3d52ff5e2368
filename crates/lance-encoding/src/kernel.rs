//! Inner loops.

pub(crate) mod bitpack;
