//! FSST: byte strings in which frequent pieces of up to 8 bytes are replaced by one-byte codes.
//!
//! The symbol table is part of the page layout and has always 2312 bytes:
//!
//! ```text
//! 0        header (u64): "TSSF" in bits 63..32, switch in bit 24, number of symbols N in bits 7..0
//! 8        N symbols of 8 bytes
//! 8 + 8 N  N lengths of one byte
//! …        zeros
//! ```
//!
//! If the switch is off the strings are not compressed at all. Otherwise a string is a sequence of codes: 255 is
//! followed by a literal byte, a smaller one stands for its symbol. The strings themselves are stored by the
//! codec *variable*, in chunks or one by one.

mod encoder;
mod strings;
mod train;

use lance_footer::{FormatError, Result};

pub(crate) use strings::{Trained, encoding};

use super::variable::Variable;
use super::{Codec, Picks, corrupt};
use crate::budget::over_budget;
use crate::proto;
use crate::values::{Offset, Values, VariableValues, misfit};

/// Bytes of a symbol table.
const TABLE_LEN: usize = 2312;
/// The upper half of its header.
const MAGIC: u32 = 0x4653_5354;
/// Bytes of the longest symbol.
const LONGEST_SYMBOL: usize = 8;
/// The code that a literal byte follows.
const ESCAPE: u8 = 255;

/// Strings of codes.
#[derive(Debug, Clone)]
pub(crate) struct Fsst {
    /// How the strings of codes are stored.
    pub(crate) values: Variable,
    /// None if the switch is off.
    symbols: Option<Box<Symbols>>,
}

/// What codes stand for.
#[derive(Debug, Clone)]
pub(crate) struct Symbols {
    bytes: [[u8; 8]; 256],
    /// 0 where there is no symbol.
    lens: [u8; 256],
}

impl Fsst {
    pub(super) fn parse(fsst: &proto::Fsst, values: Codec) -> Result<Self> {
        let Codec::Variable(values) = values else {
            return Err(corrupt("FSST of something else than strings"));
        };
        Ok(Self { values, symbols: Symbols::parse(&fsst.symbol_table)?.map(Box::new) })
    }

    pub(super) fn decode_mini_block(&self, buffer: &[u8], picks: &Picks, out: &mut Values) -> Result<()> {
        if self.symbols.is_none() {
            return self.values.decode_mini_block(buffer, picks, out);
        }
        match out {
            Values::Small(values) if !self.values.wide => self.decode_strings(buffer, picks, values),
            Values::Large(values) if self.values.wide => self.decode_strings(buffer, picks, values),
            _ => Err(misfit("strings")),
        }
    }

    fn decode_strings<O: Offset>(
        &self,
        buffer: &[u8],
        picks: &Picks,
        out: &mut VariableValues<O>,
    ) -> Result<()> {
        let Some(symbols) = &self.symbols else { return Err(misfit("strings")) };
        let strings = self.values.mini_block(buffer, picks.count())?;
        for range in picks.ranges() {
            let longest = symbols.room_for(strings.bytes(&range)?, out.room())?;
            let codes = range.map(|index| strings.get(index));
            out.append_decoded(codes, longest, |codes, target| symbols.decode(codes, target))?;
        }
        Ok(())
    }

    /// Appends the string of `codes` to `out`, which may have `most` bytes.
    pub(crate) fn decode_value(&self, codes: &[u8], out: &mut Vec<u8>, most: usize) -> Result<()> {
        match &self.symbols {
            Some(symbols) => {
                let start = out.len();
                out.resize(start.saturating_add(symbols.room_for(codes, most)?), 0);
                let len = symbols.decode(codes, out.get_mut(start..).unwrap_or_default())?;
                out.truncate(start + len);
                Ok(())
            }
            None => {
                out.extend_from_slice(codes);
                Ok(())
            }
        }
    }
}

impl Symbols {
    /// From the bytes of a table; none if its switch is off.
    pub(crate) fn parse(table: &[u8]) -> Result<Option<Self>> {
        let bad = |reason: String| FormatError::corrupt("FSST symbol table", reason);
        let (header, rest) = match table.split_first_chunk::<8>() {
            Some((header, rest)) if table.len() == TABLE_LEN => (u64::from_le_bytes(*header), rest),
            _ => return Err(bad(format!("{} bytes instead of {TABLE_LEN}", table.len()))),
        };
        if header >> 32 != u64::from(MAGIC) {
            return Err(bad(format!("its header is {header:#018x}")));
        }
        if header >> 24 & 1 == 0 {
            return Ok(None);
        }
        // 255 symbols with their lengths have 2295 bytes.
        let count = usize::from(header.to_le_bytes()[0]);
        let (symbols, rest) = rest.split_at_checked(count * 8).unwrap_or_default();
        let mut parsed = Self { bytes: [[0; 8]; 256], lens: [0; 256] };
        let slots = parsed.bytes.iter_mut().zip(&mut parsed.lens);
        for ((slot, len), (symbol, stored)) in slots.zip(symbols.as_chunks::<8>().0.iter().zip(rest)) {
            if !(1..=8).contains(stored) {
                return Err(bad(format!("a symbol of {stored} bytes")));
            }
            (*slot, *len) = (*symbol, *stored);
        }
        Ok(Some(parsed))
    }

