//! What the cross-crate tests share.

#![forbid(unsafe_code)]
