//! Strings to codes: at each place the longest symbol that is there, or a literal.
//!
//! Symbols of three bytes and more are found by a hash of their first three bytes, one a slot; those of one and two
//! by a table of all pairs of bytes. So each step is two lookups, whatever the symbols are, at the price that a
//! symbol may have to stay away because its slot is taken.

use super::{ESCAPE, LONGEST_SYMBOL, MAGIC, TABLE_LEN};

/// Symbols that there can be.
pub(super) const MOST_SYMBOLS: usize = 255;

/// Slots for symbols of three bytes and more.
const SLOTS: usize = 2048;

/// Codes of literals while counting: one a byte, from here on.
pub(super) const LITERALS: usize = 256;

/// Up to eight bytes that a code stands for; the bytes beyond are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Symbol {
    bytes: u64,
    len: u8,
}

/// Finds symbols in strings.
#[derive(Debug, Clone)]
pub(super) struct Encoder {
    symbols: Vec<Symbol>,
    /// What a string can begin with that goes on with these two bytes, if no long symbol fits.
    pairs: Box<[Short; 1 << 16]>,
    /// The same for the last byte of a string.
    last: Box<[Short; 256]>,
    slots: Box<[Long; SLOTS]>,
}

/// A code of one or two bytes.
#[derive(Debug, Clone, Copy)]
struct Short {
    code: u8,
    len: u8,
}

/// A symbol of three bytes or more, with its code.
#[derive(Debug, Clone, Copy)]
struct Long {
    symbol: Symbol,
    code: u8,
}

/// One byte that no symbol begins with.
const LITERAL: Short = Short { code: ESCAPE, len: 1 };

/// Fits nothing: no bytes are longer than its length.
const FREE: Long = Long { symbol: Symbol { bytes: u64::MAX, len: 0 }, code: ESCAPE };

impl Symbol {
    pub(super) const fn byte(byte: u8) -> Self {
        Self { bytes: byte as u64, len: 1 }
    }

    /// Its length in bytes.
    pub(super) fn len(self) -> usize {
        usize::from(self.len)
    }

    /// This one, then as much of the other as there is room for.
    pub(super) fn followed_by(self, other: Self) -> Self {
        if self.len() >= LONGEST_SYMBOL {
            return self;
        }
        let bytes = self.bytes | other.bytes << (8 * u32::from(self.len));
        Self { bytes, len: (self.len + other.len).min(8) }
    }

    /// Whether eight bytes begin with it.
    const fn begins(self, word: u64) -> bool {
        word & mask(self.len) == self.bytes
    }
}

/// The low `len` bytes, of 8 at most.
const fn mask(len: u8) -> u64 {
    // A shift by 64 would be none.
    if len == 0 { 0 } else { u64::MAX >> (64 - 8 * len as u32) }
}

impl Encoder {
    /// The first of `candidates` that there is room for.
    pub(super) fn new(candidates: impl Iterator<Item = Symbol>) -> Self {
        let mut encoder = Self {
            symbols: Vec::with_capacity(MOST_SYMBOLS),
            pairs: Box::new([LITERAL; 1 << 16]),
            last: Box::new([LITERAL; 256]),
            slots: Box::new([FREE; SLOTS]),
        };
        for symbol in candidates {
            if encoder.symbols.len() == MOST_SYMBOLS {
                break;
            }
            encoder.insert(symbol);
        }
        encoder
    }

    fn insert(&mut self, symbol: Symbol) {
        let Ok(code) = u8::try_from(self.symbols.len()) else { return };
        let [first, second, ..] = symbol.bytes.to_le_bytes();
        match symbol.len {
            0 => return,
            1 => {
                if let Some(last) = self.last.get_mut(usize::from(first)) {
                    *last = Short { code, len: 1 };
                }
                for second in 0..=u8::MAX {
                    let pair = self.pairs.get_mut(usize::from(u16::from_le_bytes([first, second])));
                    if let Some(pair) = pair.filter(|pair| pair.len == 1) {
                        *pair = Short { code, len: 1 };
                    }
                }
            }
            2 => {
                if let Some(pair) = self.pairs.get_mut(usize::from(u16::from_le_bytes([first, second]))) {
                    *pair = Short { code, len: 2 };
                }
            }
            _ => match self.slots.get_mut(slot(symbol.bytes)) {
                Some(free) if free.symbol.len == 0 => *free = Long { symbol, code },
                _ => return,
            },
        }
        self.symbols.push(symbol);
    }

    /// The symbols, by code.
    pub(super) fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Calls `each` for every step through the first `len` bytes of `input`: with the code, which is 255 for a
    /// literal, and the byte that is there.
    #[inline]
    fn walk(&self, input: &[u8], len: usize, mut each: impl FnMut(u8, u8)) {
        let mut at = 0;
        while at < len {
            let word = word_at(input, at);
            let left = len - at;
            let [first, second, ..] = word.to_le_bytes();
            let long = self.slots.get(slot(word)).unwrap_or(&FREE);
            if long.symbol.begins(word) && long.symbol.len() <= left {
                each(long.code, first);
                at += long.symbol.len();
                continue;
            }
            let short = if left == 1 {
                self.last.get(usize::from(first))
            } else {
                self.pairs.get(usize::from(u16::from_le_bytes([first, second])))
            };
            let short = short.unwrap_or(&LITERAL);
            each(short.code, first);
            at += usize::from(short.len);
        }
    }

