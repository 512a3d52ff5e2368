//! Plain values as indices into those that are distinct among them.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;

use crate::block::{Block, Offsets};
use crate::rules::Rules;
use crate::scheme::{Asked, plain_bytes};
use crate::settings::DictionarySettings;

/// Fewer values need no dictionary.
const LEAST: usize = 100;

/// The share of the bytes of the values that items may take, if none is asked for.
const RATIO: f64 = 0.8;

/// Bytes of an index as a share that is asked for counts them, however few they take in the end.
const RATED_INDEX: usize = 4;

/// Items that a dictionary may have.
const MOST: usize = 100_000;

/// So many pieces of so many values are looked at before a dictionary is tried; if there are fewer values than in
/// all of them or a little more, nothing is looked at before.
const PIECES: usize = 32;
const PIECE: usize = 128;
const SAMPLED_FROM: usize = 2 * PIECES * PIECE;

/// Values as indices, and what they are indices into.
#[derive(Debug)]
pub(crate) struct Distinct {
    /// Numbers of 8, 16 or 32 bits, one for each value.
    pub(crate) indices: Block,
    /// In the order in which they were met.
    pub(crate) items: Block,
}

impl Distinct {
    /// The distinct ones of the values `asked` for; none if the dictionary may not be, or would take so much that
    /// `other` bytes are less. `there` says which values there are: what is under a null is no item.
    pub(crate) fn of(
        asked: Asked<'_>,
        there: Option<impl Iterator<Item = bool>>,
        rules: &Rules,
        other: u64,
    ) -> Option<Self> {
        let (values, settings) = (View::new(asked.blocks, rules)?, &asked.settings.dictionary);
        let len = values.len();
        let limit = (len / settings.divisor.max(1)).min(MOST);
        if len < LEAST || !is_likely(&values, limit, other) {
            return None;
        }
        let plain = plain_bytes(asked.blocks) as f64;
        let budget = match settings.ratio {
            Some(ratio) => plain * ratio - (len * RATED_INDEX) as f64,
            None => plain * RATIO,
        };
        let budget = budget.min(other as f64);
        let mut items = Items::new(limit, budget, &values, settings);
        let mut indices = Vec::with_capacity(len);
        match there {
            None => values.each(|value| items.add(value, &mut indices))?,
            Some(mut there) => values.each(|value| match there.next() {
                Some(false) => {
                    // Whatever the value before has makes runs longer.
                    indices.push(indices.last().copied().unwrap_or(0));
                    Some(())
                }
                _ => items.add(value, &mut indices),
            })?,
        }
        let indices = match items.values.len() {
            0..=0x100 => narrow::<1>(&indices),
            0x101..=0x1_0000 => narrow::<2>(&indices),
            _ => narrow::<4>(&indices),
        };
        let items = values.block_of(&items.values)?;
        let least = plain_bytes(std::slice::from_ref(&items));
        (least < other).then_some(Self { indices, items })
    }

    /// Bytes of the items as they are.
    pub(crate) fn item_bytes(&self) -> u64 {
        plain_bytes(std::slice::from_ref(&self.items))
    }
}

/// Whether a look at some of the values does not rule a dictionary out: of `limit` items, that is smaller than `other`
/// bytes together with the indices.
fn is_likely(values: &View<'_>, limit: usize, other: u64) -> bool {
    let len = values.len();
    if len < SAMPLED_FROM {
        return true;
    }
    let mut seen: HashSet<&[u8], RandomState> = HashSet::default();
    for piece in 0..PIECES {
        let start = (len - PIECE) / (PIECES - 1) * piece;
        seen.extend((start..start + PIECE).map(|index| values.get(index)));
    }
    let sampled = PIECES * PIECE;
    let rare = seen.len() * 50 < sampled * 49 && seen.len() * (len / sampled) <= limit;
    // Indices of one bit at least, unless there are runs; of these other encodings make little anyway.
    let bits = u64::from(usize::BITS - (seen.len() - 1).leading_zeros());
    rare && bits * len as u64 / 8 < other
}

