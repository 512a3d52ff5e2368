//! Constant: all values are the same, and none is stored.
//!
//! It stands in full-zip pages only. Met as the innermost codec of a fixed-size list whose items are all null: no bytes, the message has no
//! value. These items can be fixed-size lists themselves, whose items then have no codec.

use bytes::Bytes;
use lance_footer::Result;

use crate::proto;
use crate::storage::Storage;
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

    /// Whether it can hold values of shape `storage`.
    pub(crate) fn fits(&self, storage: &Storage) -> bool {
        match (&self.value, storage) {
            (None, storage) => matches!(storage, Storage::Fixed { .. } | Storage::List { .. }),
            (Some(value), Storage::Fixed { bits }) => bits % 8 == 0 && value.len() == bits / 8,
            (Some(_), _) => false,
        }
    }

    /// Appends `count` times the value.
    pub(crate) fn decode(&self, count: usize, out: &mut Values) -> Result<()> {
        match (&self.value, out) {
            (None, out) => out.append_fillers(count),
            (Some(value), Values::Fixed(values)) => values.append_repeated(value, count),
            (Some(_), _) => Err(misfit("a constant")),
        }
    }
}