    /// Writes the codes of the first `len` bytes of `input` to the front of `out` and gives their number. There must
    /// be room for twice as many bytes. Bytes after `len` are not encoded; that they are there saves copies.
    pub(super) fn encode(&self, input: &[u8], len: usize, out: &mut [u8]) -> usize {
        let mut end = 0;
        self.walk(input, len, |code, byte| {
            // Two bytes at once, of which a symbol leaves the second to the next.
            if let Some(place) = out.get_mut(end..).and_then(|out| out.first_chunk_mut::<2>()) {
                *place = [code, byte];
            }
            end += if code == ESCAPE { 2 } else { 1 };
        });
        end
    }

    /// Calls `each` with the steps through `string`: codes, or literals as [`LITERALS`] and the byte; and the byte
    /// that the step begins with.
    pub(super) fn steps(&self, string: &[u8], mut each: impl FnMut(usize, u8)) {
        self.walk(string, string.len(), |code, byte| {
            let step = if code == ESCAPE { LITERALS + usize::from(byte) } else { usize::from(code) };
            each(step, byte);
        });
    }

    /// The symbol table as a page has it.
    pub(super) fn table(&self) -> Vec<u8> {
        let header = u64::from(MAGIC) << 32 | 1 << 24 | self.symbols.len() as u64;
        let mut table = Vec::with_capacity(TABLE_LEN);
        table.extend_from_slice(&header.to_le_bytes());
        self.symbols.iter().for_each(|symbol| table.extend_from_slice(&symbol.bytes.to_le_bytes()));
        table.extend(self.symbols.iter().map(|symbol| symbol.len));
        table.resize(TABLE_LEN, 0);
        table
    }
}

/// Eight bytes of `input` from `at` on; zeros after its end.
#[inline]
fn word_at(input: &[u8], at: usize) -> u64 {
    let rest = input.get(at..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// The slot of symbols that begin with the first three bytes of `word`.
#[inline]
fn slot(word: u64) -> usize {
    let [a, b, c, ..] = word.to_le_bytes();
    let hash = u32::from_le_bytes([a, b, c, 0]).wrapping_mul(0x9e37_79b1);
    // The high bits are the mixed ones.
    usize::try_from(hash >> 21).unwrap_or_default() & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(bytes: &[u8]) -> Symbol {
        bytes[1..].iter().fold(Symbol::byte(bytes[0]), |symbol, byte| symbol.followed_by(Symbol::byte(*byte)))
    }

    fn encoder(symbols: &[&[u8]]) -> Encoder {
        Encoder::new(symbols.iter().map(|bytes| symbol(bytes)))
    }

    fn encode(encoder: &Encoder, input: &[u8], len: usize) -> Vec<u8> {
        let mut out = vec![0; 2 * len];
        let end = encoder.encode(input, len, &mut out);
        out.truncate(end);
        out
    }

    #[test]
    fn the_longest_symbol_that_fits() {
        let encoder = encoder(&[b"a", b"ab", b"abcd", b"12345678", b"\0\0\0"]);
        let codes = |text: &[u8]| encode(&encoder, text, text.len());
        assert_eq!(codes(b"abcdaba"), [2, 1, 0]);
        assert_eq!(codes(b"abc"), [1, 255, b'c']);
        assert_eq!(codes(b"1234567812345678x"), [3, 3, 255, b'x']);
        assert_eq!(codes(b""), []);
        // What lies behind the end is not there, nor is what it is padded with.
        assert_eq!(encode(&encoder, b"abcd", 3), [1, 255, b'c']);
        assert_eq!(encode(&encoder, b"abcd", 1), [0]);
        assert_eq!(codes(b"\0\0"), [255, 0, 255, 0]);
        assert_eq!(codes(b"\0\0\0\0"), [4, 255, 0]);
    }

    #[test]
    fn symbols_are_cut_at_eight_bytes() {
        assert_eq!(symbol(b"1234").followed_by(symbol(b"56789")), symbol(b"12345678"));
        assert_eq!(symbol(b"12345678").followed_by(symbol(b"9")), symbol(b"12345678"));
    }

    #[test]
    fn a_slot_has_one_symbol() {
        let encoder = encoder(&[b"abcd", b"abce", b"ab"]);
        assert_eq!(encoder.symbols(), [symbol(b"abcd"), symbol(b"ab")]);
        assert_eq!(encode(&encoder, b"abceabcd", 8), [1, 255, b'c', 255, b'e', 0]);
    }
}