/// The items so far.
struct Items<'a> {
    values: Vec<&'a [u8]>,
    places: HashMap<&'a [u8], u32, RandomState>,
    last: Option<(&'a [u8], u32)>,
    limit: usize,
    /// Bytes that items may yet take, with what each takes besides its own.
    budget: f64,
    overhead: usize,
    /// Bytes of their own that they may yet take.
    room: usize,
}

impl<'a> Items<'a> {
    fn new(limit: usize, budget: f64, values: &View<'a>, settings: &DictionarySettings) -> Self {
        let (room, overhead) = match values {
            View::Strings { offsets, .. } => (settings.max_bytes, offsets.width()),
            View::Fixed { .. } => (usize::MAX, 0),
        };
        Self { values: vec![], places: HashMap::default(), last: None, limit, budget, overhead, room }
    }

    /// Appends the index of `value`; none if that is one item too many.
    fn add(&mut self, value: &'a [u8], indices: &mut Vec<u32>) -> Option<()> {
        if let Some((last, place)) = self.last
            && last == value
        {
            indices.push(place);
            return Some(());
        }
        let place = match self.places.get(value) {
            Some(place) => *place,
            None => {
                self.budget -= (value.len() + self.overhead) as f64;
                self.room = self.room.checked_sub(value.len())?;
                if self.budget < 0.0 || self.values.len() >= self.limit {
                    return None;
                }
                let place = u32::try_from(self.values.len()).ok()?;
                self.places.insert(value, place);
                self.values.push(value);
                place
            }
        };
        self.last = Some((value, place));
        indices.push(place);
        Some(())
    }
}

/// Numbers below 256 to the power of `WIDTH`.
fn narrow<const WIDTH: usize>(indices: &[u32]) -> Block {
    let mut bytes = vec![0; indices.len() * WIDTH];
    let (places, _) = bytes.as_chunks_mut::<WIDTH>();
    for (place, index) in places.iter_mut().zip(indices) {
        *place = index.to_le_bytes().first_chunk().copied().unwrap_or([0; WIDTH]);
    }
    Block::Fixed { width: WIDTH, bytes: bytes.into() }
}

/// Values one by one, as bytes.
enum View<'a> {
    Strings {
        offsets: &'a Offsets,
        data: &'a [u8],
    },
    /// In parts, with the number of the value after each.
    Fixed {
        width: usize,
        parts: Vec<&'a [u8]>,
        ends: Vec<usize>,
    },
}

impl<'a> View<'a> {
    /// None if there is no dictionary of values of this kind.
    fn new(blocks: &'a [Block], rules: &Rules) -> Option<Self> {
        match blocks {
            [Block::Variable { offsets, data }] => Some(Self::Strings { offsets, data }),
            [Block::Fixed { width, .. }, ..]
                if *width == 16 || (*width == 8 && rules.dictionaries_of_64_bits) =>
            {
                let parts: Vec<_> =
                    blocks.iter().filter_map(Block::fixed_bytes).map(|bytes| bytes.as_slice()).collect();
                let ends = parts.iter().scan(0, |end, part| {
                    *end += part.len() / width;
                    Some(*end)
                });
                Some(Self::Fixed { width: *width, ends: ends.collect(), parts })
            }
            _ => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Strings { offsets, .. } => offsets.len(),
            Self::Fixed { ends, .. } => ends.last().copied().unwrap_or(0),
        }
    }

