//! Strings: where each ends, and their bytes.
//!
//! ```text
//! ends    one u64 a string; that of a null has `adjustment` added, which is more than any end
//! bytes   all strings, one after the other; each may be compressed with FSST
//! ```
//!
//! There is no offset 0 in front: a string starts where the one before it ends. So reading any but the first takes
//! the end before it, too.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, NullBuffer};
use lance_footer::{FormatError, Result};

use super::encoded::{Encoded, push};
use super::flat::{Flat, Pieces, Run, not_loaded, times};
use crate::bounds;
use crate::codec::fsst::Symbols;
use crate::load::{Load, and_then, map};
use crate::validity::Validity;
use crate::values::{Offset, Values, VariableValues, misfit};

/// Strings of a page.
#[derive(Debug)]
pub(super) struct Strings {
    ends: Box<Encoded>,
    bytes: Flat,
    adjustment: u64,
    symbols: Option<Arc<Symbols>>,
}

/// Strings in memory.
#[derive(Debug)]
pub(super) struct HeldStrings {
    /// Of each range.
    ends: Vec<Ends>,
    bytes: Pieces,
    symbols: Option<Arc<Symbols>>,
}

/// Where some values end that lie one after the other, and which are null.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ends {
    /// One more than there are values: the first is where the first value starts.
    pub(super) at: Vec<u64>,
    pub(super) nulls: Option<NullBuffer>,
}

impl Strings {
    /// Strings with this FSST symbol table, if there is one.
    pub(super) fn new(ends: Encoded, bytes: Flat, adjustment: u64, symbol_table: &[u8]) -> Result<Self> {
        let symbols = match symbol_table {
            [] => None,
            table => Symbols::parse(table)?.map(Arc::new),
        };
        Ok(Self { ends: Box::new(ends), bytes, adjustment, symbols })
    }

    pub(super) fn check(&self, count: u64) -> Result<()> {
        self.ends.check(count)
    }

    pub(super) fn cost(&self, count: u64, all: u64) -> u64 {
        self.ends.cost(count, all).saturating_add(self.bytes.cost_of_share(count, all))
    }

    pub(super) fn load(&self, ranges: &[Range<u64>]) -> Result<Load<HeldStrings>> {
        let (bytes, symbols) = (self.bytes.clone(), self.symbols.clone());
        let ends = load_ends(&self.ends, ranges, self.adjustment)?;
        Ok(and_then(ends, move |ends| {
            let spans: Vec<_> = ends.iter().map(Ends::span).collect();
            Ok(map(bytes.load(&spans)?, |bytes| Ok(HeldStrings { ends, bytes, symbols })))
        }))
    }
}

/// Loads where the values at `ranges` end.
pub(super) fn load_ends(ends: &Encoded, ranges: &[Range<u64>], adjustment: u64) -> Result<Load<Vec<Ends>>> {
    let with_start: Vec<_> = ranges.iter().map(|range| range.start.saturating_sub(1)..range.end).collect();
    let at_start: Vec<_> = ranges.iter().map(|range| range.start == 0).collect();
    Ok(map(ends.load_numbers(64, &with_start)?, move |numbers| {
        let each = numbers.into_iter().zip(&at_start);
        each.map(|(numbers, at_start)| Ends::new(numbers, *at_start, adjustment)).collect()
    }))
}

impl Ends {
    /// From `numbers`, of which the first is the end of the value before the first, unless that is the first of all.
    fn new(mut numbers: Vec<u64>, at_start: bool, adjustment: u64) -> Result<Self> {
        if adjustment == 0 {
            return Err(corrupt("every value is null, and so has no end"));
        }
        if at_start {
            numbers.insert(0, 0);
        }
        let valid = BooleanBuffer::collect_bool(numbers.len().saturating_sub(1), |value| {
            numbers.get(value + 1).is_some_and(|end| *end < adjustment)
        });
        let mut previous = 0;
        for end in &mut numbers {
            if *end >= adjustment {
                *end -= adjustment;
            }
            if *end < previous || *end >= adjustment {
                return Err(corrupt(format!("a value ends at {end}, between {previous} and {adjustment}")));
            }
            previous = *end;
        }
        let nulls = Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0);
        Ok(Self { at: numbers, nulls })
    }

    /// Values.
    pub(super) fn len(&self) -> usize {
        self.at.len().saturating_sub(1)
    }

    /// What all values together span.
    pub(super) fn span(&self) -> Range<u64> {
        let (first, last) = (self.at.first(), self.at.last());
        first.copied().unwrap_or_default()..last.copied().unwrap_or_default()
    }

    /// The ends of the values at `range`, and the start of the first in front.
    pub(super) fn part(&self, range: &Range<u64>) -> Result<&[u64]> {
        let range = bounds::size(range.start, "string")?..=bounds::size(range.end, "string")?;
        self.at.get(range).ok_or_else(not_loaded)
    }
}

