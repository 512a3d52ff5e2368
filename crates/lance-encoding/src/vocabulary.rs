//! The distinct values of a dictionary column. Pages have dictionaries of their own, but a reader gives rows of several
//! pages as one array, whose keys must name the values of all.

use std::collections::HashSet;
use std::sync::Arc;

use ahash::RandomState;
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use lance_footer::{FormatError, Result};

use crate::block::Block;

/// What a column has held so far.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    key: DataType,
    /// Values that keys can name.
    most: usize,
    seen: HashSet<Box<[u8]>, RandomState>,
    last: Option<Last>,
}

/// The dictionary that was looked at last.
#[derive(Debug)]
struct Last {
    dictionary: ArrayRef,
    items: Block,
    /// Which of them were met.
    met: Vec<bool>,
}

impl Vocabulary {
    /// Of a column of `data_type`; none unless it has keys so narrow that values may run out of them.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        let DataType::Dictionary(key, value) = data_type else { return None };
        let most = match **key {
            DataType::Int8 => 1 << 7,
            DataType::UInt8 => 1 << 8,
            DataType::Int16 => 1 << 15,
            DataType::UInt16 => 1 << 16,
            _ => return None,
        };
        let key = DataType::clone(key);
        (**value != DataType::Boolean).then(|| Self { key, most, seen: HashSet::default(), last: None })
    }

    /// Adds the items of `dictionary` that `keys` name. An error if there are more than keys have names for.
    pub(crate) fn add(&mut self, dictionary: &ArrayRef, keys: impl Iterator<Item = usize>) -> Result<()> {
        let last = match self.last.take_if(|last| Arc::ptr_eq(&last.dictionary, dictionary)) {
            Some(last) => last,
            None => Last {
                dictionary: Arc::clone(dictionary),
                items: Block::from_array(dictionary)?,
                met: vec![false; dictionary.len()],
            },
        };
        let Last { items, met, .. } = self.last.insert(last);
        for key in keys {
            let Some(met) = met.get_mut(key).filter(|met| !**met) else { continue };
            *met = true;
            let item = match items {
                Block::Fixed { width, bytes } => bytes.get(key * *width..(key + 1) * *width),
                Block::Variable { offsets, data } => data.get(offsets.range(key)),
                _ => None,
            };
            self.seen.insert(item.unwrap_or_default().into());
        }
        if self.seen.len() <= self.most {
            return Ok(());
        }
        Err(FormatError::unsupported(format!(
            "writing more than {} distinct values to a dictionary column, of which keys of {} name no more",
            self.most, self.key
        )))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StringArray};

    use super::*;

    fn words(items: std::ops::Range<usize>) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(items.map(|item| item.to_string())))
    }

    #[test]
    fn distinct_values_are_counted() {
        let of =
            |key: DataType, value: DataType| Vocabulary::of(&DataType::Dictionary(key.into(), value.into()));
        let (first, second) = (words(0..100), words(60..200));
        let mut words = of(DataType::Int8, DataType::Utf8).unwrap();
        words.add(&first, 0..100).unwrap();
        words.add(&first, 0..100).unwrap();
        // 60 to 127, of which 40 are known.
        words.add(&second, 0..68).unwrap();
        words.add(&second, 0..68).unwrap();
        let error = words.add(&second, 68..69).unwrap_err().to_string();
        assert!(error.contains("more than 128 distinct values") && error.contains("Int8"), "{error}");

        let numbers =
            |range: std::ops::Range<i64>| -> ArrayRef { Arc::new(Int64Array::from_iter_values(range)) };
        for (key, most) in [(DataType::UInt8, 256), (DataType::Int16, 32_768), (DataType::UInt16, 65_536)] {
            let mut vocabulary = of(key, DataType::Int64).unwrap();
            vocabulary.add(&numbers(0..most), 0..most as usize).unwrap();
            assert!(vocabulary.add(&numbers(most..most + 1), 0..1).is_err());
        }
        assert!(of(DataType::Int32, DataType::Int64).is_none());
        assert!(of(DataType::Int8, DataType::Boolean).is_none());
        assert!(Vocabulary::of(&DataType::Int8).is_none());
    }
}
