//! Dictionaries of mini-block pages: the value stream holds indices, the items lie in a buffer of the page.
//!
//! ```text
//! chunks       indices of 8, 16, 32 or 64 bits, encoded like any numbers
//! buffer 2     the items, a block; none is null, some may be unused or there twice
//! ```

mod distinct;

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use lance_footer::{FormatError, Result};

pub(crate) use distinct::Distinct;

use super::Codec;
use crate::kernel::bitpack::Word;
use crate::storage::Storage;
use crate::values::{Values, misfit};

/// The items of a page's dictionary.
#[derive(Debug)]
pub(crate) enum Dictionary {
    /// Of a plain column: values are copied out of it.
    Plain(Values),
    /// Of a dictionary column: arrays share it.
    Shared(ArrayRef),
}

impl Dictionary {
    /// The `count` items in `bytes`, for a column of `data_type` that is stored as `storage`. They may take `most`
    /// bytes.
    pub(crate) fn decode(
        codec: &Codec,
        bytes: &[u8],
        count: usize,
        data_type: &DataType,
        storage: &Storage,
        most: usize,
    ) -> Result<Self> {
        let (storage, item_type) = match (storage, data_type) {
            (Storage::Dictionary { values }, DataType::Dictionary(_, item)) => (&**values, Some(&**item)),
            (storage, _) => (storage, None),
        };
        let mut items = Values::within(storage, most);
        codec.decode_block(bytes, count, &mut items)?;
        items.check()?;
        Ok(match item_type {
            Some(item_type) => Self::Shared(items.finish(item_type, None)?),
            None => Self::Plain(items),
        })
    }

    /// Appends the items that `indices` name.
    pub(crate) fn gather<I: Word + Into<u64>>(&self, indices: &[I], out: &mut Values) -> Result<()> {
        match (self, out) {
            (Self::Plain(items), out) => out.append_gathered(items, indices),
            (Self::Shared(items), Values::Dictionary(out)) => {
                out.check_more(indices.len())?;
                let indices: Vec<u64> = indices.iter().map(|index| (*index).into()).collect();
                if let Some(index) = indices.iter().find(|index| **index >= items.len() as u64) {
                    return Err(FormatError::corrupt(
                        "dictionary",
                        format!("index {index} is not within its {} items", items.len()),
                    ));
                }
                out.append(indices, Some(Arc::clone(items)));
                Ok(())
            }
            _ => Err(misfit("dictionary")),
        }
    }

    /// Bytes that an item takes on the average where it is copied.
    pub(crate) fn item_bytes(&self) -> u64 {
        match self {
            Self::Plain(items) => (items.weight() / items.len().max(1)) as u64,
            Self::Shared(_) => 0,
        }
    }

    /// Bytes that it takes.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Plain(items) => items.weight(),
            Self::Shared(items) => items.get_buffer_memory_size(),
        }
    }
}