    fn get(&self, index: usize) -> &'a [u8] {
        match self {
            Self::Strings { offsets, data } => data.get(offsets.range(index)).unwrap_or_default(),
            Self::Fixed { width, parts, ends } => {
                // Batches may be tiny, and so the parts many.
                let place = ends.partition_point(|end| *end <= index);
                let start = place.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
                let at = (index - start) * width;
                parts.get(place).and_then(|part| part.get(at..at + width)).unwrap_or_default()
            }
        }
    }

    /// Calls `each` with every value, as long as it gives something.
    fn each(&self, mut each: impl FnMut(&'a [u8]) -> Option<()>) -> Option<()> {
        match self {
            Self::Strings { offsets, .. } => (0..offsets.len()).try_for_each(|index| each(self.get(index))),
            Self::Fixed { width, parts, .. } => {
                parts.iter().flat_map(|part| part.chunks_exact(*width)).try_for_each(each)
            }
        }
    }

    /// `items` as values of the same kind.
    fn block_of(&self, items: &[&[u8]]) -> Option<Block> {
        let data = items.concat();
        match self {
            Self::Fixed { width, .. } => Some(Block::Fixed { width: *width, bytes: data.into() }),
            Self::Strings { offsets, .. } => {
                let lengths = items.iter().map(|item| item.len());
                let offsets = Offsets::from_lengths(offsets.width() == 8, lengths).ok()?;
                Some(Block::Variable { offsets, data: data.into() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        Array, ArrayRef, Decimal128Array, Int64Array, LargeStringArray, StringArray, UInt32Array,
    };
    use lance_footer::Version;

    use super::*;
    use crate::settings::Settings;
    use crate::storage::Storage;
    use crate::values::Values;

    fn distinct(array: &ArrayRef, settings: &Settings, version: Version, other: u64) -> Option<Distinct> {
        let block = Block::from_array(array).unwrap();
        let blocks = match block {
            Block::Fixed { .. } => vec![block.slice(0..7), block.slice(7..block.len())],
            block => vec![block],
        };
        let there = array.nulls().map(|nulls| nulls.iter());
        Distinct::of(Asked::new(&blocks, settings, usize::MAX), there, &Rules::of(version).unwrap(), other)
    }

    fn by_default(array: &ArrayRef) -> Option<Distinct> {
        distinct(array, &Settings::default(), Version::V2_2, u64::MAX)
    }

    /// The values that indices stand for.
    fn looked_up(distinct: &Distinct, array: &ArrayRef) -> ArrayRef {
        let Block::Fixed { width, bytes } = &distinct.indices else { panic!("no numbers") };
        let index =
            |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |index, byte| index << 8 | u32::from(*byte));
        let indices: UInt32Array = bytes.chunks_exact(*width).map(|bytes| Some(index(bytes))).collect();
        let mut items = Values::new(&Storage::of(array.data_type()).unwrap());
        match &distinct.items {
            Block::Fixed { bytes, .. } => items.append_plain(bytes, distinct.items.len()).unwrap(),
            Block::Variable { offsets, data } => {
                for item in 0..offsets.len() {
                    let append = |out: &mut Vec<u8>, _| {
                        out.extend_from_slice(&data[offsets.range(item)]);
                        Ok(())
                    };
                    items.append_string(append).unwrap();
                }
            }
            _ => panic!("no plain values"),
        }
        let items = items.finish(array.data_type(), None).unwrap();
        arrow_select::take::take(&items, &indices, None).unwrap()
    }

    #[test]
    fn indices_look_up_what_there_was() {
        let text = |at: usize| format!("label {}", at * at % 97);
        let arrays: [ArrayRef; 4] = [
            Arc::new(StringArray::from_iter_values((0..20_000).map(text))),
            Arc::new(LargeStringArray::from_iter_values((0..500).map(text))),
            Arc::new(Int64Array::from_iter_values((0..9000).map(|at| (at / 50) << 40))),
            Arc::new(Decimal128Array::from_iter_values((0..200).map(|at| i128::from(at % 9) << 80))),
        ];
        for array in arrays {
            let distinct = by_default(&array).unwrap();
            assert_eq!(&looked_up(&distinct, &array), &array);
        }
    }

    #[test]
    fn nulls_are_no_items() {
        let text = |at: usize| (!(20..=40).contains(&at) && at > 0).then(|| format!("{}", at / 60));
        let array: ArrayRef = Arc::new(StringArray::from_iter((0..200).map(text)));
        let found = by_default(&array).unwrap();
        assert_eq!(found.items.len(), 4);
        let Block::Fixed { width: 1, bytes } = &found.indices else { panic!("not of 8 bits") };
        assert!(bytes[..60].iter().all(|index| *index == 0));
    }

    #[test]
    fn indices_are_as_wide_as_they_must() {
        for (items, width) in [(1, 1), (255, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 4)] {
            let array: ArrayRef = Arc::new(Int64Array::from_iter_values(
                (0..400.max(4 * items)).map(|at| (at / 4 % items) << 20),
            ));
            let distinct = by_default(&array).unwrap();
            let Block::Fixed { width: own, .. } = distinct.indices else { panic!("no numbers") };
            assert_eq!((own, distinct.items.len()), (width, items as usize));
        }
    }

    #[test]
    fn what_may_not_be_is_not() {
        let few =
            |rows: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..rows).map(|at| at % 5))) };
        assert!(by_default(&few(100)).is_some());
        assert!(by_default(&few(99)).is_none());
        let settings = Settings::default();
        assert!(distinct(&few(100), &settings, Version::V2_1, u64::MAX).is_none());
        // The items alone are as much.
        assert!(distinct(&few(100), &settings, Version::V2_2, 40).is_none());
        assert!(distinct(&few(100), &settings, Version::V2_2, 41).is_some());
        // An index of three bits each would be too much; but without runs.
        assert!(distinct(&few(100_000), &settings, Version::V2_2, 30_000).is_none());
        let narrow: ArrayRef = Arc::new(UInt32Array::from(vec![1; 1000]));
        assert!(by_default(&narrow).is_none());

        let strings: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..1000).map(|at| format!("{:04}", at % 50))));
        let with = |change: &dyn Fn(&mut DictionarySettings)| {
            let mut settings = Settings::default();
            change(&mut settings.dictionary);
            distinct(&strings, &settings, Version::V2_1, u64::MAX).is_some()
        };
        assert!(with(&|_| {}));
        assert!(with(&|dictionary| dictionary.divisor = 20));
        assert!(!with(&|dictionary| dictionary.divisor = 21));
        assert!(with(&|dictionary| dictionary.max_bytes = 50 * 4));
        assert!(!with(&|dictionary| dictionary.max_bytes = 50 * 4 - 1));
        assert!(with(&|dictionary| dictionary.ratio = Some(0.55)));
        assert!(!with(&|dictionary| dictionary.ratio = Some(0.549)));
    }

    #[test]
    fn values_in_many_parts() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let whole = Block::from_array(&numbers).unwrap();
        let cuts = [0, 1, 2, 2, 700, 703, 1000];
        let parts: Vec<_> = cuts.windows(2).map(|cut| whole.slice(cut[0]..cut[1])).collect();
        let rules = Rules::of(Version::V2_2).unwrap();
        let view = View::new(&parts, &rules).unwrap();
        assert_eq!(view.len(), 1000);
        for index in 0..1000 {
            assert_eq!(view.get(index), (index as i64).to_le_bytes());
        }
        assert_eq!(view.get(1000), b"");
    }

    #[test]
    fn rare_values_are_given_up_early() {
        let numbers = |limit: i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values((0..100_000_i64).map(|at| at * 7919 % limit)))
        };
        let likely = |limit| {
            let block = [Block::from_array(&numbers(limit)).unwrap()];
            let values = View::new(&block, &Rules::of(Version::V2_2).unwrap()).unwrap();
            is_likely(&values, 50_000, u64::MAX)
        };
        assert_eq!([likely(10), likely(1000), likely(80_021)], [true, true, false]);
    }
}
