use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, Hash};

use crate::error::Step;
use crate::geometry::{ElementShape, Widths};
use crate::raw::{RawMap, Slot};
use crate::schema::{MAP_ID, hash_step};
use crate::typed::list::{array_len, elements, shape, write_array};
use crate::typed::{FromRow, Image, List, RowType, struct_depth};
use crate::value::Budget;
use crate::{DataType, Result, RowFormat, Standard};

/// A map of a row, of which entries are read one by one, in the order in which they were written.
///
/// Hostile rows can have a key twice: a view shows both entries, a Rust map gets the last.
pub struct Map<'a, K, V, F = Standard> {
    keys: List<'a, K, F>,
    values: List<'a, V, F>,
}

/// The entries of a [`Map`], in order.
pub struct MapIter<'a, K, V, F = Standard> {
    map: Map<'a, K, V, F>,
    next: usize,
    nulls: bool,
}

impl<'a, K: RowType, V: RowType, F: RowFormat> Map<'a, K, V, F> {
    #[inline]
    fn open(bytes: &'a [u8]) -> Result<Self> {
        let raw = open::<K, V, F>(bytes)?;
        Ok(Self { keys: List::from_raw(raw.keys), values: List::from_raw(raw.values) })
    }

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys.
    pub const fn keys(&self) -> &List<'a, K, F> {
        &self.keys
    }

    /// The values. Every map of the format can have nulls there: a type that is no `Option` makes them errors.
    pub const fn values(&self) -> &List<'a, V, F> {
        &self.values
    }

    /// The entries in order.
    pub fn iter(&self) -> MapIter<'a, K, V, F> {
        MapIter { map: *self, next: 0, nulls: self.values.raw().has_nulls() }
    }

    /// The value of the last entry whose key is `key`, if there is one. Looks at all keys, from the last on.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use fory_row::{ForyRow, Standard};
    ///
    /// #[derive(ForyRow)]
    /// struct Limits {
    ///     speeds: BTreeMap<String, Option<f32>>,
    /// }
    ///
    /// let speeds = [("arm".into(), Some(0.5)), ("base".into(), None)].into();
    /// let bytes = Limits { speeds }.to_row::<Standard>()?;
    /// let speeds = Limits::view_row::<Standard>(&bytes)?.speeds()?;
    /// assert_eq!(speeds.get("arm")?, Some(Some(0.5)));
    /// assert_eq!(speeds.get("base")?, Some(None));
    /// assert_eq!(speeds.get("head")?, None);
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn get<Q>(&self, key: Q) -> Result<Option<V::View<'a, F>>>
    where
        K::View<'a, F>: PartialEq<Q>,
    {
        for index in (0..self.len()).rev() {
            if self.keys.element(index, false, Step::Key)? == key {
                return self.values.element(index, true, Step::Value).map(Some);
            }
        }
        Ok(None)
    }
}

impl<'a, K: RowType, V: RowType, F: RowFormat> Iterator for MapIter<'a, K, V, F> {
    type Item = Result<(K::View<'a, F>, V::View<'a, F>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        if index == self.map.len() {
            return None;
        }
        self.next = index + 1;
        let key = self.map.keys.element(index, false, Step::Key);
        Some(key.and_then(|key| Ok((key, self.map.values.element(index, self.nulls, Step::Value)?))))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.map.len() - self.next;
        (left, Some(left))
    }
}

impl<K: RowType, V: RowType, F: RowFormat> ExactSizeIterator for MapIter<'_, K, V, F> {}

impl<'a, K: RowType, V: RowType, F: RowFormat> IntoIterator for Map<'a, K, V, F> {
    type Item = Result<(K::View<'a, F>, V::View<'a, F>)>;
    type IntoIter = MapIter<'a, K, V, F>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K: RowType, V: RowType, F: RowFormat> IntoIterator for &Map<'a, K, V, F> {
    type Item = Result<(K::View<'a, F>, V::View<'a, F>)>;
    type IntoIter = MapIter<'a, K, V, F>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

// Derived, these would ask the same of keys and values, of which a view holds none.

impl<K, V, F> Clone for Map<'_, K, V, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V, F> Copy for Map<'_, K, V, F> {}

impl<K, V, F> fmt::Debug for Map<'_, K, V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").field("keys", &self.keys).field("values", &self.values).finish()
    }
}

impl<K, V, F> Clone for MapIter<'_, K, V, F> {
    fn clone(&self) -> Self {
        Self { map: self.map, ..*self }
    }
}

impl<K, V, F> fmt::Debug for MapIter<'_, K, V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapIter").field("map", &self.map).field("next", &self.next).finish_non_exhaustive()
    }
}

/// The widths of maps, which are refused when they are compiled if a key can be null.
const fn widths<K: RowType>() -> Widths {
    assert!(!K::NULLABLE, "the keys of a map cannot be null");
    Widths::VARIABLE
}

/// The shapes of keys and values. Values are nullable in every map, whatever their Rust type says.
const fn shapes<K: RowType, V: RowType, F: RowFormat>() -> (ElementShape, ElementShape) {
    (shape::<K, F>(), F::FORMAT.element(V::WIDTHS, true))
}

fn open<K: RowType, V: RowType, F: RowFormat>(bytes: &[u8]) -> Result<RawMap<'_>> {
    let (keys, values) = shapes::<K, V, F>();
    RawMap::open(bytes, keys, values)
}

fn data_type<K: RowType, V: RowType>() -> DataType {
    DataType::map(K::data_type(), V::data_type())
}

