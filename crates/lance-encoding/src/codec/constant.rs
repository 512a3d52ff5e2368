//! Constant: all values are the same, and none is stored.
//!
//! Met as the innermost codec of a fixed-size list whose items are all null: no bytes, the message has no
//! value.

use bytes::Bytes;
use lance_footer::Result;

use crate::proto;
use crate::values::{Values, misfit};

/// All values are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constant {
    /// The value; none if all are null.
    pub(crate) value: Option<Bytes>,
}

impl Constant {
    pub(super) fn parse(constant: &proto::Constant) -> Self {
        Self { value: constant.value.clone() }
    }

    /// Appends `count` times the value.
    pub(super) fn decode(&self, count: usize, out: &mut Values) -> Result<()> {
        match (&self.value, out) {
            (None, out) => out.append_fillers(count),
            (Some(value), Values::Fixed(values)) => values.append_repeated(value, count),
            (Some(_), _) => Err(misfit("a constant")),
        }
    }
}
