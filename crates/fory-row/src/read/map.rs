use crate::error::Step;
use crate::layout::MapLayout;
use crate::raw::RawMap;
use crate::{ArrayRef, Error, FromCell, Layout, Result};

/// A map: two arrays of one length, entries in the order in which they were written.
///
/// Nothing keeps a writer from writing a key twice; a view shows both entries, and what collects entries into a
/// Rust map keeps the last.
#[derive(Clone, Copy)]
pub struct MapRef<'a> {
    keys: ArrayRef<'a>,
    values: ArrayRef<'a>,
}

impl Layout {
    /// Opens a top-level map: the first field of the schema is the map that it is an image of.
    pub fn map<'a>(&'a self, bytes: &'a [u8]) -> Result<MapRef<'a>> {
        let map = self.first_map()?;
        Ok(MapRef::new(RawMap::open(bytes, map.keys.shape, map.values.shape)?, map))
    }
}

impl<'a> MapRef<'a> {
    pub(crate) const fn new(raw: RawMap<'a>, layout: &'a MapLayout) -> Self {
        Self {
            keys: ArrayRef::new(raw.keys, &layout.keys),
            values: ArrayRef::new(raw.values, &layout.values),
        }
    }

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys, of which none is null.
    pub const fn keys(&self) -> ArrayRef<'a> {
        self.keys
    }

    /// The values, as many as there are keys.
    pub const fn values(&self) -> ArrayRef<'a> {
        self.values
    }

    /// All entries in order; the value is `None` where it is null.
    pub fn iter<K: FromCell<'a>, V: FromCell<'a>>(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<(K, Option<V>)>> + use<'a, K, V> {
        let map = *self;
        (0..map.len()).map(move |index| map.entry(index))
    }

    /// The value of the last entry whose key is `key`: `None` without such an entry, `Some(None)` where the value
    /// is null. Looks at all keys, from the last on.
    pub fn get<K: FromCell<'a> + PartialEq, V: FromCell<'a>>(&self, key: &K) -> Result<Option<Option<V>>> {
        for index in (0..self.len()).rev() {
            if self.key::<K>(index)? == *key {
                return self.values.get(index).map(Some);
            }
        }
        Ok(None)
    }

    /// The key of entry `index`.
    pub fn key<K: FromCell<'a>>(&self, index: usize) -> Result<K> {
        match self.keys.get(index)? {
            Some(key) => Ok(key),
            None => Err(Error::malformed("a null among the keys of a map").within(Step::Key(index))),
        }
    }

    fn entry<K: FromCell<'a>, V: FromCell<'a>>(&self, index: usize) -> Result<(K, Option<V>)> {
        Ok((self.key(index)?, self.values.get(index)?))
    }
}