#[inline]
fn hash<K: RowType, V: RowType>(hash: i64) -> i64 {
    // What is in lists and maps is hashed as declared, in both formats.
    V::hash::<Standard>(K::hash::<Standard>(hash_step(hash, MAP_ID)))
}

fn map_len<'v, K: RowType + 'v, V: RowType + 'v, F: RowFormat>(
    keys: impl ExactSizeIterator<Item = &'v K>,
    values: impl ExactSizeIterator<Item = &'v V>,
) -> usize {
    let (key, value) = shapes::<K, V, F>();
    array_len::<K, F>(key, keys).saturating_add(array_len::<V, F>(value, values)).saturating_add(KEYS_SIZE)
}

/// Writes a map whose keys and values come in one order.
fn write_map<'v, K: RowType + 'v, V: RowType + 'v, F: RowFormat>(
    image: &mut Image<'_>,
    slot: usize,
    keys: impl ExactSizeIterator<Item = &'v K>,
    values: impl ExactSizeIterator<Item = &'v V>,
) -> Result<()> {
    let (key, value) = shapes::<K, V, F>();
    image.nested(slot, KEYS_SIZE, |map| {
        let size = write_array::<K, F>(map, key, keys, Step::Key)?;
        write_array::<V, F>(map, value, values, Step::Value)?;
        map.put(0, (size as u64).to_le_bytes())
    })
}

/// Decodes the entries, in order.
fn entries<'a, K: FromRow<'a>, V: FromRow<'a>, F: RowFormat>(
    slot: Slot<'a>,
    budget: &mut Budget,
    mut take: impl FnMut(K, V),
) -> Result<()> {
    let raw = open::<K, V, F>(slot.payload()?)?;
    budget.spend_array(&raw.keys)?;
    budget.spend_array(&raw.values)?;
    let mut keys = budget.vec(raw.keys.len());
    elements::<K, F>(&raw.keys, budget, Step::Key, |key| keys.push(key))?;
    let mut keys = keys.into_iter();
    elements::<V, F>(&raw.values, budget, Step::Value, |value| {
        if let Some(key) = keys.next() {
            take(key, value);
        }
    })
}

/// The bytes in front of the keys.
const KEYS_SIZE: usize = 8;

impl<K: RowType, V: RowType> RowType for BTreeMap<K, V> {
    type View<'a, F: RowFormat> = Map<'a, K, V, F>;
    const WIDTHS: Widths = widths::<K>();
    const DEPTH: usize = struct_depth(&[K::DEPTH, V::DEPTH]);

    fn data_type() -> DataType {
        data_type::<K, V>()
    }

    #[inline]
    fn hash<F: RowFormat>(from: i64) -> i64 {
        hash::<K, V>(from)
    }

    fn variable_len<F: RowFormat>(&self) -> usize {
        map_len::<K, V, F>(self.keys(), self.values())
    }

    fn write<F: RowFormat>(&self, image: &mut Image<'_>, slot: usize) -> Result<()> {
        write_map::<K, V, F>(image, slot, self.keys(), self.values())
    }

    #[inline]
    fn view<F: RowFormat>(slot: Slot<'_>) -> Result<Self::View<'_, F>> {
        Map::open(slot.payload()?)
    }
}

impl<'a, K: FromRow<'a> + Ord, V: FromRow<'a>> FromRow<'a> for BTreeMap<K, V> {
    fn from_slot<F: RowFormat>(slot: Slot<'a>, budget: &mut Budget) -> Result<Self> {
        let mut map = Self::new();
        entries::<K, V, F>(slot, budget, |key, value| {
            map.insert(key, value);
        })?;
        Ok(map)
    }
}

/// Written in the order of the keys, so that equal maps make equal bytes.
impl<K: RowType + Ord + Hash, V: RowType, S: BuildHasher> RowType for HashMap<K, V, S> {
    type View<'a, F: RowFormat> = Map<'a, K, V, F>;
    const WIDTHS: Widths = widths::<K>();
    const DEPTH: usize = struct_depth(&[K::DEPTH, V::DEPTH]);

    fn data_type() -> DataType {
        data_type::<K, V>()
    }

    #[inline]
    fn hash<F: RowFormat>(from: i64) -> i64 {
        hash::<K, V>(from)
    }

    fn variable_len<F: RowFormat>(&self) -> usize {
        map_len::<K, V, F>(self.keys(), self.values())
    }

    fn write<F: RowFormat>(&self, image: &mut Image<'_>, slot: usize) -> Result<()> {
        let mut entries = self.iter().collect::<Vec<_>>();
        entries.sort_unstable_by_key(|(key, _)| *key);
        let (keys, values) = (entries.iter().map(|entry| entry.0), entries.iter().map(|entry| entry.1));
        write_map::<K, V, F>(image, slot, keys, values)
    }

    #[inline]
    fn view<F: RowFormat>(slot: Slot<'_>) -> Result<Self::View<'_, F>> {
        Map::open(slot.payload()?)
    }
}

impl<'a, K, V, S> FromRow<'a> for HashMap<K, V, S>
where
    K: FromRow<'a> + Ord + Hash,
    V: FromRow<'a>,
    S: BuildHasher + Default,
{
    fn from_slot<F: RowFormat>(slot: Slot<'a>, budget: &mut Budget) -> Result<Self> {
        let mut map = Self::default();
        entries::<K, V, F>(slot, budget, |key, value| {
            map.insert(key, value);
        })?;
        Ok(map)
    }
}