    /// How much room decoding `codes` takes, of which no more than `most` bytes are kept; an error if that is not enough.
    pub(crate) fn room_for(&self, codes: &[u8], most: usize) -> Result<usize> {
        let longest = codes.len().saturating_mul(LONGEST_SYMBOL);
        if longest <= most {
            return Ok(longest);
        }
        // Only now it matters how much it really is.
        let (mut len, mut codes) = (0_usize, codes.iter());
        while let Some(code) = codes.next() {
            len = len.saturating_add(match *code {
                ESCAPE => codes.next().map_or(0, |_| 1),
                code => self.lens.get(usize::from(code)).map_or(0, |len| usize::from(*len)),
            });
        }
        if len > most {
            return Err(over_budget("FSST strings", len, most));
        }
        Ok(len.saturating_add(LONGEST_SYMBOL))
    }

    /// Writes the string of `codes` to the front of `target` and gives its length. Each code writes 8 bytes, of
    /// which only its symbol counts; so there must be room for 8 bytes a code.
    pub(crate) fn decode(&self, codes: &[u8], target: &mut [u8]) -> Result<usize> {
        let bad = |reason: &str| Err(FormatError::corrupt("FSST string", reason));
        let mut at = 0;
        let mut codes = codes.iter();
        while let Some(code) = codes.next() {
            let slot = target.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<LONGEST_SYMBOL>());
            let Some(slot) = slot else { return bad("it is longer than there is room") };
            if *code == ESCAPE {
                let Some(literal) = codes.next() else { return bad("it ends with an escape") };
                slot[0] = *literal;
                at += 1;
                continue;
            }
            let code = usize::from(*code);
            let (Some(symbol), Some(len)) = (self.bytes.get(code), self.lens.get(code)) else { break };
            if *len == 0 {
                return bad("a code without a symbol");
            }
            *slot = *symbol;
            at += usize::from(*len);
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(switch: bool, symbols: &[&[u8]]) -> Vec<u8> {
        let header = u64::from(MAGIC) << 32 | u64::from(switch) << 24 | symbols.len() as u64;
        let mut table = header.to_le_bytes().to_vec();
        for symbol in symbols {
            let mut bytes = [0; 8];
            bytes[..symbol.len()].copy_from_slice(symbol);
            table.extend(bytes);
        }
        table.extend(symbols.iter().map(|symbol| symbol.len() as u8));
        table.resize(TABLE_LEN, 0);
        table
    }

    fn fsst(table: Vec<u8>) -> Result<Fsst> {
        let message = proto::Fsst { symbol_table: table.into(), values: None };
        Fsst::parse(&message, Codec::Variable(Variable { wide: false }))
    }

    #[test]
    fn codes_and_literals() {
        let fsst = fsst(table(true, &[b"robot", b"ab", b"12345678"])).unwrap();
        let mut out = b"x".to_vec();
        fsst.decode_value(&[2, 0, 255, b'!', 1, 0], &mut out, usize::MAX).unwrap();
        assert_eq!(out, b"x12345678robot!abrobot");
        assert!(fsst.decode_value(&[3], &mut out, usize::MAX).is_err());
        assert!(fsst.decode_value(&[0, 255], &mut out, usize::MAX).is_err());
    }

    #[test]
    fn without_the_switch_nothing_is_compressed() {
        let fsst = fsst(table(false, &[])).unwrap();
        let mut out = vec![];
        fsst.decode_value(&[255, 0], &mut out, usize::MAX).unwrap();
        assert_eq!(out, [255, 0]);
    }

    #[test]
    fn every_symbol_can_be_used() {
        let symbols: Vec<[u8; 8]> = (0..255_u8).map(|i| [i; 8]).collect();
        let slices: Vec<&[u8]> = symbols.iter().map(|symbol| &symbol[..]).collect();
        let fsst = fsst(table(true, &slices)).unwrap();
        let mut out = vec![];
        fsst.decode_value(&[254, 0], &mut out, usize::MAX).unwrap();
        assert_eq!(out, [[254; 8], [0; 8]].concat());
    }

    #[test]
    fn bad_tables_are_refused() {
        let mut short = table(true, &[b"a"]);
        short.pop();
        assert!(fsst(short).is_err());
        let mut wrong = table(true, &[b"a"]);
        wrong[7] = 0;
        assert!(fsst(wrong).is_err());
        let mut long = table(true, &[b"a"]);
        long[16] = 9;
        assert!(fsst(long).is_err());
    }

    #[test]
    fn agrees_with_a_known_compressor() {
        let lines: Vec<String> = (0..200).map(|i| format!("https://example.com/episode/{i}/frame")).collect();
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        let compressor = ::fsst::Compressor::train(&lines);
        let symbols: Vec<Vec<u8>> = compressor
            .symbol_table()
            .iter()
            .zip(compressor.symbol_lengths())
            .map(|(symbol, len)| symbol.to_u64().to_le_bytes()[..usize::from(*len)].to_vec())
            .collect();
        let slices: Vec<&[u8]> = symbols.iter().map(|symbol| &symbol[..]).collect();
        let fsst = fsst(table(true, &slices)).unwrap();
        for line in lines {
            let mut out = vec![];
            fsst.decode_value(&compressor.compress(line), &mut out, usize::MAX).unwrap();
            assert_eq!(out, line);
        }
    }
}