impl HeldStrings {
    /// Appends the strings of `runs`, and says which are there.
    pub(super) fn decode(&self, runs: &[Run], out: &mut Values) -> Result<Option<NullBuffer>> {
        let mut validity = Validity::default();
        for run in runs {
            let ends = self.ends.get(run.piece).ok_or_else(not_loaded)?;
            let count = ends.part(&run.range)?.len().saturating_sub(1);
            let start = bounds::size(run.range.start, "string")?;
            let nulls = ends.nulls.as_ref().map(|nulls| nulls.slice(start, count));
            push(&mut validity, nulls.as_ref(), count);
        }
        out.reserve_strings(validity.len(), 0);
        match out {
            Values::Small(values) => self.append(runs, values)?,
            Values::Large(values) => self.append(runs, values)?,
            _ => return Err(misfit("strings")),
        }
        Ok(validity.finish())
    }

    fn append<O: Offset>(&self, runs: &[Run], out: &mut VariableValues<O>) -> Result<()> {
        for run in runs {
            let ends = self.ends.get(run.piece).ok_or_else(not_loaded)?;
            let start = ends.span().start;
            let part = ends.part(&run.range)?;
            let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
            let span = Run { piece: run.piece, range: first - start..last - start };
            let (bytes, _) = self.bytes.bytes(&span, out.room())?;
            // They end within the bytes, whose size fits.
            let at = |end: &u64| usize::try_from(end - first).unwrap_or(usize::MAX);
            let Some(symbols) = &self.symbols else {
                out.append_run(&bytes, 0, part.iter().skip(1).map(at))?;
                continue;
            };
            let longest = symbols.room_for(&bytes, out.room())?;
            let codes = part.windows(2).map(|ends| match ends {
                [start, end] => bounds::slice(&bytes, at(start)..at(end), "strings"),
                _ => Err(not_loaded()),
            });
            out.append_decoded(codes, longest, |codes, target| symbols.decode(codes, target))?;
        }
        Ok(())
    }
}

/// Appends the strings of `runs`, which are `width` bytes each.
pub(super) fn append_of_width(bytes: &Pieces, width: u64, runs: &[Run], out: &mut Values) -> Result<()> {
    for run in runs {
        let span = times(run.range.start, width)?..times(run.range.end, width)?;
        let (bytes, _) = bytes.bytes(&Run { piece: run.piece, range: span }, out.room())?;
        let width = bounds::size(width, "strings")?;
        let ends = (1..=run.count()?).map(|string| string.saturating_mul(width));
        match out {
            Values::Small(values) => values.append_run(&bytes, 0, ends)?,
            Values::Large(values) => values.append_run(&bytes, 0, ends)?,
            _ => return Err(misfit("strings")),
        }
    }
    Ok(())
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("string or list ends", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_folded_into_ends() {
        // "x", null, "", "hello"
        let ends = Ends::new(vec![1, 8, 1, 6], true, 7).unwrap();
        assert_eq!(ends.at, [0, 1, 1, 1, 6]);
        assert_eq!(ends.nulls.unwrap().iter().collect::<Vec<_>>(), [true, false, true, true]);
        let ends = Ends::new(vec![8, 1, 6], false, 7).unwrap();
        assert_eq!((ends.at, ends.nulls), (vec![1, 1, 6], None));
        assert_eq!(Ends::new(vec![], true, 1).unwrap().len(), 0);
    }

    #[test]
    fn ends_that_fall_are_refused() {
        for numbers in [vec![3, 2], vec![10, 2], vec![2, 8], vec![14], vec![u64::MAX]] {
            assert!(Ends::new(numbers.clone(), true, 7).is_err(), "{numbers:?}");
        }
        assert!(Ends::new(vec![0], true, 0).is_err());
    }
}
