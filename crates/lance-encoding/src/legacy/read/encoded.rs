//! Values of a page: how they are stored, how they are loaded, and what is done with the bytes.

use std::ops::Range;

use arrow_buffer::NullBuffer;
use lance_footer::{Join, Result};

use super::bitpacked::{Bitpacked, HeldBitpacked};
use super::dictionary::{Dictionary, HeldDictionary};
use super::flat::{Flat, Pieces, Run, runs_of_items, times};
use super::strings::{HeldStrings, Strings, append_of_width};
use crate::load::{Load, map, ready};
use crate::storage::Storage;
use crate::validity::Validity;
use crate::values::{Values, check_room, misfit};

/// Bytes of a compressed buffer of ends that are read while it is not known yet what they are the ends of.
const LARGEST: usize = 64 << 20;

/// How values are stored.
#[derive(Debug)]
pub(super) enum Encoded {
    /// Not at all: every one is null.
    Nulls,
    /// With a bit each that says whether it is there.
    Nullable {
        validity: Flat,
        values: Box<Self>,
    },
    Flat(Flat),
    Bitpacked(Bitpacked),
    /// Lists of `len` items each, one after the other.
    Lists {
        len: u64,
        items: Box<Self>,
    },
    Strings(Strings),
    /// Strings of `width` bytes each.
    StringsOfWidth {
        width: u64,
        bytes: Flat,
    },
    Dictionary(Dictionary),
}

/// Values whose bytes are in hand.
#[derive(Debug)]
pub(super) enum Held {
    Nulls,
    Nullable { validity: Pieces, values: Box<Self> },
    Flat(Pieces),
    Bitpacked(HeldBitpacked),
    Lists { len: u64, items: Box<Self> },
    Strings(HeldStrings),
    StringsOfWidth { width: u64, bytes: Pieces },
    Dictionary(HeldDictionary),
}

impl Encoded {
    /// An error unless there are `count` values, as far as that can be told without the bytes.
    pub(super) fn check(&self, count: u64) -> Result<()> {
        match self {
            Self::Nulls => Ok(()),
            Self::Nullable { validity, values } => {
                validity.check(count)?;
                values.check(count)
            }
            Self::Flat(flat) => flat.check(count),
            Self::Bitpacked(packed) => packed.check(count),
            Self::Lists { len, items } => items.check(times(count, *len)?),
            Self::Strings(strings) => strings.check(count),
            Self::StringsOfWidth { width, bytes } => bytes.check(times(count, *width)?),
            Self::Dictionary(dictionary) => dictionary.check(count),
        }
    }

    /// About how many bytes `count` of `all` values take.
    pub(super) fn cost(&self, count: u64, all: u64) -> u64 {
        match self {
            Self::Nulls => 0,
            Self::Nullable { validity, values } => {
                validity.cost(count, all).saturating_add(values.cost(count, all))
            }
            Self::Flat(flat) => flat.cost(count, all),
            Self::Bitpacked(packed) => packed.cost(count),
            Self::Lists { len, items } => items.cost(count.saturating_mul(*len), all.saturating_mul(*len)),
            Self::Strings(strings) => strings.cost(count, all),
            Self::StringsOfWidth { bytes, .. } => bytes.cost_of_share(count, all),
            Self::Dictionary(dictionary) => dictionary.cost(count, all),
        }
    }

    /// Bytes of the lookup tables that are held.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Nullable { values, .. } => values.weight(),
            Self::Dictionary(dictionary) => dictionary.weight(),
            _ => 0,
        }
    }

    /// A machine that loads the lookup tables, if there are any and they are not held.
    pub(super) fn prepare(&self) -> Result<Option<Load<()>>> {
        match self {
            Self::Nullable { values, .. } => values.prepare(),
            Self::Dictionary(dictionary) => dictionary.prepare(),
            _ => Ok(None),
        }
    }

    /// Loads the values at `ranges`, which are within those that were checked; they may overlap.
    pub(super) fn load(&self, ranges: &[Range<u64>]) -> Result<Load<Held>> {
        let scaled = |by: u64| {
            let scaled = ranges.iter().map(|range| Ok(times(range.start, by)?..times(range.end, by)?));
            scaled.collect::<Result<Vec<_>>>()
        };
        Ok(match self {
            Self::Nulls => ready(Held::Nulls),
            Self::Nullable { validity, values } => {
                let validity = map(validity.load(ranges)?, |pieces| Ok(Held::Flat(pieces)));
                let both: Load<Vec<Held>> = Box::new(Join::new([validity, values.load(ranges)?]));
                map(both, |both| match <[Held; 2]>::try_from(both) {
                    Ok([Held::Flat(validity), values]) => {
                        Ok(Held::Nullable { validity, values: Box::new(values) })
                    }
                    _ => Err(misfit("validity")),
                })
            }
            Self::Flat(flat) => map(flat.load(ranges)?, |pieces| Ok(Held::Flat(pieces))),
            Self::Bitpacked(packed) => map(packed.load(ranges)?, |held| Ok(Held::Bitpacked(held))),
            Self::Lists { len, items } => {
                let len = *len;
                map(items.load(&scaled(len)?)?, move |items| Ok(Held::Lists { len, items: Box::new(items) }))
            }
            Self::Strings(strings) => map(strings.load(ranges)?, |held| Ok(Held::Strings(held))),
            Self::StringsOfWidth { width, bytes } => {
                let width = *width;
                map(bytes.load(&scaled(width)?)?, move |bytes| Ok(Held::StringsOfWidth { width, bytes }))
            }
            Self::Dictionary(dictionary) => map(dictionary.load(ranges)?, |held| Ok(Held::Dictionary(held))),
        })
    }

    /// Loads the numbers at `ranges`, which are of 8, 16, 32 or 64 bits: a list of them for each range.
    pub(super) fn load_numbers(&self, bits: usize, ranges: &[Range<u64>]) -> Result<Load<Vec<Vec<u64>>>> {
        let lens: Vec<_> = ranges.iter().map(|range| range.end.saturating_sub(range.start)).collect();
        Ok(map(self.load(ranges)?, move |held| {
            let runs = lens.iter().enumerate().map(|(piece, len)| Run { piece, range: 0..*len });
            runs.map(|run| held.numbers(bits, &[run], LARGEST)).collect()
        }))
    }
}

impl Held {
    /// Appends the values of `runs`, and says which are there; none if all are.
    pub(super) fn decode(&self, runs: &[Run], out: &mut Values) -> Result<Option<NullBuffer>> {
        match self {
            Self::Nulls => {
                let count = count(runs)?;
                out.append_fillers(count)?;
                if let Values::Nothing(_) = out {
                    // The null type has no validity, however many there are.
                    return Ok(None);
                }
                check_room(0, count / 8, out.room())?;
                Ok((count > 0).then(|| NullBuffer::new_null(count)))
            }
            Self::Nullable { validity, values } => {
                let inner = values.decode(runs, out)?;
                Ok(NullBuffer::union(validity.validity(runs, out.scratch())?.as_ref(), inner.as_ref()))
            }
            Self::Flat(pieces) => pieces.decode(runs, out).map(|()| None),
            Self::Bitpacked(packed) => packed.decode(runs, out).map(|()| None),
            Self::Lists { len, items } => {
                let Values::List(lists) = out else { return Err(misfit("lists")) };
                let runs_of_items = runs_of_items(runs, *len)?;
                let nulls = items.decode(&runs_of_items, &mut lists.items)?;
                push(&mut lists.validity, nulls.as_ref(), count(&runs_of_items)?);
                lists.count = lists.count.saturating_add(count(runs)?);
                Ok(None)
            }
            Self::Strings(strings) => strings.decode(runs, out),
            Self::StringsOfWidth { width, bytes } => append_of_width(bytes, *width, runs, out).map(|()| None),
            Self::Dictionary(dictionary) => dictionary.decode(runs, out),
        }
    }

    /// The numbers of `runs`, of `bits` bits each; a compressed buffer of them may have `most` bytes.
    pub(super) fn numbers(&self, bits: usize, runs: &[Run], most: usize) -> Result<Vec<u64>> {
        let mut values = Values::within(&Storage::Fixed { bits }, most);
        let nulls = self.decode(runs, &mut values)?;
        let (Values::Fixed(values), None) = (values, nulls) else { return Err(misfit("numbers")) };
        Ok(match bits {
            8 => values.words::<u8>().into_iter().map(u64::from).collect(),
            16 => values.words::<u16>().into_iter().map(u64::from).collect(),
            32 => values.words::<u32>().into_iter().map(u64::from).collect(),
            _ => values.words::<u64>(),
        })
    }
}

/// Values of `runs`.
pub(super) fn count(runs: &[Run]) -> Result<usize> {
    runs.iter().try_fold(0_usize, |sum, run| Ok(sum.saturating_add(run.count()?)))
}

/// Appends the validity of `count` values.
pub(super) fn push(validity: &mut Validity, nulls: Option<&NullBuffer>, count: usize) {
    match nulls {
        None => validity.push_valid(count),
        Some(nulls) => {
            let bits = nulls.inner();
            validity.push_bits(bits.offset()..bits.offset() + bits.len(), bits.values());
        }
    }
}
